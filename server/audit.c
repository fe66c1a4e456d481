// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * audit - formats and writes access lines
 */
#include "server/audit.h"

#include "common/frame.h"
#include "common/log.h"
#include "server/broker_msg.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINES_PER_S 1000u
/* Of those who have not proved a key: noise must not crowd out accesses. */
#define ANONYMOUS_PER_S 10u

static struct {
	pthread_mutex_t lock;
	enum bf_audit_to to;
	uint64_t second;
	uint32_t n, n_anonymous, left_out;
} audit = {.lock = PTHREAD_MUTEX_INITIALIZER};

enum bf_outcome
bf_outcome(const struct bf_err *err)
{
	if (!err->code)
		return BF_OUTCOME_OK;
	return err->code == BF_EDENIED ? BF_OUTCOME_DENIED : BF_OUTCOME_ERROR;
}

const char *
bf_outcome_str(enum bf_outcome outcome)
{
	static const char *const words[] = {"ok", "denied", "error"};

	return words[outcome];
}

void
bf_audit_init(enum bf_audit_to to)
{
	audit.to = to;
}

/* A line that did not fit on the disk is told in the log; the next one does
 * not go on where it was torn.  Lock held.
 */
static void
put_line(const char *line, size_t len)
{
	static struct bf_log_limit limit;
	static bool torn;
	int fd = audit.to == BF_AUDIT_FILE ? BF_AUDIT_FD : STDERR_FILENO;
	ssize_t n;

	if (torn && write(fd, "\n", 1) == 1)
		torn = false;
	n = write(fd, line, len);
	if (n > 0 && (size_t)n < len)
		torn = true;
	if (n != (ssize_t)len && bf_log_allowed(&limit, "audit lost"))
		bf_log(BF_LOG_ERR, "audit lost", "why=\"%s\"",
		       n < 0 ? bf_err_str(errno) : "short write");
}

static size_t
put_time(char *out, size_t cap)
{
	struct bf_wall now = bf_wall_now();
	time_t s = (time_t)(now.ns / 1000000000u);
	struct tm tm;
	size_t n;

	gmtime_r(&s, &tm);
	n = strftime(out, cap, "time=%Y-%m-%dT%H:%M:%S", &tm);
	return n + (size_t)snprintf(out + n, cap - n, ".%03uZ",
				    (unsigned)(now.ns / 1000000u % 1000u));
}

/* Lock held. */
static void
tell_left_out(void)
{
	char line[128];
	size_t n;

	if (!audit.left_out)
		return;
	n = put_time(line, sizeof(line));
	n += (size_t)snprintf(line + n, sizeof(line) - n,
			      " audit left_out=%u why=\"more lines a second "
			      "than %u, or %u without a key\"\n",
			      audit.left_out, LINES_PER_S, ANONYMOUS_PER_S);
	put_line(line, n);
	audit.left_out = 0;
}

static size_t
put_peer(const struct bf_audit_entry *e, char *out, size_t cap)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	const struct bf_link_peer *p = e->peer;
	char addr[INET6_ADDRSTRLEN] = "", key[BF_KEY_TEXT_BYTES] = "-";
	char comment[4 * BF_ACL_COMMENT_MAX + 1] = "";
	bool four;
	int n;

	if (p->local)
		return (size_t)snprintf(out, cap, " from=uid:%u pid=%u", p->uid,
					p->pid);
	four = !memcmp(p->addr, mapped, sizeof(mapped));
	inet_ntop(four ? AF_INET : AF_INET6, p->addr + (four ? 12 : 0), addr,
		  sizeof(addr));
	if (e->client) {
		bf_keys_to_text(key, e->client->key);
		bf_log_escape(e->client->comment, strlen(e->client->comment),
			      comment, sizeof(comment));
	}
	n = snprintf(out, cap, " from=%s%s%s:%u key=%s comment=\"%s\"",
		     four ? "" : "[", addr, four ? "" : "]", p->port, key,
		     comment);
	return (size_t)n;
}

static void
put_entry(const struct bf_audit_entry *e)
{
	char line[2048], text[512];
	size_t n, cap = sizeof(line);

	n = put_time(line, cap);
	n += (size_t)snprintf(line + n, cap - n, " audit");
	n += put_peer(e, line + n, cap - n);
	n += (size_t)snprintf(line + n, cap - n, " op=%s",
			      e->method ? bf_method_str(e->method) : "?");
	if (e->map_id)
		n += (size_t)snprintf(
			line + n, cap - n, " map=%u name=\"%s\"", e->map_id,
			bf_log_escape(e->map_name, strlen(e->map_name), text,
				      sizeof(text)));
	if (e->pin[0])
		n += (size_t)snprintf(line + n, cap - n, " pin=\"%s\"",
				      bf_log_escape(e->pin, strlen(e->pin),
						    text, sizeof(text)));
	n += (size_t)snprintf(line + n, cap - n,
			      " entries=%" PRIu64 " bytes=%" PRIu64,
			      e->n_entries, e->bytes);
	if (e->coherence)
		n += (size_t)snprintf(line + n, cap - n, " coherence=%s",
				      bf_coherence_str(e->coherence));
	n += (size_t)snprintf(line + n, cap - n, " outcome=%s us=%" PRIu64,
			      bf_outcome_str(bf_outcome(e->err)),
			      e->duration_us);
	if (e->err->code)
		n += (size_t)snprintf(
			line + n, cap - n, " code=%d why=\"%s\"", e->err->code,
			bf_log_escape(e->err->text, strlen(e->err->text), text,
				      sizeof(text)));
	n += (size_t)snprintf(line + n, cap - n, "\n");
	put_line(line, n);
}

void
bf_audit_write(const struct bf_audit_entry *e)
{
	uint64_t second = bf_mono_now().ns / 1000000000u;
	bool anonymous = !e->peer->local && !e->client;
	bool allowed;

	if (audit.to == BF_AUDIT_OFF)
		return;
	pthread_mutex_lock(&audit.lock);
	if (second != audit.second) {
		audit.second = second;
		audit.n = audit.n_anonymous = 0;
		tell_left_out();
	}
	allowed = anonymous ? audit.n_anonymous++ < ANONYMOUS_PER_S
			    : audit.n++ < LINES_PER_S;
	if (allowed)
		put_entry(e);
	else
		audit.left_out++;
	pthread_mutex_unlock(&audit.lock);
}

void
bf_audit_flush(void)
{
	pthread_mutex_lock(&audit.lock);
	tell_left_out();
	pthread_mutex_unlock(&audit.lock);
}
