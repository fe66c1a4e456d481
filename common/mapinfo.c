// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * mapinfo - names of the map types
 */
#include "common/mapinfo.h"

#include <stdio.h>

static const char *const type_names[BF_MAP_N_TYPES] = {
	[BF_MAP_UNSPEC] = "unspec",
	[BF_MAP_HASH] = "hash",
	[BF_MAP_ARRAY] = "array",
	[BF_MAP_PROG_ARRAY] = "prog_array",
	[BF_MAP_PERF_EVENT_ARRAY] = "perf_event_array",
	[BF_MAP_PERCPU_HASH] = "percpu_hash",
	[BF_MAP_PERCPU_ARRAY] = "percpu_array",
	[BF_MAP_STACK_TRACE] = "stack_trace",
	[BF_MAP_CGROUP_ARRAY] = "cgroup_array",
	[BF_MAP_LRU_HASH] = "lru_hash",
	[BF_MAP_LRU_PERCPU_HASH] = "lru_percpu_hash",
	[BF_MAP_LPM_TRIE] = "lpm_trie",
	[BF_MAP_ARRAY_OF_MAPS] = "array_of_maps",
	[BF_MAP_HASH_OF_MAPS] = "hash_of_maps",
	[BF_MAP_DEVMAP] = "devmap",
	[BF_MAP_SOCKMAP] = "sockmap",
	[BF_MAP_CPUMAP] = "cpumap",
	[BF_MAP_XSKMAP] = "xskmap",
	[BF_MAP_SOCKHASH] = "sockhash",
	[BF_MAP_CGROUP_STORAGE] = "cgroup_storage",
	[BF_MAP_REUSEPORT_SOCKARRAY] = "reuseport_sockarray",
	[BF_MAP_PERCPU_CGROUP_STORAGE] = "percpu_cgroup_storage",
	[BF_MAP_QUEUE] = "queue",
	[BF_MAP_STACK] = "stack",
	[BF_MAP_SK_STORAGE] = "sk_storage",
	[BF_MAP_DEVMAP_HASH] = "devmap_hash",
	[BF_MAP_STRUCT_OPS] = "struct_ops",
	[BF_MAP_RINGBUF] = "ringbuf",
	[BF_MAP_INODE_STORAGE] = "inode_storage",
	[BF_MAP_TASK_STORAGE] = "task_storage",
	[BF_MAP_BLOOM_FILTER] = "bloom_filter",
	[BF_MAP_USER_RINGBUF] = "user_ringbuf",
	[BF_MAP_CGRP_STORAGE] = "cgrp_storage",
	[BF_MAP_ARENA] = "arena",
};

const char *
bf_map_type_str(uint32_t type)
{
	return type < BF_MAP_N_TYPES ? type_names[type] : NULL;
}

const char *
bf_map_type_words(uint32_t type, char *buf, size_t buf_cap)
{
	const char *name = bf_map_type_str(type);

	if (name)
		return name;
	snprintf(buf, buf_cap, "type %u", type);
	return buf;
}

bool
bf_map_type_is_per_cpu(uint32_t type)
{
	switch (type) {
	case BF_MAP_PERCPU_HASH:
	case BF_MAP_PERCPU_ARRAY:
	case BF_MAP_LRU_PERCPU_HASH:
	case BF_MAP_PERCPU_CGROUP_STORAGE:
		return true;
	default:
		return false;
	}
}
