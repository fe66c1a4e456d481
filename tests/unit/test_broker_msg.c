// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * test_broker_msg - messages of a worker that is hostile: of a wrong size, or
 * with fds that nobody asked for, which must not stay open
 */
#include "server/broker_msg.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static unsigned
open_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned n = 0;

	assert_non_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

/* A message with as many copies of stdin. */
static void
send_fds(int sock, unsigned n_fds, size_t len)
{
	static char bytes[64];
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(8 * sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = bytes, .iov_len = len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	int fds[8] = {0};
	struct cmsghdr *c;

	if (n_fds) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
	}
	assert_int_equal(sendmsg(sock, &msg, 0), len);
}

static void
test_unasked_fds(void **state)
{
	char got[64];
	int pair[2];
	unsigned before;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	before = open_fds();
	for (unsigned n = 1; n <= 8; n++) {
		int fd = -1, ret;

		send_fds(pair[0], n, sizeof(got));
		assert_int_equal(
			bf_broker_recv(pair[1], got, sizeof(got), NULL),
			-EBADMSG);
		assert_int_equal(open_fds(), before);
		send_fds(pair[0], n, sizeof(got));
		ret = bf_broker_recv(pair[1], got, sizeof(got), &fd);
		assert_int_equal(ret, n == 1 ? 0 : -EBADMSG);
		if (fd >= 0)
			close(fd);
		assert_int_equal(open_fds(), before);
	}
	close(pair[0]);
	close(pair[1]);
}

static void
test_sizes(void **state)
{
	char got[32];
	int pair[2], fd;

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	send_fds(pair[0], 0, 31);
	assert_int_equal(bf_broker_recv(pair[1], got, 32, &fd), -EBADMSG);
	send_fds(pair[0], 0, 33);
	assert_int_equal(bf_broker_recv(pair[1], got, 32, &fd), -EBADMSG);
	send_fds(pair[0], 0, 32);
	assert_int_equal(bf_broker_recv(pair[1], got, 32, &fd), 0);
	assert_int_equal(fd, -1);
	close(pair[0]);
	assert_int_equal(bf_broker_recv(pair[1], got, 32, &fd), -EPIPE);
	close(pair[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unasked_fds),
		cmocka_unit_test(test_sizes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
