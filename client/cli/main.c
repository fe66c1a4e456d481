// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * main - bpfleet's command line: options and a verb in, exit status out
 */
#include "client/cli/cmd.h"
#include "common/log.h"
#include "common/nearest.h"

#include <getopt.h>
#include <signal.h>
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
	OPT_KEY,
	OPT_KNOWN,
	OPT_TRUST,
};

static const struct {
	struct option option;
	const char *arg;
	const char *only; /* verbs it is for; NULL: all */
	const char *words;
} table[] = {
	{{"hosts", required_argument, NULL, 'w'},
	 "ADDRESS",
	 NULL,
	 "an agent: tcp://HOST:PORT, ipc:///PATH, or localhost"},
	{{"output", required_argument, NULL, 'o'},
	 "FORMAT",
	 NULL,
	 "table, wide, json, jsonl, csv, tsv, bpftool, prom"},
	{{"json", no_argument, NULL, 'j'}, "", NULL, "as bpftool -j prints it"},
	{{"pretty", no_argument, NULL, 'p'},
	 "",
	 NULL,
	 "as bpftool -p prints it"},
	{{"exact", no_argument, NULL, OPT_EXACT},
	 "",
	 NULL,
	 "each key that stays exactly once (default)"},
	{{"fast", no_argument, NULL, OPT_FAST},
	 "",
	 NULL,
	 "a faster engine may be used, if there is one"},
	{{"engine", required_argument, NULL, OPT_ENGINE},
	 "NAME",
	 "dump",
	 "read with walk or batch (the agent chooses)"},
	{{"page-entries", required_argument, NULL, OPT_PAGE},
	 "N",
	 "dump",
	 "entries wanted in a page"},
	{{"show-cursors", no_argument, NULL, OPT_SHOW},
	 "",
	 "dump",
	 "tell each page's cursor"},
	{{"cursor", required_argument, NULL, OPT_CURSOR},
	 "HEX|@FILE",
	 "dump",
	 "go on after the page with this cursor"},
	{{"limit", required_argument, NULL, OPT_LIMIT},
	 "N",
	 "dump",
	 "at most N entries"},
	{{"fill", no_argument, NULL, OPT_FILL},
	 "",
	 "list show",
	 "count the entries of each map"},
	{{"pins", no_argument, NULL, OPT_PINS},
	 "",
	 "list show",
	 "look for pins"},
	{{"timeout", required_argument, NULL, OPT_TIMEOUT},
	 "SECONDS",
	 NULL,
	 "for one answer (30)"},
	{{"connect-timeout", required_argument, NULL, OPT_CONNECT},
	 "SECONDS",
	 NULL,
	 "for an agent to come back (5)"},
	{{"key", required_argument, NULL, OPT_KEY},
	 "FILE",
	 NULL,
	 "our private key, for tcp"},
	{{"known-agents", required_argument, NULL, OPT_KNOWN},
	 "FILE",
	 NULL,
	 "which key each agent must have"},
	{{"trust", no_argument, NULL, OPT_TRUST},
	 "",
	 "hosts",
	 "believe an agent that is not known, and add it"},
	{{"help", no_argument, NULL, 'h'}, "", NULL, "print this"},
	{{"version", no_argument, NULL, 'V'}, "", NULL, "print the version"},
};

static int
cmd_version(struct cli *c)
{
	if (c->argc)
		return cli_usage("version: unexpected word \"%s\"", c->argv[0]);
	out_printf(c->out, "bpfleet %s\n", bpfleet_version());
	return CLI_OK;
}

/* help: the words after the verb, a tab, what it does. */
static const struct command {
	const char *name;
	int (*run)(struct cli *c);
	const char *help;
} commands[] = {
	{"list", cmd_list, "\tall maps"},
	{"show", cmd_show, "[MAP]\tall about a map, and what can read it"},
	{"dump", cmd_dump, "MAP\tits entries"},
	{"lookup", cmd_lookup, "MAP key BYTES [key BYTES]...\tvalues of keys"},
	{"peek", cmd_peek, "MAP\tthe head of a queue or stack"},
	{"hosts", cmd_hosts, "\twhich hosts answer"},
	{"genkey", cmd_genkey, "\ta new private key"},
	{"pubkey", cmd_pubkey, "\tthe public key of the private one on stdin"},
	{"version", cmd_version, "\tthe version of this program"},
};

static const struct command *
find_command(const char *verb)
{
	for (size_t i = 0; i < BF_ARRAY_SIZE(commands); i++)
		if (!strcmp(commands[i].name, verb))
			return &commands[i];
	return NULL;
}

/* Is the verb one of the words in only? */
static bool
is_for(const char *only, const char *verb)
{
	size_t n = strlen(verb);
	const char *at = only ? strstr(only, verb) : NULL;

	return !only || (at && (at[n] == ' ' || !at[n]));
}

static void
help_command(struct out *o, const struct command *k)
{
	size_t n = strcspn(k->help, "\t");

	out_printf(o, "  %-6s %-*.*s %s\n", k->name, 30, (int)n, k->help,
		   k->help + n + 1);
}

