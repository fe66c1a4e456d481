// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * codec - packs and unpacks message bodies, and checks those of peers
 *
 * Unpacking runs on an allocator with a budget, so that a few bytes of input
 * cannot ask for much memory.  What the generated code accepts is then checked
 * for sizes that agree with each other before anyone indexes with them.
 */
#include "common/codec.h"

#include "common/cursor.h"

#include <bpfleet.pb-c.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Parsed requests are a little larger than their bytes; replies hold columns
 * or up to a few thousand maps.
 */
#define REQUEST_BUDGET (4u << 20)
#define REPLY_BUDGET (BF_REPLY_MAX + (16u << 20))
#define STRING_MAX 1024u

/* Behind every get: the message, and what was made of it. */
struct owner {
	ProtobufCMessage *msg;
	void *extra;
};

static void *
bounded_alloc(void *data, size_t size)
{
	size_t *left = data;

	if (size > *left)
		return NULL;
	*left -= size;
	return malloc(size ? size : 1);
}

static void
bounded_free(void *data, void *p)
{
	(void)data;
	free(p);
}

void
bf_codec_free(void *p)
{
	struct owner *owner = p;

	if (!owner)
		return;
	if (owner->msg)
		protobuf_c_message_free_unpacked(owner->msg, NULL);
	free(owner->extra);
	free(owner);
}

static void
put_message(struct bf_buf *out, const ProtobufCMessage *msg)
{
	size_t len = protobuf_c_message_get_packed_size(msg);
	uint8_t *room = bf_buf_reserve(out, len);

	if (room)
		out->len += protobuf_c_message_pack(msg, room);
}

/*
 * Unpacks a body. Returns: 0; -BF_EPROTO; -ENOMEM. *owner is the caller's to
 * free, whatever happens after.
 */
static int
get_message(struct owner **owner, const ProtobufCMessageDescriptor *type,
	    const uint8_t *body, size_t len, size_t budget, struct bf_err *err)
{
	ProtobufCAllocator bounded = {bounded_alloc, bounded_free, &budget};

	*owner = calloc(1, sizeof(**owner));
	if (!*owner)
		return bf_err_set(err, ENOMEM, "out of memory");
	(*owner)->msg = protobuf_c_message_unpack(type, &bounded, len, body);
	if ((*owner)->msg)
		return 0;
	bf_codec_free(*owner);
	*owner = NULL;
	return bf_err_set(err, BF_EPROTO, "%s: not a valid message (%zu bytes)",
			  type->short_name, len);
}

static const char no_memory[] = "out of memory";

static int
refuse(struct owner *owner, const char *what, struct bf_err *err)
{
	bf_codec_free(owner);
	if (what == no_memory)
		return bf_err_set(err, ENOMEM, "%s", what);
	return bf_err_set(err, BF_EPROTO, "malformed message: %s", what);
}

static bool
string_ok(const char *s, size_t max)
{
	return strnlen(s, max + 1) <= max;
}

/* ---------------------------------------------------- bytes and strings */

/* protobuf-c has no const; what is only packed is not written to. */
static uint8_t *
unconst(const void *p)
{
	uint8_t *q;

	memcpy(&q, &p, sizeof(q));
	return q;
}

static ProtobufCBinaryData
bytes_of(const void *p, size_t len)
{
	return (ProtobufCBinaryData){.len = len, .data = unconst(p)};
}

static char *
string_of(const char *s)
{
	return (char *)unconst(s ? s : "");
}

/* protobuf-c puts a NUL behind no bytes field: a copy does. */
static char *
copy_bytes(char *to, const ProtobufCBinaryData *b)
{
	if (b->len)
		memcpy(to, b->data, b->len);
	to[b->len] = '\0';
	return to;
}

/* Bytes that are a path or pattern: short, without a NUL inside. */
static bool
text_ok(const ProtobufCBinaryData *b, size_t max)
{
	return b->len < max && (!b->len || !memchr(b->data, '\0', b->len));
}

/* ------------------------------------------------------------- map refs */

static void
set_ref(Bpfleet__V1__MapRef *to, const struct bf_map_ref *ref)
{
	bpfleet__v1__map_ref__init(to);
	to->id = ref->id;
	if (ref->pin)
		to->pin = bytes_of(ref->pin, strlen(ref->pin));
}

