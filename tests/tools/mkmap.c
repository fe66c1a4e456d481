// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * mkmap - make, fill, hold, pin and change eBPF maps for shell tests
 *
 * Reads the command line and prints "id N" once a map is ready.  Exit status:
 * 0 done, 77 this kernel cannot do it (a test should skip), 1 anything else.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "mkmap.h"

static const char usage_text[] =
	"usage: mkmap [OPTION]... TYPE\n"
	"       mkmap churn --id N --keys LO:HI [--threads T] [--seconds S]\n"
	"                   [--replace]\n"
	"       mkmap delete --id N --key-index I\n"
	"       mkmap update --id N --key-index I --value-index J\n"
	"       mkmap types\n"
	"\n"
	"TYPE is a name as in bpftool, or a number.\n"
	"  --name NAME       name of the map (default: none)\n"
	"  --key-size N      --value-size N      --max-entries N\n"
	"  --flags 0xN       added to what the type cannot do without\n"
	"  --fill N          number of entries (default: none)\n"
	"  --seed N          index of the first entry (default: 0)\n"
	"  --value-seed N    the same for values only (default: --seed)\n"
	"  --pin PATH        pin the map; it stays when mkmap exits\n"
	"  --hold            stay until SIGTERM or the end of stdin\n"
	"                    (only SIGTERM if stdin is /dev/null)\n";

enum opt {
	OPT_NAME = 256,
	OPT_PIN,
	OPT_KEY_SIZE,
	OPT_VALUE_SIZE,
	OPT_MAX_ENTRIES,
	OPT_FILL,
	OPT_FLAGS,
	OPT_SEED,
	OPT_VALUE_SEED,
	OPT_HOLD,
	OPT_ID,
	OPT_KEYS,
	OPT_KEY_INDEX,
	OPT_VALUE_INDEX,
	OPT_THREADS,
	OPT_SECONDS,
	OPT_REPLACE,
};

static const struct option create_opts[] = {
	{"name", required_argument, NULL, OPT_NAME},
	{"pin", required_argument, NULL, OPT_PIN},
	{"key-size", required_argument, NULL, OPT_KEY_SIZE},
	{"value-size", required_argument, NULL, OPT_VALUE_SIZE},
	{"max-entries", required_argument, NULL, OPT_MAX_ENTRIES},
	{"fill", required_argument, NULL, OPT_FILL},
	{"flags", required_argument, NULL, OPT_FLAGS},
	{"seed", required_argument, NULL, OPT_SEED},
	{"value-seed", required_argument, NULL, OPT_VALUE_SEED},
	{"hold", no_argument, NULL, OPT_HOLD},
	{NULL, 0, NULL, 0},
};

static const struct option change_opts[] = {
	{"id", required_argument, NULL, OPT_ID},
	{"keys", required_argument, NULL, OPT_KEYS},
	{"key-index", required_argument, NULL, OPT_KEY_INDEX},
	{"value-index", required_argument, NULL, OPT_VALUE_INDEX},
	{"threads", required_argument, NULL, OPT_THREADS},
	{"seconds", required_argument, NULL, OPT_SECONDS},
	{"replace", no_argument, NULL, OPT_REPLACE},
	{NULL, 0, NULL, 0},
};

/* What the command line of a creation asks for; -1: not given. */
struct create_args {
	const char *name;
	const char *pin;
	int64_t key_size;
	int64_t value_size;
	int64_t max_entries;
	uint64_t flags;
	uint64_t fill;
	uint64_t seed;
	uint64_t value_seed;
	bool value_seed_given;
	bool hold;
};

