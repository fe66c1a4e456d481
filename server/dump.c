// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * dump - turns "this map, after this cursor, about this much" into a page
 */
#include "server/dump.h"

#include "server/read_select.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdatomic.h>
#include <string.h>

/* A page is returned as it stands after this long, even if empty. */
#define SLICE_MS 50
/* No page is larger, whatever was asked for, unless one entry is. */
#define PAGE_BYTES_MAX (8ull << 20)
/* What all requests together may hold: the columns, the reply that is built
 * of them, and the message that it is sent in.
 */
#define MEMORY_BUDGET_BYTES (192ull << 20)
#define COPIES 3u

static _Atomic uint64_t memory_used;

void
bf_dump_release(uint64_t *held)
{
	atomic_fetch_sub(&memory_used, *held);
	*held = 0;
}

/* One request alone is always served. */
static int
take_memory(uint64_t *held, uint64_t bytes, struct bf_err *err)
{
	uint64_t before;

	bytes *= COPIES;
	before = atomic_fetch_add(&memory_used, bytes);
	*held = bytes;
	if (!before || before + bytes <= MEMORY_BUDGET_BYTES)
		return 0;
	bf_dump_release(held);
	return bf_err_set(err, BF_EBUSY,
			  "agent is busy: %llu bytes would exceed its budget "
			  "of %llu: try again",
			  (unsigned long long)bytes,
			  (unsigned long long)MEMORY_BUDGET_BYTES);
}

static uint64_t
entries_wanted(const struct bf_map *map, const struct bf_dump_req *req)
{
	uint64_t entry_bytes = bf_max_u64(bf_shape_entry_bytes(&map->shape), 1);
	uint64_t bytes = req->max_bytes ? req->max_bytes : BF_PAGE_DEFAULT;
	uint64_t n;

	bytes = bf_min_u64(bytes, PAGE_BYTES_MAX);
	n = bf_max_u64(bytes / entry_bytes, 1);
	if (req->max_entries)
		n = bf_min_u64(n, req->max_entries);
	if (map->info.max_entries)
		n = bf_min_u64(n, map->info.max_entries);
	return n;
}

static void
set_identity(struct bf_cursor *c, const struct bf_dump_agent *agent,
	     const struct bf_map *map)
{
	*c = (struct bf_cursor){
		.map_id = map->info.id,
		.key_size = map->info.key_size,
		.value_size = map->info.value_size,
	};
	memcpy(c->boot_id, agent->boot_id, sizeof(c->boot_id));
}

/* The engine of the cursor goes on; only a new dump chooses. */
static int
begin(const struct bf_dump_agent *agent, const struct bf_map *map,
      const struct bf_dump_req *req, struct bf_cursor *cursor,
      const struct bf_engine **engine, const char **reason, struct bf_err *err)
{
	struct bf_cursor expect;
	int ret;

	set_identity(&expect, agent, map);
	if (!req->cursor_len) {
		*cursor = expect;
		ret = bf_select_engine(engine, reason, map, req->engine, err);
		if (!ret)
			cursor->engine = (*engine)->id;
		return ret;
	}
	ret = bf_cursor_decode(cursor, req->cursor, req->cursor_len,
			       &agent->cursor_key, &expect, err);
	if (ret)
		return ret;
	*engine = bf_engine_by_id(cursor->engine);
	*reason = "as the page before";
	if (!*engine || (*engine)->why_not(map))
		return bf_err_set(err, BF_ECURSOR,
				  "cursor is of an engine that this agent "
				  "does not have: start the dump again");
	if (req->engine[0] && strcmp(req->engine, (*engine)->name) != 0)
		return bf_err_set(err, BF_ECURSOR,
				  "cursor is of engine %s, not %.32s: the "
				  "engine of a dump cannot change",
				  (*engine)->name, req->engine);
	return 0;
}

/* Runs the engine; where the kernel refuses it, the walk. */
static int
run(const struct bf_engine **engine, const char **reason,
    const struct bf_map *map, struct bf_cursor *cursor,
    const struct bf_read_budget *budget, struct bf_page *page,
    struct bf_err *err)
{
	int ret;

	ret = (*engine)->next(map, cursor, budget, page, err);
	if (ret == -EOPNOTSUPP && *engine != &bf_read_walk) {
		*engine = &bf_read_walk;
		*reason = "this kernel has no batch read for it";
		cursor->engine = BF_ENGINE_WALK;
		page->n = 0;
		ret = bf_read_walk.next(map, cursor, budget, page, err);
	}
	if (ret == -EOPNOTSUPP)
		ret = -BF_EUNREADABLE;
	if (ret && err)
		err->code = -ret;
	return ret;
}

int
bf_dump_page(const struct bf_dump_agent *agent, const struct bf_map *map,
	     const struct bf_dump_req *req, struct bf_page *page,
	     struct bf_buf *cursor_out, uint64_t *held, struct bf_err *err)
{
	struct bf_read_budget budget = {.n_entries = entries_wanted(map, req)};
	const struct bf_engine *engine = NULL;
	struct bf_cursor cursor = {0};
	const char *reason = "";
	int ret;

