// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * worker - drops privileges, listens, and answers until the broker is gone
 *
 * Holds no path to the kernel but the fds that the broker gives it, and no
 * secret but the key of cursors.
 */
#include "server/worker.h"

#include "common/log.h"
#include "server/rpc.h"
#include "server/sandbox.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <unistd.h>

#define N_CONTEXTS 32
#define SEND_TIMEOUT_MS 10000
#define MAX_UNREAD 8
#define DRAIN_MS 3000

static void
say(const char *event, const struct bf_err *err)
{
	bf_log(BF_LOG_ERR, event, "why=\"%s\"", err->text);
}

/* Returns: fd of SIGTERM; SIGINT is the broker's to handle. */
static int
take_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	return signalfd(-1, &set, SFD_CLOEXEC);
}

static void
describe_host(struct bf_rpc *rpc)
{
	struct utsname u = {0};

	uname(&u);
	snprintf(rpc->host, sizeof(rpc->host), "%s", u.nodename);
	snprintf(rpc->kernel, sizeof(rpc->kernel), "%s %s", u.release,
		 u.machine);
}

static int
drop_privileges(const struct bf_worker_setup *setup, struct bf_err *err)
{
	if (setup->drop)
		return bf_sandbox_enter(setup->uid, setup->gid,
					setup->keep_cap_bpf, err);
	return bf_sandbox_enter_unprivileged(err);
}

/* Waits for the end. Returns: exit status. */
static int
wait_for_end(int signals)
{
	struct pollfd p[2] = {
		{.fd = BF_BROKER_FD, .events = 0}, /* POLLHUP comes anyway */
		{.fd = signals, .events = POLLIN},
	};

	while (poll(p, 2, -1) < 0 && errno == EINTR)
		;
	if (p[1].revents)
		return 0;
	bf_log(BF_LOG_ERR, "worker alone", "why=\"the broker is gone\"");
	return 1;
}

static int
serve(struct bf_rpc *rpc, const struct bf_worker_setup *setup, int signals,
      struct bf_err *err)
{
	const struct bf_broker_req ready = {.op = BF_BROKER_READY};
	const char *urls[BF_LISTEN_MAX];
	struct bf_link_server_opts opts = {
		.urls = urls,
		.n_urls = setup->n_listen,
		.n_contexts = N_CONTEXTS,
		.max_request = BF_REQUEST_MAX + 4096,
		.max_reply = BF_REPLY_MAX,
		.socket_mode = setup->n_allow_uids || setup->n_allow_gids
				       ? 0666
				       : 0600,
		.send_timeout_ms = SEND_TIMEOUT_MS,
		.max_unread = MAX_UNREAD,
		.handler = bf_rpc_handle,
		.arg = rpc,
	};
	struct bf_link_server *server = NULL;
	int ret, status;

	for (uint32_t i = 0; i < setup->n_listen; i++)
		urls[i] = setup->listen[i];
	ret = bf_link_listen(&server, &opts, err);
	if (ret)
		return ret;
	ret = bf_broker_send(BF_BROKER_FD, &ready, sizeof(ready), -1);
	if (ret) {
		bf_link_server_close(server, 0);
		return bf_err_set(err, -ret, "cannot tell the broker: %s",
				  bf_err_str(ret));
	}
	status = wait_for_end(signals);
	bf_link_server_close(server, status ? 0 : DRAIN_MS);
	return status ? -BF_EINTERNAL : 0;
}

int
bf_worker_main(void)
{
	struct bf_broker broker = {
		.fd = BF_BROKER_FD,
		.lock = PTHREAD_MUTEX_INITIALIZER,
	};
	static struct bf_worker_setup setup;
	static struct bf_rpc rpc;
	struct bf_err err = {0};
	int signals = take_signals();
	int ret;

	/* Pages come and go: keep their memory instead of faulting it in
	 * again each time, and give large ones back.
	 */
	mallopt(M_MMAP_THRESHOLD, 4 << 20);
	mallopt(M_TRIM_THRESHOLD, 4 << 20);
	mallopt(M_ARENA_MAX, 2);
	ret = bf_broker_recv(BF_BROKER_FD, &setup, sizeof(setup), NULL);
	if (ret) {
		bf_log(BF_LOG_ERR, "worker start", "why=\"no settings came\"");
		return 1;
	}
	bf_log_set_level((enum bf_log_level)setup.log_level);
	rpc.broker = &broker;
	rpc.setup = &setup;
	rpc.agent.cursor_key = setup.cursor_key;
	memcpy(rpc.agent.boot_id, setup.boot_id, sizeof(setup.boot_id));
	bf_keys_wipe(&setup.cursor_key, sizeof(setup.cursor_key));
	describe_host(&rpc);
	ret = drop_privileges(&setup, &err);
	if (!ret)
		ret = bf_keys_init(&err);
	if (!ret)
		ret = serve(&rpc, &setup, signals, &err);
	if (ret && err.code)
		say("worker start", &err);
	bf_keys_wipe(&rpc.agent.cursor_key, sizeof(rpc.agent.cursor_key));
	return ret ? 1 : 0;
}
