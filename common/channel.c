// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * channel - seals and opens frames
 *
 * The lock is held for counters, keys and windows, not while bytes are
 * encrypted; a counter is marked as taken only after its frame was found to
 * be genuine.
 */
#include "common/channel.h"

#include <endian.h>
#include <errno.h>
#include <sodium.h>
#include <string.h>

#define COUNTER_MAX (UINT64_C(1) << 62)

static void
make_nonce(uint64_t counter, uint8_t out[12])
{
	uint64_t le = htole64(counter);

	memset(out, 0, 4);
	memcpy(out + 4, &le, sizeof(le));
}

/* REKEY of the Noise specification. */
static void
next_key(uint8_t key[32])
{
	static const uint8_t zeros[32];
	uint8_t nonce[12], out[32 + 16];

	make_nonce(UINT64_MAX, nonce);
	crypto_aead_chacha20poly1305_ietf_encrypt(
		out, NULL, zeros, sizeof(zeros), NULL, 0, NULL, nonce, key);
	memcpy(key, out, 32);
	sodium_memzero(out, sizeof(out));
}

void
bf_channel_init(struct bf_channel *ch, const struct bf_noise_result *keys)
{
	*ch = (struct bf_channel){
		.send.live = true,
		.recv[0].live = true,
		.rekey_at =
			bf_mono_after_ms(bf_mono_now(), BF_CHANNEL_REKEY_MS),
	};
	pthread_mutex_init(&ch->lock, NULL);
	memcpy(ch->send.key, keys->send_key, 32);
	memcpy(ch->recv[0].key, keys->recv_key, 32);
}

void
bf_channel_fini(struct bf_channel *ch)
{
	pthread_mutex_destroy(&ch->lock);
	sodium_memzero(ch, sizeof(*ch));
}

/* -------------------------------------------------------------- sealing */

/* The next counter and its key; a new epoch when it is time. */
static int
take_counter(struct bf_channel *ch, uint64_t *counter, uint8_t key[32])
{
	struct bf_channel_epoch *e = &ch->send;
	int ret = 0;

	pthread_mutex_lock(&ch->lock);
	if (bf_mono_passed(ch->rekey_at))
		ch->next = (e->number + 1) << BF_CHANNEL_EPOCH_BITS;
	if (ch->next >> BF_CHANNEL_EPOCH_BITS != e->number) {
		next_key(e->key);
		e->number++;
		ch->rekey_at =
			bf_mono_after_ms(bf_mono_now(), BF_CHANNEL_REKEY_MS);
	}
	if (ch->next >= COUNTER_MAX) {
		ret = -BF_EINTERNAL;
	} else {
		*counter = ch->next++;
		memcpy(key, e->key, 32);
	}
	pthread_mutex_unlock(&ch->lock);
	return ret;
}

int
bf_channel_seal(struct bf_channel *ch, struct bf_buf *buf)
{
	uint8_t key[32], nonce[12], *text;
	struct bf_frame head = {
		.version = BF_PROTOCOL_VERSION,
		.kind = BF_FRAME_SEALED,
	};
	size_t len;
	int ret;

	if (!bf_buf_reserve(buf, BF_CHANNEL_TAG_BYTES))
		return buf->err;
	ret = take_counter(ch, &head.id, key);
	if (ret)
		return ret;
	len = buf->len - BF_CHANNEL_HEAD_BYTES;
	text = buf->data + BF_CHANNEL_HEAD_BYTES;
	head.body_len = (uint32_t)(len + BF_CHANNEL_TAG_BYTES);
	bf_frame_put(buf->data, &head);
	make_nonce(head.id, nonce);
	crypto_aead_chacha20poly1305_ietf_encrypt_detached(
		text, text + len, NULL, text, len, buf->data,
		BF_CHANNEL_HEAD_BYTES, NULL, nonce, key);
	buf->len += BF_CHANNEL_TAG_BYTES;
	sodium_memzero(key, sizeof(key));
	return 0;
}

/* -------------------------------------------------------------- opening */

