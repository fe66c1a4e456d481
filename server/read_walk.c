// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * read_walk - one entry at a time, on any kernel and any type with keys
 *
 * Arrays are walked by index, which is exact.  Elsewhere the next key is
 * asked for from the last one, and if that was deleted the kernel restarts
 * at the first key, or ends, without a word.  So each step is checked
 * afterwards: if the key it started from is gone, the walk goes on from the
 * newest older key that still exists.  Steps are bounded.
 */
#include "server/read.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RETRIES_MAX 1000

/* Looking at the clock each time would cost as much as a cheap lookup. */
#define STEPS_PER_LOOK 64

bool
bf_read_interrupted(int error, unsigned *in_a_row, struct bf_page *page)
{
	if (error != EINTR && error != EAGAIN && error != EBUSY)
		return false;
	page->retries++;
	return ++*in_a_row < RETRIES_MAX;
}

static const char *
why_not(const struct bf_map *map)
{
	return bf_map_unreadable(&map->info);
}

/* Returns: 0, or the errno of the lookup. */
static int
lookup(const struct bf_map *map, const void *key, void *value,
       struct bf_page *page)
{
	unsigned in_a_row = 0;
	int error;

	do {
		error = bpf_map_lookup_elem(map->fd, key, value) < 0 ? errno
								     : 0;
	} while (bf_read_interrupted(error, &in_a_row, page));
	return error;
}

static int
fail(const struct bf_map *map, const char *call, int error, struct bf_err *err)
{
	char words[64];

	if (error == BF_KERNEL_ENOTSUPP || error == EOPNOTSUPP)
		return bf_err_set(
			err, EOPNOTSUPP,
			"%s: this kernel does not let it be read",
			bf_map_words(&map->info, words, sizeof(words)));
	return bf_err_set(err, BF_EKERNEL, "%s: %s: %s",
			  bf_map_words(&map->info, words, sizeof(words)), call,
			  bf_err_str(error));
}

static bool
time_is_up(const struct bf_read_budget *budget, uint64_t step)
{
	return step % STEPS_PER_LOOK == 0 && bf_mono_passed(budget->until);
}

static int
walk_index(const struct bf_map *map, struct bf_cursor *cursor,
	   const struct bf_read_budget *budget, struct bf_page *page,
	   struct bf_err *err)
{
	uint64_t i = cursor->position;
	uint32_t key;
	int error;

	for (; i < map->info.max_entries && page->n < budget->n_entries; i++) {
		if (i != cursor->position && time_is_up(budget, i))
			break;
		key = (uint32_t)i;
		memcpy(bf_page_key(page, page->n), &key, sizeof(key));
		error = lookup(map, &key, bf_page_value(page, page->n), page);
		if (error == ENOENT)
			cursor->skipped++; /* a hole */
		else if (error)
			return fail(map, "lookup", error, err);
		else
			page->n++;
	}
	cursor->position = i;
	page->end = i >= map->info.max_entries;
	page->coherence = BF_EXACT;
	return 0;
}

/* The state of one walk by key, over one page. */
struct walk {
	const struct bf_map *map;
	struct bf_cursor *cursor;
	struct bf_page *page;
	struct bf_err *err;
	uint8_t *key;	  /* the next key */
	uint8_t *scratch; /* a value nobody wants */
};

/* Is a key that the walk stood on still in the map? */
static bool
exists(struct walk *w, const uint8_t *key)
{
	return lookup(w->map, key, w->scratch, w->page) != ENOENT;
}

/* Forgets last keys that are gone. Returns: true if some were. */
static bool
drop_gone(struct walk *w)
{
	uint32_t n = w->cursor->n_keys;

	while (w->cursor->n_keys && !exists(w, bf_cursor_key(w->cursor, 0)))
		w->cursor->n_keys--;
	if (w->cursor->n_keys == n)
		return false;
	w->cursor->restarts++;
	return true;
}

/*
 * One step from the newest last key that exists, into w->key.
 * Returns: 1; 0 at the end; negative
 */
static int
step(struct walk *w)
{
	const uint8_t *from;
	unsigned in_a_row = 0;
	int error;

	for (;;) {
		from = bf_cursor_key(w->cursor, 0);
		error = bpf_map_get_next_key(w->map->fd, from, w->key) < 0
				? errno
				: 0;
		if (bf_read_interrupted(error, &in_a_row, w->page))
			continue;
		if (error && error != ENOENT)
			return fail(w->map, "next key", error, w->err);
		/* It must be looked for after the step: a key that is there
		 * now was there then.
		 */
		if (!from || !drop_gone(w))
			return error ? 0 : 1;
		w->cursor->steps++;
		if (w->cursor->steps > bf_map_walk_bound(&w->map->info))
			return 1; /* the caller sees the bound */
	}
}

/* Returns: 1 go on, 0 the map's end, negative. */
static int
take_entry(struct walk *w)
{
	struct bf_page *page = w->page;
	int ret, error;

	ret = step(w);
	if (ret <= 0)
		return ret;
	w->cursor->steps++;
	memcpy(bf_page_key(page, page->n), w->key, page->shape.key_size);
	error = lookup(w->map, w->key, bf_page_value(page, page->n), page);
	if (error == ENOENT) {
		/* Deleted in between; or, seldom, a key without a value, from
		 * which the walk must still go on.
		 */
		w->cursor->skipped++;
	} else if (error) {
		return fail(w->map, "lookup", error, w->err);
	} else {
		page->n++;
	}
	return bf_cursor_push(w->cursor, w->key) ? -ENOMEM : 1;
}

static int
walk_keys(const struct bf_map *map, struct bf_cursor *cursor,
	  const struct bf_read_budget *budget, struct bf_page *page,
	  struct bf_err *err)
{
	uint64_t bound = bf_map_walk_bound(&map->info);
	struct walk w = {map, cursor, page, err, NULL, NULL};
	uint64_t first = cursor->steps;
	int ret = 1;

	w.key = malloc((size_t)map->shape.key_size + 1);
	w.scratch = malloc(bf_shape_value_bytes(&map->shape) + 1);
	if (!w.key || !w.scratch)
		ret = bf_err_set(err, ENOMEM, "out of memory");
	page->coherence = BF_MAY_REPEAT;
	while (ret > 0 && page->n < budget->n_entries) {
		if (cursor->steps != first && time_is_up(budget, cursor->steps))
			break;
		if (cursor->steps > bound) {
			page->coherence = BF_INCOMPLETE;
			page->end = true;
			break;
		}
		ret = take_entry(&w);
	}
	if (ret == 0)
		page->end = true;
	free(w.key);
	free(w.scratch);
	return ret < 0 ? ret : 0;
}

static int
next(const struct bf_map *map, struct bf_cursor *cursor,
     const struct bf_read_budget *budget, struct bf_page *page,
     struct bf_err *err)
{
	int ret;

	ret = bf_page_reserve(page, bf_max_u64(budget->n_entries, 1));
	if (ret)
		return bf_err_set(err, -ret, "page: %s", bf_err_str(ret));
	if (map->traits->order == BF_ORDER_INDEX)
		return walk_index(map, cursor, budget, page, err);
	return walk_keys(map, cursor, budget, page, err);
}

const struct bf_engine bf_read_walk = {
	.id = BF_ENGINE_WALK,
	.name = "walk",
	.why_not = why_not,
	.next = next,
};
