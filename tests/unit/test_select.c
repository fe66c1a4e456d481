// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * test_select - words of the command line that name maps, keys and cursors
 */
#include "client/cli/select.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static int
keys(struct select_keys *k, const char *const *words, int n)
{
	char *argv[32], copy[32][16];
	const char *why = NULL;
	int ret;

	for (int i = 0; i < n; i++) {
		strncpy(copy[i], words[i], sizeof(copy[i]) - 1);
		copy[i][15] = '\0';
		argv[i] = copy[i];
	}
	ret = select_keys(k, n, argv, &why);
	if (ret == -1)
		assert_non_null(why);
	return ret;
}

#define KEYS(k, ...)                                                           \
	keys(k, (const char *const[]){__VA_ARGS__},                            \
	     (int)(sizeof((const char *const[]){__VA_ARGS__}) /                \
		   sizeof(char *)))

static void
test_keys(void **state)
{
	struct select_keys k;

	(void)state;
	assert_int_equal(KEYS(&k, "key", "hex", "0a", "F", "0xff"), 5);
	assert_int_equal(k.size, 3);
	assert_memory_equal(k.bytes, "\x0a\x0f\xff", 3);
	free(k.bytes);
	assert_int_equal(KEYS(&k, "key", "10", "0x10", "010"), 4);
	assert_memory_equal(k.bytes, "\x0a\x10\x08", 3);
	free(k.bytes);
	assert_int_equal(KEYS(&k, "key", "1", "key", "hex", "2"), 5);
	assert_int_equal(k.n, 2);
	free(k.bytes);
}

static void
test_bad_keys(void **state)
{
	struct select_keys k;

	(void)state;
	assert_int_equal(KEYS(&k, "kee", "1"), -1);
	free(k.bytes);
	assert_int_equal(KEYS(&k, "key"), -1);
	free(k.bytes);
	assert_int_equal(KEYS(&k, "key", "256"), -1);
	free(k.bytes);
	assert_int_equal(KEYS(&k, "key", "-1"), -1);
	free(k.bytes);
	assert_int_equal(KEYS(&k, "key", "hex", "0g"), -1);
	free(k.bytes);
	assert_int_equal(KEYS(&k, "key", "1", "key", "1", "2"), -1);
	free(k.bytes);
	assert_int_equal(KEYS(&k, "key", "1", "value", "1"), -1);
	free(k.bytes);
	assert_int_equal(KEYS(&k, "key", "hex"), -1);
	free(k.bytes);
	assert_int_equal(KEYS(&k, "key", "hex", "0x"), -1);
	free(k.bytes);
	assert_int_equal(KEYS(&k, "value", "hex", "0x1ff"), -1);
	free(k.bytes);
}

static void
test_maps(void **state)
{
	char id[] = "id", n[] = "12", name[] = "name", pinned[] = "pinned";
	char path[] = "/sys/fs/bpf/x", glob[] = "name:flow*";
	char *by_id[] = {id, n}, *by_name[] = {name, n};
	char *by_pin[] = {pinned, path}, *by_glob[] = {glob};
	char out[SELECT_MAX];
	const char *why = NULL;

	(void)state;
	assert_int_equal(select_map(out, 2, by_id, &why), 2);
	assert_string_equal(out, "id:12");
	assert_int_equal(select_map(out, 2, by_name, &why), 2);
	assert_string_equal(out, "12");
	assert_int_equal(select_map(out, 2, by_pin, &why), 2);
	assert_string_equal(out, "pin:/sys/fs/bpf/x");
	assert_int_equal(select_map(out, 1, by_glob, &why), 1);
	assert_string_equal(out, "name:flow*");
	assert_int_equal(select_map(out, 0, by_id, &why), -1);
	assert_int_equal(select_map(out, 1, by_id, &why), -1);
}

static void
test_map_kinds(void **state)
{
	char id[] = "id", name[] = "name", zero[] = "0", word[] = "abc";
	char octal[] = "id:0", big[] = "id:4294967296", good[] = "id:7";
	char odd[] = "pin:x";
	char *by_zero[] = {id, zero}, *by_word[] = {id, word};
	char *by_octal[] = {octal}, *by_big[] = {big}, *by_good[] = {good};
	char *by_odd[] = {name, odd};
	char out[SELECT_MAX];
	const char *why = NULL;

	(void)state;
	assert_int_equal(select_map(out, 2, by_zero, &why), -1);
	assert_int_equal(select_map(out, 2, by_word, &why), -1);
	assert_int_equal(select_map(out, 1, by_octal, &why), -1);
	assert_int_equal(select_map(out, 1, by_big, &why), -1);
	assert_non_null(why);
	assert_int_equal(select_map(out, 1, by_good, &why), 1);
	assert_string_equal(out, "id:7");
	/* After the word name, everything is a name. */
	assert_int_equal(select_map(out, 2, by_odd, &why), 2);
	assert_string_equal(out, "name:pin:x");
}

static void
test_too_long(void **state)
{
	static char path[SELECT_MAX + 8];
	char pinned[] = "pinned", empty[] = "";
	char *by_path[] = {pinned, path}, *by_empty[] = {pinned, empty};
	char out[SELECT_MAX];
	const char *why = NULL;

	(void)state;
	memset(path, '/', sizeof(path) - 1);
	assert_int_equal(select_map(out, 2, by_path, &why), -1);
	path[SELECT_MAX - 5] = '\0';
	assert_int_equal(select_map(out, 2, by_path, &why), 2);
	assert_int_equal(strlen(out), SELECT_MAX - 1);
	assert_int_equal(select_map(out, 2, by_empty, &why), -1);
}

static void
test_names(void **state)
{
	(void)state;
	assert_null(select_name("id:3"));
	assert_null(select_name("pin:/a"));
	assert_null(select_name("name:flow*"));
	assert_string_equal(select_name("name:flows"), "flows");
	assert_string_equal(select_name("flow*"), "flow*");
}

static void
test_hex_and_numbers(void **state)
{
	uint8_t out[4];
	uint64_t n;

	(void)state;
	assert_int_equal(select_hex(out, 4, "00ffA0"), 3);
	assert_int_equal(select_hex(out, 4, "0"), -1);
	assert_int_equal(select_hex(out, 4, "zz"), -1);
	assert_int_equal(select_hex(out, 4, "0011223344"), -1);
	assert_int_equal(select_number(&n, "0x10", 1, 16), 0);
	assert_int_equal(n, 16);
	assert_int_equal(select_number(&n, "17", 1, 16), -1);
	assert_int_equal(select_number(&n, "-1", 0, 16), -1);
	assert_int_equal(select_number(&n, "1x", 0, 16), -1);
	assert_int_equal(
		select_number(&n, "99999999999999999999", 0, UINT64_MAX), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_bad_keys),
		cmocka_unit_test(test_maps),
		cmocka_unit_test(test_map_kinds),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_hex_and_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
