// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * rpc - checks a request and calls its handler
 */
#include "server/rpc.h"

#include "common/codec.h"
#include "common/frame.h"
#include "common/log.h"
#include "server/audit.h"
#include "server/metrics.h"
#include "server/read_select.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One request on its way: from bytes to a method and its body. */
struct request {
	const struct bf_rpc *rpc;
	const struct bf_link_peer *peer;
	uint8_t *bytes; /* the frame; then the one that was sealed in it */
	size_t n_bytes;
	struct bf_frame frame;
	struct bf_session *session; /* tcp, after the session check */
	struct bf_buf first;	    /* what came with handshake message 3 */
	bool answered;		    /* out is the whole answer */
	size_t method;		    /* index into methods[] */
	const uint8_t *body;
	size_t len;
	struct bf_buf *out; /* the reply's body is appended */
	uint64_t held;	    /* of the memory all requests share */
	struct bf_err err;
	/* For the audit line. */
	uint32_t map_id;
	char map_name[BF_NAME_MAX + 1], pin[256];
	uint64_t n_entries;
	enum bf_coherence coherence;
};

/* ------------------------------------------------------------- handlers */

static int handle_hello(struct request *r);
static int handle_list(struct request *r);
static int handle_show(struct request *r);
static int handle_dump(struct request *r);
static int handle_lookup(struct request *r);
static int handle_peek(struct request *r);

static const struct {
	uint32_t method;
	size_t max_body; /* bytes */
	int (*handler)(struct request *r);
} methods[] = {
	{BF_HELLO, 4096, handle_hello},
	{BF_LIST_MAPS, 4096, handle_list},
	{BF_SHOW_MAP, 8192, handle_show},
	{BF_DUMP, 8192 + BF_CURSOR_MAX, handle_dump},
	{BF_LOOKUP, BF_REQUEST_MAX, handle_lookup},
	{BF_PEEK, 8192, handle_peek},
};

static int
handle_hello(struct request *r)
{
	const struct bf_rpc *rpc = r->rpc;
	uint32_t numbers[BF_ARRAY_SIZE(methods)];
	struct bf_hello_req req;
	struct bf_hello_reply reply = {
		.version = BF_PROTOCOL_VERSION,
		.agent = "bpfleetd " BF_VERSION,
		.host = rpc->host,
		.kernel = rpc->kernel,
		.limits = rpc->setup->limits,
		.n_possible_cpus = bf_map_possible_cpus(),
		.max_request_bytes =
			r->peer->local ? BF_REQUEST_MAX : BF_REQUEST_MAX_TCP,
		.max_reply_bytes = BF_REPLY_MAX,
		.methods = numbers,
		.n_methods = BF_ARRAY_SIZE(methods),
	};
	int ret;

	ret = bf_get_hello_req(&req, r->body, r->len, &r->err);
	if (ret)
		return ret;
	if (req.version_min > BF_PROTOCOL_VERSION ||
	    req.version_max < BF_PROTOCOL_VERSION)
		ret = bf_err_set(&r->err, BF_EVERSION,
				 "the client speaks protocol versions %u to "
				 "%u, the agent only %u",
				 req.version_min, req.version_max,
				 BF_PROTOCOL_VERSION);
	bf_codec_free(req.owner);
	if (ret)
		return ret;
	for (size_t i = 0; i < BF_ARRAY_SIZE(methods); i++)
		numbers[i] = methods[i].method;
	memcpy(reply.boot_id, rpc->agent.boot_id, sizeof(reply.boot_id));
	bf_put_hello_reply(r->out, &reply);
	return 0;
}

/* As the broker knows it. */
static uint32_t
client_of(const struct request *r)
{
	return r->session ? r->session->client_index + 1 : 0;
}

/* What the agent makes of a map's info. */
static struct bf_map_entry
entry_of(const struct bf_map_info *info)
{
	struct bf_map_entry e = {.info = *info, .n_slots = 1};
	const char *why = bf_map_unreadable(info);
	struct bf_map map;

	e.slot_size = info->value_size;
	e.unreadable = why ? why : "";
	if (info->error) {
		e.unreadable = "it could not be opened";
	} else if (bf_map_init(&map, -1, info, NULL)) {
		e.unreadable = "one entry is above the limit of the protocol";
	} else {
		e.n_slots = map.shape.n_slots;
		e.slot_size = map.shape.slot_size;
	}
	return e;
}

