// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * test_engines - engines, cursors and the selector on maps of this kernel
 *
 * Every dump goes page by page through encoded cursors, as over the wire.
 */
#include "server/dump.h"
#include "server/read_select.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const struct bf_dump_agent agent = {.cursor_key = {.bytes = {1, 2, 3}}};

/* What a dump gave: how often each small key, and how it went. */
struct seen {
	uint32_t n_keys; /* counted ones: 0 .. n_keys - 1 */
	uint32_t *times;
	uint64_t n, pages, wrong_values;
	enum bf_coherence worst;
	uint64_t restarts;
	const char *engine;
};

static int
make_map(enum bpf_map_type type, uint32_t key_size, uint32_t value_size,
	 uint32_t max_entries, uint32_t flags)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = flags);
	int fd = bpf_map_create(type, "bf_test", key_size, value_size,
				max_entries, &opts);

	if (fd < 0) {
		print_message("map type %d: %s\n", type, strerror(errno));
		skip();
	}
	return fd;
}

static void
open_map(struct bf_map *map, int fd)
{
	struct bf_map_info info;

	assert_int_equal(bf_map_info_get(&info, fd, true), 0);
	assert_int_equal(bf_map_init(map, fd, &info, NULL), 0);
}

/* Key i: its bytes little-endian, then zeros. Tries: /32 of a byte order. */
static void
make_key(const struct bf_map *map, uint32_t i, uint8_t *key)
{
	uint32_t bits = 32, be = __builtin_bswap32(i);

	memset(key, 0, map->info.key_size);
	if (map->info.type == BF_MAP_LPM_TRIE) {
		memcpy(key, &bits, 4);
		memcpy(key + 4, &be, 4);
	} else {
		memcpy(key, &i, bf_min_u64(map->info.key_size, 4));
	}
}

static uint32_t
key_number(const struct bf_map *map, const uint8_t *key)
{
	uint32_t i = 0;

	if (map->info.type == BF_MAP_LPM_TRIE) {
		memcpy(&i, key + 4, 4);
		return __builtin_bswap32(i);
	}
	memcpy(&i, key, bf_min_u64(map->info.key_size, 4));
	return i;
}

static void
put(const struct bf_map *map, uint32_t i)
{
	size_t bytes = bf_shape_value_bytes(&map->shape);
	uint8_t *key = malloc(map->info.key_size + 1u);
	uint8_t *value = calloc(1, bytes + 8);
	uint32_t v = i ^ 0x5a5a5a5a;

	make_key(map, i, key);
	for (uint32_t cpu = 0; cpu < map->shape.n_slots; cpu++)
		memcpy(value + (size_t)cpu * map->shape.slot_size, &v,
		       bf_min_u64(map->info.value_size, 4));
	if (bpf_map_update_elem(map->fd, key, value, BPF_ANY))
		fail_msg("update %u: %s", i, strerror(errno));
	free(key);
	free(value);
}

static void
del(const struct bf_map *map, uint32_t i)
{
	uint8_t *key = malloc(map->info.key_size + 1u);

	make_key(map, i, key);
	bpf_map_delete_elem(map->fd, key);
	free(key);
}

static void
count_page(struct seen *s, const struct bf_map *map, const struct bf_page *page)
{
	for (uint32_t e = 0; e < page->n; e++) {
		uint32_t i = key_number(map, bf_page_key(page, e));
		uint32_t v = i ^ 0x5a5a5a5a;

		if (i < s->n_keys)
			s->times[i]++;
		for (uint32_t cpu = 0; cpu < map->shape.n_slots; cpu++)
			s->wrong_values +=
				memcmp(bf_page_value(page, e) +
					       (size_t)cpu *
						       map->shape.slot_size,
				       &v,
				       bf_min_u64(map->info.value_size, 4)) !=
				0;
	}
	s->n += page->n;
	s->pages++;
	if (page->coherence > s->worst)
		s->worst = page->coherence;
	s->restarts = page->restarts;
	s->engine = page->engine;
}

typedef void between_pages(const struct bf_map *map, struct seen *s);

