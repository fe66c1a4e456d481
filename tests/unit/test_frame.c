// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * test_frame - the header before every body: only whole frames are taken
 */
#include "common/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void
make(struct bf_buf *out)
{
	const struct bf_frame frame = {
		.version = BF_PROTOCOL_VERSION,
		.kind = BF_FRAME_REQUEST,
		.method = BF_DUMP,
		.id = 0x1122334455667788,
	};

	bf_buf_init(out, 1024);
	bf_frame_begin(out, &frame);
	bf_buf_put(out, "body", 4);
	bf_frame_finish(out, 0);
	assert_int_equal(out->err, 0);
}

static void
round_trip(void **state)
{
	struct bf_frame frame;
	const uint8_t *body;
	struct bf_buf buf;

	(void)state;
	make(&buf);
	assert_int_equal(buf.len, BF_FRAME_BYTES + 4);
	assert_int_equal(bf_frame_parse(&frame, &body, buf.data, buf.len, NULL),
			 0);
	assert_int_equal(frame.kind, BF_FRAME_REQUEST);
	assert_int_equal(frame.method, BF_DUMP);
	assert_int_equal(frame.id, 0x1122334455667788);
	assert_int_equal(frame.body_len, 4);
	assert_memory_equal(body, "body", 4);
	bf_buf_fini(&buf);
}

/* Byte by byte as PROTOCOL.md has it. */
static void
layout(void **state)
{
	static const uint8_t want[BF_FRAME_BYTES] = {
		'b', 'f', 1, 1, 4,    0,    0,	  0,	4,    0,    0,	  0,
		0,   0,	  0, 0, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
	};
	struct bf_buf buf;

	(void)state;
	make(&buf);
	assert_memory_equal(buf.data, want, sizeof(want));
	bf_buf_fini(&buf);
}

static void
truncations(void **state)
{
	struct bf_frame frame;
	const uint8_t *body;
	struct bf_buf buf;

	(void)state;
	make(&buf);
	for (size_t len = 0; len < buf.len; len++) {
		uint8_t *cut = malloc(len + !len);

		assert_non_null(cut);
		memcpy(cut, buf.data, len);
		assert_int_equal(bf_frame_parse(&frame, &body, cut, len, NULL),
				 -BF_EPROTO);
		assert_null(body);
		free(cut);
	}
	bf_buf_put(&buf, "", 1);
	assert_int_equal(bf_frame_parse(&frame, &body, buf.data, buf.len, NULL),
			 -BF_EPROTO);
	bf_buf_fini(&buf);
}

/* Every bit of magic, length and reserved bytes counts; the id is free. */
static void
bit_flips(void **state)
{
	struct bf_frame frame;
	const uint8_t *body;
	struct bf_buf buf;
	int ret, want;

	(void)state;
	make(&buf);
	for (size_t bit = 0; bit < BF_FRAME_BYTES * 8; bit++) {
		size_t at = bit / 8;

		want = at == 2		     ? -BF_EVERSION
		       : at == 3 || at >= 16 ? 0
		       : at == 8 || at == 9  ? 0
					     : -BF_EPROTO;
		buf.data[at] ^= (uint8_t)(1u << (bit % 8));
		ret = bf_frame_parse(&frame, &body, buf.data, buf.len, NULL);
		assert_int_equal(ret, want);
		if (ret)
			assert_null(body);
		buf.data[at] ^= (uint8_t)(1u << (bit % 8));
	}
	bf_buf_fini(&buf);
}

/* So that the answer to another version can carry the id. */
static void
other_version_is_readable(void **state)
{
	struct bf_frame frame;
	const uint8_t *body;
	struct bf_buf buf;
	struct bf_err err;

	(void)state;
	make(&buf);
	buf.data[2] = 9;
	assert_int_equal(bf_frame_parse(&frame, &body, buf.data, buf.len, &err),
			 -BF_EVERSION);
	assert_int_equal(frame.version, 9);
	assert_int_equal(frame.id, 0x1122334455667788);
	assert_non_null(strstr(err.text, "version 9"));
	bf_buf_fini(&buf);
}

static void
garbage(void **state)
{
	struct bf_frame frame;
	const uint8_t *body;
	uint8_t bytes[64];
	uint32_t x = 7;

	(void)state;
	for (size_t round = 0; round < 20000; round++) {
		for (size_t i = 0; i < sizeof(bytes); i++) {
			x = x * 1664525u + 1013904223u;
			bytes[i] = (uint8_t)(x >> 24);
		}
		if (round % 2)
			memcpy(bytes, "bf\1\1", 4);
		assert_int_not_equal(bf_frame_parse(&frame, &body, bytes,
						    x % sizeof(bytes), NULL),
				     0);
	}
}

/* A buffer that is too small says so once, at the end. */
static void
no_room(void **state)
{
	const struct bf_frame frame = {.version = BF_PROTOCOL_VERSION};
	struct bf_buf buf;

	(void)state;
	bf_buf_init(&buf, BF_FRAME_BYTES - 1);
	bf_frame_begin(&buf, &frame);
	bf_frame_finish(&buf, 0);
	assert_int_not_equal(buf.err, 0);
	assert_int_equal(buf.len, 0);
	bf_buf_fini(&buf);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),
		cmocka_unit_test(layout),
		cmocka_unit_test(truncations),
		cmocka_unit_test(bit_flips),
		cmocka_unit_test(other_version_is_readable),
		cmocka_unit_test(garbage),
		cmocka_unit_test(no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
