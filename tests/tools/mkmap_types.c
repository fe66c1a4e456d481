// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * mkmap: the table of map types, and the creation of a map
 *
 * One row a type: sizes every kernel that has the type accepts, how to fill
 * it, and whether its entries outlive the process.  Local storage needs BTF,
 * struct_ops the BTF of the kernel, map-in-map a template.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "mkmap.h"

#define STRUCT_OPS_VALUE "bpf_struct_ops_tcp_congestion_ops"

const struct mk_type mk_types[] = {
	/* name, type, key, value, entries, flags, grow, hold, fill, make */
	{"hash", BPF_MAP_TYPE_HASH, 4, 8, 16, 0, MK_GROW_COUNT, false,
	 mk_fill_plain, NULL},
	{"array", BPF_MAP_TYPE_ARRAY, 4, 8, 4, 0, MK_GROW_INDEX, false,
	 mk_fill_plain, NULL},
	{"prog_array", BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 4, 0, MK_GROW_SLOTS,
	 false, mk_fill_refs, mk_make_prog},
	{"perf_event_array", BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4, 4, 0,
	 MK_GROW_SLOTS, true, mk_fill_refs, mk_make_perf},
	{"percpu_hash", BPF_MAP_TYPE_PERCPU_HASH, 4, 8, 16, 0, MK_GROW_COUNT,
	 false, mk_fill_plain, NULL},
	{"percpu_array", BPF_MAP_TYPE_PERCPU_ARRAY, 4, 8, 4, 0, MK_GROW_INDEX,
	 false, mk_fill_plain, NULL},
	{"stack_trace", BPF_MAP_TYPE_STACK_TRACE, 4, 128, 64, 0, MK_GROW_NO,
	 false, mk_fill_stacks, NULL},
	{"cgroup_array", BPF_MAP_TYPE_CGROUP_ARRAY, 4, 4, 4, 0, MK_GROW_SLOTS,
	 true, mk_fill_refs, mk_make_cgroup},
	{"lru_hash", BPF_MAP_TYPE_LRU_HASH, 4, 8, 16, 0, MK_GROW_COUNT, false,
	 mk_fill_plain, NULL},
	{"lru_percpu_hash", BPF_MAP_TYPE_LRU_PERCPU_HASH, 4, 8, 16, 0,
	 MK_GROW_COUNT, false, mk_fill_plain, NULL},
	{"lpm_trie", BPF_MAP_TYPE_LPM_TRIE, 8, 8, 16, BPF_F_NO_PREALLOC,
	 MK_GROW_COUNT, false, mk_fill_plain, NULL},
	{"array_of_maps", BPF_MAP_TYPE_ARRAY_OF_MAPS, 4, 4, 4, 0, MK_GROW_SLOTS,
	 false, mk_fill_refs, mk_make_inner},
	{"hash_of_maps", BPF_MAP_TYPE_HASH_OF_MAPS, 4, 4, 16, 0, MK_GROW_COUNT,
	 false, mk_fill_refs, mk_make_inner},
	{"devmap", BPF_MAP_TYPE_DEVMAP, 4, 4, 4, 0, MK_GROW_SLOTS, false,
	 mk_fill_refs, mk_make_ifindex},
	{"devmap_hash", BPF_MAP_TYPE_DEVMAP_HASH, 4, 4, 16, 0, MK_GROW_COUNT,
	 false, mk_fill_refs, mk_make_ifindex},
	{"sockmap", BPF_MAP_TYPE_SOCKMAP, 4, 8, 4, 0, MK_GROW_SLOTS, true,
	 mk_fill_refs, mk_make_tcp},
	{"cpumap", BPF_MAP_TYPE_CPUMAP, 4, 4, 4, 0, MK_GROW_SLOTS, false,
	 mk_fill_refs, mk_make_qsize},
	{"xskmap", BPF_MAP_TYPE_XSKMAP, 4, 4, 4, 0, MK_GROW_SLOTS, true,
	 mk_fill_refs, mk_make_xsk},
	{"sockhash", BPF_MAP_TYPE_SOCKHASH, 4, 8, 16, 0, MK_GROW_COUNT, true,
	 mk_fill_refs, mk_make_tcp},
	{"cgroup_storage", MK_CGROUP_STORAGE, 16, 8, 0, 0, MK_GROW_NO, true,
	 mk_fill_cgroup_storage, NULL},
	{"reuseport_sockarray", BPF_MAP_TYPE_REUSEPORT_SOCKARRAY, 4, 8, 4, 0,
	 MK_GROW_SLOTS, true, mk_fill_refs, mk_make_udp},
	{"percpu_cgroup_storage", MK_PERCPU_CGROUP_STORAGE, 16, 8, 0, 0,
	 MK_GROW_NO, true, mk_fill_cgroup_storage, NULL},
	{"queue", BPF_MAP_TYPE_QUEUE, 0, 8, 16, 0, MK_GROW_COUNT, false,
	 mk_fill_push, NULL},
	{"stack", BPF_MAP_TYPE_STACK, 0, 8, 16, 0, MK_GROW_COUNT, false,
	 mk_fill_push, NULL},
	{"sk_storage", BPF_MAP_TYPE_SK_STORAGE, 4, 8, 0, BPF_F_NO_PREALLOC,
	 MK_GROW_NO, true, mk_fill_owned, mk_make_udp},
	{"struct_ops", BPF_MAP_TYPE_STRUCT_OPS, 4, 0, 1, 0, MK_GROW_NO, false,
	 NULL, NULL},
	{"ringbuf", BPF_MAP_TYPE_RINGBUF, 0, 0, 65536, 0, MK_GROW_NO, false,
	 NULL, NULL},
	{"inode_storage", BPF_MAP_TYPE_INODE_STORAGE, 4, 8, 0,
	 BPF_F_NO_PREALLOC, MK_GROW_NO, true, mk_fill_owned, mk_make_memfd},
	{"task_storage", BPF_MAP_TYPE_TASK_STORAGE, 4, 8, 0, BPF_F_NO_PREALLOC,
	 MK_GROW_NO, true, mk_fill_owned, mk_make_task},
	{"bloom_filter", BPF_MAP_TYPE_BLOOM_FILTER, 0, 8, 16, 0, MK_GROW_COUNT,
	 false, mk_fill_push, NULL},
	{"user_ringbuf", BPF_MAP_TYPE_USER_RINGBUF, 0, 0, 65536, 0, MK_GROW_NO,
	 false, NULL, NULL},
	{"cgrp_storage", MK_CGRP_STORAGE, 4, 8, 0, BPF_F_NO_PREALLOC,
	 MK_GROW_NO, true, mk_fill_owned, mk_make_cgroup},
	{"arena", MK_ARENA, 0, 0, 16, BPF_F_MMAPABLE, MK_GROW_COUNT, false,
	 mk_fill_arena, NULL},
	{"insn_array", MK_INSN_ARRAY, 4, 16, 4, 0, MK_GROW_INDEX, false, NULL,
	 NULL},
	{NULL, 0, 0, 0, 0, 0, MK_GROW_NO, false, NULL, NULL},
};