/* Returns: NULL, or what is wrong. */
static const char *
get_ref(struct bf_map_ref *to, struct owner *owner,
	const Bpfleet__V1__MapRef *ref)
{
	if (!ref || (!ref->id && !ref->pin.len))
		return "it names no map";
	if (!text_ok(&ref->pin, BF_PATH_MAX))
		return "the path of the pin";
	to->id = ref->id;
	to->pin = NULL;
	if (!ref->pin.len)
		return NULL;
	owner->extra = malloc(ref->pin.len + 1);
	if (!owner->extra)
		return no_memory;
	to->pin = copy_bytes(owner->extra, &ref->pin);
	return NULL;
}

/* ---------------------------------------------------------------- hello */

void
bf_put_hello_req(struct bf_buf *out, const struct bf_hello_req *m)
{
	Bpfleet__V1__HelloRequest pb;

	bpfleet__v1__hello_request__init(&pb);
	pb.version_min = m->version_min;
	pb.version_max = m->version_max;
	pb.client = string_of(m->client);
	put_message(out, &pb.base);
}

int
bf_get_hello_req(struct bf_hello_req *out, const uint8_t *body, size_t len,
		 struct bf_err *err)
{
	const Bpfleet__V1__HelloRequest *pb;
	struct owner *o;
	int ret;

	ret = get_message(&o, &bpfleet__v1__hello_request__descriptor, body,
			  len, REQUEST_BUDGET, err);
	if (ret)
		return ret;
	pb = (const void *)o->msg;
	if (!string_ok(pb->client, STRING_MAX))
		return refuse(o, "the client's name", err);
	*out = (struct bf_hello_req){
		.version_min = pb->version_min,
		.version_max = pb->version_max,
		.client = pb->client,
		.owner = o,
	};
	return 0;
}

void
bf_put_hello_reply(struct bf_buf *out, const struct bf_hello_reply *m)
{
	Bpfleet__V1__HelloReply pb;

	bpfleet__v1__hello_reply__init(&pb);
	pb.version = m->version;
	pb.agent = string_of(m->agent);
	pb.host = string_of(m->host);
	pb.kernel = string_of(m->kernel);
	pb.limits = string_of(m->limits);
	pb.boot_id = bytes_of(m->boot_id, sizeof(m->boot_id));
	pb.n_possible_cpus = m->n_possible_cpus;
	pb.max_request_bytes = m->max_request_bytes;
	pb.max_reply_bytes = m->max_reply_bytes;
	pb.n_methods = m->n_methods;
	pb.methods = (uint32_t *)(void *)unconst(m->methods);
	put_message(out, &pb.base);
}

int
bf_get_hello_reply(struct bf_hello_reply *out, const uint8_t *body, size_t len,
		   struct bf_err *err)
{
	const Bpfleet__V1__HelloReply *pb;
	struct owner *o;
	int ret;

	ret = get_message(&o, &bpfleet__v1__hello_reply__descriptor, body, len,
			  REPLY_BUDGET, err);
	if (ret)
		return ret;
	pb = (const void *)o->msg;
	if (!string_ok(pb->agent, STRING_MAX) ||
	    !string_ok(pb->host, STRING_MAX) ||
	    !string_ok(pb->kernel, STRING_MAX) ||
	    !string_ok(pb->limits, STRING_MAX))
		return refuse(o, "a string is too long", err);
	if (pb->boot_id.len != sizeof(out->boot_id))
		return refuse(o, "the boot id", err);
	*out = (struct bf_hello_reply){
		.version = pb->version,
		.agent = pb->agent,
		.host = pb->host,
		.kernel = pb->kernel,
		.limits = pb->limits,
		.n_possible_cpus = pb->n_possible_cpus,
		.max_request_bytes = pb->max_request_bytes,
		.max_reply_bytes = pb->max_reply_bytes,
		.methods = pb->methods,
		.n_methods = pb->n_methods,
		.owner = o,
	};
	memcpy(out->boot_id, pb->boot_id.data, sizeof(out->boot_id));
	return 0;
}

/* ----------------------------------------------------------------- maps */

