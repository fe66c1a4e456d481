// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * read_batch - BPF_MAP_LOOKUP_BATCH, straight into the page's columns
 *
 * Hash maps are read by whole buckets under the bucket's lock, with a bucket
 * index as the place to go on from: exact.  Arrays go by last key: exact too,
 * since their keys do not move.  Tries also go by last key, and restart when
 * it was deleted; their keys have an order, so what was returned before is
 * recognised and dropped.
 */
#include "server/read.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One call looks at about this many buckets at most, 1.3-2 ns each, where a
 * hash map is so sparse that room for entries is no bound on time.
 */
#define BUCKETS_PER_CALL (1u << 20)
#define FIRST_SPARSE_COUNT 256u

/* One page's work. */
struct batch {
	const struct bf_map *map;
	struct bf_cursor *cursor;
	struct bf_page *page;
	struct bf_err *err;
	uint64_t n_buckets;    /* 0 unless a hash map */
	uint64_t sparse_count; /* entries per call while that bounds time */
	uint8_t *token;	       /* in and out: 4 bytes or a key */
};

static const char *
why_not(const struct bf_map *map)
{
	const char *why = bf_map_unreadable(&map->info);

	if (why)
		return why;
	if (map->traits->batch == BF_BATCH_NONE)
		return "the kernel has no batch read for this type";
	return NULL;
}

static int
fail(const struct batch *b, int error)
{
	char words[64];

	bf_map_words(&b->map->info, words, sizeof(words));
	if (error == BF_KERNEL_ENOTSUPP || error == EINVAL)
		return bf_err_set(b->err, EOPNOTSUPP,
				  "%s: this kernel has no batch read for it",
				  words);
	return bf_err_set(b->err, BF_EKERNEL, "%s: batch read: %s", words,
			  bf_err_str(error));
}

/* Adapts the count so that the next call passes about BUCKETS_PER_CALL. */
static void
learn_density(struct batch *b, uint64_t passed, uint32_t got)
{
	uint64_t per_bucket_million;

	if (b->n_buckets <= BUCKETS_PER_CALL || !passed)
		return;
	per_bucket_million = (uint64_t)got * 1000000u / passed + 1;
	b->sparse_count = per_bucket_million * BUCKETS_PER_CALL / 1000000u;
	b->sparse_count = bf_max_u64(b->sparse_count, 1);
}

/*
 * Before a in the order in which the kernel walks a trie: children before
 * their parent, the side of bit 0 first.  Returns <0, 0, >0.
 */
static int
compare_prefixes(const uint8_t *a, const uint8_t *b, uint32_t key_size)
{
	uint32_t a_bits, b_bits, common, i = 0;
	uint8_t diff;

	memcpy(&a_bits, a, sizeof(a_bits));
	memcpy(&b_bits, b, sizeof(b_bits));
	a += sizeof(a_bits);
	b += sizeof(b_bits);
	common = (uint32_t)bf_min_u64(bf_min_u64(a_bits, b_bits),
				      (uint64_t)(key_size - 4) * 8);
	while (i + 8 <= common && a[i / 8] == b[i / 8])
		i += 8;
	for (; i < common; i++) {
		diff = (uint8_t)((a[i / 8] ^ b[i / 8]) & (0x80u >> (i % 8)));
		if (diff)
			return a[i / 8] & diff ? 1 : -1;
	}
	if (a_bits == b_bits)
		return 0;
	return a_bits > b_bits ? -1 : 1;
}

/*
 * Keeps of the last `got` entries those after everything returned so far.
 * The cursor's newest key is where the kernel stands, the one before it the
 * furthest that was returned.
 */
