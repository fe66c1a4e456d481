// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * landlock - takes files and ports away from the calling thread
 *
 * The numbers are of include/uapi/linux/landlock.h; headers of a distribution
 * are older than the kernels it runs on.
 */
#include "server/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CREATE_VERSION 1u
#define RULE_PATH 1
#define RULE_PORT 2
#define FS_READ_FILE (1ull << 2)
#define FS_MAKE_SOCK (1ull << 9)
#define NET_BIND_TCP (1ull << 0)
#define NET_CONNECT_TCP (1ull << 1)
#define SCOPE_ABSTRACT_SOCKETS (1ull << 0)
#define SCOPE_SIGNALS (1ull << 1)

/* glibc counts the CPUs here. */
#define CPU_DIR "/sys/devices/system/cpu"

struct ruleset {
	uint64_t fs, net, scoped;
};

struct path_rule {
	uint64_t allowed;
	int32_t fd;
} __attribute__((packed));

struct port_rule {
	uint64_t allowed, port;
};

int
bf_landlock_version(void)
{
	long v = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);

	return v < 0 ? 0 : (int)v;
}

/* All that a version can forbid. */
static struct ruleset
everything(int version, size_t *size)
{
	struct ruleset r = {
		.fs = (1ull << 13) - 1,
		.net = NET_BIND_TCP | NET_CONNECT_TCP,
		.scoped = SCOPE_ABSTRACT_SOCKETS | SCOPE_SIGNALS,
	};

	if (version >= 2)
		r.fs |= 1ull << 13; /* REFER */
	if (version >= 3)
		r.fs |= 1ull << 14; /* TRUNCATE */
	if (version >= 5)
		r.fs |= 1ull << 15; /* IOCTL_DEV */
	*size = sizeof(r);
	if (version < 6)
		*size = offsetof(struct ruleset, scoped);
	if (version < 4)
		*size = offsetof(struct ruleset, net);
	return r;
}

static int
allow_beneath(int ruleset, const char *dir, uint64_t what)
{
	struct path_rule rule = {.allowed = what};
	long ret;

	rule.fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (rule.fd < 0)
		return -errno;
	ret = syscall(SYS_landlock_add_rule, ruleset, RULE_PATH, &rule, 0);
	ret = ret < 0 ? -errno : 0;
	close(rule.fd);
	return (int)ret;
}

static int
allow_port(int ruleset, const char *url)
{
	const char *colon = strrchr(url, ':');
	struct port_rule rule = {
		.allowed = NET_BIND_TCP,
		.port = strtoul(colon + 1, NULL, 10),
	};

	if (syscall(SYS_landlock_add_rule, ruleset, RULE_PORT, &rule, 0) < 0)
		return -errno;
	return 0;
}

static int
allow_socket(int ruleset, const char *path)
{
	const char *slash = strrchr(path, '/');
	char *dir = strndup(path, slash == path ? 1 : (size_t)(slash - path));
	int ret = dir ? allow_beneath(ruleset, dir, FS_MAKE_SOCK) : -ENOMEM;

	free(dir);
	return ret;
}

int
bf_landlock_enter(const char *const *urls, size_t n_urls, struct bf_err *err)
{
	int version = bf_landlock_version(), ret = 0, fd;
	size_t size;
	struct ruleset r = everything(version, &size);

	if (!version)
		return bf_err_set(err, ENOSYS, "this kernel has no landlock");
	fd = (int)syscall(SYS_landlock_create_ruleset, &r, size, 0);
	if (fd < 0)
		return bf_err_set(err, errno, "cannot make a ruleset: %s",
				  bf_err_str(errno));
	for (size_t i = 0; i < n_urls && !ret; i++) {
		if (!strncmp(urls[i], "ipc:///", 7))
			ret = allow_socket(fd, urls[i] + 6);
		else if (!strncmp(urls[i], "tcp:", 4) && version >= 4)
			ret = allow_port(fd, urls[i]);
		if (ret)
			bf_err_set(err, -ret,
				   "listen %s: %s (may uid %u enter its "
				   "directory?)",
				   urls[i], bf_err_str(ret), geteuid());
	}
	if (!ret)
		(void)allow_beneath(fd, CPU_DIR, FS_READ_FILE);
	if (!ret && syscall(SYS_landlock_restrict_self, fd, 0) < 0)
		ret = bf_err_set(err, errno, "cannot enter landlock: %s",
				 bf_err_str(errno));
	close(fd);
	return ret;
}
