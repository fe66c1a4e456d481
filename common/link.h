/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * link - requests and replies over nng; the only user of it
 *
 * Server: a REP socket with many contexts; each hands a request to one
 * handler and sends what it returns.  Client: a REQ socket, any number of
 * calls at once.  Resending is off: who wants a retry makes it.  Bytes are
 * opaque here.
 */
#ifndef BF_LINK_H
#define BF_LINK_H

#include "common/buf.h"
#include "common/clock.h"
#include "common/err.h"

/* Who sent a request, from the kernel where it knows. */
struct bf_link_peer {
	bool local; /* ipc: uid, gid and pid are the kernel's word */
	uint32_t uid, gid, pid;
	uint32_t pipe;	  /* the connection; not used again soon */
	uint8_t addr[16]; /* tcp: IPv6, or IPv4 as ::ffff:a.b.c.d */
	uint16_t port;
};

/*
 * Answers one request.
 * In/out:  request may be changed in place; append the reply to `reply`:
 *          leaving it empty drops the connection
 * Threads: called from several at once, so must not wait on the link itself
 */
typedef void bf_link_handler(void *arg, const struct bf_link_peer *peer,
			     uint8_t *request, size_t len,
			     struct bf_buf *reply);
/* A connection over tcp has come, and may stay; or it is gone, also if it
 * could not stay.  Of the link they may call bf_link_drop(), whose gone comes
 * later.
 */
typedef bool bf_link_come(void *arg, const struct bf_link_peer *peer);
typedef void bf_link_gone(void *arg, uint32_t pipe);

struct bf_link_server_opts {
	const char *const *urls;
	size_t n_urls;
	uint32_t n_contexts;	  /* requests served at once */
	size_t max_request;	  /* bytes; longer ones drop the connection */
	size_t max_request_tcp;	  /* the same, of connections over tcp */
	size_t max_reply;	  /* bytes */
	uint32_t socket_mode;	  /* of an ipc socket's file, such as 0600 */
	uint32_t send_timeout_ms; /* a reply not taken by then is dropped */
	uint32_t max_unread;	  /* replies a connection may leave unread */
	bf_link_handler *handler;
	bf_link_come *come;
	bf_link_gone *gone;
	void *arg;
};

struct bf_link_server;

/*
 * bf_link_listen - listen on every url, or on none; take no request yet
 *
 * In:      ipc:///PATH, abstract://NAME or tcp://ADDRESS:PORT
 * Returns: 0; -BF_EARGUMENT for another scheme; -EADDRINUSE; other -errno
 * Owns:    bf_link_server_close() the result
 */
int bf_link_listen(struct bf_link_server **out,
		   const struct bf_link_server_opts *opts, struct bf_err *err);
/* From now on requests are taken, also those that came meanwhile. */
void bf_link_serve(struct bf_link_server *server);

/* Ends a connection, if it still stands. */
void bf_link_drop(uint32_t pipe);

/* Stops taking requests, lets those at work finish for drain_ms, closes. */
void bf_link_server_close(struct bf_link_server *server, uint32_t drain_ms);

struct bf_link_client;
struct bf_link_call;

struct bf_link_reply {
	uint8_t *data; /* borrows from msg; may be changed */
	size_t len;
	void *msg;
};

/*
 * bf_link_dial - connect to an agent
 *
 * In:      a connection over tcp must stand by the deadline
 * Returns: 0; -BF_EUNREACHABLE (nobody listens, no such path);
 *          -BF_EDENIED (the path may not be opened); -BF_EARGUMENT (scheme);
 *          -BF_ETIMEOUT
 * Threads: the client may be used by several at once
 */
int bf_link_dial(struct bf_link_client **out, const char *url, size_t max_reply,
		 struct bf_mono deadline, struct bf_err *err);
/* Which connection stands now: another number after each reconnect; 0: none */
uint32_t bf_link_pipe(struct bf_link_client *client);
void bf_link_client_close(struct bf_link_client *client);

/*
 * bf_link_start - send a request, do not wait for the answer
 *
 * Owns:    request stays the caller's; bf_link_wait() frees the call
 */
int bf_link_start(struct bf_link_call **out, struct bf_link_client *client,
		  const struct bf_buf *request, struct bf_mono deadline,
		  struct bf_err *err);

/*
 * bf_link_wait - wait for the answer to a call, and free the call
 *
 * Returns: 0; -BF_ETIMEOUT; -BF_EUNREACHABLE if the connection broke
 * Owns:    bf_link_reply_free() the reply
 */
int bf_link_wait(struct bf_link_call *call, struct bf_link_reply *reply,
		 struct bf_err *err);
/* Gives a call up, after at most half a second; NULL is fine. */
void bf_link_cancel(struct bf_link_call *call);
void bf_link_reply_free(struct bf_link_reply *reply);

#endif
