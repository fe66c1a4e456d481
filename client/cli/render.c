// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * render - what the formats share
 */
#include "client/cli/render.h"

#include <string.h>

const struct renderer *
render_by_name(const char *name)
{
	static const struct renderer *const all[] = {
		&render_table, &render_wide, &render_json,    &render_jsonl,
		&render_csv,   &render_tsv,  &render_bpftool, &render_prom,
	};

	for (size_t i = 0; i < BF_ARRAY_SIZE(all); i++)
		if (!strcmp(all[i]->name, name))
			return all[i];
	return NULL;
}

const char *
render_status(int code, uint64_t n)
{
	static const struct {
		int code;
		const char *word;
	} words[] = {
		{0, "ok"},
		{BPFLEET_ENOMAP, "not found"},
		{BPFLEET_ENOKEY, "not found"},
		{BPFLEET_EDENIED, "denied"},
		{BPFLEET_EPERMISSION, "denied"},
		{BPFLEET_EHOSTKEY, "denied"},
		{BPFLEET_ETIMEOUT, "timeout"},
		{BPFLEET_EUNREACHABLE, "unreachable"},
	};

	if (code && n)
		return "partial";
	for (size_t i = 0; i < BF_ARRAY_SIZE(words); i++)
		if (words[i].code == (code < 0 ? -code : code))
			return words[i].word;
	return "error";
}

uint64_t
render_integer(const uint8_t *bytes, uint32_t size)
{
	uint64_t n8 = 0;
	uint32_t n4;
	uint16_t n2;

	switch (size) {
	case 1:
		return bytes[0];
	case 2:
		memcpy(&n2, bytes, sizeof(n2));
		return n2;
	case 4:
		memcpy(&n4, bytes, sizeof(n4));
		return n4;
	default:
		memcpy(&n8, bytes, sizeof(n8));
		return n8;
	}
}

static void
uint_member(struct json *j, const char *name, uint64_t n)
{
	json_name(j, name);
	json_uint(j, n);
}

/* The program types a prog_array can be of, as bpftool names them. */
static const char *const prog_types[] = {
	"unspec",
	"socket_filter",
	"kprobe",
	"sched_cls",
	"sched_act",
	"tracepoint",
	"xdp",
	"perf_event",
	"cgroup_skb",
	"cgroup_sock",
	"lwt_in",
	"lwt_out",
	"lwt_xmit",
	"sock_ops",
	"sk_skb",
	"cgroup_device",
	"sk_msg",
	"raw_tracepoint",
	"cgroup_sock_addr",
	"lwt_seg6local",
	"lirc_mode2",
	"sk_reuseport",
	"flow_dissector",
	"cgroup_sysctl",
	"raw_tracepoint_writable",
	"cgroup_sockopt",
	"tracing",
	"struct_ops",
	"ext",
	"lsm",
	"sk_lookup",
	"syscall",
	"netfilter",
};

const char *
render_prog_type(uint32_t type)
{
	return type < BF_ARRAY_SIZE(prog_types) ? prog_types[type] : NULL;
}

void
render_map_head(struct json *j, const struct bpfleet_map *map, bool native)
{
	uint_member(j, "id", map->id);
	json_name(j, "type");
	if (!native && !strncmp(map->type_name, "type ", 5))
		json_uint(j, map->type);
	else
		json_string(j, map->type_name);
	if (map->name[0] || native) {
		json_name(j, "name");
		json_string(j, map->name);
	}
	uint_member(j, "flags", map->flags);
}

static void
engine_object(struct json *j, const struct bpfleet_engine *e)
{
	json_open(j, '{');
	json_name(j, "name");
	json_string(j, e->name);
	json_name(j, "usable");
	json_bool(j, e->usable);
	json_name(j, "why");
	json_string(j, e->why);
	json_close(j, '}');
}

void
render_map_members(struct json *j, const struct bpfleet_map *map, bool native)
{
	render_map_head(j, map, native);
	uint_member(j, "bytes_key", map->key_size);
	uint_member(j, "bytes_value", map->value_size);
	uint_member(j, "max_entries", map->max_entries);
	if (map->has_memlock)
		uint_member(j, "bytes_memlock", map->memlock_bytes);
	if (map->has_owner) {
		json_name(j, "owner_prog_type");
		if (render_prog_type(map->owner_prog_type))
			json_string(j, render_prog_type(map->owner_prog_type));
		else
			json_uint(j, map->owner_prog_type);
		json_name(j, "owner_jited");
		json_bool(j, map->owner_jited);
	}
	uint_member(j, "frozen", map->frozen ? 1 : 0);
	if (map->btf_id)
		uint_member(j, "btf_id", map->btf_id);
	if (!native)
		return;
	json_name(j, "pins");
	json_open(j, '[');
	for (size_t i = 0; i < map->n_pins; i++)
		json_string(j, map->pins[i]);
	json_close(j, ']');
	json_name(j, "unreadable");
	json_string(j, map->unreadable);
	if (map->error) {
		json_name(j, "error");
		json_string(j, bpfleet_strerror(map->error));
	}
	if (!map->n_engines)
		return;
	json_name(j, "engines");
	json_open(j, '[');
	for (size_t i = 0; i < map->n_engines; i++)
		engine_object(j, &map->engines[i]);
	json_close(j, ']');
}
