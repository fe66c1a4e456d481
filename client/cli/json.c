// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * json - the streaming writer
 */
#include "client/cli/json.h"

#include <inttypes.h>

#define EXACT_MAX (1ull << 53)

static void
new_line(struct json *j)
{
	if (!j->pretty)
		return;
	out_char(j->out, '\n');
	for (unsigned i = 0; i < j->depth; i++)
		out_bytes(j->out, "    ", 4);
}

static void
separate(struct json *j)
{
	if (j->separator)
		out_char(j->out, j->separator);
	j->separator = ',';
}

void
json_init(struct json *j, struct out *out, bool pretty)
{
	*j = (struct json){.out = out, .pretty = pretty};
}

void
json_open(struct json *j, char bracket)
{
	separate(j);
	out_char(j->out, bracket);
	j->depth++;
	j->separator = '\0';
}

void
json_close(struct json *j, char bracket)
{
	j->depth--;
	if (j->separator)
		new_line(j);
	out_char(j->out, bracket);
	j->separator = ',';
}

void
json_name(struct json *j, const char *name)
{
	separate(j);
	new_line(j);
	j->separator = '\0';
	out_json_string(j->out, name);
	out_char(j->out, ':');
	if (j->pretty)
		out_char(j->out, ' ');
}

void
json_string(struct json *j, const char *s)
{
	separate(j);
	out_json_string(j->out, s);
}

void
json_uint(struct json *j, uint64_t n)
{
	separate(j);
	out_uint(j->out, n);
}

void
json_bool(struct json *j, bool b)
{
	separate(j);
	out_str(j->out, b ? "true" : "false");
}

void
json_null(struct json *j)
{
	separate(j);
	out_str(j->out, "null");
}

void
json_exact(struct json *j, uint64_t n)
{
	separate(j);
	if (n > EXACT_MAX)
		out_char(j->out, '"');
	out_uint(j->out, n);
	if (n > EXACT_MAX)
		out_char(j->out, '"');
}

void
json_ms(struct json *j, uint64_t ns)
{
	separate(j);
	out_printf(j->out, "%" PRIu64 ".%03" PRIu64, ns / 1000000,
		   ns / 1000 % 1000);
}

void
json_hex_array(struct json *j, const uint8_t *bytes, size_t n)
{
	separate(j);
	out_hex_array(j->out, bytes, n);
	if (n)
		new_line(j);
	out_char(j->out, ']');
}

void
json_hex_string(struct json *j, const uint8_t *bytes, size_t n)
{
	separate(j);
	out_char(j->out, '"');
	out_hex(j->out, bytes, n, ' ');
	out_char(j->out, '"');
}
