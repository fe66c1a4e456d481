// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * bench - what the parts of the measurement share
 *
 * One program: bench.c runs it, agent.c has the agent that is measured, ways.c
 * the ways of reading a map, processes.c whole programs, crowd.c a lookup
 * beside 2,000 strangers, report.c the claims and the tables.  They know the
 * public header alone.
 */
#ifndef BENCH_H
#define BENCH_H

#include <bpfleet/bpfleet.h>

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define N_ENTRIES 100000u
#define N_LARGE 1000000u
#define CHUNK 4096u
#define ROUNDS_MAX 32u
#define PAGE_BYTES (64u << 20)
#define MIB 1048576.0
#define IDLE_SECONDS 5u

struct bench;

/* One way of reading; ns of each round it took part in. */
struct row {
	const char *way; /* "walk", "local", "ipc" */
	uint32_t room;	 /* entries a call; 0: the way's own choice */
	void (*run)(struct bench *b, const struct row *row);
	uint64_t ns[ROUNDS_MAX], total_ns, median_ns;
	uint32_t n;
};

/* A program with its output in a file. */
struct process {
	const char *name;
	char *argv[9];
	uint64_t ns[ROUNDS_MAX], median_ns;
	uint32_t n;
	off_t output_bytes;
};

/* Sums over the agent's processes. */
struct usage {
	uint64_t rss, peak, anon, file, pss; /* bytes */
	uint64_t switches;		     /* voluntary, of all threads */
	uint32_t n_processes;
};

/* A promise, and whether this run kept it. */
struct claim {
	const char *key, *words, *unit;
	double value, target;
	enum { BELOW, AT_MOST, AT_LEAST } sense;
};

#define ROWS_MAX 24u
#define CLAIMS_MAX 12u
#define N_ROOMS 8u
#define N_LOOKUPS 3000u

struct bench {
	uint32_t rounds, process_rounds;
	uint64_t row_budget_ns; /* a row sits out once it used that much */
	char dir[PATH_MAX];	/* of the binaries */
	char tmp[64], address[128], out[128];
	char tcp[64], key[128], client_key[128], clients[128], known[128];
	pid_t agent;
	int lifeline;
	int map_fd;
	uint32_t map_id;
	char map_id_text[12];
	uint32_t *keys; /* room for one local call */
	uint64_t *values;
	uint32_t cap;			  /* entries of both */
	struct bpfleet *session, *remote; /* over ipc, over tcp */
	uint64_t seen, sum;		  /* of the dump just run */
	struct row rows[ROWS_MAX];
	uint32_t n_rows;
	struct process processes[3];
	struct usage idle, after, crowded;
	uint64_t lookup_quiet_ns, lookup_beside_ns;
	uint64_t client_peak;
	struct claim claims[CLAIMS_MAX];
	uint32_t n_claims;
};

/* bench.c */
void die(const char *format, ...)
	__attribute__((noreturn, format(printf, 1, 2)));
uint64_t now_ns(void);
uint64_t median(const uint64_t *ns, uint32_t n);
double ratio(uint64_t a, uint64_t b);
int make_map(uint32_t n, uint32_t *id);

/* agent.c: places and keys first, then the agent, which cleanup ends. */
void find_places(struct bench *b);
void make_keys(const struct bench *b);
void start_agent(struct bench *b);
void cleanup_agent(struct bench *b);
struct usage agent_usage(const struct bench *b);

/* processes.c */
void exec_child(char *const argv[], int out_fd) __attribute__((noreturn));
/* What it printed is in path. Returns: its peak of memory, in bytes */
uint64_t run_program(char *const argv[], const char *path);
void measure_processes(struct bench *b);

/* ways.c */
extern const uint32_t rooms[N_ROOMS];
const struct row *find_row(const struct bench *b, const char *way,
			   uint32_t room);
void measure_dumps(struct bench *b);

/* crowd.c */
void measure_crowd(struct bench *b);

/* report.c */
void make_claims(struct bench *b);
void print_text(const struct bench *b);
void print_json(const struct bench *b, const char *path);

#endif
