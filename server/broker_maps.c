// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * broker_maps - ids, pins and the allow-list
 */
#include "server/broker_maps.h"

#include "server/map.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fnmatch.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RESCAN_MS 5000

static const char no_by_id[] =
	"only readable pins can be seen: opening maps by id needs "
	"CAP_SYS_ADMIN, which this agent does not have";

void
bf_broker_maps_init(struct bf_broker_maps *m,
		    const struct bf_settings *settings,
		    const struct bf_acl *acl, char *limits, size_t limits_cap)
{
	uint32_t id = 0;

	*m = (struct bf_broker_maps){.settings = settings, .acl = acl};
	m->by_id = bpf_map_get_next_id(0, &id) == 0 || errno != EPERM;
	snprintf(limits, limits_cap, "%s", m->by_id ? "" : no_by_id);
}

void
bf_broker_maps_fini(struct bf_broker_maps *m)
{
	bf_pins_fini(&m->pins);
}

static void
scan_pins(struct bf_broker_maps *m)
{
	bf_pins_fini(&m->pins);
	if (bf_pins_scan(&m->pins))
		bf_pins_fini(&m->pins); /* pins are labels: go on without */
	m->rescan_at = bf_mono_after_ms(bf_mono_now(), RESCAN_MS);
}

static bool
pin_matches(const struct bf_broker_maps *m, uint32_t id, const char *glob)
{
	for (size_t i = 0; i < m->pins.n; i++)
		if (m->pins.pins[i].map_id == id &&
		    fnmatch(glob, m->pins.pins[i].path, 0) == 0)
			return true;
	return false;
}

static bool
matches_any(const struct bf_broker_maps *m, const struct bf_map_info *info,
	    const struct bf_pattern *patterns, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct bf_pattern *p = &patterns[i];

		if ((p->kind == BF_PATTERN_ID && p->id == info->id) ||
		    (p->kind == BF_PATTERN_NAME &&
		     fnmatch(p->glob, info->name, 0) == 0) ||
		    (p->kind == BF_PATTERN_PIN &&
		     pin_matches(m, info->id, p->glob)))
			return true;
	}
	return n == 0;
}

static uint32_t
n_client_patterns(const struct bf_broker_maps *m)
{
	return m->client ? m->client->client.n_patterns : 0;
}

static bool
is_allowed(const struct bf_broker_maps *m, const struct bf_map_info *info)
{
	return matches_any(m, info, m->settings->patterns,
			   m->settings->n_patterns) &&
	       (!m->client || matches_any(m, info, m->client->patterns,
					  n_client_patterns(m)));
}

static bool
has_pin_pattern(const struct bf_pattern *patterns, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (patterns[i].kind == BF_PATTERN_PIN)
			return true;
	return false;
}

static bool
needs_pins(const struct bf_broker_maps *m)
{
	return !m->by_id ||
	       has_pin_pattern(m->settings->patterns,
			       m->settings->n_patterns) ||
	       (m->client &&
		has_pin_pattern(m->client->patterns, n_client_patterns(m)));
}

/* Appends the pins of info number `index` to the reply, as far as they fit. */
static void
tell_pins(const struct bf_broker_maps *m, struct bf_broker_reply *reply,
	  uint32_t index)
{
	uint32_t id = reply->infos[index].id;

	for (size_t i = 0; i < m->pins.n; i++) {
		const struct bf_pin *pin = &m->pins.pins[i];
		size_t len = strlen(pin->path) + 2;

		if (pin->map_id != id ||
		    len > sizeof(reply->pins) - reply->pins_len)
			continue;
		reply->pins[reply->pins_len] = (char)index;
		memcpy(reply->pins + reply->pins_len + 1, pin->path, len - 1);
		reply->pins_len += (uint32_t)len;
	}
}

/*
 * Opens a map by id: for reading, or where it was made write-only, just to
 * ask for its info.
 * Out: *readable says which
 * Returns: fd or -errno
 */
static int
open_by_id(uint32_t id, bool *readable)
{
	LIBBPF_OPTS(bpf_get_fd_by_id_opts, opts, .open_flags = BPF_F_RDONLY);
	int fd = bpf_map_get_fd_by_id_opts(id, &opts);

	*readable = fd >= 0;
	if (fd < 0 && errno == EPERM) {
		opts.open_flags = BPF_F_WRONLY;
		fd = bpf_map_get_fd_by_id_opts(id, &opts);
	}
	return fd < 0 ? -errno : fd;
}

/* Returns: 1 added, 0 vanished or not allowed. */
static int
describe(struct bf_broker_maps *m, uint32_t id, const struct bf_broker_req *req,
	 struct bf_broker_reply *reply)
{
	struct bf_map_info *info = &reply->infos[reply->n];
	bool readable;
	int fd, ret;

	fd = open_by_id(id, &readable);
	ret = fd < 0 ? fd
		     : bf_map_info_get(info, fd,
				       req->flags & BF_BROKER_WANT_DETAILS);
	if (fd >= 0)
		close(fd);
	if (ret == -ENOENT)
		return 0;
	if (ret)
		*info = (struct bf_map_info){.id = id, .error = -ret};
	if (!is_allowed(m, info))
		return 0;
	if (req->flags & BF_BROKER_WANT_PINS)
		tell_pins(m, reply, reply->n);
	reply->n++;
	return 1;
}

/* Next id after one, from the kernel or, without the right, from the pins. */
static int
next_id(const struct bf_broker_maps *m, uint32_t after, uint32_t *id)
{
	if (m->by_id)
		return bpf_map_get_next_id(after, id) < 0 ? -errno : 0;
	for (size_t i = 0; i < m->pins.n; i++) {
		if (m->pins.pins[i].map_id > after) {
			*id = m->pins.pins[i].map_id;
			return 0;
		}
	}
	return -ENOENT;
}

