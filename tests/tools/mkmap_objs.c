// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * mkmap: the kernel objects that entries of some map types stand for
 *
 * Programs, sockets, perf events, cgroups, processes and inner maps, kept
 * until the tool exits.  Functions return an fd (or the number to store), or
 * a negative exit status after having said what failed.
 */
#include <errno.h>
#include <mntent.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>

#include <linux/if_xdp.h>
#include <linux/perf_event.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "mkmap.h"

#ifndef AF_XDP
#define AF_XDP 44
#endif
#ifndef SOL_XDP
#define SOL_XDP 283
#endif

#define INSN(op, dst, src, offset, val)                                        \
	{                                                                      \
		.code = (op), .dst_reg = (dst), .src_reg = (src),              \
		.off = (offset), .imm = (val)                                  \
	}
#define INSN_MOV_IMM(dst, val) INSN(BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, val)
#define INSN_LDX_DW(dst, src, offset)                                          \
	INSN(BPF_LDX | BPF_MEM | BPF_DW, dst, src, offset, 0)
#define INSN_LD_MAP(dst, fd)                                                   \
	INSN(BPF_LD | BPF_IMM | BPF_DW, dst, BPF_PSEUDO_MAP_FD, 0, fd),        \
		INSN(0, 0, 0, 0, 0)
#define INSN_CALL(func) INSN(BPF_JMP | BPF_CALL, 0, 0, 0, func)
#define INSN_EXIT() INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0)
#define N_INSNS(a) (sizeof(a) / sizeof((a)[0]))

void
mk_keep_init(struct mk_keep *k)
{
	memset(k, 0, sizeof(*k));
	k->listen_fd = -1;
	k->prog_fd = -1;
}

void
mk_keep_fini(struct mk_keep *k)
{
	size_t i = 0;

	for (i = 0; i < k->n_fds; i++)
		close(k->fds[i]);
	free(k->fds);
	for (i = 0; i < k->n_pids; i++)
		kill(k->pids[i], SIGKILL);
	for (i = 0; i < k->n_pids; i++)
		waitpid(k->pids[i], NULL, 0);
	free(k->pids);
	for (i = 0; i < k->n_dirs; i++) {
		rmdir(k->dirs[i]);
		free(k->dirs[i]);
	}
	free(k->dirs);
	mk_keep_init(k);
}

/* Takes fd, also when it fails. */
static int
keep_fd(struct mk_keep *k, int fd)
{
	int *p = reallocarray(k->fds, k->n_fds + 1, sizeof(*p));

	if (!p) {
		close(fd);
		return -mk_fail(MK_ERROR, "out of memory");
	}
	k->fds = p;
	k->fds[k->n_fds++] = fd;
	return fd;
}

static int
fail_object(const struct mk_map *m, const char *what, int err)
{
	return -mk_fail(mk_status(err), "%s: %s: %s", m->type->name, what,
			mk_strerror(err));
}

static int
load_prog(struct mk_map *m, enum bpf_prog_type type,
	  const struct bpf_insn *insns, size_t n)
{
	int fd = bpf_prog_load(type, NULL, "GPL", insns, n, NULL);

	if (fd < 0)
		return fail_object(m, "load a program", errno);
	return keep_fd(&m->keep, fd);
}

/* A program that uses m as its cgroup storage and lets packets pass. */
int
mk_prog_storage(struct mk_map *m)
{
	const struct bpf_insn insns[] = {
		INSN_LD_MAP(BPF_REG_1, m->fd),
		INSN_MOV_IMM(BPF_REG_2, 0),
		INSN_CALL(BPF_FUNC_get_local_storage),
		INSN_MOV_IMM(BPF_REG_0, 1),
		INSN_EXIT(),
	};

	return load_prog(m, BPF_PROG_TYPE_CGROUP_SKB, insns, N_INSNS(insns));
}

/*
 * A program that stores its stack in m, skipping as many frames as it is
 * told in its first argument, and returns the stack's id.
 */
