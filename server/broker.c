// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * broker - prepares sockets, starts the worker and restarts it
 *
 * One thread and one poll loop: requests of the worker, signals, and the
 * lifeline of a private agent.  Never reads a byte from the network.
 */
#include "server/broker.h"

#include "common/clock.h"
#include "common/keys.h"
#include "common/log.h"
#include "server/broker_maps.h"
#include "server/broker_msg.h"
#include "server/plan.h"
#include "server/sandbox.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOP_MS 5000
#define SEND_S 5
/* A worker that dies this often within its first second will not recover. */
#define QUICK_DEATHS_MAX 5
#define QUICK_MS 1000

struct broker {
	const struct bf_broker_opts *opts;
	struct bf_plan now;    /* what this worker was started with */
	struct bf_plan next;   /* what the next one will be, after a reload */
	struct bf_plan before; /* what to go back to until one is ready */
	struct bf_broker_maps maps;
	char limits[160];
	uint8_t boot_id[BF_BOOT_ID_BYTES];
	pid_t worker;
	int sock; /* our end of the pair, -1 without a worker */
	int signals;
	bool ready;	/* this worker listens */
	bool was_ready; /* some worker did */
	bool stopping;	/* for good */
	bool reloading;
	bool killed;
	unsigned quick_deaths;
	struct bf_mono started, stop_by;
};

static int
fail(const char *event, const struct bf_err *err)
{
	bf_log_error(event, err, NULL);
	return -1;
}

/* ------------------------------------------------------------ preparing */

static int
read_boot_id(uint8_t out[BF_BOOT_ID_BYTES], struct bf_err *err)
{
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
	char text[64] = "", digits[3] = "";
	size_t n = 0;

	if (f && !fgets(text, sizeof(text), f))
		text[0] = '\0';
	if (f)
		fclose(f);
	/* Pairs of hex digits, some with a '-' before them. */
	for (const char *p = text; n < BF_BOOT_ID_BYTES && *p; p += 2) {
		p += *p == '-';
		if (!isxdigit((unsigned char)p[0]) ||
		    !isxdigit((unsigned char)p[1]))
			break;
		memcpy(digits, p, 2);
		out[n++] = (uint8_t)strtoul(digits, NULL, 16);
	}
	if (n != BF_BOOT_ID_BYTES)
		return bf_err_set(err, EIO,
				  "cannot read the boot id from /proc: is it "
				  "mounted?");
	return 0;
}

/*
 * A socket file without a listener is left over and removed; with one, the
 * address is taken.
 */
static int
clear_socket(const char *path, struct bf_err *err)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct stat st;
	int sock, ret;

	if (lstat(path, &st) < 0)
		return 0;
	if (!S_ISSOCK(st.st_mode))
		return bf_err_set(err, EEXIST,
				  "%s exists and is no socket: remove it or "
				  "listen elsewhere",
				  path);
	sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (sock < 0)
		return bf_err_set(err, errno, "socket: %s", bf_err_str(errno));
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	/* As its owner: without CAP_DAC_OVERRIDE root may not. */
	setfsuid(st.st_uid);
	ret = connect(sock, (const struct sockaddr *)&addr, sizeof(addr));
	ret = ret < 0 ? errno : 0;
	setfsuid(geteuid());
	close(sock);
	if (ret == EACCES)
		return bf_err_set(err, EACCES,
				  "%s: cannot tell if an agent listens there",
				  path);
	if (ret != ECONNREFUSED)
		return bf_err_set(err, EADDRINUSE,
				  "%s: another agent listens there", path);
	if (unlink(path) < 0)
		return bf_err_set(err, errno, "cannot remove %s: %s", path,
				  bf_err_str(errno));
	bf_log(BF_LOG_INFO, "agent socket", "removed=%s why=\"left over\"",
	       path);
	return 0;
}

/* The worker's group can make the socket in it; it stays ours, to remove what
 * is left over.  Not through a link that another put there.
 */
