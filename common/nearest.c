// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * nearest - edit distance between two short words (Levenshtein)
 */
#include "common/nearest.h"

#include <string.h>

#define WORD_MAX 31u

size_t
bf_nearest_distance(const char *a, const char *b)
{
	size_t a_len = strlen(a), b_len = strlen(b), row[WORD_MAX + 1];

	if (a_len > WORD_MAX || b_len > WORD_MAX)
		return SIZE_MAX;
	if (a_len > 1 && a_len < b_len && !strncmp(a, b, a_len))
		return 1;
	for (size_t j = 0; j <= b_len; j++)
		row[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t corner = row[0];

		row[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t best = corner + (a[i - 1] != b[j - 1]);

			corner = row[j];
			best = bf_min_u64(best, row[j] + 1);
			row[j] = bf_min_u64(best, row[j - 1] + 1);
		}
	}
	return row[b_len];
}

const char *
bf_nearest_word(const char *word, const char *const *words, size_t n)
{
	const char *best = NULL;
	size_t best_d = 3, d;

	for (size_t i = 0; word[0] && i < n; i++) {
		d = bf_nearest_distance(word, words[i]);
		/* Nothing of the word may be left but its length. */
		if (d < best_d && d < strlen(words[i])) {
			best = words[i];
			best_d = d;
		}
	}
	return best;
}
