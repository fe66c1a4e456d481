/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * json - writes JSON as it comes, compact or pretty, in constant memory
 *
 * Line breaks and commas fall where bpftool puts them, so that the same calls
 * give the same bytes.
 */
#ifndef BF_CLI_JSON_H
#define BF_CLI_JSON_H

#include "client/cli/out.h"

struct json {
	struct out *out;
	bool pretty;
	unsigned depth;
	char separator; /* before the next value, or 0 */
};

void json_init(struct json *j, struct out *out, bool pretty);
void json_open(struct json *j, char bracket);  /* '{' or '[' */
void json_close(struct json *j, char bracket); /* '}' or ']' */
void json_name(struct json *j, const char *name);
void json_string(struct json *j, const char *s);
void json_uint(struct json *j, uint64_t n);
void json_bool(struct json *j, bool b);
void json_null(struct json *j);
/* An integer that any parser keeps: a string beyond 2^53. */
void json_exact(struct json *j, uint64_t n);
/* Nanoseconds as milliseconds with three decimals. */
void json_ms(struct json *j, uint64_t ns);
/* Bytes as ["0x0a","0x00"]. */
void json_hex_array(struct json *j, const uint8_t *bytes, size_t n);
/* Bytes as "0a 00". */
void json_hex_string(struct json *j, const uint8_t *bytes, size_t n);

#endif
