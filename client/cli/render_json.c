// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * render_json - our own JSON: one document (json), or an entry a line (jsonl)
 *
 * Integers that a parser might round are strings; other bytes are hex.
 */
#include "client/cli/render.h"

static void
datum(struct json *j, const uint8_t *bytes, uint32_t size)
{
	if (render_is_integer(size))
		json_exact(j, render_integer(bytes, size));
	else
		json_hex_string(j, bytes, size);
}

static void
entry(struct json *j, const uint8_t *key, const struct bpfleet_page *p,
      const uint8_t *value)
{
	bool per_cpu = p->n_slots > 1 || p->slot_size != p->value_size;

	if (p->key_size) {
		json_name(j, "key");
		datum(j, key, p->key_size);
	}
	json_name(j, per_cpu ? "values" : "value");
	if (per_cpu)
		json_open(j, '[');
	for (uint32_t i = 0; i < p->n_slots; i++)
		datum(j, value + (size_t)i * p->slot_size, p->value_size);
	if (per_cpu)
		json_close(j, ']');
}

static void
begin(struct render *r)
{
	json_init(&r->json, r->out, r->pretty);
	json_open(&r->json, '{');
	json_name(&r->json, "hosts");
	json_open(&r->json, '[');
}

static void
map_begin(struct render *r, const struct bpfleet_map *map)
{
	struct json *j = &r->json;

	json_open(j, '{');
	json_name(j, "host");
	json_string(j, r->host->name);
	json_name(j, "map");
	json_open(j, '{');
	render_map_members(j, map, true);
	json_close(j, '}');
	json_name(j, "entries");
	json_open(j, '[');
}

static void
page(struct render *r, const struct bpfleet_map *map,
     const struct bpfleet_page *p, uint32_t n)
{
	size_t value_bytes = (size_t)p->n_slots * p->slot_size;

	(void)map;
	for (uint32_t i = 0; i < n; i++) {
		json_open(&r->json, '{');
		entry(&r->json, p->keys + (size_t)i * p->key_size, p,
		      p->values + i * value_bytes);
		json_close(&r->json, '}');
	}
}

/* As an entry whose value is null: an answer, not an omission. */
static void
missing_entry(struct json *j, const uint8_t *key, uint32_t key_size)
{
	if (key_size) {
		json_name(j, "key");
		datum(j, key, key_size);
	}
	json_name(j, "value");
	json_null(j);
}

static void
missing(struct render *r, const struct bpfleet_map *map, const uint8_t *key,
	uint32_t key_size)
{
	(void)map;
	json_open(&r->json, '{');
	missing_entry(&r->json, key, key_size);
	json_close(&r->json, '}');
}

/* A dump that broke off is not exact, and one that read nothing is nothing. */
static void
coherence(struct json *j, const struct render_end *e)
{
	bool failed = e->code && e->code != -BPFLEET_ENOKEY;

	if (failed && !e->n)
		json_null(j);
	else
		json_string(j, bpfleet_coherence_str(failed ? BPFLEET_INCOMPLETE
							    : e->coherence));
}

static void
map_end(struct render *r, const struct bpfleet_map *map,
	const struct render_end *e)
{
	struct json *j = &r->json;

	(void)map;
	json_close(j, ']');
	json_name(j, "status");
	if (!e->code && e->coherence == BPFLEET_INCOMPLETE)
		json_string(j, "partial");
	else
		json_string(j, render_status(e->code, e->n));
	json_name(j, "error");
	json_string(j, e->message);
	json_name(j, "code");
	json_uint(j, (uint64_t)-e->code);
	json_name(j, "latency_ms");
	json_ms(j, r->host->latency_ns);
	json_name(j, "coherence");
	coherence(j, e);
	json_name(j, "restarts");
	json_uint(j, e->restarts);
	json_name(j, "skipped");
	json_uint(j, e->skipped);
	json_close(j, '}');
}

static void
end(struct render *r)
{
	struct json *j = &r->json;

	json_close(j, ']');
	json_name(j, "summary");
	json_open(j, '{');
	json_name(j, "maps");
	json_uint(j, r->n_maps);
	json_name(j, "entries");
	json_uint(j, r->n_entries);
	json_name(j, "failed");
	json_uint(j, r->n_failed);
	json_close(j, '}');
	json_close(j, '}');
	out_char(r->out, '\n');
}

const struct renderer render_json = {
	.name = "json",
	.begin = begin,
	.map_begin = map_begin,
	.page = page,
	.missing = missing,
	.map_end = map_end,
	.end = end,
};

static void
lines_open(struct json *j, struct render *r, const struct bpfleet_map *map)
{
	json_init(j, r->out, false);
	json_open(j, '{');
	json_name(j, "host");
	json_string(j, r->host->name);
	json_name(j, "map");
	json_string(j, map->name);
	json_name(j, "id");
	json_uint(j, map->id);
}

static void
lines_page(struct render *r, const struct bpfleet_map *map,
	   const struct bpfleet_page *p, uint32_t n)
{
	size_t value_bytes = (size_t)p->n_slots * p->slot_size;
	struct json j;

	for (uint32_t i = 0; i < n; i++) {
		lines_open(&j, r, map);
		entry(&j, p->keys + (size_t)i * p->key_size, p,
		      p->values + i * value_bytes);
		json_close(&j, '}');
		out_char(r->out, '\n');
	}
}

static void
lines_missing(struct render *r, const struct bpfleet_map *map,
	      const uint8_t *key, uint32_t key_size)
{
	struct json j;

	lines_open(&j, r, map);
	missing_entry(&j, key, key_size);
	json_close(&j, '}');
	out_char(r->out, '\n');
}

const struct renderer render_jsonl = {
	.name = "jsonl",
	.page = lines_page,
	.missing = lines_missing,
};
