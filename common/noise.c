// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * noise - the XX handshake as the specification writes it: a table of tokens
 * for each message, over the symmetric state h, ck and k
 */
#include "common/noise.h"

#include <endian.h>
#include <sodium.h>
#include <string.h>

enum token {
	END,
	E,
	S,
	EE,
	ES,
	SE,
};

#define N_MESSAGES 3u

static const uint8_t pattern[N_MESSAGES][5] = {
	{E, END},
	{E, EE, S, ES, END},
	{S, SE, END},
};

/* ------------------------------------------------------ symmetric state */

static void
mix_hash(struct bf_noise *n, const void *bytes, size_t len)
{
	crypto_hash_sha256_state s;

	crypto_hash_sha256_init(&s);
	crypto_hash_sha256_update(&s, n->h, sizeof(n->h));
	crypto_hash_sha256_update(&s, bytes, len);
	crypto_hash_sha256_final(&s, n->h);
	sodium_memzero(&s, sizeof(s));
}

/* HKDF with two outputs, of a chaining key and some input. */
static void
derive(const uint8_t ck[32], const uint8_t *input, size_t len, uint8_t one[32],
       uint8_t two[32])
{
	crypto_auth_hmacsha256_state s;
	uint8_t temp[32], last[33];

	crypto_auth_hmacsha256_init(&s, ck, 32);
	crypto_auth_hmacsha256_update(&s, input, len);
	crypto_auth_hmacsha256_final(&s, temp);
	last[0] = 1;
	crypto_auth_hmacsha256_init(&s, temp, 32);
	crypto_auth_hmacsha256_update(&s, last, 1);
	crypto_auth_hmacsha256_final(&s, one);
	memcpy(last, one, 32);
	last[32] = 2;
	crypto_auth_hmacsha256_init(&s, temp, 32);
	crypto_auth_hmacsha256_update(&s, last, 33);
	crypto_auth_hmacsha256_final(&s, two);
	sodium_memzero(&s, sizeof(s));
	sodium_memzero(temp, sizeof(temp));
	sodium_memzero(last, sizeof(last));
}

static void
mix_key(struct bf_noise *n, const uint8_t input[32])
{
	uint8_t ck[32];

	derive(n->ck, input, 32, ck, n->k);
	memcpy(n->ck, ck, 32);
	sodium_memzero(ck, sizeof(ck));
	n->has_k = true;
	n->nonce = 0;
}

static void
make_nonce(const struct bf_noise *n, uint8_t out[12])
{
	uint64_t le = htole64(n->nonce);

	memset(out, 0, 4);
	memcpy(out + 4, &le, sizeof(le));
}

static size_t
overhead(const struct bf_noise *n)
{
	return n->has_k ? BF_NOISE_TAG_BYTES : 0;
}

/* Appends len bytes, encrypted once there is a key. */
static void
put_encrypted(struct bf_noise *n, const uint8_t *bytes, size_t len,
	      struct bf_buf *out)
{
	size_t total = len + overhead(n);
	uint8_t *room = bf_buf_reserve(out, total);
	uint8_t nonce[12];

	if (!room)
		return;
	if (n->has_k) {
		make_nonce(n, nonce);
		crypto_aead_chacha20poly1305_ietf_encrypt(
			room, NULL, bytes, len, n->h, sizeof(n->h), NULL, nonce,
			n->k);
		n->nonce++;
	} else if (len) {
		memcpy(room, bytes, len);
	}
	mix_hash(n, room, total);
	out->len += total;
}

/* len counts the tag, if there is a key. Returns: 0 or -1 */
static int
get_encrypted(struct bf_noise *n, const uint8_t *bytes, size_t len,
	      uint8_t *out)
{
	uint8_t nonce[12];

	if (n->has_k) {
		make_nonce(n, nonce);
		if (crypto_aead_chacha20poly1305_ietf_decrypt(
			    out, NULL, NULL, bytes, len, n->h, sizeof(n->h),
			    nonce, n->k) < 0)
			return -1;
		n->nonce++;
	} else if (len) {
		memcpy(out, bytes, len);
	}
	mix_hash(n, bytes, len);
	return 0;
}

/* --------------------------------------------------------------- tokens */

/* The three DH tokens: es is the initiator's ephemeral and the responder's
 * long-lived key, se the other way round.
 */
static int
mix_dh(struct bf_noise *n, enum token t)
{
	uint8_t shared[BF_KEY_BYTES];
	bool own_static = t != EE && (t == SE) == n->initiator;
	const uint8_t *peer = t == EE || own_static ? n->re : n->rs;
	int ret;

	ret = own_static ? n->self.dh(n->self.arg, shared, peer)
			 : bf_keys_dh(shared, &n->e, peer);
	if (!ret)
		mix_key(n, shared);
	sodium_memzero(shared, sizeof(shared));
	return ret;
}