/* The pins of the reply's i-th map; points into the reply. */
static size_t
pins_of(const struct bf_broker_reply *reply, uint32_t i, const char **pins,
	size_t cap)
{
	const char *p = reply->pins, *end = p + reply->pins_len;
	size_t n = 0;

	while (p < end) {
		if ((uint8_t)*p == i && n < cap)
			pins[n++] = p + 1;
		p += strlen(p + 1) + 2;
	}
	return n;
}

static int
handle_list(struct request *r)
{
	struct bf_broker_req ask = {
		.op = BF_BROKER_LIST,
		.client = client_of(r),
	};
	struct bf_broker_reply *got = malloc(sizeof(*got));
	struct bf_map_entry entries[BF_LIST_MAX];
	const char *pins[BF_LIST_MAX][16];
	struct bf_list_reply reply = {.maps = entries};
	struct bf_list_req req = {0};
	int ret;

	ret = bf_get_list_req(&req, r->body, r->len, &r->err);
	if (!ret && !got)
		ret = bf_err_set(&r->err, ENOMEM, "out of memory");
	if (ret)
		goto out;
	ask.id = req.after_id;
	ask.flags =
		(req.pins ? BF_BROKER_WANT_PINS : 0) | BF_BROKER_WANT_DETAILS;
	ret = bf_broker_call(r->rpc->broker, &ask, got, NULL, &r->err);
	if (ret)
		goto out;
	for (uint32_t i = 0; i < got->n; i++) {
		struct bf_map_entry *e = &entries[reply.n_maps];

		if (req.name_glob[0] &&
		    fnmatch(req.name_glob, got->infos[i].name, 0) != 0)
			continue;
		*e = entry_of(&got->infos[i]);
		e->pins = pins[reply.n_maps];
		e->n_pins = pins_of(got, i, pins[reply.n_maps],
				    BF_ARRAY_SIZE(pins[0]));
		reply.n_maps++;
	}
	reply.end = got->end;
	reply.next_after_id = got->next_after_id;
	reply.limits = got->limits;
	r->n_entries = reply.n_maps;
	bf_put_list_reply(r->out, &reply);
out:
	bf_codec_free(req.owner);
	free(got);
	return ret;
}

/* Opens the map that a request names; reply may be NULL. */
static int
open_map(struct request *r, const struct bf_map_ref *ref, struct bf_map *map,
	 struct bf_broker_reply *reply, uint32_t flags)
{
	struct bf_broker_req ask = {
		.op = BF_BROKER_OPEN,
		.id = ref->id,
		.flags = flags,
		.client = client_of(r),
	};
	struct bf_broker_reply *got = reply ? reply : malloc(sizeof(*got));
	int fd = -1, ret;

	map->fd = -1;
	if (!got)
		return bf_err_set(&r->err, ENOMEM, "out of memory");
	if (ref->pin) {
		strncpy(ask.pin, ref->pin, sizeof(ask.pin) - 1);
		strncpy(r->pin, ref->pin, sizeof(r->pin) - 1);
	}
	ret = bf_broker_call(r->rpc->broker, &ask, got, &fd, &r->err);
	r->map_id = ret ? ref->id : got->infos[0].id;
	if (!ret)
		memcpy(r->map_name, got->infos[0].name, sizeof(r->map_name));
	if (!ret && fd < 0 && !reply)
		ret = bf_err_set(&r->err, BF_EUNREADABLE,
				 "map id %u cannot be read: %s", ref->id,
				 bf_map_unreadable(&got->infos[0])
					 ? bf_map_unreadable(&got->infos[0])
					 : "the kernel gives no fd to read it");
	if (!ret && !reply) {
		ret = bf_map_init(map, fd, &got->infos[0], &r->err);
		if (!ret)
			fd = -1;
	}
	if (fd >= 0)
		close(fd);
	if (!reply)
		free(got);
	return ret;
}

static void
close_map(struct bf_map *map)
{
	if (map->fd >= 0)
		close(map->fd);
	map->fd = -1;
}

