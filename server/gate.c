// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * gate - connections by number, sources by address, sessions by key
 */
#include "server/gate.h"

#include "common/log.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define N_BUCKETS 1024u
#define N_SOURCES 4096u
#define TICK_MS 1000
#define REPORT_MS 60000u
/* Seconds that a source which proved a key is believed in. */
#define TRUST_S 3600u

/* So many at once, so many a second after that. */
struct bucket {
	double tokens;
	struct bf_mono filled;
};

/* What is remembered of an address (IPv6: of its /64); forgotten when another
 * one needs the place.
 */
struct source {
	uint8_t addr[16];
	struct bucket handshakes;
	uint32_t failures;
	struct bf_mono kept_out_until, good_until;
};

struct conn {
	struct conn *next; /* in its bucket */
	struct bf_link_peer peer;
	struct bf_mono since, used;
	struct bf_noise *handshake; /* between message 1 and 3 */
	struct bf_session *session;
	bool dropped;
};

struct bf_gate {
	struct bf_gate_opts opts;
	pthread_mutex_t lock; /* all below, but not what a session holds */
	uint64_t seed;
	int wake;
	bool sleeps; /* until woken, or a report is due */
	struct bucket handshakes;
	struct bucket *rates; /* of each client */
	struct bf_gate_stats stats, reported;
	struct bf_mono report_at;
	struct conn *buckets[N_BUCKETS];
	struct source sources[N_SOURCES];
};

/* -------------------------------------------------------------- helpers */

static bool
take_token(struct bucket *b, double per_s, double burst)
{
	struct bf_mono now = bf_mono_now();

	if (!b->filled.ns)
		b->tokens = burst;
	else
		b->tokens += (double)(now.ns - b->filled.ns) / 1e9 * per_s;
	b->filled = now;
	if (b->tokens > burst)
		b->tokens = burst;
	if (b->tokens < 1)
		return false;
	b->tokens -= 1;
	return true;
}

static struct conn **
find(struct bf_gate *g, uint32_t pipe)
{
	struct conn **at = &g->buckets[pipe % N_BUCKETS];

	while (*at && (*at)->peer.pipe != pipe)
		at = &(*at)->next;
	return at;
}

static struct source *
source_of(struct bf_gate *g, const uint8_t addr[16])
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	uint8_t net[16] = {0};
	uint64_t hash = g->seed;
	struct source *s;

	memcpy(net, addr, memcmp(addr, mapped, sizeof(mapped)) ? 8 : 16);
	for (size_t i = 0; i < sizeof(net); i++)
		hash = (hash ^ net[i]) * UINT64_C(0x100000001b3);
	s = &g->sources[(hash >> 32) % N_SOURCES];
	if (memcmp(s->addr, net, sizeof(net)) != 0) {
		*s = (struct source){0};
		memcpy(s->addr, net, sizeof(net));
	}
	return s;
}

static void
drop(struct conn *c)
{
	c->dropped = true;
	bf_link_drop(c->peer.pipe);
}

static void
forget_handshake(struct conn *c)
{
	bf_keys_free(c->handshake, sizeof(*c->handshake));
	c->handshake = NULL;
}

void
bf_gate_put(struct bf_session *s)
{
	if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
		return;
	bf_channel_fini(&s->channel);
	bf_keys_free(s, sizeof(*s));
}

/* Lock held. */
static void
blame(struct bf_gate *g, const uint8_t addr[16])
{
	const struct bf_gate_limits *l = g->opts.limits;
	struct source *s = source_of(g, addr);

	g->stats.failed++;
	if (++s->failures < l->penalty_failures)
		return;
	s->failures = 0;
	s->kept_out_until =
		bf_mono_after_ms(bf_mono_now(), UINT64_C(1000) * l->penalty_s);
}

/* ---------------------------------------------------------- connections */

/* Lock held. Makes room: the half-open one that has stood longest goes.
 * Returns: false if there is none
 */
static bool
crowd_out(struct bf_gate *g)
{
	struct conn *oldest = NULL;

	for (size_t i = 0; i < N_BUCKETS; i++)
		for (struct conn *c = g->buckets[i]; c; c = c->next)
			if (!c->session && !c->dropped &&
			    (!oldest || c->since.ns < oldest->since.ns))
				oldest = c;
	if (!oldest)
		return false;
	g->stats.crowded_out++;
	drop(oldest);
	return true;
}

