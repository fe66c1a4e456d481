// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * lines - reads a text file whole and cuts it into checked lines
 */
#include "common/lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_SHOWN_MAX 200u

int
bf_lines_fail(const struct bf_lines *in, uint32_t line, const char *why,
	      struct bf_err *err)
{
	size_t len = strlen(in->name);
	/* Of a long path the end, so that the line and why have room. */
	size_t cut = len > NAME_SHOWN_MAX ? len - NAME_SHOWN_MAX : 0;

	return bf_err_set(err, BF_EARGUMENT, "%s%s:%u: %s", cut ? "..." : "",
			  in->name + cut, line, why);
}

static bool
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static bool
has_control(const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (((unsigned char)bytes[i] < 0x20 && bytes[i] != '\t') ||
		    bytes[i] == 0x7f)
			return true;
	return false;
}

int
bf_lines_next(struct bf_lines *in, char out[BF_LINE_MAX], struct bf_err *err)
{
	while (in->at < in->len) {
		const char *s = in->text + in->at;
		const char *nl = memchr(s, '\n', in->len - in->at);
		size_t n = nl ? (size_t)(nl - s) : in->len - in->at;

		in->at += n + (nl != NULL);
		in->line++;
		if (n && s[n - 1] == '\r')
			n--;
		while (n && is_blank(s[n - 1]))
			n--;
		for (; n && is_blank(*s); n--)
			s++;
		if (!n || *s == '#')
			continue;
		if (n >= BF_LINE_MAX)
			return bf_lines_fail(in, in->line,
					     "the line is too long (at most "
					     "8191 bytes: shorten it)",
					     err);
		if (has_control(s, n))
			return bf_lines_fail(in, in->line,
					     "a NUL or control byte (remove "
					     "it; is this a text file?)",
					     err);
		memcpy(out, s, n);
		out[n] = '\0';
		return 1;
	}
	return 0;
}

int
bf_lines_read(char **text, size_t *len, int fd, size_t max, const char *name,
	      struct bf_err *err)
{
	struct stat st;
	size_t done = 0;
	ssize_t n = 1;
	char *bytes;

	if (fstat(fd, &st) < 0)
		return bf_err_set(err, errno, "cannot read %s: %s", name,
				  bf_err_str(errno));
	if (!S_ISREG(st.st_mode))
		return bf_err_set(err, BF_EARGUMENT, "%s: not a file", name);
	if ((uint64_t)st.st_size > max)
		return bf_err_set(err, EFBIG,
				  "%s: %llu bytes are too many (at most %zu)",
				  name, (unsigned long long)st.st_size, max);
	bytes = malloc((size_t)st.st_size + 1);
	if (!bytes)
		return bf_err_set(err, ENOMEM, "%s: no memory to read it",
				  name);
	while (n > 0 && done < (size_t)st.st_size) {
		n = pread(fd, bytes + done, (size_t)st.st_size - done,
			  (off_t)done);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			done += (size_t)n;
	}
	if (n < 0) {
		free(bytes);
		return bf_err_set(err, errno, "cannot read %s: %s", name,
				  bf_err_str(errno));
	}
	bytes[done] = '\0';
	*text = bytes;
	*len = done;
	return 0;
}

int
bf_lines_check_owner(int fd, const char *name, struct bf_err *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return bf_err_set(err, errno, "cannot read %s: %s", name,
				  bf_err_str(errno));
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return bf_err_set(err, BF_EDENIED,
				  "%s: belongs to uid %u, who could change "
				  "it at will (chown root it)",
				  name, st.st_uid);
	if (st.st_mode & 022)
		return bf_err_set(err, BF_EDENIED,
				  "%s: mode %04o lets others write it (chmod "
				  "go-w it)",
				  name, (unsigned)st.st_mode & 07777u);
	return 0;
}
