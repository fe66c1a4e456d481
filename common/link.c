// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * link - requests and replies over nng
 *
 * Lifetime rules: an aio is freed only after its socket is closed and
 * nng_aio_stop() returned; a context belongs to one aio; messages belong to
 * whoever holds them last, so a failed send frees its own.  Sockets are
 * closed, never single dialers or listeners: nng 1.5 has use-after-free races
 * there.  Handlers run in nng's task threads.
 */
#include "common/link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <nng/nng.h>
#include <nng/protocol/reqrep0/rep.h>
#include <nng/protocol/reqrep0/req.h>
#include <nng/transport/ipc/ipc.h>
#include <nng/transport/tcp/tcp.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RECONNECT_MIN_MS 20
#define RECONNECT_MAX_MS 500
/* A call that finds no connection waits this long for one to come back. */
#define NO_PIPE_WAIT_MS 1000
/* A call that is given up waits this long for its answer first. */
#define CANCEL_WAIT_MS 500

enum slot_state {
	SLOT_IDLE,
	SLOT_RECV,
	SLOT_WORK,
	SLOT_SEND,
};

struct slot {
	struct bf_link_server *server;
	nng_ctx ctx;
	nng_aio *aio;
	enum slot_state state;
	int pipe; /* whose reply it sends */
	struct bf_buf reply;
};

struct bf_link_server {
	struct bf_link_server_opts opts;
	nng_socket sock;
	bool sock_open;
	pthread_mutex_t lock; /* state, pipe, closing */
	pthread_cond_t idle;
	bool closing;
	uint32_t n_slots;
	struct slot *slots;
};

static int
from_nng(int rv)
{
	switch (rv) {
	case 0:
		return 0;
	case NNG_ENOMEM:
		return ENOMEM;
	case NNG_EADDRINUSE:
		return EADDRINUSE;
	case NNG_EPERM:
		return BF_EDENIED;
	case NNG_ETIMEDOUT:
		return BF_ETIMEOUT;
	case NNG_ECONNREFUSED:
	case NNG_ECONNRESET:
	case NNG_ECONNABORTED:
	case NNG_ECONNSHUT:
	case NNG_ECLOSED:
	case NNG_ENOENT:
	case NNG_EUNREACHABLE:
	case NNG_EADDRINVAL: /* a name that is none */
		return BF_EUNREACHABLE;
	case NNG_EINVAL:
		return BF_EARGUMENT;
	default:
		return rv & NNG_ESYSERR ? rv & ~NNG_ESYSERR : EIO;
	}
}

static int
check_scheme(const char *url, struct bf_err *err)
{
	const char *host = url + 6, *end = strrchr(url, ']');

	if (!strncmp(url, "ipc:///", 7) || !strncmp(url, "abstract://", 11))
		return 0;
	if (!strncmp(url, "tcp://", 6)) {
		const char *port = strrchr(end ? end : host, ':');

		if (port && port[1] && port > host)
			return 0;
		return bf_err_set(err, BF_EARGUMENT,
				  "%s: no port (tcp://HOST:PORT)", url);
	}
	return bf_err_set(err, BF_EARGUMENT,
			  "%s: not an address (ipc:///PATH, tcp://HOST:PORT)",
			  url);
}

/* What pthread_cond_clockwait() takes. */
static struct timespec
mono_in_ms(uint32_t ms)
{
	uint64_t ns = bf_mono_now().ns + (uint64_t)ms * 1000000u;

	return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
				 .tv_nsec = (long)(ns % 1000000000u)};
}

/* --------------------------------------------------------------- server */

/* Lock held. */
static uint32_t
count_unread(const struct bf_link_server *s, int pipe)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n_slots; i++)
		n += s->slots[i].state == SLOT_SEND && s->slots[i].pipe == pipe;
	return n;
}