static void
dump(struct seen *s, const struct bf_map *map, const char *engine,
     uint32_t page_entries, uint32_t n_keys, between_pages *between)
{
	struct bf_dump_req req = {.engine = engine,
				  .max_entries = page_entries,
				  .max_bytes = BF_PAGE_MAX};
	struct bf_buf cursor[2];
	struct bf_err err = {0};
	struct bf_page page;
	bool end = false;

	*s = (struct seen){.n_keys = n_keys, .worst = BF_EXACT};
	s->times = calloc(n_keys + 1, sizeof(*s->times));
	bf_buf_init(&cursor[0], BF_CURSOR_MAX);
	bf_buf_init(&cursor[1], BF_CURSOR_MAX);
	for (unsigned turn = 0; !end; turn ^= 1) {
		uint64_t held;

		bf_buf_reset(&cursor[turn]);
		if (bf_dump_page(&agent, map, &req, &page, &cursor[turn], &held,
				 &err))
			fail_msg("dump: %s", err.text);
		bf_dump_release(&held);
		count_page(s, map, &page);
		end = page.end;
		req.cursor = cursor[turn].data;
		req.cursor_len = cursor[turn].len;
		bf_page_fini(&page);
		if (!end && between)
			between(map, s);
	}
	bf_buf_fini(&cursor[0]);
	bf_buf_fini(&cursor[1]);
}

static void
assert_each_once(const struct seen *s, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++)
		if (s->times[i] != 1)
			fail_msg("key %u came %u times", i, s->times[i]);
}

static const uint32_t page_sizes[] = {1, 2, 7, 230, 256, 10000};

static void
check_counts(enum bpf_map_type type, uint32_t key_size, uint32_t value_size,
	     uint32_t flags, const char *engine)
{
	static const uint32_t counts[] = {0, 1, 2, 255, 256, 257, 1000};
	struct bf_map map;
	struct seen s;
	int fd;

	for (size_t c = 0; c < BF_ARRAY_SIZE(counts); c++) {
		fd = make_map(type, key_size, value_size, 1000, flags);
		open_map(&map, fd);
		for (uint32_t i = 0; i < counts[c]; i++)
			put(&map, i);
		for (size_t p = 0; p < BF_ARRAY_SIZE(page_sizes); p++) {
			dump(&s, &map, engine, page_sizes[p], counts[c], NULL);
			assert_int_equal(s.n, counts[c]);
			assert_int_equal(s.wrong_values, 0);
			assert_each_once(&s, 0, counts[c]);
			free(s.times);
		}
		close(fd);
	}
}

static void
test_counts_hash(void **state)
{
	(void)state;
	check_counts(BPF_MAP_TYPE_HASH, 4, 8, 0, "");
	check_counts(BPF_MAP_TYPE_HASH, 4, 8, BPF_F_NO_PREALLOC, "batch");
	check_counts(BPF_MAP_TYPE_HASH, 4, 8, 0, "walk");
	check_counts(BPF_MAP_TYPE_HASH, 5, 3, 0, "");
	check_counts(BPF_MAP_TYPE_HASH, 17, 4096, 0, "");
}

static void
test_counts_per_cpu(void **state)
{
	(void)state;
	check_counts(BPF_MAP_TYPE_PERCPU_HASH, 4, 8, 0, "");
	check_counts(BPF_MAP_TYPE_PERCPU_HASH, 4, 5, 0, "");
	check_counts(BPF_MAP_TYPE_PERCPU_HASH, 4, 5, 0, "walk");
}

static void
test_counts_lpm(void **state)
{
	(void)state;
	check_counts(BPF_MAP_TYPE_LPM_TRIE, 8, 8, BPF_F_NO_PREALLOC, "");
	check_counts(BPF_MAP_TYPE_LPM_TRIE, 8, 8, BPF_F_NO_PREALLOC, "walk");
}

static void
check_array(enum bpf_map_type type, const char *engine)
{
	static const uint32_t sizes[] = {1, 2, 256, 1000};
	struct bf_map map;
	struct seen s;
	int fd;

	for (size_t c = 0; c < BF_ARRAY_SIZE(sizes); c++) {
		fd = make_map(type, 4, 12, sizes[c], 0);
		open_map(&map, fd);
		for (uint32_t i = 0; i < sizes[c]; i++)
			put(&map, i);
		for (size_t p = 0; p < BF_ARRAY_SIZE(page_sizes); p++) {
			dump(&s, &map, engine, page_sizes[p], sizes[c], NULL);
			assert_int_equal(s.n, sizes[c]);
			assert_int_equal(s.wrong_values, 0);
			assert_int_equal(s.worst, BF_EXACT);
			assert_each_once(&s, 0, sizes[c]);
			free(s.times);
		}
		close(fd);
	}
}

