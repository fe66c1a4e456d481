// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * secure - handshakes and channels of a client
 */
#include "client/lib/secure.h"

#include "client/lib/known.h"
#include "common/codec.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct bf_secure_channel {
	struct bf_channel channel;
	uint32_t pipe; /* the connection it is bound to */
	atomic_uint refs;
};

struct bf_secure {
	struct bf_key key;
	struct bf_noise_identity self;
	char *address, *known_agents;
	bool trust_new;
	pthread_mutex_t handshake; /* held during one */
	pthread_mutex_t lock;	   /* current */
	struct bf_secure_channel *current;
};

void
bf_secure_put(struct bf_secure_channel *c)
{
	if (!c || atomic_fetch_sub(&c->refs, 1) != 1)
		return;
	bf_channel_fini(&c->channel);
	bf_keys_free(c, sizeof(*c));
}

static void
set_current(struct bf_secure *s, struct bf_secure_channel *c)
{
	struct bf_secure_channel *old;

	pthread_mutex_lock(&s->lock);
	old = s->current;
	s->current = c;
	pthread_mutex_unlock(&s->lock);
	bf_secure_put(old);
}

static int
own_dh(void *arg, uint8_t out[BF_KEY_BYTES], const uint8_t peer[BF_KEY_BYTES])
{
	return bf_keys_dh(out, arg, peer);
}

int
bf_secure_new(struct bf_secure **out, const struct bf_secure_opts *opts,
	      struct bf_err *err)
{
	struct bf_secure *s;
	int ret;

	if (!opts->key_file || !opts->known_agents)
		return bf_err_set(err, BF_EARGUMENT,
				  "%s: over tcp the options key_file and "
				  "known_agents are needed",
				  opts->address);
	s = bf_keys_alloc(sizeof(*s));
	if (!s)
		return bf_err_set(err, ENOMEM, "out of memory");
	pthread_mutex_init(&s->handshake, NULL);
	pthread_mutex_init(&s->lock, NULL);
	s->trust_new = opts->trust_new;
	s->address = strdup(opts->address);
	s->known_agents = strdup(opts->known_agents);
	ret = s->address && s->known_agents
		      ? bf_keys_init(err)
		      : bf_err_set(err, ENOMEM, "out of memory");
	if (!ret)
		ret = bf_keys_read_private(&s->key, opts->key_file, err);
	if (ret == -ENOENT)
		ret = bf_err_set(err, BF_EARGUMENT,
				 "no key in %s: make one with bpfleet genkey, "
				 "or name another with --key",
				 opts->key_file);
	if (ret) {
		bf_secure_free(s);
		return ret;
	}
	s->self = (struct bf_noise_identity){.dh = own_dh, .arg = &s->key};
	bf_keys_public(s->self.public_key, &s->key);
	*out = s;
	return 0;
}

void
bf_secure_free(struct bf_secure *s)
{
	if (!s)
		return;
	set_current(s, NULL);
	pthread_mutex_destroy(&s->handshake);
	pthread_mutex_destroy(&s->lock);
	free(s->address);
	free(s->known_agents);
	bf_keys_free(s, sizeof(*s));
}

/* ------------------------------------------------------------ handshake */

/* What is said without a session.  Nobody vouches for it, so the words are
 * ours, and nothing but these three is believed.
 */
static int
take_refusal(const struct bf_frame *frame, const uint8_t *body,
	     struct bf_err *err)
{
	struct bf_error_reply e;
	int ret;

	ret = bf_get_error(&e, body, frame->body_len, err);
	if (ret)
		return ret;
	switch (e.code) {
	case BF_ESESSION:
	case BF_EBUSY:
	case BF_EVERSION:
		ret = bf_err_set(err, (int)e.code,
				 "%s (so it was said on the wire, unproved)",
				 bf_err_str((int)e.code));
		break;
	default:
		ret = bf_err_set(err, BF_EPROTO,
				 "an answer that is not sealed (%u)", e.code);
	}
	bf_codec_free(e.owner);
	return ret;
}

/* Sends a frame and waits for the answer's frame. */
static int
exchange(struct bf_link_client *link, const struct bf_buf *request,
	 struct bf_mono deadline, struct bf_link_reply *reply,
	 struct bf_err *err)
{
	struct bf_link_call *call = NULL;
	int ret;