int
mk_fail(int status, const char *fmt, ...)
{
	va_list ap;

	fputs("mkmap: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return status;
}

const char *
mk_strerror(int err)
{
	return err == MK_ENOTSUPP ? "Not supported by this map type"
				  : strerror(err);
}

/* Is this errno "the kernel has no such thing" or a failure? */
int
mk_status(int err)
{
	switch (err) {
	case MK_ENOTSUPP:
	case EOPNOTSUPP:
	case EAFNOSUPPORT:
	case EPROTONOSUPPORT:
	case ENOSYS:
	case EPERM:
	case EACCES:
		return MK_SKIP;
	default:
		return MK_ERROR;
	}
}

static int
parse_u64(const char *text, uint64_t max, uint64_t *out)
{
	char *end = NULL;
	unsigned long long n = 0;

	errno = 0;
	n = strtoull(text, &end, 0);
	if (errno || end == text || *end || *text == '-' || n > max)
		return mk_fail(MK_ERROR, "\"%s\" is not a number up to %llu",
			       text, (unsigned long long)max);
	*out = n;
	return MK_OK;
}

static int
parse_size(const char *text, int64_t *out)
{
	uint64_t n = 0;

	if (parse_u64(text, UINT32_MAX, &n))
		return MK_ERROR;
	*out = (int64_t)n;
	return MK_OK;
}

static int
parse_range(char *text, struct mk_change *c)
{
	char *colon = strchr(text, ':');

	if (!colon)
		return mk_fail(MK_ERROR, "--keys wants LO:HI, not \"%s\"",
			       text);
	*colon = '\0';
	if (parse_u64(text, INT64_MAX, &c->lo) ||
	    parse_u64(colon + 1, INT64_MAX, &c->hi))
		return MK_ERROR;
	if (c->lo >= c->hi)
		return mk_fail(MK_ERROR, "--keys LO:HI wants LO below HI");
	return MK_OK;
}

static int
parse_seconds(const char *text, double *out)
{
	char *end = NULL;
	double n = strtod(text, &end);

	if (end == text || *end || !(n > 0 && n < 86400))
		return mk_fail(MK_ERROR, "--seconds: bad number \"%s\"", text);
	*out = n;
	return MK_OK;
}

static int
parse_create_opt(int opt, struct create_args *a)
{
	switch (opt) {
	case OPT_NAME:
		a->name = optarg;
		return MK_OK;
	case OPT_PIN:
		a->pin = optarg;
		return MK_OK;
	case OPT_KEY_SIZE:
		return parse_size(optarg, &a->key_size);
	case OPT_VALUE_SIZE:
		return parse_size(optarg, &a->value_size);
	case OPT_MAX_ENTRIES:
		return parse_size(optarg, &a->max_entries);
	case OPT_FILL:
		return parse_u64(optarg, UINT32_MAX, &a->fill);
	case OPT_FLAGS:
		return parse_u64(optarg, UINT32_MAX, &a->flags);
	case OPT_SEED:
		return parse_u64(optarg, INT64_MAX, &a->seed);
	case OPT_VALUE_SEED:
		a->value_seed_given = true;
		return parse_u64(optarg, INT64_MAX, &a->value_seed);
	case OPT_HOLD:
		a->hold = true;
		return MK_OK;
	default:
		return MK_ERROR;
	}
}

static uint32_t
default_entries(const struct mk_type *t, const struct create_args *a)
{
	uint64_t n = 0;

	switch (t->grow) {
	case MK_GROW_NO:
		break;
	case MK_GROW_COUNT:
		n = a->fill;
		break;
	case MK_GROW_INDEX:
		n = a->seed + a->fill;
		break;
	case MK_GROW_SLOTS:
		n = a->seed + 2 * a->fill;
		break;
	}
	if (n > UINT32_MAX)
		n = UINT32_MAX;
	return n > t->max_entries ? (uint32_t)n : t->max_entries;
}

static void
map_init(struct mk_map *m, const struct mk_type *t, const struct create_args *a)
{
	memset(m, 0, sizeof(*m));
	m->fd = -1;
	mk_keep_init(&m->keep);
	m->type = t;
	m->name = a->name;
	m->key_size = a->key_size < 0 ? t->key_size : (uint32_t)a->key_size;
	m->value_size =
		a->value_size < 0 ? t->value_size : (uint32_t)a->value_size;
	m->max_entries = a->max_entries < 0 ? default_entries(t, a)
					    : (uint32_t)a->max_entries;
	m->flags = t->flags | (uint32_t)a->flags;
	m->fill = a->fill;
	m->seed = a->seed;
	m->value_seed = a->value_seed_given ? a->value_seed : a->seed;
}

/* Blocks the signals that end a hold; they are read from the fd returned. */
static int
watch_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -1;
	return signalfd(-1, &set, SFD_CLOEXEC);
}