static int
set_map(Bpfleet__V1__MapInfo *pb, const struct bf_map_entry *m)
{
	const struct bf_map_info *i = &m->info;

	bpfleet__v1__map_info__init(pb);
	pb->id = i->id;
	pb->type = i->type;
	pb->name = bytes_of(i->name, strlen(i->name));
	pb->key_size = i->key_size;
	pb->value_size = i->value_size;
	pb->max_entries = i->max_entries;
	pb->flags = i->flags;
	pb->btf_id = i->btf_id;
	pb->btf_key_type_id = i->btf_key_type_id;
	pb->btf_value_type_id = i->btf_value_type_id;
	pb->btf_vmlinux_value_type_id = i->btf_vmlinux_value_type_id;
	pb->ifindex = i->ifindex;
	pb->netns_dev = i->netns_dev;
	pb->netns_ino = i->netns_ino;
	pb->map_extra = i->map_extra;
	pb->frozen = i->frozen != 0;
	pb->has_memlock = i->has_memlock != 0;
	pb->memlock_bytes = i->memlock_bytes;
	pb->has_owner = i->has_owner != 0;
	pb->owner_prog_type = i->owner_prog_type;
	pb->owner_jited = i->owner_jited != 0;
	pb->n_slots = m->n_slots;
	pb->slot_size = m->slot_size;
	pb->unreadable = string_of(m->unreadable);
	pb->error = (uint32_t)i->error;
	if (!m->n_pins)
		return 0;
	pb->pins = calloc(m->n_pins, sizeof(*pb->pins));
	if (!pb->pins)
		return -ENOMEM;
	pb->n_pins = m->n_pins;
	for (size_t p = 0; p < m->n_pins; p++)
		pb->pins[p] = bytes_of(m->pins[p], strlen(m->pins[p]));
	return 0;
}

static const char *
check_map(const Bpfleet__V1__MapInfo *pb)
{
	if (!text_ok(&pb->name, BF_NAME_MAX + 1))
		return "the name of a map";
	if (!string_ok(pb->unreadable, STRING_MAX))
		return "a string is too long";
	if (pb->error > INT32_MAX)
		return "an error code";
	for (size_t i = 0; i < pb->n_pins; i++)
		if (!text_ok(&pb->pins[i], BF_PATH_MAX))
			return "the path of a pin";
	return NULL;
}

/* Bytes that get_map() takes from its pool. */
static size_t
pool_bytes(const Bpfleet__V1__MapInfo *pb)
{
	size_t n = pb->n_pins * sizeof(char *);

	for (size_t i = 0; i < pb->n_pins; i++)
		n += pb->pins[i].len + 1;
	return (size_t)bf_round_up8(n);
}

static void
get_map(struct bf_map_entry *out, const Bpfleet__V1__MapInfo *pb, uint8_t *pool)
{
	const char **pins = (void *)pool;
	char *text = (char *)(pins + pb->n_pins);

	*out = (struct bf_map_entry){
		.info =
			{
				.id = pb->id,
				.type = pb->type,
				.key_size = pb->key_size,
				.value_size = pb->value_size,
				.max_entries = pb->max_entries,
				.flags = pb->flags,
				.btf_id = pb->btf_id,
				.btf_key_type_id = pb->btf_key_type_id,
				.btf_value_type_id = pb->btf_value_type_id,
				.btf_vmlinux_value_type_id =
					pb->btf_vmlinux_value_type_id,
				.ifindex = pb->ifindex,
				.netns_dev = pb->netns_dev,
				.netns_ino = pb->netns_ino,
				.map_extra = pb->map_extra,
				.frozen = pb->frozen != 0,
				.has_memlock = pb->has_memlock != 0,
				.memlock_bytes = pb->memlock_bytes,
				.has_owner = pb->has_owner != 0,
				.owner_prog_type = pb->owner_prog_type,
				.owner_jited = pb->owner_jited != 0,
				.error = (int32_t)pb->error,
			},
		.n_slots = pb->n_slots,
		.slot_size = pb->slot_size,
		.unreadable = pb->unreadable,
		.pins = pins,
		.n_pins = pb->n_pins,
	};
	copy_bytes(out->info.name, &pb->name);
	for (size_t i = 0; i < pb->n_pins; i++) {
		pins[i] = copy_bytes(text, &pb->pins[i]);
		text += pb->pins[i].len + 1;
	}
}

void
bf_put_list_req(struct bf_buf *out, const struct bf_list_req *m)
{
	Bpfleet__V1__ListMapsRequest pb;

	bpfleet__v1__list_maps_request__init(&pb);
	pb.after_id = m->after_id;
	pb.limit = m->limit;
	if (m->name_glob)
		pb.name_glob = bytes_of(m->name_glob, strlen(m->name_glob));
	pb.pins = m->pins;
	put_message(out, &pb.base);
}

