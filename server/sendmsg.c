// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * sendmsg - tells nng that a peer is gone in a way that does not stop it
 *
 * nng 1.5 translates EPIPE into NNG_ECLOSED.  When that meets the first bytes
 * of a new connection, its listener takes it for its own closing and never
 * accepts again: whoever connects and closes at once would silence the agent.
 * ECONNRESET means the same and is accepted after (nng src/core/listener.c,
 * listener_accept_cb).  So the agent defines the function that nng calls, and
 * only the agent: the library leaves a program's sendmsg() alone.
 */
#include <errno.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) ssize_t
sendmsg(int fd, const struct msghdr *msg, int flags)
{
	ssize_t n = syscall(SYS_sendmsg, fd, msg, flags);

	if (n < 0 && errno == EPIPE)
		errno = ECONNRESET;
	return n;
}