static int
give_directory(const char *dir, uint32_t gid)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int ret = 0;

	if (fd < 0)
		return -errno;
	if (fchown(fd, 0, gid) < 0 || fchmod(fd, 0775) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

static int
prepare_socket(const struct bf_plan *plan, const char *path, struct bf_err *err)
{
	char dir[BF_URL_MAX], *slash;
	bool fresh;
	int ret;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	*slash = '\0';
	if (!dir[0])
		snprintf(dir, sizeof(dir), "/");
	ret = bf_plan_make_parents(path, 0755, &fresh);
	if (ret)
		return bf_err_set(err, -ret, "cannot make %s: %s", dir,
				  bf_err_str(ret));
	if (plan->drop && (fresh || !strcmp(dir, "/run/bpfleet")))
		ret = give_directory(dir, plan->gid);
	if (ret)
		return bf_err_set(err, -ret, "cannot give %s to gid %u: %s",
				  dir, plan->gid, bf_err_str(ret));
	return clear_socket(path, err);
}

/* The worker of a broker that was just killed may listen a moment longer. */
static int
prepare_patiently(const struct bf_plan *plan, const char *path,
		  struct bf_err *err)
{
	int ret = prepare_socket(plan, path, err);

	for (int i = 0; i < 20 && ret == -EADDRINUSE; i++) {
		poll(NULL, 0, 100);
		ret = prepare_socket(plan, path, err);
	}
	return ret;
}

static int
prepare_sockets(const struct bf_plan *plan)
{
	const struct bf_settings *s = &plan->settings;
	struct bf_err err = {0};

	for (uint32_t i = 0; i < s->n_listen; i++)
		if (!strncmp(s->listen[i], "ipc://", 6) &&
		    prepare_patiently(plan, s->listen[i] + 6, &err))
			return fail("agent start", &err);
	return 0;
}

static int
take_signals(struct broker *b)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	b->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return b->signals < 0 ? -1 : 0;
}

/* ----------------------------------------------------------- the worker */

static void
exec_worker(int sock, int audit_fd)
{
	char name[] = "bpfleetd", arg[] = "--worker";
	char *const argv[] = {name, arg, NULL};
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Out of the way of each other first. */
	sock = fcntl(sock, F_DUPFD, BF_AUDIT_FD + 1);
	audit_fd =
		audit_fd < 0 ? -1 : fcntl(audit_fd, F_DUPFD, BF_AUDIT_FD + 1);
	if (sock < 0 || dup2(sock, BF_BROKER_FD) < 0)
		_exit(1);
	if (audit_fd >= 0 && dup2(audit_fd, BF_AUDIT_FD) < 0)
		_exit(1);
	close_range(BF_AUDIT_FD + (audit_fd >= 0), ~0u, 0);
	execv("/proc/self/exe", argv);
	_exit(1);
}

static int
send_setup(const struct broker *b)
{
	const struct bf_acl *acl = &b->now.acl;
	struct bf_worker_setup setup = {0};
	int ret;

	bf_plan_tell(&b->now, &setup);
	memcpy(setup.boot_id, b->boot_id, sizeof(setup.boot_id));
	memcpy(setup.limits, b->limits, sizeof(setup.limits));
	ret = bf_broker_send(b->sock, &setup, sizeof(setup), -1);
	for (uint32_t i = 0; i < acl->n && !ret; i++)
		ret = bf_broker_send(b->sock, &acl->lines[i].client,
				     sizeof(acl->lines[i].client), -1);
	bf_keys_wipe(&setup, sizeof(setup));
	return ret;
}

static int
start_worker(struct broker *b)
{
	const struct timeval patience = {.tv_sec = SEND_S};
	struct bf_err err;
	int pair[2], size = 1 << 18, ret;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		bf_err_set(&err, errno, "socketpair: %s", bf_err_str(errno));
		return fail("agent start", &err);
	}
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	/* A worker that does not read must not hold this process up. */
	setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &patience,
		   sizeof(patience));
	b->worker = fork();
	if (b->worker == 0)
		exec_worker(pair[1], b->now.audit_fd);
	ret = b->worker < 0 ? -errno : 0;
	close(pair[1]);
	b->sock = pair[0];
	b->ready = false;
	b->killed = false;
	b->started = bf_mono_now();
	if (!ret)
		ret = send_setup(b);
	if (ret == -EPIPE || ret == -ECONNRESET)
		ret = 0; /* it died already: that is told as any death */
	if (!ret)
		return 0;
	if (b->worker > 0) {
		kill(b->worker, SIGKILL);
		waitpid(b->worker, NULL, 0);
	}
	b->worker = -1;
	bf_err_set(&err, -ret, "cannot start the worker: %s", bf_err_str(ret));
	return fail("agent start", &err);
}

static void
stop_worker(struct broker *b)
{
	if (b->worker > 0)
		kill(b->worker, SIGTERM);
	b->stop_by = bf_mono_after_ms(bf_mono_now(), STOP_MS);
}

/* Tells systemd, if it started us. */
static void
notify_service_manager(const char *state)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	const char *path = getenv("NOTIFY_SOCKET");
	int sock;

	if (!path || !path[0] || strlen(path) >= sizeof(addr.sun_path))
		return;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	if (path[0] == '@')
		addr.sun_path[0] = '\0';
	sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sock < 0)
		return;
	(void)!sendto(sock, state, strlen(state), MSG_NOSIGNAL,
		      (const struct sockaddr *)&addr,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
				  strlen(path)));
	close(sock);
}

