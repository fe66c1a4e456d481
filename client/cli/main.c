// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * main - bpfleet's command line: options and a verb in, exit status out
 */
#include "client/cli/cmd.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPT_EXACT = 256,
	OPT_FAST,
	OPT_ENGINE,
	OPT_PAGE,
	OPT_SHOW,
	OPT_CURSOR,
	OPT_LIMIT,
	OPT_TIMEOUT,
	OPT_CONNECT,
	OPT_FILL,
	OPT_PINS,
};

static const struct {
	struct option option;
	const char *arg;
	const char *words;
} table[] = {
	{{"hosts", required_argument, NULL, 'w'},
	 "ADDRESS",
	 "an agent's address, ipc:///PATH (this machine)"},
	{{"output", required_argument, NULL, 'o'},
	 "FORMAT",
	 "table, wide, json, jsonl, csv, tsv, bpftool or prom"},
	{{"json", no_argument, NULL, 'j'}, "", "as bpftool -j prints it"},
	{{"pretty", no_argument, NULL, 'p'}, "", "as bpftool -p prints it"},
	{{"exact", no_argument, NULL, OPT_EXACT},
	 "",
	 "each key that stays exactly once (default)"},
	{{"fast", no_argument, NULL, OPT_FAST},
	 "",
	 "a faster engine may be used, if there is one"},
	{{"engine", required_argument, NULL, OPT_ENGINE},
	 "NAME",
	 "read with walk or batch (the agent chooses)"},
	{{"page-entries", required_argument, NULL, OPT_PAGE},
	 "N",
	 "dump: entries wanted in a page"},
	{{"show-cursors", no_argument, NULL, OPT_SHOW},
	 "",
	 "dump: tell each page's cursor"},
	{{"cursor", required_argument, NULL, OPT_CURSOR},
	 "HEX|@FILE",
	 "dump: go on after the page with this cursor"},
	{{"limit", required_argument, NULL, OPT_LIMIT},
	 "N",
	 "dump: at most N entries"},
	{{"fill", no_argument, NULL, OPT_FILL},
	 "",
	 "list: count the entries of each map"},
	{{"pins", no_argument, NULL, OPT_PINS}, "", "list: look for pins"},
	{{"timeout", required_argument, NULL, OPT_TIMEOUT},
	 "SECONDS",
	 "for one answer (30)"},
	{{"connect-timeout", required_argument, NULL, OPT_CONNECT},
	 "SECONDS",
	 "for an agent to come back (5)"},
	{{"help", no_argument, NULL, 'h'}, "", "print this"},
	{{"version", no_argument, NULL, 'V'}, "", "print the version"},
};

static int
cmd_version(struct cli *c)
{
	out_printf(c->out, "bpfleet %s\n", bpfleet_version());
	return CLI_OK;
}

static const struct {
	const char *name;
	int (*run)(struct cli *c);
	const char *words;
} commands[] = {
	{"list", cmd_list, "all maps"},
	{"show", cmd_show, "MAP: all about a map, and what can read it"},
	{"dump", cmd_dump, "MAP: its entries"},
	{"lookup", cmd_lookup, "MAP key BYTES...: values of keys"},
	{"peek", cmd_peek, "MAP: the head of a queue or stack"},
	{"hosts", cmd_hosts, "which hosts answer"},
	{"version", cmd_version, "the version of this program"},
};

static void
print_help(void)
{
	printf("Usage: bpfleet [OPTION]... COMMAND [ARGUMENT]...\n"
	       "Reads eBPF maps through an agent.\n\nCommands:\n");
	for (size_t i = 0; i < BF_ARRAY_SIZE(commands); i++)
		printf("  %-10s %s\n", commands[i].name, commands[i].words);
	printf("\nMAP is: id N | name NAME | pinned PATH | id:N | name:GLOB | "
	       "pin:PATH | NAME\nBYTES are: hex 0a 00 00 01 | 10 0 0 1\n\n"
	       "Options:\n");
	for (size_t i = 0; i < BF_ARRAY_SIZE(table); i++) {
		bool brief = table[i].option.val < 256;
		char left[64];

		snprintf(left, sizeof(left), "--%s %s", table[i].option.name,
			 table[i].arg);
		printf("  %c%c %-26s %s\n", brief ? '-' : ' ',
		       brief ? table[i].option.val : ' ', left, table[i].words);
	}
	printf("\nEnvironment: BPFLEET_HOSTS, BPFLEET_TIMEOUT.\n"
	       "Exit status: 0 all answered in full; 1 internal error, or "
	       "output that could not be\n"
	       "written; 2 usage, or a map that cannot be read so; 3 not "
	       "found; 4 denied; 5 some\n"
	       "entries are missing; 6 no agent reached; 130 interrupted.\n");
}

static int
set_address(struct cli *c, const char *word)
{
	if (!strcmp(word, "localhost")) {
		c->opts.address = NULL;
		return -1;
	}
	if (!strncmp(word, "tcp://", 6))
		return cli_usage("%s: tcp needs the secure channel, which "
				 "this version does not have: use ipc:///PATH",
				 word);
	if (strncmp(word, "ipc:///", 7) != 0)
		return cli_usage("host \"%s\": not known: this version reads "
				 "one machine, at ipc:///PATH",
				 word);
	c->opts.address = word;
	return -1;
}

