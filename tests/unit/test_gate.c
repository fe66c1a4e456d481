// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * test_gate - requests over tcp as the worker gets them, from the handshake to
 * the handler: what was recorded, altered, cut or moved never reaches one;
 * strangers are crowded out, kept out and timed out
 */
#include "common/codec.h"
#include "server/audit.h"
#include "server/rpc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct bf_key agent_key = {"agent"}, client_key = {"client"};
static struct bf_key stranger_key = {"stranger"};

static int
dh(void *arg, uint8_t out[BF_KEY_BYTES], const uint8_t peer[BF_KEY_BYTES])
{
	return bf_keys_dh(out, arg, peer);
}

static struct bf_noise_identity
identity_of(struct bf_key *key)
{
	struct bf_noise_identity id = {.dh = dh, .arg = key};

	bf_keys_public(id.public_key, key);
	return id;
}

/* ------------------------------------------------------------- the agent */

static struct {
	struct bf_worker_setup setup;
	struct bf_acl_client client;
	struct bf_rpc rpc;
} agent;

static void
start_agent(void)
{
	struct bf_gate_opts opts = {
		.limits = &agent.setup.gate,
		.self = identity_of(&agent_key),
		.clients = &agent.client,
		.n_clients = 1,
	};
	struct bf_settings s;

	bf_settings_init(&s);
	memset(&agent, 0, sizeof(agent));
	agent.setup.gate = s.gate;
	agent.setup.gate.source_handshakes_per_s = 100000;
	agent.setup.gate.handshakes_per_s = 100000;
	agent.rpc.setup = &agent.setup;
	agent.client.ops = ~0u;
	bf_keys_public(agent.client.key, &client_key);
	bf_audit_init(BF_AUDIT_OFF);
	assert_int_equal(bf_gate_new(&agent.rpc.gate, &opts, NULL), 0);
}

static void
stop_agent(void)
{
	bf_gate_free(agent.rpc.gate);
}

static struct bf_link_peer
peer(uint32_t pipe, uint8_t last)
{
	struct bf_link_peer p = {.pipe = pipe, .port = 1};
	const uint8_t addr[16] = {[10] = 0xff, [11] = 0xff, 127, 0, 0, last};

	memcpy(p.addr, addr, sizeof(addr));
	return p;
}

/* ------------------------------------------------------------ the client */

struct client {
	struct bf_link_peer peer;
	struct bf_noise noise;
	struct bf_channel channel;
	struct bf_buf out, in; /* to the agent, from it */
};

static void
send_to_agent(struct client *c)
{
	bf_buf_reset(&c->in);
	bf_rpc_handle(&agent.rpc, &c->peer, c->out.data, c->out.len, &c->in);
}

static void
put_hello(struct bf_buf *out, size_t at, uint64_t id)
{
	const struct bf_frame head = {
		.version = BF_PROTOCOL_VERSION,
		.kind = BF_FRAME_REQUEST,
		.method = BF_HELLO,
		.id = id,
	};
	const struct bf_hello_req hello = {
		.version_min = 1,
		.version_max = 1,
		.client = "test",
	};

	bf_buf_reset(out);
	if (at)
		bf_frame_begin(out, &head); /* room */
	bf_frame_begin(out, &head);
	bf_put_hello_req(out, &hello);
	bf_frame_finish(out, at);
}

static void
put_message(struct client *c, uint16_t number, const struct bf_buf *payload)
{
	const struct bf_frame head = {
		.version = BF_PROTOCOL_VERSION,
		.kind = BF_FRAME_HANDSHAKE,
		.method = number,
	};

	bf_buf_reset(&c->out);
	bf_frame_begin(&c->out, &head);
	assert_int_equal(
		bf_noise_write(&c->noise, payload ? payload->data : NULL,
			       payload ? payload->len : 0, &c->out, NULL),
		0);
	bf_frame_finish(&c->out, 0);
}

/* What came back, opened. Returns: the code of an error, 0 for a reply to
 * this id, -1 if nothing came
 */
