/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * seccomp - the list of system calls that serving takes
 */
#ifndef BF_SERVER_SECCOMP_H
#define BF_SERVER_SECCOMP_H

#include "common/err.h"

/*
 * bf_seccomp_enter - allow those calls, in all threads, and nothing else
 *
 * Anything else fails with EPERM.
 * Returns: 0; -errno
 */
int bf_seccomp_enter(void);

/* How many system calls are left, for a person to read. */
size_t bf_seccomp_count(void);

#endif
