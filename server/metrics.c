// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * metrics - counters, their text, and the small server that shows it
 *
 * libmicrohttpd is loaded only if there are metrics to show: with the TLS
 * library it needs it would take more memory than the rest of the agent.
 */
#include "server/metrics.h"

#include "common/buf.h"
#include "common/frame.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 65536u
#define N_CONNECTIONS 16u
#define TIMEOUT_S 10u
#define CONNECTION_BYTES 8192u /* for what a client sends */
#define CONTENT_TYPE                                                           \
	"application/openmetrics-text; version=1.0.0; charset=utf-8"
#define LIBRARY "libmicrohttpd.so.12"

/* The library's functions. */
static struct {
	__typeof__(&MHD_start_daemon) start_daemon;
	__typeof__(&MHD_stop_daemon) stop_daemon;
	__typeof__(&MHD_create_response_from_buffer) create_response;
	__typeof__(&MHD_add_response_header) add_header;
	__typeof__(&MHD_queue_response) queue_response;
	__typeof__(&MHD_destroy_response) destroy_response;
} mhd;

static struct {
	pthread_mutex_t lock;
	struct {
		uint64_t requests[BF_N_OUTCOMES], entries, bytes, us;
	} methods[BF_METHOD_MAX + 1]; /* 0: none was known */
} metrics = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct bf_metrics_server {
	struct bf_metrics_opts opts;
	struct MHD_Daemon *daemon;
};

void
bf_metrics_count(const struct bf_audit_entry *e)
{
	pthread_mutex_lock(&metrics.lock);
	metrics.methods[e->method].requests[bf_outcome(e->err)]++;
	metrics.methods[e->method].entries += e->n_entries;
	metrics.methods[e->method].bytes += e->bytes;
	metrics.methods[e->method].us += e->duration_us;
	pthread_mutex_unlock(&metrics.lock);
}

/* ---------------------------------------------------------------- the text */

