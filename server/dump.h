/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * dump - one page of a map per call, resumable from a cursor; and lookups
 *
 * Knows maps, engines and cursors; knows nothing of requests and peers.
 */
#ifndef BF_SERVER_DUMP_H
#define BF_SERVER_DUMP_H

#include "common/codec.h"
#include "common/cursor.h"
#include "server/map.h"

/* What makes this agent's cursors its own. */
struct bf_dump_agent {
	struct bf_key cursor_key;
	uint8_t boot_id[BF_BOOT_ID_BYTES];
};

/*
 * bf_dump_page - read the page that a request asks for
 *
 * Out:     page (init'ed here; bf_page_fini() it), cursor: bytes appended,
 *          none after the last page
 * Returns: 0; -BF_ECURSOR, -BF_EUNREADABLE, -BF_EARGUMENT, -BF_ETOOBIG,
 *          -BF_EBUSY (memory budget), -BF_EKERNEL
 * Threads: any
 */
int bf_dump_page(const struct bf_dump_agent *agent, const struct bf_map *map,
		 const struct bf_dump_req *req, struct bf_page *page,
		 struct bf_buf *cursor, uint64_t *held, struct bf_err *err);

/* Gives back what bf_dump_page() and bf_dump_lookup() held of the memory that
 * all requests share, also after an error: once the reply stands.
 */
void bf_dump_release(uint64_t *held);

/*
 * bf_dump_lookup - values of keys; bf_dump_peek - the head of a queue
 *
 * Out:     found and values: appended, as in struct bf_lookup_reply
 */
int bf_dump_lookup(const struct bf_map *map, const struct bf_lookup_req *req,
		   struct bf_lookup_reply *reply, struct bf_buf *columns,
		   uint64_t *held, struct bf_err *err);
int bf_dump_peek(const struct bf_map *map, struct bf_lookup_reply *reply,
		 struct bf_buf *columns, struct bf_err *err);

#endif
