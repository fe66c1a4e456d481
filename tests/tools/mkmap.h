/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * mkmap - what the files of the map making test tool share
 *
 * mkmap.c reads the command line, mkmap_types.c knows every map type and
 * creates maps, mkmap_fill.c fills them, mkmap_objs.c makes the sockets,
 * programs and cgroups some entries need, mkmap_churn.c changes maps that
 * already exist.  Functions print their own error and return an exit status.
 */
#ifndef MKMAP_H
#define MKMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <linux/bpf.h>

enum {
	MK_OK = 0,
	MK_ERROR = 1,
	MK_SKIP = 77, /* the kernel has no such thing: a test should skip */
};

/* Types and errors newer or more internal than installed headers. */
#define MK_CGROUP_STORAGE 19
#define MK_PERCPU_CGROUP_STORAGE 21
#define MK_CGRP_STORAGE 32
#define MK_ARENA 33
#define MK_INSN_ARRAY 34
#define MK_ENOTSUPP 524

/* How the number of entries decides the default of max_entries. */
enum mk_grow {
	MK_GROW_NO,    /* the type has a size of its own */
	MK_GROW_COUNT, /* room for --fill entries */
	MK_GROW_INDEX, /* room for index --seed + --fill - 1 */
	MK_GROW_SLOTS, /* the same, with every second slot left empty */
};

struct mk_map;

struct mk_type {
	const char *name; /* bpftool's */
	uint32_t type;
	uint32_t key_size;
	uint32_t value_size;
	uint32_t max_entries;
	uint32_t flags; /* without these the kernel refuses the type */
	enum mk_grow grow;
	bool needs_hold; /* entries die with the process that made them */
	int (*fill)(struct mk_map *m);
	/* The fd (or number) entry i stands for; negative: exit status. */
	int (*make)(struct mk_map *m, uint64_t i);
};

/* What has to live as long as the entries, undone by mk_keep_fini(). */
struct mk_keep {
	int *fds;
	size_t n_fds;
	pid_t *pids;
	size_t n_pids;
	char **dirs;
	size_t n_dirs;
	int listen_fd;
	int prog_fd;
};

struct mk_map {
	const struct mk_type *type;
	const char *name;
	uint32_t key_size;
	uint32_t value_size;
	uint32_t max_entries;
	uint32_t flags;
	uint64_t fill;
	uint64_t seed;	     /* index of the first entry */
	uint64_t value_seed; /* index the first entry's value is made from */
	int fd;
	uint32_t id;
	struct mk_keep keep;
};

/* What keys and values of one map look like in memory. */
struct mk_shape {
	uint32_t type;
	uint32_t key_size;
	uint32_t value_size;
	uint32_t n_slots;   /* possible CPUs, or 1 */
	size_t value_bytes; /* of all slots */
};

/* mkmap.c */
int mk_fail(int status, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
const char *mk_strerror(int err);
int mk_status(int err);

/* mkmap_types.c */
extern const struct mk_type mk_types[];
const struct mk_type *mk_type_find(const char *name);
int mk_map_create(struct mk_map *m);
bool mk_is_percpu(uint32_t type);

/* mkmap_fill.c */
int mk_shape_init(struct mk_shape *s, uint32_t type, uint32_t key_size,
		  uint32_t value_size);
void mk_key(const struct mk_shape *s, uint64_t i, void *key);
void mk_value(const struct mk_shape *s, uint64_t i, void *value);
int mk_fill_plain(struct mk_map *m);
int mk_fill_push(struct mk_map *m);
int mk_fill_refs(struct mk_map *m);
int mk_fill_owned(struct mk_map *m);
int mk_fill_arena(struct mk_map *m);
int mk_fill_stacks(struct mk_map *m);
int mk_fill_cgroup_storage(struct mk_map *m);

/* mkmap_objs.c: all but the first three fit struct mk_type's make */
void mk_keep_init(struct mk_keep *k);
void mk_keep_fini(struct mk_keep *k);
int mk_prog_storage(struct mk_map *m);
int mk_prog_stack(struct mk_map *m);
int mk_make_inner(struct mk_map *m, uint64_t i);
int mk_make_prog(struct mk_map *m, uint64_t i);
int mk_make_ifindex(struct mk_map *m, uint64_t i);
int mk_make_qsize(struct mk_map *m, uint64_t i);
int mk_make_tcp(struct mk_map *m, uint64_t i);
int mk_make_udp(struct mk_map *m, uint64_t i);
int mk_make_xsk(struct mk_map *m, uint64_t i);
int mk_make_perf(struct mk_map *m, uint64_t i);
int mk_make_memfd(struct mk_map *m, uint64_t i);
int mk_make_task(struct mk_map *m, uint64_t i);
int mk_make_cgroup(struct mk_map *m, uint64_t i);

/* mkmap_churn.c */
struct mk_change {
	uint32_t id;
	uint64_t lo; /* keys lo .. hi - 1 */
	uint64_t hi;
	uint64_t value_index;
	unsigned n_threads;
	double seconds;
	bool replace;
};

int mk_churn(const struct mk_change *c);
int mk_delete(const struct mk_change *c);
int mk_update(const struct mk_change *c);

#endif
