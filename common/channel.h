/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * channel - sealed frames after a handshake: counters, replay window, rekey
 *
 * A sealed frame is a header whose id is a counter, then an encrypted frame
 * and its tag; the header is authenticated with it.  Frames may come in any
 * order within the window; each is taken once.  The counter's high bits are
 * the epoch: its key is derived from the last epoch's, which is then wiped.
 * A sender begins a new epoch by count and by time (proto/PROTOCOL.md).
 */
#ifndef BF_CHANNEL_H
#define BF_CHANNEL_H

#include "common/buf.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/frame.h"
#include "common/noise.h"

#include <pthread.h>

/* Of the handshake: the protocol, its version, and who plays which role. */
#define BF_CHANNEL_PROLOGUE "bpfleet 1: client to agent"

/* What sealing adds to a frame: before it and behind it. */
#define BF_CHANNEL_HEAD_BYTES BF_FRAME_BYTES
#define BF_CHANNEL_TAG_BYTES 16u
#define BF_CHANNEL_OVERHEAD (BF_CHANNEL_HEAD_BYTES + BF_CHANNEL_TAG_BYTES)

#define BF_CHANNEL_EPOCH_BITS 20u /* of the counter: frames of one key */
#define BF_CHANNEL_REKEY_MS 120000u
#define BF_CHANNEL_WINDOW 1024u /* counters below the newest */
/* A frame may be this many epochs ahead: what is derived for a forged one. */
#define BF_CHANNEL_AHEAD_MAX 4u

/* One direction's key, as of an epoch. */
struct bf_channel_epoch {
	uint64_t number;
	uint8_t key[32];
	bool live;
	uint64_t top; /* newest counter taken, plus one; 0: none */
	uint64_t seen[BF_CHANNEL_WINDOW / 64];
};

/* Caller's storage, in bf_keys_alloc(). Threads: any, at once. */
struct bf_channel {
	pthread_mutex_t lock;
	struct bf_channel_epoch send;
	uint64_t next; /* counter to send */
	struct bf_mono rekey_at;
	struct bf_channel_epoch recv[2]; /* the newest, and the one before */
};

void bf_channel_init(struct bf_channel *ch, const struct bf_noise_result *keys);
/* Wipes. */
void bf_channel_fini(struct bf_channel *ch);

/*
 * bf_channel_seal - seal what stands in a buffer, in place
 *
 * In/out:  buf holds BF_CHANNEL_HEAD_BYTES of room, then a whole frame; the
 *          header is filled in and the tag appended
 * Returns: 0; -ENOMEM and -EMSGSIZE (the tag); -BF_EINTERNAL when counters
 *          have run out, after which a new handshake is due
 */
int bf_channel_seal(struct bf_channel *ch, struct bf_buf *buf);

/*
 * bf_channel_open - check a sealed frame and decrypt it in place
 *
 * In:      frame is its parsed header, bytes the whole message
 * Out:     *plain is the frame inside, within bytes
 * Returns: 0; -BF_EPROTO if it is forged, cut, altered, of another session,
 *          taken before, or too old; then nothing has changed
 */
int bf_channel_open(struct bf_channel *ch, const struct bf_frame *frame,
		    uint8_t *bytes, size_t len, uint8_t **plain,
		    size_t *plain_len, struct bf_err *err);

#endif
