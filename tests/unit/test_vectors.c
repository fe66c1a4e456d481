// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * test_vectors - the golden bytes of proto/vectors, both ways
 *
 * Each file holds a whole frame in hex.  Here stands what it means: encoding
 * that gives these bytes, and these bytes give that.  With VECTORS_WRITE set
 * the files are made anew, for a new version of the protocol only.
 */
#include "common/codec.h"
#include "common/frame.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void
begin(struct bf_buf *b, enum bf_frame_kind kind, enum bf_method method)
{
	const struct bf_frame f = {
		.version = BF_PROTOCOL_VERSION,
		.kind = (uint8_t)kind,
		.method = (uint16_t)method,
		.id = 42,
	};

	bf_buf_init(b, 1u << 16);
	bf_frame_begin(b, &f);
}

static void
write_vector(const char *path, const struct bf_buf *b)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	for (size_t i = 0; i < b->len; i++)
		fprintf(f, "%02x%s", b->data[i],
			i % 24 == 23 || i + 1 == b->len ? "\n" : " ");
	fclose(f);
}

/* The frame in b is what the file holds; its body is left in b. */
static const uint8_t *
check(struct bf_buf *b, const char *name, size_t *len)
{
	char path[256];
	struct bf_frame frame;
	const uint8_t *body;
	unsigned byte;
	size_t n = 0;
	FILE *f;

	bf_frame_finish(b, 0);
	assert_int_equal(b->err, 0);
	snprintf(path, sizeof(path), "proto/vectors/%s.hex", name);
	if (getenv("VECTORS_WRITE"))
		write_vector(path, b);
	f = fopen(path, "r");
	if (!f)
		fail_msg("%s is missing", path);
	while (fscanf(f, "%2x", &byte) == 1) {
		assert_true(n < b->len);
		if (b->data[n] != byte)
			fail_msg("%s: byte %zu differs", name, n);
		n++;
	}
	fclose(f);
	assert_int_equal(n, b->len);
	assert_int_equal(bf_frame_parse(&frame, &body, b->data, b->len, NULL),
			 0);
	assert_int_equal(frame.id, 42);
	*len = frame.body_len;
	return body;
}

static void
test_hello(void **state)
{
	const struct bf_hello_req req = {1, 1, "example 1.0", NULL};
	static const uint32_t methods[] = {1, 2, 3, 4, 5, 6};
	const struct bf_hello_reply reply = {
		.version = 1,
		.agent = "bpfleetd 0.1.0",
		.host = "web01",
		.kernel = "6.18.44 x86_64",
		.limits = "",
		.boot_id = {0xaa, 0xbb},
		.n_possible_cpus = 2,
		.max_request_bytes = BF_REQUEST_MAX,
		.max_reply_bytes = BF_REPLY_MAX,
		.methods = methods,
		.n_methods = 6,
	};
	struct bf_hello_reply got_reply;
	struct bf_hello_req got;
	const uint8_t *body;
	struct bf_buf b;
	size_t len;

	(void)state;
	begin(&b, BF_FRAME_REQUEST, BF_HELLO);
	bf_put_hello_req(&b, &req);
	body = check(&b, "hello-request", &len);
	assert_int_equal(bf_get_hello_req(&got, body, len, NULL), 0);
	assert_string_equal(got.client, "example 1.0");
	bf_codec_free(got.owner);
	bf_buf_fini(&b);
	begin(&b, BF_FRAME_REPLY, BF_HELLO);
	bf_put_hello_reply(&b, &reply);
	body = check(&b, "hello-reply", &len);
	assert_int_equal(bf_get_hello_reply(&got_reply, body, len, NULL), 0);
	assert_string_equal(got_reply.host, "web01");
	assert_int_equal(got_reply.n_methods, 6);
	assert_memory_equal(got_reply.boot_id, reply.boot_id, 16);
	bf_codec_free(got_reply.owner);
	bf_buf_fini(&b);
}

static const char *const pins[] = {"/sys/fs/bpf/flows"};
static const struct bf_map_entry flows = {
	.info =
		{
			.id = 7,
			.type = BF_MAP_PERCPU_HASH,
			.key_size = 4,
			.value_size = 12,
			.max_entries = 1000,
			.flags = 1,
			.btf_id = 3,
			.memlock_bytes = 4096,
			.has_memlock = 1,
			.name = "flows",
		},
	.pins = pins,
	.n_pins = 1,
	.n_slots = 2,
	.slot_size = 16,
	.unreadable = "",
};

