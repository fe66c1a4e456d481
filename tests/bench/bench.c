// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * bench - the bulk-read table on this kernel: complete dumps of a hash map
 * key by key, by local batches and through an agent, also over encrypted tcp;
 * whole processes against bpftool; memory and wake-ups of the agent.  Rounds
 * are interleaved, so that noise hits all rows; only ratios within one run mean
 * anything.  Knows the public header alone.  Needs root.
 */
#include <bpfleet/bpfleet.h>

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define N_ENTRIES 100000u
#define N_LARGE 1000000u
#define CHUNK 4096u
#define ROUNDS_MAX 32u
#define PAGE_BYTES (64u << 20)
#define MIB 1048576.0
#define IDLE_SECONDS 5u

static const char bpftool[] = "/usr/sbin/bpftool";

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
	struct usage idle, after;
	uint64_t client_peak;
	struct claim claims[CLAIMS_MAX];
	uint32_t n_claims;
};

static struct bench bench = {.lifeline = -1, .map_fd = -1};

/* ---------------------------------------------------------------- basics */

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

static void
cleanup(void)
{
	char path[160];

	stop_agent(&bench);
	if (!bench.tmp[0])
		return;
	unlink(bench.out);
	unlink(bench.key);
	unlink(bench.client_key);
	unlink(bench.clients);
	unlink(bench.known);
	snprintf(path, sizeof(path), "%s/run/agent.sock", bench.tmp);
	unlink(path);
	snprintf(path, sizeof(path), "%s/run", bench.tmp);
	rmdir(path);
	rmdir(bench.tmp);
}

/* Nothing is worth reporting after a failure. */
static void __attribute__((noreturn, format(printf, 1, 2)))
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

static uint64_t
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

