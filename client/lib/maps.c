// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * maps - lists, finds and shows maps
 */
#include "client/lib/session.h"

#include "common/nearest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAPS_MAX 1000000u

struct bpfleet_maps {
	struct bpfleet_map *maps;
	size_t n;
	void **owners; /* decoded messages that the maps borrow from */
	size_t n_owners;
	struct bpfleet_engine *engines;
	char *limits;
};

void
bpfleet_maps_free(struct bpfleet_maps *maps)
{
	if (!maps)
		return;
	for (size_t i = 0; i < maps->n_owners; i++)
		bf_codec_free(maps->owners[i]);
	/* Names and types of the maps are copies, see add_map(). */
	for (size_t i = 0; i < maps->n; i++)
		free((char *)(uintptr_t)maps->maps[i].name);
	free(maps->owners);
	free(maps->maps);
	free(maps->engines);
	free(maps->limits);
	free(maps);
}

size_t
bpfleet_maps_count(const struct bpfleet_maps *maps)
{
	return maps->n;
}

const struct bpfleet_map *
bpfleet_maps_get(const struct bpfleet_maps *maps, size_t i)
{
	return i < maps->n ? &maps->maps[i] : NULL;
}

const char *
bpfleet_maps_limits(const struct bpfleet_maps *maps)
{
	return maps->limits ? maps->limits : "";
}

static int
no_memory(const struct bpfleet *b, struct bpfleet_error *err)
{
	struct bf_err e;

	bf_err_set(&e, ENOMEM, "out of memory");
	return bf_session_error(b, err, &e);
}

/* name and type_name in one allocation, which name points to. */
static int
add_map(struct bpfleet_map *out, const struct bf_map_entry *e)
{
	const struct bf_map_info *i = &e->info;
	const size_t words_cap = 24;
	char *text = malloc(BF_NAME_MAX + 1 + words_cap);
	char *words;

	if (!text)
		return -ENOMEM;
	words = text + BF_NAME_MAX + 1;
	memcpy(text, i->name, BF_NAME_MAX + 1);
	*out = (struct bpfleet_map){
		.id = i->id,
		.type = i->type,
		.type_name = bf_map_type_words(i->type, words, words_cap),
		.name = text,
		.key_size = i->key_size,
		.value_size = i->value_size,
		.max_entries = i->max_entries,
		.flags = i->flags,
		.btf_id = i->btf_id,
		.btf_key_type_id = i->btf_key_type_id,
		.btf_value_type_id = i->btf_value_type_id,
		.btf_vmlinux_value_type_id = i->btf_vmlinux_value_type_id,
		.ifindex = i->ifindex,
		.netns_dev = i->netns_dev,
		.netns_ino = i->netns_ino,
		.map_extra = i->map_extra,
		.frozen = (int)i->frozen,
		.has_memlock = (int)i->has_memlock,
		.memlock_bytes = i->memlock_bytes,
		.has_owner = (int)i->has_owner,
		.owner_prog_type = i->owner_prog_type,
		.owner_jited = (int)i->owner_jited,
		.n_slots = e->n_slots,
		.slot_size = e->slot_size,
		.pins = e->pins,
		.n_pins = e->n_pins,
		.unreadable = e->unreadable,
		.error = i->error,
	};
	return 0;
}

static int
keep_owner(struct bpfleet_maps *list, void *owner)
{
	void **owners =
		realloc(list->owners, (list->n_owners + 1) * sizeof(*owners));

	if (!owners)
		return -ENOMEM;
	list->owners = owners;
	owners[list->n_owners++] = owner;
	return 0;
}

/* Takes over a page of the list. */
static int
append_reply(struct bpfleet_maps *list, const struct bf_list_reply *reply)
{
	struct bpfleet_map *maps;

	if (keep_owner(list, reply->owner)) {
		bf_codec_free(reply->owner);
		return -ENOMEM;
	}
	maps = realloc(list->maps,
		       (list->n + reply->n_maps + 1) * sizeof(*maps));
	if (!maps)
		return -ENOMEM;
	list->maps = maps;
	for (size_t i = 0; i < reply->n_maps; i++) {
		if (add_map(&maps[list->n], &reply->maps[i]))
			return -ENOMEM;
		list->n++;
	}
	if (reply->limits[0] && !list->limits) {
		list->limits = strdup(reply->limits);
		if (!list->limits)
			return -ENOMEM;
	}
	return 0;
}