int
bf_get_list_req(struct bf_list_req *out, const uint8_t *body, size_t len,
		struct bf_err *err)
{
	const Bpfleet__V1__ListMapsRequest *pb;
	struct owner *o;
	int ret;

	ret = get_message(&o, &bpfleet__v1__list_maps_request__descriptor, body,
			  len, REQUEST_BUDGET, err);
	if (ret)
		return ret;
	pb = (const void *)o->msg;
	if (!text_ok(&pb->name_glob, STRING_MAX))
		return refuse(o, "the pattern of names", err);
	o->extra = malloc(pb->name_glob.len + 1);
	if (!o->extra)
		return refuse(o, no_memory, err);
	*out = (struct bf_list_req){
		.after_id = pb->after_id,
		.limit = pb->limit,
		.name_glob = copy_bytes(o->extra, &pb->name_glob),
		.pins = pb->pins != 0,
		.owner = o,
	};
	return 0;
}

void
bf_put_list_reply(struct bf_buf *out, const struct bf_list_reply *m)
{
	Bpfleet__V1__ListMapsReply pb;
	Bpfleet__V1__MapInfo *maps = calloc(m->n_maps + 1, sizeof(*maps));
	Bpfleet__V1__MapInfo **refs = calloc(m->n_maps + 1, sizeof(void *));
	bool whole = maps && refs;

	bpfleet__v1__list_maps_reply__init(&pb);
	for (size_t i = 0; whole && i < m->n_maps; i++) {
		whole = set_map(&maps[i], &m->maps[i]) == 0;
		refs[i] = &maps[i];
	}
	if (whole) {
		pb.n_maps = m->n_maps;
		pb.maps = refs;
		pb.end = m->end;
		pb.next_after_id = m->next_after_id;
		pb.limits = string_of(m->limits);
		put_message(out, &pb.base);
	} else if (!out->err) {
		out->err = -ENOMEM;
	}
	for (size_t i = 0; maps && i < m->n_maps; i++)
		free(maps[i].pins);
	free(refs);
	free(maps);
}

int
bf_get_list_reply(struct bf_list_reply *out, const uint8_t *body, size_t len,
		  struct bf_err *err)
{
	const Bpfleet__V1__ListMapsReply *pb;
	struct bf_map_entry *maps;
	const char *wrong = NULL;
	struct owner *o;
	uint8_t *pool;
	size_t bytes;
	int ret;

	ret = get_message(&o, &bpfleet__v1__list_maps_reply__descriptor, body,
			  len, REPLY_BUDGET, err);
	if (ret)
		return ret;
	pb = (const void *)o->msg;
	bytes = (pb->n_maps + 1) * sizeof(*maps);
	for (size_t i = 0; i < pb->n_maps && !wrong; i++) {
		wrong = check_map(pb->maps[i]);
		bytes += pool_bytes(pb->maps[i]);
	}
	if (!wrong && !string_ok(pb->limits, STRING_MAX))
		wrong = "a string is too long";
	/* A list that goes on must go forward. */
	if (!wrong && !pb->end && !pb->next_after_id)
		wrong = "a list without an end";
	if (!wrong) {
		o->extra = malloc(bytes);
		wrong = o->extra ? NULL : no_memory;
	}
	if (wrong)
		return refuse(o, wrong, err);
	maps = o->extra;
	pool = (uint8_t *)(maps + pb->n_maps + 1);
	for (size_t i = 0; i < pb->n_maps; i++) {
		get_map(&maps[i], pb->maps[i], pool);
		pool += pool_bytes(pb->maps[i]);
	}
	*out = (struct bf_list_reply){
		.maps = maps,
		.n_maps = pb->n_maps,
		.end = pb->end != 0,
		.next_after_id = pb->next_after_id,
		.limits = pb->limits,
		.owner = o,
	};
	return 0;
}

void
bf_put_show_req(struct bf_buf *out, const struct bf_show_req *m)
{
	Bpfleet__V1__ShowMapRequest pb;
	Bpfleet__V1__MapRef ref;

	bpfleet__v1__show_map_request__init(&pb);
	set_ref(&ref, &m->map);
	pb.map = &ref;
	put_message(out, &pb.base);
}

int
bf_get_show_req(struct bf_show_req *out, const uint8_t *body, size_t len,
		struct bf_err *err)
{
	struct bf_show_req m = {0};
	const char *wrong;
	struct owner *o;
	int ret;

