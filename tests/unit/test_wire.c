// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * test_wire - frames, bodies and cursors: what is made is read back, what is
 * damaged is refused
 */
#include "common/codec.h"
#include "common/cursor.h"
#include "common/frame.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct bf_key key_a = {{1}}, key_b = {{2}};

static void
make_cursor(struct bf_cursor *c, struct bf_buf *out, uint32_t n_keys)
{
	*c = (struct bf_cursor){
		.boot_id = {7},
		.map_id = 5,
		.key_size = 4,
		.value_size = 8,
		.engine = 2,
		.position = 1ull << 33,
		.steps = 9,
		.restarts = 1,
	};
	for (uint32_t i = 0; i < n_keys; i++)
		assert_int_equal(bf_cursor_push(c, &i), 0);
	bf_buf_init(out, BF_CURSOR_MAX);
	bf_cursor_encode(c, &key_a, out);
	assert_int_equal(out->err, 0);
}

static void
test_cursor_round_trip(void **state)
{
	struct bf_cursor c, got;
	struct bf_buf b;
	uint32_t newest;

	(void)state;
	make_cursor(&c, &b, 20);
	assert_int_equal(
		bf_cursor_decode(&got, b.data, b.len, &key_a, &c, NULL), 0);
	assert_int_equal(got.position, c.position);
	assert_int_equal(got.n_keys, BF_CURSOR_KEYS_MAX);
	memcpy(&newest, bf_cursor_key(&got, 0), sizeof(newest));
	assert_int_equal(newest, 19);
	assert_null(bf_cursor_key(&got, got.n_keys));
	bf_cursor_fini(&got);
	bf_cursor_fini(&c);
	bf_buf_fini(&b);
}

static void
refused(const uint8_t *bytes, size_t len, const struct bf_key *key,
	const struct bf_cursor *expect, const char *words)
{
	struct bf_cursor got;
	struct bf_err err = {0};

	assert_int_equal(bf_cursor_decode(&got, bytes, len, key, expect, &err),
			 -BF_ECURSOR);
	if (words)
		assert_non_null(strstr(err.text, words));
}

