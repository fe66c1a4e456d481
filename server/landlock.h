/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * landlock - takes files and ports away from the calling thread
 */
#ifndef BF_SERVER_LANDLOCK_H
#define BF_SERVER_LANDLOCK_H

#include "common/err.h"

/* Returns: the kernel's version of landlock; 0: it has none. */
int bf_landlock_version(void);

/*
 * bf_landlock_enter - no files, no connections, and only these places to listen
 *
 * In:      addresses: ipc:///PATH may be made, tcp://HOST:PORT bound; what
 *          this version of landlock does not know stays as it was
 * Returns: 0; -errno with the place it is about. no_new_privs must be set
 * Threads: holds for this thread and those it starts afterwards
 */
int bf_landlock_enter(const char *const *urls, size_t n_urls,
		      struct bf_err *err);

#endif
