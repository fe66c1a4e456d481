// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * cmd_common - errors, sessions and maps, the same for every verb
 */
#include "client/cli/cmd.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile sig_atomic_t interrupted;

/* Which exit status a failure has; what is not here is CLI_INTERNAL. */
static const struct {
	int code;
	enum cli_status status;
} statuses[] = {
	{BPFLEET_ECURSOR, CLI_USAGE},
	{BPFLEET_EARGUMENT, CLI_USAGE},
	{BPFLEET_EUNREADABLE, CLI_USAGE},
	{BPFLEET_ENOMAP, CLI_NOT_FOUND},
	{BPFLEET_ENOKEY, CLI_NOT_FOUND},
	{BPFLEET_EDENIED, CLI_DENIED},
	{BPFLEET_EPERMISSION, CLI_DENIED},
	{BPFLEET_EHOSTKEY, CLI_DENIED},
	{BPFLEET_EGONE, CLI_PARTIAL},
	{BPFLEET_EREPLACED, CLI_PARTIAL},
	{BPFLEET_EUNREACHABLE, CLI_UNREACHED},
	{BPFLEET_ETIMEOUT, CLI_UNREACHED},
	{BPFLEET_EVERSION, CLI_UNREACHED},
	{EINTR, CLI_INTERRUPTED},
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

void
cli_put_text(const char *text)
{
	for (; *text; text++)
		fputc(iscntrl((unsigned char)*text) ? '?' : *text, stderr);
}

int
cli_fail(const struct bpfleet_error *err)
{
	fprintf(stderr, "bpfleet: ");
	cli_put_text(err->message);
	fprintf(stderr, "\n");
	for (size_t i = 0; i < BF_ARRAY_SIZE(statuses); i++)
		if (statuses[i].code == err->code)
			return (int)statuses[i].status;
	return CLI_INTERNAL;
}

int
cli_usage(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "bpfleet: ");
	cli_put_text(text);
	fprintf(stderr, " (see bpfleet --help)\n");
	return CLI_USAGE;
}

void
cli_note(const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	fprintf(stderr, "bpfleet: note: ");
	cli_put_text(text);
	fprintf(stderr, "\n");
}

/* A file of the user's, unless one was named; "" if there is no home. */
static const char *
config_file(const char *named, const char *name, char *buf, size_t cap)
{
	const char *dir = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (named)
		return named;
	if (dir && dir[0] == '/')
		snprintf(buf, cap, "%s/bpfleet/%s", dir, name);
	else
		snprintf(buf, cap, "%s/.config/bpfleet/%s", home ? home : "",
			 name);
	return buf;
}

int
cli_connect(struct cli *c, struct bpfleet_error *err)
{
	char key[BF_PATH_MAX], known[BF_PATH_MAX];
	const struct bpfleet_open_opts opts = {
		.key_file =
			config_file(c->opts.key, "id.key", key, sizeof(key)),
		.known_agents =
			config_file(c->opts.known_agents, "known_agents", known,
				    sizeof(known)),
		.trust_new = c->opts.trust,
		.sz = sizeof(opts),
		.flags = c->opts.address ? 0 : BPFLEET_PRIVATE_AGENT,
		.connect_timeout_ms = c->opts.connect_timeout_ms,
		.timeout_ms = c->opts.timeout_ms,
	};
	/* The second Ctrl-C ends the program at once. */
	struct sigaction sa = {
		.sa_handler = on_interrupt,
		.sa_flags = (int)SA_RESETHAND,
	};
	int ret;

	if (c->b)
		return 0;
	sigaction(SIGINT, &sa, NULL);
	ret = bpfleet_open(&c->b, c->opts.address, &opts, err);
	if (!ret && bpfleet_host_get(c->b)->limits[0])
		cli_note("%s", bpfleet_host_get(c->b)->limits);
	return ret;
}

