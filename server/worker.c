// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * worker - drops privileges, listens, and answers until the broker is gone
 *
 * Holds no path to the kernel but the fds that the broker gives it, and no
 * secret but the key of cursors.
 */
#include "server/worker.h"

#include "common/log.h"
#include "server/audit.h"
#include "server/map.h"
#include "server/metrics.h"
#include "server/rpc.h"
#include "server/sandbox.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <unistd.h>

#define N_CONTEXTS 32
#define SEND_TIMEOUT_MS 10000
#define MAX_UNREAD 8
#define DRAIN_MS 3000

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
	const char *urls[BF_LISTEN_MAX + 1];
	char metrics[BF_URL_MAX + 6];
	struct bf_sandbox sandbox = {
		.drop = setup->drop,
		.uid = setup->uid,
		.gid = setup->gid,
		.keep_cap_bpf = setup->keep_cap_bpf,
		.urls = urls,
		.n_urls = setup->n_listen,
	};

	for (uint32_t i = 0; i < setup->n_listen; i++)
		urls[i] = setup->listen[i];
	if (setup->metrics[0]) {
		snprintf(metrics, sizeof(metrics), "tcp://%s", setup->metrics);
		urls[sandbox.n_urls++] = metrics;
	}
	bf_map_possible_cpus(); /* while it can be read */
	return bf_sandbox_enter(&sandbox, err);
}

/* Waits for the end as it should be.  Without the broker nothing can be opened
 * and nobody would end this process, so it does not wait to close anything.
 */
static void
wait_for_end(int signals, struct bf_gate *gate)
{
	struct pollfd p[3] = {
		{.fd = BF_BROKER_FD, .events = 0}, /* POLLHUP comes anyway */
		{.fd = signals, .events = POLLIN},
		{.fd = gate ? bf_gate_fd(gate) : -1, .events = POLLIN},
	};

	do {
		if (poll(p, 3, gate ? bf_gate_tick(gate) : -1) < 0 &&
		    errno != EINTR)
			p[0].revents = POLLERR;
		bf_audit_flush();
	} while (!p[0].revents && !p[1].revents);
	if (p[1].revents)
		return;
	bf_log(BF_LOG_ERR, "worker alone", "why=\"the broker is gone\"");
	_exit(1);
}

/* X25519 with the agent's key, which only the broker has. */
static int
ask_broker_dh(void *arg, uint8_t out[BF_KEY_BYTES],
	      const uint8_t peer[BF_KEY_BYTES])
{
	struct bf_broker_req ask = {.op = BF_BROKER_DH};
	struct bf_broker_reply *got = malloc(sizeof(*got));
	int ret = -ENOMEM;

	memcpy(ask.key, peer, BF_KEY_BYTES);
	if (got)
		ret = bf_broker_call(arg, &ask, got, NULL, NULL);
	if (!ret)
		memcpy(out, got->shared, BF_KEY_BYTES);
	if (got)
		bf_keys_wipe(got, sizeof(*got));
	free(got);
	return ret;
}

/* The lines of authorized_clients, which follow the settings. */
static int
take_clients(const struct bf_worker_setup *setup, struct bf_acl_client **out,
	     struct bf_err *err)
{
	struct bf_acl_client *c =
		calloc(bf_max_u64(setup->n_clients, 1), sizeof(*c));
	int ret = c ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < setup->n_clients && !ret; i++)
		ret = bf_broker_recv(BF_BROKER_FD, &c[i], sizeof(c[i]), NULL);
	*out = c;
	return ret ? bf_err_set(err, -ret, "no settings came") : 0;
}