static int
handle_show(struct request *r)
{
	struct bf_engine_info engines[BF_N_ENGINES];
	struct bf_broker_reply *got = malloc(sizeof(*got));
	struct bf_show_reply reply = {.engines = engines};
	struct bf_show_req req = {0};
	const char *pins[64];
	struct bf_map map;
	int ret;

	ret = bf_get_show_req(&req, r->body, r->len, &r->err);
	if (!ret && !got)
		ret = bf_err_set(&r->err, ENOMEM, "out of memory");
	if (!ret)
		ret = open_map(r, &req.map, &map, got,
			       BF_BROKER_WANT_PINS | BF_BROKER_WANT_DETAILS);
	if (!ret) {
		reply.map = entry_of(&got->infos[0]);
		reply.map.pins = pins;
		reply.map.n_pins = pins_of(got, 0, pins, BF_ARRAY_SIZE(pins));
		map.info = got->infos[0];
		map.traits = bf_map_traits(map.info.type);
		for (size_t i = 0; i < BF_N_ENGINES; i++) {
			const char *why = bf_engines[i]->why_not(&map);

			engines[i] = (struct bf_engine_info){
				.name = bf_engines[i]->name,
				.usable = !why,
				.why = why ? why : "",
			};
		}
		reply.n_engines = BF_N_ENGINES;
		bf_put_show_reply(r->out, &reply);
	}
	bf_codec_free(req.owner);
	free(got);
	return ret;
}

static int
handle_dump(struct request *r)
{
	struct bf_dump_reply reply = {0};
	struct bf_map map = {.fd = -1};
	struct bf_dump_req req = {0};
	struct bf_buf cursor;
	int ret;

	bf_buf_init(&cursor, BF_CURSOR_MAX);
	ret = bf_get_dump_req(&req, r->body, r->len, &r->err);
	if (!ret)
		ret = open_map(r, &req.map, &map, NULL, 0);
	if (!ret)
		ret = bf_dump_page(&r->rpc->agent, &map, &req, &reply.page,
				   &cursor, &r->held, &r->err);
	if (!ret) {
		reply.cursor = cursor.data;
		reply.cursor_len = cursor.len;
		reply.count_only = req.count_only;
		r->n_entries = reply.page.n;
		r->coherence = reply.page.coherence;
		bf_put_dump_reply(r->out, &reply);
	}
	bf_page_fini(&reply.page);
	bf_buf_fini(&cursor);
	close_map(&map);
	bf_codec_free(req.owner);
	return ret;
}

static int
handle_lookup(struct request *r)
{
	struct bf_lookup_reply reply = {0};
	struct bf_map map = {.fd = -1};
	struct bf_lookup_req req = {0};
	struct bf_buf columns;
	int ret;

	bf_buf_init(&columns, BF_PAGE_MAX + 1);
	ret = bf_get_lookup_req(&req, r->body, r->len, &r->err);
	if (!ret)
		ret = open_map(r, &req.map, &map, NULL, 0);
	if (!ret)
		ret = bf_dump_lookup(&map, &req, &reply, &columns, &r->held,
				     &r->err);
	if (!ret)
		bf_put_lookup_reply(r->out, &reply);
	r->n_entries = ret ? 0 : reply.n;
	bf_buf_fini(&columns);
	close_map(&map);
	bf_codec_free(req.owner);
	return ret;
}

static int
handle_peek(struct request *r)
{
	struct bf_lookup_reply reply = {0};
	struct bf_map map = {.fd = -1};
	struct bf_peek_req req = {0};
	struct bf_buf columns;
	int ret;

	bf_buf_init(&columns, BF_PAGE_MAX + 1);
	ret = bf_get_peek_req(&req, r->body, r->len, &r->err);
	if (!ret)
		ret = open_map(r, &req.map, &map, NULL, 0);
	if (!ret)
		ret = bf_dump_peek(&map, &reply, &columns, &r->err);
	if (!ret)
		bf_put_peek_reply(r->out, &reply);
	r->n_entries = ret ? 0 : reply.n;
	bf_buf_fini(&columns);
	close_map(&map);
	bf_codec_free(req.owner);
	return ret;
}

/* --------------------------------------------------------------- checks */

static int
check_source(struct request *r)
{
	const struct bf_worker_setup *s = r->rpc->setup;
	const struct bf_link_peer *peer = r->peer;

	/* Who may not come over tcp was turned away when it connected. */
	if (!peer->local && r->rpc->gate)
		return 0;
	if (peer->local) {
		if (peer->uid == 0 || peer->uid == s->owner_uid)
			return 0;
		for (uint32_t i = 0; i < s->n_allow_uids; i++)
			if (s->allow_uids[i] == peer->uid)
				return 0;
		for (uint32_t i = 0; i < s->n_allow_gids; i++)
			if (s->allow_gids[i] == peer->gid)
				return 0;
	}
	return bf_err_set(&r->err, BF_EDENIED,
			  "denied: this agent serves root and the users that "
			  "its allow-users and allow-groups name");
}