/* Moves a slot on; the last one to become idle wakes close. */
static bool
enter_state(struct slot *slot, enum slot_state state)
{
	struct bf_link_server *s = slot->server;
	bool go;

	pthread_mutex_lock(&s->lock);
	go = !(s->closing && state == SLOT_RECV);
	slot->state = go ? state : SLOT_IDLE;
	if (slot->state == SLOT_IDLE)
		pthread_cond_broadcast(&s->idle);
	pthread_mutex_unlock(&s->lock);
	return go;
}

static void
receive_next(struct slot *slot)
{
	if (!enter_state(slot, SLOT_RECV))
		return;
	nng_aio_set_timeout(slot->aio, NNG_DURATION_INFINITE);
	nng_ctx_recv(slot->ctx, slot->aio);
}

static void
set_tcp_address(struct bf_link_peer *peer, const nng_sockaddr *sa)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

	if (sa->s_family == NNG_AF_INET) {
		memcpy(peer->addr, mapped, sizeof(mapped));
		memcpy(peer->addr + 12, &sa->s_in.sa_addr, 4);
		peer->port = ntohs(sa->s_in.sa_port);
	} else if (sa->s_family == NNG_AF_INET6) {
		memcpy(peer->addr, sa->s_in6.sa_addr, 16);
		peer->port = ntohs(sa->s_in6.sa_port);
	}
}

static struct bf_link_peer
peer_of(nng_pipe pipe)
{
	struct bf_link_peer peer = {.pipe = (uint32_t)nng_pipe_id(pipe)};
	uint64_t uid = 0, gid = 0, pid = 0;
	nng_sockaddr sa;

	if (nng_pipe_get_uint64(pipe, NNG_OPT_IPC_PEER_UID, &uid) == 0 &&
	    nng_pipe_get_uint64(pipe, NNG_OPT_IPC_PEER_GID, &gid) == 0) {
		nng_pipe_get_uint64(pipe, NNG_OPT_IPC_PEER_PID, &pid);
		peer.local = true;
		peer.uid = (uint32_t)uid;
		peer.gid = (uint32_t)gid;
		peer.pid = (uint32_t)pid;
	} else if (nng_pipe_get_addr(pipe, NNG_OPT_REMADDR, &sa) == 0) {
		set_tcp_address(&peer, &sa);
	}
	return peer;
}

static void
server_pipe_event(nng_pipe pipe, nng_pipe_ev ev, void *arg)
{
	struct bf_link_server *s = arg;
	struct bf_link_peer peer;

	if (ev == NNG_PIPE_EV_REM_POST) {
		s->opts.gone(s->opts.arg, (uint32_t)nng_pipe_id(pipe));
		return;
	}
	peer = peer_of(pipe);
	if (!peer.local && !s->opts.come(s->opts.arg, &peer))
		nng_pipe_close(pipe);
}

void
bf_link_drop(uint32_t pipe)
{
	nng_pipe p = {.id = pipe};

	nng_pipe_close(p);
}

/* A connection that leaves its replies unread is ended before it fills the
 * slots of everybody.
 */
static bool
may_send(struct slot *slot, nng_pipe pipe)
{
	struct bf_link_server *s = slot->server;
	uint32_t unread;

	pthread_mutex_lock(&s->lock);
	slot->pipe = nng_pipe_id(pipe);
	unread = count_unread(s, slot->pipe);
	if (unread < s->opts.max_unread)
		slot->state = SLOT_SEND;
	pthread_mutex_unlock(&s->lock);
	return unread < s->opts.max_unread;
}

static void
serve_request(struct slot *slot, nng_msg *request)
{
	struct bf_link_server *s = slot->server;
	nng_pipe pipe = nng_msg_get_pipe(request);
	struct bf_link_peer peer = peer_of(pipe);
	nng_msg *reply = NULL;

	enter_state(slot, SLOT_WORK);
	bf_buf_reset(&slot->reply);
	s->opts.handler(s->opts.arg, &peer, nng_msg_body(request),
			nng_msg_len(request), &slot->reply);
	nng_msg_free(request);
	if (slot->reply.err || !slot->reply.len ||
	    nng_msg_alloc(&reply, slot->reply.len) != 0 ||
	    !may_send(slot, pipe)) {
		nng_msg_free(reply);
		nng_pipe_close(pipe);
		receive_next(slot);
		return;
	}
	memcpy(nng_msg_body(reply), slot->reply.data, slot->reply.len);
	/* What was grown for one large reply is not kept for small ones. */
	if (slot->reply.cap > 2 * (size_t)BF_PAGE_DEFAULT)
		bf_buf_fini(&slot->reply);
	nng_aio_set_msg(slot->aio, reply);
	nng_aio_set_timeout(slot->aio, (nng_duration)s->opts.send_timeout_ms);
	nng_ctx_send(slot->ctx, slot->aio);
}

