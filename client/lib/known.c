// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * known - reads known_agents, and adds to it without losing a line
 *
 * The file is never written in place: whoever holds its lock writes another
 * and renames it, so that a reader needs no lock.
 */
#include "client/lib/known.h"

#include "common/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINKS_MAX 16 /* followed from one known_agents to the next */

/* ---------------------------------------------------------------- lines */

struct known_line {
	char *address;
	uint8_t key[BF_KEY_BYTES];
};

/* Where an IPv6 address begins in tcp://[fd00::1]:7117: a bracket that is not
 * fnmatch's.  [ab] and [[:alpha:]] are.  NULL if there is none.
 */
static const char *
find_ipv6(const char *address)
{
	const char *open = strstr(address, "://["), *end;

	if (!open)
		return NULL;
	open += 3;
	end = open + 1 + strcspn(open + 1, "[]");
	return *end == ']' && memchr(open, ':', (size_t)(end - open)) ? open
								      : NULL;
}

static bool
is_pattern(const char *address)
{
	const char *ipv6 = find_ipv6(address);

	for (const char *s = address; *s; s++)
		if (strchr("*?\\", *s) || (*s == '[' && s != ipv6))
			return true;
	return false;
}

static bool
matches(const char *pattern, const char *address)
{
	char escaped[BF_KNOWN_ADDRESS_MAX + 1];
	const char *ipv6;

	if (!strcmp(pattern, address))
		return true;
	if (!is_pattern(pattern))
		return false;
	ipv6 = find_ipv6(pattern);
	if (!ipv6)
		return fnmatch(pattern, address, 0) == 0;
	snprintf(escaped, sizeof(escaped), "%.*s\\%s", (int)(ipv6 - pattern),
		 pattern, ipv6);
	return fnmatch(escaped, address, 0) == 0;
}

static bool
is_zero(const uint8_t key[BF_KEY_BYTES])
{
	static const uint8_t zero[BF_KEY_BYTES];

	return memcmp(key, zero, sizeof(zero)) == 0;
}

/* Cuts a line up in place. */
static int
parse_line(struct known_line *out, char *text, struct bf_err *err)
{
	size_t address_len = strcspn(text, " \t"), len;
	char *key = text + address_len + strspn(text + address_len, " \t");

	len = strcspn(key, " \t");
	if (address_len >= BF_KNOWN_ADDRESS_MAX)
		return bf_err_set(err, BF_EARGUMENT,
				  "the address is longer than %u bytes (a "
				  "pattern can be shorter)",
				  BF_KNOWN_ADDRESS_MAX - 1);
	if (!len)
		return bf_err_set(err, BF_EARGUMENT,
				  "no key after the address (a line is "
				  "ADDRESS KEY [comment])");
	if (bf_keys_from_text(out->key, key, len) || is_zero(out->key))
		return bf_err_set(err, BF_EARGUMENT,
				  "\"%.*s\" is not the key of an agent (a line "
				  "is ADDRESS KEY [comment], the key 44 "
				  "characters of base64)",
				  (int)bf_min_u64(len, 64), key);
	text[address_len] = '\0';
	out->address = text;
	return 0;
}

static int
other_key(const struct bf_lines *in, uint32_t line, const char *address,
	  const uint8_t pinned[BF_KEY_BYTES], const uint8_t key[BF_KEY_BYTES],
	  struct bf_err *err)
{
	char was[BF_KEY_TEXT_BYTES], is[BF_KEY_TEXT_BYTES], why[400];

	bf_keys_to_text(was, pinned);
	bf_keys_to_text(is, key);
	snprintf(why, sizeof(why),
		 "%.100s must have key %s, but has %s: another machine answers "
		 "there, or the agent has a new key (then change the line)",
		 address, was, is);
	bf_lines_fail(in, line, why, err);
	if (err)
		err->code = BF_EDENIED;
	return -BF_EDENIED;
}

int
bf_known_check_text(const char *text, size_t len, const char *name,
		    const char *address, const uint8_t key[BF_KEY_BYTES],
		    struct bf_err *err)
{
	struct bf_lines in = {.name = name, .text = text, .len = len};
	uint8_t pinned[BF_KEY_BYTES] = {0};
	uint32_t other = 0; /* the first line with another key */
	char line[BF_LINE_MAX], shown[BF_KEY_TEXT_BYTES];
	struct known_line known;
	bool found = false;
	struct bf_err why;
	int ret;