int
mk_prog_stack(struct mk_map *m)
{
	const struct bpf_insn insns[] = {
		INSN_LDX_DW(BPF_REG_3, BPF_REG_1, 0),
		INSN_LD_MAP(BPF_REG_2, m->fd),
		INSN_CALL(BPF_FUNC_get_stackid),
		INSN_EXIT(),
	};

	return load_prog(m, BPF_PROG_TYPE_RAW_TRACEPOINT, insns,
			 N_INSNS(insns));
}

/* One program for all slots: tests see the same id in each. */
int
mk_make_prog(struct mk_map *m, uint64_t i)
{
	const struct bpf_insn insns[] = {
		INSN_MOV_IMM(BPF_REG_0, 0),
		INSN_EXIT(),
	};

	(void)i;
	if (m->keep.prog_fd < 0)
		m->keep.prog_fd = load_prog(m, BPF_PROG_TYPE_SOCKET_FILTER,
					    insns, N_INSNS(insns));
	return m->keep.prog_fd;
}

/* The caller closes it: a map in a map needs no fd. */
int
mk_make_inner(struct mk_map *m, uint64_t i)
{
	uint32_t key = 0;
	uint64_t value = (m->value_seed + i) * 3 + 1;
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, NULL, sizeof(key),
				sizeof(value), 1, NULL);

	if (fd < 0)
		return fail_object(m, "inner map", errno);
	if (bpf_map_update_elem(fd, &key, &value, BPF_ANY)) {
		fail_object(m, "inner map", errno);
		close(fd);
		return -MK_ERROR;
	}
	return fd;
}

/* The loopback device is 1 in every network namespace. */
int
mk_make_ifindex(struct mk_map *m, uint64_t i)
{
	(void)m;
	(void)i;
	return 1;
}

int
mk_make_qsize(struct mk_map *m, uint64_t i)
{
	int n_cpus = libbpf_num_possible_cpus();

	if (n_cpus < 1 || m->seed + i * 2 >= (uint64_t)n_cpus)
		return -mk_fail(MK_SKIP, "cpumap: no CPU %llu (of %d)",
				(unsigned long long)(m->seed + i * 2), n_cpus);
	return (int)((m->value_seed + i) % 1000 * 3 + 1);
}

static void
loopback(struct sockaddr_in *sin)
{
	memset(sin, 0, sizeof(*sin));
	sin->sin_family = AF_INET;
	sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
}

static int
listen_tcp(struct mk_map *m)
{
	struct sockaddr_in sin;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return fail_object(m, "socket", errno);
	loopback(&sin);
	if (bind(fd, (struct sockaddr *)&sin, sizeof(sin)) || listen(fd, 8)) {
		fail_object(m, "listen on loopback", errno);
		close(fd);
		return -MK_ERROR;
	}
	return keep_fd(&m->keep, fd);
}

/* The connecting end of a connection over loopback. */
int
mk_make_tcp(struct mk_map *m, uint64_t i)
{
	struct sockaddr_in sin;
	socklen_t len = sizeof(sin);
	int fd = -1;
	int peer_fd = -1;

	(void)i;
	if (m->keep.listen_fd < 0)
		m->keep.listen_fd = listen_tcp(m);
	if (m->keep.listen_fd < 0)
		return m->keep.listen_fd;
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return fail_object(m, "socket", errno);
	fd = keep_fd(&m->keep, fd);
	if (fd < 0)
		return fd;
	if (getsockname(m->keep.listen_fd, (struct sockaddr *)&sin, &len) ||
	    connect(fd, (struct sockaddr *)&sin, len))
		return fail_object(m, "connect over loopback", errno);
	peer_fd = accept4(m->keep.listen_fd, NULL, NULL, SOCK_CLOEXEC);
	if (peer_fd < 0)
		return fail_object(m, "accept", errno);
	return keep_fd(&m->keep, peer_fd) < 0 ? -MK_ERROR : fd;
}

