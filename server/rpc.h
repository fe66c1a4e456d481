/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * rpc - from a frame to its answer: ordered checks, then a table of methods
 *
 * The checks stand in one table, in their order, for every request, over ipc
 * and tcp alike.  Handlers decode, ask the broker for the map, read, and
 * encode.
 */
#ifndef BF_SERVER_RPC_H
#define BF_SERVER_RPC_H

#include "common/link.h"
#include "server/broker_msg.h"
#include "server/dump.h"
#include "server/gate.h"

struct bf_rpc {
	struct bf_broker *broker;
	struct bf_dump_agent agent;
	const struct bf_worker_setup *setup; /* who may ask; limits */
	struct bf_gate *gate;		     /* NULL: no tcp */
	char host[256];
	char kernel[256];
};

/* A bf_link_handler; arg is a struct bf_rpc, which it only reads. */
void bf_rpc_handle(void *arg, const struct bf_link_peer *peer, uint8_t *request,
		   size_t len, struct bf_buf *reply);

#endif
