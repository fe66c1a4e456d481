// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * session - opens a session and carries its calls
 */
#include "client/lib/session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define CONNECT_TIMEOUT_MS 5000u
#define TIMEOUT_MS 30000u
#define REPLY_MAX (BF_REPLY_MAX + BF_FRAME_BYTES + BF_CHANNEL_OVERHEAD)
#define BACKOFF_MIN_MS 20u
#define BACKOFF_MAX_MS 500u

#define SAME(x) _Static_assert((int)BPFLEET_##x == (int)BF_##x, #x)
SAME(EPROTO);
SAME(EVERSION);
SAME(EOPERATION);
SAME(EDENIED);
SAME(ENOMAP);
SAME(EGONE);
SAME(EREPLACED);
SAME(ECURSOR);
SAME(EUNREADABLE);
SAME(ETOOBIG);
SAME(EBUSY);
SAME(EARGUMENT);
SAME(EKERNEL);
SAME(EUNREACHABLE);
SAME(ETIMEOUT);
SAME(ENOKEY);
SAME(EPERMISSION);
SAME(EINTERNAL);
SAME(EHOSTKEY);
SAME(EXACT);
SAME(FAST);
SAME(MAY_REPEAT);
SAME(INCOMPLETE);

const char *
bpfleet_strerror(int code)
{
	return bf_err_str(code);
}

const char *
bpfleet_version(void)
{
	return BF_VERSION;
}

const char *
bpfleet_coherence_str(int coherence)
{
	return bf_coherence_str((enum bf_coherence)coherence);
}

int(bf_session_error)(const struct bpfleet *b, struct bpfleet_error *out,
		      const struct bf_err *from)
{
	if (out) {
		out->code = from->code;
		snprintf(out->host, sizeof(out->host), "%s",
			 b && b->address ? b->address : "");
		snprintf(out->message, sizeof(out->message), "%s", from->text);
		for (char *p = out->message; *p; p++)
			if ((unsigned char)*p < 0x20 || *p == 0x7f)
				*p = '?';
	}
	return -from->code;
}

int
bf_session_opts(void *out, size_t out_size, const void *opts,
		struct bpfleet_error *err)
{
	struct bf_err e;
	size_t sz;

	memset(out, 0, out_size);
	if (!opts)
		return 0;
	memcpy(&sz, opts, sizeof(sz));
	if (sz < sizeof(sz) || sz > 4096) {
		bf_err_set(&e, BF_EARGUMENT,
			   "an option struct whose sz is %zu: set it to sizeof",
			   sz);
		return bf_session_error(NULL, err, &e);
	}
	memcpy(out, opts, sz < out_size ? sz : out_size);
	return 0;
}

int
bf_session_ref(struct bf_map_ref *out, const struct bpfleet *b,
	       const struct bpfleet_map_ref *map, struct bpfleet_error *err)
{
	struct bpfleet_map_ref ref;
	struct bf_err e;
	int ret;

	ret = bf_session_opts(&ref, sizeof(ref), map, err);
	if (ret)
		return ret;
	if ((!ref.id && !ref.pin) ||
	    (ref.pin && (!ref.pin[0] || strlen(ref.pin) >= BF_PATH_MAX))) {
		bf_err_set(&e, BF_EARGUMENT,
			   "a map is named by an id above 0, or a pin's path");
		return bf_session_error(b, err, &e);
	}
	*out = (struct bf_map_ref){.id = ref.id, .pin = ref.pin};
	return 0;
}

int
bf_session_same_map(const struct bf_map_ref *asked, uint32_t answered,
		    struct bf_err *err)
{
	if (!asked->id || answered == asked->id)
		return 0;
	return bf_err_set(err, BF_EREPLACED,
			  "the agent answered for map id %u, not %u", answered,
			  asked->id);
}

/* ---------------------------------------------------------------- calls */

void
bf_session_begin(struct bpfleet *b, struct bf_session_call *call,
		 enum bf_method method)
{
	struct bf_frame frame = {
		.version = BF_PROTOCOL_VERSION,
		.kind = BF_FRAME_REQUEST,
		.method = (uint16_t)method,
	};

	*call = (struct bf_session_call){
		.id = ++b->next_id,
		.method = (uint16_t)method,
	};
	frame.id = call->id;
	bf_buf_init(&call->request, BF_REQUEST_MAX + BF_FRAME_BYTES);
	bf_frame_begin(&call->request, &frame);
}

