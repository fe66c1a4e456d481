// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * fuzz_select - any words as a map, keys, hex and numbers
 */
#include "client/cli/select.h"
#include "common/nearest.h"

#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 64

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	char *text = malloc(len + 1), *words[WORDS_MAX], *save = NULL;
	char selector[SELECT_MAX];
	struct select_keys keys = {0};
	const char *why;
	uint8_t hex[64];
	uint64_t number;
	int n = 0;

	if (!text)
		return 0;
	memcpy(text, bytes, len);
	text[len] = '\0';
	for (char *w = strtok_r(text, " ", &save); w && n < WORDS_MAX;
	     w = strtok_r(NULL, " ", &save))
		words[n++] = w;
	if (select_map(selector, n, words, &why) > 0)
		select_name(selector);
	select_keys(&keys, n, words, &why);
	free(keys.bytes);
	if (n) {
		bf_nearest_word(words[0], (const char *const *)words,
				(size_t)n);
		select_hex(hex, sizeof(hex), words[0]);
		select_number(&number, words[0], 0, UINT64_MAX);
	}
	free(text);
	return 0;
}