static int
describe_pinned(struct bf_broker_maps *m, uint32_t id,
		const struct bf_broker_req *req, struct bf_broker_reply *reply)
{
	struct bf_map_info *info = &reply->infos[reply->n];
	int fd = -1;

	for (size_t i = 0; i < m->pins.n && fd < 0; i++)
		if (m->pins.pins[i].map_id == id)
			fd = bf_pins_open(m->pins.pins[i].path);
	if (fd < 0)
		return 0;
	if (bf_map_info_get(info, fd, req->flags & BF_BROKER_WANT_DETAILS) ==
		    0 &&
	    info->id == id && is_allowed(m, info)) {
		if (req->flags & BF_BROKER_WANT_PINS)
			tell_pins(m, reply, reply->n);
		reply->n++;
	}
	close(fd);
	return 0;
}

static void
answer_list(struct bf_broker_maps *m, const struct bf_broker_req *req,
	    struct bf_broker_reply *reply)
{
	uint32_t id = req->id;
	int ret = 0;

	/* One scan serves the pages of one listing. */
	if ((req->flags & BF_BROKER_WANT_PINS || needs_pins(m)) &&
	    (!req->id || bf_mono_passed(m->rescan_at)))
		scan_pins(m);
	snprintf(reply->limits, sizeof(reply->limits), "%s",
		 m->by_id ? "" : no_by_id);
	while (reply->n < BF_LIST_MAX && !(ret = next_id(m, id, &id))) {
		if (m->by_id)
			describe(m, id, req, reply);
		else
			describe_pinned(m, id, req, reply);
	}
	reply->next_after_id = id;
	reply->end = ret == -ENOENT;
	if (ret && ret != -ENOENT)
		bf_err_set(&reply->err,
			   ret == -EPERM ? BF_EPERMISSION : BF_EKERNEL,
			   "maps cannot be listed: %s", bf_err_str(ret));
}

static int
open_failed(const struct bf_broker_maps *m, const struct bf_broker_req *req,
	    int ret, struct bf_err *err)
{
	if (n_client_patterns(m))
		return bf_err_set(err, BF_EDENIED,
				  "denied: the line of this key does not "
				  "allow that map");
	if (req->pin[0] && ret == -EINVAL)
		return bf_err_set(err, BF_ENOMAP,
				  "pin %.300s: what is pinned there is no map",
				  req->pin);
	if (req->pin[0] && (ret == -EPERM || ret == -EACCES))
		return bf_err_set(err, BF_EPERMISSION,
				  "pin %.300s: the agent may not open it for "
				  "reading",
				  req->pin);
	if (req->pin[0])
		return bf_err_set(err, BF_ENOMAP, "pin %.300s: %s", req->pin,
				  ret == -ENOENT ? "not found"
						 : bf_err_str(ret));
	if (ret == -ENOENT)
		return bf_err_set(err, BF_ENOMAP, "map id %u: not found",
				  req->id);
	if (!m->by_id || ret == -EPERM)
		return bf_err_set(err, BF_EPERMISSION, "map id %u: %s", req->id,
				  no_by_id);
	return bf_err_set(err, BF_EKERNEL, "map id %u: cannot be opened: %s",
			  req->id, bf_err_str(ret));
}

static int
answer_open(struct bf_broker_maps *m, const struct bf_broker_req *req,
	    struct bf_broker_reply *reply)
{
	struct bf_map_info *info = &reply->infos[0];
	bool readable = true;
	int fd, ret = 0;

	if (!req->pin[0] && !req->id) {
		bf_err_set(&reply->err, BF_EARGUMENT, "no map was named");
		return -1;
	}
	fd = req->pin[0] ? bf_pins_open(req->pin)
			 : open_by_id(req->id, &readable);
	if (fd >= 0)
		ret = bf_map_info_get(info, fd,
				      req->flags & BF_BROKER_WANT_DETAILS);
	if (fd < 0 || ret) {
		open_failed(m, req, fd < 0 ? fd : ret, &reply->err);
		goto refuse;
	}
	if (req->flags & BF_BROKER_WANT_PINS || needs_pins(m))
		scan_pins(m);
	if (!is_allowed(m, info)) {
		open_failed(m, req, -ENOENT, &reply->err);
		goto refuse;
	}
	if (req->pin[0] && req->id && info->id != req->id) {
		bf_err_set(&reply->err, BF_EREPLACED,
			   "pin %.300s: the map was replaced: it is id %u now, "
			   "not id %u",
			   req->pin, info->id, req->id);
		goto refuse;
	}
	tell_pins(m, reply, 0);
	reply->n = 1;
	if (readable)
		return fd;
refuse:
	if (fd >= 0)
		close(fd);
	return -1;
}

int
bf_broker_maps_answer(struct bf_broker_maps *m, const struct bf_broker_req *req,
		      struct bf_broker_reply *reply)
{
	*reply = (struct bf_broker_reply){0};
	if (req->client > m->acl->n) {
		bf_err_set(&reply->err, BF_EPROTO, "no such client");
		return -1;
	}
	m->client = req->client ? &m->acl->lines[req->client - 1] : NULL;
	if (!memchr(req->pin, '\0', sizeof(req->pin))) {
		bf_err_set(&reply->err, BF_EPROTO, "a path without an end");
		return -1;
	}
	switch (req->op) {
	case BF_BROKER_LIST:
		answer_list(m, req, reply);
		return -1;
	case BF_BROKER_OPEN:
		return answer_open(m, req, reply);
	default:
		bf_err_set(&reply->err, BF_EPROTO, "unknown request %u",
			   req->op);
		return -1;
	}
}