static int
ask_page(struct bpfleet *b, const struct bf_list_req *req,
	 struct bf_list_reply *reply, struct bpfleet_error *err)
{
	struct bf_session_answer answer = {0};
	struct bf_session_call call;
	struct bf_err e;
	int ret;

	bf_session_begin(b, &call, BF_LIST_MAPS);
	bf_put_list_req(&call.request, req);
	ret = bf_session_finish(b, &call, &answer, err);
	if (!ret) {
		ret = bf_get_list_reply(reply, answer.body, answer.len, &e);
		if (ret)
			ret = bf_session_error(b, err, &e);
	}
	bf_session_answer_fini(&answer);
	bf_session_call_fini(&call);
	return ret;
}

int
bpfleet_maps_list(struct bpfleet_maps **out, struct bpfleet *b,
		  const struct bpfleet_list_opts *opts,
		  struct bpfleet_error *err)
{
	struct bpfleet_maps *list = NULL;
	struct bf_list_reply reply = {0};
	struct bf_list_req req = {0};
	struct bpfleet_list_opts o;
	struct bf_err e;
	int ret;

	ret = bf_session_opts(&o, sizeof(o), opts, err);
	if (ret)
		return ret;
	list = calloc(1, sizeof(*list));
	if (!list)
		return no_memory(b, err);
	req.name_glob = o.name_glob ? o.name_glob : "";
	req.pins = o.pins != 0;
	while (!ret && !reply.end) {
		uint32_t before = req.after_id;

		ret = ask_page(b, &req, &reply, err);
		if (ret)
			break;
		req.after_id = reply.next_after_id;
		if (append_reply(list, &reply))
			ret = no_memory(b, err);
		if (!ret && !reply.end &&
		    (req.after_id <= before || list->n > MAPS_MAX)) {
			bf_err_set(&e, BF_EPROTO,
				   "a list of maps that does "
				   "not end");
			ret = bf_session_error(b, err, &e);
		}
	}
	if (ret) {
		bpfleet_maps_free(list);
		return ret;
	}
	*out = list;
	return 0;
}

int
bpfleet_map_show(struct bpfleet_maps **out, struct bpfleet *b,
		 const struct bpfleet_map_ref *map, struct bpfleet_error *err)
{
	struct bpfleet_maps *list = calloc(1, sizeof(*list));
	struct bf_session_answer answer = {0};
	struct bf_session_call call = {0};
	struct bf_show_reply reply = {0};
	struct bf_show_req req = {0};
	struct bf_err e;
	int ret;

	ret = list ? bf_session_ref(&req.map, b, map, err) : no_memory(b, err);
	if (ret)
		goto out;
	bf_session_begin(b, &call, BF_SHOW_MAP);
	bf_put_show_req(&call.request, &req);
	ret = bf_session_finish(b, &call, &answer, err);
	if (ret)
		goto out;
	if (bf_get_show_reply(&reply, answer.body, answer.len, &e)) {
		ret = bf_session_error(b, err, &e);
		goto out;
	}
	if (keep_owner(list, reply.owner)) {
		bf_codec_free(reply.owner);
		ret = no_memory(b, err);
		goto out;
	}
	if (bf_session_same_map(&req.map, reply.map.info.id, &e)) {
		ret = bf_session_error(b, err, &e);
		goto out;
	}
	list->maps = calloc(1, sizeof(*list->maps));
	list->engines = calloc(reply.n_engines + 1, sizeof(*list->engines));
	if (!list->maps || !list->engines || add_map(list->maps, &reply.map)) {
		ret = no_memory(b, err);
		goto out;
	}
	list->n = 1;
	for (size_t i = 0; i < reply.n_engines; i++)
		list->engines[i] = (struct bpfleet_engine){
			.name = reply.engines[i].name,
			.usable = reply.engines[i].usable,
			.why = reply.engines[i].why,
		};
	list->maps->engines = list->engines;
	list->maps->n_engines = reply.n_engines;
	*out = list;
	list = NULL;
out:
	bf_session_answer_fini(&answer);
	bf_session_call_fini(&call);
	bpfleet_maps_free(list);
	return ret;
}

/* ------------------------------------------------------------ selectors */

/* A name as a pattern that matches it alone. */
static void
escape_glob(char *out, const char *name)
{
	while (*name) {
		if (strchr("*?[\\", *name))
			*out++ = '\\';
		*out++ = *name++;
	}
	*out = '\0';
}

