// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * cmd_lookup - lookup and peek: values of keys, and the head of a queue
 */
#include "client/cli/cmd.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The found values as a page, so that every format can show them. */
static struct bpfleet_page
page_of(const struct bpfleet_values *v, const uint8_t *key, uint32_t key_size,
	size_t i)
{
	return (struct bpfleet_page){
		.map_id = v->map_id,
		.n = 1,
		.key_size = key_size,
		.value_size = v->value_size,
		.slot_size = v->slot_size,
		.n_slots = v->n_slots,
		.keys = key,
		.values = v->values + i * v->slot_size * v->n_slots,
		.end = 1,
		.coherence = v->coherence,
	};
}

/* bpftool's form: an object alone, without the array around it; null. */
static void
print_bpftool(struct cli *c, struct render *r, const struct bpfleet_map *map,
	      const struct bpfleet_values *v, const struct select_keys *keys)
{
	for (size_t i = 0; i < v->n; i++) {
		struct bpfleet_page p =
			page_of(v, keys->bytes + i * keys->size, keys->size, i);

		json_init(&r->json, c->out, c->opts.pretty);
		if (v->found[i])
			r->format->page(r, map, &p, 1);
		else
			json_null(&r->json);
		out_char(c->out, '\n');
	}
}

static void
print_member(struct cli *c, const struct bpfleet_values *v,
	     const struct select_keys *keys)
{
	for (size_t i = 0; i < v->n; i++) {
		out_hex(c->out, keys->bytes + i * keys->size, keys->size, ' ');
		out_str(c->out, v->found[i] ? "\tmay be in the filter\n"
					    : "\tnot in the filter\n");
	}
}

static void
print_values(struct render *r, const struct bpfleet_map *map,
	     const struct bpfleet_values *v, const struct select_keys *keys)
{
	struct render_end end = {.message = "", .coherence = v->coherence};
	const struct renderer *f = r->format;

	if (f->begin)
		f->begin(r);
	if (f->map_begin)
		f->map_begin(r, map);
	r->n_maps++;
	for (size_t i = 0; i < v->n; i++) {
		const uint8_t *key = keys->bytes + i * keys->size;
		struct bpfleet_page p = page_of(v, key, keys->size, i);

		if (v->found[i]) {
			f->page(r, map, &p, 1);
			end.n++;
			r->n_entries++;
		}
	}
	if (f->map_end)
		f->map_end(r, map, &end);
	if (f->end)
		f->end(r);
}

/* Names the keys that were not there. Returns: exit status. */
static int
tell_missing(const struct bpfleet_values *v, const struct select_keys *keys)
{
	size_t missing = 0, first = 0;
	char hex[3 * 16 + 8] = "";
	const uint8_t *key;

	for (size_t i = v->n; i-- > 0;) {
		missing += !v->found[i];
		first = v->found[i] ? first : i;
	}
	if (!missing)
		return CLI_OK;
	key = keys->bytes + first * keys->size;
	for (uint32_t i = 0; i < keys->size && i < 16; i++)
		snprintf(hex + 3 * i, sizeof(hex) - 3 * i, " %02x", key[i]);
	fprintf(stderr, "bpfleet: map id %u: key hex%s%s: not found", v->map_id,
		hex, keys->size > 16 ? " ..." : "");
	if (missing > 1)
		fprintf(stderr, ", and %zu more", missing - 1);
	fprintf(stderr, "\n");
	return missing == v->n ? CLI_NOT_FOUND : CLI_PARTIAL;
}

static int
lookup(struct cli *c, const struct bpfleet_map *map,
       const struct bpfleet_map_ref *ref, const struct select_keys *keys)
{
	struct render r = {
		.format = c->opts.format,
		.out = c->out,
		.host = bpfleet_host_get(c->b),
		.wide = c->opts.format == &render_wide,
		.pretty = c->opts.pretty,
	};
	const char *why = r.format->refuse ? r.format->refuse(map) : NULL;
	struct bpfleet_values *v = NULL;
	struct bpfleet_error err;
	int status;

	if (why)
		return cli_usage("map id %u: %s", map->id, why);
	if (bpfleet_lookup(&v, c->b, ref, keys->bytes, keys->size, keys->n,
			   &err))
		return cli_fail(&err);
	if (keys->is_value)
		print_member(c, v, keys);
	else if (r.format == &render_bpftool)
		print_bpftool(c, &r, map, v, keys);
	else
		print_values(&r, map, v, keys);
	out_flush(c->out);
	status = keys->is_value && v->n == 1
			 ? (v->found[0] ? CLI_OK : CLI_NOT_FOUND)
			 : tell_missing(v, keys);
	bpfleet_values_free(v);
	return status;
}

int
cmd_lookup(struct cli *c)
{
	struct bpfleet_maps *maps = NULL;
	struct select_keys keys = {0};
	struct bpfleet_map_ref ref;
	char selector[SELECT_MAX];
	const char *why = "";
	int used, status, n;

	/* All words are checked before an agent is started for them. */
	used = select_map(selector, c->argc, c->argv, &why);
	n = used < 0 ? -1
		     : select_keys(&keys, c->argc - used, c->argv + used, &why);
	if (n < 0) {
		free(keys.bytes);
		return cli_usage("lookup: %s", why);
	}
	status = cli_find_one(c, &maps, &ref, &used);
	if (!status)
		status = lookup(c, bpfleet_maps_get(maps, 0), &ref, &keys);
	free(keys.bytes);
	bpfleet_maps_free(maps);
	return status;
}

int
cmd_peek(struct cli *c)
{
	struct bpfleet_maps *maps = NULL;
	struct bpfleet_values *v = NULL;
	struct bpfleet_map_ref ref;
	struct bpfleet_error err;
	struct json j;
	int used = 0, status;

	status = cli_find_one(c, &maps, &ref, &used);
	if (!status && used < c->argc)
		status = cli_usage("peek: unexpected word \"%s\"",
				   c->argv[used]);
	if (!status && bpfleet_peek(&v, c->b, &ref, &err))
		status = cli_fail(&err);
	if (status)
		goto out;
	if (c->opts.format == &render_table || c->opts.format == &render_wide) {
		if (v->found[0])
			out_hex(c->out, v->values, v->value_size, ' ');
		out_str(c->out, v->found[0] ? "\n" : "");
	} else if (c->opts.format == &render_bpftool ||
		   c->opts.format == &render_json ||
		   c->opts.format == &render_jsonl) {
		json_init(&j, c->out, c->opts.pretty);
		if (v->found[0]) {
			json_open(&j, '{');
			json_name(&j, "value");
			json_hex_array(&j, v->values, v->value_size);
			json_close(&j, '}');
		} else {
			json_null(&j);
		}
		out_char(c->out, '\n');
	} else {
		status = cli_usage("peek has no output %s",
				   c->opts.format->name);
		goto out;
	}
	if (!v->found[0]) {
		out_flush(c->out);
		fprintf(stderr, "bpfleet: map id %u: it is empty\n", v->map_id);
		status = CLI_NOT_FOUND;
	}
out:
	bpfleet_values_free(v);
	bpfleet_maps_free(maps);
	return status;
}
