// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * spawn - starts and ends a private agent
 */
#include "client/lib/spawn.h"

#include "common/clock.h"
#include "common/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* More than bpfleetd gives its worker, so it is killed only when it hangs. */
#define STOP_MS 8000
#define CHILD_FD 3

/* bpfleetd beside this program, else as PATH has it. */
static void
find_agent(char *out, size_t out_cap)
{
	ssize_t n = readlink("/proc/self/exe", out, out_cap - 16);
	char *slash;

	if (n > 0) {
		out[n] = '\0';
		slash = strrchr(out, '/');
		if (slash)
			memcpy(slash + 1, "bpfleetd", 9);
		if (slash && access(out, X_OK) == 0)
			return;
	}
	snprintf(out, out_cap, "bpfleetd");
}

static void
random_url(char *out, size_t out_cap)
{
	uint8_t r[16];
	size_t len;

	bf_keys_random(r, sizeof(r));
	len = (size_t)snprintf(out, out_cap, "abstract://bpfleet-");
	for (size_t i = 0; i < sizeof(r); i++)
		len += (size_t)snprintf(out + len, out_cap - len, "%02x", r[i]);
}

/* Of this program only stderr, the lifeline and the environment go over. */
static int
close_others(posix_spawn_file_actions_t *actions)
{
#ifdef __GLIBC__
#if __GLIBC_PREREQ(2, 34)
	return posix_spawn_file_actions_addclosefrom_np(actions, CHILD_FD + 1);
#endif
#endif
	(void)actions;
	return 0;
}

/* A group of its own, so that Ctrl-C ends it through us. */
static int
spawn_agent(struct bf_private_agent *agent, const char *path, int child_end)
{
	char name[] = "bpfleetd", listen[] = "--listen",
	     level[] = "--log-level";
	char errors[] = "err", lifeline[] = "--lifeline", fd[] = "3";
	char *const argv[] = {name,   listen,	agent->url, level,
			      errors, lifeline, fd,	    NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none, all;
	int error;

	sigemptyset(&none);
	sigfillset(&all);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP |
						POSIX_SPAWN_SETSIGMASK |
						POSIX_SPAWN_SETSIGDEF);
	/* What this program ignores, the agent may need. */
	posix_spawnattr_setsigdefault(&attr, &all);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null",
					 O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null",
					 O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, child_end, CHILD_FD);
	error = close_others(&actions);
	if (!error)
		error = posix_spawnp(&agent->pid, path, &actions, &attr, argv,
				     environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return error;
}

/* Returns: 0, or -1 if it ended or the time was up. */
static int
wait_ready(const struct bf_private_agent *agent, uint32_t timeout_ms)
{
	struct bf_mono until = bf_mono_after_ms(bf_mono_now(), timeout_ms);
	struct pollfd p = {.fd = agent->lifeline, .events = POLLIN};
	char byte;
	int n;

	do {
		n = poll(&p, 1, (int)bf_mono_left_ms(until));
	} while (n < 0 && errno == EINTR);
	return n > 0 && read(agent->lifeline, &byte, 1) == 1 ? 0 : -1;
}

int
bf_private_agent_start(struct bf_private_agent *agent, const char *path,
		       uint32_t timeout_ms, struct bf_err *err)
{
	char found[4096];
	int pair[2], error, child_end;

	*agent = (struct bf_private_agent){.lifeline = -1};
	if (bf_keys_init(err))
		return -BF_EINTERNAL;
	if (!path) {
		find_agent(found, sizeof(found));
		path = found;
	}
	random_url(agent->url, sizeof(agent->url));
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return bf_err_set(err, errno, "socketpair: %s",
				  bf_err_str(errno));
	/* dup2 onto itself would keep the close-on-exec flag. */
	child_end = fcntl(pair[1], F_DUPFD_CLOEXEC, CHILD_FD + 1);
	close(pair[1]);
	agent->lifeline = pair[0];
	error = child_end < 0 ? errno : spawn_agent(agent, path, child_end);
	if (child_end >= 0)
		close(child_end);
	if (error) {
		agent->pid = 0;
		bf_private_agent_stop(agent);
		return bf_err_set(err, BF_EUNREACHABLE,
				  "no agent listens, and %s cannot be started: "
				  "%s: install it, or start bpfleetd",
				  path, bf_err_str(error));
	}
	if (wait_ready(agent, timeout_ms)) {
		bf_private_agent_stop(agent);
		return bf_err_set(err, BF_EUNREACHABLE,
				  "no agent listens, and a private one did not "
				  "start");
	}
	return 0;
}

void
bf_private_agent_stop(struct bf_private_agent *agent)
{
	struct bf_mono until = bf_mono_after_ms(bf_mono_now(), STOP_MS);
	const struct timespec tick = {.tv_nsec = 1000000};

	if (agent->lifeline >= 0)
		close(agent->lifeline);
	agent->lifeline = -1;
	while (agent->pid > 0) {
		if (waitpid(agent->pid, NULL, WNOHANG) != 0)
			agent->pid = 0;
		else if (bf_mono_passed(until))
			kill(agent->pid, SIGKILL);
		if (agent->pid > 0)
			nanosleep(&tick, NULL);
	}
}
