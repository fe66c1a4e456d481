// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * main - bpfleetd's command line: settings in, broker or worker out
 */
#include "common/base.h"
#include "common/log.h"
#include "server/broker.h"
#include "server/plan.h"
#include "server/sandbox.h"
#include "server/settings.h"
#include "server/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	OPT_LISTEN = 256,
	OPT_KEY,
	OPT_AUTHORIZED,
	OPT_MAKE_KEY,
	OPT_CHECK,
	OPT_LEVEL,
	OPT_LIFELINE,
	OPT_WORKER,
};

/* Options, with the words of --help; NULL words are not shown. */
static const struct {
	struct option option;
	const char *arg;
	const char *words;
} table[] = {
	{{"config", required_argument, NULL, 'c'},
	 "FILE",
	 "settings (" BF_DEFAULT_CONFIG " if it exists)"},
	{{"listen", required_argument, NULL, OPT_LISTEN},
	 "URL",
	 "serve at ipc:///PATH or tcp://ADDRESS:PORT; may be repeated"},
	{{"key", required_argument, NULL, OPT_KEY},
	 "FILE",
	 "this agent's private key, for tcp"},
	{{"make-key", no_argument, NULL, OPT_MAKE_KEY},
	 "",
	 "make that key if there is none"},
	{{"authorized-clients", required_argument, NULL, OPT_AUTHORIZED},
	 "FILE",
	 "who may come over tcp, and do what"},
	{{"log-level", required_argument, NULL, OPT_LEVEL},
	 "LEVEL",
	 "err, warn, info or debug"},
	{{"check-config", no_argument, NULL, OPT_CHECK},
	 "",
	 "print the settings in force, or what is wrong in them"},
	{{"lifeline", required_argument, NULL, OPT_LIFELINE},
	 "FD",
	 "write a newline to FD when ready, end when it closes"},
	{{"version", no_argument, NULL, 'V'}, "", "print the version"},
	{{"help", no_argument, NULL, 'h'}, "", "print this"},
	{{"worker", no_argument, NULL, OPT_WORKER}, "", NULL},
};

/* What the command line said; kept, since SIGHUP applies it again. */
struct command {
	const char *config;
	const char *listen[BF_LISTEN_MAX];
	uint32_t n_listen;
	const char *log_level, *key, *authorized_clients;
	bool make_key;
	int lifeline_fd;
	bool check, worker;
};

static void
print_help(void)
{
	printf("Usage: bpfleetd [OPTION]...\n"
	       "Serves eBPF maps of this host to bpfleet, in the "
	       "foreground.\n\n");
	for (size_t i = 0; i < BF_ARRAY_SIZE(table); i++) {
		char left[64];

		if (!table[i].words)
			continue;
		snprintf(left, sizeof(left), "--%s %s", table[i].option.name,
			 table[i].arg);
		printf("  %c%c %-22s %s\n",
		       table[i].option.val < 256 ? '-' : ' ',
		       table[i].option.val < 256 ? table[i].option.val : ' ',
		       left, table[i].words);
	}
	printf("\nExit status: 0 stopped as asked, 1 failed, 2 usage.\n");
}

static int
usage_error(const char *words, const char *what)
{
	fprintf(stderr, "bpfleetd: %s%s (see bpfleetd --help)\n", words, what);
	return 2;
}

/* One option. Returns: -1 go on, else the exit status. */
static int
take_option(struct command *cmd, int opt)
{
	char *end = NULL;

	switch (opt) {
	case 'c':
		cmd->config = optarg;
		return -1;
	case OPT_LISTEN:
		if (cmd->n_listen == BF_LISTEN_MAX)
			return usage_error("too many --listen", "");
		cmd->listen[cmd->n_listen++] = optarg;
		return -1;
	case OPT_LEVEL:
		cmd->log_level = optarg;
		return -1;
	case OPT_CHECK:
		cmd->check = true;
		return -1;
	case OPT_WORKER:
		cmd->worker = true;
		return -1;
	case OPT_LIFELINE:
		cmd->lifeline_fd = (int)strtol(optarg, &end, 10);
		if (!optarg[0] || *end || cmd->lifeline_fd < 0 ||
		    fcntl(cmd->lifeline_fd, F_SETFD, FD_CLOEXEC) < 0)
			return usage_error("--lifeline: not an open fd: ",
					   optarg);
		return -1;
	case OPT_KEY:
		cmd->key = optarg;
		return -1;
	case OPT_AUTHORIZED:
		cmd->authorized_clients = optarg;
		return -1;
	case OPT_MAKE_KEY:
		cmd->make_key = true;
		return -1;
	case 'V':
		printf("bpfleetd %s\n", BF_VERSION);
		return 0;
	case 'h':
		print_help();
		return 0;
	default:
		return usage_error("unknown option or missing argument", "");
	}
}