bool
bf_gate_come(struct bf_gate *g, const struct bf_link_peer *peer)
{
	const struct bf_gate_limits *l = g->opts.limits;
	struct conn *c = calloc(1, sizeof(*c));
	struct source *s;
	bool stays, full, wake;

	if (!c)
		return false;
	c->peer = *peer;
	c->since = c->used = bf_mono_now();
	pthread_mutex_lock(&g->lock);
	s = source_of(g, peer->addr);
	full = g->stats.half_open >= l->max_half_open ||
	       g->stats.connections >= l->max_connections;
	stays = (c->since.ns >= s->kept_out_until.ns ||
		 c->since.ns < s->good_until.ns) &&
		(!full || crowd_out(g));
	if (stays) {
		c->next = g->buckets[peer->pipe % N_BUCKETS];
		g->buckets[peer->pipe % N_BUCKETS] = c;
		g->stats.connections++;
		g->stats.half_open++;
	} else {
		g->stats.kept_out++;
	}
	wake = g->sleeps;
	g->sleeps = false;
	pthread_mutex_unlock(&g->lock);
	if (wake)
		eventfd_write(g->wake, 1);
	if (!stays)
		free(c);
	return stays;
}

void
bf_gate_gone(struct bf_gate *g, uint32_t pipe)
{
	struct conn **at, *c;

	pthread_mutex_lock(&g->lock);
	at = find(g, pipe);
	c = *at;
	if (c) {
		*at = c->next;
		g->stats.connections--;
		g->stats.half_open -= !c->session;
	}
	pthread_mutex_unlock(&g->lock);
	if (!c)
		return;
	forget_handshake(c);
	bf_gate_put(c->session);
	free(c);
}

/* ----------------------------------------------------------- handshakes */

static int
compare_keys(const void *key, const void *client)
{
	return memcmp(key, ((const struct bf_acl_client *)client)->key,
		      BF_KEY_BYTES);
}

static const struct bf_acl_client *
client_of(const struct bf_gate *g, const uint8_t key[BF_KEY_BYTES])
{
	return bsearch(key, g->opts.clients, g->opts.n_clients,
		       sizeof(*g->opts.clients), compare_keys);
}

static int
begin_handshake(struct bf_gate *g, uint32_t pipe, const uint8_t *body,
		size_t len, struct bf_buf *reply, struct bf_err *err)
{
	const struct bf_frame head = {
		.version = BF_PROTOCOL_VERSION,
		.kind = BF_FRAME_HANDSHAKE,
		.method = 2,
	};
	struct bf_noise *n = bf_keys_alloc(sizeof(*n));
	struct bf_buf nothing;
	struct conn *c;
	int ret;

	if (!n)
		return bf_err_set(err, ENOMEM, "out of memory");
	bf_noise_begin(n, false, &g->opts.self, BF_CHANNEL_PROLOGUE,
		       sizeof(BF_CHANNEL_PROLOGUE) - 1);
	bf_buf_init(&nothing, 1);
	ret = len == BF_NOISE_1_BYTES
		      ? bf_noise_read(n, body, len, &nothing, err)
		      : bf_err_set(err, BF_EPROTO, "handshake: not message 1");
	bf_frame_begin(reply, &head);
	if (!ret)
		ret = bf_noise_write(n, NULL, 0, reply, err);
	bf_frame_finish(reply, 0);
	bf_buf_fini(&nothing);
	if (ret) {
		bf_keys_free(n, sizeof(*n));
		return ret;
	}
	pthread_mutex_lock(&g->lock);
	c = *find(g, pipe);
	if (c) {
		forget_handshake(c);
		c->handshake = n;
	} else {
		bf_keys_free(n, sizeof(*n));
	}
	pthread_mutex_unlock(&g->lock);
	return 0;
}

/* What the answer to message 3 is sealed with, also if it is a refusal. */
static int
make_session(const struct bf_noise *n, struct bf_session **out,
	     struct bf_err *err)
{
	struct bf_session *s = bf_keys_alloc(sizeof(*s));
	struct bf_noise_result keys;

	if (!s)
		return bf_err_set(err, ENOMEM, "out of memory");
	bf_noise_finish(n, &keys);
	bf_channel_init(&s->channel, &keys);
	bf_keys_wipe(&keys, sizeof(keys));
	atomic_init(&s->refs, 1);
	*out = s;
	return 0;
}

