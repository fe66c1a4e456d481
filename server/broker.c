// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * broker - prepares sockets and secrets, starts the worker and restarts it
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
#include "server/map.h"
#include "server/sandbox.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOP_MS 5000
/* A worker that dies this often within its first second will not recover. */
#define QUICK_DEATHS_MAX 5
#define QUICK_MS 1000

struct broker {
	struct bf_broker_opts *opts;
	struct bf_key *key;	/* the agent's, for tcp; NULL: none */
	struct bf_acl acl;	/* what the worker that runs was told */
	struct bf_acl next_acl; /* what the next one will be told, */
	bool has_next;		/* once it was read */
	int audit_fd;
	struct bf_broker_maps maps;
	struct bf_worker_setup setup;
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
	bf_log(BF_LOG_ERR, event, "why=\"%s\"", err->text);
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

/* Makes the directories above a file, the last one with this mode. */
static int
make_parents(const char *file, mode_t mode)
{
	char path[BF_PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "%s", file);
	for (char *p = path + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		if (mkdir(path, strchr(p + 1, '/') ? 0755 : mode) < 0 &&
		    errno != EEXIST &&
		    (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)))
			return -errno;
		*p = '/';
	}
	return 0;
}

/* The key of cursors: from the agent's secret, so that it stays the same. */
static int
make_cursor_key(struct broker *b)
{
	const char *path = b->opts->settings.secret;
	struct bf_err err = {0};
	struct bf_key secret;
	int ret;

	ret = make_parents(path, 0700);
	if (ret)
		bf_err_set(&err, -ret, "secret %s: %s", path, bf_err_str(ret));
	else
		ret = bf_keys_load(&secret, path, &err);
	if (ret == -BF_EDENIED || ret == -BF_EARGUMENT)
		return fail("agent start", &err);
	if (ret) {
		bf_log(BF_LOG_WARN, "agent secret",
		       "why=\"%s\" effect=\"cursors end with this agent\"",
		       err.text);
		bf_keys_random(&secret, sizeof(secret));
	}
	bf_keys_derive(&b->setup.cursor_key, &secret, "cursor");
	bf_keys_wipe(&secret, sizeof(secret));
	return 0;
}

/* ------------------------------------------------- keys for tcp, and who */

/* The agent's key pair: the secret half stays in this process. */
static int
load_key(struct broker *b, struct bf_err *err)
{
	const struct bf_settings *s = &b->opts->settings;
	char text[BF_KEY_TEXT_BYTES];
	struct bf_key key;
	int ret = 0;

	if (!s->key[0])
		return 0;
	if (!b->key)
		b->key = bf_keys_alloc(sizeof(*b->key));
	if (!b->key)
		return bf_err_set(err, ENOMEM, "out of memory");
	if (s->make_key && access(s->key, F_OK) < 0 && errno == ENOENT) {
		ret = make_parents(s->key, 0700);
		ret = ret ? bf_err_set(err, -ret, "key %s: %s", s->key,
				       bf_err_str(ret))
			  : bf_keys_make_private(s->key, err);
	}
	if (!ret)
		ret = bf_keys_read_private(&key, s->key, err);
	if (!ret)
		*b->key = key;
	bf_keys_wipe(&key, sizeof(key));
	if (ret)
		return ret;
	bf_keys_public(b->setup.public_key, b->key);
	bf_keys_to_text(text, b->setup.public_key);
	bf_log(BF_LOG_INFO, "agent key", "public=%s", text);
	return 0;
}

static int
compare_lines(const void *a, const void *b)
{
	return memcmp(((const struct bf_acl_line *)a)->client.key,
		      ((const struct bf_acl_line *)b)->client.key,
		      BF_KEY_BYTES);
}

static int
load_clients(struct broker *b, struct bf_err *err)
{
	const struct bf_settings *s = &b->opts->settings;
	struct bf_acl acl = {0};
	int ret = 0;

	if (s->authorized_clients[0])
		ret = bf_acl_read(&acl, s->authorized_clients, err);
	if (ret) {
		bf_acl_fini(&acl);
		return ret;
	}
	if (acl.n)
		qsort(acl.lines, acl.n, sizeof(*acl.lines), compare_lines);
	bf_acl_fini(&b->next_acl);
	b->next_acl = acl;
	b->has_next = true;
	return 0;
}

