// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * sandbox - drops groups, capabilities, identity and the way back
 */
#include "server/sandbox.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <grp.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CAP_BPF
#define CAP_BPF 39
#endif

static int
set_capabilities(bool keep_cap_bpf)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = {0};

	if (keep_cap_bpf) {
		data[CAP_BPF / 32].permitted = 1u << (CAP_BPF % 32);
		data[CAP_BPF / 32].effective = 1u << (CAP_BPF % 32);
	}
	return (int)syscall(SYS_capset, &head, data);
}

/* EINVAL marks the first number that is no capability. */
static void
drop_bounding_set(void)
{
	for (unsigned long cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0 && errno == EINVAL)
			break;
}

static int
lock_down(void)
{
	const struct rlimit none = {0, 0};

	umask(077);
	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return -1;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

int
bf_sandbox_enter(uint32_t uid, uint32_t gid, bool keep_cap_bpf,
		 struct bf_err *err)
{
	drop_bounding_set();
	if (keep_cap_bpf && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		goto fail;
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 ||
	    setresuid(uid, uid, uid) < 0)
		goto fail;
	if (set_capabilities(keep_cap_bpf) < 0 || lock_down() < 0)
		goto fail;
	if (setuid(0) == 0)
		return bf_err_set(err, BF_EINTERNAL,
				  "could become root again after dropping it");
	return 0;
fail:
	return bf_err_set(err, errno, "cannot become uid %u gid %u: %s", uid,
			  gid, bf_err_str(errno));
}

int
bf_sandbox_enter_unprivileged(struct bf_err *err)
{
	if (lock_down() < 0)
		return bf_err_set(err, errno, "cannot lock down: %s",
				  bf_err_str(errno));
	return 0;
}

int
bf_sandbox_probe_reads(uint32_t uid, uint32_t gid)
{
	int fd, status = 0, ret;
	uint32_t key;
	pid_t pid;

	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "bf_probe", 4, 8, 1, NULL);
	if (fd < 0)
		return -errno;
	pid = fork();
	if (pid == 0) {
		if (bf_sandbox_enter(uid, gid, false, NULL))
			_exit(2);
		_exit(bpf_map_get_next_key(fd, NULL, &key) < 0);
	}
	close(fd);
	if (pid < 0)
		return -errno;
	while ((ret = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
		;
	if (ret < 0 || !WIFEXITED(status) || WEXITSTATUS(status) == 2)
		return -ECHILD;
	return WEXITSTATUS(status) == 0;
}