static int
check_length(struct request *r)
{
	return bf_frame_parse(&r->frame, &r->body, r->bytes, r->n_bytes,
			      &r->err);
}

/* The plain frame that a message carried becomes the request. */
static int
take_inner(struct request *r, uint8_t *bytes, size_t len)
{
	r->bytes = bytes;
	r->n_bytes = len;
	return check_length(r);
}

/* Over tcp: a handshake message, or a frame of a session. */
static int
check_session(struct request *r)
{
	struct bf_gate *gate = r->rpc->gate;
	int ret;

	if (r->peer->local)
		return 0;
	if (r->frame.kind == BF_FRAME_HANDSHAKE) {
		ret = bf_gate_handshake(gate, r->peer, &r->frame, r->body,
					r->out, &r->session, &r->first,
					&r->err);
		r->answered = !ret && !r->session;
		return ret;
	}
	if (r->frame.kind != BF_FRAME_SEALED)
		return bf_err_set(&r->err, BF_EPROTO,
				  "over tcp all begins with a handshake");
	r->session = bf_gate_get(gate, r->peer->pipe);
	if (!r->session)
		return bf_err_set(&r->err, BF_ESESSION,
				  "no session on this connection");
	return 0;
}

static int
check_counter(struct request *r)
{
	uint8_t *plain = NULL;
	size_t len = 0;
	int ret;

	if (r->answered || r->peer->local)
		return 0;
	if (r->frame.kind == BF_FRAME_HANDSHAKE)
		return take_inner(r, r->first.data, r->first.len);
	ret = bf_channel_open(&r->session->channel, &r->frame, r->bytes,
			      r->n_bytes, &plain, &len, &r->err);
	return ret ? ret : take_inner(r, plain, len);
}

static int
check_expiry(struct request *r)
{
	uint64_t now_s = bf_wall_now().ns / 1000000000u;

	if (!r->session || !r->session->client->expires_s ||
	    now_s < r->session->client->expires_s)
		return 0;
	return bf_err_set(&r->err, BF_EDENIED, "the line of this key expired");
}

static int
check_rate(struct request *r)
{
	if (!r->session || bf_gate_rate_ok(r->rpc->gate, r->session))
		return 0;
	return bf_err_set(&r->err, BF_EBUSY,
			  "more requests than the rate of this key: %u in %u "
			  "seconds",
			  r->session->client->rate_n,
			  r->session->client->rate_s);
}

static int
check_operation(struct request *r)
{
	if (r->answered)
		return 0;
	if (r->frame.kind != BF_FRAME_REQUEST)
		return bf_err_set(&r->err, BF_EPROTO,
				  "frame of kind %u where a request belongs",
				  r->frame.kind);
	r->len = r->frame.body_len;
	for (r->method = 0; r->method < BF_ARRAY_SIZE(methods); r->method++)
		if (methods[r->method].method == r->frame.method)
			break;
	if (r->method == BF_ARRAY_SIZE(methods))
		return bf_err_set(&r->err, BF_EOPERATION,
				  "operation %u is not known to bpfleetd %s",
				  r->frame.method, BF_VERSION);
	if (r->session && r->frame.method != BF_HELLO &&
	    !(r->session->client->ops >> r->frame.method & 1))
		return bf_err_set(&r->err, BF_EDENIED,
				  "denied: the line of this key does not allow "
				  "%s",
				  bf_method_str(r->frame.method));
	if (r->len > methods[r->method].max_body)
		return bf_err_set(&r->err, BF_ETOOBIG,
				  "request of %zu bytes, limit of %s is %zu",
				  r->len, bf_method_str(r->frame.method),
				  methods[r->method].max_body);
	return 0;
}

/* The broker opens the map that the handler asks for, or refuses it. */
static int
check_map(struct request *r)
{
	return r->answered ? 0 : methods[r->method].handler(r);
}