/* All options, or those for one verb. */
static void
help_options(struct out *o, const struct command *only)
{
	out_str(o, "\nOptions:\n");
	for (size_t i = 0; i < BF_ARRAY_SIZE(table); i++) {
		bool brief = table[i].option.val < 256;
		char left[64];

		if (only && !is_for(table[i].only, only->name))
			continue;
		snprintf(left, sizeof(left), "--%s %s", table[i].option.name,
			 table[i].arg);
		out_printf(o, "  %c%c %-26s %s%s%s\n", brief ? '-' : ' ',
			   brief ? table[i].option.val : ' ', left,
			   !only && table[i].only ? table[i].only : "",
			   !only && table[i].only ? ": " : "", table[i].words);
	}
}

static int
print_help(struct out *o, const struct command *k)
{
	if (k) {
		size_t n = strcspn(k->help, "\t");

		out_printf(o,
			   "Usage: bpfleet [OPTION]... %s%s%.*s\nPrints %s.\n",
			   k->name, n ? " " : "", (int)n, k->help,
			   k->help + n + 1);
	} else {
		out_str(o, "Usage: bpfleet [OPTION]... COMMAND [ARGUMENT]...\n"
			   "Reads eBPF maps through an agent.\n\nCommands:\n");
		for (size_t i = 0; i < BF_ARRAY_SIZE(commands); i++)
			help_command(o, &commands[i]);
	}
	out_str(o, "\nMAP is: id N | name NAME | pinned PATH | id:N | "
		   "name:GLOB | pin:PATH | NAME\nBYTES are: hex 0a 00 00 01 | "
		   "10 0 0 1; for a bloom filter: value BYTES\n");
	help_options(o, k);
	out_str(o,
		"\nEnvironment: BPFLEET_HOSTS, BPFLEET_TIMEOUT, BPFLEET_KEY, "
		"BPFLEET_KNOWN_AGENTS.\n"
		"Exit status:\n"
		"  0    all answered in full\n"
		"  1    internal error, agent too busy, reply too big, or "
		"output not written\n"
		"  2    usage, a wrong cursor or key length, or a map that "
		"cannot be read so\n"
		"  3    not found, or a queue is empty\n"
		"  4    denied, or the agent lacks a capability\n"
		"  5    some entries are missing\n"
		"  6    no agent reached, none in time, or of another version\n"
		"  130  interrupted; what had arrived is printed\n");
	return CLI_OK;
}

static int
set_address(struct cli *c, const char *word)
{
	if (strchr(word, ',') ||
	    (strchr(word, '[') && strncmp(word, "tcp://[", 7) != 0))
		return cli_usage("hosts \"%s\": one host for now", word);
	if (!strcmp(word, "localhost")) {
		c->opts.address = NULL;
		return -1;
	}
	if (strncmp(word, "ipc:///", 7) != 0 && strncmp(word, "tcp://", 6) != 0)
		return cli_usage("host \"%s\": not known: this version reads "
				 "one machine, at tcp://HOST:PORT or "
				 "ipc:///PATH",
				 word);
	c->opts.address = word;
	return -1;
}

/* From the command line: once, and it wins over the environment. */
static int
take_address(struct cli *c, bool again)
{
	if (again)
		return cli_usage("-w \"%s\": a second one; one host for now",
				 optarg);
	return set_address(c, optarg);
}

static int
set_format(struct cli *c, const char *word)
{
	static const char *const names[] = {"table", "wide", "json",	"jsonl",
					    "csv",   "tsv",  "bpftool", "prom"};
	const char *like;

	c->opts.format = render_by_name(word);
	if (c->opts.format)
		return -1;
	like = bf_nearest_word(word, names, BF_ARRAY_SIZE(names));
	if (like)
		return cli_usage("output \"%s\": not known; did you mean %s?",
				 word, like);
	return cli_usage("output \"%s\": not one of table, wide, json, jsonl, "
			 "csv, tsv, bpftool, prom",
			 word);
}