static int
opened(struct client *c, uint64_t id)
{
	struct bf_error_reply e;
	const uint8_t *body;
	uint8_t *plain = c->in.data;
	size_t len = c->in.len;
	struct bf_frame f;
	int code;

	if (!len)
		return -1;
	assert_int_equal(bf_frame_parse(&f, &body, plain, len, NULL), 0);
	if (f.kind == BF_FRAME_SEALED) {
		assert_int_equal(bf_channel_open(&c->channel, &f, c->in.data,
						 c->in.len, &plain, &len, NULL),
				 0);
		assert_int_equal(bf_frame_parse(&f, &body, plain, len, NULL),
				 0);
	}
	if (f.kind == BF_FRAME_REPLY) {
		assert_int_equal(f.id, id);
		return 0;
	}
	assert_int_equal(f.kind, BF_FRAME_ERROR);
	assert_int_equal(bf_get_error(&e, body, f.body_len, NULL), 0);
	code = (int)e.code;
	bf_codec_free(e.owner);
	return code;
}

/* Messages 1 and 2. Returns: false if the agent refused the first */
static bool
begin_handshake(struct client *c, struct bf_key *key, uint32_t pipe,
		uint8_t address)
{
	struct bf_noise_identity id = identity_of(key);
	const uint8_t *body;
	struct bf_frame f;

	memset(c, 0, sizeof(*c));
	c->peer = peer(pipe, address);
	bf_buf_init(&c->out, 1 << 20);
	bf_buf_init(&c->in, 1 << 20);
	if (!bf_gate_come(agent.rpc.gate, &c->peer))
		return false;
	bf_noise_begin(&c->noise, true, &id, BF_CHANNEL_PROLOGUE,
		       sizeof(BF_CHANNEL_PROLOGUE) - 1);
	put_message(c, 1, NULL);
	send_to_agent(c);
	assert_int_equal(bf_frame_parse(&f, &body, c->in.data, c->in.len, NULL),
			 0);
	if (f.kind != BF_FRAME_HANDSHAKE)
		return false;
	assert_int_equal(f.method, 2);
	bf_buf_reset(&c->out);
	assert_int_equal(
		bf_noise_read(&c->noise, body, f.body_len, &c->out, NULL), 0);
	return true;
}

/* Message 3 with a Hello. Returns: as opened() */
static int
end_handshake(struct client *c)
{
	struct bf_noise_result keys;
	struct bf_buf hello;

	bf_buf_init(&hello, 4096);
	put_hello(&hello, 0, 7);
	put_message(c, 3, &hello);
	bf_buf_fini(&hello);
	bf_noise_finish(&c->noise, &keys);
	bf_channel_init(&c->channel, &keys);
	send_to_agent(c);
	return opened(c, 7);
}

static void
connect_client(struct client *c, uint32_t pipe)
{
	assert_true(begin_handshake(c, &client_key, pipe, 1));
	assert_int_equal(end_handshake(c), 0);
}

static void
leave(struct client *c)
{
	bf_gate_gone(agent.rpc.gate, c->peer.pipe);
	bf_buf_fini(&c->out);
	bf_buf_fini(&c->in);
}

static int
say_hello(struct client *c, uint64_t id)
{
	put_hello(&c->out, BF_CHANNEL_HEAD_BYTES, id);
	assert_int_equal(bf_channel_seal(&c->channel, &c->out), 0);
	send_to_agent(c);
	return opened(c, id);
}

/* ----------------------------------------------------------------- tests */

static void
test_session(void **state)
{
	struct client c;

	(void)state;
	start_agent();
	connect_client(&c, 1);
	for (uint64_t i = 100; i < 300; i++)
		assert_int_equal(say_hello(&c, i), 0);
	leave(&c);
	stop_agent();
}

static void
test_unknown_key(void **state)
{
	struct client c;

	(void)state;
	start_agent();
	assert_true(begin_handshake(&c, &stranger_key, 1, 1));
	assert_int_equal(end_handshake(&c), BF_EDENIED);
	/* The keys are good, but there is no session. */
	assert_int_equal(say_hello(&c, 1), BF_ESESSION);
	leave(&c);
	stop_agent();
}

struct record {
	uint8_t bytes[512];
	size_t len;
};

/*
 * Sessions a and b say N hellos each, which are recorded on their way; then
 * random ones come again: as they were, altered at a random bit, cut at a
 * random place, in the other session, and far too late.
 */
