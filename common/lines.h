/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * lines - text files with a record a line, as authorized_clients is
 *
 * Reads a file whole and hands out its lines.  What a line means, and who may
 * write the file, is its user's to know.
 */
#ifndef BF_LINES_H
#define BF_LINES_H

#include "common/err.h"

#define BF_LINE_MAX 8192u /* bytes with the NUL */

/* Set name, text and len; the rest is the walk's. */
struct bf_lines {
	const char *name; /* of the file, for messages */
	const char *text; /* any bytes; no NUL is needed at the end */
	size_t len;
	size_t at;
	uint32_t line; /* the last one handed out, from 1 */
};

/*
 * bf_lines_next - the next line that is neither blank nor begins with #
 *
 * Out:     without blanks at either end and without its CR LF; a tab is the
 *          only control byte in it
 * Returns: 1 a line; 0 the end; -BF_EARGUMENT as bf_lines_fail() says it
 */
int bf_lines_next(struct bf_lines *in, char out[BF_LINE_MAX],
		  struct bf_err *err);

/*
 * bf_lines_fail - say that line number `line` is wrong: "name:line: why"
 *
 * Returns: -BF_EARGUMENT
 */
int bf_lines_fail(const struct bf_lines *in, uint32_t line, const char *why,
		  struct bf_err *err);

/*
 * bf_lines_read - a file whole, once its size is known to be at most max
 *
 * Returns: 0; -EFBIG; -BF_EARGUMENT if it is no regular file; -ENOMEM;
 *          other -errno
 * Owns:    fd stays the caller's; free *text, which has a NUL behind it
 */
int bf_lines_read(char **text, size_t *len, int fd, size_t max,
		  const char *name, struct bf_err *err);

/* Is it root's or our own, and can no other write it?
 * Returns: 0; -BF_EDENIED
 */
int bf_lines_check_owner(int fd, const char *name, struct bf_err *err);

#endif