static int
write_token(struct bf_noise *n, enum token t, struct bf_buf *out)
{
	switch (t) {
	case E:
		bf_buf_put(out, n->e_public, sizeof(n->e_public));
		mix_hash(n, n->e_public, sizeof(n->e_public));
		return 0;
	case S:
		put_encrypted(n, n->self.public_key, BF_KEY_BYTES, out);
		return 0;
	default:
		return mix_dh(n, t);
	}
}

/* Advances *at over what it reads. */
static int
read_token(struct bf_noise *n, enum token t, const uint8_t **at,
	   const uint8_t *end)
{
	size_t len = BF_KEY_BYTES + (t == S ? overhead(n) : 0);

	if (t != E && t != S)
		return mix_dh(n, t);
	if ((size_t)(end - *at) < len)
		return -BF_EPROTO;
	if (t == E) {
		memcpy(n->re, *at, BF_KEY_BYTES);
		mix_hash(n, n->re, BF_KEY_BYTES);
	} else if (get_encrypted(n, *at, len, n->rs)) {
		return -BF_EPROTO;
	}
	*at += len;
	return 0;
}

/* ------------------------------------------------------------- messages */

void
bf_noise_begin(struct bf_noise *n, bool initiator,
	       const struct bf_noise_identity *self, const void *prologue,
	       size_t prologue_len)
{
	static const char name[] = "Noise_XX_25519_ChaChaPoly_SHA256";

	_Static_assert(sizeof(name) - 1 == 32, "the name is its own hash");
	*n = (struct bf_noise){.self = *self, .initiator = initiator};
	memcpy(n->h, name, 32);
	memcpy(n->ck, name, 32);
	mix_hash(n, prologue, prologue_len);
	bf_keys_random(n->e.bytes, sizeof(n->e.bytes));
	bf_keys_public(n->e_public, &n->e);
}

/* Whose turn is it, and is anything left to say? */
static bool
is_turn(const struct bf_noise *n, bool writing)
{
	bool initiators = n->n_messages % 2 == 0;

	return n->n_messages < N_MESSAGES &&
	       (n->initiator == initiators) == writing;
}

static int
failed(struct bf_noise *n, int ret, struct bf_err *err)
{
	bf_noise_wipe(n);
	n->n_messages = UINT8_MAX;
	return bf_err_set(err, -ret, "handshake: %s",
			  ret == -BF_EPROTO ? "not a message that belongs there"
					    : bf_err_str(ret));
}

int
bf_noise_write(struct bf_noise *n, const void *payload, size_t len,
	       struct bf_buf *out, struct bf_err *err)
{
	int ret = 0;

	if (!is_turn(n, true))
		return failed(n, -BF_EINTERNAL, err);
	if (len > BF_NOISE_MESSAGE_MAX - BF_NOISE_2_BYTES)
		return failed(n, -BF_ETOOBIG, err);
	for (const uint8_t *t = pattern[n->n_messages]; *t && !ret; t++)
		ret = write_token(n, *t, out);
	if (!ret)
		put_encrypted(n, payload, len, out);
	if (!ret && out->err)
		ret = out->err;
	if (ret)
		return failed(n, ret, err);
	n->n_messages++;
	return 0;
}

int
bf_noise_read(struct bf_noise *n, const uint8_t *msg, size_t len,
	      struct bf_buf *payload, struct bf_err *err)
{
	const uint8_t *at = msg, *end = msg + len;
	uint8_t *room = NULL;
	size_t left = 0;
	int ret = 0;

	if (!is_turn(n, false) || len > BF_NOISE_MESSAGE_MAX)
		return failed(n, -BF_EPROTO, err);
	for (const uint8_t *t = pattern[n->n_messages]; *t && !ret; t++)
		ret = read_token(n, *t, &at, end);
	if (!ret) {
		left = (size_t)(end - at);
		if (left < overhead(n))
			ret = -BF_EPROTO;
	}
	if (!ret) {
		room = bf_buf_reserve(payload, left);
		ret = room ? get_encrypted(n, at, left, room) : payload->err;
		if (ret == -1)
			ret = -BF_EPROTO;
	}
	if (ret)
		return failed(n, ret, err);
	payload->len += left - overhead(n);
	n->n_messages++;
	return 0;
}

void
bf_noise_finish(const struct bf_noise *n, struct bf_noise_result *out)
{
	uint8_t first[32], second[32];

	derive(n->ck, NULL, 0, first, second);
	memcpy(out->send_key, n->initiator ? first : second, 32);
	memcpy(out->recv_key, n->initiator ? second : first, 32);
	memcpy(out->hash, n->h, 32);
	sodium_memzero(first, sizeof(first));
	sodium_memzero(second, sizeof(second));
}

void
bf_noise_wipe(struct bf_noise *n)
{
	sodium_memzero(n, sizeof(*n));
}
