// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * out - buffers, escapes and writes what goes to standard output
 */
#include "client/cli/out.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CHUNK 4096u /* bytes turned to hex at a time */

static const char digits[] = "0123456789abcdef";

void
out_flush(struct out *o)
{
	size_t done = 0;
	ssize_t n;

	while (!o->error && done < o->len) {
		n = write(STDOUT_FILENO, o->data + done, o->len - done);
		if (n > 0)
			done += (size_t)n;
		else if (n < 0 && errno != EINTR)
			o->error = errno;
	}
	o->len = 0;
}

char *
out_room(struct out *o, size_t n)
{
	if (n > sizeof(o->data) - o->len)
		out_flush(o);
	return o->data + o->len;
}

void
out_bytes(struct out *o, const char *bytes, size_t n)
{
	size_t part;

	while (n) {
		part = bf_min_u64(n, sizeof(o->data));
		memcpy(out_room(o, part), bytes, part);
		out_took(o, part);
		bytes += part;
		n -= part;
	}
}

void
out_str(struct out *o, const char *s)
{
	out_bytes(o, s, strlen(s));
}

void
out_printf(struct out *o, const char *fmt, ...)
{
	char text[2048];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n > 0)
		out_bytes(o, text, bf_min_u64((uint64_t)n, sizeof(text) - 1));
}

void
out_uint(struct out *o, uint64_t n)
{
	char text[20];
	size_t at = sizeof(text);

	do {
		text[--at] = (char)('0' + n % 10);
		n /= 10;
	} while (n);
	out_bytes(o, text + at, sizeof(text) - at);
}

void
out_hex(struct out *o, const uint8_t *bytes, size_t n, char separator)
{
	while (n) {
		size_t part = bf_min_u64(n, CHUNK);
		char *begin = out_room(o, part * 3), *p = begin;

		for (size_t i = 0; i < part; i++) {
			*p++ = digits[bytes[i] >> 4];
			*p++ = digits[bytes[i] & 15];
			if (separator && (i + 1 < n))
				*p++ = separator;
		}
		out_took(o, (size_t)(p - begin));
		bytes += part;
		n -= part;
	}
}

void
out_hex_array(struct out *o, const uint8_t *bytes, size_t n)
{
	out_char(o, '[');
	while (n) {
		size_t part = bf_min_u64(n, CHUNK);
		char *begin = out_room(o, part * 7), *p = begin;

		for (size_t i = 0; i < part; i++) {
			memcpy(p, "\"0x..\",", 7);
			p[3] = digits[bytes[i] >> 4];
			p[4] = digits[bytes[i] & 15];
			p += 7;
		}
		bytes += part;
		n -= part;
		out_took(o, (size_t)(p - begin) - !n);
	}
}

/* Bytes of the UTF-8 character at s, 0 if it is none. */
static size_t
utf8_len(const unsigned char *s)
{
	size_t n;

	if (s[0] < 0x80)
		return 1;
	n = s[0] >= 0xf0 && s[0] < 0xf5	  ? 4
	    : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
	    : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
					  : 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return n;
}

void
out_text(struct out *o, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	while (*s) {
		size_t n = utf8_len(s);
		bool c1 = n == 2 && s[0] == 0xc2 && s[1] < 0xa0;

		if (*s < 0x20 || *s == 0x7f || c1 || !n) {
			out_printf(o, "\\x%02x", *s);
			n = 1;
		} else {
			out_bytes(o, (const char *)s, n);
		}
		s += n;
	}
}

/* Bytes from s that JSON takes as they are, and that are ASCII. */
static size_t
plain_len(const unsigned char *s)
{
	size_t n = 0;

	while (s[n] >= 0x20 && s[n] < 0x7f && s[n] != '"' && s[n] != '\\')
		n++;
	return n;
}

void
out_json_string(struct out *o, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t n;

	out_char(o, '"');
	for (;;) {
		n = plain_len(s);
		out_bytes(o, (const char *)s, n);
		s += n;
		if (!*s)
			break;
		n = utf8_len(s);
		if (*s == '"' || *s == '\\') {
			out_char(o, '\\');
			out_char(o, (char)*s);
		} else if (*s < 0x20 || *s == 0x7f || !n) {
			out_printf(o, "\\u%04x", *s);
			n = 1;
		} else {
			out_bytes(o, (const char *)s, n);
		}
		s += n;
	}
	out_char(o, '"');
}