static uint64_t
median(const uint64_t *ns, uint32_t n)
{
	uint64_t sorted[ROUNDS_MAX];

	if (!n)
		return 0;
	memcpy(sorted, ns, n * sizeof(*ns));
	qsort(sorted, n, sizeof(*sorted), compare_ns);
	return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

/* Key i has the value i + 1, so that a dump's sum is known. */
static int
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

/* ----------------------------------------------------------------- agent */

/* In the child: the program with its stdout in out_fd, or die trying. */
static void __attribute__((noreturn)) exec_child(char *const argv[], int out_fd)
{
	if (out_fd >= 0)
		dup2(out_fd, STDOUT_FILENO);
	execv(argv[0], argv);
	fprintf(stderr, "bench: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* A key for the client, and a line that lets it in. */
static void
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

static void
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

static struct usage
agent_usage(const struct bench *b)
{
	struct usage u = {0};

	add_process(&u, b->agent);
	return u;
}

/* --------------------------------------------------------- ways of reading */

static void
count_values(struct bench *b, const uint64_t *values, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		b->sum += values[i];
	b->seen += n;
}

static void
read_walk(struct bench *b, const struct row *row)
{
	uint32_t key, next;
	uint64_t value;
	void *from = NULL;

	(void)row;
	while (!bpf_map_get_next_key(b->map_fd, from, &next)) {
		key = next;
		from = &key;
		if (bpf_map_lookup_elem(b->map_fd, &key, &value))
			die("lookup: %s", strerror(errno));
		count_values(b, &value, 1);
	}
}

static void
read_local(struct bench *b, const struct row *row)
{
	uint32_t token = 0, next = 0, room = row->room, count;
	bool first = true;

	for (;;) {
		int ret;

		count = room;
		ret = bpf_map_lookup_batch(b->map_fd, first ? NULL : &token,
					   &next, b->keys, b->values, &count,
					   NULL);
		/* A bucket larger than the room: more, for this call. */
		if (ret == -ENOSPC && room * 2 <= b->cap) {
			room *= 2;
			continue;
		}
		if (ret && ret != -ENOENT)
			die("batch lookup: %s", strerror(-ret));
		count_values(b, b->values, count);
		if (ret)
			return;
		token = next;
		first = false;
		room = row->room;
	}
}

static void
read_agent(struct bench *b, const struct row *row)
{
	struct bpfleet_map_ref ref = {sizeof(ref), b->map_id, NULL};
	struct bpfleet_dump_opts opts = {.sz = sizeof(opts),
					 .page_entries = row->room,
					 .page_bytes = PAGE_BYTES};
	const struct bpfleet_page *page;
	struct bpfleet_dump *d = NULL;
	struct bpfleet_error err;
	int ret;

	ret = bpfleet_dump_open(&d, row->way[0] == 't' ? b->remote : b->session,
				&ref, row->room ? &opts : NULL, &err);
	if (ret)
		die("%s", err.message);
	while ((ret = bpfleet_dump_next(d, &page, &err)) > 0) {
		const uint8_t *p = page->values;

		for (uint32_t i = 0; i < page->n; i++, p += sizeof(uint64_t)) {
			uint64_t value;

			memcpy(&value, p, sizeof(value));
			b->sum += value;
		}
		b->seen += page->n;
	}
	if (ret)
		die("%s", err.message);
	bpfleet_dump_close(d);
}

static void
add_row(struct bench *b, const char *way, uint32_t room,
	void (*run)(struct bench *b, const struct row *row))
{
	struct row *row = &b->rows[b->n_rows++];

	row->way = way;
	row->room = room;
	row->run = run;
}

static const uint32_t rooms[] = {1, 2, 230, CHUNK, 5000, 73000, 100000, 234567};
#define N_ROOMS (sizeof(rooms) / sizeof(rooms[0]))

static void
add_rows(struct bench *b)
{
	add_row(b, "walk", 0, read_walk);
	for (size_t i = 0; i < N_ROOMS; i++) {
		add_row(b, "local", rooms[i], read_local);
		add_row(b, "ipc", rooms[i], read_agent);
		if (rooms[i] == CHUNK) {
			add_row(b, "ipc", 0, read_agent);
			add_row(b, "tcp", 0, read_agent);
		}
	}
}

static const struct row *
find_row(const struct bench *b, const char *way, uint32_t room)
{
	for (uint32_t i = 0; i < b->n_rows; i++)
		if (!strcmp(b->rows[i].way, way) && b->rows[i].room == room)
			return &b->rows[i];
	die("no row %s %u", way, room);
}

static void
run_row(struct bench *b, struct row *row)
{
	uint64_t start, ns;

	b->seen = b->sum = 0;
	start = now_ns();
	row->run(b, row);
	ns = now_ns() - start;
	if (b->seen != N_ENTRIES ||
	    b->sum != (uint64_t)N_ENTRIES * (N_ENTRIES + 1) / 2)
		die("%s, room %u: %" PRIu64 " entries, not all", row->way,
		    row->room, b->seen);
	row->ns[row->n++] = ns;
	row->total_ns += ns;
}

static void
measure_rows(struct bench *b)
{
	for (uint32_t r = 0; r < b->rounds; r++) {
		for (uint32_t i = 0; i < b->n_rows; i++) {
			struct row *row = &b->rows[i];

			if (row->total_ns < b->row_budget_ns)
				run_row(b, row);
		}
	}
	for (uint32_t i = 0; i < b->n_rows; i++)
		b->rows[i].median_ns = median(b->rows[i].ns, b->rows[i].n);
}

static void
measure_dumps(struct bench *b)
{
	const struct bpfleet_open_opts opts = {
		.sz = sizeof(opts),
		.key_file = b->client_key,
		.known_agents = b->known,
		.trust_new = 1,
	};
	struct bpfleet_error err;

	b->cap = 4 * rooms[N_ROOMS - 1];
	b->keys = calloc(b->cap, sizeof(*b->keys));
	b->values = calloc(b->cap, sizeof(*b->values));
	if (!b->keys || !b->values)
		die("out of memory");
	/* Touched now, so that no row pays for the first use. */
	memset(b->keys, 1, b->cap * sizeof(*b->keys));
	memset(b->values, 1, b->cap * sizeof(*b->values));
	if (bpfleet_open(&b->session, b->address, NULL, &err) ||
	    bpfleet_open(&b->remote, b->tcp, &opts, &err))
		die("%s", err.message);
	add_rows(b);
	measure_rows(b);
	bpfleet_close(b->session);
	bpfleet_close(b->remote);
	free(b->keys);
	free(b->values);
}

/* --------------------------------------------------------------- processes */

/* Runs to the end; what it printed is in path. */
static struct rusage
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
	return usage;
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

static void
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

/* ------------------------------------------------------------------ memory */

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
	b->client_peak =
		(uint64_t)run_program(argv, "/dev/null").ru_maxrss * 1024;
	b->after = agent_usage(b);
	close(fd);
}

/* ------------------------------------------------------------------ report */

static void
add_claim(struct bench *b, struct claim claim)
{
	b->claims[b->n_claims++] = claim;
}

static double
ratio(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

static bool
claim_met(const struct claim *c)
{
	switch (c->sense) {
	case BELOW:
		return c->value < c->target;
	case AT_MOST:
		return c->value <= c->target;
	default:
		return c->value >= c->target;
	}
}

static void
make_claims(struct bench *b)
{
	uint64_t base = find_row(b, "local", CHUNK)->median_ns;
	uint64_t tool = b->processes[0].median_ns;
	double grown = (double)b->after.peak - (double)b->idle.rss;

	add_claim(b,
		  (struct claim){"ipc_ratio",
				 "ipc, default page / local batch 4096", "x",
				 ratio(find_row(b, "ipc", 0)->median_ns, base),
				 1.25, AT_MOST});
	add_claim(b, (struct claim){
			     "tcp_ratio",
			     "encrypted tcp, default page / local batch", "x",
			     ratio(find_row(b, "tcp", 0)->median_ns, base),
			     1.35, AT_MOST});
	add_claim(b, (struct claim){"process_speedup",
				    "bpfleet -j faster than bpftool -j", "x",
				    ratio(tool, b->processes[1].median_ns), 8,
				    AT_LEAST});
	add_claim(b, (struct claim){"process_agent_speedup",
				    "bpfleet -j -w faster than bpftool -j", "x",
				    ratio(tool, b->processes[2].median_ns), 8,
				    AT_LEAST});
	add_claim(b, (struct claim){"client_peak", "client's peak RSS, 1M csv",
				    "MiB", (double)b->client_peak / MIB, 32,
				    BELOW});
	add_claim(b, (struct claim){"agent_growth",
				    "agent's RSS growth to its peak, 1M", "MiB",
				    grown / MIB, 16, BELOW});
	add_claim(b,
		  (struct claim){"agent_idle",
				 "idle agent's RSS, all "
				 "processes",
				 "MiB", (double)b->idle.rss / MIB, 12, BELOW});
	add_claim(b,
		  (struct claim){"idle_wakeups", "idle agent's wake-ups, 5 s",
				 "", (double)b->idle.switches, 0, AT_MOST});
}

static void
print_cell(const struct bench *b, const struct row *row)
{
	uint64_t walk = find_row(b, "walk", 0)->median_ns;
	uint64_t base = find_row(b, "local", CHUNK)->median_ns;

	printf(" %13" PRIu64 " %+6.0f %% %6.2f", row->median_ns,
	       100 * (ratio(row->median_ns, walk) - 1),
	       ratio(row->median_ns, base));
}

static void
print_rows(const struct bench *b)
{
	const struct row *walk = find_row(b, "walk", 0);
	const struct row *own = find_row(b, "ipc", 0);
	const struct row *remote = find_row(b, "tcp", 0);

	printf("%-11s %13s %8s %6s %13s %8s %6s %s\n", "room", "local, ns", "",
	       "/4096", "ipc, ns", "", "/4096", "rounds");
	printf("%-11s", "key by key");
	print_cell(b, walk);
	printf(" %30s %u\n", "", walk->n);
	for (size_t i = 0; i < N_ROOMS; i++) {
		const struct row *local = find_row(b, "local", rooms[i]);
		const struct row *ipc = find_row(b, "ipc", rooms[i]);

		printf("%-11u", rooms[i]);
		print_cell(b, local);
		print_cell(b, ipc);
		printf(" %u, %u\n", local->n, ipc->n);
	}
	printf("%-11s %29s", "default", "");
	print_cell(b, own);
	printf(" %u\n", own->n);
	printf("%-11s %29s", "tcp, sealed", "");
	print_cell(b, remote);
	printf(" %u\n\n", remote->n);
}

static void
print_processes(const struct bench *b)
{
	printf("%-26s %13s %9s %14s\n", "whole process", "ns", "faster",
	       "output, bytes");
	for (size_t i = 0; i < 3; i++) {
		const struct process *p = &b->processes[i];

		printf("%-26s %13" PRIu64 " %7.1f x %14lld\n", p->name,
		       p->median_ns,
		       ratio(b->processes[0].median_ns, p->median_ns),
		       (long long)p->output_bytes);
	}
	putchar('\n');
}

static void
print_usage_line(const char *name, const struct usage *u)
{
	printf("%-26s %7.1f %7.1f %7.1f %7.1f %7.1f %10u\n", name,
	       (double)u->rss / MIB, (double)u->anon / MIB,
	       (double)u->file / MIB, (double)u->pss / MIB,
	       (double)u->peak / MIB, u->n_processes);
}

static void
print_claims(const struct bench *b)
{
	static const char *const senses[] = {"below", "at most", "at least"};

	for (uint32_t i = 0; i < b->n_claims; i++) {
		const struct claim *c = &b->claims[i];

		printf("%-37s %8.2f %-3s %8s %5.2f: %s\n", c->words, c->value,
		       c->unit, senses[c->sense], c->target,
		       claim_met(c) ? "met" : "MISSED");
	}
}

static void
print_text(const struct bench *b)
{
	struct utsname u;

	uname(&u);
	printf("Linux %s %s, %ld CPUs; complete dumps of a hash map\n"
	       "of %u entries, key 4, value 8 bytes; medians\n\n",
	       u.release, u.machine, sysconf(_SC_NPROCESSORS_ONLN), N_ENTRIES);
	print_rows(b);
	print_processes(b);
	printf("%-26s %7s %7s %7s %7s %7s %10s\n", "agent, MiB", "RSS", "anon",
	       "file", "Pss", "peak", "processes");
	print_usage_line("idle", &b->idle);
	print_usage_line("after a dump of 1M", &b->after);
	putchar('\n');
	print_claims(b);
}

static void
json_rows(const struct bench *b, FILE *f)
{
	uint64_t walk = find_row(b, "walk", 0)->median_ns;
	uint64_t base = find_row(b, "local", CHUNK)->median_ns;

	fputs("\"dumps\":[", f);
	for (uint32_t i = 0; i < b->n_rows; i++) {
		const struct row *row = &b->rows[i];

		fprintf(f,
			"%s{\"way\":\"%s\",\"room\":%u,\"ns\":%" PRIu64
			",\"rounds\":%u,\"to_walk\":%.4f,"
			"\"to_local_4096\":%.4f}",
			i ? "," : "", row->way, row->room, row->median_ns,
			row->n, ratio(row->median_ns, walk),
			ratio(row->median_ns, base));
	}
	fputs("],\"processes\":[", f);
	for (size_t i = 0; i < 3; i++) {
		const struct process *p = &b->processes[i];

		fprintf(f,
			"%s{\"name\":\"%s\",\"ns\":%" PRIu64
			",\"rounds\":%u,\"output_bytes\":%lld}",
			i ? "," : "", p->name, p->median_ns, p->n,
			(long long)p->output_bytes);
	}
	fputs("],", f);
}

static void
json_usage(const char *name, const struct usage *u, FILE *f)
{
	fprintf(f,
		"\"%s\":{\"rss_bytes\":%" PRIu64 ",\"anon_bytes\":%" PRIu64
		",\"file_bytes\":%" PRIu64 ",\"pss_bytes\":%" PRIu64
		",\"peak_bytes\":%" PRIu64 ",\"processes\":%u},",
		name, u->rss, u->anon, u->file, u->pss, u->peak,
		u->n_processes);
}

static void
print_json(const struct bench *b, const char *path)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "we") : stdout;
	struct utsname u;

	if (!f)
		die("%s: %s", path, strerror(errno));
	uname(&u);
	fprintf(f, "{\"kernel\":\"%s\",\"entries\":%u,", u.release, N_ENTRIES);
	json_rows(b, f);
	json_usage("agent_idle", &b->idle, f);
	json_usage("agent_after", &b->after, f);
	fputs("\"targets\":[", f);
	for (uint32_t i = 0; i < b->n_claims; i++) {
		const struct claim *c = &b->claims[i];

		fprintf(f,
			"%s{\"name\":\"%s\",\"value\":%.4f,\"unit\":\"%s\","
			"\"target\":%g,\"met\":%s}",
			i ? "," : "", c->key, c->value, c->unit, c->target,
			claim_met(c) ? "true" : "false");
	}
	fputs("]}\n", f);
	if (f != stdout && fclose(f))
		die("%s: %s", path, strerror(errno));
}

/* -------------------------------------------------------------------- main */

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

static void
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