const struct mk_type *
mk_type_find(const char *name)
{
	const struct mk_type *t = NULL;

	for (t = mk_types; t->name; t++)
		if (!strcmp(t->name, name))
			return t;
	return NULL;
}

bool
mk_is_percpu(uint32_t type)
{
	return type == BPF_MAP_TYPE_PERCPU_HASH ||
	       type == BPF_MAP_TYPE_PERCPU_ARRAY ||
	       type == BPF_MAP_TYPE_LRU_PERCPU_HASH ||
	       type == MK_PERCPU_CGROUP_STORAGE;
}

/* What bpf_map_create() wants beside the sizes. */
struct extras {
	struct btf *btf; /* of key and value: int and unsigned char[] */
	int key_type;
	int value_type;
	uint32_t vmlinux_type;
	int inner_fd;
};

static int
add_storage_btf(struct extras *x, uint32_t value_size)
{
	int u8 = -1;

	x->btf = btf__new_empty();
	if (!x->btf)
		return -errno;
	x->key_type = btf__add_int(x->btf, "int", 4, BTF_INT_SIGNED);
	u8 = btf__add_int(x->btf, "unsigned char", 1, 0);
	if (x->key_type < 0 || u8 < 0)
		return -EINVAL;
	x->value_type = btf__add_array(x->btf, x->key_type, u8, value_size);
	if (x->value_type < 0)
		return x->value_type;
	return btf__load_into_kernel(x->btf);
}

