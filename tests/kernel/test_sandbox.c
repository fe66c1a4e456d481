// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * test_sandbox - what a worker may no longer do once it is locked in
 *
 * Each test locks a child of its own in, as the worker does it, and has it try
 * one thing.  What fails there is first seen to work here, so that a failure
 * is the sandbox's doing.
 */
#include "server/broker_msg.h"
#include "server/landlock.h"
#include "server/sandbox.h"

#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define NOBODY 65534u

static char dir[] = "/tmp/bf-sandbox-XXXXXX";
static char url[64], socket_path[48];

/* What a child has at hand: as in the worker, opened by someone else. */
static int map_rw, map_ro;
static uint32_t map_id;
static volatile sig_atomic_t threads_go;

/* One thing to try. Returns: 0 it worked; -errno */
typedef int attempt(void);

static int
result(long ret)
{
	return ret < 0 ? -errno : 0;
}

static int
fd_result(int fd)
{
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static int
try_lookup(void)
{
	uint32_t key = 1;
	uint64_t value = 0;
	int ret = result(bpf_map_lookup_elem(map_ro, &key, &value));

	return ret ? ret : value == 11 ? 0 : -EBADMSG;
}

static int
try_next_key(void)
{
	uint32_t key;

	return result(bpf_map_get_next_key(map_ro, NULL, &key));
}

static int
try_batch(void)
{
	uint32_t out, keys[4], n = 4;
	uint64_t values[4];
	int ret;

	ret = result(bpf_map_lookup_batch(map_ro, NULL, &out, keys, values, &n,
					  NULL));
	return ret == -ENOENT ? 0 : ret;
}

static int
try_open_by_id(void)
{
	return fd_result(bpf_map_get_fd_by_id(map_id));
}

static int
try_update_read_only(void)
{
	uint32_t key = 1;
	uint64_t value = 12;

	return result(bpf_map_update_elem(map_ro, &key, &value, BPF_ANY));
}

static int
try_update(void)
{
	uint32_t key = 1;
	uint64_t value = 11;

	return result(bpf_map_update_elem(map_rw, &key, &value, BPF_ANY));
}

static int
try_create(void)
{
	return fd_result(
		bpf_map_create(BPF_MAP_TYPE_ARRAY, "bf_new", 4, 8, 1, NULL));
}

static int
try_freeze(void)
{
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "bf_new", 4, 8, 1, NULL);
	int ret = result(bpf_map_freeze(fd < 0 ? map_rw : fd));

	if (fd >= 0)
		close(fd);
	return ret;
}

static int
try_exec(void)
{
	char name[] = "/bin/true";
	char *argv[] = {name, NULL};

	return result(execv(name, argv));
}

static int
try_fork(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid < 0)
		return -errno;
	if (pid == 0)
		_exit(0);
	return result(waitpid(pid, NULL, 0));
}

static void *
nothing(void *arg)
{
	return arg;
}

static int
try_thread(void)
{
	pthread_t t;
	int ret = -pthread_create(&t, NULL, nothing, NULL);

	if (!ret)
		pthread_join(t, NULL);
	return ret;
}

static int
try_socket(void)
{
	return fd_result(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

static int
try_open_read(void)
{
	return fd_result(open("/etc/passwd", O_RDONLY | O_CLOEXEC));
}

static int
try_open_write(void)
{
	return fd_result(open("/tmp", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
}

static int
try_stat(void)
{
	struct stat st;

	return result(stat("/etc/passwd", &st));
}

/* What is in the audit file must not be written over. */
static int
try_unappend(void)
{
	return result(fcntl(BF_AUDIT_FD, F_SETFL, 0));
}

static int
try_lock_memory(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? -errno
			       : result(mlock2(p, 4096, MLOCK_ONFAULT));
}

static int
try_unlink(void)
{
	char path[80];
	int fd;

	snprintf(path, sizeof(path), "%s/victim", dir);
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0666);
	if (fd >= 0)
		close(fd);
	return result(unlink(path));
}

static int
try_exec_memory(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? -errno : 0;
}

static int
try_make_executable(void)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return -EBADMSG;
	return result(mprotect(p, 4096, PROT_READ | PROT_EXEC));
}

static int
try_plain_memory(void)
{
	void *p = malloc(64u << 20);

	if (!p)
		return -ENOMEM;
	memset(p, 1, 1 << 20);
	free(p);
	return 0;
}

static int
try_kill(void)
{
	return result(kill(getpid(), 0));
}

static int
try_ptrace(void)
{
	return result(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
}

static int
try_io_uring(void)
{
	uint64_t params[32] = {0};

	return fd_result((int)syscall(SYS_io_uring_setup, 1, params));
}

static int
bind_tcp(uint16_t port)
{
	struct sockaddr_in sa = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1, ret;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	ret = result(bind(fd, (const struct sockaddr *)&sa, sizeof(sa)));
	close(fd);
	return ret;
}

static int
try_bind_told(void)
{
	return bind_tcp(7917);
}

static int
try_bind_other(void)
{
	return bind_tcp(7918);
}

/* To our own port: refused by nobody but a sandbox. */
static int
try_connect(void)
{
	struct sockaddr_in sa = {
		.sin_family = AF_INET,
		.sin_port = htons(7917),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), ret;

	ret = result(connect(fd, (const struct sockaddr *)&sa, sizeof(sa)));
	close(fd);
	return ret == -ECONNREFUSED ? 0 : ret;
}

static int
bind_socket(const char *path)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), ret;

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path);
	ret = result(bind(fd, (const struct sockaddr *)&sa, sizeof(sa)));
	close(fd);
	if (!ret)
		unlink(path);
	return ret;
}

