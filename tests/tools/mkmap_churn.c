// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * mkmap: changing a map that exists, once or as fast as threads can
 *
 * Keys and values are the ones the map was filled with (see mkmap_fill.c): a
 * key always gets its own value, so that readers can check what they see.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "mkmap.h"

/* Operations between two looks at the clock. */
#define SLICE 64

struct worker {
	pthread_t thread;
	const struct mk_change *change;
	const struct mk_shape *shape;
	int map_fd;
	struct timespec end; /* CLOCK_MONOTONIC */
	uint64_t random;
	uint64_t n_ops;
	int err; /* errno that stopped it, or 0 */
	uint8_t *key;
	uint8_t *value;
};

static atomic_bool stop;

static void
on_signal(int sig)
{
	(void)sig;
	atomic_store(&stop, true);
}

static int
open_map(uint32_t id, int *fd, struct mk_shape *shape)
{
	struct bpf_map_info info;
	uint32_t len = sizeof(info);

	memset(shape, 0, sizeof(*shape));
	*fd = bpf_map_get_fd_by_id(id);
	if (*fd < 0)
		return mk_fail(MK_ERROR, "map %u: %s", id, strerror(errno));
	memset(&info, 0, sizeof(info));
	if (bpf_obj_get_info_by_fd(*fd, &info, &len))
		return mk_fail(MK_ERROR, "map %u: get info: %s", id,
			       strerror(errno));
	return mk_shape_init(shape, info.type, info.key_size, info.value_size);
}

static bool
past(const struct timespec *end)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > end->tv_sec ||
	       (now.tv_sec == end->tv_sec && now.tv_nsec >= end->tv_nsec);
}

static uint64_t
next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static int
insert(struct worker *w, uint64_t i)
{
	mk_key(w->shape, i, w->key);
	mk_value(w->shape, i, w->value);
	if (!bpf_map_update_elem(w->map_fd, w->key, w->value, BPF_ANY))
		return 0;
	/* Full, or another CPU in the way: what churn is made of. */
	if (errno == E2BIG || errno == ENOSPC || errno == ENOMEM ||
	    errno == EBUSY)
		return 0;
	return errno;
}

static int
drop(struct worker *w, uint64_t i)
{
	mk_key(w->shape, i, w->key);
	if (!bpf_map_delete_elem(w->map_fd, w->key) || errno == ENOENT ||
	    errno == EBUSY)
		return 0;
	return errno;
}

static int
one_op(struct worker *w)
{
	const struct mk_change *c = w->change;
	uint64_t r = next_random(&w->random);
	uint64_t i = c->lo + (r >> 1) % (c->hi - c->lo);
	int err = 0;

	if (!c->replace)
		return r & 1 ? insert(w, i) : drop(w, i);
	err = drop(w, i);
	w->n_ops++;
	return err ? err : insert(w, i);
}

static void *
run_worker(void *arg)
{
	struct worker *w = arg;
	int k = 0;

	while (!w->err && !atomic_load(&stop) && !past(&w->end))
		for (k = 0; k < SLICE && !w->err; k++) {
			w->err = one_op(w);
			w->n_ops++;
		}
	if (w->err)
		atomic_store(&stop, true);
	return NULL;
}

static bool
worker_init(struct worker *w, unsigned t)
{
	w->random = 0x9e3779b97f4a7c15u * (t + 1);
	w->key = calloc(1, w->shape->key_size + 1u);
	w->value = calloc(1, w->shape->value_bytes + 1);
	return w->key && w->value;
}

/* All keys are there after --replace, none otherwise. */
static int
settle(struct worker *w)
{
	uint64_t i = 0;
	int err = 0;

	for (i = w->change->lo; i < w->change->hi && !err; i++)
		err = w->change->replace ? insert(w, i) : drop(w, i);
	return err;
}

static int
run_workers(struct worker *w, const struct mk_change *c)
{
	uint64_t n_ops = 0;
	unsigned n = 0;
	unsigned t = 0;
	int err = 0;

	for (n = 0; n < c->n_threads && !err; n++)
		err = pthread_create(&w[n].thread, NULL, run_worker, &w[n]);
	if (err) {
		n--;
		atomic_store(&stop, true);
	}
	for (t = 0; t < n; t++) {
		pthread_join(w[t].thread, NULL);
		n_ops += w[t].n_ops;
		err = err ? err : w[t].err;
	}
	err = err ? err : settle(&w[0]);
	if (err)
		return mk_fail(MK_ERROR, "churn of map %u: %s", c->id,
			       mk_strerror(err));
	printf("ops %llu\n", (unsigned long long)n_ops);
	return MK_OK;
}

int
mk_churn(const struct mk_change *c)
{
	struct sigaction sa;
	struct mk_shape shape;
	struct timespec end;
	struct worker *w = NULL;
	int fd = -1;
	int status = open_map(c->id, &fd, &shape);
	unsigned t = 0;

	if (status)
		goto out;
	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = on_signal;
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += (time_t)c->seconds;
	end.tv_nsec += (long)((c->seconds - (double)(time_t)c->seconds) * 1e9);
	if (end.tv_nsec >= 1000000000) {
		end.tv_sec++;
		end.tv_nsec -= 1000000000;
	}
	w = calloc(c->n_threads, sizeof(*w));
	for (t = 0; w && t < c->n_threads; t++) {
		w[t].change = c;
		w[t].shape = &shape;
		w[t].map_fd = fd;
		w[t].end = end;
		if (!worker_init(&w[t], t))
			status = MK_ERROR;
	}
	if (!w || status)
		status = mk_fail(MK_ERROR, "out of memory");
	else
		status = run_workers(w, c);
out:
	for (t = 0; w && t < c->n_threads; t++) {
		free(w[t].key);
		free(w[t].value);
	}
	free(w);
	if (fd >= 0)
		close(fd);
	return status;
}

int
mk_delete(const struct mk_change *c)
{
	struct mk_shape shape;
	uint8_t *key = NULL;
	int fd = -1;
	int status = open_map(c->id, &fd, &shape);

	if (status)
		goto out;
	key = calloc(1, shape.key_size + 1u);
	if (!key) {
		status = mk_fail(MK_ERROR, "out of memory");
		goto out;
	}
	mk_key(&shape, c->lo, key);
	if (bpf_map_delete_elem(fd, key))
		status = mk_fail(MK_ERROR, "map %u: delete of key %llu: %s",
				 c->id, (unsigned long long)c->lo,
				 mk_strerror(errno));
out:
	free(key);
	if (fd >= 0)
		close(fd);
	return status;
}

int
mk_update(const struct mk_change *c)
{
	struct mk_shape shape;
	uint8_t *key = NULL;
	uint8_t *value = NULL;
	int fd = -1;
	int status = open_map(c->id, &fd, &shape);

	if (status)
		goto out;
	key = calloc(1, shape.key_size + 1u);
	value = calloc(1, shape.value_bytes + 1);
	if (!key || !value) {
		status = mk_fail(MK_ERROR, "out of memory");
		goto out;
	}
	mk_key(&shape, c->lo, key);
	mk_value(&shape, c->value_index, value);
	if (bpf_map_update_elem(fd, shape.key_size ? key : NULL, value,
				BPF_ANY))
		status = mk_fail(MK_ERROR, "map %u: update of key %llu: %s",
				 c->id, (unsigned long long)c->lo,
				 mk_strerror(errno));
out:
	free(value);
	free(key);
	if (fd >= 0)
		close(fd);
	return status;
}
