/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * gate - who comes in over tcp: connections, handshakes, sessions, penalties
 *
 * Knows connections by number and clients by their line; bytes of requests
 * pass by it.  Connections that have not proved a key are few, short-lived
 * and the first to go; sources that keep failing are kept out for a while.
 */
#ifndef BF_SERVER_GATE_H
#define BF_SERVER_GATE_H

#include "common/channel.h"
#include "common/link.h"
#include "server/acl.h"

#include <stdatomic.h>

/* A key that has proved itself on one connection. */
struct bf_session {
	struct bf_channel channel;
	const struct bf_acl_client *client;
	uint32_t client_index;
	atomic_uint refs;
};

struct bf_gate;

struct bf_gate_opts {
	const struct bf_gate_limits *limits;
	struct bf_noise_identity self;
	const struct bf_acl_client *clients; /* sorted by key; borrowed */
	uint32_t n_clients;
};

/* What stands now, and what has happened since the start. */
struct bf_gate_stats {
	uint64_t connections, half_open;
	uint64_t handshakes;  /* that proved a key with a line */
	uint64_t denied;      /* that proved another, or from elsewhere */
	uint64_t failed;      /* denied ones, and forged or senseless frames */
	uint64_t busy;	      /* handshakes above the rate */
	uint64_t kept_out;    /* connections: penalty, or no room */
	uint64_t crowded_out; /* half-open, for a newer one */
	uint64_t timed_out;
};

/* Returns: 0; -ENOMEM. Owns: bf_gate_free(), after the link is closed */
int bf_gate_new(struct bf_gate **out, const struct bf_gate_opts *opts,
		struct bf_err *err);
void bf_gate_free(struct bf_gate *g);

/* A bf_link_come and a bf_link_gone. */
bool bf_gate_come(struct bf_gate *g, const struct bf_link_peer *peer);
void bf_gate_gone(struct bf_gate *g, uint32_t pipe);

/*
 * bf_gate_handshake - take one handshake message
 *
 * In:      frame and body of the message; its method is 1 or 3
 * Out:     after message 1 the answer is appended to reply; after message 3
 *          *session is the new session and *first, appended to, the request
 *          that came with it
 * Returns: 0; -BF_EDENIED a key without a line, or not from here, with
 *          *session to seal the answer; -BF_EPROTO; -BF_ESESSION message 3
 *          without 1; -BF_EBUSY too many handshakes
 */
int bf_gate_handshake(struct bf_gate *g, const struct bf_link_peer *peer,
		      const struct bf_frame *frame, const uint8_t *body,
		      struct bf_buf *reply, struct bf_session **session,
		      struct bf_buf *first, struct bf_err *err);

/* The session of a connection, or NULL; bf_gate_put() it. */
struct bf_session *bf_gate_get(struct bf_gate *g, uint32_t pipe);
void bf_gate_put(struct bf_session *s);

/* Has the client a request left, by its line's rate? */
bool bf_gate_rate_ok(struct bf_gate *g, const struct bf_session *s);

/* Something forged or senseless came from there. */
void bf_gate_blame(struct bf_gate *g, const struct bf_link_peer *peer);

/*
 * bf_gate_tick - drop what has stood too long
 *
 * Returns: ms until it is wanted again, -1: not before bf_gate_fd() is
 *          readable
 */
int bf_gate_tick(struct bf_gate *g);
int bf_gate_fd(const struct bf_gate *g);

/* Threads: any */
void bf_gate_stats(struct bf_gate *g, struct bf_gate_stats *out);

#endif