static void
worker_is_ready(struct broker *b)
{
	const struct bf_settings *s = &b->now.settings;

	b->ready = true;
	bf_plan_fini(&b->before);
	for (uint32_t i = 0; i < s->n_listen; i++)
		bf_log(BF_LOG_INFO, "agent listening",
		       "url=%s worker=%d uid=%u maps=%s", s->listen[i],
		       (int)b->worker, b->now.drop ? b->now.uid : geteuid(),
		       b->maps.by_id ? "by-id" : "pins-only");
	notify_service_manager("READY=1");
	if (!b->was_ready && b->opts->lifeline_fd >= 0)
		(void)!write(b->opts->lifeline_fd, "\n", 1);
	b->was_ready = true;
}

/* The one use of the agent's key, which so never meets the network. */
static void
answer_dh(const struct broker *b, const struct bf_broker_req *req,
	  struct bf_broker_reply *reply)
{
	*reply = (struct bf_broker_reply){0};
	if (!b->now.has_agent_key)
		bf_err_set(&reply->err, BF_EINTERNAL, "the agent has no key");
	else if (bf_keys_dh(reply->shared, &b->now.keys->agent, req->key))
		bf_err_set(&reply->err, BF_EPROTO, "a key of low order");
}

/* The end, or nonsense: either way this worker is done. */
static void
give_up_worker(struct broker *b)
{
	close(b->sock);
	b->sock = -1;
	if (b->worker > 0 && !b->stopping && !b->reloading)
		kill(b->worker, SIGKILL);
}

static void
serve_worker(struct broker *b)
{
	static struct bf_broker_req req;
	static struct bf_broker_reply reply;
	int fd = -1, ret;

	if (bf_broker_recv(b->sock, &req, sizeof(req), NULL)) {
		give_up_worker(b);
		return;
	}
	if (req.op == BF_BROKER_READY && !b->ready) {
		worker_is_ready(b);
		return;
	}
	if (req.op == BF_BROKER_DH)
		answer_dh(b, &req, &reply);
	else
		fd = bf_broker_maps_answer(&b->maps, &req, &reply);
	ret = bf_broker_send(b->sock, &reply, sizeof(reply), fd);
	bf_keys_wipe(reply.shared, sizeof(reply.shared));
	if (fd >= 0)
		close(fd);
	if (ret)
		give_up_worker(b);
}

/* The worker, which made them, cannot. */
static void
remove_sockets(const struct bf_plan *plan)
{
	const struct bf_settings *s = &plan->settings;
	struct stat st;

	for (uint32_t i = 0; i < s->n_listen; i++)
		if (!strncmp(s->listen[i], "ipc://", 6) &&
		    !lstat(s->listen[i] + 6, &st) && S_ISSOCK(st.st_mode))
			unlink(s->listen[i] + 6);
}

static void
say_death(const struct broker *b, int status)
{
	if (WIFSIGNALED(status))
		bf_log(BF_LOG_ERR, "worker died",
		       "signal=%d next=\"a new one is started\"",
		       WTERMSIG(status));
	else
		bf_log(BF_LOG_ERR, "worker died", "status=%d ready=%d",
		       WEXITSTATUS(status), b->ready);
}

static int
start_again(struct broker *b)
{
	return prepare_sockets(&b->now) || start_worker(b) ? -1 : 1;
}

/* The new settings cannot be served from, so the last good ones return. */
static int
go_back(struct broker *b)
{
	if (!b->before.keys)
		return -1;
	bf_log(BF_LOG_ERR, "agent reload",
	       "effect=\"the settings before it are back\"");
	bf_plan_fini(&b->now);
	b->now = b->before;
	b->before = (struct bf_plan){.audit_fd = -1};
	bf_log_set_level(b->now.settings.log_level);
	return start_again(b);
}

static int
go_forward(struct broker *b)
{
	b->reloading = false;
	if (b->ready) {
		bf_plan_fini(&b->before);
		b->before = b->now;
	} else {
		bf_plan_fini(&b->now);
	}
	b->now = b->next;
	b->next = (struct bf_plan){.audit_fd = -1};
	bf_log_set_level(b->now.settings.log_level);
	return start_again(b) < 0 ? go_back(b) : 1;
}

/* Returns: 1 go on; 0 stop, fine; -1 stop, failed. */
static int
worker_ended(struct broker *b, int status)
{
	b->worker = -1;
	if (b->sock >= 0)
		close(b->sock);
	b->sock = -1;
	if (b->ready)
		remove_sockets(&b->now);
	if (b->stopping)
		return 0;
	if (b->reloading)
		return go_forward(b);
	say_death(b, status);
	if (!b->ready && b->before.keys)
		return go_back(b);
	if (!b->was_ready)
		return -1;
	if (bf_mono_now().ns - b->started.ns < QUICK_MS * 1000000ull)
		b->quick_deaths++;
	else
		b->quick_deaths = 0;
	if (b->quick_deaths >= QUICK_DEATHS_MAX) {
		bf_log(BF_LOG_ERR, "agent end",
		       "why=\"the worker died %u times in a row\"",
		       b->quick_deaths);
		return -1;
	}
	return start_again(b);
}