static int
set_format(struct cli *c, const char *word)
{
	c->opts.format = render_by_name(word);
	if (c->opts.format)
		return -1;
	return cli_usage("output \"%s\": not one of table, wide, json, jsonl, "
			 "csv, tsv, bpftool, prom",
			 word);
}

static int
set_number(const char *option, const char *word, uint64_t max, uint64_t *out)
{
	if (!select_number(out, word, 1, max))
		return -1;
	return cli_usage("%s \"%s\": not a number from 1 to %llu", option, word,
			 (unsigned long long)max);
}

/* Options with a number. Returns: -1 go on, else the exit status. */
static int
take_number(struct cli *c, int opt)
{
	uint64_t n = 0;
	int ret;

	switch (opt) {
	case OPT_PAGE:
		ret = set_number("--page-entries", optarg, UINT32_MAX, &n);
		c->opts.page_entries = (uint32_t)n;
		return ret;
	case OPT_LIMIT:
		return set_number("--limit", optarg, UINT64_MAX,
				  &c->opts.limit);
	case OPT_TIMEOUT:
		ret = set_number("--timeout", optarg, 86400, &n);
		c->opts.timeout_ms = (uint32_t)n * 1000;
		return ret;
	default:
		ret = set_number("--connect-timeout", optarg, 86400, &n);
		c->opts.connect_timeout_ms = (uint32_t)n * 1000;
		return ret;
	}
}

static int
take_option(struct cli *c, int opt, const char *word)
{
	switch (opt) {
	case 'w':
		return set_address(c, optarg);
	case 'o':
		return set_format(c, optarg);
	case 'p':
		c->opts.pretty = true;
		c->opts.format = &render_bpftool;
		return -1;
	case 'j':
		c->opts.format = &render_bpftool;
		return -1;
	case OPT_EXACT:
		c->opts.fast = false;
		return -1;
	case OPT_FAST:
		c->opts.fast = true;
		return -1;
	case OPT_ENGINE:
		c->opts.engine = optarg;
		return -1;
	case OPT_SHOW:
		c->opts.show_cursors = true;
		return -1;
	case OPT_CURSOR:
		c->opts.cursor = optarg;
		return -1;
	case OPT_FILL:
		c->opts.fill = true;
		return -1;
	case OPT_PINS:
		c->opts.pins = true;
		return -1;
	case OPT_PAGE:
	case OPT_LIMIT:
	case OPT_TIMEOUT:
	case OPT_CONNECT:
		return take_number(c, opt);
	case 'h':
		print_help();
		return fflush(stdout) ? CLI_INTERNAL : CLI_OK;
	case 'V':
		return cmd_version(c);
	case ':':
		return cli_usage("option %s: it wants an argument", word);
	default:
		return cli_usage("option %s: not known", word);
	}
}

static int
parse_options(struct cli *c, int argc, char **argv)
{
	struct option options[BF_ARRAY_SIZE(table) + 1] = {0};
	int opt, ret = -1;

	for (size_t i = 0; i < BF_ARRAY_SIZE(table); i++)
		options[i] = table[i].option;
	opterr = 0;
	while (ret < 0 && (opt = getopt_long(argc, argv, ":w:o:jphV", options,
					     NULL)) != -1)
		ret = take_option(c, opt, argv[optind - 1]);
	c->argc = argc - optind;
	c->argv = argv + optind;
	return ret;
}

static int
take_environment(struct cli *c)
{
	const char *hosts = getenv("BPFLEET_HOSTS");
	const char *timeout = getenv("BPFLEET_TIMEOUT");
	uint64_t n = 0;
	int ret = -1;

	if (hosts && hosts[0])
		ret = set_address(c, hosts);
	if (ret < 0 && timeout && timeout[0]) {
		ret = set_number("BPFLEET_TIMEOUT", timeout, 86400, &n);
		c->opts.timeout_ms = (uint32_t)n * 1000;
	}
	return ret;
}

static int
run_command(struct cli *c)
{
	const char *verb;

	if (c->argc && !strcmp(c->argv[0], "map")) {
		c->argc--;
		c->argv++;
	}
	if (!c->argc)
		return cli_usage("which command?");
	verb = c->argv[0];
	c->argc--;
	c->argv++;
	for (size_t i = 0; i < BF_ARRAY_SIZE(commands); i++)
		if (!strcmp(commands[i].name, verb))
			return commands[i].run(c);
	if (!strcmp(verb, "help")) {
		print_help();
		return CLI_OK;
	}
	for (size_t i = 0; i < BF_ARRAY_SIZE(commands); i++)
		if (verb[0] && commands[i].name[0] == verb[0])
			return cli_usage("command \"%s\": not known; did you "
					 "mean %s?",
					 verb, commands[i].name);
	return cli_usage("command \"%s\": not known", verb);
}

int
main(int argc, char **argv)
{
	static struct out out;
	struct cli c = {.out = &out, .opts.format = &render_table};
	int status;

	status = take_environment(&c);
	if (status < 0)
		status = parse_options(&c, argc, argv);
	if (status < 0)
		status = run_command(&c);
	out_flush(&out);
	if (out.error) {
		fprintf(stderr, "bpfleet: cannot write output: %s\n",
			strerror(out.error));
		status = CLI_INTERNAL;
	} else if (cli_interrupted()) {
		status = CLI_INTERRUPTED;
	}
	bpfleet_close(c.b);
	return status;
}
