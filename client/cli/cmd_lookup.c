// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * cmd_lookup - lookup: values of keys, or members of a bloom filter
 */
#include "client/cli/cmd.h"
#include "common/mapinfo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
is_json(const struct renderer *f)
{
	return f == &render_json || f == &render_jsonl || f == &render_bpftool;
}

/* What a bloom filter says of values; bpftool has no form for it. */
static void
print_members(struct cli *c, const struct bpfleet_values *v,
	      const struct select_keys *keys)
{
	bool lines = c->opts.format == &render_jsonl;
	struct json j;

	json_init(&j, c->out, c->opts.pretty && !lines);
	if (!lines)
		json_open(&j, '[');
	for (size_t i = 0; i < v->n; i++) {
		if (lines)
			json_init(&j, c->out, false);
		json_open(&j, '{');
		json_name(&j, "value");
		json_hex_array(&j, keys->bytes + i * keys->size, keys->size);
		json_name(&j, "member");
		json_bool(&j, v->found[i]);
		json_close(&j, '}');
		if (lines)
			out_char(c->out, '\n');
	}
	if (lines)
		return;
	json_close(&j, ']');
	out_char(c->out, '\n');
}

static void
print_member_lines(struct cli *c, const struct bpfleet_values *v,
		   const struct select_keys *keys)
{
	for (size_t i = 0; i < v->n; i++) {
		out_hex(c->out, keys->bytes + i * keys->size, keys->size, ' ');
		out_str(c->out, v->found[i] ? "\tmay be in the filter\n"
					    : "\tnot in the filter\n");
	}
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
		snprintf(hex + (size_t)3 * i, sizeof(hex) - (size_t)3 * i,
			 " %02x", key[i]);
	fprintf(stderr, "bpfleet: map id %u: %s hex%s%s: not found", v->map_id,
		keys->is_value ? "value" : "key", hex,
		keys->size > 16 ? " ..." : "");
	if (missing > 1)
		fprintf(stderr, ", and %zu more", missing - 1);
	fprintf(stderr, "\n");
	return missing == v->n ? CLI_NOT_FOUND : CLI_PARTIAL;
}

/* Is the word before the bytes the one for this type, and the format too? */
static int
check(struct cli *c, const struct bpfleet_map *map,
      const struct select_keys *keys)
{
	const struct renderer *f = c->opts.format;
	bool bloom = map->type == BF_MAP_BLOOM_FILTER;
	const char *why = NULL;

	if (keys->is_value && !bloom)
		return cli_usage("map id %u: a %s is looked up by key, not by "
				 "value: key hex 0a ...",
				 map->id, map->type_name);
	if (!keys->is_value && bloom)
		return cli_usage("map id %u: a bloom_filter has no keys: test "
				 "a value of %u bytes with value hex 0a ...",
				 map->id, map->value_size);
	if (bloom && !is_json(f) && f != &render_table && f != &render_wide)
		return cli_usage("lookup in a bloom_filter has no output %s",
				 f->name);
	if (!bloom && f->refuse)
		why = f->refuse(map);
	return why ? cli_usage("map id %u: %s", map->id, why) : CLI_OK;
}

static int
lookup(struct cli *c, const struct bpfleet_map *map,
       const struct bpfleet_map_ref *ref, const struct select_keys *keys)
{
	struct bpfleet_values *v = NULL;
	struct bpfleet_error err;
	int status;

	status = check(c, map, keys);
	if (status)
		return status;
	if (bpfleet_lookup(&v, c->b, ref, keys->bytes, keys->size, keys->n,
			   &err))
		return cli_fail(&err);
	if (!keys->is_value)
		cli_print_values(c, map, v, keys->bytes, keys->size);
	else if (is_json(c->opts.format))
		print_members(c, v, keys);
	else
		print_member_lines(c, v, keys);
	out_flush(c->out);
	status = tell_missing(v, keys);
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