/* ------------------------------------------------------------- the loop */

static void
begin_stop(struct broker *b, const char *why)
{
	if (b->stopping)
		return;
	bf_log(BF_LOG_INFO, "agent stopping", "why=\"%s\"", why);
	notify_service_manager("STOPPING=1");
	b->stopping = true;
	stop_worker(b);
}

/* Reads everything again; while the old worker ends, once more if asked. */
static void
begin_reload(struct broker *b)
{
	static struct bf_settings s;
	struct bf_plan next;
	struct bf_err err = {0};

	if (b->stopping)
		return;
	if (b->opts->reload(&s, b->opts->reload_arg, &err) ||
	    bf_plan_make(&next, &s, b->opts->lifeline_fd >= 0, b->maps.by_id,
			 &err)) {
		bf_log_error("agent reload", &err,
			     "settings stay as they were");
		return;
	}
	bf_plan_fini(&b->next);
	b->next = next;
	bf_log(BF_LOG_INFO, "agent reload", "settings=new clients=%u",
	       next.acl.n);
	if (b->reloading)
		return;
	b->reloading = true;
	stop_worker(b);
}

/* Returns: 1 go on; 0 or -1 stop. */
static int
handle_signals(struct broker *b)
{
	struct signalfd_siginfo si;
	int status, ret = 1;

	while (read(b->signals, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGTERM || si.ssi_signo == SIGINT)
			begin_stop(b, "signal");
		else if (si.ssi_signo == SIGHUP)
			begin_reload(b);
	}
	if (b->worker > 0 && waitpid(b->worker, &status, WNOHANG) == b->worker)
		ret = worker_ended(b, status);
	return ret;
}

static int
poll_timeout(const struct broker *b)
{
	if (!b->stopping && !b->reloading)
		return -1;
	return (int)bf_mono_left_ms(b->stop_by) + 1;
}

static int
loop(struct broker *b)
{
	int ret = 1;

	while (ret > 0) {
		struct pollfd p[3] = {
			{.fd = b->sock, .events = POLLIN},
			{.fd = b->signals, .events = POLLIN},
			{.fd = b->stopping ? -1 : b->opts->lifeline_fd,
			 .events = POLLIN},
		};

		if (poll(p, 3, poll_timeout(b)) < 0 && errno != EINTR)
			return -1;
		if (p[0].revents)
			serve_worker(b);
		if (p[2].revents)
			begin_stop(b, "its user is gone");
		ret = handle_signals(b);
		if ((b->stopping || b->reloading) && !b->killed &&
		    b->worker > 0 && bf_mono_passed(b->stop_by)) {
			b->killed = true;
			kill(b->worker, SIGKILL);
		}
	}
	return ret;
}

int
bf_broker_run(const struct bf_broker_opts *opts)
{
	static struct broker b = {

		.now = {.audit_fd = -1},
		.next = {.audit_fd = -1},
		.before = {.audit_fd = -1},
		.worker = -1,
		.sock = -1,
	};
	struct bf_err err = {0};
	int ret;

	b.opts = opts;
	bf_log_set_level(opts->settings.log_level);
	if (bf_sandbox_keep_broker(&err))
		return fail("agent start", &err) ? 1 : 0;
	bf_broker_maps_init(&b.maps, &b.now.settings, &b.now.acl, b.limits,
			    sizeof(b.limits));
	if (b.limits[0])
		bf_log(BF_LOG_WARN, "agent limits", "why=\"%s\"", b.limits);
	if (bf_keys_init(&err) || read_boot_id(b.boot_id, &err) ||
	    bf_plan_make(&b.now, &opts->settings, opts->lifeline_fd >= 0,
			 b.maps.by_id, &err))
		return fail("agent start", &err) ? 1 : 0;
	if (take_signals(&b) || start_again(&b) < 0)
		return 1;
	ret = loop(&b);
	if (b.worker > 0) {
		kill(b.worker, SIGKILL);
		waitpid(b.worker, NULL, 0);
	}
	if (b.worker > 0 && b.ready)
		remove_sockets(&b.now);
	bf_plan_fini(&b.now);
	bf_plan_fini(&b.next);
	bf_plan_fini(&b.before);
	bf_broker_maps_fini(&b.maps);
	bf_log(BF_LOG_INFO, "agent end", "status=%d", ret ? 1 : 0);
	return ret ? 1 : 0;
}