static int
filter_trie(struct batch *b, uint32_t got)
{
	struct bf_page *page = b->page;
	uint32_t key_size = page->shape.key_size, kept = page->n;
	uint64_t value_bytes = bf_shape_value_bytes(&page->shape);
	const uint8_t *far = bf_cursor_key(b->cursor, 1);
	const uint8_t *last = bf_cursor_key(b->cursor, 0), *key;

	for (uint32_t i = page->n; i < page->n + got; i++) {
		key = bf_page_key(page, i);
		if (last && compare_prefixes(key, last, key_size) <= 0)
			b->cursor->restarts++;
		last = key;
		if (far && compare_prefixes(key, far, key_size) <= 0)
			continue;
		/* Never moves past i, so `last` and `far` stay readable. */
		memmove(bf_page_key(page, kept), key, key_size);
		memmove(bf_page_value(page, kept), bf_page_value(page, i),
			value_bytes);
		far = bf_page_key(page, kept++);
	}
	page->n = kept;
	return 0;
}

/* Sets the cursor's keys to the furthest returned and the newest read. */
static int
keep_trie_keys(struct batch *b, uint32_t before, const uint8_t *newest)
{
	uint32_t key_size = b->page->shape.key_size;
	const uint8_t *far = b->page->n > before
				     ? bf_page_key(b->page, b->page->n - 1)
				     : bf_cursor_key(b->cursor, 1);
	uint8_t *two = malloc((size_t)key_size * 2 + 1);
	int ret;

	if (!two)
		return -ENOMEM;
	memcpy(two, far ? far : newest, key_size);
	memcpy(two + key_size, newest, key_size);
	b->cursor->n_keys = 0;
	ret = bf_cursor_push(b->cursor, two);
	if (!ret)
		ret = bf_cursor_push(b->cursor, two + key_size);
	free(two);
	return ret;
}

/* Takes over the `got` entries that a call added behind page->n. */
static int
accept_entries(struct batch *b, uint32_t got)
{
	struct bf_page *page = b->page;
	uint32_t before = page->n, index;
	uint32_t key_size = page->shape.key_size;
	uint8_t *newest;
	int ret = 0;

	if (!got)
		return 0;
	newest = malloc((size_t)key_size + 1);
	if (!newest)
		return -ENOMEM;
	memcpy(newest, bf_page_key(page, before + got - 1), key_size);
	b->cursor->steps += got;
	if (b->map->traits->order == BF_ORDER_TRIE) {
		filter_trie(b, got);
		ret = keep_trie_keys(b, before, newest);
	} else {
		page->n += got;
		b->cursor->n_keys = 0;
		ret = bf_cursor_push(b->cursor, newest);
	}
	if (b->map->traits->order == BF_ORDER_INDEX) {
		memcpy(&index, newest, sizeof(index));
		b->cursor->position = (uint64_t)index + 1;
	}
	free(newest);
	return ret;
}

/* More room for a bucket that does not fit in an empty page. */
static int
grow(struct batch *b)
{
	char words[64];
	int ret = bf_page_reserve(b->page, (uint64_t)b->page->cap * 2);

	b->page->retries++;
	if (ret != -BF_ETOOBIG)
		return ret;
	return bf_err_set(b->err, BF_ETOOBIG,
			  "%s: one bucket needs more than the limit of %u "
			  "bytes",
			  bf_map_words(&b->map->info, words, sizeof(words)),
			  BF_PAGE_MAX);
}

/*
 * One kernel call.
 * Returns: 1 go on; 0 the page is done; negative
 */