/* A job in the background of a script has /dev/null: that is no end. */
static bool
stdin_is_null(void)
{
	struct stat st;

	return fstat(STDIN_FILENO, &st) ||
	       (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3));
}

static int
hold(int sig_fd)
{
	struct pollfd p[2] = {{.fd = sig_fd, .events = POLLIN},
			      {.fd = STDIN_FILENO, .events = POLLIN}};
	nfds_t n = stdin_is_null() ? 1 : 2;
	char buf[4096];
	ssize_t len = -1;

	for (;;) {
		if (poll(p, n, -1) < 0) {
			if (errno == EINTR)
				continue;
			return mk_fail(MK_ERROR, "poll: %s", strerror(errno));
		}
		if (p[0].revents)
			return MK_OK;
		if (n < 2 || !p[1].revents)
			continue;
		len = read(STDIN_FILENO, buf, sizeof(buf));
		if (len == 0 || (len < 0 && errno != EINTR && errno != EAGAIN))
			return MK_OK;
	}
}

static int
check_create(const struct mk_type *t, const struct create_args *a)
{
	if (!a->pin && !a->hold)
		return mk_fail(MK_ERROR, "the map would vanish at once: "
					 "give --pin PATH or --hold");
	if (a->fill && !t->fill)
		return mk_fail(MK_ERROR, "%s: cannot be filled", t->name);
	if (a->fill && t->needs_hold && !a->hold)
		return mk_fail(MK_ERROR,
			       "%s: entries would vanish with this "
			       "process: give --hold",
			       t->name);
	return MK_OK;
}

static int
create(const struct mk_type *t, const struct create_args *a)
{
	struct mk_map m;
	int sig_fd = -1;
	int status = MK_ERROR;

	map_init(&m, t, a);
	status = check_create(t, a);
	if (status)
		goto out;
	sig_fd = watch_signals();
	if (sig_fd < 0) {
		status = mk_fail(MK_ERROR, "signalfd: %s", strerror(errno));
		goto out;
	}
	status = mk_map_create(&m);
	if (status)
		goto out;
	if (m.fill) {
		status = t->fill(&m);
		if (status)
			goto out;
	}
	if (a->pin && bpf_obj_pin(m.fd, a->pin)) {
		status = mk_fail(MK_ERROR, "pin %s: %s", a->pin,
				 strerror(errno));
		goto out;
	}
	printf("id %u\n", m.id);
	fflush(stdout);
	if (a->hold)
		status = hold(sig_fd);
out:
	mk_keep_fini(&m.keep);
	if (m.fd >= 0)
		close(m.fd);
	if (sig_fd >= 0)
		close(sig_fd);
	return status;
}

