// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * cmd_dump - the entries of maps, page by page
 */
#include "client/cli/cmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CURSOR_MAX (BF_KEY_MAX + 256u)

/* The first line of the file. Returns: text to free, or NULL with errno. */
static char *
read_line(const char *path)
{
	char *text = calloc(1, 2 * CURSOR_MAX + 2);
	FILE *f = text ? fopen(path, "re") : NULL;
	bool bad = !f;

	if (f) {
		errno = 0;
		if (!fgets(text, 2 * CURSOR_MAX + 2, f))
			bad = ferror(f);
		fclose(f);
	}
	if (bad) {
		free(text);
		return NULL;
	}
	text[strcspn(text, "\r\n")] = '\0';
	return text;
}

/* The bytes of --cursor, from the word or from a file; *len of them.
 * Returns: exit status.
 */
static int
read_cursor(const char *word, uint8_t *out, size_t *len)
{
	char *text = NULL;
	long n;

	if (word[0] == '@') {
		text = read_line(word + 1);
		if (!text)
			return cli_usage("--cursor %s: cannot be read: %s",
					 word, strerror(errno));
	}
	n = select_hex(out, CURSOR_MAX, text ? text : word);
	free(text);
	if (n <= 0)
		return cli_usage("--cursor: not the hex digits of a cursor "
				 "(or @FILE with them)");
	*len = (size_t)n;
	return CLI_OK;
}

static void
show_cursor(struct cli *c, uint64_t k, const struct bpfleet_page *p)
{
	bool comment = c->opts.format == &render_table ||
		       c->opts.format == &render_wide;
	const uint8_t *bytes = p->cursor;

	if (comment) {
		out_printf(c->out,
			   "# page %llu: %u entries, engine %s, %s, cursor ",
			   (unsigned long long)k, p->n, p->engine,
			   bpfleet_coherence_str(p->coherence));
		out_hex(c->out, bytes, p->cursor_len, '\0');
		out_str(c->out, p->cursor_len ? "\n" : "none (the end)\n");
		return;
	}
	fprintf(stderr, "page %llu: %u entries, engine %s, %s, cursor ",
		(unsigned long long)k, p->n, p->engine,
		bpfleet_coherence_str(p->coherence));
	for (size_t i = 0; i < p->cursor_len; i++)
		fprintf(stderr, "%02x", bytes[i]);
	fprintf(stderr, "%s\n", p->cursor_len ? "" : "none (the end)");
}

static const struct bpfleet_error interruption = {
	.code = EINTR,
	.message = "interrupted: more entries follow",
};

/* Pages until the end, a limit, a failure or Ctrl-C. */
static int
read_pages(struct cli *c, struct render *r, const struct bpfleet_map *map,
	   struct bpfleet_dump *d, struct render_end *end,
	   struct bpfleet_error *err)
{
	const struct bpfleet_page *page;
	uint64_t pages = 0;
	uint32_t take;
	int ret;

	while ((ret = bpfleet_dump_next(d, &page, err)) > 0) {
		take = page->n;
		if (c->opts.limit)
			take = (uint32_t)bf_min_u64(take, c->opts.limit -
								  r->n_entries);
		r->format->page(r, map, page, take);
		end->n += take;
		r->n_entries += take;
		if (page->coherence > end->coherence)
			end->coherence = page->coherence;
		end->restarts = page->restarts;
		end->skipped = page->skipped;
		if (c->opts.show_cursors)
			show_cursor(c, ++pages, page);
		if (page->end || c->out->error ||
		    (c->opts.limit && r->n_entries >= c->opts.limit))
			return 0;
		/* What is left out must not look like the end. */
		if (cli_interrupted()) {
			*err = interruption;
			return -EINTR;
		}
	}
	return ret;
}

/* One line if the entries are less than exact. */
static void
explain_coherence(const struct bpfleet_map *map, const struct render_end *end)
{
	static const char *const why[] = {
		[BPFLEET_FAST] = "read without locks: a key may be missed or "
				 "repeated",
		[BPFLEET_MAY_REPEAT] = "walked by key: if entries were "
				       "deleted meanwhile, keys may repeat",
		[BPFLEET_INCOMPLETE] = "entries were deleted faster than keys "
				       "could be walked",
	};
	int k = end->coherence;

	if (k <= BPFLEET_EXACT || k >= (int)BF_ARRAY_SIZE(why))
		return;
	cli_note("map id %u: %s: %s (%llu restarts)", map->id,
		 bpfleet_coherence_str(k), why[k],
		 (unsigned long long)end->restarts);
}

