// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * report - what is promised, what this run kept of it, and all figures
 */
#include "tests/bench/bench.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static void
add_claim(struct bench *b, struct claim claim)
{
	b->claims[b->n_claims++] = claim;
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

void
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
	add_claim(b,
		  (struct claim){"crowd_ratio",
				 "lookup beside 2,050 strangers / alone", "x",
				 ratio(b->lookup_beside_ns, b->lookup_quiet_ns),
				 3, BELOW});
	add_claim(b,
		  (struct claim){"crowd_rss", "agent's RSS beside them", "MiB",
				 (double)b->crowded.rss / MIB, 64, BELOW});
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

void
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
	print_usage_line("beside 2,050 strangers", &b->crowded);
	printf("\nlookup over tcp: %" PRIu64 " ns alone, %" PRIu64
	       " ns beside them\n\n",
	       b->lookup_quiet_ns, b->lookup_beside_ns);
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

void
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
	json_usage("agent_crowded", &b->crowded, f);
	fprintf(f,
		"\"lookup_alone_ns\":%" PRIu64 ",\"lookup_crowded_ns\":%" PRIu64
		",",
		b->lookup_quiet_ns, b->lookup_beside_ns);
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