static int
cmd_create(int argc, char **argv)
{
	struct create_args a = {
		.key_size = -1, .value_size = -1, .max_entries = -1};
	struct mk_type unknown = {.fill = NULL};
	const struct mk_type *t = NULL;
	uint64_t number = 0;
	int opt = -1;

	while ((opt = getopt_long(argc, argv, "", create_opts, NULL)) != -1)
		if (parse_create_opt(opt, &a))
			return MK_ERROR;
	if (optind + 1 != argc)
		return mk_fail(MK_ERROR, "one TYPE is wanted (see --help)");
	t = mk_type_find(argv[optind]);
	if (!t && argv[optind][0] >= '0' && argv[optind][0] <= '9') {
		if (parse_u64(argv[optind], UINT32_MAX, &number))
			return MK_ERROR;
		unknown.name = argv[optind];
		unknown.type = (uint32_t)number;
		unknown.key_size = 4;
		unknown.value_size = 8;
		unknown.max_entries = 16;
		t = &unknown;
	}
	if (!t)
		return mk_fail(MK_ERROR, "unknown map type \"%s\"",
			       argv[optind]);
	return create(t, &a);
}

static int
parse_change_opt(int opt, struct mk_change *c)
{
	uint64_t n = 0;
	int status = MK_ERROR;

	switch (opt) {
	case OPT_ID:
		status = parse_u64(optarg, UINT32_MAX, &n);
		c->id = (uint32_t)n;
		return status;
	case OPT_KEYS:
		return parse_range(optarg, c);
	case OPT_KEY_INDEX:
		status = parse_u64(optarg, INT64_MAX, &c->lo);
		c->hi = c->lo + 1;
		return status;
	case OPT_VALUE_INDEX:
		return parse_u64(optarg, INT64_MAX, &c->value_index);
	case OPT_THREADS:
		status = parse_u64(optarg, 1024, &n);
		c->n_threads = (unsigned)n;
		return status;
	case OPT_SECONDS:
		return parse_seconds(optarg, &c->seconds);
	case OPT_REPLACE:
		c->replace = true;
		return MK_OK;
	default:
		return MK_ERROR;
	}
}

static int
cmd_change(int argc, char **argv, int (*run)(const struct mk_change *c))
{
	struct mk_change c = {.n_threads = 1, .seconds = 1};
	bool value_given = false;
	int opt = -1;

	while ((opt = getopt_long(argc, argv, "", change_opts, NULL)) != -1) {
		if (parse_change_opt(opt, &c))
			return MK_ERROR;
		value_given = value_given || opt == OPT_VALUE_INDEX;
	}
	if (optind != argc)
		return mk_fail(MK_ERROR, "what is \"%s\"?", argv[optind]);
	if (!c.id || !c.hi || !c.n_threads)
		return mk_fail(MK_ERROR, "--id N and %s are wanted",
			       run == mk_churn ? "--keys LO:HI"
					       : "--key-index I");
	if (run == mk_update && !value_given)
		return mk_fail(MK_ERROR, "--value-index J is wanted");
	return run(&c);
}

static int
cmd_types(void)
{
	const struct mk_type *t = NULL;

	for (t = mk_types; t->name; t++)
		printf("%u %s\n", t->type, t->name);
	return MK_OK;
}

/* So that no map or socket gets the number of a standard stream. */
static void
open_std_fds(void)
{
	int fd = -1;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int
main(int argc, char **argv)
{
	struct rlimit lim;
	const char *cmd = argc > 1 ? argv[1] : "--help";

	open_std_fds();
	libbpf_set_print(NULL);
	if (!getrlimit(RLIMIT_NOFILE, &lim)) {
		lim.rlim_cur = lim.rlim_max;
		setrlimit(RLIMIT_NOFILE, &lim);
	}
	if (!strcmp(cmd, "--help") || !strcmp(cmd, "-h")) {
		fputs(usage_text, argc > 1 ? stdout : stderr);
		return argc > 1 ? MK_OK : MK_ERROR;
	}
	if (!strcmp(cmd, "types"))
		return cmd_types();
	if (!strcmp(cmd, "churn"))
		return cmd_change(argc - 1, argv + 1, mk_churn);
	if (!strcmp(cmd, "delete"))
		return cmd_change(argc - 1, argv + 1, mk_delete);
	if (!strcmp(cmd, "update"))
		return cmd_change(argc - 1, argv + 1, mk_update);
	return cmd_create(argc, argv);
}