static void
slot_event(void *arg)
{
	struct slot *slot = arg;
	int rv = nng_aio_result(slot->aio);
	bool sending = slot->state == SLOT_SEND;

	if (sending && rv != 0) {
		nng_msg_free(nng_aio_get_msg(slot->aio));
		nng_aio_set_msg(slot->aio, NULL);
	}
	if (rv == NNG_ECLOSED || (!sending && rv == NNG_ECANCELED))
		enter_state(slot, SLOT_IDLE);
	else if (sending || rv != 0)
		receive_next(slot);
	else
		serve_request(slot, nng_aio_get_msg(slot->aio));
}

static int
listen_on(struct bf_link_server *s, const char *url, struct bf_err *err)
{
	nng_listener l;
	int rv, ret;
	bool tcp;

	ret = check_scheme(url, err);
	if (ret)
		return ret;
	rv = nng_listener_create(&l, s->sock, url);
	tcp = !strncmp(url, "tcp:", 4);
	if (!rv)
		rv = nng_listener_set_size(l, NNG_OPT_RECVMAXSZ,
					   tcp ? s->opts.max_request_tcp
					       : s->opts.max_request);
	if (!rv && tcp)
		rv = nng_listener_set_bool(l, NNG_OPT_TCP_KEEPALIVE, true);
	if (!rv && !strncmp(url, "ipc:", 4))
		rv = nng_listener_set_int(l, NNG_OPT_IPC_PERMISSIONS,
					  (int)s->opts.socket_mode);
	if (!rv)
		rv = nng_listener_start(l, 0);
	if (rv == NNG_EPERM)
		return bf_err_set(
			err, EACCES,
			"cannot listen on %s: uid %u may not make a "
			"file there: give it the directory, or remove "
			"the directory to have it made",
			url, (unsigned)geteuid());
	if (rv)
		return bf_err_set(err, from_nng(rv), "cannot listen on %s: %s",
				  url, nng_strerror(rv));
	return 0;
}

static int
start_slots(struct bf_link_server *s)
{
	int rv = 0;

	s->slots = calloc(s->opts.n_contexts, sizeof(*s->slots));
	if (!s->slots)
		return NNG_ENOMEM;
	for (uint32_t i = 0; i < s->opts.n_contexts && !rv; i++) {
		struct slot *slot = &s->slots[i];

		slot->server = s;
		bf_buf_init(&slot->reply, s->opts.max_reply);
		rv = nng_aio_alloc(&slot->aio, slot_event, slot);
		if (rv)
			break;
		s->n_slots = i + 1;
		rv = nng_ctx_open(&slot->ctx, s->sock);
	}
	return rv;
}

int
bf_link_listen(struct bf_link_server **out,
	       const struct bf_link_server_opts *opts, struct bf_err *err)
{
	struct bf_link_server *s = calloc(1, sizeof(*s));
	int rv, ret = 0;

	if (!s)
		return bf_err_set(err, ENOMEM, "out of memory");
	s->opts = *opts;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->idle, NULL);
	rv = nng_rep0_open(&s->sock);
	s->sock_open = rv == 0;
	if (!rv && opts->come)
		rv = nng_pipe_notify(s->sock, NNG_PIPE_EV_ADD_PRE,
				     server_pipe_event, s);
	if (!rv && opts->gone)
		rv = nng_pipe_notify(s->sock, NNG_PIPE_EV_REM_POST,
				     server_pipe_event, s);
	if (!rv)
		rv = start_slots(s);
	if (rv)
		ret = bf_err_set(err, from_nng(rv), "cannot start nng: %s",
				 nng_strerror(rv));
	for (size_t i = 0; i < opts->n_urls && !ret; i++)
		ret = listen_on(s, opts->urls[i], err);
	if (ret) {
		bf_link_server_close(s, 0);
		return ret;
	}
	*out = s;
	return 0;
}