static void
test_list(void **state)
{
	const struct bf_list_req req = {0, 0, "flow*", true, NULL};
	struct bf_map_entry maps[] = {flows};
	const struct bf_list_reply reply = {
		.maps = maps,
		.n_maps = 1,
		.end = true,
		.next_after_id = 7,
		.limits = "",
	};
	struct bf_list_reply got_reply;
	struct bf_list_req got;
	const uint8_t *body;
	struct bf_buf b, again;
	size_t len;

	(void)state;
	begin(&b, BF_FRAME_REQUEST, BF_LIST_MAPS);
	bf_put_list_req(&b, &req);
	body = check(&b, "list-request", &len);
	assert_int_equal(bf_get_list_req(&got, body, len, NULL), 0);
	assert_string_equal(got.name_glob, "flow*");
	assert_true(got.pins);
	bf_codec_free(got.owner);
	bf_buf_fini(&b);
	begin(&b, BF_FRAME_REPLY, BF_LIST_MAPS);
	bf_put_list_reply(&b, &reply);
	body = check(&b, "list-reply", &len);
	assert_int_equal(bf_get_list_reply(&got_reply, body, len, NULL), 0);
	assert_int_equal(got_reply.n_maps, 1);
	/* Encoded again it is the same, whatever the padding holds. */
	bf_buf_init(&again, 1u << 16);
	bf_put_list_reply(&again, &got_reply);
	assert_int_equal(again.len, len);
	assert_memory_equal(again.data, body, len);
	bf_buf_fini(&again);
	assert_string_equal(got_reply.maps[0].info.name, "flows");
	assert_int_equal(got_reply.maps[0].info.value_size, 12);
	assert_string_equal(got_reply.maps[0].pins[0], pins[0]);
	bf_codec_free(got_reply.owner);
	bf_buf_fini(&b);
}

static void
test_show(void **state)
{
	const struct bf_show_req req = {{0, "/sys/fs/bpf/flows"}, NULL};
	struct bf_engine_info engines[] = {{"walk", true, ""},
					   {"batch", false, "no"}};
	const struct bf_show_reply reply = {flows, engines, 2, NULL};
	struct bf_show_reply got_reply;
	struct bf_show_req got;
	const uint8_t *body;
	struct bf_buf b;
	size_t len;

	(void)state;
	begin(&b, BF_FRAME_REQUEST, BF_SHOW_MAP);
	bf_put_show_req(&b, &req);
	body = check(&b, "show-request", &len);
	assert_int_equal(bf_get_show_req(&got, body, len, NULL), 0);
	assert_string_equal(got.map.pin, "/sys/fs/bpf/flows");
	bf_codec_free(got.owner);
	bf_buf_fini(&b);
	begin(&b, BF_FRAME_REPLY, BF_SHOW_MAP);
	bf_put_show_reply(&b, &reply);
	body = check(&b, "show-reply", &len);
	assert_int_equal(bf_get_show_reply(&got_reply, body, len, NULL), 0);
	assert_string_equal(got_reply.engines[1].why, "no");
	bf_codec_free(got_reply.owner);
	bf_buf_fini(&b);
}

static void
test_dump(void **state)
{
	uint8_t keys[] = {1, 0, 0, 0, 2, 0, 0, 0}, values[64];
	const struct bf_dump_req req = {
		.map = {7, NULL},
		.cursor = keys,
		.cursor_len = 8,
		.max_entries = 100,
		.max_bytes = 65536,
		.engine = "batch",
		.coherence = BF_EXACT,
	};
	struct bf_dump_reply reply = {
		.page =
			{
				.shape = {4, 12, 16, 2},
				.map_id = 7,
				.n = 2,
				.keys = keys,
				.values = values,
				.engine = "batch",
				.reason = "bulk read, exact",
				.coherence = BF_EXACT,
				.retries = 1,
				.started_ns = 1800000000000000000,
				.ended_ns = 1800000000000001000,
			},
		.cursor = keys,
		.cursor_len = 4,
	};
	struct bf_dump_reply got_reply;
	struct bf_dump_req got;
	const uint8_t *body;
	struct bf_buf b;
	size_t len;

	(void)state;
	for (size_t i = 0; i < sizeof(values); i++)
		values[i] = (uint8_t)i;
	begin(&b, BF_FRAME_REQUEST, BF_DUMP);
	bf_put_dump_req(&b, &req);
	body = check(&b, "dump-request", &len);
	assert_int_equal(bf_get_dump_req(&got, body, len, NULL), 0);
	assert_int_equal(got.cursor_len, 8);
	assert_string_equal(got.engine, "batch");
	bf_codec_free(got.owner);
	bf_buf_fini(&b);
	begin(&b, BF_FRAME_REPLY, BF_DUMP);
	bf_put_dump_reply(&b, &reply);
	body = check(&b, "dump-reply", &len);
	assert_int_equal(bf_get_dump_reply(&got_reply, body, len, NULL), 0);
	assert_memory_equal(got_reply.page.values, values, sizeof(values));
	assert_int_equal(got_reply.page.ended_ns, reply.page.ended_ns);
	bf_codec_free(got_reply.owner);
	bf_buf_fini(&b);
}

