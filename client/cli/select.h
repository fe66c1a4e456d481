/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * select - words of the command line that name a map, its keys, a cursor
 *
 * Pure parsing, without an agent: bounded, and fuzzed.
 */
#ifndef BF_CLI_SELECT_H
#define BF_CLI_SELECT_H

#include "common/base.h"

#define SELECT_MAX (BF_PATH_MAX + 8)

/* Bytes that grow; keys of one size one after the other. */
struct select_keys {
	uint8_t *bytes;
	size_t len;
	uint32_t size; /* of one key; 0 before the first */
	size_t n;
	bool is_value; /* `value ...`: to be tested in a bloom filter */
};

/*
 * select_map - MAP: id N | name NAME | pinned PATH | id:N | name:GLOB |
 * pin:PATH | WORD
 *
 * Out:     selector for bpfleet_maps_find()
 * Returns: words used, 1 or 2; -1 with why set
 */
int select_map(char selector[SELECT_MAX], int argc, char **argv,
	       const char **why);

/*
 * select_name - the plain name that a selector asks for
 *
 * Returns: into the selector; NULL for an id, a pin or a pattern
 */
const char *select_name(const char *selector);

/*
 * select_keys - key hex 0a 00 | key 10 0 | value hex 0a, any number of them
 *
 * Returns: words used; -1 with why set; -2 without memory
 * Owns:    free keys->bytes
 */
int select_keys(struct select_keys *keys, int argc, char **argv,
		const char **why);

/*
 * select_hex - bytes of a hex string
 *
 * Returns: number of bytes, or -1 if it is none or longer than cap
 */
long select_hex(uint8_t *out, size_t cap, const char *hex);

/* Returns: 0, or -1 if the word is no number from min to max. */
int select_number(uint64_t *out, const char *word, uint64_t min, uint64_t max);

#endif
