/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * cmd - what every verb gets: the options, the agent, the output
 */
#ifndef BF_CLI_CMD_H
#define BF_CLI_CMD_H

#include "client/cli/render.h"
#include "client/cli/select.h"

/* Exit statuses; scripts rely on them. */
enum cli_status {
	CLI_OK = 0,
	CLI_INTERNAL = 1,
	CLI_USAGE = 2,
	CLI_NOT_FOUND = 3,
	CLI_DENIED = 4,
	CLI_PARTIAL = 5,
	CLI_UNREACHED = 6,
	CLI_INTERRUPTED = 130,
};

struct cli_options {
	const char *address; /* NULL: this machine */
	const struct renderer *format;
	const char *engine;
	const char *cursor; /* hex, or @FILE */
	bool pretty, fast, show_cursors, fill, pins;
	uint32_t page_entries;
	uint64_t limit; /* entries; 0: all */
	uint32_t timeout_ms, connect_timeout_ms;
	const char *key, *known_agents; /* NULL: those in the user's config */
	bool trust;			/* an agent that is not known yet */
};

struct cli {
	struct cli_options opts;
	struct out *out;
	struct bpfleet *b;
	int argc; /* words after the verb */
	char **argv;
};

int cmd_list(struct cli *c);
int cmd_show(struct cli *c);
int cmd_dump(struct cli *c);
int cmd_lookup(struct cli *c);
int cmd_peek(struct cli *c);
int cmd_hosts(struct cli *c);
int cmd_genkey(struct cli *c);
int cmd_pubkey(struct cli *c);

/* One line on stderr. Returns: the exit status that belongs to the code. */
int cli_fail(const struct bpfleet_error *err);
int cli_usage(const char *fmt, ...) BF_PRINTF(1, 2);
void cli_note(const char *fmt, ...) BF_PRINTF(1, 2);

/* Did the user ask to stop? */
bool cli_interrupted(void);

/* Text from elsewhere onto stderr, control bytes replaced. */
void cli_put_text(const char *text);

/* Opens the session if it is not. Returns: 0 or the negative code. */
int cli_connect(struct cli *c, struct bpfleet_error *err);
/* The same, telling a failure. Returns: exit status. */
int cli_open(struct cli *c);

/*
 * cli_find - the maps that the words after the verb name
 *
 * Out:     *used words
 * Returns: exit status; CLI_OK with *maps to free
 */
int cli_find(struct cli *c, struct bpfleet_maps **maps, int *used);

/* The same, but exactly one, whose reference is set. */
int cli_find_one(struct cli *c, struct bpfleet_maps **maps,
		 struct bpfleet_map_ref *ref, int *used);

/* Counts the entries of a map. Returns: 0 or the negative code. */
int cli_count(struct cli *c, const struct bpfleet_map *map, uint64_t *n,
	      int *coherence, struct bpfleet_error *err);

/*
 * cli_fill_words - how full a map is: "12 (34%)"
 *
 * "-" where it cannot be read, "?" where counting failed (told on stderr),
 * with "~" or ">=" before a count that is not exact.
 */
#define CLI_FILL_MAX 48
void cli_fill_words(struct cli *c, const struct bpfleet_map *map,
		    char buf[CLI_FILL_MAX]);

/* Maps as list and show print them; with opts.fill counted.
 * Returns: exit status.
 */
int cli_print_maps(struct cli *c, const struct bpfleet_map *const *maps,
		   size_t n);

/*
 * cli_print_values - what a lookup or a peek found, in the asked format
 *
 * In:      keys: v->n * key_size bytes; key_size 0 for a peek
 */
void cli_print_values(struct cli *c, const struct bpfleet_map *map,
		      const struct bpfleet_values *v, const uint8_t *keys,
		      uint32_t key_size);

#endif
