/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * test_header - the public header stands alone, in strict C99 and in C++17
 *
 * Nothing is included before it.  Run from the top of the source, it gives
 * itself and test_header.cc to the compilers, and compiles with each of them
 * that is installed.
 */
#include <bpfleet/bpfleet.h>

#include <stdio.h>
#include <stdlib.h>

#define CHECK(what, is) typedef char what[(is) ? 1 : -1]
CHECK(open_opts_begin_with_sz, offsetof(struct bpfleet_open_opts, sz) == 0);
CHECK(list_opts_begin_with_sz, offsetof(struct bpfleet_list_opts, sz) == 0);
CHECK(dump_opts_begin_with_sz, offsetof(struct bpfleet_dump_opts, sz) == 0);
CHECK(map_ref_begins_with_sz, offsetof(struct bpfleet_map_ref, sz) == 0);
CHECK(codes_are_the_protocols,
      BPFLEET_EPROTO == 5000 && BPFLEET_EINTERNAL == 5017);

#define STRICT                                                                 \
	" -Wall -Wextra -Wpedantic -Werror -Iclient/include -fsyntax-only "
#define C99 " -std=c99" STRICT "tests/unit/test_header.c"
#define CXX17 " -std=c++17" STRICT "tests/unit/test_header.cc"

static const char *const runs[][2] = {
	{"gcc", C99},
	{"clang", C99},
	{"g++", CXX17},
	{"clang++", CXX17},
};

int
main(void)
{
	const size_t n = sizeof(runs) / sizeof(runs[0]);
	char command[512];
	int failed = 0, ok;
	size_t i;

	printf("1..%u\n", (unsigned)n);
	for (i = 0; i < n; i++) {
		fflush(stdout);
		snprintf(command, sizeof(command),
			 "command -v %s >/dev/null 2>&1", runs[i][0]);
		if (system(command) != 0) {
			printf("ok %u %s # SKIP not installed\n",
			       (unsigned)i + 1, runs[i][0]);
			continue;
		}
		snprintf(command, sizeof(command), "%s%s", runs[i][0],
			 runs[i][1]);
		ok = system(command) == 0;
		failed += !ok;
		printf("%sok %u header: %s\n", ok ? "" : "not ",
		       (unsigned)i + 1, runs[i][0]);
	}
	return failed != 0;
}
