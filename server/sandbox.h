/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * sandbox - how broker and worker give up what they do not need
 *
 * The worker does it twice: bf_sandbox_enter() before its first thread, while
 * it may still listen, and bf_sandbox_lock() before it takes the first request.
 */
#ifndef BF_SERVER_SANDBOX_H
#define BF_SERVER_SANDBOX_H

#include "common/err.h"

#include <stdio.h>

/* What the worker becomes, and where it may listen afterwards. */
struct bf_sandbox {
	bool drop; /* become uid and gid; else stay who it is */
	uint32_t uid, gid;
	bool keep_cap_bpf; /* for kernels that want it for reads */
	const char *const *urls;
	size_t n_urls;
};

/*
 * bf_sandbox_enter - another identity for ever, no capabilities, no files
 *
 * Landlock is left out, with a line in the log, where the kernel lacks it.
 * Returns: 0; on error the process must not go on
 * Threads: before the first one is started
 */
int bf_sandbox_enter(const struct bf_sandbox *s, struct bf_err *err);

/*
 * bf_sandbox_lock - allow only the system calls of serving, in all threads
 *
 * Everything else fails with EPERM: also new threads, files and sockets.
 * Returns: 0; -errno, on a kernel without seccomp
 */
int bf_sandbox_lock(struct bf_err *err);

/*
 * bf_sandbox_keep_broker - drop all capabilities but those that the broker uses
 *
 * Returns: 0; on error the process must not go on
 */
int bf_sandbox_keep_broker(struct bf_err *err);

/* Says in words, as comments, what would be in force on this kernel. */
void bf_sandbox_describe(FILE *to, const char *user);

/*
 * bf_sandbox_probe_reads - may a process without capabilities read maps here?
 *
 * Tries it in a child, on a map of its own.
 * Returns: 1 it may; 0 it needs CAP_BPF (before Linux 5.19); -errno unknown
 */
int bf_sandbox_probe_reads(uint32_t uid, uint32_t gid);

#endif