/* Lock held. */
static int
admit(struct bf_gate *g, struct conn *c, struct bf_session *s,
      const uint8_t key[BF_KEY_BYTES], struct bf_err *err)
{
	const struct bf_acl_client *client = client_of(g, key);
	struct source *source = source_of(g, c->peer.addr);
	char text[BF_KEY_TEXT_BYTES];

	bf_keys_to_text(text, key);
	if (!client)
		return bf_err_set(err, BF_EDENIED, "unknown key %s", text);
	s->client = client;
	s->client_index = (uint32_t)(client - g->opts.clients);
	if (!bf_acl_from_ok(client, c->peer.addr))
		return bf_err_set(err, BF_EDENIED,
				  "key %s may not come from this address",
				  text);
	source->failures = 0;
	source->good_until =
		bf_mono_after_ms(bf_mono_now(), UINT64_C(1000) * TRUST_S);
	g->stats.handshakes++;
	g->stats.half_open -= !c->session;
	atomic_fetch_add(&s->refs, 1);
	bf_gate_put(c->session);
	c->session = s;
	return 0;
}

static int
end_handshake(struct bf_gate *g, uint32_t pipe, struct bf_noise *n,
	      const uint8_t *body, size_t len, struct bf_session **session,
	      struct bf_buf *first, struct bf_err *err)
{
	struct conn *c;
	int ret;

	ret = bf_noise_read(n, body, len, first, err);
	if (!ret)
		ret = make_session(n, session, err);
	if (ret)
		return ret;
	pthread_mutex_lock(&g->lock);
	c = *find(g, pipe);
	if (!c)
		ret = bf_err_set(err, BF_ESESSION, "the connection is gone");
	else
		ret = admit(g, c, *session, n->rs, err);
	g->stats.denied += ret == -BF_EDENIED;
	if (ret == -BF_EDENIED)
		blame(g, c->peer.addr);
	pthread_mutex_unlock(&g->lock);
	return ret;
}

/* Lock held. May this connection begin one now? */
static int
may_begin(struct bf_gate *g, const struct conn *c, struct bf_err *err)
{
	const struct bf_gate_limits *l = g->opts.limits;
	struct source *s = source_of(g, c->peer.addr);

	if (take_token(&s->handshakes, l->source_handshakes_per_s,
		       3.0 * l->source_handshakes_per_s) &&
	    take_token(&g->handshakes, l->handshakes_per_s,
		       2.0 * l->handshakes_per_s))
		return 0;
	g->stats.busy++;
	return bf_err_set(err, BF_EBUSY, "too many handshakes: try again");
}

int
bf_gate_handshake(struct bf_gate *g, const struct bf_link_peer *peer,
		  const struct bf_frame *frame, const uint8_t *body,
		  struct bf_buf *reply, struct bf_session **session,
		  struct bf_buf *first, struct bf_err *err)
{
	struct bf_noise *n = NULL;
	struct conn *c;
	int ret = 0;

	*session = NULL;
	pthread_mutex_lock(&g->lock);
	c = *find(g, peer->pipe);
	if (!c)
		ret = bf_err_set(err, BF_ESESSION, "the connection is gone");
	else if (frame->method == 1)
		ret = may_begin(g, c, err);
	if (!ret && frame->method == 3) {
		n = c->handshake;
		c->handshake = NULL;
	}
	pthread_mutex_unlock(&g->lock);
	if (ret)
		return ret;
	if (frame->method == 1)
		return begin_handshake(g, peer->pipe, body, frame->body_len,
				       reply, err);
	if (frame->method != 3)
		return bf_err_set(err, BF_EPROTO, "handshake: no such message");
	if (!n)
		return bf_err_set(err, BF_ESESSION,
				  "message 3 of no handshake");
	ret = end_handshake(g, peer->pipe, n, body, frame->body_len, session,
			    first, err);
	bf_keys_free(n, sizeof(*n));
	return ret;
}

/* ------------------------------------------------------------- sessions */

struct bf_session *
bf_gate_get(struct bf_gate *g, uint32_t pipe)
{
	struct bf_session *s = NULL;
	struct conn *c;

	pthread_mutex_lock(&g->lock);
	c = *find(g, pipe);
	if (c && c->session) {
		s = c->session;
		atomic_fetch_add(&s->refs, 1);
		c->used = bf_mono_now();
	}
	pthread_mutex_unlock(&g->lock);
	return s;
}