static void
test_cursor_refused(void **state)
{
	struct bf_cursor c, expect;
	struct bf_buf b;

	(void)state;
	make_cursor(&c, &b, 3);
	for (size_t len = 0; len < b.len; len++)
		refused(b.data, len, &key_a, &c, NULL);
	for (size_t bit = 0; bit < b.len * 8; bit++) {
		b.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		refused(b.data, b.len, &key_a, &c, NULL);
		b.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	refused(b.data, b.len, &key_b, &c, "another agent");
	expect = c;
	expect.map_id = 6;
	refused(b.data, b.len, &key_a, &expect, "map id 5, not id 6");
	expect = c;
	expect.boot_id[3] = 1;
	refused(b.data, b.len, &key_a, &expect, "boot");
	expect = c;
	expect.value_size = 16;
	refused(b.data, b.len, &key_a, &expect, "4+8");
	bf_cursor_fini(&c);
	bf_buf_fini(&b);
}

static void
test_frame(void **state)
{
	const struct bf_frame f = {1, BF_FRAME_REQUEST, BF_DUMP, 0, 0x1122};
	const uint8_t *body;
	struct bf_frame got;
	struct bf_buf b;

	(void)state;
	bf_buf_init(&b, 100);
	bf_frame_begin(&b, &f);
	bf_buf_put(&b, "body", 4);
	bf_frame_finish(&b, 0);
	assert_int_equal(bf_frame_parse(&got, &body, b.data, b.len, NULL), 0);
	assert_int_equal(got.body_len, 4);
	assert_int_equal(got.id, 0x1122);
	assert_memory_equal(body, "body", 4);
	for (size_t len = 0; len < b.len; len++)
		assert_int_equal(bf_frame_parse(&got, &body, b.data, len, NULL),
				 -BF_EPROTO);
	b.data[2] = 9;
	assert_int_equal(bf_frame_parse(&got, &body, b.data, b.len, NULL),
			 -BF_EVERSION);
	assert_int_equal(got.id, 0x1122); /* so that it can be answered */
	b.data[2] = 1;
	b.data[12] = 1;
	assert_int_equal(bf_frame_parse(&got, &body, b.data, b.len, NULL),
			 -BF_EPROTO);
	bf_buf_fini(&b);
}

static void
test_dump_reply(void **state)
{
	uint8_t keys[] = {1, 2, 3, 4}, values[32] = {5};
	struct bf_dump_reply m = {
		.page =
			{
				.shape = {2, 5, 8, 2},
				.map_id = 3,
				.n = 2,
				.keys = keys,
				.values = values,
				.end = true,
				.engine = "batch",
				.reason = "why",
				.coherence = BF_EXACT,
				.skipped = 4,
			},
	};
	struct bf_dump_reply got;
	struct bf_buf b;

	(void)state;
	bf_buf_init(&b, 1000);
	bf_put_dump_reply(&b, &m);
	assert_int_equal(bf_get_dump_reply(&got, b.data, b.len, NULL), 0);
	assert_int_equal(got.page.n, 2);
	assert_memory_equal(got.page.keys, keys, 4);
	assert_memory_equal(got.page.values, values, 32);
	assert_string_equal(got.page.engine, "batch");
	bf_codec_free(got.owner);
	/* The last page has no cursor, any other has one. */
	bf_buf_reset(&b);
	m.cursor = keys;
	m.cursor_len = 4;
	bf_put_dump_reply(&b, &m);
	assert_int_equal(bf_get_dump_reply(&got, b.data, b.len, NULL),
			 -BF_EPROTO);
	bf_buf_reset(&b);
	m.page.end = false;
	m.cursor_len = 0;
	bf_put_dump_reply(&b, &m);
	assert_int_equal(bf_get_dump_reply(&got, b.data, b.len, NULL),
			 -BF_EPROTO);
	m.page.end = true;
	/* Columns that are not as long as n says. */
	bf_buf_reset(&b);
	m.page.n = 2;
	m.page.shape.slot_size = 4; /* less than a value */
	bf_put_dump_reply(&b, &m);
	assert_int_equal(bf_get_dump_reply(&got, b.data, b.len, NULL),
			 -BF_EPROTO);
	bf_buf_fini(&b);
}

/* Fields that this version does not know: ignored, but not without bound. */
static void
test_unknown_fields(void **state)
{
	static const uint8_t unknown[] = {0xf8, 0x3f, 0x01}; /* field 1023 */
	const struct bf_show_req m = {.map = {.id = 7, .pin = "/p"}};
	struct bf_show_req got;
	struct bf_buf b;

	(void)state;
	bf_buf_init(&b, 4u << 20);
	bf_put_show_req(&b, &m);
	bf_buf_put(&b, unknown, sizeof(unknown));
	assert_int_equal(bf_get_show_req(&got, b.data, b.len, NULL), 0);
	assert_int_equal(got.map.id, 7);
	assert_string_equal(got.map.pin, "/p");
	bf_codec_free(got.owner);
	while (b.len < BF_REQUEST_MAX)
		bf_buf_put(&b, unknown, sizeof(unknown));
	assert_int_equal(bf_get_show_req(&got, b.data, b.len, NULL),
			 -BF_EPROTO);
	bf_buf_fini(&b);
}

static void
test_refs(void **state)
{
	struct bf_show_req got;
	struct bf_buf b;

	(void)state;
	/* No map; and a pin with a NUL inside. */
	assert_int_equal(bf_get_show_req(&got, (const uint8_t *)"", 0, NULL),
			 -BF_EPROTO);
	assert_int_equal(bf_get_show_req(&got,
					 (const uint8_t *)"\x0a\x04\x12\x02/\0",
					 6, NULL),
			 -BF_EPROTO);
	bf_buf_init(&b, 10);
	bf_buf_put(&b, "12345678901", 11);
	assert_int_equal(b.err, -EMSGSIZE);
	assert_int_equal(b.len, 0);
	bf_buf_fini(&b);
}

static void
test_shapes(void **state)
{
	struct bf_shape s;

	(void)state;
	assert_int_equal(bf_shape_set(&s, 4, 5, true, 3), 0);
	assert_int_equal(s.slot_size, 8);
	assert_int_equal(bf_shape_value_bytes(&s), 24);
	assert_int_equal(bf_shape_set(&s, 4, 5, false, 3), 0);
	assert_int_equal(s.slot_size, 5);
	assert_int_equal(bf_shape_set(&s, 4, UINT32_MAX, false, 1), -EINVAL);
	assert_int_equal(bf_shape_set(&s, 4, 32768, true, 8192), -EINVAL);
	assert_int_equal(bf_shape_set(&s, UINT32_MAX, 4, false, 1), -EINVAL);
}

static void
test_error_words(void **state)
{
	(void)state;
	assert_null(strstr(bf_err_str(524), "nknown"));
	assert_string_equal(bf_err_str(-BF_ECURSOR), "cursor refused");
	assert_string_equal(bf_err_str(999999), "unknown error");
	assert_string_equal(bf_err_str(INT_MIN), "unknown error");
}

/* What quotes a peer's bytes is still a protobuf string. */
static void
test_error_is_utf8(void **state)
{
	const struct bf_error_reply e = {BF_ENOMAP, "pin /\xff\n: gone", NULL};
	struct bf_error_reply got;
	struct bf_buf b;

	(void)state;
	bf_buf_init(&b, 1000);
	bf_put_error(&b, &e);
	assert_int_equal(bf_get_error(&got, b.data, b.len, NULL), 0);
	assert_string_equal(got.message, "pin /??: gone");
	bf_codec_free(got.owner);
	bf_buf_fini(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cursor_round_trip),
		cmocka_unit_test(test_cursor_refused),
		cmocka_unit_test(test_frame),
		cmocka_unit_test(test_dump_reply),
		cmocka_unit_test(test_unknown_fields),
		cmocka_unit_test(test_refs),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_error_words),
		cmocka_unit_test(test_error_is_utf8),
	};

	if (bf_keys_init(NULL))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
