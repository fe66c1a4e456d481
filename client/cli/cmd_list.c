// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * cmd_list - list: all maps there are
 */
#include "client/cli/cmd.h"

#include <stdlib.h>
#include <string.h>

static int
print_all(struct cli *c, const struct bpfleet_maps *list)
{
	size_t n = bpfleet_maps_count(list);
	const struct bpfleet_map **maps = calloc(n + 1, sizeof(*maps));
	int status;

	if (!maps) {
		cli_note("out of memory");
		return CLI_INTERNAL;
	}
	for (size_t i = 0; i < n; i++)
		maps[i] = bpfleet_maps_get(list, i);
	status = cli_print_maps(c, maps, n);
	free(maps);
	return status;
}

int
cmd_list(struct cli *c)
{
	const struct bpfleet_list_opts opts = {
		.sz = sizeof(opts),
		.pins = c->opts.pins || c->opts.format == &render_wide,
	};
	struct bpfleet_maps *list = NULL;
	struct bpfleet_error err;
	int status;

	if (c->argc)
		return cli_usage("list: unexpected word \"%s\"", c->argv[0]);
	status = cli_open(c);
	if (status)
		return status;
	if (bpfleet_maps_list(&list, c->b, &opts, &err))
		return cli_fail(&err);
	if (strcmp(bpfleet_maps_limits(list), bpfleet_host_get(c->b)->limits) !=
	    0)
		cli_note("%s", bpfleet_maps_limits(list));
	status = print_all(c, list);
	bpfleet_maps_free(list);
	return status;
}
