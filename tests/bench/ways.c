// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * ways - complete dumps of a map: key by key, by local batches, and through
 * the agent, also over encrypted tcp
 */
#include "tests/bench/bench.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void
count_values(struct bench *b, const uint64_t *values, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		b->sum += values[i];
	b->seen += n;
}

static void
read_walk(struct bench *b, const struct row *row)
{
	uint32_t key, next;
	uint64_t value;
	void *from = NULL;

	(void)row;
	while (!bpf_map_get_next_key(b->map_fd, from, &next)) {
		key = next;
		from = &key;
		if (bpf_map_lookup_elem(b->map_fd, &key, &value))
			die("lookup: %s", strerror(errno));
		count_values(b, &value, 1);
	}
}

static void
read_local(struct bench *b, const struct row *row)
{
	uint32_t token = 0, next = 0, room = row->room, count;
	bool first = true;

	for (;;) {
		int ret;

		count = room;
		ret = bpf_map_lookup_batch(b->map_fd, first ? NULL : &token,
					   &next, b->keys, b->values, &count,
					   NULL);
		/* A bucket larger than the room: more, for this call. */
		if (ret == -ENOSPC && room * 2 <= b->cap) {
			room *= 2;
			continue;
		}
		if (ret && ret != -ENOENT)
			die("batch lookup: %s", strerror(-ret));
		count_values(b, b->values, count);
		if (ret)
			return;
		token = next;
		first = false;
		room = row->room;
	}
}

static void
read_agent(struct bench *b, const struct row *row)
{
	struct bpfleet_map_ref ref = {sizeof(ref), b->map_id, NULL};
	struct bpfleet_dump_opts opts = {.sz = sizeof(opts),
					 .page_entries = row->room,
					 .page_bytes = PAGE_BYTES};
	const struct bpfleet_page *page;
	struct bpfleet_dump *d = NULL;
	struct bpfleet_error err;
	int ret;

	ret = bpfleet_dump_open(&d, row->way[0] == 't' ? b->remote : b->session,
				&ref, row->room ? &opts : NULL, &err);
	if (ret)
		die("%s", err.message);
	while ((ret = bpfleet_dump_next(d, &page, &err)) > 0) {
		const uint8_t *p = page->values;

		for (uint32_t i = 0; i < page->n; i++, p += sizeof(uint64_t)) {
			uint64_t value;

			memcpy(&value, p, sizeof(value));
			b->sum += value;
		}
		b->seen += page->n;
	}
	if (ret)
		die("%s", err.message);
	bpfleet_dump_close(d);
}

static void
add_row(struct bench *b, const char *way, uint32_t room,
	void (*run)(struct bench *b, const struct row *row))
{
	struct row *row = &b->rows[b->n_rows++];

	row->way = way;
	row->room = room;
	row->run = run;
}

const uint32_t rooms[N_ROOMS] = {1, 2, 230, CHUNK, 5000, 73000, 100000, 234567};

static void
add_rows(struct bench *b)
{
	add_row(b, "walk", 0, read_walk);
	for (size_t i = 0; i < N_ROOMS; i++) {
		add_row(b, "local", rooms[i], read_local);
		add_row(b, "ipc", rooms[i], read_agent);
		if (rooms[i] == CHUNK) {
			add_row(b, "ipc", 0, read_agent);
			add_row(b, "tcp", 0, read_agent);
		}
	}
}

const struct row *
find_row(const struct bench *b, const char *way, uint32_t room)
{
	for (uint32_t i = 0; i < b->n_rows; i++)
		if (!strcmp(b->rows[i].way, way) && b->rows[i].room == room)
			return &b->rows[i];
	die("no row %s %u", way, room);
}

static void
run_row(struct bench *b, struct row *row)
{
	uint64_t start, ns;

	b->seen = b->sum = 0;
	start = now_ns();
	row->run(b, row);
	ns = now_ns() - start;
	if (b->seen != N_ENTRIES ||
	    b->sum != (uint64_t)N_ENTRIES * (N_ENTRIES + 1) / 2)
		die("%s, room %u: %" PRIu64 " entries, not all", row->way,
		    row->room, b->seen);
	row->ns[row->n++] = ns;
	row->total_ns += ns;
}

static void
measure_rows(struct bench *b)
{
	for (uint32_t r = 0; r < b->rounds; r++) {
		for (uint32_t i = 0; i < b->n_rows; i++) {
			struct row *row = &b->rows[i];

			if (row->total_ns < b->row_budget_ns)
				run_row(b, row);
		}
	}
	for (uint32_t i = 0; i < b->n_rows; i++)
		b->rows[i].median_ns = median(b->rows[i].ns, b->rows[i].n);
}

void
measure_dumps(struct bench *b)
{
	const struct bpfleet_open_opts opts = {
		.sz = sizeof(opts),
		.key_file = b->client_key,
		.known_agents = b->known,
		.trust_new = 1,
	};
	struct bpfleet_error err;

	b->cap = 4 * rooms[N_ROOMS - 1];
	b->keys = calloc(b->cap, sizeof(*b->keys));
	b->values = calloc(b->cap, sizeof(*b->values));
	if (!b->keys || !b->values)
		die("out of memory");
	/* Touched now, so that no row pays for the first use. */
	memset(b->keys, 1, b->cap * sizeof(*b->keys));
	memset(b->values, 1, b->cap * sizeof(*b->values));
	if (bpfleet_open(&b->session, b->address, NULL, &err) ||
	    bpfleet_open(&b->remote, b->tcp, &opts, &err))
		die("%s", err.message);
	add_rows(b);
	measure_rows(b);
	measure_crowd(b);
	bpfleet_close(b->session);
	bpfleet_close(b->remote);
	free(b->keys);
	free(b->values);
}
