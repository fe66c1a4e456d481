// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * mkmap: what entry i looks like, and filling a map with entries
 *
 * Keys and values are functions of an index alone, so that a test can tell
 * what it has to find, and a reader can tell a value that is not its key's.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "mkmap.h"

#define BATCH_BYTES ((size_t)4 << 20)

int
mk_shape_init(struct mk_shape *s, uint32_t type, uint32_t key_size,
	      uint32_t value_size)
{
	int n_cpus = 1;

	memset(s, 0, sizeof(*s));
	s->type = type;
	s->key_size = key_size;
	s->value_size = value_size;
	s->n_slots = 1;
	s->value_bytes = value_size;
	if (!mk_is_percpu(type))
		return MK_OK;
	n_cpus = libbpf_num_possible_cpus();
	if (n_cpus < 1)
		return mk_fail(MK_ERROR, "cannot tell the possible CPUs");
	s->n_slots = (uint32_t)n_cpus;
	s->value_bytes = (((size_t)value_size + 7) & ~(size_t)7) * s->n_slots;
	return MK_OK;
}

/* The first 8 bytes are n in little endian, the rest count up from i * mul. */
static void
put_pattern(uint8_t *p, size_t len, uint64_t n, uint64_t i_mul)
{
	uint64_t le = htole64(n);
	size_t head = len < sizeof(le) ? len : sizeof(le);
	size_t k = 0;

	memcpy(p, &le, head);
	for (k = head; k < len; k++)
		p[k] = (uint8_t)(i_mul + k);
}

/*
 * A host address ending in i, big endian, 10 in its first byte; every eighth
 * is the prefix that covers the seven before it.
 */
static void
put_lpm_key(uint8_t *p, size_t len, uint64_t i)
{
	uint32_t prefix_len = (uint32_t)(len - 4) * 8;
	uint64_t n = i;
	size_t k = len;

	if ((i & 7) == 7) {
		prefix_len -= 3;
		n &= ~(uint64_t)7;
	}
	memset(p, 0, len);
	while (k > 4 && n) {
		p[--k] = (uint8_t)n;
		n >>= 8;
	}
	if (len >= 8)
		p[4] ^= 10;
	memcpy(p, &prefix_len, sizeof(prefix_len));
}

void
mk_key(const struct mk_shape *s, uint64_t i, void *key)
{
	if (s->type == BPF_MAP_TYPE_LPM_TRIE && s->key_size > 4)
		put_lpm_key(key, s->key_size, i);
	else
		put_pattern(key, s->key_size, i, i * 5);
}

/* Slot c of a per-CPU value is c higher; the padding of a slot is 0. */
void
mk_value(const struct mk_shape *s, uint64_t i, void *value)
{
	size_t stride = s->value_bytes / s->n_slots;
	uint8_t *p = value;
	uint32_t c = 0;

	memset(p, 0, s->value_bytes);
	for (c = 0; c < s->n_slots; c++)
		put_pattern(p + c * stride, s->value_size, i * 3 + 1 + c,
			    i * 7);
}

static int
map_shape(const struct mk_map *m, struct mk_shape *s)
{
	return mk_shape_init(s, m->type->type, m->key_size, m->value_size);
}

static int
fail_update(const struct mk_map *m, uint64_t i, int err)
{
	return mk_fail(mk_status(err), "%s: update of entry %llu: %s",
		       m->type->name, (unsigned long long)i, mk_strerror(err));
}

/* A map created BPF_F_RDONLY is written through an fd opened by its id. */
static int
writable_fd(const struct mk_map *m)
{
	if (m->flags & BPF_F_RDONLY)
		return bpf_map_get_fd_by_id(m->id);
	return m->fd;
}

