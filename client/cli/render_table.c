// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * render_table - for people: an entry a line, or with wide a CPU a line
 */
#include "client/cli/render.h"

#include <inttypes.h>

#define HEX_SHOWN 32u /* bytes of a long key or value, unless wide */

static void
datum(struct render *r, const uint8_t *bytes, uint32_t size)
{
	uint32_t shown = r->wide ? size : (uint32_t)bf_min_u64(size, HEX_SHOWN);

	if (render_is_integer(size)) {
		out_uint(r->out, render_integer(bytes, size));
		return;
	}
	out_hex(r->out, bytes, shown, ' ');
	if (shown < size)
		out_printf(r->out, " ... (%" PRIu32 " bytes)", size);
}

static void
map_begin(struct render *r, const struct bpfleet_map *map)
{
	(void)map;
	r->headed = false;
}

/* Before the first entry; a map that cannot be read gets none. */
static void
heading(struct render *r, const struct bpfleet_map *map)
{
	if (r->headed)
		return;
	r->headed = true;
	if (r->many) {
		out_printf(r->out, "%s# map id %u  ", r->n_maps > 1 ? "\n" : "",
			   map->id);
		out_text(r->out, map->type_name);
		out_str(r->out, "  ");
		out_text(r->out, map->name[0] ? map->name : "-");
		out_char(r->out, '\n');
	}
	out_str(r->out, map->key_size ? "KEY\t" : "");
	out_str(r->out, r->wide && map->n_slots > 1 ? "CPU\t" : "");
	out_str(r->out, "VALUE\n");
}

static void
key_cell(struct render *r, const uint8_t *key, uint32_t key_size)
{
	if (!key_size)
		return;
	datum(r, key, key_size);
	out_char(r->out, '\t');
}

static void
missing(struct render *r, const struct bpfleet_map *map, const uint8_t *key,
	uint32_t key_size)
{
	heading(r, map);
	key_cell(r, key, key_size);
	out_str(r->out, r->wide && map->n_slots > 1 ? "\t" : "");
	out_str(r->out, key_size ? "not found\n" : "empty\n");
}

static void
page(struct render *r, const struct bpfleet_map *map,
     const struct bpfleet_page *p, uint32_t n)
{
	const uint8_t *value = p->values;

	heading(r, map);
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *key = p->keys + (size_t)i * p->key_size;

		for (uint32_t cpu = 0; cpu < p->n_slots; cpu++) {
			if (!cpu || r->wide)
				key_cell(r, key, p->key_size);
			else
				out_str(r->out, " | ");
			if (r->wide && p->n_slots > 1)
				out_printf(r->out, "%u\t", cpu);
			datum(r, value, p->value_size);
			value += p->slot_size;
			if (r->wide)
				out_char(r->out, '\n');
		}
		if (!r->wide)
			out_char(r->out, '\n');
	}
}

static void
map_end(struct render *r, const struct bpfleet_map *map,
	const struct render_end *end)
{
	if (!end->code)
		heading(r, map);
}

const struct renderer render_table = {
	.name = "table",
	.map_begin = map_begin,
	.page = page,
	.missing = missing,
	.map_end = map_end,
};

const struct renderer render_wide = {
	.name = "wide",
	.map_begin = map_begin,
	.page = page,
	.missing = missing,
	.map_end = map_end,
};