/* Before the bytes of the reply: room for the header that seals it. */
static void
begin_reply(struct request *r)
{
	struct bf_frame head = {
		.version = BF_PROTOCOL_VERSION,
		.kind = BF_FRAME_REPLY,
		.method = r->frame.method,
		.id = r->frame.id,
	};

	if (r->answered)
		return;
	if (r->session)
		bf_frame_begin(r->out, &head);
	bf_frame_begin(r->out, &head);
}

/* What a request passes, in this order. */
static const struct {
	const char *name;
	int (*check)(struct request *r);
} checks[] = {
	{"source", check_source},
	{"length", check_length},
	{"session", check_session},
	{"counter", check_counter},
	{"expiry", check_expiry},
	{"rate", check_rate},
	{"operation", check_operation},
	{"map", check_map}, /* the last one answers */
};

/* -------------------------------------------------------------- answers */

/*
 * What a peer is told.  One that has no line, or whose line does not hold now,
 * learns only that it is denied; the log says why.
 */
static const char *
told(const struct request *r)
{
	bool no_client = r->session && !r->session->client;

	if (r->err.code != BF_EDENIED || r->peer->local)
		return r->err.text;
	if (no_client || r->method == BF_ARRAY_SIZE(methods))
		return "denied: ask the keeper of the agent, whose log says "
		       "why";
	return r->err.text;
}

static void
answer_error(struct request *r)
{
	struct bf_error_reply e = {
		.code = (uint32_t)r->err.code,
		.message = told(r),
	};
	struct bf_frame head = {
		.version = BF_PROTOCOL_VERSION,
		.kind = BF_FRAME_ERROR,
		.method = r->frame.method,
		.id = r->frame.id,
	};
	size_t at = r->session ? BF_CHANNEL_HEAD_BYTES : 0;

	bf_buf_reset(r->out);
	if (r->session)
		bf_frame_begin(r->out, &head); /* room */
	bf_frame_begin(r->out, &head);
	bf_put_error(r->out, &e);
	bf_frame_finish(r->out, at);
}

/* Bytes that nobody honest sends: no answer, and the source is blamed. */
static bool
is_hostile(const struct request *r, int ret)
{
	return !r->peer->local && ret == -BF_EPROTO &&
	       r->method == BF_ARRAY_SIZE(methods);
}

static void
account_for(const struct request *r, struct bf_mono began)
{
	const struct bf_audit_entry e = {
		.peer = r->peer,
		.client = r->session ? r->session->client : NULL,
		.method = r->method < BF_ARRAY_SIZE(methods)
				  ? methods[r->method].method
				  : 0,
		.map_id = r->map_id,
		.map_name = r->map_name,
		.pin = r->pin,
		.n_entries = r->n_entries,
		.bytes = r->out->len,
		.coherence = r->coherence,
		.err = &r->err,
		.duration_us = (bf_mono_now().ns - began.ns) / 1000,
	};

	if (r->answered)
		return;
	bf_audit_write(&e);
	bf_metrics_count(&e);
}

void
bf_rpc_handle(void *arg, const struct bf_link_peer *peer, uint8_t *bytes,
	      size_t len, struct bf_buf *reply)
{
	struct request r = {
		.rpc = arg,
		.peer = peer,
		.bytes = bytes,
		.n_bytes = len,
		.method = BF_ARRAY_SIZE(methods),
		.out = reply,
	};
	struct bf_mono began = bf_mono_now();
	int ret = 0;

	bf_buf_init(&r.first, BF_NOISE_MESSAGE_MAX);
	for (size_t i = 0; i < BF_ARRAY_SIZE(checks) && !ret; i++) {
		if (i + 1 == BF_ARRAY_SIZE(checks))
			begin_reply(&r);
		ret = checks[i].check(&r);
	}
	if (!ret && !r.answered)
		bf_frame_finish(reply, r.session ? BF_CHANNEL_HEAD_BYTES : 0);
	if (!ret && reply->err)
		ret = bf_err_set(&r.err, BF_ETOOBIG,
				 "the reply cannot be built: %s",
				 bf_err_str(reply->err));
	if (ret)
		answer_error(&r);
	if (!r.answered && r.session &&
	    bf_channel_seal(&r.session->channel, reply))
		bf_buf_reset(reply);
	if (is_hostile(&r, ret)) {
		bf_gate_blame(r.rpc->gate, peer);
		bf_buf_reset(reply);
	}
	bf_dump_release(&r.held);
	account_for(&r, began);
	bf_gate_put(r.session);
	bf_buf_fini(&r.first);
}