void
bf_session_call_fini(struct bf_session_call *call)
{
	bf_link_cancel(call->pending);
	bf_secure_put(call->channel);
	bf_buf_fini(&call->request);
	*call = (struct bf_session_call){0};
}

void
bf_session_answer_fini(struct bf_session_answer *answer)
{
	bf_link_reply_free(&answer->reply);
	*answer = (struct bf_session_answer){0};
}

static void
put_hello(struct bpfleet *b, struct bf_session_call *call)
{
	const struct bf_hello_req hello = {
		.version_min = BF_PROTOCOL_VERSION,
		.version_max = BF_PROTOCOL_VERSION,
		.client = "libbpfleet " BF_VERSION,
	};

	bf_session_begin(b, call, BF_HELLO);
	bf_put_hello_req(&call->request, &hello);
}

/* A new session for a new connection. */
static int
shake_hands(struct bpfleet *b, struct bf_mono until, struct bf_err *err)
{
	struct bf_link_reply reply = {0};
	struct bf_session_call call;
	int ret;

	put_hello(b, &call);
	bf_frame_finish(&call.request, 0);
	ret = bf_secure_handshake(b->secure, b->link, &call.request, until,
				  &reply, err);
	bf_link_reply_free(&reply);
	bf_session_call_fini(&call);
	return ret;
}

static int
send_sealed(struct bpfleet *b, struct bf_session_call *call,
	    struct bf_mono until, struct bf_err *err)
{
	struct bf_buf sealed;
	int ret;

	bf_secure_put(call->channel);
	call->channel = NULL;
	bf_buf_init(&sealed, BF_REQUEST_MAX_TCP + 4096);
	ret = bf_secure_seal(b->secure, b->link, &call->request, &sealed,
			     &call->channel, err);
	if (ret == -BF_ESESSION) {
		ret = shake_hands(b, until, err);
		if (!ret)
			ret = bf_secure_seal(b->secure, b->link, &call->request,
					     &sealed, &call->channel, err);
	}
	if (!ret)
		ret = bf_link_start(&call->pending, b->link, &sealed, until,
				    err);
	bf_buf_fini(&sealed);
	return ret;
}

static int
send_call(struct bpfleet *b, struct bf_session_call *call, struct bf_err *err)
{
	struct bf_mono until = bf_mono_after_ms(bf_mono_now(), b->timeout_ms);
	uint32_t max = BF_REQUEST_MAX;

	/* An agent may take less than this build would send. */
	if (b->hello.max_request_bytes && b->hello.max_request_bytes < max)
		max = b->hello.max_request_bytes;
	if (call->request.err == -EMSGSIZE ||
	    call->request.len > max + BF_FRAME_BYTES)
		return bf_err_set(err, BF_ETOOBIG,
				  "request above the limit of %u bytes: ask "
				  "for less at once",
				  max);
	if (call->request.err)
		return bf_err_set(err, ENOMEM, "out of memory");
	bf_frame_finish(&call->request, 0);
	if (b->secure)
		return send_sealed(b, call, until, err);
	return bf_link_start(&call->pending, b->link, &call->request, until,
			     err);
}

void
bf_session_start(struct bpfleet *b, struct bf_session_call *call)
{
	struct bf_err ignored;

	if (send_call(b, call, &ignored))
		call->pending = NULL;
}

/* What an error frame says. Returns: its code, negative. */
static int
take_error(const uint8_t *body, size_t len, struct bf_err *err)
{
	struct bf_error_reply e;
	int ret;

	ret = bf_get_error(&e, body, len, err);
	if (ret)
		return ret;
	ret = bf_err_set(err, (int)e.code, "%s", e.message);
	bf_codec_free(e.owner);
	return ret;
}

static int
take_answer(const struct bf_session_call *call,
	    struct bf_session_answer *answer, struct bf_err *err)
{
	struct bf_frame frame;
	bool ours;
	int ret;

	ret = bf_frame_parse(&frame, &answer->body, answer->reply.data,
			     answer->reply.len, err);
	if (ret)
		return ret;
	answer->len = frame.body_len;
	/* An agent that could not read the id answers with 0. */
	ours = frame.id == call->id && frame.method == call->method;
	if (frame.kind == BF_FRAME_ERROR && (ours || frame.id == 0))
		return take_error(answer->body, answer->len, err);
	if (frame.kind != BF_FRAME_REPLY || !ours)
		return bf_err_set(err, BF_EPROTO,
				  "the answer is not to this request");
	return 0;
}