static void
test_lookup_and_peek(void **state)
{
	static const uint8_t keys[] = {1, 0, 0, 0, 9, 0, 0, 0};
	static const uint8_t found[] = {1, 0}, values[16] = {3};
	const struct bf_lookup_req req = {{7, NULL}, 4, keys, 2, NULL};
	const struct bf_peek_req peek = {{8, NULL}, NULL};
	const struct bf_lookup_reply reply = {
		.map_id = 7,
		.n = 2,
		.shape = {0, 8, 8, 1},
		.found = found,
		.values = values,
		.coherence = BF_FAST,
		.started_ns = 5,
		.ended_ns = 6,
	};
	struct bf_lookup_reply got_reply;
	struct bf_lookup_req got;
	struct bf_peek_req got_peek;
	const uint8_t *body;
	struct bf_buf b;
	size_t len;

	(void)state;
	begin(&b, BF_FRAME_REQUEST, BF_LOOKUP);
	bf_put_lookup_req(&b, &req);
	body = check(&b, "lookup-request", &len);
	assert_int_equal(bf_get_lookup_req(&got, body, len, NULL), 0);
	assert_int_equal(got.n_keys, 2);
	bf_codec_free(got.owner);
	bf_buf_fini(&b);
	begin(&b, BF_FRAME_REPLY, BF_LOOKUP);
	bf_put_lookup_reply(&b, &reply);
	body = check(&b, "lookup-reply", &len);
	assert_int_equal(bf_get_lookup_reply(&got_reply, body, len, NULL), 0);
	assert_memory_equal(got_reply.found, found, 2);
	bf_codec_free(got_reply.owner);
	bf_buf_fini(&b);
	begin(&b, BF_FRAME_REQUEST, BF_PEEK);
	bf_put_peek_req(&b, &peek);
	body = check(&b, "peek-request", &len);
	assert_int_equal(bf_get_peek_req(&got_peek, body, len, NULL), 0);
	assert_int_equal(got_peek.map.id, 8);
	bf_codec_free(got_peek.owner);
	bf_buf_fini(&b);
	begin(&b, BF_FRAME_REPLY, BF_PEEK);
	bf_put_peek_reply(&b, &reply);
	body = check(&b, "peek-reply", &len);
	assert_int_equal(bf_get_peek_reply(&got_reply, body, len, NULL), 0);
	assert_int_equal(got_reply.shape.value_size, 8);
	assert_int_equal(got_reply.values[0], 3);
	bf_codec_free(got_reply.owner);
	bf_buf_fini(&b);
}

static void
test_error(void **state)
{
	const struct bf_error_reply e = {BF_EOPERATION, "operation 99", NULL};
	struct bf_error_reply got;
	const uint8_t *body;
	struct bf_buf b;
	size_t len;

	(void)state;
	begin(&b, BF_FRAME_ERROR, (enum bf_method)99);
	bf_put_error(&b, &e);
	body = check(&b, "error", &len);
	assert_int_equal(bf_get_error(&got, body, len, NULL), 0);
	assert_int_equal(got.code, BF_EOPERATION);
	assert_string_equal(got.message, "operation 99");
	bf_codec_free(got.owner);
	bf_buf_fini(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hello),
		cmocka_unit_test(test_list),
		cmocka_unit_test(test_show),
		cmocka_unit_test(test_dump),
		cmocka_unit_test(test_lookup_and_peek),
		cmocka_unit_test(test_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