static bool
was_seen(const struct bf_channel_epoch *e, uint64_t counter)
{
	uint64_t back = e->top - 1 - counter;

	if (counter >= e->top)
		return false;
	if (back >= BF_CHANNEL_WINDOW)
		return true; /* too old to know */
	counter %= BF_CHANNEL_WINDOW;
	return e->seen[counter / 64] >> (counter % 64) & 1;
}

static void
mark_seen(struct bf_channel_epoch *e, uint64_t counter)
{
	/* The places of the counters between are free for a new round. */
	if (counter >= e->top) {
		if (counter - e->top >= BF_CHANNEL_WINDOW)
			memset(e->seen, 0, sizeof(e->seen));
		else
			for (uint64_t c = e->top; c <= counter; c++)
				e->seen[c % BF_CHANNEL_WINDOW / 64] &=
					~(UINT64_C(1) << (c % 64));
		e->top = counter + 1;
	}
	e->seen[counter % BF_CHANNEL_WINDOW / 64] |= UINT64_C(1)
						     << (counter % 64);
}

static struct bf_channel_epoch *
find_epoch(struct bf_channel *ch, uint64_t number)
{
	for (int i = 0; i < 2; i++)
		if (ch->recv[i].live && ch->recv[i].number == number)
			return &ch->recv[i];
	return NULL;
}

/* Lock held. The key of a counter's epoch, without any change. */
static int
get_key(struct bf_channel *ch, uint64_t counter, uint8_t key[32])
{
	uint64_t number = counter >> BF_CHANNEL_EPOCH_BITS;
	const struct bf_channel_epoch *e = find_epoch(ch, number);
	uint64_t newest = ch->recv[0].number;

	if (counter >= COUNTER_MAX)
		return -BF_EPROTO;
	if (e) {
		memcpy(key, e->key, 32);
		return was_seen(e, counter) ? -BF_EPROTO : 0;
	}
	if (number < newest || number - newest > BF_CHANNEL_AHEAD_MAX)
		return -BF_EPROTO;
	memcpy(key, ch->recv[0].key, 32);
	for (; newest < number; newest++)
		next_key(key);
	return 0;
}

/* Lock held. After the frame was found genuine; another thread may have been
 * given the same frame.
 */
static int
take_seen(struct bf_channel *ch, uint64_t counter, const uint8_t key[32])
{
	uint64_t number = counter >> BF_CHANNEL_EPOCH_BITS;
	struct bf_channel_epoch *e = find_epoch(ch, number);

	if (!e && number < ch->recv[0].number)
		return -BF_EPROTO;
	if (!e) {
		ch->recv[1] = ch->recv[0];
		e = &ch->recv[0];
		*e = (struct bf_channel_epoch){.number = number, .live = true};
		memcpy(e->key, key, 32);
	}
	if (was_seen(e, counter))
		return -BF_EPROTO;
	mark_seen(e, counter);
	return 0;
}

int
bf_channel_open(struct bf_channel *ch, const struct bf_frame *frame,
		uint8_t *bytes, size_t len, uint8_t **plain, size_t *plain_len,
		struct bf_err *err)
{
	uint8_t *text = bytes + BF_CHANNEL_HEAD_BYTES;
	uint8_t key[32], nonce[12];
	size_t n;
	int ret = -BF_EPROTO;

	if (frame->kind != BF_FRAME_SEALED || len < BF_CHANNEL_OVERHEAD)
		goto out;
	n = len - BF_CHANNEL_OVERHEAD;
	pthread_mutex_lock(&ch->lock);
	ret = get_key(ch, frame->id, key);
	pthread_mutex_unlock(&ch->lock);
	make_nonce(frame->id, nonce);
	if (!ret && crypto_aead_chacha20poly1305_ietf_decrypt_detached(
			    text, NULL, text, n, text + n, bytes,
			    BF_CHANNEL_HEAD_BYTES, nonce, key) < 0)
		ret = -BF_EPROTO;
	if (!ret) {
		pthread_mutex_lock(&ch->lock);
		ret = take_seen(ch, frame->id, key);
		pthread_mutex_unlock(&ch->lock);
	}
	sodium_memzero(key, sizeof(key));
	*plain = text;
	*plain_len = n;
out:
	return ret ? bf_err_set(err, -ret,
				"a sealed frame that is forged, altered, "
				"repeated or too old")
		   : 0;
}