/* The name of a map that is most like the one nobody has, or NULL. */
static const char *
nearest(const struct bpfleet_maps *all, const char *name)
{
	const char *best = NULL;
	size_t best_d = 4, d;

	for (size_t i = 0; i < all->n; i++) {
		d = bf_nearest_distance(name, all->maps[i].name);
		if (all->maps[i].name[0] && d < best_d) {
			best = all->maps[i].name;
			best_d = d;
		}
	}
	return best;
}

/* asked: the name or pattern as the caller gave it; name: at most 15 bytes. */
static int
not_found(struct bpfleet *b, const char *asked, const char *name,
	  struct bpfleet_error *err)
{
	struct bpfleet_maps *all = NULL;
	const char *like;
	struct bf_err e;
	int ret;

	ret = bpfleet_maps_list(&all, b, NULL, err);
	if (ret)
		return ret;
	like = nearest(all, name);
	bf_err_set(&e, BF_ENOMAP,
		   "map \"%.200s\": not found on %.64s (%zu maps "
		   "visible%s%s%s%s%s)",
		   asked, b->host.name, all->n, like ? "; did you mean \"" : "",
		   like ? like : "", like ? "\"?" : "", all->limits ? "; " : "",
		   all->limits ? all->limits : "");
	ret = bf_session_error(b, err, &e);
	bpfleet_maps_free(all);
	return ret;
}

static int
find_by_name(struct bpfleet_maps **out, struct bpfleet *b, const char *glob,
	     const char *asked, struct bpfleet_error *err)
{
	char name[BF_NAME_MAX + 1];
	struct bpfleet_list_opts opts = {
		.sz = sizeof(opts),
		.name_glob = glob,
		.pins = 0,
	};
	struct bpfleet_maps *found = NULL;
	int ret;

	ret = bpfleet_maps_list(&found, b, &opts, err);
	if (ret)
		return ret;
	if (!found->n) {
		bpfleet_maps_free(found);
		snprintf(name, sizeof(name), "%.15s", asked);
		return not_found(b, asked, name, err);
	}
	*out = found;
	return 0;
}

static int
bad_selector(struct bpfleet *b, const char *selector, const char *why,
	     struct bpfleet_error *err)
{
	struct bf_err e;

	bf_err_set(&e, BF_EARGUMENT, "map \"%.200s\": %s", selector, why);
	return bf_session_error(b, err, &e);
}

int
bpfleet_maps_find(struct bpfleet_maps **out, struct bpfleet *b,
		  const char *selector, struct bpfleet_error *err)
{
	struct bpfleet_map_ref ref = {.sz = sizeof(ref)};
	char name[BF_NAME_MAX + 1], glob[2 * BF_NAME_MAX + 1];
	const char *pattern;
	unsigned long id;
	size_t plain;
	char *end;

	if (!selector)
		selector = "";
	if (!strncmp(selector, "id:", 3)) {
		errno = 0;
		id = strtoul(selector + 3, &end, 10);
		if (selector[3] < '0' || selector[3] > '9' || *end || errno ||
		    !id || id > UINT32_MAX)
			return bad_selector(b, selector,
					    "an id is a number above 0", err);
		ref.id = (uint32_t)id;
		return bpfleet_map_show(out, b, &ref, err);
	}
	if (!strncmp(selector, "pin:", 4)) {
		if (selector[4] != '/')
			return bad_selector(b, selector,
					    "a pin is an absolute path", err);
		ref.pin = selector + 4;
		return bpfleet_map_show(out, b, &ref, err);
	}
	if (!strncmp(selector, "name:", 5)) {
		if (!selector[5] || strlen(selector) > 200)
			return bad_selector(b, selector, "not a pattern", err);
		pattern = selector + 5;
		plain = strcspn(pattern, "*?[\\");
		snprintf(name, sizeof(name), "%.15s", pattern);
		/* Past 15 plain characters no name goes on to match. */
		if (plain >= BF_NAME_MAX || !pattern[plain])
			return find_by_name(out, b, name, pattern, err);
		return find_by_name(out, b, pattern, pattern, err);
	}
	if (!selector[0] || strlen(selector) > 200)
		return bad_selector(b, selector, "not a name", err);
	snprintf(name, sizeof(name), "%.15s", selector);
	escape_glob(glob, name);
	return find_by_name(out, b, glob, selector, err);
}
