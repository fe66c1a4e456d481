// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * render_table - for people: an entry a line, or with wide a CPU a line
 */
#include "client/cli/render.h"

#include <inttypes.h>
#include <stdio.h>

#define HEX_SHOWN 32u /* bytes of a long key or value, unless wide */

static void
datum(struct render *r, const uint8_t *bytes, uint32_t size)
{
	uint32_t shown = r->wide ? size : (uint32_t)bf_min_u64(size, HEX_SHOWN);
	char text[32];

	if (render_is_integer(size)) {
		snprintf(text, sizeof(text), "%" PRIu64,
			 render_integer(bytes, size));
		out_str(r->out, text);
		return;
	}
	out_hex(r->out, bytes, shown, ' ');
	if (shown < size)
		out_printf(r->out, " ... (%" PRIu32 " bytes)", size);
}

static void
map_begin(struct render *r, const struct bpfleet_map *map)
{
	if (r->many)
		out_printf(r->out, "%s# map id %u  %s  %s\n",
			   r->n_maps ? "\n" : "", map->id, map->type_name,
			   map->name[0] ? map->name : "-");
	out_str(r->out, r->wide && map->n_slots > 1 ? "KEY\tCPU\tVALUE\n"
						    : "KEY\tVALUE\n");
}

static void
page(struct render *r, const struct bpfleet_map *map,
     const struct bpfleet_page *p, uint32_t n)
{
	const uint8_t *value = p->values;

	(void)map;
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *key = p->keys + (size_t)i * p->key_size;

		for (uint32_t cpu = 0; cpu < p->n_slots; cpu++) {
			if (!cpu || r->wide)
				datum(r, key, p->key_size);
			if (r->wide && p->n_slots > 1)
				out_printf(r->out, "\t%u", cpu);
			out_str(r->out, !cpu || r->wide ? "\t" : " | ");
			datum(r, value, p->value_size);
			value += p->slot_size;
			if (r->wide)
				out_char(r->out, '\n');
		}
		if (!r->wide)
			out_char(r->out, '\n');
	}
}

const struct renderer render_table = {
	.name = "table",
	.map_begin = map_begin,
	.page = page,
};

const struct renderer render_wide = {
	.name = "wide",
	.map_begin = map_begin,
	.page = page,
};
