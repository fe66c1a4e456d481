// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * seccomp - the list of system calls that serving takes
 *
 * Sockets can be accepted, not made; memory mapped, not made executable; maps
 * read through fds that are there, not opened.
 */
#include "server/seccomp.h"

#include "server/broker_msg.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <seccomp.h>
#include <sys/mman.h>

static const int plain[] = {
	/* talking over what is open */
	SCMP_SYS(read),
	SCMP_SYS(readv),
	SCMP_SYS(write),
	SCMP_SYS(writev),
	SCMP_SYS(sendto),
	SCMP_SYS(sendmsg),
	SCMP_SYS(recvfrom),
	SCMP_SYS(recvmsg),
	SCMP_SYS(close),
	SCMP_SYS(shutdown),
	SCMP_SYS(accept),
	SCMP_SYS(accept4),
	SCMP_SYS(getsockopt),
	SCMP_SYS(setsockopt),
	SCMP_SYS(getsockname),
	SCMP_SYS(getpeername),
	/* waiting */
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(epoll_ctl),
	SCMP_SYS(epoll_wait),
	SCMP_SYS(epoll_pwait),
	SCMP_SYS(futex),
	SCMP_SYS(nanosleep),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(gettimeofday),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(sched_yield),
	/* memory; mmap and mprotect have rules of their own */
	SCMP_SYS(brk),
	SCMP_SYS(munmap),
	SCMP_SYS(mremap),
	SCMP_SYS(madvise),
	SCMP_SYS(mlock2),
	/* threads that are there or just begin, and their end */
	SCMP_SYS(getpid),
	SCMP_SYS(gettid),
	SCMP_SYS(getuid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getrandom),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sigaltstack),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(rseq),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(membarrier),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
};

static const uint64_t fcntl_commands[] = {F_GETFD, F_SETFD, F_GETFL};

static const uint32_t bpf_commands[] = {
	BPF_MAP_LOOKUP_ELEM,
	BPF_MAP_GET_NEXT_KEY,
	BPF_MAP_LOOKUP_BATCH,
};

static int
add_rules(scmp_filter_ctx ctx)
{
	const struct scmp_arg_cmp not_exec =
		SCMP_A2(SCMP_CMP_MASKED_EQ, PROT_EXEC, 0);
	int ret = 0;

	for (size_t i = 0; i < BF_ARRAY_SIZE(plain) && !ret; i++)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, plain[i], 0);
	for (size_t i = 0; i < BF_ARRAY_SIZE(bpf_commands) && !ret; i++)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(bpf), 1,
				       SCMP_A0(SCMP_CMP_EQ, bpf_commands[i]));
	for (size_t i = 0; i < BF_ARRAY_SIZE(fcntl_commands) && !ret; i++)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 1,
				       SCMP_A1(SCMP_CMP_EQ, fcntl_commands[i]));
	/* The audit file keeps O_APPEND: what is in it stays. */
	if (!ret)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(fcntl), 2,
				       SCMP_A0(SCMP_CMP_NE, BF_AUDIT_FD),
				       SCMP_A1(SCMP_CMP_EQ, F_SETFL));
	if (!ret)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 1,
				       not_exec);
	if (!ret)
		ret = seccomp_rule_add(ctx, SCMP_ACT_ALLOW, SCMP_SYS(mprotect),
				       1, not_exec);
	return ret;
}

int
bf_seccomp_enter(void)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int ret = ctx ? 0 : -ENOMEM;

	if (!ret)
		ret = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_TSYNC, 1);
	if (!ret) /* a binary tree: each call passes few comparisons */
		ret = seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (!ret)
		ret = add_rules(ctx);
	if (!ret)
		ret = seccomp_load(ctx);
	seccomp_release(ctx);
	return ret;
}

size_t
bf_seccomp_count(void)
{
	return BF_ARRAY_SIZE(plain) + 4; /* bpf, fcntl, mmap, mprotect */
}
