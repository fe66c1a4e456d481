// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * test_header - the public header in strict C++17, compiled by test_header.c
 *
 * Nothing is included before it.  Every function is named once, so that a
 * declaration which C++ does not take, or lacks C linkage, shows here.
 */
#include <bpfleet/bpfleet.h>

#include <type_traits>

static_assert(offsetof(bpfleet_open_opts, sz) == 0, "sz is first");
static_assert(offsetof(bpfleet_list_opts, sz) == 0, "sz is first");
static_assert(offsetof(bpfleet_dump_opts, sz) == 0, "sz is first");
static_assert(offsetof(bpfleet_map_ref, sz) == 0, "sz is first");
static_assert(std::is_standard_layout<bpfleet_map>::value, "a C struct");
static_assert(std::is_standard_layout<bpfleet_page>::value, "a C struct");
static_assert(std::is_standard_layout<bpfleet_host>::value, "a C struct");
static_assert(std::is_trivial<bpfleet_error>::value, "a C struct");

/* Names a second declaration may only repeat if the first has C linkage. */
extern "C" {
int bpfleet_open(bpfleet **, const char *, const bpfleet_open_opts *,
		 bpfleet_error *);
int bpfleet_dump_next(bpfleet_dump *, const bpfleet_page **, bpfleet_error *);
const char *bpfleet_version(void);
}

/* Reads a map as a C++ program would. */
int
read_map(uint32_t id)
{
	bpfleet_open_opts opts{};
	bpfleet_map_ref ref{};
	bpfleet *b = nullptr;
	bpfleet_maps *maps = nullptr;
	bpfleet_dump *d = nullptr;
	bpfleet_values *values = nullptr;
	const bpfleet_page *page = nullptr;
	bpfleet_error err{};
	int worst = BPFLEET_EXACT;

	opts.sz = sizeof(opts);
	opts.flags = BPFLEET_PRIVATE_AGENT;
	ref.sz = sizeof(ref);
	ref.id = id;
	if (bpfleet_open(&b, BPFLEET_DEFAULT_ADDRESS, &opts, &err) != 0)
		return err.code;
	if (bpfleet_dump_open(&d, b, &ref, nullptr, &err) == 0)
		while (bpfleet_dump_next(d, &page, &err) > 0)
			worst = page->coherence > worst ? page->coherence
							: worst;
	bpfleet_dump_close(d);
	if (bpfleet_lookup(&values, b, &ref, &id, sizeof(id), 1, &err) == 0)
		bpfleet_values_free(values);
	if (bpfleet_peek(&values, b, &ref, &err) == 0)
		bpfleet_values_free(values);
	if (bpfleet_map_show(&maps, b, &ref, &err) == 0)
		bpfleet_maps_free(maps);
	if (bpfleet_maps_find(&maps, b, "name:*", &err) == 0)
		bpfleet_maps_free(maps);
	if (bpfleet_maps_list(&maps, b, nullptr, &err) == 0) {
		for (size_t i = 0; i < bpfleet_maps_count(maps); i++)
			if (bpfleet_maps_get(maps, i)->error)
				worst = BPFLEET_INCOMPLETE;
		if (bpfleet_maps_limits(maps)[0])
			worst = BPFLEET_INCOMPLETE;
		bpfleet_maps_free(maps);
	}
	if (!bpfleet_host_get(b)->name[0] || !bpfleet_version()[0] ||
	    !bpfleet_strerror(err.code)[0] || !bpfleet_coherence_str(worst)[0])
		worst = BPFLEET_INCOMPLETE;
	bpfleet_close(b);
	return worst;
}