/* If any address is tcp. */
static int
make_gate(struct bf_rpc *rpc, const struct bf_worker_setup *setup,
	  const struct bf_acl_client *clients, struct bf_err *err)
{
	struct bf_gate_opts opts = {
		.limits = &setup->gate,
		.self = {.dh = ask_broker_dh, .arg = rpc->broker},
		.clients = clients,
		.n_clients = setup->n_clients,
	};

	memcpy(opts.self.public_key, setup->public_key, BF_KEY_BYTES);
	for (uint32_t i = 0; i < setup->n_listen; i++)
		if (!strncmp(setup->listen[i], "tcp:", 4))
			return bf_gate_new(&rpc->gate, &opts, err);
	return 0;
}

static bool
come(void *arg, const struct bf_link_peer *peer)
{
	return bf_gate_come(((struct bf_rpc *)arg)->gate, peer);
}

static void
gone(void *arg, uint32_t pipe)
{
	bf_gate_gone(((struct bf_rpc *)arg)->gate, pipe);
}

static int
start_metrics(struct bf_metrics_server **out, const struct bf_rpc *rpc,
	      struct bf_err *err)
{
	const struct bf_metrics_opts opts = {
		.address = rpc->setup->metrics,
		.gate = rpc->gate,
		.limits = &rpc->setup->gate,
	};

	return opts.address[0] ? bf_metrics_start(out, &opts, err) : 0;
}

static int
say_ready(struct bf_err *err)
{
	const struct bf_broker_req ready = {.op = BF_BROKER_READY};
	int ret = bf_broker_send(BF_BROKER_FD, &ready, sizeof(ready), -1);

	if (ret)
		return bf_err_set(err, -ret, "cannot tell the broker: %s",
				  bf_err_str(ret));
	return 0;
}

static int
serve(struct bf_rpc *rpc, const struct bf_worker_setup *setup, int signals,
      struct bf_err *err)
{
	const char *urls[BF_LISTEN_MAX];
	struct bf_link_server_opts opts = {
		.urls = urls,
		.n_urls = setup->n_listen,
		.n_contexts = N_CONTEXTS,
		.max_request = BF_REQUEST_MAX + 4096,
		.max_request_tcp = BF_REQUEST_MAX_TCP + 4096,
		.max_reply = BF_REPLY_MAX,
		.socket_mode = setup->n_allow_uids || setup->n_allow_gids
				       ? 0666
				       : 0600,
		.send_timeout_ms = SEND_TIMEOUT_MS,
		.max_unread = MAX_UNREAD,
		.handler = bf_rpc_handle,
		.come = rpc->gate ? come : NULL,
		.gone = rpc->gate ? gone : NULL,
		.arg = rpc,
	};
	struct bf_metrics_server *metrics = NULL;
	struct bf_link_server *server = NULL;
	int ret;

	for (uint32_t i = 0; i < setup->n_listen; i++)
		urls[i] = setup->listen[i];
	ret = bf_link_listen(&server, &opts, err);
	if (ret)
		return ret;
	ret = start_metrics(&metrics, rpc, err);
	if (!ret)
		ret = bf_sandbox_lock(err);
	if (!ret) {
		bf_link_serve(server);
		ret = say_ready(err);
	}
	if (!ret)
		wait_for_end(signals, rpc->gate);
	bf_link_server_close(server, ret ? 0 : DRAIN_MS);
	bf_metrics_stop(metrics);
	return ret;
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
	struct bf_acl_client *clients = NULL;
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
	bf_audit_init((enum bf_audit_to)setup.audit);
	ret = take_clients(&setup, &clients, &err);
	if (!ret && setup.metrics[0])
		ret = bf_metrics_load(&err);
	if (!ret)
		ret = drop_privileges(&setup, &err);
	if (!ret)
		ret = bf_keys_init(&err);
	if (!ret)
		ret = make_gate(&rpc, &setup, clients, &err);
	if (!ret)
		ret = serve(&rpc, &setup, signals, &err);
	if (ret && err.code)
		bf_log_error("worker start", &err, NULL);
	bf_audit_flush();
	bf_gate_free(rpc.gate);
	free(clients);
	bf_keys_wipe(&rpc.agent.cursor_key, sizeof(rpc.agent.cursor_key));
	return ret ? 1 : 0;
}