static int
try_socket_told(void)
{
	return bind_socket(socket_path);
}

static int
try_socket_other(void)
{
	return bind_socket("/tmp/bf-sandbox-other");
}

/* In a thread that was there before: the filter must hold for all. */
static void *
wait_and_open(void *arg)
{
	int *ret = arg;

	while (!threads_go)
		usleep(1000);
	*ret = try_open_read();
	return NULL;
}

enum how {
	FREE,	 /* as we are */
	ENTERED, /* as the worker when it starts to listen */
	LOCKED,	 /* as it serves */
};

static void
confine(enum how how)
{
	static const char *urls[2];
	struct bf_sandbox s = {
		.drop = true,
		.uid = NOBODY,
		.gid = NOBODY,
		.urls = urls,
		.n_urls = 2,
	};
	struct bf_err err = {0};

	urls[0] = url;
	urls[1] = "tcp://127.0.0.1:7917";
	if (how >= ENTERED && bf_sandbox_enter(&s, &err))
		goto fail;
	if (how >= LOCKED && bf_sandbox_lock(&err))
		goto fail;
	return;
fail:
	fprintf(stderr, "%s\n", err.text);
	_exit(200);
}

/* Returns: what the attempt returned, in a child; >0: it never did. */
static int
in_child(enum how how, attempt *try)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		confine(how);
		_exit(-try() & 0xff);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status))
		return 1000 + WTERMSIG(status);
	return -WEXITSTATUS(status);
}

static int
in_child_thread(enum how how)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		pthread_t t;
		int ret = 0;

		pthread_create(&t, NULL, wait_and_open, &ret);
		confine(how);
		threads_go = 1;
		pthread_join(t, NULL);
		_exit(-ret & 0xff);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? -WEXITSTATUS(status) : 1;
}

static int
set_up(void **state)
{
	LIBBPF_OPTS(bpf_get_fd_by_id_opts, ro, .open_flags = BPF_F_RDONLY);
	struct bpf_map_info info = {0};
	uint32_t len = sizeof(info), key = 1;
	uint64_t value = 11;

	(void)state;
	if (dup2(STDERR_FILENO, BF_AUDIT_FD) < 0)
		return -1;
	map_rw = bpf_map_create(BPF_MAP_TYPE_HASH, "bf_sandbox", 4, 8, 8, NULL);
	if (geteuid() != 0 || map_rw < 0)
		return 0;
	if (bpf_map_update_elem(map_rw, &key, &value, BPF_ANY) ||
	    bpf_obj_get_info_by_fd(map_rw, &info, &len) || !mkdtemp(dir))
		return -1;
	map_id = info.id;
	map_ro = bpf_map_get_fd_by_id_opts(map_id, &ro);
	snprintf(socket_path, sizeof(socket_path), "%s/s", dir);
	snprintf(url, sizeof(url), "ipc://%s", socket_path);
	return map_ro < 0 || chmod(dir, 0777) < 0;
}

static int
tear_down(void **state)
{
	(void)state;
	unlink(socket_path); /* who made it could not */
	rmdir(dir);
	return 0;
}

static void
need_root(void)
{
	if (geteuid() != 0 || map_rw < 0) {
		print_message("needs root and bpf(2)\n");
		skip();
	}
}

/* Works for root, fails with this for a locked worker. */
static void
check_forbidden(const char *what, attempt *try, int error)
{
	int ret = in_child(FREE, try);

	if (ret)
		fail_msg("%s: fails for root too: %s", what, strerror(-ret));
	ret = in_child(LOCKED, try);
	if (ret != error)
		fail_msg("%s: a locked worker got %d, not %d", what, ret,
			 error);
}

