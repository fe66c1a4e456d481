/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * noise - one Noise_XX_25519_ChaChaPoly_SHA256 handshake, either side
 *
 * Three messages: -> e; <- e, ee, s, es; -> s, se.  After the third both know
 * each other's long-lived key and share two keys for a channel.  The secret
 * half of the own long-lived key may live in another process: it is used
 * through a callback.  Source: the Noise specification, revision 34.
 */
#ifndef BF_NOISE_H
#define BF_NOISE_H

#include "common/buf.h"
#include "common/err.h"
#include "common/keys.h"

#define BF_NOISE_TAG_BYTES 16u
#define BF_NOISE_MESSAGE_MAX 65535u
/* What the messages add to their payloads. */
#define BF_NOISE_1_BYTES 32u
#define BF_NOISE_2_BYTES 96u
#define BF_NOISE_3_BYTES 64u

/* X25519 of a secret key and a peer's. Returns: 0 or a negative code */
typedef int bf_noise_dh(void *arg, uint8_t out[BF_KEY_BYTES],
			const uint8_t peer[BF_KEY_BYTES]);

struct bf_noise_identity {
	uint8_t public_key[BF_KEY_BYTES];
	bf_noise_dh *dh;
	void *arg;
};

/* Caller's storage; best in bf_keys_alloc(). */
struct bf_noise {
	struct bf_noise_identity self;
	bool initiator;
	uint8_t n_messages; /* written or read */
	bool has_k;
	uint64_t nonce;
	uint8_t h[32], ck[32], k[32];
	struct bf_key e; /* own ephemeral */
	uint8_t e_public[BF_KEY_BYTES];
	uint8_t re[BF_KEY_BYTES]; /* the peer's ephemeral */
	uint8_t rs[BF_KEY_BYTES]; /* the peer's long-lived key, once read */
};

/* What the two sides of a channel need; wiped by its user. */
struct bf_noise_result {
	uint8_t send_key[32], recv_key[32];
	uint8_t hash[32]; /* the same on both sides, different each time */
};

void bf_noise_begin(struct bf_noise *n, bool initiator,
		    const struct bf_noise_identity *self, const void *prologue,
		    size_t prologue_len);

/*
 * bf_noise_write - append the next message, which carries a payload
 *
 * Returns: 0; -BF_EINTERNAL if it is the other's turn; what dh returned;
 *          on an error the handshake is over
 */
int bf_noise_write(struct bf_noise *n, const void *payload, size_t len,
		   struct bf_buf *out, struct bf_err *err);

/*
 * bf_noise_read - take the next message and append its payload
 *
 * Returns: 0; -BF_EPROTO if it is not what belongs there; on an error the
 *          handshake is over and nothing was appended
 */
int bf_noise_read(struct bf_noise *n, const uint8_t *msg, size_t len,
		  struct bf_buf *payload, struct bf_err *err);

static inline bool
bf_noise_done(const struct bf_noise *n)
{
	return n->n_messages == 3;
}

/* After the third message. */
void bf_noise_finish(const struct bf_noise *n, struct bf_noise_result *out);
void bf_noise_wipe(struct bf_noise *n);

#endif