static void
test_counts_array(void **state)
{
	(void)state;
	check_array(BPF_MAP_TYPE_ARRAY, "");
	check_array(BPF_MAP_TYPE_ARRAY, "walk");
	check_array(BPF_MAP_TYPE_PERCPU_ARRAY, "");
	check_array(BPF_MAP_TYPE_PERCPU_ARRAY, "walk");
}

/* The token of a batch is four bytes, the key one. */
static void
test_one_byte_keys(void **state)
{
	struct bf_map map;
	struct seen s;
	int fd = make_map(BPF_MAP_TYPE_HASH, 1, 1, 256, 0);

	(void)state;
	open_map(&map, fd);
	for (uint32_t i = 0; i < 256; i++) {
		uint8_t key = (uint8_t)i, value = (uint8_t)(i ^ 0x5a);

		assert_int_equal(bpf_map_update_elem(fd, &key, &value, 0), 0);
	}
	for (size_t p = 0; p < BF_ARRAY_SIZE(page_sizes); p++) {
		dump(&s, &map, "", page_sizes[p], 256, NULL);
		assert_int_equal(s.n, 256);
		assert_int_equal(s.wrong_values, 0);
		assert_each_once(&s, 0, 256);
		free(s.times);
	}
	close(fd);
}

static void
check_large(uint32_t key_size, uint32_t value_size, uint32_t n)
{
	struct bf_map map;
	struct seen s;
	int fd = make_map(BPF_MAP_TYPE_HASH, key_size, value_size, n,
			  BPF_F_NO_PREALLOC);

	open_map(&map, fd);
	for (uint32_t i = 0; i < n; i++)
		put(&map, i);
	dump(&s, &map, "", 1, n, NULL);
	assert_int_equal(s.n, n);
	assert_int_equal(s.wrong_values, 0);
	assert_each_once(&s, 0, n);
	free(s.times);
	dump(&s, &map, "walk", 1, n, NULL);
	assert_int_equal(s.n, n);
	free(s.times);
	close(fd);
}

static void
test_large_entries(void **state)
{
	(void)state;
	check_large(65000, 8, 4);
	check_large(4, (4u << 20) - 1024, 3);
}

/* One more entry than the cap allows is refused, not tried. */
static void
test_too_large(void **state)
{
	struct bf_map_info info = {
		.id = 1,
		.type = BF_MAP_ARRAY,
		.key_size = 4,
		.value_size = BF_PAGE_MAX,
		.max_entries = 1,
	};
	struct bf_err err;
	struct bf_map map;

	(void)state;
	assert_int_equal(bf_map_init(&map, -1, &info, &err), -BF_ETOOBIG);
}

/* 16 million buckets and three entries: no call may take long. */
static void
test_sparse(void **state)
{
	struct bf_map map;
	struct seen s;
	int fd = make_map(BPF_MAP_TYPE_HASH, 4, 8, 1u << 24, BPF_F_NO_PREALLOC);

	(void)state;
	open_map(&map, fd);
	for (uint32_t i = 0; i < 3; i++)
		put(&map, i);
	dump(&s, &map, "", 0, 3, NULL);
	assert_int_equal(s.n, 3);
	assert_each_once(&s, 0, 3);
	free(s.times);
	close(fd);
}

/*
 * Calls of an engine whose time is always up: each must still get on, also
 * where a bucket needs more room than was asked for.
 */
static void
check_progress(const struct bf_engine *engine, enum bpf_map_type type,
	       uint32_t key_size, uint32_t flags)
{
	const struct bf_read_budget budget = {.n_entries = 1};
	struct bf_cursor cursor = {0};
	uint32_t n = 0, calls = 0;
	struct bf_page page;
	struct bf_map map;
	bool end = false;
	int fd = make_map(type, key_size, 8, 64, flags);

	open_map(&map, fd);
	cursor.key_size = map.info.key_size;
	for (uint32_t i = 0; i < 64; i++)
		put(&map, i);
	while (!end && calls++ < 1000) {
		bf_page_init(&page, &map.shape);
		assert_int_equal(
			engine->next(&map, &cursor, &budget, &page, NULL), 0);
		n += page.n;
		end = page.end;
		bf_page_fini(&page);
	}
	assert_true(end);
	assert_int_equal(n, 64);
	bf_cursor_fini(&cursor);
	close(fd);
}

