/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * metrics - counts requests, and tells over HTTP on loopback
 *
 * GET /metrics answers in OpenMetrics text.  There is no name of a map, a key
 * or a client in it: any user of the host may ask.
 */
#ifndef BF_SERVER_METRICS_H
#define BF_SERVER_METRICS_H

#include "server/audit.h"
#include "server/gate.h"

/* Adds one access. Threads: any */
void bf_metrics_count(const struct bf_audit_entry *e);

struct bf_metrics_opts {
	const char *address;  /* ADDRESS:PORT on loopback */
	struct bf_gate *gate; /* NULL: no tcp; must outlive the server */
	const struct bf_gate_limits *limits;
};

struct bf_metrics_server;

/*
 * bf_metrics_load - load the library that serving takes
 *
 * To be called before files are out of reach.
 * Returns: 0; -BF_EINTERNAL: it is not installed
 */
int bf_metrics_load(struct bf_err *err);

/*
 * bf_metrics_start - answer from a thread of its own
 *
 * After bf_metrics_load().
 * Returns: 0; -BF_EARGUMENT; -EADDRINUSE; other -errno
 * Owns:    bf_metrics_stop() the result; NULL is fine there
 */
int bf_metrics_start(struct bf_metrics_server **out,
		     const struct bf_metrics_opts *opts, struct bf_err *err);
void bf_metrics_stop(struct bf_metrics_server *server);

#endif
