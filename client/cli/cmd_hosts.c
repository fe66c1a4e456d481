// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * cmd_hosts - which hosts answer, and with what: for now one machine
 *
 * A host that does not answer is a row with its status, never left out.
 */
#include "client/cli/cmd.h"

struct host_row {
	const char *name, *status, *agent, *kernel;
	const struct bpfleet_host *host; /* NULL: it did not answer */
	const struct bpfleet_error *err; /* code 0: it did, and well */
	size_t n_maps;
};

static void
text_cell(struct out *o, const char *s, size_t width)
{
	size_t n = 0;

	out_text(o, s);
	while (s[n])
		n++;
	for (; n < width; n++)
		out_char(o, ' ');
	out_char(o, ' ');
}

static void
hosts_table(struct cli *c, const struct host_row *h)
{
	out_printf(c->out, "%-24s %-11s %-16s %-24s %5s %6s %s\n", "HOST",
		   "STATUS", "AGENT", "KERNEL", "CPUS", "MAPS", "LATENCY");
	text_cell(c->out, h->name, 24);
	text_cell(c->out, h->status, 11);
	text_cell(c->out, h->agent, 16);
	text_cell(c->out, h->kernel, 24);
	if (!h->host) {
		out_printf(c->out, "%5s %6s -\n", "-", "-");
		return;
	}
	out_printf(c->out, "%5u %6zu %.3f ms%s\n", h->host->n_possible_cpus,
		   h->n_maps, (double)h->host->latency_ns / 1e6,
		   h->host->private_agent ? " (private agent)" : "");
}

static void
host_object(struct json *j, const struct host_row *h)
{
	json_open(j, '{');
	json_name(j, "host");
	json_string(j, h->name);
	json_name(j, "status");
	json_string(j, h->status);
	json_name(j, "error");
	json_string(j, h->err->message);
	json_name(j, "code");
	json_uint(j, (uint64_t)h->err->code);
	if (h->host) {
		json_name(j, "agent");
		json_string(j, h->agent);
		json_name(j, "kernel");
		json_string(j, h->kernel);
		json_name(j, "possible_cpus");
		json_uint(j, h->host->n_possible_cpus);
		json_name(j, "maps");
		json_uint(j, h->n_maps);
		json_name(j, "latency_ms");
		json_ms(j, h->host->latency_ns);
	}
	json_close(j, '}');
}

static void
hosts_json(struct cli *c, const struct host_row *h)
{
	struct json j;

	json_init(&j, c->out, c->opts.pretty);
	json_open(&j, '{');
	json_name(&j, "hosts");
	json_open(&j, '[');
	host_object(&j, h);
	json_close(&j, ']');
	json_name(&j, "summary");
	json_open(&j, '{');
	json_name(&j, "hosts");
	json_uint(&j, 1);
	json_name(&j, "failed");
	json_uint(&j, h->err->code ? 1 : 0);
	json_close(&j, '}');
	json_close(&j, '}');
	out_char(c->out, '\n');
}

static void
hosts_line(struct cli *c, const struct host_row *h)
{
	struct json j;

	json_init(&j, c->out, false);
	host_object(&j, h);
	out_char(c->out, '\n');
}

static void
hosts_csv(struct cli *c, const struct host_row *h, char s)
{
	const char *const words[] = {h->name, h->status, h->agent, h->kernel};

	out_printf(c->out,
		   "host%cstatus%cagent%ckernel%cpossible_cpus%cmaps%c"
		   "latency_ms\n",
		   s, s, s, s, s, s);
	for (size_t i = 0; i < BF_ARRAY_SIZE(words); i++) {
		render_csv_text(c->out, words[i], s);
		out_char(c->out, s);
	}
	if (h->host)
		out_printf(c->out, "%u%c%zu%c%.3f\n", h->host->n_possible_cpus,
			   s, h->n_maps, s, (double)h->host->latency_ns / 1e6);
	else
		out_printf(c->out, "%c%c\n", s, s);
}

/* Asks the host; what went wrong is in err, whose code is 0 before. */
static void
ask(struct cli *c, struct host_row *h, struct bpfleet_error *err)
{
	struct bpfleet_maps *maps = NULL;

	if (cli_connect(c, err))
		return;
	h->host = bpfleet_host_get(c->b);
	h->name = h->host->name;
	h->agent = h->host->agent;
	h->kernel = h->host->kernel;
	if (!bpfleet_maps_list(&maps, c->b, NULL, err)) {
		h->n_maps = bpfleet_maps_count(maps);
		bpfleet_maps_free(maps);
	}
}

int
cmd_hosts(struct cli *c)
{
	const struct renderer *f = c->opts.format;
	struct bpfleet_error err = {0};
	struct host_row h = {
		.name = c->opts.address ? c->opts.address : "localhost",
		.agent = "-",
		.kernel = "-",
		.err = &err,
	};

	if (c->argc)
		return cli_usage("hosts: unexpected word \"%s\"", c->argv[0]);
	if (f == &render_bpftool || f == &render_prom)
		return cli_usage("hosts has no output %s; try -o json",
				 f->name);
	ask(c, &h, &err);
	h.status = render_status(err.code, 0);
	if (f == &render_json)
		hosts_json(c, &h);
	else if (f == &render_jsonl)
		hosts_line(c, &h);
	else if (f == &render_csv || f == &render_tsv)
		hosts_csv(c, &h, f == &render_csv ? ',' : '\t');
	else
		hosts_table(c, &h);
	out_flush(c->out);
	return err.code ? cli_fail(&err) : CLI_OK;
}