/* Returns: exit status. */
static int
dump_map(struct cli *c, struct render *r, const struct bpfleet_map *map,
	 const struct bpfleet_dump_opts *opts)
{
	const struct bpfleet_map_ref ref = {.sz = sizeof(ref), .id = map->id};
	struct render_end end = {.message = "", .coherence = BPFLEET_EXACT};
	struct bpfleet_dump *d = NULL;
	struct bpfleet_error err = {0};
	int status = CLI_OK;

	if (r->format->map_begin)
		r->format->map_begin(r, map);
	r->n_maps++;
	end.code = bpfleet_dump_open(&d, c->b, &ref, opts, &err);
	if (!end.code)
		end.code = read_pages(c, r, map, d, &end, &err);
	bpfleet_dump_close(d);
	if (end.code) {
		end.message = err.message;
		r->n_failed++;
	}
	if (r->format->map_end)
		r->format->map_end(r, map, &end);
	if (end.code) {
		out_flush(c->out);
		status = cli_fail(&err);
		return end.n && status != CLI_INTERRUPTED ? CLI_PARTIAL
							  : status;
	}
	explain_coherence(map, &end);
	return end.coherence == BPFLEET_INCOMPLETE ? CLI_PARTIAL : CLI_OK;
}

static int
check_maps(const struct cli *c, const struct bpfleet_maps *maps)
{
	const struct renderer *f = c->opts.format;
	const char *why;

	if (c->opts.cursor && bpfleet_maps_count(maps) > 1)
		return cli_usage("a cursor is of one map: name it with id N");
	for (size_t i = 0; i < bpfleet_maps_count(maps); i++) {
		why = f->refuse ? f->refuse(bpfleet_maps_get(maps, i)) : NULL;
		if (why)
			return cli_usage("map id %u: %s",
					 bpfleet_maps_get(maps, i)->id, why);
	}
	return CLI_OK;
}

/* Some maps failed: partial, unless all failed in the same way. */
static int
combine(int so_far, int status, size_t i)
{
	if (i == 0)
		return status;
	return so_far == status ? status : CLI_PARTIAL;
}

static int
dump_maps(struct cli *c, const struct bpfleet_maps *maps,
	  const struct bpfleet_dump_opts *opts)
{
	struct render r = {
		.format = c->opts.format,
		.out = c->out,
		.host = bpfleet_host_get(c->b),
		.many = bpfleet_maps_count(maps) > 1,
		.wide = c->opts.format == &render_wide,
		.pretty = c->opts.pretty,
	};
	int status = CLI_OK;

	if (r.format->begin)
		r.format->begin(&r);
	for (size_t i = 0; i < bpfleet_maps_count(maps); i++) {
		if (cli_interrupted() || c->out->error ||
		    (c->opts.limit && r.n_entries >= c->opts.limit))
			break;
		status = combine(
			status,
			dump_map(c, &r, bpfleet_maps_get(maps, i), opts), i);
	}
	if (r.format->end)
		r.format->end(&r);
	return status;
}

int
cmd_dump(struct cli *c)
{
	struct bpfleet_dump_opts opts = {
		.sz = sizeof(opts),
		.page_entries = c->opts.page_entries,
		.engine = c->opts.engine,
		.coherence = c->opts.fast ? BPFLEET_FAST : BPFLEET_EXACT,
	};
	struct bpfleet_maps *maps = NULL;
	uint8_t *cursor = NULL;
	int used = 0, status = CLI_OK;

	if (c->opts.cursor) {
		cursor = malloc(CURSOR_MAX);
		if (!cursor)
			return CLI_INTERNAL;
		status = read_cursor(c->opts.cursor, cursor, &opts.cursor_len);
		opts.cursor = cursor;
	}
	if (!status)
		status = cli_find(c, &maps, &used);
	if (!status && used < c->argc)
		status = cli_usage("dump: unexpected word \"%s\"",
				   c->argv[used]);
	if (!status)
		status = check_maps(c, maps);
	if (!status)
		status = dump_maps(c, maps, &opts);
	bpfleet_maps_free(maps);
	free(cursor);
	return status;
}
