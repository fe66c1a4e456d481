// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * print_maps - maps without their entries, in every format of list and show
 */
#include "client/cli/cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static bool
can_count(const struct bpfleet_map *m)
{
	return !m->unreadable[0] && !m->error;
}

/* Counts, and tells why if it cannot. */
static int
count(struct cli *c, const struct bpfleet_map *m, uint64_t *n, int *coherence)
{
	struct bpfleet_error err = {0};
	int ret = cli_count(c, m, n, coherence, &err);

	if (ret && ret != -EINTR)
		cli_note("map id %u: entries not counted: %s", m->id,
			 err.message);
	return ret;
}

void
cli_fill_words(struct cli *c, const struct bpfleet_map *m,
	       char buf[CLI_FILL_MAX])
{
	const char *mark = "";
	int coherence;
	uint64_t n;

	if (!can_count(m)) {
		snprintf(buf, CLI_FILL_MAX, "-");
		return;
	}
	if (count(c, m, &n, &coherence)) {
		snprintf(buf, CLI_FILL_MAX, "?");
		return;
	}
	if (coherence == BPFLEET_INCOMPLETE)
		mark = ">=";
	else if (coherence != BPFLEET_EXACT)
		mark = "~";
	snprintf(buf, CLI_FILL_MAX, "%s%" PRIu64 " (%.0f%%)", mark, n,
		 m->max_entries ? 100.0 * (double)n / m->max_entries : 0.0);
}

static void
table_row(struct cli *c, const struct bpfleet_map *m, bool wide)
{
	char fill[CLI_FILL_MAX];

	out_printf(c->out, "%-8u %-20.64s ", m->id, m->type_name);
	/* The kernel allows names of plain characters; a peer may not. */
	out_text(c->out, m->name[0] ? m->name : "-");
	for (size_t n = m->name[0] ? strnlen(m->name, 16) : 1; n < 16; n++)
		out_char(c->out, ' ');
	out_printf(c->out, " %6u %8u %10u %#7x %12" PRIu64 " ", m->key_size,
		   m->value_size, m->max_entries, m->flags, m->memlock_bytes);
	if (c->opts.fill) {
		cli_fill_words(c, m, fill);
		out_printf(c->out, "%-13s ", fill);
	}
	out_str(c->out, m->unreadable[0] ? "no" : "yes");
	if (wide && m->unreadable[0]) {
		out_str(c->out, " (");
		out_text(c->out, m->unreadable);
		out_char(c->out, ')');
	}
	for (size_t p = 0; (wide || c->opts.pins) && p < m->n_pins; p++) {
		out_str(c->out, p ? "," : "  ");
		out_text(c->out, m->pins[p]);
	}
	out_char(c->out, '\n');
}

static void
list_table(struct cli *c, const struct bpfleet_map *const *maps, size_t n)
{
	bool wide = c->opts.format == &render_wide;

	out_printf(c->out, "%-8s %-20s %-16s %6s %8s %10s %7s %12s %s%s%s\n",
		   "ID", "TYPE", "NAME", "KEY", "VALUE", "MAX", "FLAGS",
		   "MEMLOCK", c->opts.fill ? "FILL          " : "", "DUMP",
		   wide || c->opts.pins ? "  PINS" : "");
	for (size_t i = 0; i < n; i++) {
		if (maps[i]->error)
			out_printf(c->out, "%-8u %s\n", maps[i]->id,
				   bpfleet_strerror(maps[i]->error));
		else
			table_row(c, maps[i], wide);
	}
}

/* The members of a map in our own JSON, into an open object. */
static void
native_members(struct cli *c, struct json *j, const struct bpfleet_map *m)
{
	int coherence;
	uint64_t n;

	render_map_members(j, m, true);
	if (!c->opts.fill || !can_count(m))
		return;
	json_name(j, "entries");
	if (count(c, m, &n, &coherence)) {
		json_null(j);
		return;
	}
	json_exact(j, n);
	json_name(j, "coherence");
	json_string(j, bpfleet_coherence_str(coherence));
}