/* Opened here, since the worker can open nothing; again at each reload, so
 * that a rotated file is let go.
 */
static int
open_audit(struct broker *b, struct bf_err *err)
{
	const char *path = b->opts->settings.audit;

	if (b->audit_fd >= 0)
		close(b->audit_fd);
	b->audit_fd = -1;
	/* A private agent's stderr is that of a person's command. */
	b->setup.audit = !strcmp(path, "log") && b->opts->lifeline_fd < 0;
	if (path[0] != '/')
		return 0;
	b->audit_fd = open(
		path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
		0640);
	if (b->audit_fd < 0)
		return bf_err_set(err, errno, "audit %s: %s", path,
				  bf_err_str(errno));
	b->setup.audit = 2;
	return 0;
}

/* Who the worker becomes. */
static int
choose_user(struct broker *b)
{
	struct bf_settings *s = &b->opts->settings;
	const struct passwd *pw;
	struct bf_err err;
	int ret;

	b->setup.owner_uid = geteuid();
	b->setup.drop = geteuid() == 0;
	if (!b->setup.drop) {
		bf_log(BF_LOG_WARN, "agent user",
		       "why=\"not started as root: the worker keeps uid %u\"",
		       geteuid());
		return 0;
	}
	pw = getpwnam(s->user);
	if (!pw && !strcmp(s->user, "bpfleet")) {
		bf_log(BF_LOG_INFO, "agent user",
		       "why=\"no user bpfleet on this host, taking nobody\"");
		pw = getpwnam("nobody");
	}
	if (!pw || pw->pw_uid == 0) {
		bf_err_set(&err, BF_EARGUMENT, "user \"%s\": %s", s->user,
			   pw ? "the worker must not be root" : "no such user");
		return fail("agent start", &err);
	}
	b->setup.uid = pw->pw_uid;
	b->setup.gid = pw->pw_gid;
	ret = b->maps.by_id ? bf_sandbox_probe_reads(pw->pw_uid, pw->pw_gid)
			    : 1;
	b->setup.keep_cap_bpf = ret == 0;
	if (ret == 0)
		bf_log(BF_LOG_WARN, "agent sandbox",
		       "why=\"this kernel wants CAP_BPF for reads: the worker "
		       "keeps it\"");
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

/* A directory that the worker's group can make the socket in, and that stays
 * ours, to remove what is left over.
 */
static int
prepare_socket(const struct broker *b, const char *path, struct bf_err *err)
{
	char dir[BF_URL_MAX], *slash;
	struct stat st;
	bool fresh;
	int ret;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	*slash = '\0';
	if (!dir[0])
		snprintf(dir, sizeof(dir), "/");
	fresh = stat(dir, &st) < 0;
	ret = make_parents(path, 0755);
	if (ret)
		return bf_err_set(err, -ret, "cannot make %s: %s", dir,
				  bf_err_str(ret));
	if (b->setup.drop && (fresh || !strcmp(dir, "/run/bpfleet")) &&
	    (chown(dir, 0, b->setup.gid) < 0 || chmod(dir, 0775) < 0))
		return bf_err_set(err, errno, "cannot give %s to gid %u: %s",
				  dir, b->setup.gid, bf_err_str(errno));
	return clear_socket(path, err);
}

/* The worker of a broker that was just killed may listen a moment longer. */
static int
prepare_patiently(const struct broker *b, const char *path, struct bf_err *err)
{
	int ret = prepare_socket(b, path, err);

	for (int i = 0; i < 20 && ret == -EADDRINUSE; i++) {
		poll(NULL, 0, 100);
		ret = prepare_socket(b, path, err);
	}
	return ret;
}

static int
prepare_sockets(struct broker *b)
{
	struct bf_settings *s = &b->opts->settings;
	struct bf_err err = {0};

	if (!s->n_listen)
		bf_settings_set(s, "listen", BF_DEFAULT_LISTEN, &err);
	for (uint32_t i = 0; i < s->n_listen; i++)
		if (!strncmp(s->listen[i], "ipc://", 6) &&
		    prepare_patiently(b, s->listen[i] + 6, &err))
			return fail("agent start", &err);
	return 0;
}

static void
fill_setup(struct broker *b)
{
	const struct bf_settings *s = &b->opts->settings;

	memcpy(b->setup.listen, s->listen, sizeof(s->listen));
	b->setup.n_listen = s->n_listen;
	memcpy(b->setup.allow_uids, s->allow_uids, sizeof(s->allow_uids));
	b->setup.n_allow_uids = s->n_allow_uids;
	memcpy(b->setup.allow_gids, s->allow_gids, sizeof(s->allow_gids));
	b->setup.n_allow_gids = s->n_allow_gids;
	b->setup.log_level = (uint32_t)s->log_level;
	b->setup.gate = s->gate;
	memcpy(b->setup.metrics, s->metrics, sizeof(s->metrics));
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
	int ret;

	ret = bf_broker_send(b->sock, &b->setup, sizeof(b->setup), -1);
	for (uint32_t i = 0; i < b->acl.n && !ret; i++)
		ret = bf_broker_send(b->sock, &b->acl.lines[i].client,
				     sizeof(b->acl.lines[i].client), -1);
	return ret;
}

/* Clients are named by their place in the list: it changes between workers. */
static void
take_clients(struct broker *b)
{
	if (!b->has_next)
		return;
	b->has_next = false;
	bf_acl_fini(&b->acl);
	b->acl = b->next_acl;
	b->next_acl = (struct bf_acl){0};
	b->setup.n_clients = b->acl.n;
}

static int
start_worker(struct broker *b)
{
	struct bf_err err;
	int pair[2], size = 1 << 18;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		bf_err_set(&err, errno, "socketpair: %s", bf_err_str(errno));
		return fail("agent start", &err);
	}
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	b->worker = fork();
	if (b->worker == 0)
		exec_worker(pair[1], b->audit_fd);
	close(pair[1]);
	take_clients(b);
	b->sock = pair[0];
	b->ready = false;
	b->killed = false;
	b->started = bf_mono_now();
	if (b->worker < 0 || send_setup(b)) {
		bf_err_set(&err, errno, "cannot start the worker: %s",
			   bf_err_str(errno));
		return fail("agent start", &err);
	}
	return 0;
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
	const struct bf_settings *s = &b->opts->settings;

	b->ready = true;
	for (uint32_t i = 0; i < s->n_listen; i++)
		bf_log(BF_LOG_INFO, "agent listening",
		       "url=%s worker=%d uid=%u maps=%s", s->listen[i],
		       (int)b->worker, b->setup.drop ? b->setup.uid : geteuid(),
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
	if (!b->key)
		bf_err_set(&reply->err, BF_EINTERNAL, "the agent has no key");
	else if (bf_keys_dh(reply->shared, b->key, req->key))
		bf_err_set(&reply->err, BF_EPROTO, "a key of low order");
}

static void
serve_worker(struct broker *b)
{
	static struct bf_broker_req req;
	static struct bf_broker_reply reply;
	int fd;

	if (bf_broker_recv(b->sock, &req, sizeof(req), NULL)) {
		/* The end, or nonsense: either way this worker is done. */
		close(b->sock);
		b->sock = -1;
		if (b->worker > 0 && !b->stopping && !b->reloading)
			kill(b->worker, SIGKILL);
		return;
	}
	if (req.op == BF_BROKER_READY) {
		worker_is_ready(b);
		return;
	}
	if (req.op == BF_BROKER_DH) {
		answer_dh(b, &req, &reply);
		fd = -1;
	} else {
		fd = bf_broker_maps_answer(&b->maps, &req, &reply);
	}
	bf_broker_send(b->sock, &reply, sizeof(reply), fd);
	if (fd >= 0)
		close(fd);
}

/* The worker, which made them, cannot. */
static void
remove_sockets(const struct broker *b)
{
	const struct bf_settings *s = &b->opts->settings;

	for (uint32_t i = 0; i < s->n_listen; i++)
		if (!strncmp(s->listen[i], "ipc://", 6))
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

/* Returns: 1 go on; 0 stop, fine; -1 stop, failed. */
static int
worker_ended(struct broker *b, int status)
{
	b->worker = -1;
	if (b->sock >= 0)
		close(b->sock);
	b->sock = -1;
	if (b->ready)
		remove_sockets(b);
	if (b->stopping)
		return 0;
	if (b->reloading) {
		b->reloading = false;
		if (prepare_sockets(b) || start_worker(b))
			return -1;
		return 1;
	}
	say_death(b, status);
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
	if (prepare_sockets(b) || start_worker(b))
		return -1;
	return 1;
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

static void
begin_reload(struct broker *b)
{
	struct bf_settings *s = malloc(sizeof(*s));
	struct bf_err err = {0};

	if (!s || b->stopping || b->reloading) {
		free(s);
		return;
	}
	if (b->opts->reload(s, b->opts->reload_arg, &err)) {
		bf_log(BF_LOG_ERR, "agent reload",
		       "why=\"%s\" effect=\"settings stay as they were\"",
		       err.text);
	} else {
		remove_sockets(b); /* of the old settings */
		b->opts->settings = *s;
		bf_log_set_level(s->log_level);
		if (!s->n_listen)
			bf_settings_set(&b->opts->settings, "listen",
					BF_DEFAULT_LISTEN, &err);
		fill_setup(b);
		if (load_key(b, &err) || load_clients(b, &err) ||
		    open_audit(b, &err))
			bf_log(BF_LOG_ERR, "agent reload",
			       "why=\"%s\" effect=\"that stays as it was\"",
			       err.text);
		bf_log(BF_LOG_INFO, "agent reload", "settings=new clients=%u",
		       b->next_acl.n);
		b->reloading = true;
		stop_worker(b);
	}
	free(s);
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
bf_broker_run(struct bf_broker_opts *opts)
{
	struct broker b = {
		.opts = opts,
		.worker = -1,
		.sock = -1,
		.audit_fd = -1,
	};
	struct bf_err err = {0};
	int ret;

	bf_log_set_level(opts->settings.log_level);
	if (bf_sandbox_keep_broker(&err))
		return fail("agent start", &err) ? 1 : 0;
	bf_broker_maps_init(&b.maps, &opts->settings, &b.acl, b.setup.limits,
			    sizeof(b.setup.limits));
	if (b.setup.limits[0])
		bf_log(BF_LOG_WARN, "agent limits", "why=\"%s\"",
		       b.setup.limits);
	if (bf_keys_init(&err) || read_boot_id(b.setup.boot_id, &err))
		return fail("agent start", &err) ? 1 : 0;
	if (load_key(&b, &err) || load_clients(&b, &err) ||
	    open_audit(&b, &err))
		return fail("agent start", &err) ? 1 : 0;
	if (choose_user(&b) || make_cursor_key(&b) || prepare_sockets(&b))
		return 1;
	fill_setup(&b);
	if (take_signals(&b) || start_worker(&b))
		return 1;
	ret = loop(&b);
	if (b.worker > 0) {
		kill(b.worker, SIGKILL);
		waitpid(b.worker, NULL, 0);
	}
	if (b.worker > 0 && b.ready)
		remove_sockets(&b);
	bf_keys_wipe(&b.setup.cursor_key, sizeof(b.setup.cursor_key));
	bf_keys_free(b.key, sizeof(*b.key));
	bf_acl_fini(&b.acl);
	bf_acl_fini(&b.next_acl);
	bf_broker_maps_fini(&b.maps);
	bf_log(BF_LOG_INFO, "agent end", "status=%d", ret ? 1 : 0);
	return ret ? 1 : 0;
}
