/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * settings - what the agent was told to do, by its file and its options
 */
#ifndef BF_SERVER_SETTINGS_H
#define BF_SERVER_SETTINGS_H

#include "common/base.h"
#include "common/err.h"
#include "common/log.h"

#include <sys/socket.h>

#define BF_LISTEN_MAX 8u
#define BF_URL_MAX 128u
#define BF_ALLOW_MAX 128u
#define BF_PATTERNS_MAX 64u
#define BF_PATTERN_MAX 256u

#define BF_DEFAULT_CONFIG "/etc/bpfleet/agent.conf"
#define BF_DEFAULT_LISTEN "ipc:///run/bpfleet/agent.sock"
#define BF_DEFAULT_SECRET "/var/lib/bpfleet/agent.secret"

enum bf_pattern_kind {
	BF_PATTERN_NAME,
	BF_PATTERN_PIN,
	BF_PATTERN_ID,
};

/* Which maps: `name:GLOB`, `pin:GLOB` or `id:N`. */
struct bf_pattern {
	enum bf_pattern_kind kind;
	uint32_t id;		   /* of BF_PATTERN_ID, else 0 */
	char glob[BF_PATTERN_MAX]; /* what stood after the colon */
};

/* What those who come over tcp may take before and after they prove a key. */
struct bf_gate_limits {
	uint32_t max_connections;
	uint32_t max_half_open;	   /* without a proved key */
	uint32_t handshake_s;	   /* time to prove one */
	uint32_t idle_s;	   /* time between requests */
	uint32_t handshakes_per_s; /* of all, and of each source */
	uint32_t source_handshakes_per_s;
	uint32_t penalty_failures; /* so many keep a source out */
	uint32_t penalty_s;	   /* for so long */
};

struct bf_settings {
	char listen[BF_LISTEN_MAX][BF_URL_MAX];
	uint32_t n_listen;
	char user[33]; /* of the worker */
	uint32_t allow_uids[BF_ALLOW_MAX], n_allow_uids;
	uint32_t allow_gids[BF_ALLOW_MAX], n_allow_gids;
	struct bf_pattern patterns[BF_PATTERNS_MAX]; /* none: all maps */
	uint32_t n_patterns;
	char secret[BF_PATTERN_MAX];
	char key[BF_PATTERN_MAX]; /* private key for tcp; "": none */
	bool make_key;
	char authorized_clients[BF_PATTERN_MAX]; /* "": no one */
	char audit[BF_PATTERN_MAX];		 /* "log", "off" or a path */
	char metrics[BF_URL_MAX];		 /* ADDRESS:PORT; "": none */
	struct bf_gate_limits gate;
	enum bf_log_level log_level;
};

/*
 * bf_pattern_parse - one pattern, as in a line `maps =` and in a client's maps
 *
 * Returns: 0; -BF_EARGUMENT with "maps: ...", which has no file and line
 */
int bf_pattern_parse(struct bf_pattern *out, const char *text,
		     struct bf_err *err);

/*
 * bf_settings_address - numbers only: the worker cannot ask for names
 *
 * In:      1.2.3.4:PORT or [IPv6]:PORT
 * Returns: 0; -BF_EARGUMENT
 */
int bf_settings_address(const char *text, struct sockaddr_storage *out);

/* The i-th limit, by the name of its setting; false: there is none. */
bool bf_settings_limit(const struct bf_gate_limits *limits, size_t i,
		       const char **name, uint32_t *value);

void bf_settings_init(struct bf_settings *s);

/*
 * bf_settings_read - add what a file says
 *
 * Returns: 0; -ENOENT; -BF_EARGUMENT with file:line
 */
int bf_settings_read(struct bf_settings *s, const char *path,
		     struct bf_err *err);

/* One setting by name, as in the file; also for options. */
int bf_settings_set(struct bf_settings *s, const char *name, const char *value,
		    struct bf_err *err);

/* Do they make sense together? Returns: 0 or -BF_EARGUMENT */
int bf_settings_check(const struct bf_settings *s, struct bf_err *err);

/* Prints all that is in force, in the form of the file. */
void bf_settings_print(const struct bf_settings *s);

#endif
