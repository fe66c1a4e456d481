// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * agent - the agent that is measured: its place, keys, start, end, and what it
 * uses of the machine
 */
#include "tests/bench/bench.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The nearest directory above this program that holds bpfleetd. */
static void
find_programs(struct bench *b)
{
	char self[PATH_MAX], program[PATH_MAX + 16];
	char *slash;

	if (!realpath("/proc/self/exe", self))
		die("cannot find myself: %s", strerror(errno));
	while ((slash = strrchr(self, '/'))) {
		*slash = '\0';
		snprintf(program, sizeof(program), "%s/bpfleetd", self);
		if (!access(program, X_OK)) {
			memcpy(b->dir, self, sizeof(self));
			return;
		}
	}
	die("no bpfleetd above this program");
}

void
find_places(struct bench *b)
{
	find_programs(b);
	strcpy(b->tmp, "/tmp/bpfleet-bench.XXXXXX");
	if (!mkdtemp(b->tmp) || chmod(b->tmp, 0755))
		die("%s: %s", b->tmp, strerror(errno));
	snprintf(b->address, sizeof(b->address), "ipc://%s/run/agent.sock",
		 b->tmp);
	snprintf(b->out, sizeof(b->out), "%s/out", b->tmp);
	snprintf(b->tcp, sizeof(b->tcp), "tcp://127.0.0.1:%d",
		 20000 + (int)getpid() % 20000);
	snprintf(b->key, sizeof(b->key), "%s/agent.key", b->tmp);
	snprintf(b->client_key, sizeof(b->client_key), "%s/id.key", b->tmp);
	snprintf(b->clients, sizeof(b->clients), "%s/clients", b->tmp);
	snprintf(b->known, sizeof(b->known), "%s/known", b->tmp);
}

static void
stop_agent(struct bench *b)
{
	if (b->lifeline >= 0)
		close(b->lifeline);
	b->lifeline = -1;
	for (int i = 0; b->agent > 0 && i < 50; i++) {
		if (waitpid(b->agent, NULL, WNOHANG) == b->agent)
			b->agent = 0;
		else
			usleep(100 * 1000);
	}
	if (b->agent > 0) {
		kill(b->agent, SIGKILL);
		waitpid(b->agent, NULL, 0);
		b->agent = 0;
	}
}

void
cleanup_agent(struct bench *b)
{
	char path[160];

	stop_agent(b);
	if (!b->tmp[0])
		return;
	unlink(b->out);
	unlink(b->key);
	unlink(b->client_key);
	unlink(b->clients);
	unlink(b->known);
	snprintf(path, sizeof(path), "%s/run/agent.sock", b->tmp);
	unlink(path);
	snprintf(path, sizeof(path), "%s/run", b->tmp);
	rmdir(path);
	rmdir(b->tmp);
}

/* A key for the client, and a line that lets it in. */
void
make_keys(const struct bench *b)
{
	char command[4 * PATH_MAX];

	snprintf(command, sizeof(command),
		 "umask 077; '%s/bpfleet' genkey >'%s' && "
		 "'%s/bpfleet' pubkey <'%s' >'%s'",
		 b->dir, b->client_key, b->dir, b->client_key, b->clients);
	if (system(command) != 0)
		die("cannot make keys");
}

void
start_agent(struct bench *b)
{
	char program[PATH_MAX + 16], fd_text[12], c = 0;
	char *argv[] = {program,
			(char[]){"--listen"},
			b->address,
			(char[]){"--listen"},
			b->tcp,
			(char[]){"--key"},
			b->key,
			(char[]){"--make-key"},
			(char[]){"--authorized-clients"},
			b->clients,
			(char[]){"--lifeline"},
			fd_text,
			(char[]){"--log-level"},
			(char[]){"warn"},
			NULL};
	struct pollfd ready = {.events = POLLIN};
	int pair[2];

	snprintf(program, sizeof(program), "%s/bpfleetd", b->dir);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		die("socketpair: %s", strerror(errno));
	snprintf(fd_text, sizeof(fd_text), "%d", pair[1]);
	b->agent = fork();
	if (b->agent < 0)
		die("fork: %s", strerror(errno));
	if (!b->agent) {
		fcntl(pair[1], F_SETFD, 0);
		exec_child(argv, -1);
	}
	close(pair[1]);
	b->lifeline = ready.fd = pair[0];
	if (poll(&ready, 1, 10000) != 1 || read(pair[0], &c, 1) != 1)
		die("%s did not become ready", program);
}

/* "Name:  123 kB" of a file in /proc, as it stands there. */
static uint64_t
proc_number(const char *path, const char *name)
{
	char line[256];
	uint64_t number = 0;
	size_t len = strlen(name);
	FILE *f = fopen(path, "re");

	while (f && fgets(line, sizeof(line), f)) {
		if (!strncmp(line, name, len) && line[len] == ':') {
			number = strtoull(line + len + 1, NULL, 10);
			break;
		}
	}
	if (f)
		fclose(f);
	return number;
}

static void
add_thread(struct usage *u, pid_t pid, const char *tid)
{
	char path[320];

	snprintf(path, sizeof(path), "/proc/%d/task/%s/status", (int)pid, tid);
	u->switches += proc_number(path, "voluntary_ctxt_switches");
}

static void add_process(struct usage *u, pid_t pid);

static void
add_children(struct usage *u, pid_t pid, const char *tid)
{
	char path[320];
	int child;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)pid,
		 tid);
	f = fopen(path, "re");
	while (f && fscanf(f, "%d", &child) == 1)
		add_process(u, child);
	if (f)
		fclose(f);
}

static void
add_process(struct usage *u, pid_t pid)
{
	char path[64];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	u->rss += proc_number(path, "VmRSS") * 1024;
	u->peak += proc_number(path, "VmHWM") * 1024;
	u->anon += proc_number(path, "RssAnon") * 1024;
	u->file += proc_number(path, "RssFile") * 1024;
	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	u->pss += proc_number(path, "Pss") * 1024;
	u->n_processes++;
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		if (e->d_name[0] == '.')
			continue;
		add_thread(u, pid, e->d_name);
		add_children(u, pid, e->d_name);
	}
	if (dir)
		closedir(dir);
}

struct usage
agent_usage(const struct bench *b)
{
	struct usage u = {0};

	add_process(&u, b->agent);
	return u;
}
