// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * log - formats the daemon's lines and keeps floods of them short
 */
#include "common/log.h"

#include "common/clock.h"
#include "common/err.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BURST 10

static _Atomic int max_level = BF_LOG_INFO;
static pthread_mutex_t limit_lock = PTHREAD_MUTEX_INITIALIZER;
static const char *const level_names[] = {"err", "warn", "info", "debug"};

void
bf_log_set_level(enum bf_log_level level)
{
	max_level = (int)level;
}

int
bf_log_parse_level(const char *word, enum bf_log_level *out)
{
	for (size_t i = 0; i < BF_ARRAY_SIZE(level_names); i++) {
		if (!strcmp(word, level_names[i])) {
			*out = (enum bf_log_level)i;
			return 0;
		}
	}
	return -EINVAL;
}

void
bf_log(enum bf_log_level level, const char *event, const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	size_t len;
	int n;

	if ((int)level > max_level)
		return;
	n = snprintf(line, sizeof(line), "%s %s ", level_names[level], event);
	len = n < 0 ? 0 : bf_min_u64((uint64_t)n, sizeof(line) - 2);
	va_start(ap, fmt);
	n = vsnprintf(line + len, sizeof(line) - 1 - len, fmt, ap);
	va_end(ap);
	len += n < 0 ? 0 : (size_t)n;
	len = bf_min_u64(len, sizeof(line) - 2);
	line[len++] = '\n';
	/* A log that cannot be written has nowhere to complain. */
	if (write(STDERR_FILENO, line, len) < 0)
		return;
}

bool
bf_log_allowed(struct bf_log_limit *limit, const char *event)
{
	uint64_t second = bf_mono_now().ns / 1000000000u;
	uint32_t suppressed = 0;
	bool allowed;

	pthread_mutex_lock(&limit_lock);
	if (limit->second != second) {
		suppressed = limit->suppressed;
		*limit = (struct bf_log_limit){.second = second};
	}
	allowed = limit->n++ < BURST;
	if (!allowed)
		limit->suppressed++;
	pthread_mutex_unlock(&limit_lock);
	if (suppressed)
		bf_log(BF_LOG_WARN, event, "suppressed=%u", suppressed);
	return allowed;
}

const char *
bf_log_escape(const void *bytes, size_t len, char *out, size_t out_cap)
{
	const unsigned char *in = bytes;
	size_t used = 0;

	for (size_t i = 0; i < len && used + 5 <= out_cap; i++) {
		if (in[i] >= 0x20 && in[i] < 0x7f && in[i] != '\\' &&
		    in[i] != '"')
			out[used++] = (char)in[i];
		else
			used += (size_t)snprintf(out + used, out_cap - used,
						 "\\x%02x", in[i]);
	}
	if (out_cap)
		out[used] = '\0';
	return out;
}

void
bf_log_error(const char *event, const struct bf_err *err, const char *effect)
{
	char why[2 * sizeof(err->text)];

	bf_log_escape(err->text, strlen(err->text), why, sizeof(why));
	if (effect)
		bf_log(BF_LOG_ERR, event, "why=\"%s\" effect=\"%s\"", why,
		       effect);
	else
		bf_log(BF_LOG_ERR, event, "why=\"%s\"", why);
}

void
bf_log_keep_stdio(void)
{
	int fd;

	/* Not for the use it will be put to, so that this fails and is seen. */
	do {
		fd = open("/dev/null", O_RDONLY);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}
