/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * dump - prints the entries of one map in hex, through libbpfleet
 *
 * Usage: dump SELECTOR [ADDRESS], such as: dump name:flows
 */
#include <bpfleet/bpfleet.h>
#include <stdio.h>

static void
print_hex(const uint8_t *bytes, size_t n, char end)
{
	while (n--)
		printf("%02x", *bytes++);
	putchar(end);
}

int
main(int argc, char **argv)
{
	struct bpfleet_open_opts opts = {.sz = sizeof(opts),
					 .flags = BPFLEET_PRIVATE_AGENT};
	struct bpfleet_map_ref ref = {.sz = sizeof(ref)};
	struct bpfleet_maps *maps = NULL;
	struct bpfleet_dump *d = NULL;
	struct bpfleet *b = NULL;
	const struct bpfleet_page *p;
	struct bpfleet_error err;
	int ret, worst = BPFLEET_EXACT;
	size_t i, size, total = 0;

	if (argc < 2)
		return fprintf(stderr, "usage: dump SELECTOR [ADDRESS]\n"), 2;
	ret = bpfleet_open(&b, argc > 2 ? argv[2] : NULL, &opts, &err);
	if (!ret)
		ret = bpfleet_maps_find(&maps, b, argv[1], &err);
	if (!ret && bpfleet_maps_count(maps) > 1)
		fprintf(stderr, "dump: several match, reading the first\n");
	if (!ret) {
		ref.id = bpfleet_maps_get(maps, 0)->id;
		ret = bpfleet_dump_open(&d, b, &ref, NULL, &err);
	}
	while (!ret && (ret = bpfleet_dump_next(d, &p, &err)) > 0) {
		size = (size_t)p->n_slots * p->slot_size;
		for (i = 0; i < p->n; i++, total++) {
			print_hex(p->keys + i * p->key_size, p->key_size, ' ');
			print_hex(p->values + i * size, size, '\n');
		}
		worst = p->coherence > worst ? p->coherence : worst;
		ret = 0;
	}
	if (ret)
		fprintf(stderr, "dump: %s\n", err.message);
	fprintf(stderr, "%zu entries, %s\n", total,
		ret ? "not all of them" : bpfleet_coherence_str(worst));
	bpfleet_dump_close(d);
	bpfleet_maps_free(maps);
	bpfleet_close(b);
	return ret || worst == BPFLEET_INCOMPLETE || fflush(stdout);
}
