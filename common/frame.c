// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * frame - writes and checks the 24-byte header
 *
 * Bytes, integers little-endian:
 *   0 'b' 'f' | 2 version | 3 kind | 4 body length (4) | 8 method (2)
 *   10 zero (6) | 16 id (8)
 */
#include "common/frame.h"

#include <endian.h>
#include <string.h>

const char *
bf_method_str(uint32_t method)
{
	static const char *const verbs[BF_METHOD_MAX + 1] = {
		[BF_HELLO] = "hello",	[BF_LIST_MAPS] = "list",
		[BF_SHOW_MAP] = "show", [BF_DUMP] = "dump",
		[BF_LOOKUP] = "lookup", [BF_PEEK] = "peek",
	};

	return method <= BF_METHOD_MAX ? verbs[method] : NULL;
}

void
bf_frame_put(uint8_t out[BF_FRAME_BYTES], const struct bf_frame *frame)
{
	uint32_t body_len = htole32(frame->body_len);
	uint16_t method = htole16(frame->method);
	uint64_t id = htole64(frame->id);

	memset(out, 0, BF_FRAME_BYTES);
	out[0] = 'b';
	out[1] = 'f';
	out[2] = frame->version;
	out[3] = frame->kind;
	memcpy(out + 4, &body_len, sizeof(body_len));
	memcpy(out + 8, &method, sizeof(method));
	memcpy(out + 16, &id, sizeof(id));
}

void
bf_frame_begin(struct bf_buf *out, const struct bf_frame *frame)
{
	uint8_t head[BF_FRAME_BYTES];

	bf_frame_put(head, frame);
	bf_buf_put(out, head, sizeof(head));
}

void
bf_frame_finish(struct bf_buf *out, size_t at)
{
	uint32_t body_len;

	if (out->err)
		return;
	body_len = htole32((uint32_t)(out->len - at - BF_FRAME_BYTES));
	memcpy(out->data + at + 4, &body_len, sizeof(body_len));
}

int
bf_frame_parse(struct bf_frame *frame, const uint8_t **body,
	       const uint8_t *bytes, size_t len, struct bf_err *err)
{
	uint32_t body_len;
	uint16_t method;
	uint64_t id;

	*frame = (struct bf_frame){0};
	*body = NULL;
	if (len < BF_FRAME_BYTES || bytes[0] != 'b' || bytes[1] != 'f')
		return bf_err_set(err, BF_EPROTO,
				  "not a bpfleet frame (%zu bytes)", len);
	memcpy(&body_len, bytes + 4, sizeof(body_len));
	memcpy(&method, bytes + 8, sizeof(method));
	memcpy(&id, bytes + 16, sizeof(id));
	frame->version = bytes[2];
	frame->kind = bytes[3];
	frame->body_len = le32toh(body_len);
	frame->method = le16toh(method);
	frame->id = le64toh(id);
	if (frame->version != BF_PROTOCOL_VERSION)
		return bf_err_set(err, BF_EVERSION,
				  "protocol version %u is not spoken here, "
				  "only version %u",
				  frame->version, BF_PROTOCOL_VERSION);
	if (frame->body_len != len - BF_FRAME_BYTES)
		return bf_err_set(err, BF_EPROTO,
				  "frame declares a body of %u bytes, %zu came",
				  frame->body_len, len - BF_FRAME_BYTES);
	if (bytes[10] | bytes[11] | bytes[12] | bytes[13] | bytes[14] |
	    bytes[15])
		return bf_err_set(err, BF_EPROTO,
				  "reserved bytes of the frame are not zero");
	*body = bytes + BF_FRAME_BYTES;
	return 0;
}
