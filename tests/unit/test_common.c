// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * test_common - buffers, errors, sizes of pages, words for the log, secrets
 */
#include "common/buf.h"
#include "common/err.h"
#include "common/keys.h"
#include "common/log.h"
#include "common/nearest.h"
#include "common/page.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* -------------------------------------------------------------- buffers */

static void
buf_never_passes_max(void **state)
{
	struct bf_buf buf;

	(void)state;
	bf_buf_init(&buf, 10);
	bf_buf_put(&buf, "12345678", 8);
	assert_int_equal(buf.err, 0);
	bf_buf_put(&buf, "901", 3);
	assert_int_equal(buf.err, -EMSGSIZE);
	assert_int_equal(buf.len, 8);
	/* The first failure sticks, even where there would be room. */
	bf_buf_put(&buf, "9", 1);
	assert_int_equal(buf.len, 8);
	assert_null(bf_buf_reserve(&buf, 0));
	bf_buf_reset(&buf);
	assert_int_equal(buf.err, 0);
	bf_buf_put(&buf, "0123456789", 10);
	assert_int_equal(buf.err, 0);
	assert_null(bf_buf_reserve(&buf, SIZE_MAX));
	assert_int_equal(buf.err, -EMSGSIZE);
	assert_true(buf.cap <= buf.max);
	bf_buf_fini(&buf);
}

static void
buf_grows(void **state)
{
	struct bf_buf buf;

	(void)state;
	bf_buf_init(&buf, 100000);
	for (uint32_t i = 0; i < 100000; i++) {
		uint8_t byte = (uint8_t)(i * 7);

		bf_buf_put(&buf, &byte, 1);
	}
	assert_int_equal(buf.err, 0);
	assert_int_equal(buf.len, 100000);
	for (uint32_t i = 0; i < 100000; i++)
		assert_int_equal(buf.data[i], (uint8_t)(i * 7));
	bf_buf_fini(&buf);
	bf_buf_fini(&buf);
	assert_int_equal(buf.max, 100000);
}

/* --------------------------------------------------------------- errors */

static void
err_is_cut_not_overrun(void **state)
{
	char text[2000];
	struct bf_err err;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(bf_err_set(&err, BF_EGONE, "%s", text), -BF_EGONE);
	assert_int_equal(err.code, BF_EGONE);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
	assert_int_equal(bf_err_set(NULL, ENOENT, "unseen"), -ENOENT);
}

static void
err_words(void **state)
{
	(void)state;
	for (int code = BF_EPROTO; code <= BF_EHOSTKEY; code++) {
		assert_string_not_equal(bf_err_str(code), "unknown error");
		assert_string_equal(bf_err_str(code), bf_err_str(-code));
	}
	assert_string_equal(bf_err_str(ENOENT), "No such file or directory");
	/* The kernel's ENOTSUPP is in no errno.h. */
	assert_non_null(strstr(bf_err_str(524), "not supported"));
	assert_string_equal(bf_err_str(BF_EHOSTKEY + 1), "unknown error");
	assert_string_equal(bf_err_str(INT_MAX), "unknown error");
}

/* ---------------------------------------------------------------- pages */

static void
shapes(void **state)
{
	struct bf_shape s;

	(void)state;
	assert_int_equal(bf_shape_set(&s, 4, 12, false, 8), 0);
	assert_int_equal(s.slot_size, 12);
	assert_int_equal(s.n_slots, 1);
	assert_int_equal(bf_shape_entry_bytes(&s), 16);
	assert_int_equal(bf_shape_set(&s, 4, 12, true, 8), 0);
	assert_int_equal(s.value_size, 12);
	assert_int_equal(s.slot_size, 16);
	assert_int_equal(s.n_slots, 8);
	assert_int_equal(bf_shape_value_bytes(&s), 128);
	assert_int_equal(bf_shape_set(&s, 4, 12, true, 0), -EINVAL);
	assert_int_equal(bf_shape_set(&s, BF_KEY_MAX, 4, false, 1), 0);
	assert_int_equal(bf_shape_set(&s, BF_KEY_MAX + 1, 4, false, 1),
			 -EINVAL);
	assert_int_equal(bf_shape_set(&s, 0, BF_PAGE_MAX, false, 1), 0);
	assert_int_equal(bf_shape_set(&s, 1, BF_PAGE_MAX, false, 1), -EINVAL);
	assert_int_equal(bf_shape_set(&s, 4, UINT32_MAX, true, 1), -EINVAL);
	assert_int_equal(bf_shape_set(&s, 4, 1u << 20, true, UINT32_MAX),
			 -EINVAL);
}

