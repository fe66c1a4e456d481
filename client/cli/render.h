/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * render - the formats of entries, behind one vtable
 *
 * Every format sees the same pages; none knows where they came from.
 */
#ifndef BF_CLI_RENDER_H
#define BF_CLI_RENDER_H

#include "client/cli/json.h"

#include <bpfleet/bpfleet.h>

/* How the dump of one map ended. */
struct render_end {
	int code;	     /* 0, or the negative code of the failure */
	const char *message; /* "" */
	int coherence;
	uint64_t n, restarts, skipped;
};

struct render {
	const struct renderer *format;
	struct out *out;
	struct json json;
	const struct bpfleet_host *host;
	bool many; /* several maps: label the entries */
	bool wide, pretty;
	bool headed; /* a table: this map has its heading */
	uint64_t n_maps, n_entries, n_failed;
};

struct renderer {
	const char *name;
	/* Returns: NULL, or why this map cannot be shown so. */
	const char *(*refuse)(const struct bpfleet_map *map);
	void (*begin)(struct render *r);
	void (*map_begin)(struct render *r, const struct bpfleet_map *map);
	/* The first n entries of the page; without keys if key_size is 0. */
	void (*page)(struct render *r, const struct bpfleet_map *map,
		     const struct bpfleet_page *page, uint32_t n);
	/* A key that was asked for and is not there. */
	void (*missing)(struct render *r, const struct bpfleet_map *map,
			const uint8_t *key, uint32_t key_size);
	void (*map_end)(struct render *r, const struct bpfleet_map *map,
			const struct render_end *end);
	void (*end)(struct render *r);
};

extern const struct renderer render_table, render_wide, render_json,
	render_jsonl, render_csv, render_tsv, render_bpftool, render_prom;

/* NULL if there is no such format. */
const struct renderer *render_by_name(const char *name);

/* "ok", "partial" with n entries, or what the failure is called. */
const char *render_status(int code, uint64_t n);

/* Is a value of this size shown as an integer? */
static inline bool
render_is_integer(uint32_t size)
{
	return size == 1 || size == 2 || size == 4 || size == 8;
}

/* The integer in 1, 2, 4 or 8 bytes of this machine's byte order. */
uint64_t render_integer(const uint8_t *bytes, uint32_t size);

/* A field of text for csv (quoted) or tsv. */
void render_csv_text(struct out *o, const char *s, char separator);
/* bpftool's word for a type of program; NULL if unknown. */
const char *render_prog_type(uint32_t type);

/* id, type, name and flags alone. */
void render_map_head(struct json *j, const struct bpfleet_map *map,
		     bool native);
/* A map's members, as bpftool names them, into an open object. */
void render_map_members(struct json *j, const struct bpfleet_map *map,
			bool native);

#endif
