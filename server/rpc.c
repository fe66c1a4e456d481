// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * rpc - checks a request and calls its handler
 */
#include "server/rpc.h"

#include "common/codec.h"
#include "common/frame.h"
#include "common/log.h"
#include "server/read_select.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One request on its way. */
struct request {
	const struct bf_rpc *rpc;
	const uint8_t *body;
	size_t len;
	struct bf_buf *out; /* the reply's body is appended */
	struct bf_err err;
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
	const char *verb;
	size_t max_body; /* bytes */
	int (*handler)(struct request *r);
} methods[] = {
	{BF_HELLO, "hello", 4096, handle_hello},
	{BF_LIST_MAPS, "list", 4096, handle_list},
	{BF_SHOW_MAP, "show", 8192, handle_show},
	{BF_DUMP, "dump", 8192 + BF_CURSOR_MAX, handle_dump},
	{BF_LOOKUP, "lookup", BF_REQUEST_MAX, handle_lookup},
	{BF_PEEK, "peek", 8192, handle_peek},
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
		.max_request_bytes = BF_REQUEST_MAX,
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
	struct bf_broker_req ask = {.op = BF_BROKER_LIST};
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
	};
	struct bf_broker_reply *got = reply ? reply : malloc(sizeof(*got));
	int fd = -1, ret;

	map->fd = -1;
	if (!got)
		return bf_err_set(&r->err, ENOMEM, "out of memory");
	if (ref->pin)
		strncpy(ask.pin, ref->pin, sizeof(ask.pin) - 1);
	ret = bf_broker_call(r->rpc->broker, &ask, got, &fd, &r->err);
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
				   &cursor, &r->err);
	if (!ret) {
		reply.cursor = cursor.data;
		reply.cursor_len = cursor.len;
		reply.count_only = req.count_only;
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
		ret = bf_dump_lookup(&map, &req, &reply, &columns, &r->err);
	if (!ret)
		bf_put_lookup_reply(r->out, &reply);
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
	bf_buf_fini(&columns);
	close_map(&map);
	bf_codec_free(req.owner);
	return ret;
}

/* --------------------------------------------------------------- checks */

static int
check_peer(const struct bf_rpc *rpc, const struct bf_link_peer *peer,
	   struct bf_err *err)
{
	const struct bf_worker_setup *s = rpc->setup;

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
	return bf_err_set(err, BF_EDENIED,
			  "denied: this agent serves root and the users that "
			  "its allow-users and allow-groups name");
}

static int
call_method(struct request *r, const struct bf_frame *frame, size_t *index)
{
	for (size_t i = 0; i < BF_ARRAY_SIZE(methods); i++) {
		if (methods[i].method != frame->method)
			continue;
		*index = i;
		if (r->len > methods[i].max_body)
			return bf_err_set(&r->err, BF_ETOOBIG,
					  "request of %zu bytes, limit of %s "
					  "is %zu",
					  r->len, methods[i].verb,
					  methods[i].max_body);
		return methods[i].handler(r);
	}
	return bf_err_set(&r->err, BF_EOPERATION,
			  "operation %u is not known to bpfleetd %s",
			  frame->method, BF_VERSION);
}

static void
answer_error(struct bf_buf *reply, const struct bf_frame *frame, int code,
	     const char *message)
{
	struct bf_error_reply e = {.code = (uint32_t)code, .message = message};
	struct bf_frame head = {
		.version = BF_PROTOCOL_VERSION,
		.kind = BF_FRAME_ERROR,
		.method = frame->method,
		.id = frame->id,
	};

	bf_buf_reset(reply);
	bf_frame_begin(reply, &head);
	bf_put_error(reply, &e);
	bf_frame_finish(reply, 0);
}

static void
log_request(const struct bf_link_peer *peer, const char *verb, int ret,
	    const struct bf_err *err, struct bf_mono began)
{
	static struct bf_log_limit limit;
	uint64_t us = (bf_mono_now().ns - began.ns) / 1000;
	char text[256];

	if (!ret) {
		bf_log(BF_LOG_DEBUG, "rpc done",
		       "verb=%s uid=%u pid=%u us=%llu", verb, peer->uid,
		       peer->pid, (unsigned long long)us);
		return;
	}
	if (!bf_log_allowed(&limit, "rpc refused"))
		return;
	bf_log_escape(err->text, strlen(err->text), text, sizeof(text));
	bf_log(ret == -BF_EDENIED ? BF_LOG_WARN : BF_LOG_DEBUG, "rpc refused",
	       "verb=%s uid=%u pid=%u code=%d why=%s", verb, peer->uid,
	       peer->pid, -ret, text);
}

void
bf_rpc_handle(void *arg, const struct bf_link_peer *peer, const uint8_t *bytes,
	      size_t len, struct bf_buf *reply)
{
	struct request r = {.rpc = arg, .out = reply};
	struct bf_mono began = bf_mono_now();
	struct bf_frame frame = {0}, head;
	size_t index = SIZE_MAX;
	int ret;

	ret = check_peer(r.rpc, peer, &r.err);
	if (!ret)
		ret = bf_frame_parse(&frame, &r.body, bytes, len, &r.err);
	if (!ret && frame.kind != BF_FRAME_REQUEST)
		ret = bf_err_set(&r.err, BF_EPROTO,
				 "frame of kind %u where a request belongs",
				 frame.kind);
	if (!ret) {
		r.len = frame.body_len;
		head = (struct bf_frame){
			.version = BF_PROTOCOL_VERSION,
			.kind = BF_FRAME_REPLY,
			.method = frame.method,
			.id = frame.id,
		};
		bf_frame_begin(reply, &head);
		ret = call_method(&r, &frame, &index);
		bf_frame_finish(reply, 0);
	}
	if (!ret && reply->err)
		ret = bf_err_set(&r.err, BF_ETOOBIG,
				 "the reply cannot be built: %s",
				 bf_err_str(reply->err));
	if (ret)
		answer_error(reply, &frame, -ret, r.err.text);
	log_request(peer, index == SIZE_MAX ? "?" : methods[index].verb, ret,
		    &r.err, began);
}
