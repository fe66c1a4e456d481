/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * audit - one line for each access: who read what, how much, and the outcome
 *
 * Text from peers and maps is escaped.  More lines than a bound a second are
 * not written but counted, and the count is written.
 */
#ifndef BF_SERVER_AUDIT_H
#define BF_SERVER_AUDIT_H

#include "common/link.h"
#include "common/page.h"
#include "server/acl.h"

enum bf_audit_to {
	BF_AUDIT_OFF,
	BF_AUDIT_LOG,  /* stderr, which is journald's under systemd */
	BF_AUDIT_FILE, /* BF_AUDIT_FD */
};

struct bf_audit_entry {
	const struct bf_link_peer *peer;
	const struct bf_acl_client *client; /* NULL: local, or not known */
	uint32_t method;		    /* 0: none was known */
	uint32_t map_id;		    /* 0: none */
	const char *map_name, *pin;	    /* "": none was known, or named */
	uint64_t n_entries, bytes;
	enum bf_coherence coherence; /* 0: none */
	const struct bf_err *err;    /* code 0: answered */
	uint64_t duration_us;
};

/* How an access ended. */
enum bf_outcome { BF_OUTCOME_OK, BF_OUTCOME_DENIED, BF_OUTCOME_ERROR };
#define BF_N_OUTCOMES 3u
enum bf_outcome bf_outcome(const struct bf_err *err);
const char *bf_outcome_str(enum bf_outcome outcome);

void bf_audit_init(enum bf_audit_to to);
/* Threads: any */
void bf_audit_write(const struct bf_audit_entry *e);
/* Tells of lines that were left out since the last one. */
void bf_audit_flush(void);

#endif