	ret = get_message(&o, &bpfleet__v1__show_map_request__descriptor, body,
			  len, REQUEST_BUDGET, err);
	if (ret)
		return ret;
	wrong = get_ref(&m.map, o,
			((const Bpfleet__V1__ShowMapRequest *)o->msg)->map);
	if (wrong)
		return refuse(o, wrong, err);
	m.owner = o;
	*out = m;
	return 0;
}

void
bf_put_show_reply(struct bf_buf *out, const struct bf_show_reply *m)
{
	Bpfleet__V1__ShowMapReply pb;
	Bpfleet__V1__Engine engines[16], *refs[16];
	Bpfleet__V1__MapInfo map;

	bpfleet__v1__show_map_reply__init(&pb);
	if (m->n_engines > BF_ARRAY_SIZE(engines) || set_map(&map, &m->map)) {
		if (!out->err)
			out->err = -ENOMEM;
		return;
	}
	for (size_t i = 0; i < m->n_engines; i++) {
		bpfleet__v1__engine__init(&engines[i]);
		engines[i].name = string_of(m->engines[i].name);
		engines[i].usable = m->engines[i].usable;
		engines[i].why = string_of(m->engines[i].why);
		refs[i] = &engines[i];
	}
	pb.map = &map;
	pb.n_engines = m->n_engines;
	pb.engines = refs;
	put_message(out, &pb.base);
	free(map.pins);
}

int
bf_get_show_reply(struct bf_show_reply *out, const uint8_t *body, size_t len,
		  struct bf_err *err)
{
	const Bpfleet__V1__ShowMapReply *pb;
	struct bf_show_reply m = {0};
	const char *wrong;
	struct owner *o;
	size_t bytes;
	int ret;

	ret = get_message(&o, &bpfleet__v1__show_map_reply__descriptor, body,
			  len, REPLY_BUDGET, err);
	if (ret)
		return ret;
	pb = (const void *)o->msg;
	wrong = pb->map ? check_map(pb->map) : "no map";
	for (size_t i = 0; i < pb->n_engines && !wrong; i++)
		if (!string_ok(pb->engines[i]->name, STRING_MAX) ||
		    !string_ok(pb->engines[i]->why, STRING_MAX))
			wrong = "a string is too long";
	if (!wrong) {
		bytes = (pb->n_engines + 1) * sizeof(*m.engines);
		o->extra = malloc(bytes + pool_bytes(pb->map));
		wrong = o->extra ? NULL : no_memory;
	}
	if (wrong)
		return refuse(o, wrong, err);
	m.engines = o->extra;
	m.n_engines = pb->n_engines;
	for (size_t i = 0; i < pb->n_engines; i++)
		m.engines[i] = (struct bf_engine_info){
			.name = pb->engines[i]->name,
			.usable = pb->engines[i]->usable != 0,
			.why = pb->engines[i]->why,
		};
	get_map(&m.map, pb->map, (uint8_t *)(m.engines + pb->n_engines + 1));
	m.owner = o;
	*out = m;
	return 0;
}

/* ---------------------------------------------------------------- dumps */

void
bf_put_dump_req(struct bf_buf *out, const struct bf_dump_req *m)
{
	Bpfleet__V1__DumpRequest pb;
	Bpfleet__V1__MapRef ref;

	bpfleet__v1__dump_request__init(&pb);
	set_ref(&ref, &m->map);
	pb.map = &ref;
	pb.cursor = bytes_of(m->cursor, m->cursor_len);
	pb.max_entries = m->max_entries;
	pb.max_bytes = m->max_bytes;
	pb.engine = string_of(m->engine);
	pb.coherence = (Bpfleet__V1__Coherence)m->coherence;
	pb.count_only = m->count_only;
	put_message(out, &pb.base);
}

int
bf_get_dump_req(struct bf_dump_req *out, const uint8_t *body, size_t len,
		struct bf_err *err)
{
	const Bpfleet__V1__DumpRequest *pb;
	struct bf_dump_req m = {0};
	const char *wrong;
	struct owner *o;
	int ret;