static void
page_room(void **state)
{
	struct bf_page page;
	struct bf_shape s;

	(void)state;
	assert_int_equal(bf_shape_set(&s, 8, 24, false, 1), 0);
	bf_page_init(&page, &s);
	assert_int_equal(bf_page_reserve(&page, 4), 0);
	memset(bf_page_key(&page, 3), 1, 8);
	memset(bf_page_value(&page, 3), 2, 24);
	page.n = 4;
	assert_int_equal(bf_page_reserve(&page, 1000), 0);
	assert_int_equal(bf_page_key(&page, 3)[7], 1);
	assert_int_equal(bf_page_value(&page, 3)[23], 2);
	assert_int_equal(bf_page_reserve(&page, 2), 0);
	assert_int_equal(page.cap, 1000);
	assert_int_equal(bf_page_reserve(&page, BF_PAGE_MAX / 32 + 1),
			 -BF_ETOOBIG);
	assert_int_equal(bf_page_reserve(&page, UINT64_MAX), -BF_ETOOBIG);
	assert_int_equal(page.cap, 1000);
	bf_page_fini(&page);
}

static void
coherence_words(void **state)
{
	(void)state;
	assert_string_equal(bf_coherence_str(BF_EXACT), "exact");
	assert_string_equal(bf_coherence_str(BF_FAST), "fast");
	assert_string_equal(bf_coherence_str(BF_MAY_REPEAT), "may-repeat");
	assert_string_equal(bf_coherence_str(BF_INCOMPLETE), "incomplete");
	assert_string_equal(bf_coherence_str((enum bf_coherence)0), "unknown");
	assert_string_equal(bf_coherence_str((enum bf_coherence)99), "unknown");
}

static void
powers_of_two(void **state)
{
	(void)state;
	assert_int_equal(bf_round_up_pow2(0), 1);
	assert_int_equal(bf_round_up_pow2(1), 1);
	assert_int_equal(bf_round_up_pow2(5), 8);
	assert_int_equal(bf_round_up_pow2(8), 8);
	assert_int_equal(bf_round_up_pow2(UINT32_MAX), 1ull << 32);
	assert_int_equal(bf_round_up8(0), 0);
	assert_int_equal(bf_round_up8(9), 16);
}

/* ------------------------------------------------------------------ log */

static void
log_escapes(void **state)
{
	char out[32];

	(void)state;
	assert_string_equal(bf_log_escape("flows", 5, out, sizeof(out)),
			    "flows");
	assert_string_equal(
		bf_log_escape("a \"\n\\\0\xff", 7, out, sizeof(out)),
		"a \\x22\\x0a\\x5c\\x00\\xff");
	for (size_t cap = 0; cap <= sizeof(out); cap++) {
		memset(out, '#', sizeof(out));
		bf_log_escape("\n\n\n\n\n\n\n\n\n\n", 10, out, cap);
		if (cap)
			assert_true(memchr(out, '\0', cap) != NULL);
		for (size_t i = cap; i < sizeof(out); i++)
			assert_int_equal(out[i], '#');
	}
}

static void
log_levels(void **state)
{
	enum bf_log_level level = BF_LOG_ERR;

	(void)state;
	assert_int_equal(bf_log_parse_level("debug", &level), 0);
	assert_int_equal(level, BF_LOG_DEBUG);
	assert_int_equal(bf_log_parse_level("loud", &level), -EINVAL);
	assert_int_equal(level, BF_LOG_DEBUG);
}

/* -------------------------------------------------------------- secrets */

struct dir {
	char path[64];
	char file[96];
};

static int
make_dir(void **state)
{
	struct dir *d = calloc(1, sizeof(*d));

	if (!d)
		return -1;
	strcpy(d->path, "/tmp/bf-test-XXXXXX");
	if (!mkdtemp(d->path)) {
		free(d);
		return -1;
	}
	snprintf(d->file, sizeof(d->file), "%s/secret", d->path);
	*state = d;
	return 0;
}