bool
bf_gate_rate_ok(struct bf_gate *g, const struct bf_session *s)
{
	const struct bf_acl_client *c = s->client;
	bool ok;

	if (!c->rate_n)
		return true;
	pthread_mutex_lock(&g->lock);
	ok = take_token(&g->rates[s->client_index],
			(double)c->rate_n / c->rate_s, c->rate_n);
	pthread_mutex_unlock(&g->lock);
	return ok;
}

void
bf_gate_blame(struct bf_gate *g, const struct bf_link_peer *peer)
{
	pthread_mutex_lock(&g->lock);
	blame(g, peer->addr);
	pthread_mutex_unlock(&g->lock);
}

/* ----------------------------------------------------------------- time */

/* Lock held. One line a minute, if there is something to say. */
static void
report(struct bf_gate *g, struct bf_mono now)
{
	const struct bf_gate_stats *c = &g->stats;

	if (now.ns < g->report_at.ns || !memcmp(c, &g->reported, sizeof(*c)))
		return;
	bf_log(BF_LOG_INFO, "gate",
	       "connections=%" PRIu64 " half_open=%" PRIu64
	       " handshakes=%" PRIu64 " failed=%" PRIu64 " denied=%" PRIu64
	       " busy=%" PRIu64 " kept_out=%" PRIu64 " crowded_out=%" PRIu64
	       " timed_out=%" PRIu64,
	       c->connections, c->half_open, c->handshakes, c->failed,
	       c->denied, c->busy, c->kept_out, c->crowded_out, c->timed_out);
	g->reported = *c;
	g->report_at = bf_mono_after_ms(now, REPORT_MS);
}

int
bf_gate_tick(struct bf_gate *g)
{
	const struct bf_gate_limits *l = g->opts.limits;
	struct bf_mono now;
	eventfd_t ignored;
	int next = TICK_MS;

	(void)eventfd_read(g->wake, &ignored);
	pthread_mutex_lock(&g->lock);
	now = bf_mono_now(); /* under the lock: no connection is younger */
	for (size_t i = 0; i < N_BUCKETS; i++) {
		for (struct conn *c = g->buckets[i]; c; c = c->next) {
			uint32_t s = c->session ? l->idle_s : l->handshake_s;
			struct bf_mono from = c->session ? c->used : c->since;

			if (c->dropped || now.ns - from.ns < s * 1000000000ull)
				continue;
			g->stats.timed_out++;
			drop(c);
		}
	}
	report(g, now);
	if (!g->stats.connections) {
		g->sleeps = true;
		next = memcmp(&g->stats, &g->reported, sizeof(g->stats))
			       ? (int)bf_mono_left_ms(g->report_at) + 1
			       : -1;
	}
	pthread_mutex_unlock(&g->lock);
	return next;
}

int
bf_gate_fd(const struct bf_gate *g)
{
	return g->wake;
}

void
bf_gate_stats(struct bf_gate *g, struct bf_gate_stats *out)
{
	pthread_mutex_lock(&g->lock);
	*out = g->stats;
	pthread_mutex_unlock(&g->lock);
}

int
bf_gate_new(struct bf_gate **out, const struct bf_gate_opts *opts,
	    struct bf_err *err)
{
	struct bf_gate *g = calloc(1, sizeof(*g));

	if (!g)
		return bf_err_set(err, ENOMEM, "out of memory");
	g->opts = *opts;
	g->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	g->rates = calloc(bf_max_u64(opts->n_clients, 1), sizeof(*g->rates));
	pthread_mutex_init(&g->lock, NULL);
	bf_keys_random(&g->seed, sizeof(g->seed));
	if (g->wake < 0 || !g->rates) {
		bf_gate_free(g);
		return bf_err_set(err, ENOMEM, "out of memory");
	}
	*out = g;
	return 0;
}

void
bf_gate_free(struct bf_gate *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < N_BUCKETS; i++)
		while (g->buckets[i])
			bf_gate_gone(g, g->buckets[i]->peer.pipe);
	pthread_mutex_destroy(&g->lock);
	if (g->wake >= 0)
		close(g->wake);
	free(g->rates);
	free(g);
}