static void
test_no_time(void **state)
{
	(void)state;
	for (size_t i = 0; i < BF_N_ENGINES; i++) {
		check_progress(bf_engines[i], BPF_MAP_TYPE_HASH, 4, 0);
		check_progress(bf_engines[i], BPF_MAP_TYPE_ARRAY, 4, 0);
		check_progress(bf_engines[i], BPF_MAP_TYPE_LPM_TRIE, 8,
			       BPF_F_NO_PREALLOC);
	}
}

/* Deletes what was seen so far: the cursor's last keys are all gone. */
static void
delete_seen(const struct bf_map *map, struct seen *s)
{
	for (uint32_t i = 0; i < s->n_keys; i++)
		if (s->times[i])
			del(map, i);
}

static void
check_deleted_cursor(enum bpf_map_type type, uint32_t key_size, uint32_t flags,
		     const char *engine, bool exact)
{
	struct bf_map map;
	struct seen s;
	int fd = make_map(type, key_size, 8, 500, flags);

	open_map(&map, fd);
	for (uint32_t i = 0; i < 500; i++)
		put(&map, i);
	dump(&s, &map, engine, 20, 500, delete_seen);
	for (uint32_t i = 0; i < 500; i++)
		assert_true(s.times[i] >= 1);
	if (exact) {
		assert_each_once(&s, 0, 500);
		assert_int_equal(s.worst, BF_EXACT);
	} else {
		assert_int_equal(s.worst, BF_MAY_REPEAT);
	}
	free(s.times);
	close(fd);
}

static void
test_last_key_deleted(void **state)
{
	(void)state;
	check_deleted_cursor(BPF_MAP_TYPE_HASH, 4, 0, "", true);
	check_deleted_cursor(BPF_MAP_TYPE_HASH, 4, 0, "walk", false);
	check_deleted_cursor(BPF_MAP_TYPE_LPM_TRIE, 8, BPF_F_NO_PREALLOC, "",
			     false);
}

/* ---------------------------------------------------------------- churn */

#define STABLE 2000u
#define CHURN 2000u

struct churn {
	struct bf_map map;
	_Atomic bool stop;
};

static void *
churn_thread(void *arg)
{
	struct churn *c = arg;
	uint32_t x = (uint32_t)(uintptr_t)&x | 1;

	while (!c->stop) {
		x = x * 1664525u + 1013904223u;
		if (x >> 31)
			put(&c->map, STABLE + (x >> 8) % CHURN);
		else
			del(&c->map, STABLE + (x >> 8) % CHURN);
	}
	return NULL;
}

/* Dumps beside two threads that insert and delete other keys. */
static void
check_churn(enum bpf_map_type type, uint32_t key_size, uint32_t flags,
	    const char *engine, enum bf_coherence expect)
{
	static const uint32_t sizes[] = {1, 64, 1000, 10000};
	struct churn c = {.stop = false};
	pthread_t threads[2];
	struct seen s;
	int fd = make_map(type, key_size, 8, 3 * (STABLE + CHURN), flags);

	open_map(&c.map, fd);
	for (uint32_t i = 0; i < STABLE; i++)
		put(&c.map, i);
	for (int t = 0; t < 2; t++)
		pthread_create(&threads[t], NULL, churn_thread, &c);
	for (int round = 0; round < 8; round++) {
		dump(&s, &c.map, engine, sizes[round % 4], STABLE, NULL);
		if (s.worst != BF_INCOMPLETE)
			assert_int_equal(s.worst, expect);
		for (uint32_t i = 0; i < STABLE; i++) {
			if (expect == BF_EXACT && s.times[i] != 1)
				fail_msg("type %d: key %u came %u times", type,
					 i, s.times[i]);
			if (s.worst != BF_INCOMPLETE && !s.times[i])
				fail_msg("type %d: key %u is missing", type, i);
		}
		if (expect == BF_EXACT)
			assert_int_equal(s.wrong_values, 0);
		free(s.times);
	}
	c.stop = true;
	for (int t = 0; t < 2; t++)
		pthread_join(threads[t], NULL);
	close(fd);
}

