// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * bpfdemo - load the demo's eBPF programs and leave them running
 *
 * The objects are embedded.  Each map is pinned as DIR/<map> and each link
 * as DIR/links/<program>, so they outlive this process until "unload" takes
 * the pins away.  Prints a line for each map and link; reads no map.
 */
#include <errno.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/magic.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "biolat.skel.h"
#include "flows.skel.h"
#include "syscalls.skel.h"

#define BPFFS "/sys/fs/bpf"
#define TRACEFS "/sys/kernel/tracing"
#define TRACEFS_OLD "/sys/kernel/debug/tracing"
#define KERNEL_ENOTSUPP 524 /* the kernel's own; errno.h does not have it */

struct object {
	const char *name;
	const void *(*get_elf)(size_t *size);
	bool needs_ifname;
};

static const struct object objects[] = {
	{"flows", flows_bpf__elf_bytes, true},
	{"syscalls", syscalls_bpf__elf_bytes, false},
	{"biolat", biolat_bpf__elf_bytes, false},
};

#define N_OBJECTS (sizeof(objects) / sizeof(objects[0]))

struct options {
	const char *dir;
	const char *ifname; /* NULL: not given */
};

/* The first thing that went wrong with an object, in one line; "" = nothing. */
static char reason[256];
static bool verbose;

__attribute__((format(printf, 1, 2))) static void
set_reason(const char *fmt, ...)
{
	va_list args;

	if (reason[0])
		return;
	va_start(args, fmt);
	vsnprintf(reason, sizeof(reason), fmt, args);
	va_end(args);
}

static const char *
error_text(int err)
{
	return err == -KERNEL_ENOTSUPP ? "not supported by this kernel"
				       : strerror(-err);
}

/*
 * What libbpf warns of first is the cause, the rest is the verifier's log;
 * but for the memlock limit, which rarely matters since Linux 5.11.
 */
__attribute__((format(printf, 2, 0))) static int
on_libbpf_message(enum libbpf_print_level level, const char *fmt, va_list args)
{
	static const char prefix[] = "libbpf: ";
	char line[sizeof(reason)];
	va_list copy;

	if (verbose && level != LIBBPF_DEBUG) {
		va_copy(copy, args);
		vfprintf(stderr, fmt, copy);
		va_end(copy);
	}
	if (level != LIBBPF_WARN || reason[0])
		return 0;
	vsnprintf(line, sizeof(line), fmt, args);
	line[strcspn(line, "\n")] = '\0';
	if (strstr(line, "Failed to bump RLIMIT_MEMLOCK"))
		return 0;
	if (strncmp(line, prefix, sizeof(prefix) - 1) == 0)
		set_reason("%s", line + sizeof(prefix) - 1);
	else
		set_reason("%s", line);
	return 0;
}