	bf_page_init(page, &map->shape);
	ret = take_memory(held,
			  budget.n_entries * bf_shape_entry_bytes(&map->shape),
			  err);
	if (ret)
		return ret;
	budget.until = bf_mono_after_ms(bf_mono_now(), SLICE_MS);
	page->started_ns = bf_wall_now().ns;
	ret = begin(agent, map, req, &cursor, &engine, &reason, err);
	if (!ret)
		ret = run(&engine, &reason, map, &cursor, &budget, page, err);
	if (!ret) {
		page->ended_ns = bf_wall_now().ns;
		page->map_id = map->info.id;
		page->engine = engine->name;
		page->reason = reason;
		page->restarts = cursor.restarts;
		page->skipped = cursor.skipped;
		if (!page->end)
			bf_cursor_encode(&cursor, &agent->cursor_key,
					 cursor_out);
	}
	bf_cursor_fini(&cursor);
	return ret;
}

/* -------------------------------------------------------------- lookups */

static int
lookup_one(const struct bf_map *map, const uint8_t *key, uint8_t *value,
	   uint8_t *found, struct bf_err *err)
{
	bool member = map->traits->lookup == BF_LOOKUP_MEMBER;
	char words[64];
	int error;

	if (member) /* the kernel reads the value instead of writing it */
		memcpy(value, key, map->shape.value_size);
	error = bpf_map_lookup_elem(map->fd, member ? NULL : key, value) < 0
			? errno
			: 0;
	*found = error == 0;
	if (error == ENOENT) {
		memset(value, 0, bf_shape_value_bytes(&map->shape));
		return 0;
	}
	if (error)
		return bf_err_set(
			err,
			error == BF_KERNEL_ENOTSUPP || error == EOPNOTSUPP
				? BF_EUNREADABLE
				: BF_EKERNEL,
			"%s: lookup: %s",
			bf_map_words(&map->info, words, sizeof(words)),
			bf_err_str(error));
	return 0;
}

/* Room for n answers, zeroed: first the found bytes, then the values. */
static int
make_columns(const struct bf_map *map, uint64_t n,
	     struct bf_lookup_reply *reply, struct bf_buf *columns,
	     struct bf_err *err)
{
	uint64_t bytes = n * (1 + bf_shape_value_bytes(&map->shape));
	uint8_t *room = NULL;

	if (bytes <= BF_PAGE_MAX)
		room = bf_buf_reserve(columns, bytes + 1);
	if (!room)
		return bf_err_set(err, BF_ETOOBIG,
				  "%llu values are %llu bytes, above the limit "
				  "of %u: ask for fewer keys at once",
				  (unsigned long long)n,
				  (unsigned long long)bytes, BF_PAGE_MAX);
	memset(room, 0, bytes);
	columns->len += bytes;
	*reply = (struct bf_lookup_reply){
		.map_id = map->info.id,
		.n = (uint32_t)n,
		.shape = map->shape,
		.found = room,
		.values = room + n,
		.coherence = map->traits->fixed_slots ? BF_EXACT : BF_FAST,
		.started_ns = bf_wall_now().ns,
	};
	return 0;
}

static int
refuse_lookup(const struct bf_map *map, const char *what, struct bf_err *err)
{
	const char *why = bf_map_unreadable(&map->info);
	char words[64], type[32];

	return bf_err_set(err, BF_EUNREADABLE, "%s, type %s, has no %s: %s",
			  bf_map_words(&map->info, words, sizeof(words)),
			  bf_map_type_words(map->info.type, type, sizeof(type)),
			  what, why ? why : "it is read by key");
}

int
bf_dump_lookup(const struct bf_map *map, const struct bf_lookup_req *req,
	       struct bf_lookup_reply *reply, struct bf_buf *columns,
	       uint64_t *held, struct bf_err *err)
{
	bool member = map->traits->lookup == BF_LOOKUP_MEMBER;
	uint32_t size = member ? map->info.value_size : map->info.key_size;
	char words[64];
	uint64_t bytes;
	uint8_t *room;
	int ret;

	if (!member && (map->traits->lookup != BF_LOOKUP_KEY ||
			bf_map_unreadable(&map->info)))
		return refuse_lookup(map, "lookup", err);
	if (req->key_size != size)
		return bf_err_set(
			err, BF_EARGUMENT,
			"%s: its %s are %u bytes, %u were given",
			bf_map_words(&map->info, words, sizeof(words)),
			member ? "values" : "keys", size, req->key_size);
	/* More than a page is refused below, not for now but for ever. */
	bytes = bf_min_u64(req->n_keys *
				   (1 + bf_shape_value_bytes(&map->shape)),
			   BF_PAGE_MAX);
	ret = take_memory(held, bytes, err);
	if (ret)
		return ret;
	ret = make_columns(map, req->n_keys, reply, columns, err);
	room = columns->data;
	for (size_t i = 0; i < req->n_keys && !ret; i++)
		ret = lookup_one(map, req->keys + i * size,
				 room + req->n_keys +
					 i * bf_shape_value_bytes(&map->shape),
				 room + i, err);
	reply->ended_ns = bf_wall_now().ns;
	return ret;
}

int
bf_dump_peek(const struct bf_map *map, struct bf_lookup_reply *reply,
	     struct bf_buf *columns, struct bf_err *err)
{
	int ret;

	if (map->traits->lookup != BF_LOOKUP_PEEK)
		return refuse_lookup(map, "head to peek at", err);
	ret = make_columns(map, 1, reply, columns, err);
	if (ret)
		return ret;
	ret = lookup_one(map, NULL, columns->data + 1, columns->data, err);
	reply->coherence = BF_EXACT;
	reply->ended_ns = bf_wall_now().ns;
	return ret;
}