static int
find_struct_ops(struct extras *x, uint32_t *value_size)
{
	struct btf *btf = btf__load_vmlinux_btf();
	const struct btf_type *t = NULL;
	int id = -1;

	if (!btf)
		return -EOPNOTSUPP;
	id = btf__find_by_name_kind(btf, STRUCT_OPS_VALUE, BTF_KIND_STRUCT);
	t = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;
	if (t) {
		x->vmlinux_type = (uint32_t)id;
		if (!*value_size)
			*value_size = t->size;
	}
	btf__free(btf);
	return t ? 0 : -EOPNOTSUPP;
}

static int
prepare(struct extras *x, struct mk_map *m)
{
	int err = 0;

	switch (m->type->type) {
	case BPF_MAP_TYPE_SK_STORAGE:
	case BPF_MAP_TYPE_INODE_STORAGE:
	case BPF_MAP_TYPE_TASK_STORAGE:
	case MK_CGRP_STORAGE:
		return add_storage_btf(x, m->value_size);
	case BPF_MAP_TYPE_STRUCT_OPS:
		err = find_struct_ops(x, &m->value_size);
		if (err)
			return err;
		/* The kernel wants some BTF of ours, and no type from it. */
		err = add_storage_btf(x, m->value_size);
		x->key_type = 0;
		x->value_type = 0;
		return err;
	case BPF_MAP_TYPE_ARRAY_OF_MAPS:
	case BPF_MAP_TYPE_HASH_OF_MAPS:
		x->inner_fd = mk_make_inner(m, 0);
		return x->inner_fd < 0 ? -EINVAL : 0;
	default:
		return 0;
	}
}

/* Returns an fd or -errno. */
static int
try_create(struct mk_map *m)
{
	struct extras x = {.inner_fd = -1};
	struct bpf_map_create_opts opts = {.sz = sizeof(opts)};
	int fd = -1;

	fd = prepare(&x, m);
	if (fd < 0)
		goto out;
	opts.map_flags = m->flags;
	if (x.btf) {
		opts.btf_fd = (uint32_t)btf__fd(x.btf);
		opts.btf_key_type_id = (uint32_t)x.key_type;
		opts.btf_value_type_id = (uint32_t)x.value_type;
	}
	opts.btf_vmlinux_value_type_id = x.vmlinux_type;
	if (x.inner_fd >= 0)
		opts.inner_map_fd = (uint32_t)x.inner_fd;
	fd = bpf_map_create((enum bpf_map_type)m->type->type, m->name,
			    m->key_size, m->value_size, m->max_entries, &opts);
	if (fd < 0)
		fd = -errno;
out:
	btf__free(x.btf);
	if (x.inner_fd >= 0)
		close(x.inner_fd);
	return fd;
}

/*
 * The kernel answers EINVAL both to an unknown type and to a bad size: if
 * the type's own sizes work, what was asked for was wrong.
 */
static int
explain_refusal(const struct mk_map *m, int err)
{
	const struct mk_type *t = m->type;
	struct mk_map probe = {.type = t,
			       .key_size = t->key_size,
			       .value_size = t->value_size,
			       .max_entries = t->max_entries,
			       .flags = t->flags};
	int fd = try_create(&probe);

	if (fd < 0)
		return mk_fail(err == ENOMEM ? MK_ERROR : MK_SKIP,
			       "%s: this kernel refuses the type: %s", t->name,
			       mk_strerror(err));
	close(fd);
	return mk_fail(MK_ERROR,
		       "create %s, key %u, value %u, max_entries %u, flags "
		       "0x%x: %s",
		       t->name, m->key_size, m->value_size, m->max_entries,
		       m->flags, mk_strerror(err));
}

int
mk_map_create(struct mk_map *m)
{
	struct bpf_map_info info;
	uint32_t len = sizeof(info);
	int fd = try_create(m);

	if (fd < 0)
		return explain_refusal(m, -fd);
	m->fd = fd;
	memset(&info, 0, sizeof(info));
	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return mk_fail(MK_ERROR, "%s: get info: %s", m->type->name,
			       strerror(errno));
	m->id = info.id;
	return MK_OK;
}