	if (request->err)
		return bf_err_set(err, -request->err, "%s",
				  bf_err_str(request->err));
	ret = bf_link_start(&call, link, request, deadline, err);
	return ret ? ret : bf_link_wait(call, reply, err);
}

/* Message n, whose payload is appended by the handshake. */
static int
put_message(struct bf_noise *n, uint16_t number, const struct bf_buf *payload,
	    struct bf_buf *out, struct bf_err *err)
{
	const struct bf_frame head = {
		.version = BF_PROTOCOL_VERSION,
		.kind = BF_FRAME_HANDSHAKE,
		.method = number,
	};
	int ret;

	bf_buf_reset(out);
	bf_frame_begin(out, &head);
	ret = bf_noise_write(n, payload ? payload->data : NULL,
			     payload ? payload->len : 0, out, err);
	bf_frame_finish(out, 0);
	return ret;
}

/* Message 2 tells which agent this is. */
static int
take_message_2(struct bf_noise *n, const struct bf_link_reply *reply,
	       struct bf_err *err)
{
	const uint8_t *body;
	struct bf_frame frame;
	struct bf_buf nothing;
	int ret;

	ret = bf_frame_parse(&frame, &body, reply->data, reply->len, err);
	if (ret)
		return ret;
	if (frame.kind == BF_FRAME_ERROR)
		return take_refusal(&frame, body, err);
	if (frame.kind != BF_FRAME_HANDSHAKE || frame.method != 2 ||
	    frame.body_len != BF_NOISE_2_BYTES)
		return bf_err_set(err, BF_EPROTO,
				  "not the second message of a handshake");
	bf_buf_init(&nothing, BF_NOISE_2_BYTES);
	ret = bf_noise_read(n, body, frame.body_len, &nothing, err);
	bf_buf_fini(&nothing);
	return ret;
}

/* Returns: 0 believed; 1 believed, and to be added; negative */
static int
check_agent(const struct bf_secure *s, const uint8_t key[BF_KEY_BYTES],
	    struct bf_err *err)
{
	char text[BF_KEY_TEXT_BYTES];
	int ret;

	ret = bf_known_check(s->known_agents, s->address, key, err);
	if (ret == -BF_EDENIED && err)
		err->code = BF_EHOSTKEY;
	if (ret == -BF_EDENIED)
		return -BF_EHOSTKEY;
	if (ret != -ENOENT || s->trust_new)
		return ret == -ENOENT ? 1 : ret;
	bf_keys_to_text(text, key);
	return bf_err_set(err, BF_EHOSTKEY,
			  "%s: not in %s: its key is %s: if that is what its "
			  "log says, add it: bpfleet -w %s hosts --trust",
			  s->address, s->known_agents, text, s->address);
}

static int
make_channel(const struct bf_noise *n, uint32_t pipe,
	     struct bf_secure_channel **out, struct bf_err *err)
{
	struct bf_secure_channel *c = bf_keys_alloc(sizeof(*c));
	struct bf_noise_result keys;

	if (!c)
		return bf_err_set(err, ENOMEM, "out of memory");
	bf_noise_finish(n, &keys);
	bf_channel_init(&c->channel, &keys);
	bf_keys_wipe(&keys, sizeof(keys));
	c->pipe = pipe;
	atomic_init(&c->refs, 1);
	*out = c;
	return 0;
}

/* A frame without its sealing: did the agent refuse us in it? */
static int
check_refused(const struct bf_secure *s, const struct bf_link_reply *reply,
	      struct bf_err *err)
{
	char text[BF_KEY_TEXT_BYTES];
	struct bf_error_reply e;
	const uint8_t *body;
	struct bf_frame f;
	int ret;

	ret = bf_frame_parse(&f, &body, reply->data, reply->len, err);
	if (ret || f.kind != BF_FRAME_ERROR)
		return ret;
	ret = bf_get_error(&e, body, f.body_len, err);
	if (ret)
		return ret;
	bf_keys_to_text(text, s->self.public_key);
	ret = e.code == BF_EDENIED
		      ? bf_err_set(err, BF_EDENIED, "%s: %s (this key: %s)",
				   s->address, e.message, text)
		      : bf_err_set(err, (int)e.code, "%s", e.message);
	bf_codec_free(e.owner);
	return ret;
}

