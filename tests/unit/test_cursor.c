// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * test_cursor - the continuation token: what goes in comes out, and nothing
 * that was altered, or belongs elsewhere, is taken
 */
#include "common/cursor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define KEY_SIZE 12u

static const struct bf_key secret = {"the secret of one agent"};
static const struct bf_key other_secret = {"the secret of another agent"};

static struct bf_cursor
identity(void)
{
	return (struct bf_cursor){
		.boot_id = "0123456789abcde",
		.map_id = 42,
		.key_size = KEY_SIZE,
		.value_size = 64,
	};
}

static void
make(struct bf_buf *out, uint32_t n_keys)
{
	struct bf_cursor c = identity();
	uint8_t key[KEY_SIZE];

	c.engine = 2;
	c.position = 0x1122334455667788;
	c.steps = 7;
	c.restarts = 3;
	c.skipped = 5;
	c.lossy = true;
	for (uint32_t i = 0; i < n_keys; i++) {
		memset(key, (int)i + 1, sizeof(key));
		assert_int_equal(bf_cursor_push(&c, key), 0);
	}
	bf_buf_init(out, BF_CURSOR_MAX);
	bf_cursor_encode(&c, &secret, out);
	assert_int_equal(out->err, 0);
	bf_cursor_fini(&c);
}

/* Returns: the code; text is what was said. */
static int
decode(const uint8_t *bytes, size_t len, struct bf_err *err)
{
	struct bf_cursor expect = identity(), c = {0};
	int ret;

	ret = bf_cursor_decode(&c, bytes, len, &secret, &expect, err);
	if (ret)
		assert_null(c.keys);
	bf_cursor_fini(&c);
	return ret;
}

static void
round_trip(void **state)
{
	struct bf_cursor expect = identity(), c;
	struct bf_buf buf;

	(void)state;
	for (uint32_t n = 0; n <= 2 * BF_CURSOR_KEYS_MAX; n++) {
		uint32_t kept = n < BF_CURSOR_KEYS_MAX ? n : BF_CURSOR_KEYS_MAX;

		make(&buf, n);
		assert_int_equal(bf_cursor_decode(&c, buf.data, buf.len,
						  &secret, &expect, NULL),
				 0);
		assert_int_equal(c.engine, 2);
		assert_int_equal(c.position, 0x1122334455667788);
		assert_int_equal(c.steps, 7);
		assert_int_equal(c.restarts, 3);
		assert_int_equal(c.skipped, 5);
		assert_true(c.lossy);
		assert_int_equal(c.n_keys, kept);
		for (uint32_t i = 0; i < kept; i++)
			assert_int_equal(bf_cursor_key(&c, i)[0], n - i);
		assert_null(bf_cursor_key(&c, kept));
		bf_cursor_fini(&c);
		bf_buf_fini(&buf);
	}
}

/* A decoded cursor is walked on with: its keys have room for more. */
static void
push_after_decode(void **state)
{
	struct bf_cursor expect = identity(), c;
	uint8_t key[KEY_SIZE] = {0xee};
	struct bf_buf buf;

	(void)state;
	make(&buf, 1);
	assert_int_equal(
		bf_cursor_decode(&c, buf.data, buf.len, &secret, &expect, NULL),
		0);
	for (uint32_t i = 0; i < 3 * BF_CURSOR_KEYS_MAX; i++)
		assert_int_equal(bf_cursor_push(&c, key), 0);
	assert_int_equal(c.n_keys, BF_CURSOR_KEYS_MAX);
	assert_memory_equal(bf_cursor_key(&c, 0), key, sizeof(key));
	bf_cursor_fini(&c);
	bf_buf_fini(&buf);
}

static void
truncations(void **state)
{
	struct bf_buf buf;
	struct bf_err err;

	(void)state;
	make(&buf, 3);
	for (size_t len = 0; len < buf.len; len++) {
		/* A copy, so that reading past its end is seen. */
		uint8_t *cut = malloc(len + !len);

		assert_non_null(cut);
		memcpy(cut, buf.data, len);
		assert_int_equal(decode(cut, len, &err), -BF_ECURSOR);
		assert_int_equal(err.code, BF_ECURSOR);
		free(cut);
	}
	bf_buf_put(&buf, "", 1);
	assert_int_equal(decode(buf.data, buf.len, &err), -BF_ECURSOR);
	bf_buf_fini(&buf);
}