	ret = get_message(&o, &bpfleet__v1__dump_request__descriptor, body, len,
			  REQUEST_BUDGET, err);
	if (ret)
		return ret;
	pb = (const void *)o->msg;
	wrong = get_ref(&m.map, o, pb->map);
	if (!wrong && pb->cursor.len > BF_CURSOR_MAX)
		wrong = "the cursor is too long";
	if (!wrong && !string_ok(pb->engine, 32))
		wrong = "the name of the engine";
	if (!wrong && (unsigned)pb->coherence > BF_FAST)
		wrong = "the coherence that is asked for";
	if (wrong)
		return refuse(o, wrong, err);
	m.cursor = pb->cursor.data;
	m.cursor_len = pb->cursor.len;
	m.max_entries = pb->max_entries;
	m.max_bytes = pb->max_bytes;
	m.engine = pb->engine;
	m.coherence =
		pb->coherence ? (enum bf_coherence)pb->coherence : BF_EXACT;
	m.count_only = pb->count_only != 0;
	m.owner = o;
	*out = m;
	return 0;
}

void
bf_put_dump_reply(struct bf_buf *out, const struct bf_dump_reply *m)
{
	Bpfleet__V1__DumpReply pb;
	const struct bf_page *p = &m->page;
	uint64_t n = m->count_only ? 0 : p->n;

	bpfleet__v1__dump_reply__init(&pb);
	pb.map_id = p->map_id;
	pb.n = p->n;
	pb.key_size = p->shape.key_size;
	pb.value_size = p->shape.value_size;
	pb.slot_size = p->shape.slot_size;
	pb.n_slots = p->shape.n_slots;
	pb.keys = bytes_of(p->keys, n * p->shape.key_size);
	pb.values = bytes_of(p->values, n * bf_shape_value_bytes(&p->shape));
	pb.end = p->end;
	pb.cursor = bytes_of(m->cursor, m->cursor_len);
	pb.engine = string_of(p->engine);
	pb.reason = string_of(p->reason);
	pb.coherence = (Bpfleet__V1__Coherence)p->coherence;
	pb.restarts = p->restarts;
	pb.retries = p->retries;
	pb.skipped = p->skipped;
	pb.started_ns = p->started_ns;
	pb.ended_ns = p->ended_ns;
	put_message(out, &pb.base);
}

static bool
coherence_ok(Bpfleet__V1__Coherence c)
{
	return (int)c >= (int)BF_EXACT && (int)c <= (int)BF_INCOMPLETE;
}

/* Sizes of one entry as a peer declares them. */
static bool
shape_ok(const struct bf_shape *s)
{
	return s->key_size <= BF_KEY_MAX && s->value_size <= s->slot_size &&
	       s->slot_size <= BF_PAGE_MAX && s->n_slots >= 1 &&
	       bf_shape_entry_bytes(s) <= BF_PAGE_MAX;
}

static const char *
check_page(const Bpfleet__V1__DumpReply *pb, const struct bf_shape *s)
{
	bool empty = !pb->keys.len && !pb->values.len;

	if (!shape_ok(s))
		return "the sizes of an entry";
	if (!(pb->n && empty) &&
	    (pb->keys.len != (uint64_t)pb->n * s->key_size ||
	     pb->values.len != pb->n * bf_shape_value_bytes(s)))
		return "columns that are not as long as they should be";
	if (pb->cursor.len > BF_CURSOR_MAX)
		return "the cursor is too long";
	if (!pb->end == !pb->cursor.len)
		return "a cursor after the end, or none before it";
	if (!string_ok(pb->engine, 32) || !string_ok(pb->reason, STRING_MAX))
		return "a string is too long";
	if (!coherence_ok(pb->coherence))
		return "the coherence";
	return NULL;
}

int
bf_get_dump_reply(struct bf_dump_reply *out, const uint8_t *body, size_t len,
		  struct bf_err *err)
{
	const Bpfleet__V1__DumpReply *pb;
	struct bf_dump_reply m = {0};
	const char *wrong;
	struct owner *o;
	int ret;