static int
set_engine(struct cli *c, const char *word)
{
	if (strcmp(word, "walk") != 0 && strcmp(word, "batch") != 0)
		return cli_usage("engine \"%s\": not one of walk, batch", word);
	c->opts.engine = word;
	return -1;
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

/* Names the option that getopt did not know, and the nearest. */
static int
unknown_option(const char *word)
{
	const char *names[BF_ARRAY_SIZE(table)], *like = NULL;

	for (size_t i = 0; i < BF_ARRAY_SIZE(table); i++)
		names[i] = table[i].option.name;
	if (optopt >= '0' && optopt <= '9')
		return cli_usage("%s: a byte is a number from 0 to 255", word);
	if (optopt && strncmp(word, "--", 2) != 0)
		return cli_usage("option -%c: not known", optopt);
	if (optopt)
		return cli_usage("option %s: it takes no argument", word);
	if (!strncmp(word, "--", 2))
		like = bf_nearest_word(word + 2, names, BF_ARRAY_SIZE(table));
	return like ? cli_usage("option %s: not known; did you mean --%s?",
				word, like)
		    : cli_usage("option %s: not known", word);
}

static int
take_option(struct cli *c, int opt, const char *word)
{
	switch (opt) {
	case 'o':
		return set_format(c, optarg);
	case 'p':
	case 'j':
		c->opts.pretty |= opt == 'p';
		c->opts.format = &render_bpftool;
		return -1;
	case OPT_EXACT:
	case OPT_FAST:
		c->opts.fast = opt == OPT_FAST;
		return -1;
	case OPT_ENGINE:
		return set_engine(c, optarg);
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
	case OPT_KEY:
		c->opts.key = optarg;
		return -1;
	case OPT_KNOWN:
		c->opts.known_agents = optarg;
		return -1;
	case OPT_TRUST:
		c->opts.trust = true;
		return -1;
	case OPT_PAGE:
	case OPT_LIMIT:
	case OPT_TIMEOUT:
	case OPT_CONNECT:
		return take_number(c, opt);
	case 'V':
		c->argc = 0;
		return cmd_version(c);
	case ':':
		return cli_usage("option %s: it wants an argument", word);
	default:
		return unknown_option(word);
	}
}

static uint64_t
option_bit(int opt)
{
	for (size_t i = 0; i < BF_ARRAY_SIZE(table); i++)
		if (table[i].option.val == opt)
			return 1ull << i;
	return 0;
}

/* Returns: -1 go on, else the exit status; *seen has a bit per option. */
static int
parse_options(struct cli *c, int argc, char **argv, uint64_t *seen)
{
	struct option options[BF_ARRAY_SIZE(table) + 1] = {0};
	int opt, ret = -1;

	for (size_t i = 0; i < BF_ARRAY_SIZE(table); i++)
		options[i] = table[i].option;
	opterr = 0;
	while (ret < 0 && (opt = getopt_long(argc, argv, ":w:o:jphV", options,
					     NULL)) != -1) {
		if (opt == 'w')
			ret = take_address(c, *seen & option_bit('w'));
		else if (opt != 'h')
			ret = take_option(c, opt, argv[optind - 1]);
		*seen |= option_bit(opt);
	}
	c->argc = argc - optind;
	c->argv = argv + optind;
	return ret;
}

/* What the command line has not said. */
static int
take_environment(struct cli *c, uint64_t seen)
{
	const char *hosts = getenv("BPFLEET_HOSTS");
	const char *timeout = getenv("BPFLEET_TIMEOUT");
	uint64_t n = 0;
	int ret = -1;

	if (!c->opts.key)
		c->opts.key = getenv("BPFLEET_KEY");
	if (!c->opts.known_agents)
		c->opts.known_agents = getenv("BPFLEET_KNOWN_AGENTS");

	if (hosts && hosts[0] && !(seen & option_bit('w')))
		ret = set_address(c, hosts);
	if (ret < 0 && timeout && timeout[0] &&
	    !(seen & option_bit(OPT_TIMEOUT))) {
		ret = set_number("BPFLEET_TIMEOUT", timeout, 86400, &n);
		c->opts.timeout_ms = (uint32_t)n * 1000;
	}
	return ret;
}

static int
unknown_command(const char *verb)
{
	const char *names[BF_ARRAY_SIZE(commands)], *like;

	for (size_t i = 0; i < BF_ARRAY_SIZE(commands); i++)
		names[i] = commands[i].name;
	like = bf_nearest_word(verb, names, BF_ARRAY_SIZE(names));
	return like ? cli_usage("command \"%s\": not known; did you mean %s?",
				verb, like)
		    : cli_usage("command \"%s\": not known", verb);
}

/* Options that say nothing to this verb are mistakes. */
static int
check_options(const struct command *k, uint64_t seen)
{
	for (size_t i = 0; i < BF_ARRAY_SIZE(table); i++)
		if ((seen >> i & 1) && !is_for(table[i].only, k->name))
			return cli_usage("option --%s: not for %s, but for %s",
					 table[i].option.name, k->name,
					 table[i].only);
	return -1;
}

static int
run_command(struct cli *c, uint64_t seen)
{
	bool help = seen & option_bit('h');
	const struct command *k;
	int status;

	if (c->argc && !strcmp(c->argv[0], "map")) {
		c->argc--;
		c->argv++;
	}
	if (c->argc && !strcmp(c->argv[0], "help")) {
		help = true;
		c->argc--;
		c->argv++;
	}
	if (!c->argc)
		return help ? print_help(c->out, NULL)
			    : cli_usage("which command?");
	k = find_command(c->argv[0]);
	if (!k)
		return unknown_command(c->argv[0]);
	if (help)
		return print_help(c->out, k);
	c->argc--;
	c->argv++;
	status = check_options(k, seen);
	return status < 0 ? k->run(c) : status;
}

int
main(int argc, char **argv)
{
	static struct out out;
	struct cli c = {.out = &out, .opts.format = &render_table};
	uint64_t seen = 0;
	int status;

	bf_log_keep_stdio();
	signal(SIGPIPE, SIG_IGN);
	status = parse_options(&c, argc, argv, &seen);
	if (status < 0 && !(seen & option_bit('h')))
		status = take_environment(&c, seen);
	if (status < 0)
		status = run_command(&c, seen);
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