static void
bit_flips(void **state)
{
	struct bf_buf buf;
	struct bf_err err;

	(void)state;
	make(&buf, 3);
	for (size_t bit = 0; bit < buf.len * 8; bit++) {
		uint8_t mask = (uint8_t)(1u << (bit % 8));

		buf.data[bit / 8] ^= mask;
		assert_int_equal(decode(buf.data, buf.len, &err), -BF_ECURSOR);
		buf.data[bit / 8] ^= mask;
	}
	assert_int_equal(decode(buf.data, buf.len, &err), 0);
	bf_buf_fini(&buf);
}

static void
refused_for(const struct bf_buf *buf, const struct bf_key *key,
	    const struct bf_cursor *expect, const char *words)
{
	struct bf_cursor c = {0};
	struct bf_err err;

	assert_int_equal(
		bf_cursor_decode(&c, buf->data, buf->len, key, expect, &err),
		-BF_ECURSOR);
	assert_non_null(strstr(err.text, words));
	assert_null(c.keys);
}

static void
elsewhere(void **state)
{
	struct bf_cursor expect;
	struct bf_buf buf;

	(void)state;
	make(&buf, 2);
	expect = identity();
	refused_for(&buf, &other_secret, &expect, "another agent");
	expect.boot_id[15] ^= 1;
	refused_for(&buf, &secret, &expect, "last boot");
	expect = identity();
	expect.map_id = 43;
	refused_for(&buf, &secret, &expect, "belongs to map id 42, not id 43");
	expect = identity();
	expect.key_size = 8;
	refused_for(&buf, &secret, &expect, "entries of 12+64 bytes");
	expect = identity();
	expect.value_size = 8;
	refused_for(&buf, &secret, &expect, "start the dump again");
	bf_buf_fini(&buf);
}

static void
garbage(void **state)
{
	uint8_t bytes[512];
	struct bf_err err;
	uint32_t x = 1;

	(void)state;
	for (size_t round = 0; round < 2000; round++) {
		for (size_t i = 0; i < sizeof(bytes); i++) {
			x = x * 1664525u + 1013904223u;
			bytes[i] = (uint8_t)(x >> 24);
		}
		if (round % 2)
			bytes[0] = 1;
		assert_int_equal(decode(bytes, x % sizeof(bytes), &err),
				 -BF_ECURSOR);
	}
}

static void
large_keys(void **state)
{
	struct bf_cursor c = identity(), expect, got;
	uint8_t *key = calloc(1, BF_KEY_MAX);
	struct bf_buf buf;

	(void)state;
	assert_non_null(key);
	assert_int_equal(bf_cursor_room(1), BF_CURSOR_KEYS_MAX);
	assert_int_equal(bf_cursor_room(2048), 2);
	assert_int_equal(bf_cursor_room(BF_KEY_MAX), 1);
	c.key_size = BF_KEY_MAX;
	expect = c;
	for (int i = 0; i < 3; i++) {
		memset(key, i, BF_KEY_MAX);
		assert_int_equal(bf_cursor_push(&c, key), 0);
	}
	bf_buf_init(&buf, BF_CURSOR_MAX);
	bf_cursor_encode(&c, &secret, &buf);
	assert_int_equal(buf.err, 0);
	assert_int_equal(bf_cursor_decode(&got, buf.data, buf.len, &secret,
					  &expect, NULL),
			 0);
	assert_int_equal(got.n_keys, 1);
	assert_memory_equal(bf_cursor_key(&got, 0), key, BF_KEY_MAX);
	bf_cursor_fini(&got);
	bf_cursor_fini(&c);
	bf_buf_fini(&buf);
	free(key);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),
		cmocka_unit_test(push_after_decode),
		cmocka_unit_test(truncations),
		cmocka_unit_test(bit_flips),
		cmocka_unit_test(elsewhere),
		cmocka_unit_test(garbage),
		cmocka_unit_test(large_keys),
	};

	if (bf_keys_init(NULL))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
