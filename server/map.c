// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * map - the table of types, and the kernel's description of a map
 */
#include "server/map.h"

#include "common/log.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEPS_PER_ENTRY 4
/* cgroup_storage has an entry for each cgroup and program, without a limit. */
#define ENTRIES_ASSUMED (1u << 20)

/* clang-format off */
#define READ(o, b, fixed) {BF_ORDER_##o, BF_BATCH_##b, BF_LOOKUP_KEY, fixed, NULL}
#define REFUSE(l, why) {BF_ORDER_NONE, BF_BATCH_NONE, BF_LOOKUP_##l, false, why}

static const struct bf_map_traits traits[BF_MAP_N_TYPES] = {
	[BF_MAP_HASH] = READ(KEYS, BUCKET, false),
	[BF_MAP_LRU_HASH] = READ(KEYS, BUCKET, false),
	[BF_MAP_PERCPU_HASH] = READ(KEYS, BUCKET, false),
	[BF_MAP_LRU_PERCPU_HASH] = READ(KEYS, BUCKET, false),
	[BF_MAP_HASH_OF_MAPS] = READ(KEYS, BUCKET, false),
	[BF_MAP_ARRAY] = READ(INDEX, KEY, true),
	[BF_MAP_PERCPU_ARRAY] = READ(INDEX, KEY, true),
	[BF_MAP_ARRAY_OF_MAPS] = READ(INDEX, KEY, true),
	[BF_MAP_LPM_TRIE] = READ(TRIE, KEY, false),
	[BF_MAP_PROG_ARRAY] = READ(INDEX, NONE, true),
	[BF_MAP_DEVMAP] = READ(INDEX, NONE, true),
	[BF_MAP_CPUMAP] = READ(INDEX, NONE, true),
	[BF_MAP_SOCKMAP] = READ(INDEX, NONE, true),
	[BF_MAP_REUSEPORT_SOCKARRAY] = READ(INDEX, NONE, true),
	[BF_MAP_STRUCT_OPS] = READ(INDEX, NONE, true),
	[BF_MAP_DEVMAP_HASH] = READ(KEYS, NONE, false),
	[BF_MAP_SOCKHASH] = READ(KEYS, NONE, false),
	[BF_MAP_STACK_TRACE] = READ(KEYS, NONE, false),
	[BF_MAP_CGROUP_STORAGE] = READ(KEYS, NONE, false),
	[BF_MAP_PERCPU_CGROUP_STORAGE] = READ(KEYS, NONE, false),
	[BF_MAP_XSKMAP] = REFUSE(NONE, "the kernel does not give out the sockets of an xskmap"),
	[BF_MAP_PERF_EVENT_ARRAY] = REFUSE(NONE, "a perf_event_array holds event buffers, not values"),
	[BF_MAP_CGROUP_ARRAY] = REFUSE(NONE, "the kernel does not give out the cgroups of a cgroup_array"),
	[BF_MAP_QUEUE] = REFUSE(PEEK, "a queue has no keys to walk: peek at its head"),
	[BF_MAP_STACK] = REFUSE(PEEK, "a stack has no keys to walk: peek at its head"),
	[BF_MAP_BLOOM_FILTER] = REFUSE(MEMBER, "a bloom_filter can only be asked whether a value is in it: use lookup"),
	[BF_MAP_SK_STORAGE] = REFUSE(NONE, "sk_storage is read by a socket's fd, which an agent does not have"),
	[BF_MAP_INODE_STORAGE] = REFUSE(NONE, "inode_storage is read by a file's fd, which an agent does not have"),
	[BF_MAP_TASK_STORAGE] = REFUSE(NONE, "task_storage is read by a task's pidfd, which an agent does not have"),
	[BF_MAP_CGRP_STORAGE] = REFUSE(NONE, "cgrp_storage is read by a cgroup's fd, which an agent does not have"),
	[BF_MAP_RINGBUF] = REFUSE(NONE, "a ringbuf is a stream with one consumer, not a table"),
	[BF_MAP_USER_RINGBUF] = REFUSE(NONE, "a user_ringbuf is a stream with one consumer, not a table"),
	[BF_MAP_ARENA] = REFUSE(NONE, "an arena is memory without keys"),
};
/* clang-format on */

static const struct bf_map_traits unknown_traits = {
	.unreadable = "this build does not know maps of this type",
};

