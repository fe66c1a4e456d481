/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * buf - a growing byte buffer with a hard maximum
 *
 * Everything that is built to be sent goes into one.  The first failure
 * sticks: callers append freely and look at err once, at the end.
 */
#ifndef BF_BUF_H
#define BF_BUF_H

#include "common/base.h"

struct bf_buf {
	uint8_t *data;
	size_t len;
	size_t cap;
	size_t max; /* bytes; never exceeded */
	int err;    /* 0, -ENOMEM, or -EMSGSIZE when max would be passed */
};

/* Caller's storage; no allocation until the first byte. */
void bf_buf_init(struct bf_buf *buf, size_t max);
void bf_buf_fini(struct bf_buf *buf);
/* Empties it and clears err; keeps the memory. */
void bf_buf_reset(struct bf_buf *buf);

/*
 * bf_buf_reserve - room for n more bytes at data + len
 *
 * Returns: pointer to the room, or NULL with err set; len is unchanged
 */
uint8_t *bf_buf_reserve(struct bf_buf *buf, size_t n);
void bf_buf_put(struct bf_buf *buf, const void *bytes, size_t n);

#endif
