// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * fuzz_channel - sealed frames: the input is taken as a frame as it is, then
 * as orders to replay, reorder, cut and alter genuine ones.  None is taken
 * twice, and none that was touched at all.
 */
#include "common/channel.h"

#include <stdlib.h>
#include <string.h>

#define N_FRAMES 16u
#define FRAME_BYTES 128u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct sealed {
	uint8_t bytes[FRAME_BYTES];
	size_t len;
	bool taken;
};

static bool
take(struct bf_channel *ch, const uint8_t *bytes, size_t len)
{
	uint8_t copy[4096], *plain = NULL;
	const uint8_t *body;
	struct bf_frame f;
	size_t n = 0;

	if (len > sizeof(copy))
		return false;
	memcpy(copy, bytes, len);
	if (bf_frame_parse(&f, &body, copy, len, NULL) ||
	    bf_channel_open(ch, &f, copy, len, &plain, &n, NULL))
		return false;
	if (plain < copy || plain + n > copy + len)
		abort();
	return true;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bf_noise_result keys[2] = {{.send_key = "a", .recv_key = "b"},
					  {.send_key = "b", .recv_key = "a"}};
	struct sealed all[N_FRAMES] = {0};
	struct bf_channel from, to;
	struct bf_buf buf;

	if (bf_keys_init(NULL))
		return 0;
	bf_channel_init(&from, &keys[0]);
	bf_channel_init(&to, &keys[1]);
	if (take(&to, data, size))
		abort();
	bf_buf_init(&buf, FRAME_BYTES);
	for (size_t i = 0; i < N_FRAMES; i++) {
		bf_buf_reset(&buf);
		bf_buf_put(&buf, "room for the header, and then some text.",
			   24 + i);
		if (i == N_FRAMES / 2) /* over an epoch */
			from.rekey_at = bf_mono_now();
		if (bf_channel_seal(&from, &buf))
			abort();
		memcpy(all[i].bytes, buf.data, buf.len);
		all[i].len = buf.len;
	}
	bf_buf_fini(&buf);
	for (size_t i = 0; i + 2 < size; i += 3) {
		struct sealed *s = &all[data[i] % N_FRAMES], touched = *s;
		uint8_t how = data[i] / N_FRAMES % 4;
		bool ok;

		if (how == 1)
			touched.bytes[data[i + 1] % s->len] ^= data[i + 2];
		if (how == 2)
			touched.len = data[i + 1] % s->len;
		if (how == 1 && !data[i + 2])
			how = 0;
		ok = take(&to, touched.bytes, touched.len);
		if (ok && (s->taken || how == 1 || how == 2))
			abort();
		s->taken |= ok;
	}
	bf_channel_fini(&from);
	bf_channel_fini(&to);
	return 0;
}
