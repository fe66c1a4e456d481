/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * map - identity of a map, and what its type allows
 *
 * One table says for every type how its keys can be walked, whether there is
 * a batch read, and why it cannot be read where it cannot.  The facts were
 * measured on Linux 6.18 and 6.1.
 */
#ifndef BF_SERVER_MAP_H
#define BF_SERVER_MAP_H

#include "common/err.h"
#include "common/mapinfo.h"
#include "common/page.h"

/* How one gets from a key to the next. */
enum bf_map_order {
	BF_ORDER_NONE,	/* not at all */
	BF_ORDER_INDEX, /* keys are 0 to max_entries - 1 */
	BF_ORDER_KEYS,	/* BPF_MAP_GET_NEXT_KEY, restarts at a gone key */
	BF_ORDER_TRIE,	/* the same, and keys have an order of their own */
};

/* What BPF_MAP_LOOKUP_BATCH takes as its place in the map. */
enum bf_map_batch {
	BF_BATCH_NONE,
	BF_BATCH_BUCKET, /* a u32 bucket index, whatever key_size is */
	BF_BATCH_KEY,	 /* the last key */
};

enum bf_map_lookup {
	BF_LOOKUP_NONE,
	BF_LOOKUP_KEY,	  /* by key */
	BF_LOOKUP_MEMBER, /* bloom filter: is this value in it? */
	BF_LOOKUP_PEEK,	  /* queue, stack: the head */
};

struct bf_map_traits {
	enum bf_map_order order;
	enum bf_map_batch batch;
	enum bf_map_lookup lookup;
	/* Values are stable under a key, not reused for another one. */
	bool fixed_slots;
	const char *unreadable; /* why Dump is refused, or NULL */
};

/* A map that is open for reading. */
struct bf_map {
	int fd; /* BPF_F_RDONLY */
	struct bf_map_info info;
	struct bf_shape shape;
	const struct bf_map_traits *traits;
};

/* Never NULL: unknown types have traits that allow nothing. */
const struct bf_map_traits *bf_map_traits(uint32_t type);

/*
 * bf_map_info_get - all that the kernel tells of an open map
 *
 * details: also memlock, frozen and owner, from /proc/self/fdinfo
 * Returns: 0 or -errno
 */
int bf_map_info_get(struct bf_map_info *out, int fd, bool details);

/*
 * bf_map_init - make a map of an fd and its info; caller's storage
 *
 * Returns: 0; -BF_ETOOBIG if one entry is larger than BF_PAGE_MAX
 * Owns:    takes nothing: fd stays the caller's
 */
int bf_map_init(struct bf_map *out, int fd, const struct bf_map_info *info,
		struct bf_err *err);

/*
 * bf_map_walk_bound - keys a walk may pass before it gives up
 *
 * Several times max_entries, which is 0 for maps that have no such limit.
 */
uint64_t bf_map_walk_bound(const struct bf_map_info *info);

/* Why a dump of such a map is refused, or NULL. */
const char *bf_map_unreadable(const struct bf_map_info *info);

/* "map id 7 (\"flows\")", for messages. */
const char *bf_map_words(const struct bf_map_info *info, char *buf,
			 size_t buf_cap);

/* Possible CPUs, from the kernel; at least 1. */
uint32_t bf_map_possible_cpus(void);

#endif
