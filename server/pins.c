// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * pins - walks the bpf file systems and opens what is pinned there
 */
#include "server/pins.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fts.h>
#include <linux/bpf.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PINS_MAX 16384u
#define DEPTH_MAX 32

/* bpf_obj_get() opens programs and links too. */
static bool
is_map(int fd)
{
	char path[64], target[64];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return false;
	target[n] = '\0';
	return strstr(target, "bpf-map") != NULL;
}

static int
open_pin(const char *path)
{
	LIBBPF_OPTS(bpf_obj_get_opts, opts, .file_flags = BPF_F_RDONLY);
	int fd = bpf_obj_get_opts(path, &opts);

	if (fd < 0)
		return -errno;
	if (!is_map(fd)) {
		close(fd);
		return -EINVAL;
	}
	return fd;
}

static bool
is_beneath(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return !strncmp(path, dir, n) && path[n] == '/';
}

/* Only there is a path opened, or its absence told from its being forbidden:
 * who may read maps need not learn which files this host has.
 */
static bool
is_on_bpffs(const char *path)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	bool found = false;

	if (!mounts)
		return false;
	while (!found && (m = getmntent(mounts)))
		found = !strcmp(m->mnt_type, "bpf") &&
			is_beneath(path, m->mnt_dir);
	endmntent(mounts);
	return found && !strstr(path, "/../");
}

int
bf_pins_open(const char *path)
{
	return is_on_bpffs(path) ? open_pin(path) : -ENOENT;
}

static int
add_pin(struct bf_pins *out, const char *path)
{
	struct bpf_map_info info = {0};
	uint32_t len = sizeof(info);
	struct bf_pin *pins;
	char *copy;
	int fd, err;

	fd = open_pin(path);
	if (fd < 0)
		return 0;
	err = bpf_obj_get_info_by_fd(fd, &info, &len);
	close(fd);
	if (err < 0)
		return 0;
	pins = realloc(out->pins, (out->n + 1) * sizeof(*pins));
	if (!pins)
		return -ENOMEM;
	out->pins = pins;
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	pins[out->n++] = (struct bf_pin){.map_id = info.id, .path = copy};
	return 0;
}

static int
scan_mount(struct bf_pins *out, char *dir)
{
	char *const roots[] = {dir, NULL};
	FTS *fts = fts_open(roots, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR, NULL);
	FTSENT *e;
	int ret = 0;

	if (!fts)
		return 0;
	while (!ret && out->n < PINS_MAX && (e = fts_read(fts))) {
		if (e->fts_level > DEPTH_MAX)
			fts_set(fts, e, FTS_SKIP);
		else if (e->fts_info == FTS_F && e->fts_pathlen < BF_PATH_MAX)
			ret = add_pin(out, e->fts_path);
	}
	fts_close(fts);
	return ret;
}

static int
compare_pins(const void *a, const void *b)
{
	const struct bf_pin *x = a, *y = b;

	if (x->map_id != y->map_id)
		return x->map_id < y->map_id ? -1 : 1;
	return strcmp(x->path, y->path);
}

/* A directory over which bpffs is mounted twice is walked twice. */
static void
drop_twins(struct bf_pins *out)
{
	size_t kept = 0;

	for (size_t i = 0; i < out->n; i++) {
		if (kept && !compare_pins(&out->pins[kept - 1], &out->pins[i]))
			free(out->pins[i].path);
		else
			out->pins[kept++] = out->pins[i];
	}
	out->n = kept;
}

int
bf_pins_scan(struct bf_pins *out)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent *m;
	int ret = 0;

	*out = (struct bf_pins){0};
	if (!mounts)
		return 0;
	while (!ret && (m = getmntent(mounts)))
		if (!strcmp(m->mnt_type, "bpf"))
			ret = scan_mount(out, m->mnt_dir);
	endmntent(mounts);
	if (out->n)
		qsort(out->pins, out->n, sizeof(*out->pins), compare_pins);
	drop_twins(out);
	return ret;
}

void
bf_pins_fini(struct bf_pins *pins)
{
	for (size_t i = 0; i < pins->n; i++)
		free(pins->pins[i].path);
	free(pins->pins);
	*pins = (struct bf_pins){0};
}
