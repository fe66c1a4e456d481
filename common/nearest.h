/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * nearest - "did you mean": the word most like one that is not known
 */
#ifndef BF_NEAREST_H
#define BF_NEAREST_H

#include "common/base.h"

/*
 * bf_nearest_distance - how many letters differ, are missing or too many
 *
 * Returns: 0 for the same word; 1 where b goes on after the whole of a; a
 *          large number for words above 31 letters
 */
size_t bf_nearest_distance(const char *a, const char *b);

/*
 * bf_nearest_word - the word that was probably meant
 *
 * Returns: one of the n words, within two edits or begun by word; or NULL
 */
const char *bf_nearest_word(const char *word, const char *const *words,
			    size_t n);

#endif
