// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * render_prom - a Prometheus sample for every key and CPU
 *
 * Only maps whose values are integers can be shown so.  A key that is not
 * there has no sample.
 */
#include "client/cli/render.h"

#include <inttypes.h>

/* A label's value; its escapes are not JSON's. */
static void
label(struct out *o, const char *s)
{
	out_char(o, '"');
	for (; *s; s++) {
		if (*s == '\n') {
			out_str(o, "\\n");
			continue;
		}
		if (*s == '"' || *s == '\\')
			out_char(o, '\\');
		out_char(o, *s);
	}
	out_char(o, '"');
}

static void
label_bytes(struct out *o, const uint8_t *bytes, uint32_t size)
{
	if (render_is_integer(size))
		out_uint(o, render_integer(bytes, size));
	else
		out_hex(o, bytes, size, ' ');
}

static const char *
prom_refuse(const struct bpfleet_map *map)
{
	if (render_is_integer(map->value_size))
		return NULL;
	return "prom shows only values of 1, 2, 4 or 8 bytes";
}

static void
prom_begin(struct render *r)
{
	out_str(r->out, "# TYPE bpfleet_map_value untyped\n");
}

static void
prom_page(struct render *r, const struct bpfleet_map *map,
	  const struct bpfleet_page *p, uint32_t n)
{
	const uint8_t *value = p->values;

	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t cpu = 0; cpu < p->n_slots; cpu++) {
			out_str(r->out, "bpfleet_map_value{host=");
			label(r->out, r->host->name);
			out_str(r->out, ",map=");
			label(r->out, map->name);
			out_printf(r->out, ",id=\"%u\",key=\"", map->id);
			label_bytes(r->out, p->keys + (size_t)i * p->key_size,
				    p->key_size);
			if (p->n_slots > 1)
				out_printf(r->out, "\",cpu=\"%u", cpu);
			out_printf(r->out, "\"} %" PRIu64 "\n",
				   render_integer(value, p->value_size));
			value += p->slot_size;
		}
	}
}

const struct renderer render_prom = {
	.name = "prom",
	.refuse = prom_refuse,
	.begin = prom_begin,
	.page = prom_page,
};