void
bf_link_serve(struct bf_link_server *s)
{
	for (uint32_t i = 0; i < s->n_slots; i++)
		receive_next(&s->slots[i]);
}

static void
wait_until_idle(struct bf_link_server *s, uint32_t drain_ms)
{
	struct timespec until = mono_in_ms(drain_ms);
	bool busy = true;
	int rv = 0;

	pthread_mutex_lock(&s->lock);
	while (busy && rv == 0) {
		busy = false;
		for (uint32_t i = 0; i < s->n_slots; i++)
			busy |= s->slots[i].state != SLOT_IDLE;
		if (busy)
			rv = pthread_cond_clockwait(&s->idle, &s->lock,
						    CLOCK_MONOTONIC, &until);
	}
	pthread_mutex_unlock(&s->lock);
}

void
bf_link_server_close(struct bf_link_server *s, uint32_t drain_ms)
{
	if (!s)
		return;
	pthread_mutex_lock(&s->lock);
	s->closing = true;
	pthread_mutex_unlock(&s->lock);
	for (uint32_t i = 0; i < s->n_slots; i++)
		if (s->slots[i].state == SLOT_RECV)
			nng_aio_cancel(s->slots[i].aio);
	if (drain_ms)
		wait_until_idle(s, drain_ms);
	if (s->sock_open)
		nng_close(s->sock);
	for (uint32_t i = 0; i < s->n_slots; i++) {
		nng_aio_stop(s->slots[i].aio);
		nng_aio_free(s->slots[i].aio);
		bf_buf_fini(&s->slots[i].reply);
	}
	pthread_cond_destroy(&s->idle);
	pthread_mutex_destroy(&s->lock);
	free(s->slots);
	free(s);
}

/* --------------------------------------------------------------- client */

struct bf_link_client {
	nng_socket sock;
	pthread_mutex_t lock;
	pthread_cond_t event; /* an answer, or the end of dialing */
	uint32_t pipe;	      /* the connection that stands now; 0: none */
	const char *url;      /* while dialing */
	bool dialed;
	int dial_rv;
};

struct bf_link_call {
	struct bf_link_client *client;
	bool receiving, answered; /* under the client's lock */
	nng_ctx ctx;
	nng_aio *aio;
	bool ctx_open;
};

static void
pipe_event(nng_pipe pipe, nng_pipe_ev ev, void *arg)
{
	struct bf_link_client *c = arg;

	pthread_mutex_lock(&c->lock);
	if (ev == NNG_PIPE_EV_ADD_POST)
		c->pipe = (uint32_t)nng_pipe_id(pipe);
	else if (c->pipe == (uint32_t)nng_pipe_id(pipe))
		c->pipe = 0;
	pthread_mutex_unlock(&c->lock);
}

uint32_t
bf_link_pipe(struct bf_link_client *c)
{
	uint32_t pipe;

	pthread_mutex_lock(&c->lock);
	pipe = c->pipe;
	pthread_mutex_unlock(&c->lock);
	return pipe;
}

static int
set_client_options(struct bf_link_client *c, size_t max_reply)
{
	int rv;

	rv = nng_socket_set_ms(c->sock, NNG_OPT_REQ_RESENDTIME,
			       NNG_DURATION_INFINITE);
	if (!rv)
		rv = nng_socket_set_ms(c->sock, NNG_OPT_RECONNMINT,
				       RECONNECT_MIN_MS);
	if (!rv)
		rv = nng_socket_set_ms(c->sock, NNG_OPT_RECONNMAXT,
				       RECONNECT_MAX_MS);
	if (!rv)
		rv = nng_socket_set_size(c->sock, NNG_OPT_RECVMAXSZ, max_reply);
	if (!rv)
		rv = nng_pipe_notify(c->sock, NNG_PIPE_EV_ADD_POST, pipe_event,
				     c);
	if (!rv)
		rv = nng_pipe_notify(c->sock, NNG_PIPE_EV_REM_POST, pipe_event,
				     c);
	return rv;
}

