/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * cursor - where a dump stands, in bytes that only this agent can make
 *
 * The struct is the position that engines read and advance; the bytes carry
 * it to the client and back, authenticated with a key that outlives the
 * agent's process.  Knows nothing of engines but their number.
 */
#ifndef BF_CURSOR_H
#define BF_CURSOR_H

#include "common/buf.h"
#include "common/err.h"
#include "common/keys.h"

#define BF_BOOT_ID_BYTES 16u
/* Last keys kept: as many as fit, at least one. */
#define BF_CURSOR_KEYS_MAX 8u
#define BF_CURSOR_KEYS_BYTES 4096u
#define BF_CURSOR_MAX (BF_KEY_MAX + 256u)

struct bf_cursor {
	uint8_t boot_id[BF_BOOT_ID_BYTES];
	uint32_t map_id;
	uint32_t key_size;
	uint32_t value_size;
	uint32_t engine;   /* enum bf_engine_id; 0 = not begun */
	uint64_t position; /* bucket of a hash map, index of an array */
	uint64_t steps;	   /* keys walked since the start */
	uint64_t restarts; /* since the start */
	uint64_t skipped;  /* since the start */
	bool lossy;	   /* the walk met something that may hide entries */
	uint32_t n_keys;   /* last keys, the newest last */
	uint8_t *keys;	   /* n_keys * key_size */
};

void bf_cursor_fini(struct bf_cursor *c);

/* Last keys that are kept for a key size: 1 to BF_CURSOR_KEYS_MAX. */
uint32_t bf_cursor_room(uint32_t key_size);

/*
 * bf_cursor_push - remember a key as the newest, dropping the oldest
 *
 * Returns: 0 or -ENOMEM
 */
int bf_cursor_push(struct bf_cursor *c, const void *key);

/* The i-th newest last key (0 = newest), or NULL. */
const uint8_t *bf_cursor_key(const struct bf_cursor *c, uint32_t i);

/* Appends the authenticated bytes; a failure sticks in out->err. */
void bf_cursor_encode(const struct bf_cursor *c, const struct bf_key *key,
		      struct bf_buf *out);

/*
 * bf_cursor_decode - check the bytes and take the position out of them
 *
 * In:      expect names the boot, map and sizes that the cursor must be for
 * Returns: 0; -BF_ECURSOR: cut short, altered, or of another agent, boot or
 *          map, told apart in err; -ENOMEM
 * Owns:    out->keys is new; bf_cursor_fini() it
 */
int bf_cursor_decode(struct bf_cursor *out, const uint8_t *bytes, size_t len,
		     const struct bf_key *key, const struct bf_cursor *expect,
		     struct bf_err *err);

#endif