	/* To the end even once found: a file is well or it is not. */
	while ((ret = bf_lines_next(&in, line, err)) > 0) {
		if (parse_line(&known, line, &why))
			return bf_lines_fail(&in, in.line, why.text, err);
		if (!matches(known.address, address))
			continue;
		if (!memcmp(known.key, key, BF_KEY_BYTES)) {
			found = true;
		} else if (!other) {
			other = in.line;
			memcpy(pinned, known.key, sizeof(pinned));
		}
	}
	if (ret || found)
		return ret;
	if (other)
		return other_key(&in, other, address, pinned, key, err);
	bf_keys_to_text(shown, key);
	return bf_err_set(err, ENOENT,
			  "%.200s: no line for %.100s, which has key %s "
			  "(compare that on the agent, then add the line)",
			  name, address, shown);
}

int
bf_known_check(const char *path, const char *address,
	       const uint8_t key[BF_KEY_BYTES], struct bf_err *err)
{
	char *text = NULL;
	size_t len = 0;
	int fd, ret = 0;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && errno != ENOENT)
		return bf_err_set(err, errno, "cannot read %s: %s", path,
				  bf_err_str(errno));
	if (fd >= 0)
		ret = bf_lines_read(&text, &len, fd, BF_KNOWN_FILE_MAX, path,
				    err);
	if (!ret)
		ret = bf_known_check_text(text, len, path, address, key, err);
	free(text);
	if (fd >= 0)
		close(fd);
	return ret;
}

/* --------------------------------------------------------------- adding */

/* Follows links at the end of the path, to a file that need not exist. */
static int
follow_links(char path[PATH_MAX], struct bf_err *err)
{
	char target[PATH_MAX], joined[2 * PATH_MAX];
	const char *slash;
	ssize_t n;

	for (int i = 0; i < LINKS_MAX; i++) {
		n = readlink(path, target, sizeof(target) - 1);
		if (n < 0)
			return 0; /* no link; if worse, open() will say so */
		target[n] = '\0';
		slash = target[0] == '/' ? NULL : strrchr(path, '/');
		snprintf(joined, sizeof(joined), "%.*s%s",
			 slash ? (int)(slash - path) + 1 : 0, path, target);
		if (strlen(joined) >= PATH_MAX)
			return bf_err_set(err, ENAMETOOLONG,
					  "%s: links to too long a path", path);
		memcpy(path, joined, strlen(joined) + 1);
	}
	return bf_err_set(err, ELOOP, "%s: too many links", path);
}

/* Makes the directories above a file, mode 0700. */
static int
make_parents(const char *path, struct bf_err *err)
{
	char dir[PATH_MAX];

	snprintf(dir, sizeof(dir), "%s", path);
	for (char *s = strchr(dir[0] == '/' ? dir + 1 : dir, '/'); s;
	     s = strchr(s + 1, '/')) {
		*s = '\0';
		if (mkdir(dir, 0700) < 0 && errno != EEXIST)
			return bf_err_set(err, errno, "cannot make %s: %s", dir,
					  bf_err_str(errno));
		*s = '/';
	}
	return 0;
}

/* Opens the file, made if need be, and locks it.  Whoever had the lock before
 * may have put another file in its place: then that one is locked.
 * Returns: fd, or a negative code
 */
static int
open_locked(const char *path, struct bf_err *err)
{
	struct stat mine, there;
	int fd, code;

	for (;;) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK,
			  0600);
		if (fd < 0 || flock(fd, LOCK_EX) < 0 || fstat(fd, &mine) < 0)
			break;
		if (stat(path, &there) == 0 && mine.st_ino == there.st_ino &&
		    mine.st_dev == there.st_dev)
			return fd;
		close(fd);
	}
	code = errno;
	if (fd >= 0)
		close(fd);
	return bf_err_set(err, code, "cannot add to %s: %s", path,
			  bf_err_str(code));
}

static int
write_all(int fd, const char *bytes, size_t len)
{
	ssize_t n;

	for (size_t done = 0; done<len; done += n> 0 ? (size_t)n : 0) {
		n = write(fd, bytes + done, len - done);
		if (n < 0 && errno != EINTR)
			return -errno;
	}
	return 0;
}

/* Writes the file that is to take the place of old_fd's, as its owner's and
 * with its mode.
 */
