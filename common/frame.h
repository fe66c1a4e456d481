/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * frame - the header before every message body (proto/PROTOCOL.md, "Frames")
 *
 * Checked first and alone: what it declares is compared with what arrived
 * before anything is decoded or allocated.
 */
#ifndef BF_FRAME_H
#define BF_FRAME_H

#include "common/buf.h"
#include "common/err.h"

#define BF_FRAME_BYTES 24u
#define BF_PROTOCOL_VERSION 1u

enum bf_frame_kind {
	BF_FRAME_REQUEST = 1,
	BF_FRAME_REPLY = 2,
	BF_FRAME_ERROR = 3,
	BF_FRAME_HANDSHAKE = 4, /* a Noise message; method is its number */
	BF_FRAME_SEALED = 5,	/* an encrypted frame; id is a counter */
};

/* The operations; the numbers are the protocol's. */
enum bf_method {
	BF_HELLO = 1,
	BF_LIST_MAPS = 2,
	BF_SHOW_MAP = 3,
	BF_DUMP = 4,
	BF_LOOKUP = 5,
	BF_PEEK = 6,
};
#define BF_METHOD_MAX 6u

struct bf_frame {
	uint8_t version;
	uint8_t kind;
	uint16_t method;
	uint32_t body_len;
	uint64_t id; /* chosen by the client, echoed by the agent */
};

/* Returns: the verb of an operation, such as "dump"; NULL: there is none. */
const char *bf_method_str(uint32_t method);

/* Writes a whole header, body_len as it is. */
void bf_frame_put(uint8_t out[BF_FRAME_BYTES], const struct bf_frame *frame);
/* Appends the header; body_len is filled in by bf_frame_finish(). */
void bf_frame_begin(struct bf_buf *out, const struct bf_frame *frame);
/* Everything after the header, which stands at an offset in out, is the body.
 */
void bf_frame_finish(struct bf_buf *out, size_t at);

/*
 * bf_frame_parse - check the header and find the body
 *
 * Out:     *body borrows from bytes; frame is set as far as it could be read
 * Returns: 0; -BF_EVERSION, with the header readable; -BF_EPROTO
 */
int bf_frame_parse(struct bf_frame *frame, const uint8_t **body,
		   const uint8_t *bytes, size_t len, struct bf_err *err);

#endif