static void
test_recorded_exchange(void **state)
{
	enum { N = 200, ROUNDS = 20000 };
	struct record *rec = calloc(2 * N, sizeof(*rec));
	struct client c[2];

	(void)state;
	assert_non_null(rec);
	start_agent();
	agent.setup.gate.penalty_failures = UINT32_MAX;
	for (uint32_t k = 0; k < 2; k++) {
		connect_client(&c[k], k + 1);
		for (size_t i = 0; i < N; i++) {
			struct record *r = &rec[k * N + i];

			put_hello(&c[k].out, BF_CHANNEL_HEAD_BYTES, i);
			bf_channel_seal(&c[k].channel, &c[k].out);
			assert_true(c[k].out.len <= sizeof(r->bytes));
			r->len = c[k].out.len;
			memcpy(r->bytes, c[k].out.data, r->len);
			/* Every other one is held back for now. */
			if (i % 2 == 0) {
				send_to_agent(&c[k]);
				assert_int_equal(opened(&c[k], i), 0);
			}
		}
	}
	srand(3);
	for (int round = 0; round < ROUNDS; round++) {
		size_t i = (size_t)rand() % (2 * N), owner = i / N;
		struct record r = rec[i];
		struct client *to = &c[owner];
		uint32_t len;

		switch (round % 4) {
		case 0: /* again */
			if (i % 2)
				continue;
			break;
		case 1:
			r.bytes[(size_t)rand() % r.len] ^=
				(uint8_t)(1 << rand() % 8);
			break;
		case 2:
			r.len = (size_t)rand() % r.len;
			len = (uint32_t)(r.len - BF_FRAME_BYTES);
			if (round % 8 == 2 && r.len >= BF_FRAME_BYTES)
				memcpy(r.bytes + 4, &len, sizeof(len));
			break;
		default:
			to = &c[1 - owner];
		}
		bf_buf_reset(&to->out);
		bf_buf_put(&to->out, r.bytes, r.len);
		send_to_agent(to);
		/* A flipped version byte is answered; no handler is reached. */
		assert_true(to->in.len == 0 || opened(to, 0) == BF_EVERSION);
	}
	/* The held back ones are still good, once, in any order. */
	for (size_t n = 0; n < 2 * N; n++) {
		size_t i = (n * 7 + 3) % (2 * N);
		struct client *to = &c[i / N];

		if (i % 2 == 0)
			continue;
		for (int again = 0; again < 2; again++) {
			bf_buf_reset(&to->out);
			bf_buf_put(&to->out, rec[i].bytes, rec[i].len);
			send_to_agent(to);
			assert_int_equal(opened(to, i % N), again ? -1 : 0);
		}
	}
	leave(&c[0]);
	leave(&c[1]);
	stop_agent();
	free(rec);
}

static void
test_new_connection_needs_a_handshake(void **state)
{
	struct client c;

	(void)state;
	start_agent();
	connect_client(&c, 1);
	bf_gate_gone(agent.rpc.gate, 1);
	c.peer.pipe = 2;
	assert_true(bf_gate_come(agent.rpc.gate, &c.peer));
	assert_int_equal(say_hello(&c, 1), BF_ESESSION);
	leave(&c);
	/* A second handshake on one connection replaces the session. */
	connect_client(&c, 3);
	assert_int_equal(say_hello(&c, 1), 0);
	leave(&c);
	stop_agent();
}

static void
test_message_3_alone_or_twice(void **state)
{
	struct client c;

	(void)state;
	start_agent();
	assert_true(begin_handshake(&c, &client_key, 1, 1));
	assert_int_equal(end_handshake(&c), 0);
	send_to_agent(&c); /* out is still message 3 */
	assert_int_equal(opened(&c, 0), BF_ESESSION);
	assert_int_equal(say_hello(&c, 9), 0);
	leave(&c);
	stop_agent();
}

/* Plain frames, of every kind, get nothing. */
static void
test_plain_frames(void **state)
{
	struct client c = {.peer = peer(1, 1)};

	(void)state;
	start_agent();
	agent.setup.gate.penalty_failures = UINT32_MAX;
	bf_buf_init(&c.out, 4096);
	bf_buf_init(&c.in, 4096);
	assert_true(bf_gate_come(agent.rpc.gate, &c.peer));
	for (int kind = 0; kind < 256; kind++) {
		put_hello(&c.out, 0, 1);
		c.out.data[3] = (uint8_t)kind;
		send_to_agent(&c);
		if (kind == BF_FRAME_SEALED)
			assert_int_equal(opened(&c, 1), BF_ESESSION);
		else
			assert_int_equal(c.in.len, 0);
	}
	leave(&c);
	stop_agent();
}