static int
write_tmp(const char *tmp, int old_fd, const char *text, size_t len)
{
	struct stat st;
	int fd, ret;

	if (fstat(old_fd, &st) < 0)
		return -errno;
	unlink(tmp); /* left by a crash: the lock is ours */
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	ret = write_all(fd, text, len);
	if (!ret && (fchown(fd, st.st_uid, st.st_gid) < 0 ||
		     fchmod(fd, st.st_mode & 07777u) < 0 || fsync(fd) < 0))
		ret = -errno;
	close(fd);
	return ret;
}

/* The name lasts through a crash too, where the file system can do that. */
static void
sync_parent(const char *path)
{
	char dir[PATH_MAX];
	char *slash;
	int fd;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (slash)
		slash[1] = '\0';
	fd = open(slash ? dir : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	(void)fsync(fd);
	close(fd);
}

static int
replace(const char *path, int old_fd, const char *text, size_t len,
	struct bf_err *err)
{
	char tmp[PATH_MAX + 8];
	int ret;

	snprintf(tmp, sizeof(tmp), "%s.tmp", path);
	ret = write_tmp(tmp, old_fd, text, len);
	if (!ret && rename(tmp, path) < 0)
		ret = -errno;
	if (ret) {
		unlink(tmp);
		return bf_err_set(err, -ret, "cannot add to %s: %s", path,
				  bf_err_str(ret));
	}
	sync_parent(path);
	return 0;
}

/* The old text with a line more; the lock is held. */
static int
append(const char *path, int fd, const char *address,
       const uint8_t key[BF_KEY_BYTES], struct bf_err *err)
{
	char line[BF_KNOWN_ADDRESS_MAX + BF_KEY_TEXT_BYTES + 4];
	char text_key[BF_KEY_TEXT_BYTES], *text = NULL, *grown;
	size_t len = 0, line_len;
	int ret;

	ret = bf_lines_read(&text, &len, fd, BF_KNOWN_FILE_MAX - sizeof(line),
			    path, err);
	if (ret)
		return ret;
	/* Another process may have added it since the caller looked. */
	ret = bf_known_check_text(text, len, path, address, key, err);
	if (ret != -ENOENT)
		goto out;
	bf_keys_to_text(text_key, key);
	snprintf(line, sizeof(line), "%s%s %s\n",
		 len && text[len - 1] != '\n' ? "\n" : "", address, text_key);
	line_len = strlen(line);
	grown = realloc(text, len + line_len);
	if (!grown) {
		ret = bf_err_set(err, ENOMEM, "%s: no memory for its lines",
				 path);
		goto out;
	}
	text = grown;
	memcpy(text + len, line, line_len);
	ret = replace(path, fd, text, len + line_len, err);
out:
	free(text);
	return ret;
}

static int
check_address(const char *address, struct bf_err *err)
{
	const unsigned char *s = (const unsigned char *)address;

	while (*s > 0x20 && *s != 0x7f)
		s++;
	if (!address[0] || *s || strlen(address) >= BF_KNOWN_ADDRESS_MAX)
		return bf_err_set(err, BF_EARGUMENT,
				  "the address is empty, longer than %u bytes, "
				  "or has a blank or control byte in it",
				  BF_KNOWN_ADDRESS_MAX - 1);
	if (address[0] == '#' || is_pattern(address))
		return bf_err_set(err, BF_EARGUMENT,
				  "%.100s: would be a %s (add the line by hand "
				  "if it is meant)",
				  address,
				  address[0] == '#' ? "comment" : "pattern");
	return 0;
}

int
bf_known_add(const char *path, const char *address,
	     const uint8_t key[BF_KEY_BYTES], struct bf_err *err)
{
	char real[PATH_MAX];
	int fd, ret;

	ret = check_address(address, err);
	if (ret)
		return ret;
	if (is_zero(key))
		return bf_err_set(err, BF_EARGUMENT,
				  "%.100s: a key of all zero is nobody's",
				  address);
	if (strlen(path) >= sizeof(real))
		return bf_err_set(err, ENAMETOOLONG, "cannot add to %.100s...",
				  path);
	memcpy(real, path, strlen(path) + 1);
	ret = follow_links(real, err);
	if (!ret)
		ret = make_parents(real, err);
	if (ret)
		return ret;
	fd = open_locked(real, err);
	if (fd < 0)
		return fd;
	ret = append(real, fd, address, key, err);
	close(fd);
	return ret;
}
