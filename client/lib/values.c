// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * values - lookups of many keys, and peeks
 */
#include "client/lib/session.h"

#include <errno.h>
#include <stdlib.h>

struct result {
	struct bpfleet_values values; /* first: what the caller sees */
	void *owner;
};

void
bpfleet_values_free(struct bpfleet_values *values)
{
	struct result *r = (struct result *)values;

	if (!r)
		return;
	bf_codec_free(r->owner);
	free(r);
}

/* Takes over the reply. */
static int
publish(struct bpfleet_values **out, struct bpfleet *b,
	const struct bf_map_ref *asked, const struct bf_lookup_reply *reply,
	struct bpfleet_error *err)
{
	struct result *r = NULL;
	struct bf_err e;
	int ret;

	ret = bf_session_same_map(asked, reply->map_id, &e);
	if (!ret) {
		r = calloc(1, sizeof(*r));
		if (!r)
			ret = bf_err_set(&e, ENOMEM, "out of memory");
	}
	if (ret) {
		bf_codec_free(reply->owner);
		return bf_session_error(b, err, &e);
	}
	r->owner = reply->owner;
	r->values = (struct bpfleet_values){
		.map_id = reply->map_id,
		.n = reply->n,
		.value_size = reply->shape.value_size,
		.slot_size = reply->shape.slot_size,
		.n_slots = reply->shape.n_slots,
		.found = reply->found,
		.values = reply->values,
		.coherence = (int)reply->coherence,
		.started_ns = reply->started_ns,
		.ended_ns = reply->ended_ns,
	};
	*out = &r->values;
	return 0;
}

int
bpfleet_lookup(struct bpfleet_values **out, struct bpfleet *b,
	       const struct bpfleet_map_ref *map, const void *keys,
	       uint32_t key_size, size_t n_keys, struct bpfleet_error *err)
{
	struct bf_lookup_req req = {
		.key_size = key_size,
		.keys = keys,
		.n_keys = n_keys,
	};
	struct bf_session_answer answer = {0};
	struct bf_lookup_reply reply;
	struct bf_session_call call;
	struct bf_err e;
	int ret;

	ret = bf_session_ref(&req.map, b, map, err);
	if (ret)
		return ret;
	if (!keys || !key_size || !n_keys ||
	    n_keys > BF_REQUEST_MAX / key_size) {
		bf_err_set(&e,
			   keys && key_size && n_keys ? BF_ETOOBIG
						      : BF_EARGUMENT,
			   "lookup: %zu keys of %u bytes: not 1 to %u bytes in "
			   "all",
			   n_keys, key_size, BF_REQUEST_MAX);
		return bf_session_error(b, err, &e);
	}
	bf_session_begin(b, &call, BF_LOOKUP);
	bf_put_lookup_req(&call.request, &req);
	ret = bf_session_finish(b, &call, &answer, err);
	if (!ret) {
		ret = bf_get_lookup_reply(&reply, answer.body, answer.len, &e);
		if (!ret && reply.n != n_keys) {
			bf_codec_free(reply.owner);
			ret = bf_err_set(&e, BF_EPROTO,
					 "%u answers to %zu keys", reply.n,
					 n_keys);
		}
		ret = ret ? bf_session_error(b, err, &e)
			  : publish(out, b, &req.map, &reply, err);
	}
	bf_session_answer_fini(&answer);
	bf_session_call_fini(&call);
	return ret;
}

int
bpfleet_peek(struct bpfleet_values **out, struct bpfleet *b,
	     const struct bpfleet_map_ref *map, struct bpfleet_error *err)
{
	struct bf_session_answer answer = {0};
	struct bf_lookup_reply reply;
	struct bf_peek_req req = {0};
	struct bf_session_call call;
	struct bf_err e;
	int ret;

	ret = bf_session_ref(&req.map, b, map, err);
	if (ret)
		return ret;
	bf_session_begin(b, &call, BF_PEEK);
	bf_put_peek_req(&call.request, &req);
	ret = bf_session_finish(b, &call, &answer, err);
	if (!ret) {
		ret = bf_get_peek_reply(&reply, answer.body, answer.len, &e);
		ret = ret ? bf_session_error(b, err, &e)
			  : publish(out, b, &req.map, &reply, err);
	}
	bf_session_answer_fini(&answer);
	bf_session_call_fini(&call);
	return ret;
}
