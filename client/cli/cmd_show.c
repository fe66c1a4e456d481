// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * cmd_show - show: all about a map, its entries and what can read it
 */
#include "client/cli/cmd.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

static void
show_entries(struct cli *c, const struct bpfleet_map *m)
{
	if (m->unreadable[0]) {
		out_str(c->out, "    cannot be dumped: ");
		out_text(c->out, m->unreadable);
	} else {
		char fill[CLI_FILL_MAX];

		cli_fill_words(c, m, fill);
		out_printf(c->out, "    entries %s", fill);
	}
	out_char(c->out, '\n');
}

static void
show_engines(struct cli *c, const struct bpfleet_map *m)
{
	for (size_t i = 0; i < m->n_engines; i++) {
		const struct bpfleet_engine *e = &m->engines[i];

		out_str(c->out, "    engine ");
		out_text(c->out, e->name);
		out_str(c->out, e->usable ? "  usable" : "  not usable");
		out_str(c->out, e->why[0] ? ": " : "");
		out_text(c->out, e->why);
		out_char(c->out, '\n');
	}
}

static void
show_owner(struct cli *c, const struct bpfleet_map *m)
{
	const char *type = render_prog_type(m->owner_prog_type);

	if (type)
		out_printf(c->out, "    owner_prog_type %s", type);
	else
		out_printf(c->out, "    owner_prog_type %u",
			   m->owner_prog_type);
	out_str(c->out, m->owner_jited ? "  jited\n" : "\n");
}

static void
show_table(struct cli *c, const struct bpfleet_map *m)
{
	out_printf(c->out, "%u: ", m->id);
	out_text(c->out, m->type_name);
	out_str(c->out, "  name ");
	out_text(c->out, m->name[0] ? m->name : "-");
	out_printf(c->out, "  flags %#x\n", m->flags);
	out_printf(c->out, "    key %u B  value %u B  max_entries %u\n",
		   m->key_size, m->value_size, m->max_entries);
	if (m->n_slots > 1)
		out_printf(c->out, "    values per key %u (possible CPUs)\n",
			   m->n_slots);
	if (m->has_memlock)
		out_printf(c->out, "    memlock %" PRIu64 " B\n",
			   m->memlock_bytes);
	if (m->map_extra)
		out_printf(c->out, "    map_extra %#" PRIx64 "\n",
			   m->map_extra);
	if (m->ifindex)
		out_printf(c->out, "    offloaded to ifindex %u\n", m->ifindex);
	if (m->has_owner)
		show_owner(c, m);
	if (m->frozen)
		out_str(c->out, "    frozen\n");
	if (m->btf_id)
		out_printf(c->out,
			   "    btf_id %u  key type %u  value type %u\n",
			   m->btf_id, m->btf_key_type_id, m->btf_value_type_id);
	for (size_t i = 0; i < m->n_pins; i++) {
		out_str(c->out, "    pinned ");
		out_text(c->out, m->pins[i]);
		out_char(c->out, '\n');
	}
	show_entries(c, m);
	show_engines(c, m);
}

static int
print_shown(struct cli *c, const struct bpfleet_map *const *maps, size_t n,
	    bool bare)
{
	const struct renderer *f = c->opts.format;
	struct json j;

	if (f == &render_table || f == &render_wide) {
		for (size_t i = 0; i < n; i++)
			show_table(c, maps[i]);
	} else if (f == &render_bpftool && bare) {
		json_init(&j, c->out, c->opts.pretty);
		json_open(&j, '{');
		render_map_members(&j, maps[0], false);
		json_close(&j, '}');
		out_char(c->out, '\n');
	} else {
		return cli_print_maps(c, maps, n);
	}
	return CLI_OK;
}

/* Asks again for each map: only then pins and engines are told. */
static int
show(struct cli *c, const struct bpfleet_maps *found)
{
	size_t n = bpfleet_maps_count(found), shown = 0;
	struct bpfleet_maps **lists = calloc(n + 1, sizeof(*lists));
	const struct bpfleet_map **maps = calloc(n + 1, sizeof(*maps));
	struct bpfleet_error err = {.code = ENOMEM, .message = "out of memory"};
	int status = CLI_OK, printed;

	if (!lists || !maps) {
		status = cli_fail(&err);
		goto out;
	}
	for (size_t i = 0; i < n; i++) {
		const struct bpfleet_map_ref ref = {
			.sz = sizeof(ref),
			.id = bpfleet_maps_get(found, i)->id,
		};

		if (bpfleet_map_show(&lists[shown], c->b, &ref, &err))
			status = cli_fail(&err);
		else
			shown++;
	}
	for (size_t i = 0; i < shown; i++)
		maps[i] = bpfleet_maps_get(lists[i], 0);
	if (!shown)
		goto out;
	printed = print_shown(c, maps, shown, n == 1);
	status = printed ? printed : status ? CLI_PARTIAL : CLI_OK;
out:
	for (size_t i = 0; lists && i < shown; i++)
		bpfleet_maps_free(lists[i]);
	free(lists);
	free(maps);
	return status;
}

int
cmd_show(struct cli *c)
{
	struct bpfleet_maps *found = NULL;
	int used = 0, status;

	if (!c->argc) /* as bpftool: show alone lists */
		return cmd_list(c);
	c->opts.fill = true;
	status = cli_find(c, &found, &used);
	if (!status && used < c->argc)
		status = cli_usage("show: unexpected word \"%s\"",
				   c->argv[used]);
	if (!status)
		status = show(c, found);
	bpfleet_maps_free(found);
	return status;
}