static void
test_reads_work(void **state)
{
	(void)state;
	need_root();
	assert_int_equal(in_child(LOCKED, try_lookup), 0);
	assert_int_equal(in_child(LOCKED, try_next_key), 0);
	assert_int_equal(in_child(LOCKED, try_batch), 0);
	assert_int_equal(in_child(LOCKED, try_plain_memory), 0);
	assert_int_equal(in_child(LOCKED, try_lock_memory), 0);
}

static void
test_no_other_maps(void **state)
{
	(void)state;
	need_root();
	check_forbidden("open by id", try_open_by_id, -EPERM);
	check_forbidden("create", try_create, -EPERM);
	check_forbidden("freeze", try_freeze, -EPERM);
}

static void
test_no_writes(void **state)
{
	(void)state;
	need_root();
	/* The kernel's own refusal; the filter's, even if an fd could write. */
	assert_int_equal(in_child(FREE, try_update_read_only), -EPERM);
	assert_int_equal(in_child(ENTERED, try_update_read_only), -EPERM);
	assert_int_equal(in_child(LOCKED, try_update_read_only), -EPERM);
	check_forbidden("update", try_update, -EPERM);
}

static void
test_no_processes(void **state)
{
	(void)state;
	need_root();
	check_forbidden("exec", try_exec, -EPERM);
	check_forbidden("fork", try_fork, -EPERM);
	check_forbidden("thread", try_thread, -EPERM);
	check_forbidden("kill", try_kill, -EPERM);
	check_forbidden("ptrace", try_ptrace, -EPERM);
}

static void
test_no_files(void **state)
{
	(void)state;
	need_root();
	check_forbidden("open to read", try_open_read, -EPERM);
	check_forbidden("open to write", try_open_write, -EPERM);
	check_forbidden("unlink", try_unlink, -EPERM);
	check_forbidden("stat", try_stat, -EPERM);
	check_forbidden("take O_APPEND away", try_unappend, -EPERM);
}

static void
test_no_sockets(void **state)
{
	(void)state;
	need_root();
	check_forbidden("socket", try_socket, -EPERM);
	if (in_child(FREE, try_io_uring) == 0)
		check_forbidden("io_uring", try_io_uring, -EPERM);
}

static void
test_no_executable_memory(void **state)
{
	(void)state;
	need_root();
	check_forbidden("mmap", try_exec_memory, -EPERM);
	check_forbidden("mprotect", try_make_executable, -EPERM);
}

static void
test_all_threads(void **state)
{
	(void)state;
	need_root();
	assert_int_equal(in_child_thread(FREE), 0);
	assert_int_equal(in_child_thread(LOCKED), -EPERM);
}

static void
test_landlock_files(void **state)
{
	(void)state;
	need_root();
	if (!bf_landlock_version()) {
		print_message("this kernel has no landlock\n");
		skip();
	}
	assert_int_equal(in_child(ENTERED, try_open_read), -EACCES);
	assert_int_equal(in_child(ENTERED, try_open_write), -EACCES);
	assert_int_equal(in_child(ENTERED, try_exec), -EACCES);
	assert_int_equal(in_child(ENTERED, try_unlink), -ENOENT);
	assert_int_equal(in_child(FREE, try_socket_other), 0);
	assert_int_equal(in_child(ENTERED, try_socket_other), -EACCES);
	assert_int_equal(in_child(ENTERED, try_socket_told), 0);
}

static void
test_landlock_ports(void **state)
{
	(void)state;
	need_root();
	if (bf_landlock_version() < 4) {
		print_message("landlock of this kernel knows no ports\n");
		skip();
	}
	assert_int_equal(in_child(FREE, try_bind_other), 0);
	assert_int_equal(in_child(ENTERED, try_bind_told), 0);
	assert_int_equal(in_child(ENTERED, try_bind_other), -EACCES);
	assert_int_equal(in_child(FREE, try_connect), 0);
	assert_int_equal(in_child(ENTERED, try_connect), -EACCES);
}

static void
test_reads_probe(void **state)
{
	(void)state;
	need_root();
	assert_true(bf_sandbox_probe_reads(NOBODY, NOBODY) >= 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_work),
		cmocka_unit_test(test_no_other_maps),
		cmocka_unit_test(test_no_writes),
		cmocka_unit_test(test_no_processes),
		cmocka_unit_test(test_no_files),
		cmocka_unit_test(test_no_sockets),
		cmocka_unit_test(test_no_executable_memory),
		cmocka_unit_test(test_all_threads),
		cmocka_unit_test(test_landlock_files),
		cmocka_unit_test(test_landlock_ports),
		cmocka_unit_test(test_reads_probe),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