/* The first call over tcp goes with the handshake. */
static int
hello_secure(struct bpfleet *b, struct bf_session_call *call,
	     struct bf_session_answer *answer, struct bf_err *err)
{
	struct bf_mono until = bf_mono_after_ms(bf_mono_now(), b->timeout_ms);
	int ret;

	bf_frame_finish(&call->request, 0);
	ret = bf_secure_handshake(b->secure, b->link, &call->request, until,
				  &answer->reply, err);
	if (!ret)
		ret = take_answer(call, answer, err);
	if (ret)
		bf_session_answer_fini(answer);
	return ret;
}

static int
try_once(struct bpfleet *b, struct bf_session_call *call,
	 struct bf_session_answer *answer, struct bf_err *err)
{
	struct bf_link_call *pending;
	int ret = 0;

	if (b->secure && call->method == BF_HELLO)
		return hello_secure(b, call, answer, err);
	if (!call->pending)
		ret = send_call(b, call, err);
	if (ret)
		return ret;
	pending = call->pending;
	call->pending = NULL;
	ret = bf_link_wait(pending, &answer->reply, err);
	if (!ret && b->secure)
		ret = bf_secure_open(call->channel, &answer->reply, err);
	if (!ret)
		ret = take_answer(call, answer, err);
	if (ret)
		bf_session_answer_fini(answer);
	return ret;
}

static void
sleep_ms(uint32_t ms)
{
	const struct timespec ts = {
		.tv_sec = (time_t)(ms / 1000),
		.tv_nsec = (long)(ms % 1000) * 1000000,
	};

	nanosleep(&ts, NULL);
}

int
bf_session_finish(struct bpfleet *b, struct bf_session_call *call,
		  struct bf_session_answer *answer, struct bpfleet_error *err)
{
	struct bf_mono give_up = {0};
	uint32_t wait_ms = BACKOFF_MIN_MS;
	struct bf_err e = {0};
	int ret;

	for (;;) {
		*answer = (struct bf_session_answer){0};
		ret = try_once(b, call, answer, &e);
		if (ret != -BF_EUNREACHABLE && ret != -BF_EBUSY &&
		    ret != -BF_ESESSION)
			break;
		/* The time counts from the first failure. */
		if (!give_up.ns)
			give_up = bf_mono_after_ms(bf_mono_now(),
						   b->connect_timeout_ms);
		if (bf_mono_passed(give_up))
			break;
		sleep_ms(wait_ms);
		wait_ms = (uint32_t)bf_min_u64((uint64_t)wait_ms * 2,
					       BACKOFF_MAX_MS);
	}
	if (ret == -BF_EUNREACHABLE || ret == -BF_ESESSION)
		ret = bf_err_set(
			&e, BF_EUNREACHABLE,
			"%s: the agent went away and did not come back "
			"within %u ms",
			b->address, b->connect_timeout_ms);
	if (ret == -BF_ETIMEOUT)
		bf_err_set(&e, BF_ETIMEOUT, "%s: no answer within %u ms",
			   b->address, b->timeout_ms);
	return ret ? bf_session_error(b, err, &e) : 0;
}

/* -------------------------------------------------------------- opening */

static int
take_hello(struct bpfleet *b, const struct bf_session_answer *answer,
	   struct bf_err *err)
{
	int ret;

	ret = bf_get_hello_reply(&b->hello, answer->body, answer->len, err);
	if (!ret && b->hello.version != BF_PROTOCOL_VERSION)
		ret = bf_err_set(err, BF_EVERSION,
				 "%s: %s chose protocol version %u, this "
				 "library speaks %u",
				 b->address, b->hello.agent, b->hello.version,
				 BF_PROTOCOL_VERSION);
	return ret;
}

