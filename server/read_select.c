// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * read_select - picks an engine by the map's type and what was asked for
 */
#include "server/read_select.h"

#include <string.h>

const struct bf_engine *const bf_engines[BF_N_ENGINES] = {
	&bf_read_walk,
	&bf_read_batch,
};

const struct bf_engine *
bf_engine_by_id(uint32_t id)
{
	for (size_t i = 0; i < BF_N_ENGINES; i++)
		if (bf_engines[i]->id == id)
			return bf_engines[i];
	return NULL;
}

static int
select_by_name(const struct bf_engine **out, const struct bf_map *map,
	       const char *asked, struct bf_err *err)
{
	char words[64];
	const char *why;

	for (size_t i = 0; i < BF_N_ENGINES; i++) {
		if (strcmp(bf_engines[i]->name, asked) != 0)
			continue;
		why = bf_engines[i]->why_not(map);
		if (why)
			return bf_err_set(
				err, BF_EUNREADABLE,
				"%s: engine %s cannot read it: %s",
				bf_map_words(&map->info, words, sizeof(words)),
				asked, why);
		*out = bf_engines[i];
		return 0;
	}
	return bf_err_set(err, BF_EARGUMENT,
			  "engine \"%.32s\": not known here (walk, batch)",
			  asked);
}

int
bf_select_engine(const struct bf_engine **out, const char **reason,
		 const struct bf_map *map, const char *asked,
		 struct bf_err *err)
{
	const char *why = bf_map_unreadable(&map->info);
	char words[64], type[32];

	if (why)
		return bf_err_set(
			err, BF_EUNREADABLE, "%s, type %s, cannot be read: %s",
			bf_map_words(&map->info, words, sizeof(words)),
			bf_map_type_words(map->info.type, type, sizeof(type)),
			why);
	if (asked[0]) {
		*reason = "asked for";
		return select_by_name(out, map, asked, err);
	}
	if (!bf_read_batch.why_not(map)) {
		*out = &bf_read_batch;
		*reason = map->traits->order == BF_ORDER_TRIE
				  ? "bulk read of a trie, by last key"
				  : "bulk read, exact";
		return 0;
	}
	*out = &bf_read_walk;
	*reason = map->traits->order == BF_ORDER_INDEX
			  ? "no bulk read for this type; by index"
			  : "no bulk read for this type; by key";
	return 0;
}