int
cli_open(struct cli *c)
{
	struct bpfleet_error err;

	return cli_connect(c, &err) ? cli_fail(&err) : CLI_OK;
}

int
cli_find(struct cli *c, struct bpfleet_maps **maps, int *used)
{
	char selector[SELECT_MAX];
	struct bpfleet_error err;
	const char *why = "";
	const char *name;
	int n, status;

	n = select_map(selector, c->argc, c->argv, &why);
	if (n < 0)
		return c->argc ? cli_usage("map \"%s%s%s\": %s", c->argv[0],
					   c->argc > 1 ? " " : "",
					   c->argc > 1 ? c->argv[1] : "", why)
			       : cli_usage("%s", why);
	*used = n;
	name = select_name(selector);
	if (name && strlen(name) > BF_NAME_MAX)
		cli_note("map names end at %u characters: looking for "
			 "\"%.15s\"",
			 BF_NAME_MAX, name);
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
	  int *coherence, struct bpfleet_error *err)
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
	ret = bpfleet_dump_open(&d, c->b, &ref, &opts, err);
	if (ret)
		return ret;
	while ((ret = bpfleet_dump_next(d, &page, err)) > 0) {
		*n += page->n;
		if (page->coherence > *coherence)
			*coherence = page->coherence;
		if (page->end)
			continue;
		if (cli_interrupted()) {
			*err = (struct bpfleet_error){.code = EINTR};
			ret = -EINTR;
			break;
		}
	}
	bpfleet_dump_close(d);
	return ret;
}

/* One found value as a page, so that every format can show it. */
static struct bpfleet_page
page_of(const struct bpfleet_values *v, const uint8_t *key, uint32_t key_size,
	size_t i)
{
	return (struct bpfleet_page){
		.map_id = v->map_id,
		.n = 1,
		.key_size = key_size,
		.value_size = v->value_size,
		.slot_size = v->slot_size,
		.n_slots = v->n_slots,
		.keys = key,
		.values = v->values + i * v->slot_size * v->n_slots,
		.end = 1,
		.coherence = v->coherence,
	};
}

static void
print_entries(struct render *r, const struct bpfleet_map *map,
	      const struct bpfleet_values *v, const uint8_t *keys,
	      uint32_t key_size)
{
	for (size_t i = 0; i < v->n; i++) {
		const uint8_t *key = key_size ? keys + i * key_size : keys;
		struct bpfleet_page p = page_of(v, key, key_size, i);

		if (v->found[i])
			r->format->page(r, map, &p, 1);
		else if (r->format->missing)
			r->format->missing(r, map, key, key_size);
		r->n_entries += v->found[i] ? 1 : 0;
	}
}

void
cli_print_values(struct cli *c, const struct bpfleet_map *map,
		 const struct bpfleet_values *v, const uint8_t *keys,
		 uint32_t key_size)
{
	struct render_end end = {.message = "", .coherence = v->coherence};
	struct render r = {
		.format = c->opts.format,
		.out = c->out,
		.host = bpfleet_host_get(c->b),
		.wide = c->opts.format == &render_wide,
		.pretty = c->opts.pretty,
	};
	/* bpftool's form of one answer is an object without an array. */
	bool bare = r.format == &render_bpftool && v->n == 1;

	if (bare)
		json_init(&r.json, c->out, c->opts.pretty);
	else if (r.format->begin)
		r.format->begin(&r);
	if (r.format->map_begin)
		r.format->map_begin(&r, map);
	r.n_maps++;
	print_entries(&r, map, v, keys, key_size);
	end.n = r.n_entries;
	if (end.n < v->n) {
		end.code = -BPFLEET_ENOKEY;
		end.message = key_size ? "keys not found" : "empty";
	}
	if (r.format->map_end)
		r.format->map_end(&r, map, &end);
	if (bare)
		out_char(c->out, '\n');
	else if (r.format->end)
		r.format->end(&r);
}
