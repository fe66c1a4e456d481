/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * plan - what a worker is started with: settings, keys, clients, audit, user
 *
 * Made from settings as a whole or not at all, so that a reload that fails
 * changes nothing, and one that cannot be served from can be taken back.
 */
#ifndef BF_SERVER_PLAN_H
#define BF_SERVER_PLAN_H

#include "server/audit.h"
#include "server/broker_msg.h"
#include "server/settings.h"

struct bf_plan_keys {
	struct bf_key agent; /* of tcp, if there is one */
	struct bf_key cursor;
};

struct bf_plan {
	struct bf_settings settings;
	struct bf_plan_keys *keys; /* stay in this process; NULL: no plan */
	bool has_agent_key;
	uint8_t public_key[BF_KEY_BYTES];
	struct bf_acl acl; /* clients are named by their place in it */
	enum bf_audit_to audit;
	int audit_fd; /* of BF_AUDIT_FILE, else -1 */
	bool drop;    /* the worker becomes uid and gid */
	uint32_t uid, gid;
	bool keep_cap_bpf; /* this kernel wants it for reads */
};

/*
 * bf_plan_make - read and open all that the settings name
 *
 * In:      is_private: serves the command that started it, whose stderr is no
 *          log; by_id: this process may open maps by id
 * Returns: 0; negative with the file and what is wrong in it
 * Owns:    bf_plan_fini() it; after an error it is empty
 */
int bf_plan_make(struct bf_plan *out, const struct bf_settings *settings,
		 bool is_private, bool by_id, struct bf_err *err);
void bf_plan_fini(struct bf_plan *plan);

/*
 * bf_plan_check - would these settings do?  Makes and opens nothing.
 *
 * Out:     user: who the worker would become, borrowed
 * Returns: as bf_plan_make()
 */
int bf_plan_check(const struct bf_settings *settings, const char **user,
		  struct bf_err *err);

/* The part of a plan that the worker is told, beside its clients. */
void bf_plan_tell(const struct bf_plan *plan, struct bf_worker_setup *setup);

/* Makes the directories above a file, the last one with this mode. */
int bf_plan_make_parents(const char *file, mode_t mode, bool *fresh);

#endif
