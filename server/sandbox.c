// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * sandbox - drops identity, capabilities, files and system calls
 */
#include "server/sandbox.h"

#include "common/log.h"
#include "server/landlock.h"
#include "server/seccomp.h"

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

/* All that the broker ever uses; a test and the unit's file follow it. */
static const struct {
	unsigned int cap;
	const char *name, *use;
} broker_caps[] = {
	{CAP_SYS_ADMIN, "cap_sys_admin", "open maps by id"},
	{CAP_BPF, "cap_bpf", "make a map to probe the kernel with"},
	{CAP_DAC_READ_SEARCH, "cap_dac_read_search", "open pins of others"},
	{CAP_CHOWN, "cap_chown", "hand the socket's directory over"},
	{CAP_SETUID, "cap_setuid", "start the worker as another user"},
	{CAP_SETGID, "cap_setgid", "start the worker as another group"},
	{CAP_SETPCAP, "cap_setpcap", "start the worker without all of these"},
	{CAP_KILL, "cap_kill", "stop the worker"},
};

static uint64_t
bit(unsigned int cap)
{
	return 1ull << cap;
}

static uint64_t
broker_mask(void)
{
	uint64_t keep = 0;

	for (size_t i = 0; i < BF_ARRAY_SIZE(broker_caps); i++)
		keep |= bit(broker_caps[i].cap);
	return keep;
}

/* Keeps of its capabilities those in the mask, and can gain no other. */
static int
keep_capabilities(uint64_t keep)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3,
	};
	struct __user_cap_data_struct data[2] = {0};

	if (syscall(SYS_capget, &head, data) < 0)
		return -1;
	for (unsigned int i = 0; i < 2; i++) {
		data[i].permitted &= (uint32_t)(keep >> (32 * i));
		data[i].effective = data[i].permitted;
		data[i].inheritable = 0;
	}
	return (int)syscall(SYS_capset, &head, data);
}

/* EINVAL marks the first number that is no capability. */
static void
drop_bounding_set(uint64_t keep)
{
	for (unsigned int cap = 0; cap < 64; cap++)
		if (!(keep & bit(cap)) &&
		    prctl(PR_CAPBSET_DROP, (unsigned long)cap, 0, 0, 0) < 0 &&
		    errno == EINVAL)
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

static int
change_identity(uint32_t uid, uint32_t gid, bool keep_cap_bpf)
{
	drop_bounding_set(0);
	if (keep_cap_bpf && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
		return -1;
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 ||
	    setresuid(uid, uid, uid) < 0)
		return -1;
	return keep_capabilities(keep_cap_bpf ? bit(CAP_BPF) : 0);
}

static int
leave_files(const struct bf_sandbox *s, struct bf_err *err)
{
	if (!bf_landlock_version()) {
		bf_log(BF_LOG_INFO, "worker sandbox",
		       "landlock=none why=\"this kernel has none\"");
		return 0;
	}
	return bf_landlock_enter(s->urls, s->n_urls, err);
}

int
bf_sandbox_enter(const struct bf_sandbox *s, struct bf_err *err)
{
	int ret;

	/* Who did not start as root may need what it was given. */
	ret = s->drop ? change_identity(s->uid, s->gid, s->keep_cap_bpf)
		      : keep_capabilities(bit(CAP_BPF));
	if (ret < 0 || lock_down() < 0)
		return bf_err_set(err, errno, "cannot become uid %u gid %u: %s",
				  s->uid, s->gid, bf_err_str(errno));
	if (s->drop && setuid(0) == 0)
		return bf_err_set(err, BF_EINTERNAL,
				  "could become root again after dropping it");
	return leave_files(s, err);
}

int
bf_sandbox_lock(struct bf_err *err)
{
	int ret = bf_seccomp_enter();

	if (ret)
		return bf_err_set(err, -ret,
				  "cannot filter system calls: %s: this kernel "
				  "needs CONFIG_SECCOMP_FILTER",
				  bf_err_str(ret));
	return 0;
}

int
bf_sandbox_keep_broker(struct bf_err *err)
{
	drop_bounding_set(broker_mask());
	if (keep_capabilities(broker_mask()) < 0 ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return bf_err_set(err, errno, "cannot drop capabilities: %s",
				  bf_err_str(errno));
	return 0;
}

void
bf_sandbox_describe(FILE *to, const char *user)
{
	int landlock = bf_landlock_version();

	fprintf(to, "; the broker keeps, of what it is given:\n");
	for (size_t i = 0; i < BF_ARRAY_SIZE(broker_caps); i++)
		fprintf(to, ";   %-20s to %s\n", broker_caps[i].name,
			broker_caps[i].use);
	fprintf(to,
		"; the worker is user %s, without capabilities, and has left:\n"
		";   seccomp: %zu system calls; of bpf(2) lookup_elem, "
		"get_next_key, lookup_batch;\n"
		";     no memory to execute\n",
		user, bf_seccomp_count());
	if (!landlock)
		fprintf(to, ";   landlock: not on this kernel\n");
	else
		fprintf(to, ";   landlock %d: no files%s%s\n", landlock,
			landlock >= 4 ? ", no connections, the ports above"
				      : "",
			landlock >= 6 ? ", no signals to others" : "");
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
		if (change_identity(uid, gid, false) < 0)
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
