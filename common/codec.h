/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * codec - message bodies to and from plain structs
 *
 * The only user of the generated protobuf code.  put functions append a body
 * to a buffer (a failure sticks in out->err).  get functions check a body
 * that came from a peer: what they return is bounded and consistent (columns
 * are as long as n says, strings have no NUL inside), and borrows from
 * `owner`, which bf_codec_free() frees.  Unknown fields are ignored.
 *
 * All get functions return 0, -BF_EPROTO or -ENOMEM, and set *out only on 0.
 */
#ifndef BF_CODEC_H
#define BF_CODEC_H

#include "common/buf.h"
#include "common/err.h"
#include "common/mapinfo.h"
#include "common/page.h"

struct bf_map_ref {
	uint32_t id;	 /* 0: by pin alone */
	const char *pin; /* NULL: by id alone; both: must agree */
};

struct bf_hello_req {
	uint32_t version_min, version_max;
	const char *client;
	void *owner;
};

struct bf_hello_reply {
	uint32_t version;
	const char *agent, *host, *kernel, *limits;
	uint8_t boot_id[16];
	uint32_t n_possible_cpus;
	uint32_t max_request_bytes, max_reply_bytes;
	const uint32_t *methods;
	size_t n_methods;
	void *owner;
};

/* A map as it is listed: what is known, and what the agent makes of it. */
struct bf_map_entry {
	struct bf_map_info info;
	const char *const *pins;
	size_t n_pins;
	uint32_t n_slots, slot_size;
	const char *unreadable; /* "" if Dump can read it */
};

struct bf_list_req {
	uint32_t after_id, limit;
	const char *name_glob; /* "": all */
	bool pins;
	void *owner;
};

struct bf_list_reply {
	struct bf_map_entry *maps;
	size_t n_maps;
	bool end;
	uint32_t next_after_id;
	const char *limits;
	void *owner;
};

struct bf_show_req {
	struct bf_map_ref map;
	void *owner;
};

struct bf_engine_info {
	const char *name;
	bool usable;
	const char *why;
};

struct bf_show_reply {
	struct bf_map_entry map;
	struct bf_engine_info *engines;
	size_t n_engines;
	void *owner;
};

struct bf_dump_req {
	struct bf_map_ref map;
	const uint8_t *cursor;
	size_t cursor_len;
	uint32_t max_entries, max_bytes;
	const char *engine; /* "": the agent's choice */
	enum bf_coherence coherence;
	bool count_only;
	void *owner;
};

/* page's columns borrow from owner (get) or are the caller's (put); with
 * count_only they are NULL and page.n still counts.
 */
struct bf_dump_reply {
	struct bf_page page;
	const uint8_t *cursor; /* NULL and 0 after the last page */
	size_t cursor_len;
	bool count_only;
	void *owner;
};

struct bf_lookup_req {
	struct bf_map_ref map;
	uint32_t key_size;
	const uint8_t *keys;
	size_t n_keys;
	void *owner;
};

/* Also the answer to a peek: then n is 1 and found[0] says "not empty". */
struct bf_lookup_reply {
	uint32_t map_id;
	uint32_t n;
	struct bf_shape shape; /* key_size is not sent: 0 */
	const uint8_t *found;  /* n bytes, 0 or 1 */
	const uint8_t *values; /* n * slot_size * n_slots */
	enum bf_coherence coherence;
	uint64_t started_ns, ended_ns;
	void *owner;
};

struct bf_peek_req {
	struct bf_map_ref map;
	void *owner;
};

struct bf_error_reply {
	uint32_t code;
	const char *message;
	void *owner;
};

void bf_codec_free(void *owner);

void bf_put_hello_req(struct bf_buf *out, const struct bf_hello_req *m);
void bf_put_hello_reply(struct bf_buf *out, const struct bf_hello_reply *m);
void bf_put_list_req(struct bf_buf *out, const struct bf_list_req *m);
void bf_put_list_reply(struct bf_buf *out, const struct bf_list_reply *m);
void bf_put_show_req(struct bf_buf *out, const struct bf_show_req *m);
void bf_put_show_reply(struct bf_buf *out, const struct bf_show_reply *m);
void bf_put_dump_req(struct bf_buf *out, const struct bf_dump_req *m);
void bf_put_dump_reply(struct bf_buf *out, const struct bf_dump_reply *m);
void bf_put_lookup_req(struct bf_buf *out, const struct bf_lookup_req *m);
void bf_put_lookup_reply(struct bf_buf *out, const struct bf_lookup_reply *m);
void bf_put_peek_req(struct bf_buf *out, const struct bf_peek_req *m);
void bf_put_peek_reply(struct bf_buf *out, const struct bf_lookup_reply *m);
void bf_put_error(struct bf_buf *out, const struct bf_error_reply *m);

int bf_get_hello_req(struct bf_hello_req *out, const uint8_t *body, size_t len,
		     struct bf_err *err);
int bf_get_hello_reply(struct bf_hello_reply *out, const uint8_t *body,
		       size_t len, struct bf_err *err);
int bf_get_list_req(struct bf_list_req *out, const uint8_t *body, size_t len,
		    struct bf_err *err);
int bf_get_list_reply(struct bf_list_reply *out, const uint8_t *body,
		      size_t len, struct bf_err *err);
int bf_get_show_req(struct bf_show_req *out, const uint8_t *body, size_t len,
		    struct bf_err *err);
int bf_get_show_reply(struct bf_show_reply *out, const uint8_t *body,
		      size_t len, struct bf_err *err);
int bf_get_dump_req(struct bf_dump_req *out, const uint8_t *body, size_t len,
		    struct bf_err *err);
int bf_get_dump_reply(struct bf_dump_reply *out, const uint8_t *body,
		      size_t len, struct bf_err *err);
int bf_get_lookup_req(struct bf_lookup_req *out, const uint8_t *body,
		      size_t len, struct bf_err *err);
int bf_get_lookup_reply(struct bf_lookup_reply *out, const uint8_t *body,
			size_t len, struct bf_err *err);
int bf_get_peek_req(struct bf_peek_req *out, const uint8_t *body, size_t len,
		    struct bf_err *err);
int bf_get_peek_reply(struct bf_lookup_reply *out, const uint8_t *body,
		      size_t len, struct bf_err *err);
int bf_get_error(struct bf_error_reply *out, const uint8_t *body, size_t len,
		 struct bf_err *err);

#endif
