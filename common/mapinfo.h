/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * mapinfo - what is known of a map without reading it, on either side
 *
 * Filled by the broker from bpf(2) and /proc, sent by the agent, shown by the
 * CLI.  A plain struct without pointers: it also crosses the agent's inner
 * socket as it is.
 */
#ifndef BF_MAPINFO_H
#define BF_MAPINFO_H

#include "common/base.h"

/* Every map type this build knows; the numbers are the kernel's. */
enum bf_map_type {
	BF_MAP_UNSPEC,
	BF_MAP_HASH,
	BF_MAP_ARRAY,
	BF_MAP_PROG_ARRAY,
	BF_MAP_PERF_EVENT_ARRAY,
	BF_MAP_PERCPU_HASH,
	BF_MAP_PERCPU_ARRAY,
	BF_MAP_STACK_TRACE,
	BF_MAP_CGROUP_ARRAY,
	BF_MAP_LRU_HASH,
	BF_MAP_LRU_PERCPU_HASH,
	BF_MAP_LPM_TRIE,
	BF_MAP_ARRAY_OF_MAPS,
	BF_MAP_HASH_OF_MAPS,
	BF_MAP_DEVMAP,
	BF_MAP_SOCKMAP,
	BF_MAP_CPUMAP,
	BF_MAP_XSKMAP,
	BF_MAP_SOCKHASH,
	BF_MAP_CGROUP_STORAGE,
	BF_MAP_REUSEPORT_SOCKARRAY,
	BF_MAP_PERCPU_CGROUP_STORAGE,
	BF_MAP_QUEUE,
	BF_MAP_STACK,
	BF_MAP_SK_STORAGE,
	BF_MAP_DEVMAP_HASH,
	BF_MAP_STRUCT_OPS,
	BF_MAP_RINGBUF,
	BF_MAP_INODE_STORAGE,
	BF_MAP_TASK_STORAGE,
	BF_MAP_BLOOM_FILTER,
	BF_MAP_USER_RINGBUF,
	BF_MAP_CGRP_STORAGE,
	BF_MAP_ARENA,
	BF_MAP_N_TYPES,
};

struct bf_map_info {
	uint32_t id;
	uint32_t type; /* may be beyond BF_MAP_N_TYPES on newer kernels */
	uint32_t key_size, value_size, max_entries;
	uint32_t flags;
	uint32_t btf_id, btf_key_type_id, btf_value_type_id;
	uint32_t btf_vmlinux_value_type_id;
	uint32_t ifindex;
	uint32_t frozen;
	uint64_t map_extra;
	uint64_t netns_dev, netns_ino;
	uint64_t memlock_bytes;
	uint32_t has_memlock;
	uint32_t has_owner; /* prog array: a program type has claimed it */
	uint32_t owner_prog_type, owner_jited;
	int32_t error; /* positive code: why the rest could not be had */
	char name[BF_NAME_MAX + 1];
};

/* bpftool's word for a type, or NULL if this build does not know it. */
const char *bf_map_type_str(uint32_t type);

/*
 * bf_map_type_words - a word for every type: "hash", or "type 77"
 *
 * Returns: buf or a static string
 */
const char *bf_map_type_words(uint32_t type, char *buf, size_t buf_cap);

bool bf_map_type_is_per_cpu(uint32_t type);

#endif
