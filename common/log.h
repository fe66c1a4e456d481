/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * log - the daemon's lines on stderr: `level module event key=value ...`
 *
 * err: the operator must act; warn: degraded; info: a state changed; debug:
 * each request.  Bytes that came from a peer go through bf_log_escape().
 * The library and the CLI do not log.
 */
#ifndef BF_LOG_H
#define BF_LOG_H

#include "common/base.h"

enum bf_log_level {
	BF_LOG_ERR,
	BF_LOG_WARN,
	BF_LOG_INFO,
	BF_LOG_DEBUG,
};

/* At most BURST lines of one kind in a second; the rest are counted. */
struct bf_log_limit {
	uint64_t second;
	uint32_t n;
	uint32_t suppressed;
};

void bf_log_set_level(enum bf_log_level level);
/* Returns: 0, or -EINVAL for a word that is no level. */
int bf_log_parse_level(const char *word, enum bf_log_level *out);

/*
 * bf_log - write one line, in one write(2)
 *
 * event:   "module event", fmt adds " key=value" pairs
 * Threads: any
 */
void bf_log(enum bf_log_level level, const char *event, const char *fmt, ...)
	BF_PRINTF(3, 4);

/*
 * bf_log_limited - true if a line of this kind may be written now
 *
 * Once a second passes in which lines were dropped, says how many.
 * Threads: any; one limit per kind of line, static at its place
 */
bool bf_log_allowed(struct bf_log_limit *limit, const char *event);

struct bf_err;

/* A line `err EVENT why="..."`, with effect="..." if that is not NULL. */
void bf_log_error(const char *event, const struct bf_err *err,
		  const char *effect);

/*
 * bf_log_keep_stdio - take fds 0 to 2 where they are closed, so that no other
 * file gets one of these numbers and what was meant for a terminal
 */
void bf_log_keep_stdio(void);

/*
 * bf_log_escape - make bytes fit to stand between quotes in a line: printable
 * ASCII, the rest and quotes \xNN
 *
 * Returns: out, always NUL-terminated, cut at out_cap
 */
const char *bf_log_escape(const void *bytes, size_t len, char *out,
			  size_t out_cap);

#endif
