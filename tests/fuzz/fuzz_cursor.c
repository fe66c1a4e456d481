// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * fuzz_cursor - any bytes as a cursor, as they come and with a MAC that fits,
 * so that what stands behind the authentication is reached too
 *
 * Input: 0 the key size that is expected (1) | 1 the cursor
 */
#include "common/cursor.h"

#include <stdlib.h>
#include <string.h>

#define HEAD_BYTES 72u
#define AGENT_ID_AT 4u
#define AGENT_ID_BYTES 8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct bf_key secret = {"fuzz"};

static void
try_decode(const uint8_t *bytes, size_t len, const struct bf_cursor *expect)
{
	struct bf_cursor c = {0};
	struct bf_buf out;
	struct bf_err err;
	uint8_t *key;

	if (bf_cursor_decode(&c, bytes, len, &secret, expect, &err))
		return;
	key = calloc(1, c.key_size + 1u);
	if (!key)
		abort();
	for (uint32_t i = 0; i < BF_CURSOR_KEYS_MAX + 1; i++)
		if (bf_cursor_push(&c, key) || !bf_cursor_key(&c, 0) ||
		    bf_cursor_key(&c, c.n_keys))
			abort();
	bf_buf_init(&out, BF_CURSOR_MAX);
	bf_cursor_encode(&c, &secret, &out);
	if (out.err)
		abort();
	bf_buf_fini(&out);
	bf_cursor_fini(&c);
	free(key);
}

/* Signs the bytes as the agent would. */
static void
sign(uint8_t *bytes, size_t len)
{
	uint8_t id[BF_MAC_BYTES];

	bf_keys_mac(id, &secret, "agent id", 8);
	bytes[0] = 1;
	memcpy(bytes + AGENT_ID_AT, id, AGENT_ID_BYTES);
	bf_keys_mac(bytes + len - BF_MAC_BYTES, &secret, bytes,
		    len - BF_MAC_BYTES);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bf_cursor expect = {.map_id = 1, .value_size = 8};
	uint8_t *copy;

	if (bf_keys_init(NULL) || !size)
		return 0;
	expect.key_size = data[0];
	data++;
	size--;
	try_decode(data, size, &expect);
	if (size < HEAD_BYTES + BF_MAC_BYTES)
		return 0;
	copy = malloc(size);
	if (!copy)
		return 0;
	memcpy(copy, data, size);
	/* The identity that is checked next is made to fit as well. */
	memcpy(expect.boot_id, copy + 12, BF_BOOT_ID_BYTES);
	memcpy(copy + 28, (uint8_t[12]){1, 0, 0, 0, data[-1], 0, 0, 0, 8}, 12);
	sign(copy, size);
	try_decode(copy, size, &expect);
	free(copy);
	return 0;
}
