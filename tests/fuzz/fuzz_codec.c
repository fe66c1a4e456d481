// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * fuzz_codec - any bytes as the body of every message
 *
 * What a get function takes is read to the end of every column and string,
 * and put again; what is put must be taken again.
 * Input: 0 the message (1) | 1 the body
 */
#include "common/codec.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint32_t sink;

static void
touch(const void *p, uint64_t len)
{
	const uint8_t *b = p;
	uint32_t sum = 0;

	for (uint64_t i = 0; i < len; i++)
		sum += b[i];
	sink = sum;
}

static void
touch_text(const char *s)
{
	touch(s, strlen(s));
}

static void
touch_ref(const struct bf_map_ref *ref)
{
	if (!ref->id && !ref->pin)
		abort();
	if (ref->pin)
		touch_text(ref->pin);
}

static void
touch_map(const struct bf_map_entry *m)
{
	touch_text(m->info.name);
	touch_text(m->unreadable);
	for (size_t i = 0; i < m->n_pins; i++)
		touch_text(m->pins[i]);
}

static void
see_hello_req(const struct bf_hello_req *m)
{
	touch_text(m->client);
}

static void
see_hello_reply(const struct bf_hello_reply *m)
{
	touch_text(m->agent);
	touch_text(m->host);
	touch_text(m->kernel);
	touch_text(m->limits);
	touch(m->methods, m->n_methods * sizeof(*m->methods));
}

static void
see_list_req(const struct bf_list_req *m)
{
	touch_text(m->name_glob);
}

static void
see_list_reply(const struct bf_list_reply *m)
{
	touch_text(m->limits);
	for (size_t i = 0; i < m->n_maps; i++)
		touch_map(&m->maps[i]);
}

static void
see_show_req(const struct bf_show_req *m)
{
	touch_ref(&m->map);
}

static void
see_show_reply(const struct bf_show_reply *m)
{
	touch_map(&m->map);
	for (size_t i = 0; i < m->n_engines; i++) {
		touch_text(m->engines[i].name);
		touch_text(m->engines[i].why);
	}
}

static void
see_dump_req(const struct bf_dump_req *m)
{
	touch_ref(&m->map);
	touch(m->cursor, m->cursor_len);
	touch_text(m->engine);
	if (m->coherence < BF_EXACT || m->coherence > BF_FAST)
		abort();
}

static void
see_dump_reply(const struct bf_dump_reply *m)
{
	const struct bf_page *p = &m->page;

	if (!m->count_only) {
		touch(p->keys, (uint64_t)p->n * p->shape.key_size);
		touch(p->values, p->n * bf_shape_value_bytes(&p->shape));
	}
	touch(m->cursor, m->cursor_len);
	touch_text(p->engine);
	touch_text(p->reason);
	if (p->end != !m->cursor_len || !p->shape.n_slots ||
	    p->shape.value_size > p->shape.slot_size)
		abort();
	touch_text(bf_coherence_str(p->coherence));
}

static void
see_lookup_req(const struct bf_lookup_req *m)
{
	touch_ref(&m->map);
	touch(m->keys, (uint64_t)m->n_keys * m->key_size);
}

static void
see_lookup_reply(const struct bf_lookup_reply *m)
{
	touch(m->found, m->n);
	touch(m->values, m->n * bf_shape_value_bytes(&m->shape));
	for (uint32_t i = 0; i < m->n; i++)
		if (m->found[i] > 1)
			abort();
}

static void
see_peek_reply(const struct bf_lookup_reply *m)
{
	if (m->n != 1)
		abort();
	see_lookup_reply(m);
}

static void
see_peek_req(const struct bf_peek_req *m)
{
	touch_ref(&m->map);
}

static void
see_error(const struct bf_error_reply *m)
{
	if (!m->code)
		abort();
	touch_text(m->message);
}

/* Takes, reads, puts, takes again and reads again. */
#define TARGET(name, type)                                                     \
	static void try_##name(const uint8_t *body, size_t len)                \
	{                                                                      \
		struct type m, again;                                          \
		struct bf_buf buf;                                             \
		struct bf_err err;                                             \
                                                                               \
		if (bf_get_##name(&m, body, len, &err))                        \
			return;                                                \
		see_##name(&m);                                                \
		bf_buf_init(&buf, BF_REPLY_MAX);                               \
		bf_put_##name(&buf, &m);                                       \
		if (!buf.err) {                                                \
			if (bf_get_##name(&again, buf.data, buf.len, &err))    \
				abort();                                       \
			see_##name(&again);                                    \
			bf_codec_free(again.owner);                            \
		}                                                              \
		bf_buf_fini(&buf);                                             \
		bf_codec_free(m.owner);                                        \
	}

/* clang-format off */
TARGET(hello_req, bf_hello_req)
TARGET(hello_reply, bf_hello_reply)
TARGET(list_req, bf_list_req)
TARGET(list_reply, bf_list_reply)
TARGET(show_req, bf_show_req)
TARGET(show_reply, bf_show_reply)
TARGET(dump_req, bf_dump_req)
TARGET(dump_reply, bf_dump_reply)
TARGET(lookup_req, bf_lookup_req)
TARGET(lookup_reply, bf_lookup_reply)
TARGET(peek_req, bf_peek_req)
TARGET(peek_reply, bf_lookup_reply)
TARGET(error, bf_error_reply)
/* clang-format on */

static void (*const targets[])(const uint8_t *body, size_t len) = {
	try_hello_req,	try_hello_reply,  try_list_req, try_list_reply,
	try_show_req,	try_show_reply,	  try_dump_req, try_dump_reply,
	try_lookup_req, try_lookup_reply, try_peek_req, try_peek_reply,
	try_error,
};

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size)
		targets[data[0] % BF_ARRAY_SIZE(targets)](data + 1, size - 1);
	return 0;
}