static int
parse_command(struct command *cmd, int argc, char **argv)
{
	struct option options[BF_ARRAY_SIZE(table) + 1] = {0};
	int opt, ret = -1;

	for (size_t i = 0; i < BF_ARRAY_SIZE(table); i++)
		options[i] = table[i].option;
	while (ret < 0 &&
	       (opt = getopt_long(argc, argv, "c:Vh", options, NULL)) != -1)
		ret = take_option(cmd, opt);
	if (ret < 0 && optind < argc)
		return usage_error("unexpected argument ", argv[optind]);
	return ret;
}

/* On the command line a path may be relative. */
static int
set_file(struct bf_settings *out, const char *name, const char *path,
	 struct bf_err *err)
{
	char dir[BF_PATTERN_MAX], whole[2 * BF_PATTERN_MAX + 2];

	if (path[0] == '/')
		return bf_settings_set(out, name, path, err);
	if (!getcwd(dir, sizeof(dir)))
		return bf_err_set(err, errno, "%s %s: %s", name, path,
				  bf_err_str(errno));
	snprintf(whole, sizeof(whole), "%s/%.*s", dir, (int)BF_PATTERN_MAX,
		 path);
	return bf_settings_set(out, name, whole, err);
}

/* Defaults, then the file, then the command line. */
static int
load_settings(struct bf_settings *out, void *arg, struct bf_err *err)
{
	const struct command *cmd = arg;
	int ret;

	bf_settings_init(out);
	ret = bf_settings_read(
		out, cmd->config ? cmd->config : BF_DEFAULT_CONFIG, err);
	if (ret == -ENOENT && !cmd->config)
		ret = 0;
	if (!ret && cmd->n_listen)
		out->n_listen = 0;
	for (uint32_t i = 0; i < cmd->n_listen && !ret; i++)
		ret = bf_settings_set(out, "listen", cmd->listen[i], err);
	if (!ret && cmd->log_level)
		ret = bf_settings_set(out, "log-level", cmd->log_level, err);
	if (!ret && cmd->key)
		ret = set_file(out, "key", cmd->key, err);
	if (!ret && cmd->authorized_clients)
		ret = set_file(out, "authorized-clients",
			       cmd->authorized_clients, err);
	if (!ret && cmd->make_key)
		ret = bf_settings_set(out, "make-key", "yes", err);
	if (!ret && !out->n_listen)
		ret = bf_settings_set(out, "listen", BF_DEFAULT_LISTEN, err);
	return ret ? ret : bf_settings_check(out, err);
}

static int
check_config(const struct bf_settings *s)
{
	struct bf_err err = {0};
	const char *user;

	if (bf_plan_check(s, &user, &err)) {
		fprintf(stderr, "bpfleetd: %s\n", err.text);
		return 2;
	}
	bf_settings_print(s);
	bf_sandbox_describe(stdout, user);
	return 0;
}

int
main(int argc, char **argv)
{
	static struct command cmd = {.lifeline_fd = -1};
	static struct bf_broker_opts opts;
	struct bf_err err = {0};
	int status;

	bf_log_keep_stdio();
	status = parse_command(&cmd, argc, argv);
	if (status >= 0)
		return status;
	if (cmd.worker)
		return bf_worker_main();
	if (load_settings(&opts.settings, &cmd, &err)) {
		fprintf(stderr, "bpfleetd: %s\n", err.text);
		return 2;
	}
	if (cmd.check)
		return check_config(&opts.settings);
	opts.lifeline_fd = cmd.lifeline_fd;
	opts.reload = load_settings;
	opts.reload_arg = &cmd;
	return bf_broker_run(&opts);
}
