// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * render_bpftool - the bytes that bpftool -j and -p print for a map
 *
 * A dump that fails leaves its array open, so that no parser takes it for
 * the whole map.
 */
#include "client/cli/render.h"

static void
begin(struct render *r)
{
	json_init(&r->json, r->out, r->pretty);
	json_open(&r->json, '[');
}

/* Members of one entry, into an open object. */
static void
entry(struct json *j, const uint8_t *key, const struct bpfleet_page *p,
      const uint8_t *value)
{
	json_name(j, "key");
	json_hex_array(j, key, p->key_size);
	if (p->n_slots == 1 && p->slot_size == p->value_size) {
		json_name(j, "value");
		json_hex_array(j, value, p->value_size);
		return;
	}
	json_name(j, "values");
	json_open(j, '[');
	for (uint32_t cpu = 0; cpu < p->n_slots; cpu++) {
		json_open(j, '{');
		json_name(j, "cpu");
		json_uint(j, cpu);
		json_name(j, "value");
		json_hex_array(j, value + (size_t)cpu * p->slot_size,
			       p->value_size);
		json_close(j, '}');
	}
	json_close(j, ']');
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

static void
missing(struct render *r, const struct bpfleet_map *map, const uint8_t *key,
	uint32_t key_size)
{
	(void)map;
	(void)key;
	(void)key_size;
	json_null(&r->json);
}

/* Several maps of one name are objects, their entries the elements. */
static void
map_begin(struct render *r, const struct bpfleet_map *map)
{
	if (!r->many)
		return;
	json_open(&r->json, '{');
	render_map_head(&r->json, map, false);
	json_name(&r->json, "elements");
	json_open(&r->json, '[');
}

static void
map_end(struct render *r, const struct bpfleet_map *map,
	const struct render_end *e)
{
	(void)map;
	if (!r->many || e->code)
		return;
	json_close(&r->json, ']');
	json_close(&r->json, '}');
}

static void
end(struct render *r)
{
	if (r->n_failed)
		return;
	json_close(&r->json, ']');
	out_char(r->out, '\n');
}

const struct renderer render_bpftool = {
	.name = "bpftool",
	.begin = begin,
	.map_begin = map_begin,
	.page = page,
	.missing = missing,
	.map_end = map_end,
	.end = end,
};
