// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * crowd - a client's lookups alone, and beside 2,000 connections that never
 * finish a handshake and 50 that send noise
 *
 * The strangers are a process of their own, which shares the processors with
 * the agent and the client.  Those whom the agent drops come again a second
 * later, the noisy ones at once.
 */
#include "tests/bench/bench.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define N_SILENT 2000u
#define N_NOISY 50u
#define N_STRANGERS (N_SILENT + N_NOISY)
#define SETTLE_SECONDS 3u
#define NOISE_BYTES 300u

struct stranger {
	uint64_t again_ns; /* when to come, if fd is -1 */
	bool greeted;
};

/* What a client says first: SP of a REQ, and message 1 in a frame. */
static const uint8_t greeting[8] = {0, 'S', 'P', 0, 0, 0x30, 0, 0};
#define MESSAGE_1_BYTES (8 + 4 + 24 + 32)

static void
put_message_1(uint8_t out[MESSAGE_1_BYTES])
{
	static const uint8_t head[] = {0, 0,   0,   0, 0, 0,  0, 60, 0x80, 0, 0,
				       1, 'b', 'f', 1, 4, 32, 0, 0,  0,	   1};

	memset(out, 0, MESSAGE_1_BYTES);
	memcpy(out, head, sizeof(head));
	if (getrandom(out + MESSAGE_1_BYTES - 32, 32, 0) != 32)
		_exit(1);
}

static int
come(const struct sockaddr_in *to)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) &&
	    errno != EINPROGRESS) {
		close(fd);
		return -1;
	}
	return fd;
}

static void
greet(int fd, bool noisy)
{
	uint8_t bytes[sizeof(greeting) + NOISE_BYTES];
	size_t len = sizeof(greeting);

	memcpy(bytes, greeting, sizeof(greeting));
	if (noisy) {
		if (getrandom(bytes + len, NOISE_BYTES, 0) < 0)
			_exit(1);
		len += NOISE_BYTES;
	} else {
		put_message_1(bytes + len);
		len += MESSAGE_1_BYTES;
	}
	(void)!send(fd, bytes, len, MSG_NOSIGNAL);
}

/* One look at one stranger. */
static void
attend(struct stranger *s, struct pollfd *p, bool noisy,
       const struct sockaddr_in *to)
{
	uint8_t heard[4096];
	ssize_t n = -1;

	if (p->fd < 0) {
		if (now_ns() < s->again_ns)
			return;
		p->fd = come(to);
		p->events = POLLOUT;
		s->greeted = false;
		s->again_ns = now_ns() + 1000000000u;
		return;
	}
	if (!p->revents)
		return;
	if (!s->greeted && !(p->revents & (POLLERR | POLLHUP))) {
		greet(p->fd, noisy);
		s->greeted = true;
		p->events = POLLIN;
		return;
	}
	if (!(p->revents & (POLLERR | POLLHUP)))
		n = recv(p->fd, heard, sizeof(heard), 0);
	if (n > 0 || (n < 0 && errno == EAGAIN && p->revents == POLLIN))
		return;
	close(p->fd);
	p->fd = -1;
	s->again_ns = now_ns() + (noisy ? 50000000u : 1000000000u);
}

static void __attribute__((noreturn)) be_crowd(uint16_t port)
{
	static struct stranger all[N_STRANGERS];
	static struct pollfd fds[N_STRANGERS];
	const struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	pid_t parent = getppid();

	for (uint32_t i = 0; i < N_STRANGERS; i++)
		fds[i].fd = -1;
	while (getppid() == parent) {
		for (uint32_t i = 0; i < N_STRANGERS; i++)
			attend(&all[i], &fds[i], i < N_NOISY, &to);
		poll(fds, N_STRANGERS, 10);
	}
	_exit(0);
}

static void
measure_lookups(struct bench *b, uint64_t *ns)
{
	const struct bpfleet_map_ref ref = {sizeof(ref), b->map_id, NULL};
	struct bpfleet_values *v;
	struct bpfleet_error err;

	for (uint32_t i = 0; i < N_LOOKUPS; i++) {
		uint32_t key = i * 31 % N_ENTRIES;
		uint64_t start = now_ns(), value;

		if (bpfleet_lookup(&v, b->remote, &ref, &key, sizeof(key), 1,
				   &err))
			die("%s", err.message);
		ns[i] = now_ns() - start;
		memcpy(&value, v->values, sizeof(value));
		if (!v->found[0] || value != (uint64_t)key + 1)
			die("a lookup found the wrong value");
		bpfleet_values_free(v);
	}
}

void
measure_crowd(struct bench *b)
{
	static uint64_t quiet[2 * N_LOOKUPS], beside[N_LOOKUPS];
	struct rlimit files = {0};
	const char *port = strrchr(b->tcp, ':') + 1;
	pid_t crowd;

	getrlimit(RLIMIT_NOFILE, &files);
	if (files.rlim_cur < N_STRANGERS + 100) {
		files.rlim_cur = N_STRANGERS + 100;
		if (setrlimit(RLIMIT_NOFILE, &files))
			die("files for %u connections: %s", N_STRANGERS,
			    strerror(errno));
	}
	measure_lookups(b, quiet);
	crowd = fork();
	if (crowd < 0)
		die("fork: %s", strerror(errno));
	if (!crowd)
		be_crowd((uint16_t)strtoul(port, NULL, 10));
	sleep(SETTLE_SECONDS);
	measure_lookups(b, beside);
	b->crowded = agent_usage(b);
	kill(crowd, SIGKILL);
	waitpid(crowd, NULL, 0);
	sleep(1);
	measure_lookups(b, quiet + N_LOOKUPS);
	b->lookup_quiet_ns = median(quiet, 2 * N_LOOKUPS);
	b->lookup_beside_ns = median(beside, N_LOOKUPS);
}
