// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * select - parses maps, keys, cursors and numbers
 */
#include "client/cli/select.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
select_number(uint64_t *out, const char *word, uint64_t min, uint64_t max)
{
	char *end;

	if (!isdigit((unsigned char)word[0]))
		return -1;
	errno = 0;
	*out = strtoull(word, &end, 0);
	return *end || errno || *out < min || *out > max ? -1 : 0;
}

static int
set_selector(char *out, const char *kind, const char *rest, const char **why)
{
	if (!rest[0] || strlen(kind) + strlen(rest) >= SELECT_MAX) {
		*why = rest[0] ? "the name of the map is too long"
			       : "the name of the map is empty";
		return -1;
	}
	memcpy(out, kind, strlen(kind));
	memcpy(out + strlen(kind), rest, strlen(rest) + 1);
	return 0;
}

/* A name that would read as another kind of selector. */
static bool
is_special(const char *name)
{
	return !strncmp(name, "id:", 3) || !strncmp(name, "pin:", 4) ||
	       !strncmp(name, "name:", 5);
}

static int
set_id(char *out, const char *word, const char **why)
{
	uint64_t id;

	if (select_number(&id, word, 1, UINT32_MAX)) {
		*why = "the id of a map is a number above 0";
		return -1;
	}
	snprintf(out, SELECT_MAX, "id:%u", (unsigned)id);
	return 0;
}

/* The word after id, name or pinned. */
static int
set_pair(char *out, const char *kind, const char *word, const char **why)
{
	if (!strcmp(kind, "id"))
		return set_id(out, word, why);
	if (!strcmp(kind, "pinned"))
		return set_selector(out, "pin:", word, why);
	return set_selector(out, is_special(word) ? "name:" : "", word, why);
}

int
select_map(char selector[SELECT_MAX], int argc, char **argv, const char **why)
{
	static const char *const kinds[] = {"id", "name", "pinned"};

	if (argc < 1) {
		*why = "which map? (id N, name NAME or pinned PATH)";
		return -1;
	}
	for (size_t i = 0; i < BF_ARRAY_SIZE(kinds); i++) {
		if (strcmp(argv[0], kinds[i]) != 0)
			continue;
		if (argc < 2) {
			*why = "which map? id, name and pinned want a word "
			       "after them";
			return -1;
		}
		return set_pair(selector, kinds[i], argv[1], why) ? -1 : 2;
	}
	if (!strncmp(argv[0], "id:", 3))
		return set_id(selector, argv[0] + 3, why) ? -1 : 1;
	return set_selector(selector, "", argv[0], why) ? -1 : 1;
}

const char *
select_name(const char *selector)
{
	if (!strncmp(selector, "id:", 3) || !strncmp(selector, "pin:", 4))
		return NULL;
	if (strncmp(selector, "name:", 5) != 0)
		return selector;
	return strpbrk(selector + 5, "*?[\\") ? NULL : selector + 5;
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)tolower((unsigned char)c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

long
select_hex(uint8_t *out, size_t cap, const char *hex)
{
	size_t n = 0;
	int hi, lo;

	for (; hex[0]; hex += 2) {
		hi = hex_digit(hex[0]);
		lo = hi < 0 ? -1 : hex_digit(hex[1]);
		if (lo < 0 || n == cap)
			return -1;
		out[n++] = (uint8_t)(hi << 4 | lo);
	}
	return (long)n;
}

/* One byte, in hex or as C writes numbers. Returns: -1 if it is none. */
static int
parse_byte(const char *word, bool hex)
{
	uint8_t byte;
	uint64_t n;

	if (hex && !strncmp(word, "0x", 2))
		word += 2;
	if (hex && strlen(word) == 1 && hex_digit(word[0]) >= 0)
		return hex_digit(word[0]);
	if (hex)
		return select_hex(&byte, 1, word) == 1 ? byte : -1;
	return select_number(&n, word, 0, 255) ? -1 : (int)n;
}

static bool
starts_key(const char *word)
{
	return !strcmp(word, "key") || !strcmp(word, "value");
}

static int
append_byte(struct select_keys *keys, size_t *cap, int byte)
{
	uint8_t *bytes;

	if (keys->len == *cap) {
		*cap = *cap ? *cap * 2 : 64;
		bytes = realloc(keys->bytes, *cap);
		if (!bytes)
			return -2;
		keys->bytes = bytes;
	}
	keys->bytes[keys->len++] = (uint8_t)byte;
	return 0;
}

/* Checks a key that has been read in full. */
static int
end_key(struct select_keys *keys, size_t begin, const char **why)
{
	size_t size = keys->len - begin;

	if (!size) {
		*why = "a key without bytes (key hex 0a 00 00 01)";
		return -1;
	}
	if (keys->n && size != keys->size) {
		*why = "keys of different lengths";
		return -1;
	}
	keys->size = (uint32_t)size;
	keys->n++;
	return 0;
}

int
select_keys(struct select_keys *keys, int argc, char **argv, const char **why)
{
	size_t begin, cap = 0;
	bool hex, value;
	int i = 0, byte;

	*keys = (struct select_keys){0};
	while (i < argc) {
		value = !strcmp(argv[i], "value");
		if (!starts_key(argv[i]) ||
		    (keys->n && value != keys->is_value)) {
			*why = "a key begins with the word key (key hex 0a 00 "
			       "00 01)";
			return -1;
		}
		keys->is_value = value;
		i++;
		hex = i < argc && !strcmp(argv[i], "hex");
		i += hex;
		begin = keys->len;
		for (; i < argc && !starts_key(argv[i]); i++) {
			byte = parse_byte(argv[i], hex);
			if (byte < 0) {
				*why = "a byte of a key is a number from 0 to "
				       "255, or two hex digits after hex";
				return -1;
			}
			if (append_byte(keys, &cap, byte))
				return -2;
		}
		if (end_key(keys, begin, why))
			return -1;
	}
	if (!keys->n) {
		*why = "which key? (key hex 0a 00 00 01)";
		return -1;
	}
	return i;
}