__attribute__((format(printf, 2, 3))) static void
put(struct bf_buf *out, const char *fmt, ...)
{
	char line[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	bf_buf_put(out, line, (size_t)n);
}

static void
put_head(struct bf_buf *out, const char *name, const char *type,
	 const char *help)
{
	put(out, "# TYPE bpfleetd_%s %s\n# HELP bpfleetd_%s %s\n", name, type,
	    name, help);
}

static const char *
op(uint32_t method)
{
	return method ? bf_method_str(method) : "none";
}

static void
put_requests(struct bf_buf *out)
{
	put_head(out, "requests", "counter",
		 "Requests, by operation and outcome; op none: no operation "
		 "could be read.");
	for (uint32_t m = 0; m <= BF_METHOD_MAX; m++)
		for (uint32_t o = 0; o < BF_N_OUTCOMES; o++)
			put(out,
			    "bpfleetd_requests_total{op=\"%s\",outcome=\"%s\"} "
			    "%" PRIu64 "\n",
			    op(m), bf_outcome_str(o),
			    metrics.methods[m].requests[o]);
	put_head(out, "request_seconds", "counter",
		 "Time spent on requests, from frame to answer.");
	for (uint32_t m = 0; m <= BF_METHOD_MAX; m++)
		put(out, "bpfleetd_request_seconds_total{op=\"%s\"} %.6f\n",
		    op(m), (double)metrics.methods[m].us / 1e6);
	put_head(out, "entries", "counter", "Entries in answers.");
	for (uint32_t m = 1; m <= BF_METHOD_MAX; m++)
		put(out, "bpfleetd_entries_total{op=\"%s\"} %" PRIu64 "\n",
		    op(m), metrics.methods[m].entries);
	put_head(out, "reply_bytes", "counter", "Bytes of answers.");
	for (uint32_t m = 0; m <= BF_METHOD_MAX; m++)
		put(out, "bpfleetd_reply_bytes_total{op=\"%s\"} %" PRIu64 "\n",
		    op(m), metrics.methods[m].bytes);
}

static void
put_gate(struct bf_buf *out, struct bf_gate *gate)
{
	static const struct {
		const char *name, *type, *help;
		size_t offset;
	} rows[] = {
#define ROW(field, name, type, help)                                           \
	{name, type, help, offsetof(struct bf_gate_stats, field)}
		ROW(connections, "connections", "gauge", "Open over tcp."),
		ROW(half_open, "half_open_connections", "gauge",
		    "Open over tcp, without a proved key."),
		ROW(handshakes, "handshakes", "counter",
		    "Handshakes that proved a key with a line."),
		ROW(denied, "handshakes_denied", "counter",
		    "Handshakes by a key without a line, or from elsewhere."),
		ROW(failed, "failures", "counter",
		    "Denied handshakes, and forged or senseless frames."),
		ROW(busy, "handshakes_busy", "counter",
		    "Handshakes above the rate."),
		ROW(kept_out, "connections_kept_out", "counter",
		    "Connections not taken: penalty, or no room."),
		ROW(crowded_out, "connections_crowded_out", "counter",
		    "Half-open connections that made room for newer ones."),
		ROW(timed_out, "connections_timed_out", "counter",
		    "Connections that were half-open or idle for too long."),
#undef ROW
	};
	struct bf_gate_stats stats;
	uint64_t v;

	bf_gate_stats(gate, &stats);
	for (size_t i = 0; i < BF_ARRAY_SIZE(rows); i++) {
		memcpy(&v, (const char *)&stats + rows[i].offset, sizeof(v));
		put_head(out, rows[i].name, rows[i].type, rows[i].help);
		put(out, "bpfleetd_%s%s %" PRIu64 "\n", rows[i].name,
		    rows[i].type[0] == 'c' ? "_total" : "", v);
	}
}

static void
put_limits(struct bf_buf *out, const struct bf_gate_limits *l)
{
	const char *name;
	uint32_t value;

	put_head(out, "limit", "gauge",
		 "What the settings of that name allow; times in seconds.");
	for (size_t i = 0; bf_settings_limit(l, i, &name, &value); i++)
		put(out, "bpfleetd_limit{setting=\"%s\"} %u\n", name, value);
}

static void
put_all(struct bf_buf *out, const struct bf_metrics_opts *opts)
{
	put_head(out, "build", "info", "Which version this is.");
	put(out, "bpfleetd_build_info{version=\"%s\"} 1\n", BF_VERSION);
	pthread_mutex_lock(&metrics.lock);
	put_requests(out);
	pthread_mutex_unlock(&metrics.lock);
	if (opts->gate) {
		put_gate(out, opts->gate);
		put_limits(out, opts->limits);
	}
	put(out, "# EOF\n");
}

/* ---------------------------------------------------------------- the server
 */

static enum MHD_Result
answer(struct MHD_Connection *c, unsigned int status, void *text, size_t len,
       enum MHD_ResponseMemoryMode mode, const char *type)
{
	struct MHD_Response *r = mhd.create_response(len, text, mode);
	enum MHD_Result ret;

	if (!r)
		return MHD_NO;
	mhd.add_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		mhd.add_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	ret = mhd.queue_response(c, status, r);
	mhd.destroy_response(r);
	return ret;
}

static enum MHD_Result
answer_words(struct MHD_Connection *c, unsigned int status, const char *words)
{
	char copy[64];

	snprintf(copy, sizeof(copy), "%s\n", words);
	return answer(c, status, copy, strlen(copy), MHD_RESPMEM_MUST_COPY,
		      "text/plain");
}

static enum MHD_Result
on_request(void *arg, struct MHD_Connection *c, const char *url,
	   const char *method, const char *version, const char *data,
	   size_t *len, void **state)
{
	const struct bf_metrics_server *s = arg;
	struct bf_buf text;
	enum MHD_Result ret;

	(void)version;
	(void)data;
	(void)len;
	(void)state;
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 &&
	    strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return answer_words(c, MHD_HTTP_METHOD_NOT_ALLOWED,
				    "only GET is understood");
	if (strcmp(url, "/metrics") != 0)
		return answer_words(c, MHD_HTTP_NOT_FOUND,
				    "only /metrics is here");
	bf_buf_init(&text, TEXT_MAX);
	put_all(&text, &s->opts);
	ret = text.err ? answer_words(c, MHD_HTTP_INTERNAL_SERVER_ERROR,
				      "out of memory")
		       : answer(c, MHD_HTTP_OK, text.data, text.len,
				MHD_RESPMEM_MUST_COPY, CONTENT_TYPE);
	bf_buf_fini(&text);
	return ret;
}

int
bf_metrics_load(struct bf_err *err)
{
	static const struct {
		const char *name;
		void *at;
	} functions[] = {
		{"MHD_start_daemon", &mhd.start_daemon},
		{"MHD_stop_daemon", &mhd.stop_daemon},
		{"MHD_create_response_from_buffer", &mhd.create_response},
		{"MHD_add_response_header", &mhd.add_header},
		{"MHD_queue_response", &mhd.queue_response},
		{"MHD_destroy_response", &mhd.destroy_response},
	};
	void *library = dlopen(LIBRARY, RTLD_NOW), *found;

	for (size_t i = 0; i < BF_ARRAY_SIZE(functions); i++) {
		found = library ? dlsym(library, functions[i].name) : NULL;
		if (!found)
			return bf_err_set(
				err, BF_EINTERNAL,
				"metrics: %s: install libmicrohttpd12",
				dlerror());
		memcpy(functions[i].at, &found, sizeof(found));
	}
	return 0;
}

int
bf_metrics_start(struct bf_metrics_server **out,
		 const struct bf_metrics_opts *opts, struct bf_err *err)
{
	struct bf_metrics_server *s = calloc(1, sizeof(*s));
	struct sockaddr_storage addr;
	unsigned int flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL;

	if (!s)
		return bf_err_set(err, ENOMEM, "out of memory");
	s->opts = *opts;
	if (bf_settings_address(opts->address, &addr)) {
		free(s);
		return bf_err_set(err, BF_EARGUMENT, "metrics: no address");
	}
	if (addr.ss_family == AF_INET6)
		flags |= MHD_USE_IPv6;
	errno = 0;
	s->daemon = mhd.start_daemon(flags, 0, NULL, NULL, on_request, s,
				     MHD_OPTION_SOCK_ADDR, &addr,
				     MHD_OPTION_CONNECTION_LIMIT, N_CONNECTIONS,
				     MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S,
				     MHD_OPTION_CONNECTION_MEMORY_LIMIT,
				     (size_t)CONNECTION_BYTES, MHD_OPTION_END);
	if (!s->daemon) {
		int code = errno ? errno : BF_EINTERNAL;

		free(s);
		return bf_err_set(err, code, "metrics %s: %s", opts->address,
				  bf_err_str(code));
	}
	*out = s;
	return 0;
}

void
bf_metrics_stop(struct bf_metrics_server *server)
{
	if (!server)
		return;
	mhd.stop_daemon(server->daemon);
	free(server);
}