const struct bf_map_traits *
bf_map_traits(uint32_t type)
{
	if (type == BF_MAP_UNSPEC || type >= BF_MAP_N_TYPES)
		return &unknown_traits;
	return &traits[type];
}

const char *
bf_map_unreadable(const struct bf_map_info *info)
{
	const struct bf_map_traits *t = bf_map_traits(info->type);

	if (t->unreadable)
		return t->unreadable;
	if (info->flags & BPF_F_WRONLY)
		return "it was created write-only for user space";
	if ((info->type == BF_MAP_SOCKMAP || info->type == BF_MAP_SOCKHASH ||
	     info->type == BF_MAP_REUSEPORT_SOCKARRAY) &&
	    info->value_size != 8)
		return "sockets can be read, as cookies, only where value_size "
		       "is 8";
	return NULL;
}

uint64_t
bf_map_walk_bound(const struct bf_map_info *info)
{
	uint64_t n = info->max_entries ? info->max_entries : ENTRIES_ASSUMED;

	return n * STEPS_PER_ENTRY;
}

uint32_t
bf_map_possible_cpus(void)
{
	int n = libbpf_num_possible_cpus();

	return n > 0 ? (uint32_t)n : 1;
}

/* One "name:\tvalue" line of /proc/self/fdinfo. */
static void
take_fdinfo(struct bf_map_info *out, const char *line)
{
	const char *value = strchr(line, ':');
	uint64_t n;

	if (!value)
		return;
	n = strtoull(value + 1, NULL, 10);
	if (!strncmp(line, "memlock:", 8)) {
		out->memlock_bytes = n;
		out->has_memlock = 1;
	} else if (!strncmp(line, "frozen:", 7)) {
		out->frozen = n != 0;
	} else if (!strncmp(line, "owner_prog_type:", 16)) {
		out->owner_prog_type = (uint32_t)n;
		out->has_owner = 1;
	} else if (!strncmp(line, "owner_jited:", 12)) {
		out->owner_jited = n != 0;
	}
}

static void
read_fdinfo(struct bf_map_info *out, int fd)
{
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	if (!f)
		return; /* without /proc the map is still listed */
	while (fgets(line, sizeof(line), f))
		take_fdinfo(out, line);
	fclose(f);
}

int
bf_map_info_get(struct bf_map_info *out, int fd, bool details)
{
	struct bpf_map_info k = {0};
	uint32_t len = sizeof(k);

	if (bpf_obj_get_info_by_fd(fd, &k, &len) < 0)
		return -errno;
	*out = (struct bf_map_info){
		.id = k.id,
		.type = k.type,
		.key_size = k.key_size,
		.value_size = k.value_size,
		.max_entries = k.max_entries,
		.flags = k.map_flags,
		.btf_id = k.btf_id,
		.btf_key_type_id = k.btf_key_type_id,
		.btf_value_type_id = k.btf_value_type_id,
		.btf_vmlinux_value_type_id = k.btf_vmlinux_value_type_id,
		.ifindex = k.ifindex,
		.map_extra = k.map_extra,
		.netns_dev = k.netns_dev,
		.netns_ino = k.netns_ino,
	};
	_Static_assert(sizeof(out->name) == sizeof(k.name), "name sizes");
	memcpy(out->name, k.name, sizeof(out->name) - 1);
	if (details)
		read_fdinfo(out, fd);
	return 0;
}

int
bf_map_init(struct bf_map *out, int fd, const struct bf_map_info *info,
	    struct bf_err *err)
{
	char words[64];

	*out = (struct bf_map){
		.fd = fd,
		.info = *info,
		.traits = bf_map_traits(info->type),
	};
	if (bf_shape_set(&out->shape, info->key_size, info->value_size,
			 bf_map_type_is_per_cpu(info->type),
			 bf_map_possible_cpus()))
		return bf_err_set(err, BF_ETOOBIG,
				  "%s: one entry of %u+%u bytes is above the "
				  "limit of %u",
				  bf_map_words(info, words, sizeof(words)),
				  info->key_size, info->value_size,
				  BF_PAGE_MAX);
	return 0;
}

const char *
bf_map_words(const struct bf_map_info *info, char *buf, size_t buf_cap)
{
	char name[64];

	bf_log_escape(info->name, strlen(info->name), name, sizeof(name));
	if (name[0])
		snprintf(buf, buf_cap, "map id %u (\"%s\")", info->id, name);
	else
		snprintf(buf, buf_cap, "map id %u", info->id);
	return buf;
}
