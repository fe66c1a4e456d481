// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * fuzz_noise - handshake messages in every state: the first byte says which
 * message is replaced by the rest.  Only the genuine one may be taken.
 */
#include "common/noise.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct bf_key secret[2] = {{"client"}, {"agent"}};

static int
dh(void *arg, uint8_t out[BF_KEY_BYTES], const uint8_t peer[BF_KEY_BYTES])
{
	return bf_keys_dh(out, arg, peer);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bf_noise side[2];
	struct bf_buf wire, text;
	size_t at;

	if (!size || bf_keys_init(NULL))
		return 0;
	at = data[0] % 3;
	data++;
	size--;
	bf_buf_init(&wire, 1 << 17);
	bf_buf_init(&text, 1 << 17);
	for (int i = 0; i < 2; i++) {
		struct bf_noise_identity id = {.dh = dh, .arg = &secret[i]};

		bf_keys_public(id.public_key, &secret[i]);
		bf_noise_begin(&side[i], i == 0, &id, "fuzz", 4);
	}
	for (size_t k = 0; k <= at; k++) {
		struct bf_noise *to = &side[1 - k % 2];
		const uint8_t *bytes = data;
		size_t len = size;
		int ret;

		bf_buf_reset(&wire);
		bf_buf_reset(&text);
		if (bf_noise_write(&side[k % 2], "hello", 5, &wire, NULL))
			abort();
		if (k < at) {
			bytes = wire.data;
			len = wire.len;
		}
		ret = bf_noise_read(to, bytes, len, &text, NULL);
		if (k < at && ret)
			abort();
		/* The first message has nothing that proves it. */
		if (k == at && at > 0 && !ret)
			abort();
		if (ret && (text.len || bf_noise_done(to)))
			abort();
	}
	/* Whatever came: the next answer is well-formed or refused. */
	bf_buf_reset(&wire);
	(void)bf_noise_write(&side[1 - at % 2], NULL, 0, &wire, NULL);
	bf_buf_fini(&wire);
	bf_buf_fini(&text);
	return 0;
}
