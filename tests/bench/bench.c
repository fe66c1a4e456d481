// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * bench - the bulk-read table on this kernel: complete dumps of a hash map
 * key by key, by local batches and through an agent, also over encrypted tcp;
 * whole processes against bpftool; memory and wake-ups of the agent; lookups
 * beside a crowd of strangers.  Rounds are interleaved, so that noise hits all
 * rows; only ratios within one run mean anything.  Needs root.
 */
#include "tests/bench/bench.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static struct bench bench = {.lifeline = -1, .map_fd = -1};

static void
cleanup(void)
{
	cleanup_agent(&bench);
}

/* Nothing is worth reporting after a failure. */
void
die(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	fputs("bench: ", stderr);
	vfprintf(stderr, format, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(1);
}

uint64_t
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int
compare_ns(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

uint64_t
median(const uint64_t *ns, uint32_t n)
{
	uint64_t sorted[2 * N_LOOKUPS];

	if (!n)
		return 0;
	memcpy(sorted, ns, n * sizeof(*ns));
	qsort(sorted, n, sizeof(*sorted), compare_ns);
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* Key i has the value i + 1, so that a dump's sum is known. */
int
make_map(uint32_t n, uint32_t *id)
{
	static uint32_t keys[CHUNK];
	static uint64_t values[CHUNK];
	struct bpf_map_info info = {0};
	uint32_t len = sizeof(info);
	int fd = bpf_map_create(BPF_MAP_TYPE_HASH, "bench", 4, 8, n, NULL);

	if (fd < 0)
		die("cannot create a hash map: %s", strerror(errno));
	for (uint32_t done = 0; done < n;) {
		uint32_t count = n - done < CHUNK ? n - done : CHUNK;

		for (uint32_t i = 0; i < count; i++) {
			keys[i] = done + i;
			values[i] = (uint64_t)done + i + 1;
		}
		if (bpf_map_update_batch(fd, keys, values, &count, NULL))
			die("cannot fill the map: %s", strerror(errno));
		done += count;
	}
	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		die("cannot describe the map: %s", strerror(errno));
	*id = info.id;
	return fd;
}

double
ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

static void
measure_idle(struct bench *b)
{
	uint64_t before;

	sleep(1);
	before = agent_usage(b).switches;
	sleep(IDLE_SECONDS);
	b->idle = agent_usage(b);
	b->idle.switches -= before;
}

/*
 * A child's peak begins with what this process holds at its fork: to be run
 * before large buffers are allocated.
 */
static void
measure_memory(struct bench *b)
{
	char program[PATH_MAX + 16], id_text[12];
	uint32_t id;
	int fd = make_map(N_LARGE, &id);
	char *argv[] = {program,	(char[]){"-w"},	 b->address,
			(char[]){"-o"}, (char[]){"csv"}, (char[]){"dump"},
			(char[]){"id"}, id_text,	 NULL};

	snprintf(program, sizeof(program), "%s/bpfleet", b->dir);
	snprintf(id_text, sizeof(id_text), "%u", id);
	b->client_peak = run_program(argv, "/dev/null");
	b->after = agent_usage(b);
	close(fd);
}

static const char *
read_options(struct bench *b, int argc, char **argv)
{
	static const struct option options[] = {
		{"quick", no_argument, NULL, 'q'},
		{"json", required_argument, NULL, 'j'},
		{0}};
	const char *json = NULL;
	int c;

	b->rounds = 21;
	b->process_rounds = 9;
	b->row_budget_ns = 6000000000u;
	while ((c = getopt_long(argc, argv, "", options, NULL)) >= 0) {
		if (c == 'j') {
			json = optarg;
		} else if (c == 'q') {
			b->rounds = 5;
			b->process_rounds = 3;
			b->row_budget_ns = 1000000000u;
		} else {
			fputs("Usage: bench [--quick] [--json FILE]\n", stderr);
			exit(2);
		}
	}
	return json;
}

int
main(int argc, char **argv)
{
	struct bench *b = &bench;
	const char *json = read_options(b, argc, argv);

	if (geteuid())
		die("needs root");
	unsetenv("BPFLEET_HOSTS");
	unsetenv("BPFLEET_TIMEOUT");
	atexit(cleanup);
	find_places(b);
	make_keys(b);
	start_agent(b);
	measure_idle(b);
	measure_memory(b);
	b->map_fd = make_map(N_ENTRIES, &b->map_id);
	measure_processes(b);
	measure_dumps(b);
	make_claims(b);
	if (!json || strcmp(json, "-"))
		print_text(b);
	if (json)
		print_json(b, json);
	close(b->map_fd);
	return 0;
}
