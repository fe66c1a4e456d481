// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * buf - a growing byte buffer with a hard maximum
 */
#include "common/buf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void
bf_buf_init(struct bf_buf *buf, size_t max)
{
	*buf = (struct bf_buf){.max = max};
}

void
bf_buf_fini(struct bf_buf *buf)
{
	free(buf->data);
	*buf = (struct bf_buf){.max = buf->max};
}

void
bf_buf_reset(struct bf_buf *buf)
{
	buf->len = 0;
	buf->err = 0;
}

uint8_t *
bf_buf_reserve(struct bf_buf *buf, size_t n)
{
	uint8_t *data;
	size_t cap;

	if (buf->err)
		return NULL;
	if (n > buf->max - buf->len) {
		buf->err = -EMSGSIZE;
		return NULL;
	}
	if (buf->data && n <= buf->cap - buf->len)
		return buf->data + buf->len;
	cap = bf_max_u64(buf->len + n, bf_min_u64(buf->cap * 2, buf->max));
	data = realloc(buf->data, bf_max_u64(cap, 1));
	if (!data) {
		buf->err = -ENOMEM;
		return NULL;
	}
	buf->data = data;
	buf->cap = cap;
	return data + buf->len;
}

void
bf_buf_put(struct bf_buf *buf, const void *bytes, size_t n)
{
	uint8_t *room = bf_buf_reserve(buf, n);

	if (!room || !n)
		return;
	memcpy(room, bytes, n);
	buf->len += n;
}
