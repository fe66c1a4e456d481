// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * fuzz_frame - any bytes as a frame: the body lies inside them, and a header
 * that is taken is written back as the same bytes
 */
#include "common/frame.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bf_frame frame;
	const uint8_t *body;
	struct bf_buf buf;
	struct bf_err err;

	if (bf_frame_parse(&frame, &body, data, size, &err))
		return 0;
	if (body != data + BF_FRAME_BYTES ||
	    frame.body_len != size - BF_FRAME_BYTES)
		abort();
	bf_buf_init(&buf, size);
	bf_frame_begin(&buf, &frame);
	bf_buf_put(&buf, body, frame.body_len);
	bf_frame_finish(&buf, 0);
	if (buf.err || buf.len != size || memcmp(buf.data, data, size) != 0)
		abort();
	bf_buf_fini(&buf);
	return 0;
}