/* Bound to a port of its own; SO_REUSEPORT must come before bind. */
int
mk_make_udp(struct mk_map *m, uint64_t i)
{
	struct sockaddr_in sin;
	int one = 1;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	(void)i;
	if (fd < 0)
		return fail_object(m, "socket", errno);
	loopback(&sin);
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one)) ||
	    bind(fd, (struct sockaddr *)&sin, sizeof(sin))) {
		fail_object(m, "bind to loopback", errno);
		close(fd);
		return -MK_ERROR;
	}
	return keep_fd(&m->keep, fd);
}

/* The map wants a receive ring, but neither a device nor memory. */
int
mk_make_xsk(struct mk_map *m, uint64_t i)
{
	int n_descs = 64;
	int err = 0;
	int fd = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);

	(void)i;
	if (fd < 0)
		return fail_object(m, "AF_XDP socket", errno);
	if (setsockopt(fd, SOL_XDP, XDP_RX_RING, &n_descs, sizeof(n_descs))) {
		err = errno;
		close(fd);
		return fail_object(m, "AF_XDP receive ring", err);
	}
	return keep_fd(&m->keep, fd);
}

int
mk_make_perf(struct mk_map *m, uint64_t i)
{
	struct perf_event_attr attr;
	int fd = -1;

	(void)i;
	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_BPF_OUTPUT;
	attr.sample_type = PERF_SAMPLE_RAW;
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1,
			  PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return fail_object(m, "perf_event_open", errno);
	return keep_fd(&m->keep, fd);
}

int
mk_make_memfd(struct mk_map *m, uint64_t i)
{
	int fd = memfd_create("mkmap", MFD_CLOEXEC);

	(void)i;
	if (fd < 0)
		return fail_object(m, "memfd_create", errno);
	return keep_fd(&m->keep, fd);
}

/* A child that sleeps; it holds none of our fds, above all not the map's. */
int
mk_make_task(struct mk_map *m, uint64_t i)
{
	pid_t *pids = NULL;
	pid_t pid = -1;
	int fd = -1;

	(void)i;
	pids = reallocarray(m->keep.pids, m->keep.n_pids + 1, sizeof(*pids));
	if (!pids)
		return -mk_fail(MK_ERROR, "out of memory");
	m->keep.pids = pids;
	pid = fork();
	if (pid < 0)
		return fail_object(m, "fork", errno);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		syscall(SYS_close_range, 0, ~0u, 0);
		for (;;)
			pause();
	}
	m->keep.pids[m->keep.n_pids++] = pid;
	fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return fail_object(m, "pidfd_open", errno);
	return keep_fd(&m->keep, fd);
}

/* Where cgroup version 2 is mounted; false if nowhere. */
static bool
find_cgroup2(char *path, size_t len)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *e = NULL;
	bool found = false;

	if (!mounts)
		return false;
	while (!found && (e = getmntent(mounts)))
		if (!strcmp(e->mnt_type, "cgroup2"))
			found = snprintf(path, len, "%s", e->mnt_dir) <
				(int)len;
	endmntent(mounts);
	return found;
}

/* A new, empty cgroup, removed at exit. */
int
mk_make_cgroup(struct mk_map *m, uint64_t i)
{
	char root[512];
	char *dir = NULL;
	char **dirs = NULL;
	int fd = -1;

	if (!find_cgroup2(root, sizeof(root)))
		return -mk_fail(MK_SKIP, "%s: no cgroup2 is mounted",
				m->type->name);
	dirs = reallocarray(m->keep.dirs, m->keep.n_dirs + 1, sizeof(*dirs));
	if (!dirs)
		return -mk_fail(MK_ERROR, "out of memory");
	m->keep.dirs = dirs;
	if (asprintf(&dir, "%s/mkmap-%d-%llu", root, (int)getpid(),
		     (unsigned long long)i) < 0)
		return -mk_fail(MK_ERROR, "out of memory");
	if (mkdir(dir, 0755)) {
		fail_object(m, dir, errno);
		free(dir);
		return -MK_ERROR;
	}
	m->keep.dirs[m->keep.n_dirs++] = dir;
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return fail_object(m, dir, errno);
	return keep_fd(&m->keep, fd);
}