static void
test_expiry_and_operations(void **state)
{
	struct client c;

	(void)state;
	start_agent();
	connect_client(&c, 1);
	agent.client.expires_s = 1;
	assert_int_equal(say_hello(&c, 1), BF_EDENIED);
	agent.client.expires_s = UINT64_MAX;
	assert_int_equal(say_hello(&c, 2), 0);
	agent.client.ops = 0; /* hello needs no leave */
	assert_int_equal(say_hello(&c, 3), 0);
	leave(&c);
	stop_agent();
}

static void
test_rate(void **state)
{
	unsigned refused = 0;
	struct client c;

	(void)state;
	start_agent();
	agent.client.rate_n = 10;
	agent.client.rate_s = 3600;
	connect_client(&c, 1); /* the first request */
	for (uint64_t i = 0; i < 20; i++)
		refused += say_hello(&c, i) == BF_EBUSY;
	assert_int_equal(refused, 11);
	leave(&c);
	stop_agent();
}

static void
test_handshake_rate(void **state)
{
	struct client c;
	unsigned n = 0;

	(void)state;
	start_agent();
	agent.setup.gate.source_handshakes_per_s = 5;
	for (uint32_t i = 1; i <= 30; i++) {
		if (begin_handshake(&c, &stranger_key, i, 1))
			n++;
		else
			assert_int_equal(opened(&c, 0), BF_EBUSY);
		leave(&c);
	}
	assert_in_range(n, 15, 17); /* three seconds' worth at once */
	/* Another address has a rate of its own. */
	assert_true(begin_handshake(&c, &client_key, 99, 2));
	assert_int_equal(end_handshake(&c), 0);
	leave(&c);
	stop_agent();
}

static void
test_penalty(void **state)
{
	struct bf_link_peer bad = peer(1000, 66), good = peer(1001, 1);
	struct client c;

	(void)state;
	start_agent();
	agent.setup.gate.penalty_failures = 5;
	for (uint32_t i = 1; i <= 5; i++) {
		assert_true(begin_handshake(&c, &stranger_key, i, 66));
		assert_int_equal(end_handshake(&c), BF_EDENIED);
		leave(&c);
	}
	assert_int_equal(bf_gate_tick(agent.rpc.gate), -1);
	assert_false(bf_gate_come(agent.rpc.gate, &bad));
	/* Nobody is connected, but the log is still to be told. */
	assert_true(bf_gate_tick(agent.rpc.gate) > 0);
	assert_true(bf_gate_come(agent.rpc.gate, &good));
	bf_gate_gone(agent.rpc.gate, good.pipe);
	/* Where a known key came from lately, nobody is kept out. */
	connect_client(&c, 7);
	for (int i = 0; i < 50; i++)
		bf_gate_blame(agent.rpc.gate, &good);
	assert_true(bf_gate_come(agent.rpc.gate, &good));
	bf_gate_gone(agent.rpc.gate, good.pipe);
	leave(&c);
	stop_agent();
}

/* A client gets in however many strangers stand in the door. */
static void
test_crowd(void **state)
{
	struct client c;

	(void)state;
	start_agent();
	agent.setup.gate.max_half_open = 16;
	for (uint32_t i = 1; i <= 1000; i++) {
		struct bf_link_peer p = peer(i, (uint8_t)i);

		assert_true(bf_gate_come(agent.rpc.gate, &p));
	}
	connect_client(&c, 2000);
	assert_int_equal(say_hello(&c, 1), 0);
	leave(&c);
	/* When all places are taken by clients, there is none. */
	agent.setup.gate.max_connections = 1;
	for (uint32_t i = 1; i <= 1000; i++)
		bf_gate_gone(agent.rpc.gate, i);
	connect_client(&c, 2001);
	{
		struct bf_link_peer p = peer(2002, 9);

		assert_false(bf_gate_come(agent.rpc.gate, &p));
	}
	leave(&c);
	stop_agent();
}

static int
start(void **state)
{
	(void)state;
	return bf_keys_init(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_session),
		cmocka_unit_test(test_unknown_key),
		cmocka_unit_test(test_recorded_exchange),
		cmocka_unit_test(test_new_connection_needs_a_handshake),
		cmocka_unit_test(test_message_3_alone_or_twice),
		cmocka_unit_test(test_plain_frames),
		cmocka_unit_test(test_expiry_and_operations),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_handshake_rate),
		cmocka_unit_test(test_penalty),
		cmocka_unit_test(test_crowd),
	};

	return cmocka_run_group_tests(tests, start, NULL);
}
