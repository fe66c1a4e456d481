/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * replaced - reads a page of the map at a pin, puts another map there, and
 * checks that the dump ends in an error; usage: replaced ADDRESS PIN
 */
#include <bpfleet/bpfleet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int
main(int argc, char **argv)
{
	struct bpfleet_map_ref ref = {sizeof(ref), 0, argv[argc - 1]};
	struct bpfleet_dump_opts opts = {.sz = sizeof(opts),
					 .page_entries = 100};
	const struct bpfleet_page *page;
	struct bpfleet_dump *d = NULL;
	struct bpfleet *b = NULL;
	struct bpfleet_error err;
	char command[4096];
	int pages = 0, ret;

	if (bpfleet_open(&b, argv[1], NULL, &err) ||
	    bpfleet_dump_open(&d, b, &ref, &opts, &err) ||
	    bpfleet_dump_next(d, &page, &err) != 1)
		return fprintf(stderr, "begin: %s\n", err.message), 1;
	snprintf(command, sizeof(command),
		 "rm %s && build/tests/mkmap --name t_new --pin %s --fill 9 "
		 "hash >/dev/null",
		 ref.pin, ref.pin);
	if (system(command))
		return fprintf(stderr, "the map was not replaced\n"), 1;
	while ((ret = bpfleet_dump_next(d, &page, &err)) > 0)
		if (++pages > 2) /* one was on its way */
			return fprintf(stderr, "went on in the old map\n"), 1;
	bpfleet_dump_close(d);
	bpfleet_close(b);
	fprintf(stderr, "%d: %s\n", ret, ret ? err.message : "");
	return ret != -BPFLEET_EREPLACED && ret != -BPFLEET_EGONE;
}