static void *
dial(void *arg)
{
	struct bf_link_client *c = arg;
	int rv = nng_dial(c->sock, c->url, NULL, 0);

	pthread_mutex_lock(&c->lock);
	c->dial_rv = rv;
	c->dialed = true;
	pthread_cond_broadcast(&c->event);
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

/* nng_dial() tells why it failed, but takes as long as the kernel does to give
 * a silent host up; closing the socket ends it.
 */
static int
dial_until(struct bf_link_client *c, const char *url, struct bf_mono deadline)
{
	struct timespec until = mono_in_ms(
		(uint32_t)bf_min_u64(bf_mono_left_ms(deadline), UINT32_MAX));
	pthread_t thread;
	bool in_time;
	int rv = 0;

	c->url = url;
	if (pthread_create(&thread, NULL, dial, c))
		return NNG_ENOMEM;
	pthread_mutex_lock(&c->lock);
	while (!c->dialed && rv == 0)
		rv = pthread_cond_clockwait(&c->event, &c->lock,
					    CLOCK_MONOTONIC, &until);
	in_time = c->dialed;
	pthread_mutex_unlock(&c->lock);
	if (!in_time)
		nng_close(c->sock);
	pthread_join(thread, NULL);
	return in_time ? c->dial_rv : NNG_ETIMEDOUT;
}

static const char *
why_not_dialed(int rv)
{
	switch (rv) {
	case NNG_ECONNREFUSED:
	case NNG_ENOENT:
		return "no agent listens there";
	case NNG_ETIMEDOUT:
		return "no connection in time";
	case NNG_EADDRINVAL:
		return "no address of that name";
	default:
		return nng_strerror(rv);
	}
}

int
bf_link_dial(struct bf_link_client **out, const char *url, size_t max_reply,
	     struct bf_mono deadline, struct bf_err *err)
{
	struct bf_link_client *c = NULL;
	int rv, ret;

	ret = check_scheme(url, err);
	if (ret)
		return ret;
	c = calloc(1, sizeof(*c));
	if (!c)
		return bf_err_set(err, ENOMEM, "out of memory");
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->event, NULL);
	rv = nng_req0_open(&c->sock);
	if (!rv)
		rv = set_client_options(c, max_reply);
	if (!rv && !strncmp(url, "tcp:", 4))
		rv = dial_until(c, url, deadline);
	else if (!rv)
		rv = nng_dial(c->sock, url, NULL, 0);
	if (rv) {
		bf_link_client_close(c);
		return bf_err_set(err, from_nng(rv), "%s: %s", url,
				  why_not_dialed(rv));
	}
	*out = c;
	return 0;
}

