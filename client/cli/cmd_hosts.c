// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * cmd_hosts - which hosts answer, and with what: for now this machine
 */
#include "client/cli/cmd.h"

int
cmd_hosts(struct cli *c)
{
	const struct bpfleet_host *h;
	struct bpfleet_maps *maps = NULL;
	struct bpfleet_error err;
	struct json j;
	int status;

	if (c->argc)
		return cli_usage("hosts: unexpected word \"%s\"", c->argv[0]);
	status = cli_open(c);
	if (status)
		return status;
	if (bpfleet_maps_list(&maps, c->b, NULL, &err))
		return cli_fail(&err);
	h = bpfleet_host_get(c->b);
	if (c->opts.format == &render_table || c->opts.format == &render_wide) {
		out_printf(c->out, "%-24s %-8s %-16s %-24s %5s %6s %s\n",
			   "HOST", "STATUS", "AGENT", "KERNEL", "CPUS", "MAPS",
			   "LATENCY");
		out_printf(
			c->out, "%-24s %-8s %-16s %-24s %5u %6zu %.3f ms%s\n",
			h->name, "ok", h->agent, h->kernel, h->n_possible_cpus,
			bpfleet_maps_count(maps), (double)h->latency_ns / 1e6,
			h->private_agent ? " (private agent)" : "");
	} else {
		json_init(&j, c->out, c->opts.pretty);
		json_open(&j, '{');
		json_name(&j, "hosts");
		json_open(&j, '[');
		json_open(&j, '{');
		json_name(&j, "host");
		json_string(&j, h->name);
		json_name(&j, "status");
		json_string(&j, "ok");
		json_name(&j, "agent");
		json_string(&j, h->agent);
		json_name(&j, "kernel");
		json_string(&j, h->kernel);
		json_name(&j, "possible_cpus");
		json_uint(&j, h->n_possible_cpus);
		json_name(&j, "maps");
		json_uint(&j, bpfleet_maps_count(maps));
		json_name(&j, "latency_ms");
		json_ms(&j, h->latency_ns);
		json_close(&j, '}');
		json_close(&j, ']');
		json_close(&j, '}');
		out_char(c->out, '\n');
	}
	bpfleet_maps_free(maps);
	return CLI_OK;
}
