// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * test_noise - the handshake against the public vectors, from both sides, and
 * against everything that is not what belongs there
 */
#include "common/noise.h"

#include <setjmp.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LINE_MAX_BYTES 1024

struct bytes {
	uint8_t data[512];
	size_t len;
};

struct vectors {
	struct bytes prologue[2], secret[2], ephemeral[2], hash;
	struct bytes payload[6], wire[6];
	size_t n;
};

static struct vectors v;

/* Tests run from the top directory. */
static int
load_vectors(void **state)
{
	FILE *f = fopen("proto/vectors/noise_xx.txt", "re");
	char line[LINE_MAX_BYTES], name[32], hex[LINE_MAX_BYTES];
	const struct {
		const char *name;
		struct bytes *to;
	} fields[] = {
		{"init_prologue", &v.prologue[0]},
		{"resp_prologue", &v.prologue[1]},
		{"init_static", &v.secret[0]},
		{"resp_static", &v.secret[1]},
		{"init_ephemeral", &v.ephemeral[0]},
		{"resp_ephemeral", &v.ephemeral[1]},
		{"handshake_hash", &v.hash},
	};

	(void)state;
	if (!f || sodium_init() < 0)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		struct bytes *to = NULL;

		if (sscanf(line, "%31[a-z_] %1023[0-9a-f]", name, hex) != 2)
			continue;
		for (size_t i = 0; i < BF_ARRAY_SIZE(fields); i++)
			if (!strcmp(name, fields[i].name))
				to = fields[i].to;
		if (!strcmp(name, "payload"))
			to = &v.payload[v.n];
		if (!strcmp(name, "wire"))
			to = &v.wire[v.n++];
		if (!to || sodium_hex2bin(to->data, sizeof(to->data), hex,
					  strlen(hex), NULL, &to->len, NULL))
			return -1;
	}
	fclose(f);
	return v.n == 6 && v.hash.len == 32 ? 0 : -1;
}

static int
dh(void *arg, uint8_t out[BF_KEY_BYTES], const uint8_t peer[BF_KEY_BYTES])
{
	return bf_keys_dh(out, arg, peer);
}

static struct bf_noise_identity
identity_of(struct bf_key *secret)
{
	struct bf_noise_identity id = {.dh = dh, .arg = secret};

	bf_keys_public(id.public_key, secret);
	return id;
}

struct pair {
	struct bf_key secret[2];
	struct bf_noise side[2];
	struct bf_buf wire, text;
};

static void
begin(struct pair *p)
{
	memset(p, 0, sizeof(*p));
	for (int i = 0; i < 2; i++) {
		struct bf_noise_identity id;

		memcpy(p->secret[i].bytes, v.secret[i].data, BF_KEY_BYTES);
		id = identity_of(&p->secret[i]);
		bf_noise_begin(&p->side[i], i == 0, &id, v.prologue[i].data,
			       v.prologue[i].len);
		memcpy(p->side[i].e.bytes, v.ephemeral[i].data, BF_KEY_BYTES);
		bf_keys_public(p->side[i].e_public, &p->side[i].e);
	}
	bf_buf_init(&p->wire, 1 << 17);
	bf_buf_init(&p->text, 1 << 17);
}

static void
end(struct pair *p)
{
	bf_buf_fini(&p->wire);
	bf_buf_fini(&p->text);
}

/* The i-th message from its writer to p->wire. */
static int
write_message(struct pair *p, size_t i)
{
	bf_buf_reset(&p->wire);
	return bf_noise_write(&p->side[i % 2], v.payload[i].data,
			      v.payload[i].len, &p->wire, NULL);
}

static int
read_message(struct pair *p, size_t i, const uint8_t *bytes, size_t len)
{
	bf_buf_reset(&p->text);
	return bf_noise_read(&p->side[1 - i % 2], bytes, len, &p->text, NULL);
}

static void
test_public_vectors(void **state)
{
	struct bf_noise_result r[2];
	struct pair p;

	(void)state;
	begin(&p);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(write_message(&p, i), 0);
		assert_int_equal(p.wire.len, v.wire[i].len);
		assert_memory_equal(p.wire.data, v.wire[i].data, p.wire.len);
		assert_int_equal(
			read_message(&p, i, v.wire[i].data, v.wire[i].len), 0);
		assert_int_equal(p.text.len, v.payload[i].len);
		assert_memory_equal(p.text.data, v.payload[i].data, p.text.len);
	}
	for (int i = 0; i < 2; i++) {
		assert_true(bf_noise_done(&p.side[i]));
		bf_noise_finish(&p.side[i], &r[i]);
		assert_memory_equal(r[i].hash, v.hash.data, 32);
		assert_memory_equal(p.side[i].rs, p.side[1 - i].self.public_key,
				    BF_KEY_BYTES);
	}
	assert_memory_equal(r[0].send_key, r[1].recv_key, 32);
	assert_memory_equal(r[1].send_key, r[0].recv_key, 32);
	assert_memory_not_equal(r[0].send_key, r[1].send_key, 32);
	/* What follows the handshake: the responder begins. */
	for (size_t i = 3; i < v.n; i++) {
		uint8_t nonce[12] = {0}, out[512];
		unsigned long long len = 0;

		nonce[4] = (uint8_t)((i - 3) / 2);
		crypto_aead_chacha20poly1305_ietf_encrypt(
			out, &len, v.payload[i].data, v.payload[i].len, NULL, 0,
			NULL, nonce, r[i % 2].send_key);
		assert_int_equal(len, v.wire[i].len);
		assert_memory_equal(out, v.wire[i].data, len);
	}
	end(&p);
}

