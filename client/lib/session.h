/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * session - one agent: connection, version, calls and their retries
 *
 * The other files of the library ask for a method with a body and get the
 * body of the answer; frames, ids, errors and reconnecting stay here.
 */
#ifndef BF_CLIENT_SESSION_H
#define BF_CLIENT_SESSION_H

#include "client/lib/secure.h"
#include "client/lib/spawn.h"
#include "common/codec.h"
#include "common/frame.h"
#include "common/link.h"

#include <bpfleet/bpfleet.h>

#include <stdatomic.h>

struct bpfleet {
	struct bf_link_client *link;
	struct bf_secure *secure; /* over tcp, else NULL */
	struct bf_private_agent agent;
	char *address;
	uint32_t connect_timeout_ms, timeout_ms;
	_Atomic uint64_t next_id;
	struct bpfleet_host host;
	struct bf_hello_reply hello; /* host borrows from it */
};

/* A request on its way, which can be sent again as it is. */
struct bf_session_call {
	struct bf_buf request; /* whole frame */
	uint64_t id;
	uint16_t method;
	struct bf_link_call *pending;	   /* NULL: not sent */
	struct bf_secure_channel *channel; /* it was sealed with */
};

/* The body of an answer, borrowed from reply. */
struct bf_session_answer {
	struct bf_link_reply reply;
	const uint8_t *body;
	size_t len;
};

/*
 * bf_session_begin - an empty request of a method; append the body to
 * call->request, then start or finish it.  bf_session_call_fini() it.
 */
void bf_session_begin(struct bpfleet *b, struct bf_session_call *call,
		      enum bf_method method);

/* Sends it without waiting; a failure shows in bf_session_finish(). */
void bf_session_start(struct bpfleet *b, struct bf_session_call *call);

/*
 * bf_session_finish - send it unless it was, and wait for the answer
 *
 * All methods only read, so a broken connection or a busy agent is tried
 * again, until the connect timeout has passed.
 * Returns: 0; negative with err: the agent's own, -BPFLEET_EUNREACHABLE,
 *          -BPFLEET_ETIMEOUT, -BPFLEET_EPROTO
 * Owns:    bf_session_answer_fini() the answer
 */
int bf_session_finish(struct bpfleet *b, struct bf_session_call *call,
		      struct bf_session_answer *answer,
		      struct bpfleet_error *err);
void bf_session_call_fini(struct bf_session_call *call);
void bf_session_answer_fini(struct bf_session_answer *answer);

/*
 * Fills the public error; control bytes, which a peer may have sent, become
 * '?', so that the message stays one line.
 * Returns: the negative code of from
 */
int bf_session_error(const struct bpfleet *b, struct bpfleet_error *out,
		     const struct bf_err *from);
#ifdef __clang_analyzer__ /* which cannot see that it is never 0 */
#define bf_session_error(...) ((bf_session_error)(__VA_ARGS__), -BF_EINTERNAL)
#endif

/*
 * Copies an option struct of any age: what the caller does not have is zero.
 * Returns: 0 or -BPFLEET_EARGUMENT
 */
int bf_session_opts(void *out, size_t out_size, const void *opts,
		    struct bpfleet_error *err);

/* Checks a map reference. Returns: 0 or -BPFLEET_EARGUMENT */
int bf_session_ref(struct bf_map_ref *out, const struct bpfleet *b,
		   const struct bpfleet_map_ref *map,
		   struct bpfleet_error *err);

/*
 * Checks that an answer is about the map that was asked for; one asked for by
 * pin alone may have any id.
 * Returns: 0 or -BF_EREPLACED
 */
int bf_session_same_map(const struct bf_map_ref *asked, uint32_t answered,
			struct bf_err *err);

#endif
