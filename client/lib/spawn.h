/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * spawn - a private agent: started for one session, gone with it
 *
 * Bound to this process by a socket pair: the agent says on it that it is
 * ready, and ends when the other end closes, however this process ends.
 */
#ifndef BF_CLIENT_SPAWN_H
#define BF_CLIENT_SPAWN_H

#include "common/err.h"

#include <sys/types.h>

struct bf_private_agent {
	pid_t pid;    /* 0: none */
	int lifeline; /* our end; -1: none */
	char url[96];
};

/*
 * bf_private_agent_start - start bpfleetd and wait until it listens
 *
 * In:      path of bpfleetd, or NULL: beside this program, then PATH
 * Returns: 0; -BF_EUNREACHABLE (it has said why on stderr); other -errno
 */
int bf_private_agent_start(struct bf_private_agent *agent, const char *path,
			   uint32_t timeout_ms, struct bf_err *err);
/* Ends it and waits; fine if none was started. */
void bf_private_agent_stop(struct bf_private_agent *agent);

#endif
