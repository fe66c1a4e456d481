// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * render_csv - csv and tsv, a line for every key and CPU; and Prometheus text
 *
 * Nothing in these lines needs quoting but names, which are quoted.
 */
#include "client/cli/render.h"

#include <inttypes.h>

static void
datum(struct render *r, const uint8_t *bytes, uint32_t size)
{
	if (render_is_integer(size))
		out_printf(r->out, "%" PRIu64, render_integer(bytes, size));
	else
		out_hex(r->out, bytes, size, ' ');
}

/* A field of text: quoted, with quotes doubled and line breaks shown. */
static void
text_field(struct render *r, const char *s, char separator)
{
	if (separator == ',')
		out_char(r->out, '"');
	for (; *s; s++) {
		if (*s == '"' && separator == ',')
			out_char(r->out, '"');
		if ((unsigned char)*s < 0x20)
			out_printf(r->out, "\\x%02x", (unsigned)*s);
		else
			out_char(r->out, *s);
	}
	if (separator == ',')
		out_char(r->out, '"');
}

static void
header(struct render *r, char c)
{
	out_printf(r->out, "host%cmap%cid%ckey%ccpu%cvalue\n", c, c, c, c, c);
}

static void
rows(struct render *r, const struct bpfleet_map *map,
     const struct bpfleet_page *p, uint32_t n, char c)
{
	const uint8_t *value = p->values;

	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t cpu = 0; cpu < p->n_slots; cpu++) {
			text_field(r, r->host->name, c);
			out_char(r->out, c);
			text_field(r, map->name, c);
			out_printf(r->out, "%c%u%c", c, map->id, c);
			datum(r, p->keys + (size_t)i * p->key_size,
			      p->key_size);
			out_char(r->out, c);
			if (p->n_slots > 1)
				out_printf(r->out, "%u", cpu);
			out_char(r->out, c);
			datum(r, value, p->value_size);
			out_char(r->out, '\n');
			value += p->slot_size;
		}
	}
}

static void
csv_begin(struct render *r)
{
	header(r, ',');
}

static void
csv_page(struct render *r, const struct bpfleet_map *map,
	 const struct bpfleet_page *p, uint32_t n)
{
	rows(r, map, p, n, ',');
}

static void
tsv_begin(struct render *r)
{
	header(r, '\t');
}

static void
tsv_page(struct render *r, const struct bpfleet_map *map,
	 const struct bpfleet_page *p, uint32_t n)
{
	rows(r, map, p, n, '\t');
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
			out_json_string(r->out, r->host->name);
			out_str(r->out, ",map=");
			out_json_string(r->out, map->name);
			out_printf(r->out, ",id=\"%u\",key=\"", map->id);
			datum(r, p->keys + (size_t)i * p->key_size,
			      p->key_size);
			if (p->n_slots > 1)
				out_printf(r->out, "\",cpu=\"%u", cpu);
			out_printf(r->out, "\"} %" PRIu64 "\n",
				   render_integer(value, p->value_size));
			value += p->slot_size;
		}
	}
}

const struct renderer render_csv = {
	.name = "csv",
	.begin = csv_begin,
	.page = csv_page,
};

const struct renderer render_tsv = {
	.name = "tsv",
	.begin = tsv_begin,
	.page = tsv_page,
};

const struct renderer render_prom = {
	.name = "prom",
	.refuse = prom_refuse,
	.begin = prom_begin,
	.page = prom_page,
};
