// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * cmd_maps - list and show: what maps there are, and all about one
 */
#include "client/cli/cmd.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void
fill_words(struct cli *c, const struct bpfleet_map *m, char *buf, size_t cap)
{
	int coherence;
	uint64_t n;

	if (m->unreadable[0] || m->error || cli_count(c, m, &n, &coherence)) {
		snprintf(buf, cap, "-");
		return;
	}
	snprintf(buf, cap, "%" PRIu64 " (%.0f%%)", n,
		 m->max_entries ? 100.0 * (double)n / m->max_entries : 0.0);
}

static void
list_table(struct cli *c, const struct bpfleet_maps *maps)
{
	bool wide = c->opts.format == &render_wide;
	char fill[48];

	out_printf(c->out, "%-8s %-20s %-16s %6s %8s %10s %7s %12s %s%s%s\n",
		   "ID", "TYPE", "NAME", "KEY", "VALUE", "MAX", "FLAGS",
		   "MEMLOCK", c->opts.fill ? "FILL          " : "", "DUMP",
		   wide ? "  PINS" : "");
	for (size_t i = 0; i < bpfleet_maps_count(maps); i++) {
		const struct bpfleet_map *m = bpfleet_maps_get(maps, i);

		if (m->error) {
			out_printf(c->out, "%-8u %s\n", m->id,
				   bpfleet_strerror(m->error));
			continue;
		}
		out_printf(c->out,
			   "%-8u %-20s %-16s %6u %8u %10u %#7x %12" PRIu64 " ",
			   m->id, m->type_name, m->name[0] ? m->name : "-",
			   m->key_size, m->value_size, m->max_entries, m->flags,
			   m->memlock_bytes);
		if (c->opts.fill) {
			fill_words(c, m, fill, sizeof(fill));
			out_printf(c->out, "%-13s ", fill);
		}
		out_str(c->out, m->unreadable[0] ? "no" : "yes");
		for (size_t p = 0; wide && p < m->n_pins; p++)
			out_printf(c->out, "%s%s", p ? "," : "  ", m->pins[p]);
		out_char(c->out, '\n');
	}
}

/* One map as an object; with jsonl a line. */
static void
map_object(struct cli *c, struct json *j, const struct bpfleet_map *m,
	   bool native)
{
	int coherence;
	uint64_t n;

	json_open(j, '{');
	render_map_members(j, m, native);
	if (native && c->opts.fill && !m->unreadable[0] && !m->error &&
	    !cli_count(c, m, &n, &coherence)) {
		json_name(j, "entries");
		json_uint(j, n);
	}
	json_close(j, '}');
}

static void
list_json(struct cli *c, const struct bpfleet_maps *maps, bool native)
{
	struct json j;

	json_init(&j, c->out, c->opts.pretty);
	if (native) {
		json_open(&j, '{');
		json_name(&j, "hosts");
		json_open(&j, '[');
		json_open(&j, '{');
		json_name(&j, "host");
		json_string(&j, bpfleet_host_get(c->b)->name);
		json_name(&j, "status");
		json_string(&j, "ok");
		json_name(&j, "maps");
	}
	json_open(&j, '[');
	for (size_t i = 0; i < bpfleet_maps_count(maps); i++)
		if (native || !bpfleet_maps_get(maps, i)->error)
			map_object(c, &j, bpfleet_maps_get(maps, i), native);
	json_close(&j, ']');
	if (native) {
		json_close(&j, '}');
		json_close(&j, ']');
		json_close(&j, '}');
	}
	out_char(c->out, '\n');
}

static void
list_lines(struct cli *c, const struct bpfleet_maps *maps)
{
	struct json j;

	for (size_t i = 0; i < bpfleet_maps_count(maps); i++) {
		json_init(&j, c->out, false);
		map_object(c, &j, bpfleet_maps_get(maps, i), true);
		out_char(c->out, '\n');
	}
}

static void
list_csv(struct cli *c, const struct bpfleet_maps *maps, char s)
{
	out_printf(c->out,
		   "id%ctype%cname%ckey_size%cvalue_size%cmax_entries%cflags\n",
		   s, s, s, s, s, s);
	for (size_t i = 0; i < bpfleet_maps_count(maps); i++) {
		const struct bpfleet_map *m = bpfleet_maps_get(maps, i);

		out_printf(c->out, "%u%c%s%c%s%c%u%c%u%c%u%c%u\n", m->id, s,
			   m->type_name, s, m->name, s, m->key_size, s,
			   m->value_size, s, m->max_entries, s, m->flags);
	}
}