static int
exchange_hello(struct bpfleet *b, struct bpfleet_error *err)
{
	struct bf_mono began = bf_mono_now();
	struct bf_session_answer answer = {0};
	struct bf_session_call call;
	uint64_t latency_ns = 0;
	struct bf_err e;
	int ret;

	put_hello(b, &call);
	ret = bf_session_finish(b, &call, &answer, err);
	if (!ret) {
		latency_ns = bf_mono_now().ns - began.ns;
		ret = take_hello(b, &answer, &e);
		if (ret)
			ret = bf_session_error(b, err, &e);
	}
	bf_session_answer_fini(&answer);
	bf_session_call_fini(&call);
	if (ret)
		return ret;
	b->host = (struct bpfleet_host){
		.name = b->hello.host,
		.address = b->address,
		.agent = b->hello.agent,
		.kernel = b->hello.kernel,
		.limits = b->hello.limits,
		.n_possible_cpus = b->hello.n_possible_cpus,
		.protocol = b->hello.version,
		.latency_ns = latency_ns,
		.private_agent = b->agent.pid > 0,
	};
	memcpy(b->host.boot_id, b->hello.boot_id, sizeof(b->host.boot_id));
	return 0;
}

/* Nobody listens at the default address: start an agent, if we may. */
static int
dial_private(struct bpfleet *b, const struct bpfleet_open_opts *opts,
	     struct bf_err *err)
{
	struct bf_mono until =
		bf_mono_after_ms(bf_mono_now(), b->connect_timeout_ms);
	int ret;

	if (geteuid() != 0)
		return bf_err_set(err, BF_EUNREACHABLE,
				  "no agent listens on %s, and only root can "
				  "start a private one: start bpfleetd, or run "
				  "as root",
				  &BPFLEET_DEFAULT_ADDRESS[strlen("ipc://")]);
	ret = bf_private_agent_start(&b->agent, opts->agent_path,
				     b->connect_timeout_ms, err);
	if (!ret)
		ret = bf_link_dial(&b->link, b->agent.url, REPLY_MAX, until,
				   err);
	return ret;
}

static int
dial(struct bpfleet *b, const struct bpfleet_open_opts *opts, bool by_default,
     struct bpfleet_error *err)
{
	struct bf_mono until =
		bf_mono_after_ms(bf_mono_now(), b->connect_timeout_ms);
	const struct bf_secure_opts secure = {
		.address = b->address,
		.key_file = opts->key_file,
		.known_agents = opts->known_agents,
		.trust_new = opts->trust_new,
	};
	struct bf_err e = {0};
	int ret = 0;

	if (!strncmp(b->address, "tcp://", 6))
		ret = bf_secure_new(&b->secure, &secure, &e);
	if (ret)
		return bf_session_error(b, err, &e);
	ret = bf_link_dial(&b->link, b->address, REPLY_MAX, until, &e);
	if (ret == -BF_EUNREACHABLE && by_default &&
	    opts->flags & BPFLEET_PRIVATE_AGENT)
		ret = dial_private(b, opts, &e);
	else if (ret == -BF_EDENIED)
		bf_err_set(&e, BF_EDENIED,
			   "%s: permission denied: run as root, or have "
			   "allow-users name you in the agent's settings",
			   b->address);
	return ret ? bf_session_error(b, err, &e) : 0;
}

int
bpfleet_open(struct bpfleet **out, const char *address,
	     const struct bpfleet_open_opts *opts, struct bpfleet_error *err)
{
	struct bpfleet_open_opts o;
	struct bpfleet *b = NULL;
	struct bf_err e;
	int ret;

	ret = bf_session_opts(&o, sizeof(o), opts, err);
	if (ret)
		return ret;
	b = calloc(1, sizeof(*b));
	if (b)
		b->address =
			strdup(address ? address : BPFLEET_DEFAULT_ADDRESS);
	if (!b || !b->address) {
		free(b);
		bf_err_set(&e, ENOMEM, "out of memory");
		return bf_session_error(NULL, err, &e);
	}
	b->agent.lifeline = -1;
	b->connect_timeout_ms = o.connect_timeout_ms ? o.connect_timeout_ms
						     : CONNECT_TIMEOUT_MS;
	b->timeout_ms = o.timeout_ms ? o.timeout_ms : TIMEOUT_MS;
	ret = dial(b, &o, !address, err);
	if (!ret)
		ret = exchange_hello(b, err);
	if (ret) {
		bpfleet_close(b);
		return ret;
	}
	*out = b;
	return 0;
}

void
bpfleet_close(struct bpfleet *b)
{
	if (!b)
		return;
	bf_link_client_close(b->link);
	bf_secure_free(b->secure);
	bf_private_agent_stop(&b->agent);
	bf_codec_free(b->hello.owner);
	free(b->address);
	free(b);
}

const struct bpfleet_host *
bpfleet_host_get(const struct bpfleet *b)
{
	return &b->host;
}