static int
fill_one_by_one(const struct mk_map *m, int fd, const struct mk_shape *s,
		uint64_t from)
{
	uint8_t *key = calloc(1, s->key_size + 1u);
	uint8_t *value = calloc(1, s->value_bytes + 1);
	int status = MK_OK;
	uint64_t i = 0;

	if (!key || !value)
		status = mk_fail(MK_ERROR, "out of memory");
	for (i = from; i < m->fill && !status; i++) {
		mk_key(s, m->seed + i, key);
		mk_value(s, m->value_seed + i, value);
		if (bpf_map_update_elem(fd, s->key_size ? key : NULL, value,
					BPF_ANY))
			status = fail_update(m, i, errno);
	}
	free(value);
	free(key);
	return status;
}

/* Returns how many entries went in before batches were refused. */
static uint64_t
fill_by_batch(const struct mk_map *m, int fd, const struct mk_shape *s)
{
	size_t room = BATCH_BYTES / (s->key_size + s->value_bytes) + 1;
	uint8_t *keys = NULL;
	uint8_t *values = NULL;
	uint64_t done = 0;
	uint64_t k = 0;
	uint32_t n = 0;

	if (room > m->fill)
		room = (size_t)m->fill;
	keys = malloc(room * s->key_size);
	values = malloc(room * s->value_bytes);
	if (!keys || !values)
		goto out;
	while (done < m->fill) {
		n = (uint32_t)(m->fill - done < room ? m->fill - done : room);
		for (k = 0; k < n; k++) {
			mk_key(s, m->seed + done + k, keys + k * s->key_size);
			mk_value(s, m->value_seed + done + k,
				 values + k * s->value_bytes);
		}
		if (bpf_map_update_batch(fd, keys, values, &n, NULL))
			break;
		done += n;
	}
out:
	free(values);
	free(keys);
	return done;
}

int
mk_fill_plain(struct mk_map *m)
{
	struct mk_shape s;
	uint64_t done = 0;
	int fd = -1;
	int status = map_shape(m, &s);

	if (status)
		return status;
	if (m->key_size < 8 && m->type->type != BPF_MAP_TYPE_LPM_TRIE &&
	    (m->seed + m->fill - 1) >> (8 * m->key_size))
		return mk_fail(MK_ERROR,
			       "%s: %u byte keys cannot count to %llu",
			       m->type->name, m->key_size,
			       (unsigned long long)(m->seed + m->fill));
	fd = writable_fd(m);
	if (fd < 0)
		return fail_update(m, 0, errno);
	if (m->fill > 16)
		done = fill_by_batch(m, fd, &s);
	/* One by one also finds the entry at fault when a batch failed. */
	status = fill_one_by_one(m, fd, &s, done);
	if (fd != m->fd)
		close(fd);
	return status;
}

int
mk_fill_push(struct mk_map *m)
{
	struct mk_shape s;
	int status = map_shape(m, &s);

	return status ? status : fill_one_by_one(m, m->fd, &s, 0);
}

/*
 * A value that names something: a u32, then (devmap and cpumap with 8 byte
 * values) no program; sockets may also be given as u64.
 */
static void
put_ref(const struct mk_map *m, int ref, uint8_t *value)
{
	memset(value, 0, m->value_size);
	memcpy(value, &ref, sizeof(ref));
}

int
mk_fill_refs(struct mk_map *m)
{
	struct mk_shape s;
	uint64_t stride = m->type->grow == MK_GROW_SLOTS ? 2 : 1;
	uint8_t *key = calloc(1, m->key_size + 1u);
	uint8_t *value = calloc(1, m->value_size + sizeof(int));
	int status = map_shape(m, &s);
	uint64_t i = 0;
	int ref = -1;

	if (!status && (!key || !value))
		status = mk_fail(MK_ERROR, "out of memory");
	for (i = 0; i < m->fill && !status; i++) {
		ref = m->type->make(m, i);
		if (ref < 0) {
			status = -ref;
			break;
		}
		mk_key(&s, m->seed + i * stride, key);
		put_ref(m, ref, value);
		if (bpf_map_update_elem(m->fd, key, value, BPF_ANY))
			status = fail_update(m, i, errno);
		/* The map itself holds what has an id. */
		if (m->type->make == mk_make_inner)
			close(ref);
	}
	free(value);
	free(key);
	return status;
}

