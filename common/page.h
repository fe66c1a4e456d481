/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * page - the one shape in which entries travel: columns of keys and values
 *
 * An engine fills a page, the agent sends it, the client renders it; nothing
 * after the engine knows which engine ran.  All sizes of columns are computed
 * here and nowhere else.
 */
#ifndef BF_PAGE_H
#define BF_PAGE_H

#include "common/base.h"

/* How far a reply can be believed, best first; the worst page counts. */
enum bf_coherence {
	BF_EXACT = 1,	   /* what stays is there once, with a value it had */
	BF_FAST = 2,	   /* read without locks: see proto/PROTOCOL.md */
	BF_MAY_REPEAT = 3, /* walked by key: keys may repeat under deletion */
	BF_INCOMPLETE = 4, /* a bound was met before the end of the map */
};

/* The sizes of one entry. */
struct bf_shape {
	uint32_t key_size;   /* bytes; 0 for queue, stack, bloom filter */
	uint32_t value_size; /* bytes that carry data in a slot */
	uint32_t slot_size;  /* bytes from one slot to the next */
	uint32_t n_slots;    /* values per key: possible CPUs, or 1 */
};

struct bf_page {
	struct bf_shape shape;
	uint32_t map_id;
	uint32_t n;	 /* entries */
	uint8_t *keys;	 /* n * key_size bytes, no padding */
	uint8_t *values; /* n * slot_size * n_slots bytes */
	uint32_t cap;	 /* entries that keys and values have room for */
	bool end;	 /* nothing follows; the page may still hold entries */
	const char *engine; /* static string */
	const char *reason; /* static string: why that engine */
	enum bf_coherence coherence;
	uint64_t restarts; /* walks begun again, since the first page */
	uint32_t retries;  /* calls repeated: interrupted, busy, too small */
	uint64_t skipped;  /* holes, and entries that vanished while read */
	uint64_t started_ns, ended_ns; /* wall clock of the agent */
};

/*
 * bf_shape_set - the sizes of one entry of a map
 *
 * per_cpu: slots are rounded up to 8 bytes, one for each possible CPU
 * Returns: 0, -EINVAL if a size or their product is beyond BF_PAGE_MAX
 */
int bf_shape_set(struct bf_shape *out, uint32_t key_size, uint32_t value_size,
		 bool per_cpu, uint32_t n_possible_cpus);

/* Bytes of the values of one key. */
static inline uint64_t
bf_shape_value_bytes(const struct bf_shape *s)
{
	return (uint64_t)s->slot_size * s->n_slots;
}

static inline uint64_t
bf_shape_entry_bytes(const struct bf_shape *s)
{
	return s->key_size + bf_shape_value_bytes(s);
}

/*
 * bf_page_init - an empty page for entries of a shape; caller's storage
 */
void bf_page_init(struct bf_page *page, const struct bf_shape *shape);
void bf_page_fini(struct bf_page *page);

/*
 * bf_page_reserve - room for cap entries in all; keeps those it holds
 *
 * Returns: 0; -BF_ETOOBIG beyond BF_PAGE_MAX bytes; -ENOMEM
 */
int bf_page_reserve(struct bf_page *page, uint64_t cap);

static inline uint8_t *
bf_page_key(const struct bf_page *p, uint64_t i)
{
	return p->keys + i * p->shape.key_size;
}

static inline uint8_t *
bf_page_value(const struct bf_page *p, uint64_t i)
{
	return p->values + i * bf_shape_value_bytes(&p->shape);
}

/* The word for it, as in the protocol: "exact", "fast", ... */
const char *bf_coherence_str(enum bf_coherence coherence);

#endif
