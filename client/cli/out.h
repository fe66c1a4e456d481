/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * out - standard output, buffered, whose failure is never silent
 *
 * The first failed write sticks; the end of the program looks at it.
 */
#ifndef BF_CLI_OUT_H
#define BF_CLI_OUT_H

#include "common/base.h"

#define OUT_BYTES (128u << 10)

struct out {
	size_t len;
	int error; /* errno of the first failed write */
	char data[OUT_BYTES];
};

void out_flush(struct out *o);
void out_bytes(struct out *o, const char *bytes, size_t n);
void out_str(struct out *o, const char *s);
void out_uint(struct out *o, uint64_t n);
/* Text from elsewhere for a terminal: control bytes are shown as \xNN. */
void out_text(struct out *o, const char *s);
void out_printf(struct out *o, const char *fmt, ...) BF_PRINTF(2, 3);
/* Room for n <= OUT_BYTES bytes; out_took() says how many were used. */
char *out_room(struct out *o, size_t n);

static inline void
out_took(struct out *o, size_t n)
{
	o->len += n;
}

static inline void
out_char(struct out *o, char c)
{
	*out_room(o, 1) = c;
	out_took(o, 1);
}

/* Two hex digits a byte, separated. */
void out_hex(struct out *o, const uint8_t *bytes, size_t n, char separator);
/* A JSON string, whatever the bytes: what is not UTF-8 becomes \u00XX. */
void out_json_string(struct out *o, const char *s);
/* ["0x0a","0x00" without the closing bracket, as bpftool writes bytes. */
void out_hex_array(struct out *o, const uint8_t *bytes, size_t n);

#endif
