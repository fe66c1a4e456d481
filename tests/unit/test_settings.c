// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * test_settings - which words are patterns of maps
 */
#include "server/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void
test_patterns(void **state)
{
	static const struct {
		const char *text;
		struct bf_pattern want;
	} good[] = {
		{"name:flow_*", {BF_PATTERN_NAME, 0, "flow_*"}},
		{"name:", {BF_PATTERN_NAME, 0, ""}}, /* maps without a name */
		{"pin:/sys/fs/bpf/a:b", {BF_PATTERN_PIN, 0, "/sys/fs/bpf/a:b"}},
		{"id:7", {BF_PATTERN_ID, 7, "7"}},
		{"id:4294967295", {BF_PATTERN_ID, UINT32_MAX, "4294967295"}},
	};
	struct bf_pattern p;
	struct bf_err err;

	(void)state;
	for (size_t i = 0; i < BF_ARRAY_SIZE(good); i++) {
		assert_int_equal(bf_pattern_parse(&p, good[i].text, &err), 0);
		assert_memory_equal(&p, &good[i].want, sizeof(p));
	}
}

static void
test_bad_patterns(void **state)
{
	static const char *const bad[] = {
		"",	    "flow",
		"name",	    "names:x",
		"nam:x",    ":x",
		" name:x",  "NAME:x",
		"id:",	    "id:0",
		"id:-1",    "id:+1",
		"id: 1",    "id:1x",
		"id:0x1",   "id:4294967296",
		"pinned:x", "id:99999999999999999999999",
	};
	struct bf_pattern p;
	struct bf_err err;

	(void)state;
	for (size_t i = 0; i < BF_ARRAY_SIZE(bad); i++) {
		assert_int_equal(bf_pattern_parse(&p, bad[i], &err),
				 -BF_EARGUMENT);
		assert_int_equal(strncmp(err.text, "maps: ", 6), 0);
	}
}

static void
test_long_pattern(void **state)
{
	char text[5 + BF_PATTERN_MAX + 1] = "name:";
	struct bf_pattern p;
	struct bf_err err;

	(void)state;
	memset(text + 5, 'x', BF_PATTERN_MAX);
	assert_int_equal(bf_pattern_parse(&p, text, &err), -BF_EARGUMENT);
	text[5 + BF_PATTERN_MAX - 1] = '\0';
	assert_int_equal(bf_pattern_parse(&p, text, &err), 0);
	assert_int_equal(strlen(p.glob), BF_PATTERN_MAX - 1);
}

static void
test_maps_lines(void **state)
{
	struct bf_settings s;
	struct bf_err err;

	(void)state;
	bf_settings_init(&s);
	for (uint32_t i = 0; i < BF_PATTERNS_MAX; i++)
		assert_int_equal(bf_settings_set(&s, "maps", "id:7", &err), 0);
	assert_int_equal(s.n_patterns, BF_PATTERNS_MAX);
	assert_int_equal(bf_settings_set(&s, "maps", "id:7", &err),
			 -BF_EARGUMENT);
	assert_non_null(strstr(err.text, "64"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_bad_patterns),
		cmocka_unit_test(test_long_pattern),
		cmocka_unit_test(test_maps_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