int
mk_fill_owned(struct mk_map *m)
{
	struct mk_shape s;
	uint8_t *value = calloc(1, m->value_size + 1u);
	int status = map_shape(m, &s);
	uint64_t i = 0;
	int owner = -1;

	if (!status && !value)
		status = mk_fail(MK_ERROR, "out of memory");
	for (i = 0; i < m->fill && !status; i++) {
		owner = m->type->make(m, i);
		if (owner < 0) {
			status = -owner;
			break;
		}
		mk_value(&s, m->value_seed + i, value);
		if (bpf_map_update_elem(m->fd, &owner, value, BPF_ANY))
			status = fail_update(m, i, errno);
	}
	free(value);
	return status;
}

/* Entry i is the first 8 bytes of page i. */
int
mk_fill_arena(struct mk_map *m)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t len = m->max_entries * page;
	uint8_t *base = NULL;
	uint64_t i = 0;

	if (m->fill > m->max_entries)
		return mk_fail(MK_ERROR, "arena: more entries than pages");
	base = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	if (base == MAP_FAILED)
		return mk_fail(mk_status(errno), "arena: mmap: %s",
			       strerror(errno));
	for (i = 0; i < m->fill; i++)
		put_pattern(base + i * page, 8, (m->value_seed + i) * 3 + 1, 0);
	munmap(base, len);
	return MK_OK;
}

/* Runs a program that stores its own stack, less i frames each time. */
int
mk_fill_stacks(struct mk_map *m)
{
	struct bpf_test_run_opts opts = {.sz = sizeof(opts)};
	int prog_fd = mk_prog_stack(m);
	uint64_t n = 0;
	uint64_t skip = 0;

	if (prog_fd < 0)
		return -prog_fd;
	opts.ctx_in = &skip;
	opts.ctx_size_in = sizeof(skip);
	for (skip = 0; skip < 127 && n < m->fill; skip++) {
		if (bpf_prog_test_run_opts(prog_fd, &opts))
			return mk_fail(mk_status(errno),
				       "stack_trace: test run: %s",
				       mk_strerror(errno));
		if ((int32_t)opts.retval >= 0)
			n++;
		else if ((int32_t)opts.retval == -EFAULT)
			break;
	}
	if (n < m->fill)
		return mk_fail(MK_SKIP, "stack_trace: only %llu stacks differ",
			       (unsigned long long)n);
	return MK_OK;
}

/*
 * Attaching a program that uses the map to a cgroup makes one entry, whose
 * key is the kernel's choice; values go in the order of the walk.
 */
int
mk_fill_cgroup_storage(struct mk_map *m)
{
	struct mk_shape s;
	uint8_t *value = NULL;
	uint8_t key[16] = {0};
	int prog_fd = -1;
	int cgroup_fd = -1;
	int status = map_shape(m, &s);
	uint64_t i = 0;

	if (status)
		return status;
	prog_fd = mk_prog_storage(m);
	if (prog_fd < 0)
		return -prog_fd;
	for (i = 0; i < m->fill; i++) {
		cgroup_fd = mk_make_cgroup(m, i);
		if (cgroup_fd < 0)
			return -cgroup_fd;
		if (bpf_prog_attach(prog_fd, cgroup_fd, BPF_CGROUP_INET_EGRESS,
				    0))
			return mk_fail(mk_status(errno), "%s: attach: %s",
				       m->type->name, mk_strerror(errno));
	}
	value = calloc(1, s.value_bytes);
	if (!value)
		return mk_fail(MK_ERROR, "out of memory");
	for (i = 0; i < m->fill && !status; i++) {
		if (bpf_map_get_next_key(m->fd, i ? key : NULL, key)) {
			status = fail_update(m, i, errno);
			break;
		}
		mk_value(&s, m->value_seed + i, value);
		if (bpf_map_update_elem(m->fd, key, value, BPF_EXIST))
			status = fail_update(m, i, errno);
	}
	free(value);
	return status;
}
