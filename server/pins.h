/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * pins - which maps are pinned where, in this mount namespace
 *
 * Pins are labels: maps are found by id first.  Used by the broker only.
 */
#ifndef BF_SERVER_PINS_H
#define BF_SERVER_PINS_H

#include "common/base.h"

struct bf_pin {
	uint32_t map_id;
	char *path;
};

struct bf_pins {
	struct bf_pin *pins; /* by ascending map id */
	size_t n;
};

/*
 * bf_pins_scan - look through every mounted bpffs
 *
 * Bounded in number and depth; what cannot be opened is left out.
 * Returns: 0 or -ENOMEM
 * Owns:    bf_pins_fini() the result, also before a second scan
 */
int bf_pins_scan(struct bf_pins *out);
void bf_pins_fini(struct bf_pins *pins);

/*
 * bf_pins_open - open a pinned map for reading
 *
 * Returns: an fd, or -errno; -ENOENT also if it is on no bpffs; -EINVAL if
 *          something else is pinned there
 */
int bf_pins_open(const char *path);

#endif
