// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * render_csv - csv and tsv, a line for every key and CPU
 *
 * Nothing in these lines needs quoting but names, which are quoted.
 */
#include "client/cli/render.h"

static void
datum(struct render *r, const uint8_t *bytes, uint32_t size)
{
	if (render_is_integer(size))
		out_uint(r->out, render_integer(bytes, size));
	else
		out_hex(r->out, bytes, size, ' ');
}

/* A field of text: quoted, with quotes doubled and line breaks shown. */
void
render_csv_text(struct out *o, const char *s, char separator)
{
	if (separator == ',')
		out_char(o, '"');
	for (; *s; s++) {
		if (*s == '"' && separator == ',')
			out_char(o, '"');
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			out_printf(o, "\\x%02x", (unsigned)*s);
		else
			out_char(o, *s);
	}
	if (separator == ',')
		out_char(o, '"');
}

static void
header(struct render *r, char c)
{
	out_printf(r->out, "host%cmap%cid%ckey%ccpu%cvalue\n", c, c, c, c, c);
}

/* The columns before the value. */
static void
row_head(struct render *r, const struct bpfleet_map *map, const uint8_t *key,
	 uint32_t key_size, char c)
{
	render_csv_text(r->out, r->host->name, c);
	out_char(r->out, c);
	render_csv_text(r->out, map->name, c);
	out_char(r->out, c);
	out_uint(r->out, map->id);
	out_char(r->out, c);
	datum(r, key, key_size);
	out_char(r->out, c);
}

static void
rows(struct render *r, const struct bpfleet_map *map,
     const struct bpfleet_page *p, uint32_t n, char c)
{
	const uint8_t *value = p->values;

	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *key = p->keys + (size_t)i * p->key_size;

		for (uint32_t cpu = 0; cpu < p->n_slots; cpu++) {
			row_head(r, map, key, p->key_size, c);
			if (p->n_slots > 1)
				out_uint(r->out, cpu);
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

/* A row whose value is empty; no value that was read is. */
static void
csv_missing(struct render *r, const struct bpfleet_map *map, const uint8_t *key,
	    uint32_t key_size)
{
	row_head(r, map, key, key_size, ',');
	out_bytes(r->out, ",\n", 2);
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

/* A row whose value is empty; no value that was read is. */
static void
tsv_missing(struct render *r, const struct bpfleet_map *map, const uint8_t *key,
	    uint32_t key_size)
{
	row_head(r, map, key, key_size, '\t');
	out_bytes(r->out, "\t\n", 2);
}

const struct renderer render_csv = {
	.name = "csv",
	.begin = csv_begin,
	.page = csv_page,
	.missing = csv_missing,
};

const struct renderer render_tsv = {
	.name = "tsv",
	.begin = tsv_begin,
	.page = tsv_page,
	.missing = tsv_missing,
};