static int
print_list(struct cli *c, const struct bpfleet_maps *maps)
{
	const struct renderer *f = c->opts.format;

	if (f == &render_table || f == &render_wide)
		list_table(c, maps);
	else if (f == &render_json || f == &render_bpftool)
		list_json(c, maps, f == &render_json);
	else if (f == &render_jsonl)
		list_lines(c, maps);
	else if (f == &render_csv || f == &render_tsv)
		list_csv(c, maps, f == &render_csv ? ',' : '\t');
	else
		return cli_usage("list has no output %s", f->name);
	return CLI_OK;
}

int
cmd_list(struct cli *c)
{
	const struct bpfleet_list_opts opts = {
		.sz = sizeof(opts),
		.pins = c->opts.pins || c->opts.format == &render_wide,
	};
	struct bpfleet_maps *maps = NULL;
	struct bpfleet_error err;
	int status;

	if (c->argc)
		return cli_usage("list: unexpected word \"%s\"", c->argv[0]);
	status = cli_open(c);
	if (status)
		return status;
	if (bpfleet_maps_list(&maps, c->b, &opts, &err))
		return cli_fail(&err);
	status = print_list(c, maps);
	bpfleet_maps_free(maps);
	return status;
}

/* ----------------------------------------------------------------- show */

static void
show_table(struct cli *c, const struct bpfleet_map *m)
{
	char fill[48];

	out_printf(c->out, "%u: %s  name %s  flags %#x\n", m->id, m->type_name,
		   m->name[0] ? m->name : "-", m->flags);
	out_printf(c->out, "    key %u B  value %u B  max_entries %u\n",
		   m->key_size, m->value_size, m->max_entries);
	if (m->n_slots > 1)
		out_printf(c->out, "    values per key %u (possible CPUs)\n",
			   m->n_slots);
	if (m->has_memlock)
		out_printf(c->out, "    memlock %" PRIu64 " B\n",
			   m->memlock_bytes);
	if (m->frozen)
		out_str(c->out, "    frozen\n");
	if (m->btf_id)
		out_printf(c->out, "    btf_id %u\n", m->btf_id);
	for (size_t i = 0; i < m->n_pins; i++)
		out_printf(c->out, "    pinned %s\n", m->pins[i]);
	if (m->unreadable[0]) {
		out_printf(c->out, "    cannot be dumped: %s\n", m->unreadable);
	} else {
		fill_words(c, m, fill, sizeof(fill));
		out_printf(c->out, "    entries %s\n", fill);
	}
	for (size_t i = 0; i < m->n_engines; i++)
		out_printf(c->out, "    engine %-6s %s%s%s\n",
			   m->engines[i].name,
			   m->engines[i].usable ? "usable" : "not usable",
			   m->engines[i].why[0] ? ": " : "", m->engines[i].why);
}

static int
show_one(struct cli *c, const struct bpfleet_map *listed)
{
	const struct bpfleet_map_ref ref = {
		.sz = sizeof(ref),
		.id = listed->id,
	};
	struct bpfleet_maps *shown = NULL;
	struct bpfleet_error err;

	if (bpfleet_map_show(&shown, c->b, &ref, &err))
		return cli_fail(&err);
	show_table(c, bpfleet_maps_get(shown, 0));
	bpfleet_maps_free(shown);
	return CLI_OK;
}

int
cmd_show(struct cli *c)
{
	struct bpfleet_maps *maps = NULL;
	struct json j;
	int used = 0, status;

	if (!c->argc) /* as bpftool: show alone lists */
		return cmd_list(c);
	status = cli_find(c, &maps, &used);
	if (!status && used < c->argc)
		status = cli_usage("show: unexpected word \"%s\"",
				   c->argv[used]);
	if (status)
		goto out;
	if (c->opts.format == &render_table || c->opts.format == &render_wide) {
		for (size_t i = 0; i < bpfleet_maps_count(maps) && !status; i++)
			status = show_one(c, bpfleet_maps_get(maps, i));
	} else if (c->opts.format == &render_bpftool &&
		   bpfleet_maps_count(maps) == 1) {
		json_init(&j, c->out, c->opts.pretty);
		map_object(c, &j, bpfleet_maps_get(maps, 0), false);
		out_char(c->out, '\n');
	} else {
		status = print_list(c, maps);
	}
out:
	bpfleet_maps_free(maps);
	return status;
}
