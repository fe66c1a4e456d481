// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * cmd_common - errors, sessions and maps, the same for every verb
 */
#include "client/cli/cmd.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static volatile sig_atomic_t interrupted;

/* Which exit status a failure has. */
static const struct {
	int code;
	enum cli_status status;
} statuses[] = {
	{BPFLEET_ENOMAP, CLI_NOT_FOUND},
	{BPFLEET_ENOKEY, CLI_NOT_FOUND},
	{BPFLEET_EDENIED, CLI_DENIED},
	{BPFLEET_EPERMISSION, CLI_DENIED},
	{BPFLEET_EUNREACHABLE, CLI_UNREACHED},
	{BPFLEET_ETIMEOUT, CLI_UNREACHED},
	{BPFLEET_EVERSION, CLI_UNREACHED},
	{BPFLEET_ECURSOR, CLI_USAGE},
	{BPFLEET_EARGUMENT, CLI_USAGE},
	{BPFLEET_EUNREADABLE, CLI_USAGE},
	{BPFLEET_EGONE, CLI_PARTIAL},
	{BPFLEET_EREPLACED, CLI_PARTIAL},
};

static void
on_interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

bool
cli_interrupted(void)
{
	return interrupted;
}

int
cli_fail(const struct bpfleet_error *err)
{
	fprintf(stderr, "bpfleet: %s\n", err->message);
	for (size_t i = 0; i < BF_ARRAY_SIZE(statuses); i++)
		if (statuses[i].code == err->code)
			return statuses[i].status;
	return CLI_INTERNAL;
}

int
cli_usage(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "bpfleet: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, " (see bpfleet --help)\n");
	va_end(ap);
	return CLI_USAGE;
}

void
cli_note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "bpfleet: note: ");
	vfprintf(stderr, fmt, ap);
	fprintf(stderr, "\n");
	va_end(ap);
}

int
cli_open(struct cli *c)
{
	const struct bpfleet_open_opts opts = {
		.sz = sizeof(opts),
		.flags = c->opts.address ? 0 : BPFLEET_PRIVATE_AGENT,
		.connect_timeout_ms = c->opts.connect_timeout_ms,
		.timeout_ms = c->opts.timeout_ms,
	};
	struct sigaction sa = {.sa_handler = on_interrupt};
	struct bpfleet_error err;

	if (c->b)
		return CLI_OK;
	sigaction(SIGINT, &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
	if (bpfleet_open(&c->b, c->opts.address, &opts, &err))
		return cli_fail(&err);
	if (bpfleet_host_get(c->b)->limits[0])
		cli_note("%s", bpfleet_host_get(c->b)->limits);
	return CLI_OK;
}

int
cli_find(struct cli *c, struct bpfleet_maps **maps, int *used)
{
	char selector[SELECT_MAX];
	struct bpfleet_error err;
	const char *why = "";
	int n, status;

	n = select_map(selector, c->argc, c->argv, &why);
	if (n < 0)
		return cli_usage("%s", why);
	*used = n;
	if (strncmp(selector, "pin:", 4) != 0 &&
	    strncmp(selector, "id:", 3) != 0 &&
	    strncmp(selector, "name:", 5) != 0 &&
	    strlen(selector) > BF_NAME_MAX)
		cli_note("map names end at %u characters: looking for "
			 "\"%.15s\"",
			 BF_NAME_MAX, selector);
	status = cli_open(c);
	if (status)
		return status;
	if (bpfleet_maps_find(maps, c->b, selector, &err))
		return cli_fail(&err);
	return CLI_OK;
}

int
cli_find_one(struct cli *c, struct bpfleet_maps **maps,
	     struct bpfleet_map_ref *ref, int *used)
{
	const struct bpfleet_map *first;
	int status;

	status = cli_find(c, maps, used);
	if (status)
		return status;
	first = bpfleet_maps_get(*maps, 0);
	if (bpfleet_maps_count(*maps) > 1) {
		status = cli_usage("name \"%s\": %zu maps have it, such as ids "
				   "%u and %u: choose one with id N",
				   first->name, bpfleet_maps_count(*maps),
				   first->id, bpfleet_maps_get(*maps, 1)->id);
		bpfleet_maps_free(*maps);
		*maps = NULL;
		return status;
	}
	*ref = (struct bpfleet_map_ref){.sz = sizeof(*ref), .id = first->id};
	return CLI_OK;
}

int
cli_count(struct cli *c, const struct bpfleet_map *map, uint64_t *n,
	  int *coherence)
{
	const struct bpfleet_map_ref ref = {.sz = sizeof(ref), .id = map->id};
	const struct bpfleet_dump_opts opts = {
		.sz = sizeof(opts),
		.count_only = 1,
	};
	const struct bpfleet_page *page;
	struct bpfleet_dump *d = NULL;
	int ret;

	*n = 0;
	*coherence = BPFLEET_EXACT;
	ret = bpfleet_dump_open(&d, c->b, &ref, &opts, NULL);
	while (!ret && (ret = bpfleet_dump_next(d, &page, NULL)) > 0) {
		*n += page->n;
		if (page->coherence > *coherence)
			*coherence = page->coherence;
		ret = cli_interrupted() ? -EINTR : 0;
		if (page->end)
			break;
	}
	bpfleet_dump_close(d);
	return ret;
}