void
bf_link_client_close(struct bf_link_client *c)
{
	if (!c)
		return;
	nng_close(c->sock);
	pthread_cond_destroy(&c->event);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* Sent or answered; both may have failed. */
static void
call_event(void *arg)
{
	struct bf_link_call *call = arg;

	pthread_mutex_lock(&call->client->lock);
	call->answered = call->receiving;
	pthread_cond_broadcast(&call->client->event);
	pthread_mutex_unlock(&call->client->lock);
}

static void
free_call(struct bf_link_call *call)
{
	if (call->ctx_open)
		nng_ctx_close(call->ctx);
	if (call->aio) {
		nng_aio_stop(call->aio);
		nng_aio_free(call->aio);
	}
	free(call);
}

/* Waits until the request is on its way, or no connection is to be had. */
static int
send_request(struct bf_link_client *c, struct bf_link_call *call,
	     const struct bf_buf *request, struct bf_mono deadline)
{
	uint64_t ms = bf_mono_left_ms(deadline);
	bool connected = bf_link_pipe(c) != 0;
	nng_msg *msg = NULL;
	int rv;

	rv = nng_msg_alloc(&msg, request->len);
	if (rv)
		return rv;
	memcpy(nng_msg_body(msg), request->data, request->len);
	if (!connected)
		ms = bf_min_u64(ms, NO_PIPE_WAIT_MS);
	nng_aio_set_msg(call->aio, msg);
	nng_aio_set_timeout(call->aio, (nng_duration)bf_min_u64(ms, INT32_MAX));
	nng_ctx_send(call->ctx, call->aio);
	nng_aio_wait(call->aio);
	rv = nng_aio_result(call->aio);
	if (rv) {
		nng_msg_free(nng_aio_get_msg(call->aio));
		nng_aio_set_msg(call->aio, NULL);
	}
	return rv == NNG_ETIMEDOUT && !connected ? NNG_ECONNREFUSED : rv;
}

int
bf_link_start(struct bf_link_call **out, struct bf_link_client *client,
	      const struct bf_buf *request, struct bf_mono deadline,
	      struct bf_err *err)
{
	struct bf_link_call *call = calloc(1, sizeof(*call));
	int rv;

	if (!call)
		return bf_err_set(err, ENOMEM, "out of memory");
	call->client = client;
	rv = nng_aio_alloc(&call->aio, call_event, call);
	if (!rv) {
		rv = nng_ctx_open(&call->ctx, client->sock);
		call->ctx_open = rv == 0;
	}
	if (!rv)
		rv = send_request(client, call, request, deadline);
	if (rv) {
		free_call(call);
		return bf_err_set(err, from_nng(rv),
				  "request could not be sent: %s",
				  nng_strerror(rv));
	}
	nng_aio_set_timeout(
		call->aio,
		(nng_duration)bf_min_u64(bf_mono_left_ms(deadline), INT32_MAX));
	pthread_mutex_lock(&client->lock);
	call->receiving = true;
	pthread_mutex_unlock(&client->lock);
	nng_ctx_recv(call->ctx, call->aio);
	*out = call;
	return 0;
}

int
bf_link_wait(struct bf_link_call *call, struct bf_link_reply *reply,
	     struct bf_err *err)
{
	nng_msg *msg;
	int rv;

	*reply = (struct bf_link_reply){0};
	nng_aio_wait(call->aio);
	rv = nng_aio_result(call->aio);
	if (!rv) {
		msg = nng_aio_get_msg(call->aio);
		reply->msg = msg;
		reply->data = nng_msg_body(msg);
		reply->len = nng_msg_len(msg);
	}
	free_call(call);
	if (rv == NNG_ETIMEDOUT)
		return bf_err_set(err, BF_ETIMEOUT, "no answer in time");
	if (rv)
		return bf_err_set(err, from_nng(rv), "connection lost: %s",
				  nng_strerror(rv));
	return 0;
}

/*
 * nng 1.5 can hang for ever in nng_close() if the answer to a call that was
 * cancelled comes in at that moment: an answer that is due is let in first.
 */
static void
await_answer(struct bf_link_call *call)
{
	struct timespec until = mono_in_ms(CANCEL_WAIT_MS);
	int rv = 0;

	pthread_mutex_lock(&call->client->lock);
	while (!call->answered && rv == 0)
		rv = pthread_cond_clockwait(&call->client->event,
					    &call->client->lock,
					    CLOCK_MONOTONIC, &until);
	pthread_mutex_unlock(&call->client->lock);
}

void
bf_link_cancel(struct bf_link_call *call)
{
	nng_msg *msg;

	if (!call)
		return;
	await_answer(call);
	nng_aio_cancel(call->aio);
	nng_aio_wait(call->aio);
	if (nng_aio_result(call->aio) == 0) {
		msg = nng_aio_get_msg(call->aio);
		nng_msg_free(msg);
	}
	free_call(call);
}

void
bf_link_reply_free(struct bf_link_reply *reply)
{
	nng_msg_free(reply->msg);
	*reply = (struct bf_link_reply){0};
}
