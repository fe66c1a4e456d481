/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * sandbox - how the worker gives up what it does not need
 */
#ifndef BF_SERVER_SANDBOX_H
#define BF_SERVER_SANDBOX_H

#include "common/err.h"

/*
 * bf_sandbox_enter - become uid and gid for ever, without capabilities
 *
 * In:      keep_cap_bpf: all but CAP_BPF, for kernels that want it for reads
 * Returns: 0; on error the process must not go on
 * Threads: before the first one is started
 */
int bf_sandbox_enter(uint32_t uid, uint32_t gid, bool keep_cap_bpf,
		     struct bf_err *err);

/* For an agent that was not started as root: no new privileges, no core. */
int bf_sandbox_enter_unprivileged(struct bf_err *err);

/*
 * bf_sandbox_probe_reads - may a process without capabilities read maps here?
 *
 * Tries it in a child, on a map of its own.
 * Returns: 1 it may; 0 it needs CAP_BPF (before Linux 5.19); -errno unknown
 */
int bf_sandbox_probe_reads(uint32_t uid, uint32_t gid);

#endif
