// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * test_channel - sealed frames: each is taken once, in any order within the
 * window, and none that was forged, altered, cut or recorded elsewhere
 */
#include "common/channel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PER_EPOCH (UINT64_C(1) << BF_CHANNEL_EPOCH_BITS)

struct pair {
	struct bf_channel a, b;
};

static void
begin(struct pair *p, uint8_t seed)
{
	struct bf_noise_result keys[2] = {0};

	memset(keys[0].send_key, seed, 32);
	memset(keys[0].recv_key, seed + 1, 32);
	memcpy(keys[1].send_key, keys[0].recv_key, 32);
	memcpy(keys[1].recv_key, keys[0].send_key, 32);
	bf_channel_init(&p->a, &keys[0]);
	bf_channel_init(&p->b, &keys[1]);
}

static void
end(struct pair *p)
{
	static const struct bf_channel zero;

	bf_channel_fini(&p->a);
	bf_channel_fini(&p->b);
	assert_memory_equal(&p->a, &zero, sizeof(zero));
}

struct sealed {
	uint8_t bytes[256];
	size_t len;
};

static struct sealed
seal(struct bf_channel *ch, const char *text)
{
	struct sealed s = {0};
	struct bf_buf buf;

	bf_buf_init(&buf, sizeof(s.bytes));
	buf.len = 0;
	assert_non_null(bf_buf_reserve(&buf, BF_CHANNEL_HEAD_BYTES));
	buf.len = BF_CHANNEL_HEAD_BYTES;
	bf_buf_put(&buf, text, strlen(text));
	assert_int_equal(bf_channel_seal(ch, &buf), 0);
	memcpy(s.bytes, buf.data, buf.len);
	s.len = buf.len;
	bf_buf_fini(&buf);
	return s;
}

/* Of a copy, as each arrival is one. Returns: 0 with the text, or the code */
static int
take(struct bf_channel *ch, struct sealed s, const char *text)
{
	const uint8_t *body;
	struct bf_frame f;
	uint8_t *plain = NULL;
	size_t len = 0;
	int ret;

	ret = bf_frame_parse(&f, &body, s.bytes, s.len, NULL);
	if (!ret)
		ret = bf_channel_open(ch, &f, s.bytes, s.len, &plain, &len,
				      NULL);
	if (!ret) {
		assert_int_equal(len, strlen(text));
		assert_memory_equal(plain, text, len);
	}
	return ret;
}

static void
test_both_ways(void **state)
{
	struct pair p;

	(void)state;
	begin(&p, 1);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(take(&p.b, seal(&p.a, "question"), "question"),
				 0);
		assert_int_equal(take(&p.a, seal(&p.b, "answer"), "answer"), 0);
	}
	assert_int_equal(take(&p.b, seal(&p.a, ""), ""), 0);
	/* A frame does not go back to where it came from. */
	assert_int_equal(take(&p.a, seal(&p.a, "mirror"), "mirror"),
			 -BF_EPROTO);
	end(&p);
}

/* 4000 frames in random order, within 1000 of each other, then all again. */
static void
test_any_order_once(void **state)
{
	enum { N = 4000, BLOCK = 1000 };
	struct sealed *all = calloc(N, sizeof(*all));
	struct pair p;

	(void)state;
	assert_non_null(all);
	begin(&p, 3);
	for (int i = 0; i < N; i++)
		all[i] = seal(&p.a, "x");
	srand(7);
	for (int i = 0; i < N; i++) {
		int last = (i / BLOCK + 1) * BLOCK;
		int k = i + rand() % (last - i);
		struct sealed t = all[i];

		all[i] = all[k];
		all[k] = t;
		assert_int_equal(take(&p.b, all[i], "x"), 0);
		assert_int_equal(take(&p.b, all[rand() % (i + 1)], "x"),
				 -BF_EPROTO);
	}
	for (int i = 0; i < N; i++)
		assert_int_equal(take(&p.b, all[i], "x"), -BF_EPROTO);
	free(all);
	end(&p);
}

static void
test_window(void **state)
{
	struct sealed first, second;
	struct pair p;

	(void)state;
	begin(&p, 5);
	first = seal(&p.a, "first");
	second = seal(&p.a, "second");
	for (unsigned i = 2; i < BF_CHANNEL_WINDOW; i++)
		seal(&p.a, "lost");
	assert_int_equal(take(&p.b, seal(&p.a, "newest"), "newest"), 0);
	assert_int_equal(take(&p.b, first, "first"), -BF_EPROTO);
	assert_int_equal(take(&p.b, second, "second"), 0);
	assert_int_equal(take(&p.b, second, "second"), -BF_EPROTO);
	end(&p);
}

