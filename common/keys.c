// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * keys - secrets in files, derivation and authentication on libsodium
 */
#include "common/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int
bf_keys_init(struct bf_err *err)
{
	if (sodium_init() < 0)
		return bf_err_set(err, BF_EINTERNAL, "libsodium did not start");
	return 0;
}

/* Made under another name and linked into place, so that of two processes
 * that start at once one wins and both read the same whole file.
 */
static int
create_file(const char *path, const void *bytes, size_t len, struct bf_err *err)
{
	char tmp[BF_PATH_MAX + 32];
	int fd = -1, ret = 0;

	snprintf(tmp, sizeof(tmp), "%s.%ld", path, (long)getpid());
	unlink(tmp); /* left by a crash of an earlier process of this number */
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return bf_err_set(err, errno, "cannot create %s: %s", path,
				  bf_err_str(errno));
	errno = ENOSPC; /* what a short write without an error means */
	if (write(fd, bytes, len) != (ssize_t)len || fsync(fd) < 0 ||
	    (link(tmp, path) < 0 && errno != EEXIST))
		ret = bf_err_set(err, errno, "cannot write %s: %s", path,
				 bf_err_str(errno));
	unlink(tmp);
	close(fd);
	return ret;
}

/* Opens a file that only its owner may read.
 * Returns: fd; -ENOENT; other negative code
 */
static int
open_secret(const char *path, struct stat *st, struct bf_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int ret = 0;

	if (fd < 0 || fstat(fd, st) < 0)
		ret = bf_err_set(err, errno, "cannot read %s: %s", path,
				 bf_err_str(errno));
	else if (!S_ISREG(st->st_mode))
		ret = bf_err_set(err, BF_EARGUMENT, "%s: not a file", path);
	else if (st->st_mode & 077)
		ret = bf_err_set(err, BF_EDENIED,
				 "%s: mode %04o lets others read it "
				 "(chmod 600 it)",
				 path, (unsigned)st->st_mode & 07777u);
	else if (st->st_uid != 0 && st->st_uid != geteuid())
		ret = bf_err_set(err, BF_EDENIED,
				 "%s: belongs to uid %u, who can read it "
				 "(chown it)",
				 path, st->st_uid);
	if (!ret)
		return fd;
	if (fd >= 0)
		close(fd);
	return ret;
}

int
bf_keys_load(struct bf_key *out, const char *path, struct bf_err *err)
{
	struct bf_key key;
	struct stat st;
	int fd, ret = 0;

	fd = open_secret(path, &st, err);
	if (fd == -ENOENT) {
		randombytes_buf(key.bytes, sizeof(key.bytes));
		ret = create_file(path, key.bytes, sizeof(key.bytes), err);
		fd = ret ? ret : open_secret(path, &st, err);
	}
	if (fd < 0) {
		ret = fd;
	} else if (st.st_size != sizeof(key)) {
		ret = bf_err_set(err, BF_EARGUMENT,
				 "secret %s: not a file of %u bytes (remove "
				 "it and a new one is made)",
				 path, BF_KEY_BYTES);
	} else if (read(fd, &key, sizeof(key)) != sizeof(key)) {
		ret = bf_err_set(err, EIO, "cannot read %s", path);
	} else {
		*out = key;
	}
	sodium_memzero(&key, sizeof(key));
	if (fd >= 0)
		close(fd);
	return ret;
}

/* ------------------------------------------------------------ key pairs */

void
bf_keys_to_text(char out[BF_KEY_TEXT_BYTES], const uint8_t key[BF_KEY_BYTES])
{
	sodium_bin2base64(out, BF_KEY_TEXT_BYTES, key, BF_KEY_BYTES,
			  sodium_base64_VARIANT_ORIGINAL);
}

int
bf_keys_from_text(uint8_t key[BF_KEY_BYTES], const char *text, size_t len)
{
	const char *end = NULL;
	size_t n = 0;

	if (len != BF_KEY_TEXT_BYTES - 1 ||
	    sodium_base642bin(key, BF_KEY_BYTES, text, len, NULL, &n, &end,
			      sodium_base64_VARIANT_ORIGINAL) < 0 ||
	    n != BF_KEY_BYTES || end != text + len)
		return -BF_EARGUMENT;
	return 0;
}

int
bf_keys_read_private(struct bf_key *out, const char *path, struct bf_err *err)
{
	char text[BF_KEY_TEXT_BYTES + 1] = "";
	struct stat st;
	ssize_t n;
	int fd, ret = 0;

	fd = open_secret(path, &st, err);
	if (fd < 0)
		return fd;
	n = read(fd, text, sizeof(text));
	close(fd);
	while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\r'))
		n--;
	if (n < 0 || bf_keys_from_text(out->bytes, text, (size_t)n))
		ret = bf_err_set(err, BF_EARGUMENT,
				 "%s: not a line with a private key (as "
				 "bpfleet genkey prints one)",
				 path);
	sodium_memzero(text, sizeof(text));
	return ret;
}

int
bf_keys_make_private(const char *path, struct bf_err *err)
{
	char text[BF_KEY_TEXT_BYTES];
	struct bf_key key;
	int ret;

	randombytes_buf(key.bytes, sizeof(key.bytes));
	bf_keys_to_text(text, key.bytes);
	text[BF_KEY_TEXT_BYTES - 1] = '\n';
	ret = create_file(path, text, sizeof(text), err);
	sodium_memzero(text, sizeof(text));
	sodium_memzero(&key, sizeof(key));
	return ret;
}

void
bf_keys_public(uint8_t out[BF_KEY_BYTES], const struct bf_key *key)
{
	crypto_scalarmult_base(out, key->bytes);
}

int
bf_keys_dh(uint8_t out[BF_KEY_BYTES], const struct bf_key *key,
	   const uint8_t peer[BF_KEY_BYTES])
{
	return crypto_scalarmult(out, key->bytes, peer) < 0 ? -BF_EPROTO : 0;
}

void *
bf_keys_alloc(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, bytes, MADV_DONTDUMP);
	madvise(p, bytes, MADV_WIPEONFORK);
	(void)mlock2(p, bytes, MLOCK_ONFAULT);
	return p;
}

void
bf_keys_free(void *p, size_t bytes)
{
	if (!p)
		return;
	sodium_memzero(p, bytes);
	munmap(p, bytes);
}

/* -------------------------------------------------------- derived keys */

void
bf_keys_derive(struct bf_key *out, const struct bf_key *secret,
	       const char *purpose)
{
	crypto_generichash(out->bytes, sizeof(out->bytes),
			   (const unsigned char *)purpose, strlen(purpose),
			   secret->bytes, sizeof(secret->bytes));
}

void
bf_keys_mac(uint8_t mac[BF_MAC_BYTES], const struct bf_key *key,
	    const void *bytes, size_t len)
{
	crypto_generichash(mac, BF_MAC_BYTES, bytes, len, key->bytes,
			   sizeof(key->bytes));
}

bool
bf_keys_mac_ok(const uint8_t mac[BF_MAC_BYTES], const struct bf_key *key,
	       const void *bytes, size_t len)
{
	uint8_t want[BF_MAC_BYTES];

	bf_keys_mac(want, key, bytes, len);
	return sodium_memcmp(want, mac, BF_MAC_BYTES) == 0;
}

void
bf_keys_random(void *out, size_t len)
{
	randombytes_buf(out, len);
}

void
bf_keys_wipe(void *bytes, size_t len)
{
	sodium_memzero(bytes, len);
}