static int
read_once(struct batch *b, uint32_t want)
{
	bool by_bucket = b->map->traits->batch == BF_BATCH_BUCKET;
	struct bf_page *page = b->page;
	uint32_t count = want, token = (uint32_t)b->cursor->position;
	const void *in = b->token;
	unsigned in_a_row = 0;
	int error, ret;

	if (by_bucket)
		memcpy(b->token, &token, sizeof(token));
	else if (b->cursor->n_keys)
		memcpy(b->token, bf_cursor_key(b->cursor, 0),
		       page->shape.key_size);
	else
		in = NULL;
	do {
		count = want;
		/* libbpf takes the in-token without const. */
		error = bpf_map_lookup_batch(
				b->map->fd, in ? b->token : NULL, b->token,
				bf_page_key(page, page->n),
				bf_page_value(page, page->n), &count, NULL) < 0
				? errno
				: 0;
		/* On a sparse map old kernels say EINTR without a signal. */
		if (error == EINTR && !by_bucket && in_a_row > 2)
			return fail(b, BF_KERNEL_ENOTSUPP);
	} while (bf_read_interrupted(error, &in_a_row, page));
	if (error && error != ENOENT && error != ENOSPC)
		return fail(b, error);
	if (count > want)
		return fail(b, EPROTO);
	if (error == ENOSPC)
		count = 0;
	if (by_bucket && error != ENOENT) {
		memcpy(&token, b->token, sizeof(token));
		learn_density(b, token - b->cursor->position, count);
		b->cursor->position = token;
	}
	ret = accept_entries(b, count);
	if (ret)
		return ret;
	if (error == ENOSPC)
		return page->n ? 0 : (ret = grow(b)) ? ret : 1;
	if (error == ENOENT)
		page->end = true;
	else if (!count)
		return fail(b, EPROTO); /* no progress: would never end */
	return !page->end;
}

/* Is it known, without a call, that nothing follows? */
static bool
at_end(const struct batch *b)
{
	if (b->n_buckets)
		return b->cursor->position >= b->n_buckets;
	return b->map->traits->order == BF_ORDER_INDEX &&
	       b->cursor->position >= b->map->info.max_entries;
}

static int
fill(struct batch *b, const struct bf_read_budget *budget)
{
	uint64_t bound = bf_map_walk_bound(&b->map->info);
	const uint64_t position = b->cursor->position;
	const uint64_t steps = b->cursor->steps;
	struct bf_page *page = b->page;
	uint64_t want;
	bool moved;
	int ret = 1;

	while (ret > 0 && !page->end) {
		want = page->cap - page->n;
		if (!want)
			break;
		if (b->sparse_count)
			want = bf_min_u64(want, b->sparse_count);
		ret = read_once(b, (uint32_t)want);
		if (ret > 0 && b->map->traits->order == BF_ORDER_TRIE &&
		    b->cursor->steps > bound) {
			page->coherence = BF_INCOMPLETE;
			page->end = true;
		}
		if (ret >= 0 && at_end(b))
			page->end = true;
		/* Time that is up ends only a call that got on: one that made
		 * room for a bucket would make it again the next time.
		 */
		moved = b->cursor->position != position ||
			b->cursor->steps != steps;
		if ((moved && bf_mono_passed(budget->until)) ||
		    page->n >= budget->n_entries)
			break;
	}
	return ret < 0 ? ret : 0;
}

static int
next(const struct bf_map *map, struct bf_cursor *cursor,
     const struct bf_read_budget *budget, struct bf_page *page,
     struct bf_err *err)
{
	struct batch b = {
		.map = map,
		.cursor = cursor,
		.page = page,
		.err = err,
	};
	int ret;

	if (map->traits->batch == BF_BATCH_BUCKET)
		b.n_buckets = bf_round_up_pow2(map->info.max_entries);
	if (b.n_buckets > BUCKETS_PER_CALL)
		b.sparse_count = FIRST_SPARSE_COUNT;
	page->coherence =
		map->traits->order == BF_ORDER_TRIE ? BF_MAY_REPEAT : BF_EXACT;
	ret = bf_page_reserve(page, bf_max_u64(budget->n_entries, 1));
	if (ret)
		return bf_err_set(err, -ret, "page: %s", bf_err_str(ret));
	/* The token is four bytes even where a key is one. */
	b.token = malloc(bf_max_u64(map->shape.key_size, sizeof(uint64_t)));
	if (!b.token)
		return bf_err_set(err, ENOMEM, "out of memory");
	ret = fill(&b, budget);
	free(b.token);
	return ret;
}

const struct bf_engine bf_read_batch = {
	.id = BF_ENGINE_BATCH,
	.name = "batch",
	.why_not = why_not,
	.next = next,
};