static void
test_altered_or_cut(void **state)
{
	struct sealed good;
	struct pair p;

	(void)state;
	begin(&p, 7);
	good = seal(&p.a, "the text of a frame");
	for (size_t bit = 0; bit < good.len * 8; bit++) {
		struct sealed s = good;

		s.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_not_equal(take(&p.b, s, ""), 0);
	}
	for (size_t len = 0; len < good.len; len++) {
		struct sealed s = good;
		uint32_t body = (uint32_t)(len - BF_FRAME_BYTES);

		s.len = len;
		assert_int_not_equal(take(&p.b, s, ""), 0);
		if (len < BF_FRAME_BYTES)
			continue;
		memcpy(s.bytes + 4, &body, sizeof(body)); /* it agrees */
		assert_int_not_equal(take(&p.b, s, ""), 0);
	}
	/* None of that used it up. */
	assert_int_equal(take(&p.b, good, "the text of a frame"), 0);
	end(&p);
}

static void
test_other_session(void **state)
{
	struct pair p, q;

	(void)state;
	begin(&p, 9);
	begin(&q, 20);
	assert_int_equal(take(&q.b, seal(&p.a, "x"), "x"), -BF_EPROTO);
	assert_int_equal(take(&p.b, seal(&q.a, "x"), "x"), -BF_EPROTO);
	assert_int_equal(take(&p.b, seal(&p.a, "x"), "x"), 0);
	end(&p);
	end(&q);
}

/* The last frames of an epoch may arrive after the first ones of the next. */
static void
test_rekey_by_count(void **state)
{
	struct sealed late[3];
	uint8_t before[32];
	struct pair p;

	(void)state;
	begin(&p, 11);
	memcpy(before, p.a.send.key, 32);
	p.a.next = PER_EPOCH - 3;
	for (int i = 0; i < 3; i++)
		late[i] = seal(&p.a, "late");
	assert_int_equal(p.a.send.number, 0);
	assert_int_equal(take(&p.b, seal(&p.a, "new"), "new"), 0);
	assert_int_equal(p.a.send.number, 1);
	assert_memory_not_equal(before, p.a.send.key, 32);
	assert_memory_equal(p.b.recv[0].key, p.a.send.key, 32);
	for (int i = 0; i < 3; i++)
		assert_int_equal(take(&p.b, late[i], "late"), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(take(&p.b, late[i], "late"), -BF_EPROTO);
	end(&p);
}

static void
test_rekey_by_time(void **state)
{
	struct sealed late;
	struct pair p;

	(void)state;
	begin(&p, 13);
	late = seal(&p.a, "late");
	for (uint64_t epoch = 1; epoch <= 10; epoch++) {
		p.a.rekey_at = bf_mono_now();
		assert_int_equal(take(&p.b, seal(&p.a, "x"), "x"), 0);
		assert_int_equal(p.a.next, epoch * PER_EPOCH + 1);
		assert_false(bf_mono_passed(p.a.rekey_at));
		if (epoch == 1)
			assert_int_equal(take(&p.b, late, "late"), 0);
	}
	assert_int_equal(take(&p.b, late, "late"), -BF_EPROTO);
	end(&p);
}

/* Epochs whose every frame was lost are passed over, up to a bound. */
static void
test_epochs_ahead(void **state)
{
	struct pair p;

	(void)state;
	for (unsigned ahead = 1; ahead <= BF_CHANNEL_AHEAD_MAX + 1; ahead++) {
		struct sealed s = {0};

		begin(&p, 15);
		for (unsigned i = 0; i < ahead; i++) {
			p.a.rekey_at = bf_mono_now();
			s = seal(&p.a, "x");
		}
		assert_int_equal(take(&p.b, s, "x"),
				 ahead <= BF_CHANNEL_AHEAD_MAX ? 0
							       : -BF_EPROTO);
		end(&p);
	}
}

static void
test_counters_run_out(void **state)
{
	struct bf_buf buf;
	struct pair p;

	(void)state;
	begin(&p, 17);
	p.a.next = UINT64_C(1) << 62;
	p.a.send.number = p.a.next >> BF_CHANNEL_EPOCH_BITS;
	bf_buf_init(&buf, 256);
	bf_buf_put(&buf, "012345678901234567890123456789", 30);
	assert_int_equal(bf_channel_seal(&p.a, &buf), -BF_EINTERNAL);
	bf_buf_fini(&buf);
	end(&p);
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
		cmocka_unit_test(test_both_ways),
		cmocka_unit_test(test_any_order_once),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_altered_or_cut),
		cmocka_unit_test(test_other_session),
		cmocka_unit_test(test_rekey_by_count),
		cmocka_unit_test(test_rekey_by_time),
		cmocka_unit_test(test_epochs_ahead),
		cmocka_unit_test(test_counters_run_out),
	};

	return cmocka_run_group_tests(tests, start, NULL);
}
