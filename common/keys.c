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
 * that start at once one wins and both read the same whole secret.
 */
static int
create_secret(const char *path, struct bf_err *err)
{
	char tmp[BF_PATH_MAX + 32];
	struct bf_key key;
	int fd = -1, ret = 0;

	snprintf(tmp, sizeof(tmp), "%s.%ld", path, (long)getpid());
	unlink(tmp); /* left by a crash of an earlier process of this number */
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return bf_err_set(err, errno, "cannot create secret %s: %s",
				  path, bf_err_str(errno));
	randombytes_buf(key.bytes, sizeof(key.bytes));
	errno = ENOSPC; /* what a short write without an error means */
	if (write(fd, key.bytes, sizeof(key.bytes)) != sizeof(key.bytes) ||
	    fsync(fd) < 0 || (link(tmp, path) < 0 && errno != EEXIST))
		ret = bf_err_set(err, errno, "cannot write secret %s: %s", path,
				 bf_err_str(errno));
	sodium_memzero(&key, sizeof(key));
	unlink(tmp);
	close(fd);
	return ret;
}

int
bf_keys_load(struct bf_key *out, const char *path, struct bf_err *err)
{
	struct bf_key key;
	struct stat st;
	int fd = -1, ret = 0;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 && errno == ENOENT) {
		ret = create_secret(path, err);
		if (ret)
			return ret;
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	}
	if (fd < 0 || fstat(fd, &st) < 0) {
		ret = bf_err_set(err, errno, "cannot read secret %s: %s", path,
				 bf_err_str(errno));
	} else if (!S_ISREG(st.st_mode) || st.st_size != sizeof(key)) {
		ret = bf_err_set(err, BF_EARGUMENT,
				 "secret %s: not a file of %u bytes (remove "
				 "it and a new one is made)",
				 path, BF_KEY_BYTES);
	} else if (st.st_mode & 077) {
		ret = bf_err_set(err, BF_EDENIED,
				 "secret %s: mode %04o lets others read it "
				 "(chmod 600 it)",
				 path, (unsigned)st.st_mode & 07777u);
	} else if (read(fd, &key, sizeof(key)) != sizeof(key)) {
		ret = bf_err_set(err, EIO, "cannot read secret %s", path);
	} else {
		*out = key;
	}
	sodium_memzero(&key, sizeof(key));
	if (fd >= 0)
		close(fd);
	return ret;
}

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
