// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * cursor - layout and authentication of the continuation token
 *
 * Bytes, integers little-endian:
 *   0 version (1) | 1 flags | 2 n_keys | 3 engine | 4 agent id (8)
 *   12 boot id (16) | 28 map id | 32 key size | 36 value size
 *   40 position (8) | 48 steps (8) | 56 restarts (8) | 64 skipped (8)
 *   72 keys | ... MAC (16) of all before it
 * The agent id is a tag of the key itself: it tells a cursor of another agent
 * from a damaged one, and proves nothing.
 */
#include "common/cursor.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CURSOR_VERSION 1
#define FLAG_LOSSY 1
#define HEAD_BYTES 72u
#define AGENT_ID_AT 4u
#define AGENT_ID_BYTES 8u

static void
put32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static void
put64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, sizeof(v));
}

static uint32_t
get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

static uint64_t
get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}

static void
agent_id(uint8_t id[BF_MAC_BYTES], const struct bf_key *key)
{
	bf_keys_mac(id, key, "agent id", 8);
}

void
bf_cursor_fini(struct bf_cursor *c)
{
	free(c->keys);
	c->keys = NULL;
	c->n_keys = 0;
}

uint32_t
bf_cursor_room(uint32_t key_size)
{
	uint32_t room = BF_CURSOR_KEYS_MAX;

	while (room > 1 && room * key_size > BF_CURSOR_KEYS_BYTES)
		room--;
	return room;
}

int
bf_cursor_push(struct bf_cursor *c, const void *key)
{
	uint32_t room = bf_cursor_room(c->key_size);

	if (!c->keys)
		c->keys = malloc((size_t)room * c->key_size + 1);
	if (!c->keys)
		return -ENOMEM;
	if (c->n_keys == room) {
		c->n_keys--;
		memmove(c->keys, c->keys + c->key_size,
			(size_t)c->n_keys * c->key_size);
	}
	memcpy(c->keys + (size_t)c->n_keys * c->key_size, key, c->key_size);
	c->n_keys++;
	return 0;
}

const uint8_t *
bf_cursor_key(const struct bf_cursor *c, uint32_t i)
{
	if (i >= c->n_keys)
		return NULL;
	return c->keys + (size_t)(c->n_keys - 1 - i) * c->key_size;
}

void
bf_cursor_encode(const struct bf_cursor *c, const struct bf_key *key,
		 struct bf_buf *out)
{
	size_t keys_bytes = (size_t)c->n_keys * c->key_size;
	uint8_t id[BF_MAC_BYTES], *p;

	p = bf_buf_reserve(out, HEAD_BYTES + keys_bytes + BF_MAC_BYTES);
	if (!p)
		return;
	agent_id(id, key);
	p[0] = CURSOR_VERSION;
	p[1] = c->lossy ? FLAG_LOSSY : 0;
	p[2] = (uint8_t)c->n_keys;
	p[3] = (uint8_t)c->engine;
	memcpy(p + AGENT_ID_AT, id, AGENT_ID_BYTES);
	memcpy(p + 12, c->boot_id, BF_BOOT_ID_BYTES);
	put32(p + 28, c->map_id);
	put32(p + 32, c->key_size);
	put32(p + 36, c->value_size);
	put64(p + 40, c->position);
	put64(p + 48, c->steps);
	put64(p + 56, c->restarts);
	put64(p + 64, c->skipped);
	if (keys_bytes)
		memcpy(p + HEAD_BYTES, c->keys, keys_bytes);
	bf_keys_mac(p + HEAD_BYTES + keys_bytes, key, p,
		    HEAD_BYTES + keys_bytes);
	out->len += HEAD_BYTES + keys_bytes + BF_MAC_BYTES;
}

/* The bytes are authentic: is the cursor for this boot and this map? */
static int
check_target(const struct bf_cursor *c, const struct bf_cursor *expect,
	     struct bf_err *err)
{
	if (memcmp(c->boot_id, expect->boot_id, BF_BOOT_ID_BYTES) != 0)
		return bf_err_set(err, BF_ECURSOR,
				  "cursor is from before this host's last "
				  "boot: start the dump again");
	if (c->map_id != expect->map_id)
		return bf_err_set(err, BF_ECURSOR,
				  "cursor belongs to map id %u, not id %u",
				  c->map_id, expect->map_id);
	if (c->key_size != expect->key_size ||
	    c->value_size != expect->value_size)
		return bf_err_set(err, BF_ECURSOR,
				  "cursor is for entries of %u+%u bytes, map "
				  "id %u has %u+%u: start the dump again",
				  c->key_size, c->value_size, expect->map_id,
				  expect->key_size, expect->value_size);
	return 0;
}

int
bf_cursor_decode(struct bf_cursor *out, const uint8_t *bytes, size_t len,
		 const struct bf_key *key, const struct bf_cursor *expect,
		 struct bf_err *err)
{
	struct bf_cursor c = {0};
	uint8_t id[BF_MAC_BYTES];
	size_t keys_bytes;
	int ret;

	if (len < HEAD_BYTES + BF_MAC_BYTES)
		return bf_err_set(err, BF_ECURSOR,
				  "cursor is cut short: %zu bytes", len);
	if (bytes[0] != CURSOR_VERSION)
		return bf_err_set(err, BF_ECURSOR,
				  "cursor is damaged, or of another version: "
				  "start the dump again");
	agent_id(id, key);
	if (memcmp(bytes + AGENT_ID_AT, id, AGENT_ID_BYTES) != 0)
		return bf_err_set(err, BF_ECURSOR,
				  "cursor was made by another agent: use it "
				  "where it came from");
	if (!bf_keys_mac_ok(bytes + len - BF_MAC_BYTES, key, bytes,
			    len - BF_MAC_BYTES))
		return bf_err_set(err, BF_ECURSOR,
				  "cursor was altered or cut short: copy it "
				  "whole");
	c.lossy = bytes[1] & FLAG_LOSSY;
	c.n_keys = bytes[2];
	c.engine = bytes[3];
	memcpy(c.boot_id, bytes + 12, BF_BOOT_ID_BYTES);
	c.map_id = get32(bytes + 28);
	c.key_size = get32(bytes + 32);
	c.value_size = get32(bytes + 36);
	c.position = get64(bytes + 40);
	c.steps = get64(bytes + 48);
	c.restarts = get64(bytes + 56);
	c.skipped = get64(bytes + 64);
	ret = check_target(&c, expect, err);
	if (ret)
		return ret;
	keys_bytes = (size_t)c.n_keys * c.key_size;
	if (c.n_keys > bf_cursor_room(c.key_size) ||
	    len != HEAD_BYTES + keys_bytes + BF_MAC_BYTES)
		return bf_err_set(err, BF_ECURSOR, "cursor is malformed");
	/* Room for all that bf_cursor_push() may add. */
	c.keys = malloc((size_t)bf_cursor_room(c.key_size) * c.key_size + 1);
	if (!c.keys)
		return bf_err_set(err, ENOMEM, "out of memory for a cursor");
	memcpy(c.keys, bytes + HEAD_BYTES, keys_bytes);
	*out = c;
	return 0;
}