static int
make_path(char *path, const char *dir, const char *sub, const char *name)
{
	int n = snprintf(path, PATH_MAX, "%s/%s%s", dir, sub, name);

	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

static int
pin_map(const struct bpf_map *map, const char *dir)
{
	const char *name = bpf_map__name(map);
	char path[PATH_MAX];
	int err;

	err = make_path(path, dir, "", name);
	if (!err)
		err = bpf_obj_pin(bpf_map__fd(map), path);
	if (err)
		set_reason("pinning map %s: %s", name, error_text(err));
	return err;
}

/*
 * Generic mode is asked for by name: without it the kernel would choose the
 * driver's own, which on a veth also depends on the other end.
 */
static int
attach_xdp(const struct bpf_program *prog, const char *ifname)
{
	const struct bpf_link_create_opts opts = {
		.sz = sizeof(opts),
		.flags = XDP_FLAGS_SKB_MODE,
	};
	unsigned int ifindex = if_nametoindex(ifname);
	int fd;

	if (!ifindex) {
		set_reason("interface %s: %s", ifname, strerror(errno));
		return -ENODEV;
	}
	fd = bpf_link_create(bpf_program__fd(prog), (int)ifindex, BPF_XDP,
			     &opts);
	if (fd < 0)
		set_reason("attaching to %s: %s", ifname, error_text(fd));
	return fd;
}

/* Returns: an fd that stays open until exit; after that the pin is enough. */
static int
attach_program(const struct bpf_program *prog, const struct options *options)
{
	struct bpf_link *link;
	int fd;

	if (bpf_program__type(prog) == BPF_PROG_TYPE_XDP)
		return attach_xdp(prog, options->ifname);
	link = bpf_program__attach(prog);
	if (!link) {
		set_reason("attaching %s: %s", bpf_program__name(prog),
			   error_text(-errno));
		return -EIO;
	}
	fd = bpf_link__fd(link);
	bpf_link__disconnect(link); /* destroying it must not detach */
	bpf_link__destroy(link);
	return fd;
}

static int
pin_link(const struct bpf_program *prog, const struct options *options)
{
	const char *name = bpf_program__name(prog);
	char path[PATH_MAX];
	int fd, err;

	fd = attach_program(prog, options);
	if (fd < 0)
		return fd;
	err = make_path(path, options->dir, "links/", name);
	if (!err)
		err = bpf_obj_pin(fd, path);
	if (err) /* before Linux 5.15 a tracepoint has no link to pin */
		set_reason("pinning link %s: %s", name, error_text(err));
	return err;
}

static struct bpf_object *
open_object(const struct object *object)
{
	const struct bpf_object_open_opts opts = {
		.sz = sizeof(opts),
		.object_name = object->name,
	};
	const void *elf;
	size_t size;

	elf = object->get_elf(&size);
	return bpf_object__open_mem(elf, size, &opts);
}

/* Returns: how many pins were there and are gone, or -errno. */
static int
remove_pin(const char *dir, const char *sub, const char *name)
{
	char path[PATH_MAX];
	int err;

	err = make_path(path, dir, sub, name);
	if (err)
		return err;
	if (unlink(path) == 0)
		return 1;
	if (errno == ENOENT)
		return 0;
	err = -errno;
	fprintf(stderr, "bpfdemo: removing %s: %s\n", path, strerror(-err));
	return err;
}

/* Links go first, so that no program runs on maps that are half gone. */
static int
unpin_object(const struct bpf_object *obj, const char *dir)
{
	struct bpf_program *prog = NULL;
	struct bpf_map *map = NULL;
	int n, n_removed = 0, err = 0;

	while ((prog = bpf_object__next_program(obj, prog))) {
		n = remove_pin(dir, "links/", bpf_program__name(prog));
		n_removed += n > 0 ? n : 0;
		err = n < 0 ? n : err;
	}
	while ((map = bpf_object__next_map(obj, map))) {
		n = remove_pin(dir, "", bpf_map__name(map));
		n_removed += n > 0 ? n : 0;
		err = n < 0 ? n : err;
	}
	return err ? err : n_removed;
}

static int
pin_object(struct bpf_object *obj, const struct options *options)
{
	struct bpf_program *prog = NULL;
	struct bpf_map *map = NULL;
	int err;

	err = bpf_object__load(obj);
	if (err) {
		set_reason("loading: %s", error_text(err));
		return err;
	}
	while ((map = bpf_object__next_map(obj, map))) {
		err = pin_map(map, options->dir);
		if (err)
			return err;
	}
	while ((prog = bpf_object__next_program(obj, prog))) {
		err = pin_link(prog, options);
		if (err)
			return err;
	}
	return 0;
}

static int
print_pin(const char *kind, const char *dir, const char *sub, const char *name)
{
	/* How both bpf_map_info and bpf_link_info begin. */
	struct {
		__u32 type;
		__u32 id;
	} info = {0};
	__u32 len = sizeof(info);
	char path[PATH_MAX];
	int fd, err;

	err = make_path(path, dir, sub, name);
	if (err)
		return err;
	fd = bpf_obj_get(path);
	if (fd < 0) {
		set_reason("%s: %s", path, error_text(fd));
		return fd;
	}
	err = bpf_obj_get_info_by_fd(fd, &info, &len);
	close(fd);
	if (!err)
		printf("%s %s id %u pinned %s\n", kind, name, info.id, path);
	return err;
}

/* Looks the pins up again: what is printed is what others will find. */
static int
print_object(const struct bpf_object *obj, const char *dir)
{
	struct bpf_program *prog = NULL;
	struct bpf_map *map = NULL;
	int err = 0;

	while ((map = bpf_object__next_map(obj, map))) {
		if (!err)
			err = print_pin("map", dir, "", bpf_map__name(map));
	}
	while ((prog = bpf_object__next_program(obj, prog))) {
		if (!err)
			err = print_pin("link", dir, "links/",
					bpf_program__name(prog));
	}
	return err;
}

/* All of an object or nothing; a failure is reported here. */
static int
load_object(const struct object *object, const struct options *options)
{
	struct bpf_object *obj;
	int err;

	reason[0] = '\0';
	if (object->needs_ifname && !options->ifname) {
		fprintf(stderr, "bpfdemo: %s: skipped, no --ifname given\n",
			object->name);
		return -ENODEV;
	}
	obj = open_object(object);
	err = obj ? pin_object(obj, options) : -errno;
	if (!err)
		err = print_object(obj, options->dir);
	if (err) {
		set_reason("%s", error_text(err));
		fprintf(stderr, "bpfdemo: %s: not loaded: %s\n", object->name,
			reason);
	}
	if (err && obj)
		unpin_object(obj, options->dir);
	bpf_object__close(obj);
	return err;
}

/* What is missing is mounted and stays: other tools look there as well. */
static int
mount_filesystems(const char *dir)
{
	char copy[PATH_MAX];
	struct statfs fs;
	const char *parent;

	if (access(TRACEFS "/events", F_OK) != 0 &&
	    access(TRACEFS_OLD "/events", F_OK) != 0 &&
	    mount("tracefs", TRACEFS, "tracefs", 0, NULL) != 0)
		fprintf(stderr, "bpfdemo: mounting %s: %s\n", TRACEFS,
			strerror(errno));

	if (snprintf(copy, sizeof(copy), "%s", dir) >= (int)sizeof(copy)) {
		fprintf(stderr, "bpfdemo: --dir is too long\n");
		return -ENAMETOOLONG;
	}
	parent = dirname(copy);
	if (statfs(parent, &fs) != 0) {
		fprintf(stderr, "bpfdemo: %s: %s\n", parent, strerror(errno));
		return -ENOENT;
	}
	if ((unsigned long)fs.f_type == BPF_FS_MAGIC)
		return 0;
	if (strcmp(parent, BPFFS) != 0) {
		fprintf(stderr, "bpfdemo: %s is not a bpf filesystem\n",
			parent);
		return -EINVAL;
	}
	if (mount("bpf", BPFFS, "bpf", 0, "mode=0700") != 0) {
		fprintf(stderr, "bpfdemo: mounting %s: %s\n", BPFFS,
			strerror(errno));
		return -EPERM;
	}
	return 0;
}

static int
make_directories(const char *dir)
{
	char links[PATH_MAX];
	int err;

	err = make_path(links, dir, "links", "");
	if (!err && mkdir(dir, 0755) != 0)
		err = -errno;
	if (err == -EEXIST) {
		fprintf(stderr, "bpfdemo: %s exists: unload it first\n", dir);
		return err;
	}
	if (!err && mkdir(links, 0755) != 0)
		err = -errno;
	if (err)
		fprintf(stderr, "bpfdemo: making %s: %s\n", dir,
			strerror(-err));
	return err;
}

/* Fails if anything but ours is in there; a missing one is no failure. */
static int
remove_directories(const char *dir)
{
	char links[PATH_MAX];
	int err;

	err = make_path(links, dir, "links", "");
	if (!err && rmdir(links) != 0 && errno != ENOENT)
		err = -errno;
	if (!err && rmdir(dir) != 0 && errno != ENOENT)
		err = -errno;
	if (err)
		fprintf(stderr, "bpfdemo: removing %s: %s\n", dir,
			strerror(-err));
	return err;
}

static int
run_load(const struct options *options)
{
	size_t i, n_loaded = 0;

	if (mount_filesystems(options->dir) || make_directories(options->dir))
		return EXIT_FAILURE;
	for (i = 0; i < N_OBJECTS; i++)
		n_loaded += load_object(&objects[i], options) == 0;
	printf("loaded %zu of %zu objects\n", n_loaded, N_OBJECTS);
	if (n_loaded)
		return EXIT_SUCCESS;
	remove_directories(options->dir);
	return EXIT_FAILURE;
}

static int
run_unload(const struct options *options)
{
	int n, n_removed = 0, err = 0;
	struct bpf_object *obj;
	size_t i;

	for (i = 0; i < N_OBJECTS; i++) {
		obj = open_object(&objects[i]);
		n = obj ? unpin_object(obj, options->dir) : -errno;
		n_removed += n > 0 ? n : 0;
		err = n < 0 ? n : err;
		bpf_object__close(obj);
	}
	if (remove_directories(options->dir) || err)
		return EXIT_FAILURE;
	printf("removed %d pins from %s\n", n_removed, options->dir);
	return EXIT_SUCCESS;
}

static void
print_usage(FILE *out)
{
	fprintf(out,
		"usage: bpfdemo load [--dir DIR] [--ifname IF] [--verbose]\n"
		"       bpfdemo unload [--dir DIR]\n"
		"\n"
		"  --dir DIR     where to pin (" BPFFS "/bpfleet-demo)\n"
		"  --ifname IF   interface whose IPv4 flows are counted\n"
		"  --verbose     print what libbpf and the verifier say\n");
}

int
main(int argc, char **argv)
{
	static const struct option longopts[] = {
		{"dir", required_argument, NULL, 'd'},
		{"ifname", required_argument, NULL, 'i'},
		{"verbose", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	struct options options = {.dir = BPFFS "/bpfleet-demo"};
	const char *command;
	int c;

	while ((c = getopt_long(argc, argv, "d:i:vh", longopts, NULL)) != -1) {
		switch (c) {
		case 'd':
			options.dir = optarg;
			break;
		case 'i':
			options.ifname = optarg;
			break;
		case 'v':
			verbose = true;
			break;
		case 'h':
			print_usage(stdout);
			return EXIT_SUCCESS;
		default:
			print_usage(stderr);
			return 2;
		}
	}
	command = argc - optind == 1 ? argv[optind] : "";
	libbpf_set_print(on_libbpf_message);
	if (strcmp(command, "load") == 0)
		return run_load(&options);
	if (strcmp(command, "unload") == 0)
		return run_unload(&options);
	print_usage(stderr);
	return 2;
}