static int
shake(struct bf_secure *s, struct bf_noise *n, struct bf_link_client *link,
      const struct bf_buf *request, struct bf_mono deadline,
      struct bf_link_reply *reply, struct bf_err *err)
{
	struct bf_secure_channel *channel = NULL;
	uint32_t pipe = bf_link_pipe(link);
	struct bf_buf message;
	int ret, added = 0;

	bf_buf_init(&message, BF_NOISE_MESSAGE_MAX + BF_FRAME_BYTES);
	bf_noise_begin(n, true, &s->self, BF_CHANNEL_PROLOGUE,
		       sizeof(BF_CHANNEL_PROLOGUE) - 1);
	ret = put_message(n, 1, NULL, &message, err);
	if (!ret)
		ret = exchange(link, &message, deadline, reply, err);
	if (!ret)
		ret = take_message_2(n, reply, err);
	bf_link_reply_free(reply);
	if (!ret)
		ret = added = check_agent(s, n->rs, err);
	if (ret >= 0)
		ret = put_message(n, 3, request, &message, err);
	if (!ret)
		ret = make_channel(n, pipe, &channel, err);
	if (!ret)
		ret = exchange(link, &message, deadline, reply, err);
	if (!ret)
		ret = bf_secure_open(channel, reply, err);
	if (!ret)
		ret = check_refused(s, reply, err);
	if (!ret && added)
		ret = bf_known_add(s->known_agents, s->address, n->rs, err);
	bf_buf_fini(&message);
	if (ret) {
		bf_link_reply_free(reply);
		bf_secure_put(channel);
		return ret;
	}
	set_current(s, channel);
	return 0;
}

int
bf_secure_handshake(struct bf_secure *s, struct bf_link_client *link,
		    const struct bf_buf *request, struct bf_mono deadline,
		    struct bf_link_reply *reply, struct bf_err *err)
{
	struct bf_noise *n = bf_keys_alloc(sizeof(*n));
	int ret;

	if (!n)
		return bf_err_set(err, ENOMEM, "out of memory");
	pthread_mutex_lock(&s->handshake);
	ret = shake(s, n, link, request, deadline, reply, err);
	pthread_mutex_unlock(&s->handshake);
	bf_keys_free(n, sizeof(*n));
	return ret;
}

/* ------------------------------------------------------------- messages */

int
bf_secure_seal(struct bf_secure *s, struct bf_link_client *link,
	       const struct bf_buf *request, struct bf_buf *sealed,
	       struct bf_secure_channel **channel, struct bf_err *err)
{
	uint32_t pipe = bf_link_pipe(link);
	struct bf_secure_channel *c = NULL;
	uint8_t *room;
	int ret;

	pthread_mutex_lock(&s->lock);
	if (s->current && s->current->pipe == pipe) {
		c = s->current;
		atomic_fetch_add(&c->refs, 1);
	}
	pthread_mutex_unlock(&s->lock);
	if (!c)
		return bf_err_set(err, BF_ESESSION, "no session");
	room = bf_buf_reserve(sealed, request->len + BF_CHANNEL_OVERHEAD);
	if (room) {
		memcpy(room + BF_CHANNEL_HEAD_BYTES, request->data,
		       request->len);
		sealed->len += BF_CHANNEL_HEAD_BYTES + request->len;
	}
	ret = room ? bf_channel_seal(&c->channel, sealed) : sealed->err;
	if (ret) {
		bf_secure_put(c);
		return bf_err_set(err, -ret, "%s", bf_err_str(ret));
	}
	*channel = c;
	return 0;
}

int
bf_secure_open(struct bf_secure_channel *c, struct bf_link_reply *reply,
	       struct bf_err *err)
{
	const uint8_t *body;
	struct bf_frame frame;
	uint8_t *plain = NULL;
	size_t len = 0;
	int ret;

	ret = bf_frame_parse(&frame, &body, reply->data, reply->len, err);
	if (ret)
		return ret;
	if (frame.kind == BF_FRAME_ERROR)
		return take_refusal(&frame, body, err);
	ret = bf_channel_open(&c->channel, &frame, reply->data, reply->len,
			      &plain, &len, err);
	if (ret)
		return ret;
	reply->data = plain;
	reply->len = len;
	return 0;
}
