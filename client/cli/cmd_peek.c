// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * cmd_peek - peek: the head of a queue or stack, which stays there
 */
#include "client/cli/cmd.h"

#include <stdio.h>

static int
peek(struct cli *c, const struct bpfleet_map *map,
     const struct bpfleet_map_ref *ref)
{
	const struct renderer *f = c->opts.format;
	const char *why = f->refuse ? f->refuse(map) : NULL;
	struct bpfleet_values *v = NULL;
	struct bpfleet_error err;
	int status = CLI_OK;

	if (why)
		return cli_usage("map id %u: %s", map->id, why);
	if (bpfleet_peek(&v, c->b, ref, &err))
		return cli_fail(&err);
	cli_print_values(c, map, v, NULL, 0);
	if (!v->found[0]) {
		out_flush(c->out);
		fprintf(stderr, "bpfleet: map id %u: it is empty\n", v->map_id);
		status = CLI_NOT_FOUND;
	}
	bpfleet_values_free(v);
	return status;
}

int
cmd_peek(struct cli *c)
{
	struct bpfleet_maps *maps = NULL;
	struct bpfleet_map_ref ref;
	int used = 0, status;

	status = cli_find_one(c, &maps, &ref, &used);
	if (!status && used < c->argc)
		status = cli_usage("peek: unexpected word \"%s\"",
				   c->argv[used]);
	if (!status)
		status = peek(c, bpfleet_maps_get(maps, 0), &ref);
	bpfleet_maps_free(maps);
	return status;
}