static int
remove_dir(void **state)
{
	struct dir *d = *state;
	int ret;

	unlink(d->file);
	ret = rmdir(d->path); /* fails if anything else was left there */
	free(d);
	return ret;
}

static void
secret_is_made_once(void **state)
{
	const struct dir *d = *state;
	struct bf_key a, b;
	struct stat st;

	assert_int_equal(bf_keys_load(&a, d->file, NULL), 0);
	assert_int_equal(stat(d->file, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_int_equal(st.st_size, BF_KEY_BYTES);
	assert_int_equal(bf_keys_load(&b, d->file, NULL), 0);
	assert_memory_equal(&a, &b, sizeof(a));
}

static void
loose_secret_is_refused(void **state)
{
	const struct dir *d = *state;
	struct bf_key key;
	struct bf_err err;

	assert_int_equal(bf_keys_load(&key, d->file, NULL), 0);
	assert_int_equal(chmod(d->file, 0640), 0);
	assert_int_equal(bf_keys_load(&key, d->file, &err), -BF_EDENIED);
	assert_non_null(strstr(err.text, "0640"));
	assert_int_equal(chmod(d->file, 0600), 0);
	assert_int_equal(truncate(d->file, 31), 0);
	assert_int_equal(bf_keys_load(&key, d->file, &err), -BF_EARGUMENT);
}

static void
secret_is_no_link_and_no_dir(void **state)
{
	const struct dir *d = *state;
	struct bf_key key;

	assert_int_equal(symlink("/dev/zero", d->file), 0);
	assert_int_equal(bf_keys_load(&key, d->file, NULL), -ELOOP);
	assert_int_equal(bf_keys_load(&key, d->path, NULL), -BF_EARGUMENT);
	assert_int_equal(bf_keys_load(&key, "/nonexistent/dir/x", NULL),
			 -ENOENT);
}

static void
macs(void **state)
{
	struct bf_key secret = {"a secret"}, a, b;
	uint8_t mac[BF_MAC_BYTES];

	(void)state;
	bf_keys_derive(&a, &secret, "cursor");
	bf_keys_derive(&b, &secret, "other");
	assert_memory_not_equal(&a, &b, sizeof(a));
	bf_keys_mac(mac, &a, "text", 4);
	assert_true(bf_keys_mac_ok(mac, &a, "text", 4));
	assert_false(bf_keys_mac_ok(mac, &b, "text", 4));
	assert_false(bf_keys_mac_ok(mac, &a, "texu", 4));
	assert_false(bf_keys_mac_ok(mac, &a, "text", 3));
	bf_keys_wipe(&a, sizeof(a));
	for (size_t i = 0; i < sizeof(a); i++)
		assert_int_equal(a.bytes[i], 0);
}

static void
nearest_word_within_reach(void **state)
{
	static const char *const words[] = {"list", "lookup", "dump"};
	char longest[200];

	(void)state;
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_string_equal(bf_nearest_word("lis", words, 3), "list");
	assert_string_equal(bf_nearest_word("dmup", words, 3), "dump");
	assert_string_equal(bf_nearest_word("look", words, 3), "lookup");
	assert_null(bf_nearest_word("", words, 3));
	assert_null(bf_nearest_word("zzzz", words, 3));
	assert_null(bf_nearest_word(longest, words, 3));
}

int
main(void)
{
#define WITH_DIR(test)                                                         \
	cmocka_unit_test_setup_teardown(test, make_dir, remove_dir)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buf_never_passes_max),
		cmocka_unit_test(buf_grows),
		cmocka_unit_test(err_is_cut_not_overrun),
		cmocka_unit_test(err_words),
		cmocka_unit_test(shapes),
		cmocka_unit_test(page_room),
		cmocka_unit_test(coherence_words),
		cmocka_unit_test(powers_of_two),
		cmocka_unit_test(log_escapes),
		cmocka_unit_test(log_levels),
		WITH_DIR(secret_is_made_once),
		WITH_DIR(loose_secret_is_refused),
		WITH_DIR(secret_is_no_link_and_no_dir),
		cmocka_unit_test(macs),
		cmocka_unit_test(nearest_word_within_reach),
	};

	if (bf_keys_init(NULL))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
