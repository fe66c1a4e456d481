// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * test_lines - cutting a text into lines, and reading it from a file
 */
#include "common/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void
test_lines(void **state)
{
	static const char text[] = "# a\n\n \t\r\n  one two\t\r\n#x\0y\n"
				   "a\tb\r\nlast";
	static const struct {
		uint32_t line;
		const char *text;
	} want[] = {{4, "one two"}, {6, "a\tb"}, {7, "last"}};
	struct bf_lines in = {
		.name = "f", .text = text, .len = sizeof(text) - 1};
	char line[BF_LINE_MAX];
	struct bf_err err;

	(void)state;
	for (size_t i = 0; i < BF_ARRAY_SIZE(want); i++) {
		assert_int_equal(bf_lines_next(&in, line, &err), 1);
		assert_int_equal(in.line, want[i].line);
		assert_string_equal(line, want[i].text);
	}
	assert_int_equal(bf_lines_next(&in, line, &err), 0);
	assert_int_equal(bf_lines_next(&in, line, &err), 0);
	in = (struct bf_lines){.name = "f", .text = NULL};
	assert_int_equal(bf_lines_next(&in, line, &err), 0);
}

static void
test_control_bytes(void **state)
{
	static const struct {
		const char *text;
		size_t len;
	} bad[] = {{"a\0b", 3}, {"a\033[2J", 5}, {"a\x7f", 2},
		   {"a\rb", 3}, {"a\r\r\n", 4},	 {"\0", 1}};
	char line[BF_LINE_MAX];
	struct bf_err err;

	(void)state;
	for (size_t i = 0; i < BF_ARRAY_SIZE(bad); i++) {
		struct bf_lines in = {
			.name = "f", .text = bad[i].text, .len = bad[i].len};

		assert_int_equal(bf_lines_next(&in, line, &err), -BF_EARGUMENT);
		assert_int_equal(strncmp(err.text, "f:1: ", 5), 0);
	}
}

static void
test_long_lines(void **state)
{
	static char text[BF_LINE_MAX + 1], name[1000];
	struct bf_lines in = {.name = name, .text = text, .len = BF_LINE_MAX};
	char line[BF_LINE_MAX];
	struct bf_err err;

	(void)state;
	memset(text, 'x', BF_LINE_MAX);
	memset(name, 'd', sizeof(name) - 1);
	name[sizeof(name) - 2] = 'f';
	assert_int_equal(bf_lines_next(&in, line, &err), -BF_EARGUMENT);
	/* A long path loses its beginning, not the number of the line. */
	assert_non_null(strstr(err.text, "df:1: the line is too long"));
	in = (struct bf_lines){
		.name = name, .text = text, .len = BF_LINE_MAX - 1};
	assert_int_equal(bf_lines_next(&in, line, &err), 1);
	assert_int_equal(strlen(line), BF_LINE_MAX - 1);
}

static void
test_read(void **state)
{
	char path[] = "/tmp/bf-lines-XXXXXX", *text = NULL;
	int fd = mkstemp(path), dir = open("/", O_RDONLY | O_CLOEXEC);
	struct bf_err err;
	size_t len = 1;

	(void)state;
	assert_true(fd >= 0 && dir >= 0);
	unlink(path);
	assert_int_equal(bf_lines_read(&text, &len, fd, 0, "f", &err), 0);
	assert_int_equal(len, 0);
	free(text);
	assert_int_equal(write(fd, "a\0b", 3), 3);
	assert_int_equal(bf_lines_read(&text, &len, fd, 3, "f", &err), 0);
	assert_int_equal(len, 3);
	assert_memory_equal(text, "a\0b", 3);
	free(text);
	assert_int_equal(bf_lines_read(&text, &len, fd, 2, "f", &err), -EFBIG);
	assert_int_equal(bf_lines_read(&text, &len, dir, 9, "f", &err),
			 -BF_EARGUMENT);
	assert_int_equal(bf_lines_read(&text, &len, -1, 9, "f", &err), -EBADF);
	close(fd);
	close(dir);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_control_bytes),
		cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