static void
list_native(struct cli *c, const struct bpfleet_map *const *maps, size_t n)
{
	struct json j;

	json_init(&j, c->out, c->opts.pretty);
	json_open(&j, '{');
	json_name(&j, "hosts");
	json_open(&j, '[');
	json_open(&j, '{');
	json_name(&j, "host");
	json_string(&j, bpfleet_host_get(c->b)->name);
	json_name(&j, "status");
	json_string(&j, "ok");
	json_name(&j, "error");
	json_string(&j, "");
	json_name(&j, "code");
	json_uint(&j, 0);
	json_name(&j, "latency_ms");
	json_ms(&j, bpfleet_host_get(c->b)->latency_ns);
	json_name(&j, "maps");
	json_open(&j, '[');
	for (size_t i = 0; i < n; i++) {
		json_open(&j, '{');
		native_members(c, &j, maps[i]);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	json_close(&j, '}');
	json_close(&j, ']');
	json_name(&j, "summary");
	json_open(&j, '{');
	json_name(&j, "maps");
	json_uint(&j, n);
	json_close(&j, '}');
	json_close(&j, '}');
	out_char(c->out, '\n');
}

static void
list_bpftool(struct cli *c, const struct bpfleet_map *const *maps, size_t n)
{
	struct json j;

	json_init(&j, c->out, c->opts.pretty);
	json_open(&j, '[');
	for (size_t i = 0; i < n; i++) {
		if (maps[i]->error) {
			cli_note("map id %u: left out: %s", maps[i]->id,
				 bpfleet_strerror(maps[i]->error));
			continue;
		}
		json_open(&j, '{');
		render_map_members(&j, maps[i], false);
		json_close(&j, '}');
	}
	json_close(&j, ']');
	out_char(c->out, '\n');
}

static void
list_lines(struct cli *c, const struct bpfleet_map *const *maps, size_t n)
{
	struct json j;

	for (size_t i = 0; i < n; i++) {
		json_init(&j, c->out, false);
		json_open(&j, '{');
		json_name(&j, "host");
		json_string(&j, bpfleet_host_get(c->b)->name);
		native_members(c, &j, maps[i]);
		json_close(&j, '}');
		out_char(c->out, '\n');
	}
}

static void
list_csv(struct cli *c, const struct bpfleet_map *const *maps, size_t n, char s)
{
	out_printf(c->out,
		   "id%ctype%cname%ckey_size%cvalue_size%cmax_entries%cflags%c"
		   "memlock%s\n",
		   s, s, s, s, s, s, s,
		   !c->opts.fill ? ""
		   : s == ','	 ? ",entries"
				 : "\tentries");
	for (size_t i = 0; i < n; i++) {
		const struct bpfleet_map *m = maps[i];
		uint64_t entries;
		int coherence;

		out_printf(c->out, "%u%c", m->id, s);
		render_csv_text(c->out, m->type_name, s);
		out_char(c->out, s);
		render_csv_text(c->out, m->name, s);
		out_printf(c->out, "%c%u%c%u%c%u%c%u%c%" PRIu64, s, m->key_size,
			   s, m->value_size, s, m->max_entries, s, m->flags, s,
			   m->memlock_bytes);
		if (c->opts.fill)
			out_char(c->out, s);
		if (c->opts.fill && can_count(m) &&
		    !count(c, m, &entries, &coherence))
			out_uint(c->out, entries);
		out_char(c->out, '\n');
	}
}

int
cli_print_maps(struct cli *c, const struct bpfleet_map *const *maps, size_t n)
{
	const struct renderer *f = c->opts.format;

	if (f == &render_table || f == &render_wide)
		list_table(c, maps, n);
	else if (f == &render_json)
		list_native(c, maps, n);
	else if (f == &render_bpftool)
		list_bpftool(c, maps, n);
	else if (f == &render_jsonl)
		list_lines(c, maps, n);
	else if (f == &render_csv || f == &render_tsv)
		list_csv(c, maps, n, f == &render_csv ? ',' : '\t');
	else
		return cli_usage("list and show have no output %s", f->name);
	return CLI_OK;
}
