/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * read_select - which engine reads a map, and why
 */
#ifndef BF_SERVER_READ_SELECT_H
#define BF_SERVER_READ_SELECT_H

#include "server/read.h"

#define BF_N_ENGINES 2

/* All engines, safest first. */
extern const struct bf_engine *const bf_engines[BF_N_ENGINES];

const struct bf_engine *bf_engine_by_id(uint32_t id);

/*
 * bf_select_engine - pick an engine
 *
 * In:      asked is an engine's name, or "" for the best one
 * Out:     *reason is a static phrase
 * Returns: 0; -BF_EARGUMENT for a name that is none; -BF_EUNREADABLE, with
 *          the reason, if that one, or none, can read the map
 */
int bf_select_engine(const struct bf_engine **out, const char **reason,
		     const struct bf_map *map, const char *asked,
		     struct bf_err *err);

#endif
