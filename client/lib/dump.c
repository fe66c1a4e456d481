// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * dump - pages of a map, the next one asked for while one is used
 */
#include "client/lib/session.h"

#include "common/cursor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct bpfleet_dump {
	struct bpfleet *b;
	struct bf_dump_req req; /* pin, engine and cursor are our copies */
	char *pin, *engine;
	uint8_t *cursor;
	struct bf_session_call call; /* of the next page */
	bool started;		     /* call is prepared, maybe sent */
	struct bf_dump_reply reply;  /* of the page in use */
	struct bpfleet_page page;
	int done; /* 0: goes on; 1: ended; negative: failed */
	struct bpfleet_error failure;
};

static char *
copy_string(const char *s)
{
	return strdup(s ? s : "");
}

/* Prepares the request for the page after d->cursor. */
static void
prepare(struct bpfleet_dump *d)
{
	bf_session_begin(d->b, &d->call, BF_DUMP);
	bf_put_dump_req(&d->call.request, &d->req);
	d->started = true;
}

int
bpfleet_dump_open(struct bpfleet_dump **out, struct bpfleet *b,
		  const struct bpfleet_map_ref *map,
		  const struct bpfleet_dump_opts *opts,
		  struct bpfleet_error *err)
{
	struct bpfleet_dump *d = NULL;
	struct bpfleet_dump_opts o;
	struct bf_map_ref ref;
	struct bf_err e;
	int ret;

	ret = bf_session_opts(&o, sizeof(o), opts, err);
	if (!ret)
		ret = bf_session_ref(&ref, b, map, err);
	if (ret)
		return ret;
	if (o.cursor_len > BF_CURSOR_MAX || (o.cursor_len && !o.cursor) ||
	    o.coherence < 0 || o.coherence > BPFLEET_FAST ||
	    (o.engine && strlen(o.engine) > 32)) {
		bf_err_set(&e, BF_EARGUMENT,
			   "dump: a cursor, engine or coherence that cannot "
			   "be");
		return bf_session_error(b, err, &e);
	}
	d = calloc(1, sizeof(*d));
	if (!d)
		goto no_memory;
	d->b = b;
	d->pin = copy_string(ref.pin);
	d->engine = copy_string(o.engine);
	d->cursor = malloc(BF_CURSOR_MAX);
	if (!d->pin || !d->engine || !d->cursor)
		goto no_memory;
	if (o.cursor_len)
		memcpy(d->cursor, o.cursor, o.cursor_len);
	d->req = (struct bf_dump_req){
		.map = {.id = ref.id, .pin = ref.pin ? d->pin : NULL},
		.cursor = d->cursor,
		.cursor_len = o.cursor_len,
		.max_entries = o.page_entries,
		.max_bytes = o.page_bytes,
		.engine = d->engine,
		.coherence =
			o.coherence ? (enum bf_coherence)o.coherence : BF_EXACT,
		.count_only = o.count_only != 0,
	};
	*out = d;
	return 0;
no_memory:
	bpfleet_dump_close(d);
	bf_err_set(&e, ENOMEM, "out of memory");
	return bf_session_error(b, err, &e);
}

void
bpfleet_dump_close(struct bpfleet_dump *d)
{
	if (!d)
		return;
	if (d->started)
		bf_session_call_fini(&d->call);
	bf_codec_free(d->reply.owner);
	free(d->pin);
	free(d->engine);
	free(d->cursor);
	free(d);
}

static void
set_page(struct bpfleet_dump *d)
{
	const struct bf_page *p = &d->reply.page;

	d->page = (struct bpfleet_page){
		.map_id = p->map_id,
		.n = p->n,
		.key_size = p->shape.key_size,
		.value_size = p->shape.value_size,
		.slot_size = p->shape.slot_size,
		.n_slots = p->shape.n_slots,
		.keys = p->keys,
		.values = p->values,
		.end = p->end,
		.cursor = d->reply.cursor,
		.cursor_len = d->reply.cursor_len,
		.engine = p->engine,
		.reason = p->reason,
		.coherence = (int)p->coherence,
		.restarts = p->restarts,
		.retries = p->retries,
		.skipped = p->skipped,
		.started_ns = p->started_ns,
		.ended_ns = p->ended_ns,
	};
}

/* Checks what the codec cannot know: is this the map that was begun? */
static int
check_reply(struct bpfleet_dump *d, struct bf_err *e)
{
	const struct bf_page *p = &d->reply.page;

	if (bf_session_same_map(&d->req.map, p->map_id, e))
		return -BF_EREPLACED;
	if (p->n && d->reply.count_only != d->req.count_only)
		return bf_err_set(e, BF_EPROTO,
				  "columns where none belong, or none");
	return 0;
}

static int
receive(struct bpfleet_dump *d, struct bpfleet_error *err)
{
	struct bf_session_answer answer = {0};
	struct bf_err e;
	int ret;

	ret = bf_session_finish(d->b, &d->call, &answer, err);
	bf_session_call_fini(&d->call);
	d->started = false;
	if (ret == -BPFLEET_ENOMAP && d->req.cursor_len) {
		if (d->req.map.pin)
			bf_err_set(&e, BF_EGONE,
				   "map at %.300s: it or its pin went away "
				   "during the dump",
				   d->req.map.pin);
		else
			bf_err_set(&e, BF_EGONE,
				   "map id %u: it was freed during the dump",
				   d->req.map.id);
		return bf_session_error(d->b, err, &e);
	}
	if (ret)
		return ret;
	ret = bf_get_dump_reply(&d->reply, answer.body, answer.len, &e);
	bf_session_answer_fini(&answer);
	if (!ret)
		ret = check_reply(d, &e);
	return ret ? bf_session_error(d->b, err, &e) : 0;
}

/* Remembers where the page ends, and asks for what follows. */
static void
ask_ahead(struct bpfleet_dump *d)
{
	d->req.map.id = d->reply.page.map_id;
	if (d->reply.page.end) {
		d->done = 1;
		return;
	}
	memcpy(d->cursor, d->reply.cursor, d->reply.cursor_len);
	d->req.cursor_len = d->reply.cursor_len;
	prepare(d);
	bf_session_start(d->b, &d->call);
}

int
bpfleet_dump_next(struct bpfleet_dump *d, const struct bpfleet_page **page,
		  struct bpfleet_error *err)
{
	int ret;

	*page = NULL;
	bf_codec_free(d->reply.owner);
	d->reply = (struct bf_dump_reply){0};
	if (d->done > 0)
		return 0;
	if (d->done < 0) {
		if (err)
			*err = d->failure;
		return d->done;
	}
	if (!d->started)
		prepare(d);
	ret = receive(d, &d->failure);
	if (ret) {
		d->done = ret;
		if (err)
			*err = d->failure;
		return ret;
	}
	set_page(d);
	ask_ahead(d);
	*page = &d->page;
	return 1;
}
