// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * broker_msg - sends and receives the fixed-size messages and their fds
 */
#include "server/broker_msg.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(int))];
};

int
bf_broker_send(int sock, const void *bytes, size_t len, int fd)
{
	struct iovec iov = {.iov_len = len};
	union control control = {0};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *c;
	ssize_t n;

	memcpy(&iov.iov_base, &bytes, sizeof(bytes)); /* sendmsg only reads */
	if (fd >= 0) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = sizeof(control.bytes);
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	}
	do {
		n = sendmsg(sock, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	return (size_t)n == len ? 0 : -EMSGSIZE;
}

int
bf_broker_recv(int sock, void *bytes, size_t len, int *fd_out)
{
	struct iovec iov = {.iov_base = bytes, .iov_len = len};
	union control control = {0};
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
	};
	struct cmsghdr *c;
	int fd = -1;
	ssize_t n;

	/* Room for one fd at most: the kernel closes all others. */
	if (fd_out) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_LEN(sizeof(int));
	}
	do {
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	c = fd_out ? CMSG_FIRSTHDR(&msg) : NULL;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
	    c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	if ((size_t)n != len || (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		if (fd >= 0)
			close(fd);
		return n == 0 ? -EPIPE : -EBADMSG;
	}
	if (fd_out)
		*fd_out = fd;
	return 0;
}

int
bf_broker_call(struct bf_broker *broker, const struct bf_broker_req *req,
	       struct bf_broker_reply *reply, int *fd_out, struct bf_err *err)
{
	int fd = -1, ret;

	pthread_mutex_lock(&broker->lock);
	ret = bf_broker_send(broker->fd, req, sizeof(*req), -1);
	if (!ret)
		ret = bf_broker_recv(broker->fd, reply, sizeof(*reply), &fd);
	pthread_mutex_unlock(&broker->lock);
	/* Without it this agent ends; the next one may know the answer. */
	if (ret == -EPIPE || ret == -ECONNRESET)
		return bf_err_set(err, BF_EBUSY, "the agent is ending");
	if (ret)
		return bf_err_set(err, BF_EINTERNAL,
				  "the agent's broker does not answer: %s",
				  ret == -EBADMSG ? "out of files, or nonsense"
						  : bf_err_str(ret));
	if (!reply->err.code && fd_out) {
		*fd_out = fd;
		return 0;
	}
	if (fd >= 0)
		close(fd);
	if (reply->err.code && err)
		*err = reply->err;
	return -reply->err.code;
}