	ret = get_message(&o, &bpfleet__v1__dump_reply__descriptor, body, len,
			  REPLY_BUDGET, err);
	if (ret)
		return ret;
	pb = (const void *)o->msg;
	m.page.shape = (struct bf_shape){
		.key_size = pb->key_size,
		.value_size = pb->value_size,
		.slot_size = pb->slot_size,
		.n_slots = pb->n_slots,
	};
	wrong = check_page(pb, &m.page.shape);
	if (wrong)
		return refuse(o, wrong, err);
	m.count_only = pb->n && !pb->keys.len && !pb->values.len;
	m.page.map_id = pb->map_id;
	m.page.n = pb->n;
	m.page.keys = pb->keys.data;
	m.page.values = pb->values.data;
	m.page.end = pb->end != 0;
	m.page.engine = pb->engine;
	m.page.reason = pb->reason;
	m.page.coherence = (enum bf_coherence)pb->coherence;
	m.page.restarts = pb->restarts;
	m.page.retries = pb->retries;
	m.page.skipped = pb->skipped;
	m.page.started_ns = pb->started_ns;
	m.page.ended_ns = pb->ended_ns;
	m.cursor = pb->cursor.data;
	m.cursor_len = pb->cursor.len;
	m.owner = o;
	*out = m;
	return 0;
}

/* -------------------------------------------------------------- lookups */

void
bf_put_lookup_req(struct bf_buf *out, const struct bf_lookup_req *m)
{
	Bpfleet__V1__LookupRequest pb;
	Bpfleet__V1__MapRef ref;

	bpfleet__v1__lookup_request__init(&pb);
	set_ref(&ref, &m->map);
	pb.map = &ref;
	pb.key_size = m->key_size;
	pb.keys = bytes_of(m->keys, m->n_keys * m->key_size);
	put_message(out, &pb.base);
}

int
bf_get_lookup_req(struct bf_lookup_req *out, const uint8_t *body, size_t len,
		  struct bf_err *err)
{
	const Bpfleet__V1__LookupRequest *pb;
	struct bf_lookup_req m = {0};
	const char *wrong;
	struct owner *o;
	int ret;

	ret = get_message(&o, &bpfleet__v1__lookup_request__descriptor, body,
			  len, REQUEST_BUDGET, err);
	if (ret)
		return ret;
	pb = (const void *)o->msg;
	wrong = get_ref(&m.map, o, pb->map);
	if (!wrong &&
	    (!pb->key_size || !pb->keys.len || pb->keys.len % pb->key_size))
		wrong = "the keys are not a multiple of their size";
	if (wrong)
		return refuse(o, wrong, err);
	m.key_size = pb->key_size;
	m.keys = pb->keys.data;
	m.n_keys = pb->keys.len / pb->key_size;
	m.owner = o;
	*out = m;
	return 0;
}

void
bf_put_lookup_reply(struct bf_buf *out, const struct bf_lookup_reply *m)
{
	Bpfleet__V1__LookupReply pb;

	bpfleet__v1__lookup_reply__init(&pb);
	pb.map_id = m->map_id;
	pb.n = m->n;
	pb.value_size = m->shape.value_size;
	pb.slot_size = m->shape.slot_size;
	pb.n_slots = m->shape.n_slots;
	pb.found = bytes_of(m->found, m->n);
	pb.values = bytes_of(m->values, m->n * bf_shape_value_bytes(&m->shape));
	pb.coherence = (Bpfleet__V1__Coherence)m->coherence;
	pb.started_ns = m->started_ns;
	pb.ended_ns = m->ended_ns;
	put_message(out, &pb.base);
}

int
bf_get_lookup_reply(struct bf_lookup_reply *out, const uint8_t *body,
		    size_t len, struct bf_err *err)
{
	const Bpfleet__V1__LookupReply *pb;
	struct bf_shape shape;
	struct owner *o;
	int ret;

	ret = get_message(&o, &bpfleet__v1__lookup_reply__descriptor, body, len,
			  REPLY_BUDGET, err);
	if (ret)
		return ret;
	pb = (const void *)o->msg;
	shape = (struct bf_shape){
		.value_size = pb->value_size,
		.slot_size = pb->slot_size,
		.n_slots = pb->n_slots,
	};
	if (!shape_ok(&shape) || pb->found.len != pb->n ||
	    pb->values.len != pb->n * bf_shape_value_bytes(&shape))
		return refuse(o,
			      "columns that are not as long as they should "
			      "be",
			      err);
	for (uint32_t i = 0; i < pb->n; i++)
		if (pb->found.data[i] > 1)
			return refuse(o, "a found byte", err);
	if (!coherence_ok(pb->coherence))
		return refuse(o, "the coherence", err);
	*out = (struct bf_lookup_reply){
		.map_id = pb->map_id,
		.n = pb->n,
		.shape = shape,
		.found = pb->found.data,
		.values = pb->values.data,
		.coherence = (enum bf_coherence)pb->coherence,
		.started_ns = pb->started_ns,
		.ended_ns = pb->ended_ns,
		.owner = o,
	};
	return 0;
}

