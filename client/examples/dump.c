/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * dump - prints the entries of a map in hex, through libbpfleet
 *
 * Usage: dump SELECTOR [ADDRESS], such as: dump name:flows
 */
#include <bpfleet/bpfleet.h>
#include <stdio.h>

static void
print_hex(const uint8_t *bytes, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		printf("%02x", bytes[i]);
}

int
main(int argc, char **argv)
{
	struct bpfleet_open_opts opts = {sizeof(opts), BPFLEET_PRIVATE_AGENT,
					 0, 0, NULL};
	struct bpfleet_map_ref ref = {sizeof(ref), 0, NULL};
	struct bpfleet_maps *maps = NULL;
	struct bpfleet_dump *d = NULL;
	struct bpfleet *b = NULL;
	const struct bpfleet_page *p;
	struct bpfleet_error err;
	unsigned long total = 0;
	int ret = 2, worst = BPFLEET_EXACT;
	uint32_t i;

	if (argc < 2)
		return fprintf(stderr, "usage: dump SELECTOR [ADDRESS]\n"), 2;
	ret = bpfleet_open(&b, argc > 2 ? argv[2] : NULL, &opts, &err);
	if (!ret)
		ret = bpfleet_maps_find(&maps, b, argv[1], &err);
	if (!ret) {
		ref.id = bpfleet_maps_get(maps, 0)->id;
		ret = bpfleet_dump_open(&d, b, &ref, NULL, &err);
	}
	while (!ret && (ret = bpfleet_dump_next(d, &p, &err)) > 0) {
		for (i = 0; i < p->n; i++, total++) {
			size_t size = (size_t)p->n_slots * p->slot_size;

			print_hex(p->keys + (size_t)i * p->key_size,
				  p->key_size);
			printf(" ");
			print_hex(p->values + i * size, size);
			printf("\n");
		}
		worst = p->coherence > worst ? p->coherence : worst;
		ret = 0;
		if (p->end)
			break;
	}
	if (ret)
		fprintf(stderr, "dump: %s\n", err.message);
	else
		fprintf(stderr, "%lu entries, %s\n", total,
			bpfleet_coherence_str(worst));
	bpfleet_dump_close(d);
	bpfleet_maps_free(maps);
	bpfleet_close(b);
	return ret ? 1 : 0;
}