/* Runs the handshake up to the i-th message, which is only written. */
static void
run_until(struct pair *p, size_t i)
{
	begin(p);
	for (size_t k = 0; k < i; k++) {
		assert_int_equal(write_message(p, k), 0);
		assert_int_equal(read_message(p, k, p->wire.data, p->wire.len),
				 0);
	}
	assert_int_equal(write_message(p, i), 0);
}

/* Every bit of every message counts.  The first has nothing to check it by:
 * there the second fails.
 */
static void
test_altered(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		for (size_t bit = 0; bit < v.wire[i].len * 8; bit++) {
			struct bytes m = v.wire[i];
			struct pair p;
			int ret;

			run_until(&p, i);
			m.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			ret = read_message(&p, i, m.data, m.len);
			if (i == 0) {
				assert_int_equal(ret, 0);
				assert_int_equal(write_message(&p, 1), 0);
				ret = read_message(&p, 1, p.wire.data,
						   p.wire.len);
			}
			assert_int_equal(ret, -BF_EPROTO);
			end(&p);
		}
	}
}

static void
test_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		for (size_t len = 0; len < v.wire[i].len; len++) {
			struct pair p;
			int ret;

			run_until(&p, i);
			ret = read_message(&p, i, v.wire[i].data, len);
			if (i > 0 || len < BF_KEY_BYTES)
				assert_int_equal(ret, -BF_EPROTO);
			end(&p);
		}
	}
}

/* Out of turn, twice, after the end or after a failure: never. */
static void
test_order(void **state)
{
	struct pair p;

	(void)state;
	begin(&p);
	assert_int_equal(write_message(&p, 1), -BF_EINTERNAL);
	end(&p);
	begin(&p);
	assert_int_equal(read_message(&p, 1, v.wire[1].data, v.wire[1].len),
			 -BF_EPROTO);
	assert_int_equal(write_message(&p, 0), -BF_EINTERNAL);
	end(&p);
	begin(&p);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(write_message(&p, i), 0);
		assert_int_equal(read_message(&p, i, p.wire.data, p.wire.len),
				 0);
	}
	assert_int_equal(read_message(&p, 0, v.wire[0].data, v.wire[0].len),
			 -BF_EPROTO);
	assert_int_equal(write_message(&p, 0), -BF_EINTERNAL);
	end(&p);
}

static void
test_other_prologue(void **state)
{
	struct bf_noise_identity id;
	struct pair p;

	(void)state;
	begin(&p);
	id = p.side[1].self;
	bf_noise_begin(&p.side[1], false, &id, "other", 5);
	assert_int_equal(write_message(&p, 0), 0);
	assert_int_equal(read_message(&p, 0, p.wire.data, p.wire.len), 0);
	assert_int_equal(write_message(&p, 1), 0);
	assert_int_equal(read_message(&p, 1, p.wire.data, p.wire.len),
			 -BF_EPROTO);
	end(&p);
}

/* Ephemeral keys of low order would make the shared secret known. */
static void
test_low_order(void **state)
{
	struct bytes zero = {.len = 32};
	struct pair p;

	(void)state;
	begin(&p);
	assert_int_equal(read_message(&p, 0, zero.data, zero.len), 0);
	assert_int_equal(write_message(&p, 1), -BF_EPROTO);
	end(&p);
}

static void
test_too_long(void **state)
{
	static const uint8_t much[BF_NOISE_MESSAGE_MAX + 1];
	struct pair p;

	(void)state;
	begin(&p);
	assert_int_equal(read_message(&p, 0, much, sizeof(much)), -BF_EPROTO);
	end(&p);
	begin(&p);
	bf_buf_reset(&p.wire);
	assert_int_equal(
		bf_noise_write(&p.side[0], much, sizeof(much), &p.wire, NULL),
		-BF_ETOOBIG);
	end(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_public_vectors),
		cmocka_unit_test(test_altered),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_other_prologue),
		cmocka_unit_test(test_low_order),
		cmocka_unit_test(test_too_long),
	};

	return cmocka_run_group_tests(tests, load_vectors, NULL);
}