void
bf_put_peek_req(struct bf_buf *out, const struct bf_peek_req *m)
{
	Bpfleet__V1__PeekRequest pb;
	Bpfleet__V1__MapRef ref;

	bpfleet__v1__peek_request__init(&pb);
	set_ref(&ref, &m->map);
	pb.map = &ref;
	put_message(out, &pb.base);
}

int
bf_get_peek_req(struct bf_peek_req *out, const uint8_t *body, size_t len,
		struct bf_err *err)
{
	struct bf_peek_req m = {0};
	const char *wrong;
	struct owner *o;
	int ret;

	ret = get_message(&o, &bpfleet__v1__peek_request__descriptor, body, len,
			  REQUEST_BUDGET, err);
	if (ret)
		return ret;
	wrong = get_ref(&m.map, o,
			((const Bpfleet__V1__PeekRequest *)o->msg)->map);
	if (wrong)
		return refuse(o, wrong, err);
	m.owner = o;
	*out = m;
	return 0;
}

void
bf_put_peek_reply(struct bf_buf *out, const struct bf_lookup_reply *m)
{
	Bpfleet__V1__PeekReply pb;

	bpfleet__v1__peek_reply__init(&pb);
	pb.map_id = m->map_id;
	pb.found = m->found[0];
	if (m->found[0])
		pb.value = bytes_of(m->values, m->shape.value_size);
	pb.started_ns = m->started_ns;
	pb.ended_ns = m->ended_ns;
	put_message(out, &pb.base);
}

int
bf_get_peek_reply(struct bf_lookup_reply *out, const uint8_t *body, size_t len,
		  struct bf_err *err)
{
	static const uint8_t answers[2] = {0, 1};
	const Bpfleet__V1__PeekReply *pb;
	struct owner *o;
	int ret;

	ret = get_message(&o, &bpfleet__v1__peek_reply__descriptor, body, len,
			  REPLY_BUDGET, err);
	if (ret)
		return ret;
	pb = (const void *)o->msg;
	if (pb->value.len > BF_PAGE_MAX || !pb->found == (pb->value.len != 0))
		return refuse(o, "the value", err);
	*out = (struct bf_lookup_reply){
		.map_id = pb->map_id,
		.n = 1,
		.shape =
			{
				.value_size = (uint32_t)pb->value.len,
				.slot_size = (uint32_t)pb->value.len,
				.n_slots = 1,
			},
		.found = &answers[pb->found ? 1 : 0],
		.values = pb->value.data,
		.coherence = BF_EXACT,
		.started_ns = pb->started_ns,
		.ended_ns = pb->ended_ns,
		.owner = o,
	};
	return 0;
}

/* --------------------------------------------------------------- errors */

/*
 * Messages quote paths and names, which are any bytes; a protobuf string that
 * is not UTF-8 would keep other clients from reading the error at all.
 */
static char *
printable(char *out, size_t out_cap, const char *s)
{
	size_t n = 0;

	for (; n < out_cap - 1 && s[n]; n++)
		out[n] = s[n] >= 0x20 && s[n] < 0x7f ? s[n] : '?';
	out[n] = '\0';
	return out;
}

void
bf_put_error(struct bf_buf *out, const struct bf_error_reply *m)
{
	Bpfleet__V1__Error pb;
	char text[STRING_MAX];

	bpfleet__v1__error__init(&pb);
	pb.code = m->code;
	pb.message = printable(text, sizeof(text), m->message);
	put_message(out, &pb.base);
}

int
bf_get_error(struct bf_error_reply *out, const uint8_t *body, size_t len,
	     struct bf_err *err)
{
	const Bpfleet__V1__Error *pb;
	struct owner *o;
	int ret;

	ret = get_message(&o, &bpfleet__v1__error__descriptor, body, len,
			  REQUEST_BUDGET, err);
	if (ret)
		return ret;
	pb = (const void *)o->msg;
	if (!pb->code || pb->code > INT32_MAX)
		return refuse(o, "an error without a code", err);
	if (!string_ok(pb->message, STRING_MAX))
		return refuse(o, "a string is too long", err);
	*out = (struct bf_error_reply){
		.code = pb->code,
		.message = pb->message,
		.owner = o,
	};
	return 0;
}
