/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * secure - the client's side of the secure channel: who we are, whom we
 * believe, handshakes, sealed requests and opened answers
 */
#ifndef BF_CLIENT_SECURE_H
#define BF_CLIENT_SECURE_H

#include "common/channel.h"
#include "common/link.h"

struct bf_secure;
/* The keys of one handshake; requests on their way hold on to theirs. */
struct bf_secure_channel;

struct bf_secure_opts {
	const char *address;
	const char *key_file;	  /* NULL: an error that says what to do */
	const char *known_agents; /* likewise */
	bool trust_new;
};

/*
 * bf_secure_new - read the key; everything in opts is borrowed meanwhile
 *
 * Returns: 0; -BF_EARGUMENT (a file was not named, or holds no key);
 *          -BF_EDENIED (others can read it); -ENOENT and other -errno
 * Owns:    bf_secure_free()
 */
int bf_secure_new(struct bf_secure **out, const struct bf_secure_opts *opts,
		  struct bf_err *err);
void bf_secure_free(struct bf_secure *s);

/*
 * bf_secure_handshake - prove both keys; the last message carries a request
 *
 * Out:     *reply is the opened answer to it, a whole frame
 * Returns: 0; -BF_EHOSTKEY; what the link or the agent's refusal says
 * Threads: any; they do it one after the other
 */
int bf_secure_handshake(struct bf_secure *s, struct bf_link_client *link,
			const struct bf_buf *request, struct bf_mono deadline,
			struct bf_link_reply *reply, struct bf_err *err);

/*
 * bf_secure_seal - a request, sealed for the connection that stands
 *
 * Out:     sealed, appended to; *channel to open the answer with, and to put
 * Returns: 0; -BF_ESESSION: a handshake is due; -ENOMEM
 */
int bf_secure_seal(struct bf_secure *s, struct bf_link_client *link,
		   const struct bf_buf *request, struct bf_buf *sealed,
		   struct bf_secure_channel **channel, struct bf_err *err);

/*
 * bf_secure_open - open an answer in place: reply->data is the frame inside
 *
 * Returns: 0; -BF_ESESSION: the agent has no such session (any more);
 *          another refusal that an agent makes without a session; -BF_EPROTO
 */
int bf_secure_open(struct bf_secure_channel *channel,
		   struct bf_link_reply *reply, struct bf_err *err);
void bf_secure_put(struct bf_secure_channel *channel);

#endif
