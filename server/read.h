/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * read - the engines: ways to get entries out of a map, behind one vtable
 *
 * Each engine is a file.  It advances a cursor and fills a page, within a
 * budget of entries, bytes and time; read_select picks one.
 */
#ifndef BF_SERVER_READ_H
#define BF_SERVER_READ_H

#include "common/clock.h"
#include "common/cursor.h"
#include "common/page.h"
#include "server/map.h"

/* Numbers stand in cursors: never reuse one. */
enum bf_engine_id {
	BF_ENGINE_NONE = 0,
	BF_ENGINE_WALK = 1,
	BF_ENGINE_BATCH = 2,
};

struct bf_read_budget {
	uint64_t n_entries;   /* wanted at most; a bucket is never split */
	struct bf_mono until; /* return what there is */
};

struct bf_engine {
	enum bf_engine_id id;
	const char *name;
	/* NULL if the engine can read the map, else why it cannot. */
	const char *(*why_not)(const struct bf_map *map);
	/*
	 * next - fill the page with the entries after the cursor
	 *
	 * In/out:  cursor is advanced past what the page holds; page->end,
	 *          coherence, restarts, retries and skipped are set
	 * Returns: 0, possibly with no entries when the time was up;
	 *          -EOPNOTSUPP: this kernel does not do it for this map,
	 *          nothing was read; -BF_ETOOBIG: one bucket or entry is
	 *          above BF_PAGE_MAX; -BF_EKERNEL, with the errno in err
	 *          On error the page is void and the cursor unchanged or void
	 * Owns:    page and cursor stay the caller's
	 * Threads: one reader, one thread; the map may be read by others
	 * Source:  Linux kernel/bpf/syscall.c, hashtab.c, lpm_trie.c
	 */
	int (*next)(const struct bf_map *map, struct bf_cursor *cursor,
		    const struct bf_read_budget *budget, struct bf_page *page,
		    struct bf_err *err);
};

extern const struct bf_engine bf_read_walk;
extern const struct bf_engine bf_read_batch;

/* The kernel's ENOTSUPP, which is not in errno.h. */
#define BF_KERNEL_ENOTSUPP 524

/*
 * bf_read_interrupted - does this errno ask for the same call again?
 *
 * Counts in page->retries; says no after many in a row, so that nothing
 * spins for ever.
 */
bool bf_read_interrupted(int error, unsigned *in_a_row, struct bf_page *page);

#endif