static void
test_churn_exact(void **state)
{
	(void)state;
	check_churn(BPF_MAP_TYPE_HASH, 4, 0, "", BF_EXACT);
	check_churn(BPF_MAP_TYPE_HASH, 4, BPF_F_NO_PREALLOC, "", BF_EXACT);
	check_churn(BPF_MAP_TYPE_LRU_HASH, 4, 0, "", BF_EXACT);
	check_churn(BPF_MAP_TYPE_PERCPU_HASH, 4, 0, "", BF_EXACT);
}

static void
test_churn_by_key(void **state)
{
	(void)state;
	check_churn(BPF_MAP_TYPE_LPM_TRIE, 8, BPF_F_NO_PREALLOC, "",
		    BF_MAY_REPEAT);
	check_churn(BPF_MAP_TYPE_HASH, 4, 0, "walk", BF_MAY_REPEAT);
}

/* -------------------------------------------------------------- cursors */

static void
test_cursor_of_another_map(void **state)
{
	struct bf_dump_req req = {.engine = "", .max_entries = 1};
	struct bf_buf cursor, other;
	struct bf_map one, two;
	struct bf_page page;
	uint64_t held;
	struct bf_err err;
	int fd1 = make_map(BPF_MAP_TYPE_ARRAY, 4, 8, 10, 0);
	int fd2 = make_map(BPF_MAP_TYPE_ARRAY, 4, 8, 10, 0);

	(void)state;
	open_map(&one, fd1);
	open_map(&two, fd2);
	bf_buf_init(&cursor, BF_CURSOR_MAX);
	bf_buf_init(&other, BF_CURSOR_MAX);
	assert_int_equal(
		bf_dump_page(&agent, &one, &req, &page, &cursor, &held, &err),
		0);
	bf_dump_release(&held);
	bf_page_fini(&page);
	req.cursor = cursor.data;
	req.cursor_len = cursor.len;
	assert_int_equal(
		bf_dump_page(&agent, &two, &req, &page, &other, &held, &err),
		-BF_ECURSOR);
	assert_non_null(strstr(err.text, "belongs to map id"));
	bf_dump_release(&held);
	bf_page_fini(&page);
	bf_buf_fini(&cursor);
	bf_buf_fini(&other);
	close(fd1);
	close(fd2);
}

static void
test_unreadable(void **state)
{
	struct bf_map_info info = {.id = 9, .type = 77, .max_entries = 1};
	const struct bf_engine *engine;
	const char *reason;
	struct bf_map map;
	struct bf_err err;

	(void)state;
	for (uint32_t type = 0; type < 100; type++) {
		info.type = type;
		info.key_size = 4;
		info.value_size = 8;
		assert_int_equal(bf_map_init(&map, -1, &info, NULL), 0);
		if (!bf_map_unreadable(&info))
			continue;
		assert_int_equal(
			bf_select_engine(&engine, &reason, &map, "", &err),
			-BF_EUNREADABLE);
		assert_non_null(strstr(err.text, "cannot be read"));
	}
	info.type = 77;
	assert_int_equal(bf_map_init(&map, -1, &info, NULL), 0);
	bf_select_engine(&engine, &reason, &map, "", &err);
	assert_non_null(strstr(err.text, "type 77"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counts_hash),
		cmocka_unit_test(test_counts_per_cpu),
		cmocka_unit_test(test_counts_lpm),
		cmocka_unit_test(test_counts_array),
		cmocka_unit_test(test_one_byte_keys),
		cmocka_unit_test(test_large_entries),
		cmocka_unit_test(test_too_large),
		cmocka_unit_test(test_sparse),
		cmocka_unit_test(test_no_time),
		cmocka_unit_test(test_last_key_deleted),
		cmocka_unit_test(test_churn_exact),
		cmocka_unit_test(test_churn_by_key),
		cmocka_unit_test(test_cursor_of_another_map),
		cmocka_unit_test(test_unreadable),
	};

	if (bf_keys_init(NULL))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
