// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * processes - whole programs, from their start to their last byte
 */
#include "tests/bench/bench.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char bpftool[] = "/usr/sbin/bpftool";

/* In the child: the program with its stdout in out_fd, or die trying. */
void
exec_child(char *const argv[], int out_fd)
{
	if (out_fd >= 0)
		dup2(out_fd, STDOUT_FILENO);
	execv(argv[0], argv);
	fprintf(stderr, "bench: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

uint64_t
run_program(char *const argv[], const char *path)
{
	struct rusage usage = {0};
	int status = 0, fd;
	pid_t pid;

	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	pid = fork();
	if (pid < 0)
		die("fork: %s", strerror(errno));
	if (!pid)
		exec_child(argv, fd);
	close(fd);
	if (wait4(pid, &status, 0, &usage) != pid || status)
		die("%s failed, status %#x", argv[0], (unsigned)status);
	return (uint64_t)usage.ru_maxrss * 1024;
}

static void
set_process(struct process *p, const char *name, char *const *argv)
{
	p->name = name;
	for (size_t i = 0; i < 8 && argv[i]; i++)
		p->argv[i] = strdup(argv[i]);
}

static void
set_processes(struct bench *b)
{
	char program[PATH_MAX + 16], tool[sizeof(bpftool)];
	char j[] = "-j", w[] = "-w", map[] = "map", dump[] = "dump";
	char id[] = "id";

	snprintf(program, sizeof(program), "%s/bpfleet", b->dir);
	memcpy(tool, bpftool, sizeof(tool));
	snprintf(b->map_id_text, sizeof(b->map_id_text), "%u", b->map_id);
	set_process(&b->processes[0], "bpftool -j map dump",
		    (char *[]){tool, j, map, dump, id, b->map_id_text, NULL});
	set_process(&b->processes[1], "bpfleet -j dump",
		    (char *[]){program, j, dump, id, b->map_id_text, NULL});
	set_process(&b->processes[2], "bpfleet -j -w AGENT dump",
		    (char *[]){program, j, w, b->address, dump, id,
			       b->map_id_text, NULL});
}

static void
run_process(struct bench *b, struct process *p)
{
	uint64_t start;
	struct stat st;

	unlink(b->out);
	start = now_ns();
	run_program(p->argv, b->out);
	p->ns[p->n++] = now_ns() - start;
	if (stat(b->out, &st))
		die("%s: %s", b->out, strerror(errno));
	p->output_bytes = st.st_size;
}

void
measure_processes(struct bench *b)
{
	set_processes(b);
	for (uint32_t r = 0; r < b->process_rounds; r++)
		for (size_t i = 0; i < 3; i++)
			run_process(b, &b->processes[i]);
	for (size_t i = 0; i < 3; i++) {
		struct process *p = &b->processes[i];

		p->median_ns = median(p->ns, p->n);
		for (size_t k = 0; p->argv[k]; k++)
			free(p->argv[k]);
	}
}
