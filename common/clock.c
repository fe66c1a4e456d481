// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * clock - reads the monotonic and the wall clock
 */
#include "common/clock.h"

#include <time.h>

static uint64_t
read_clock(clockid_t id)
{
	struct timespec ts = {0};

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

struct bf_mono
bf_mono_now(void)
{
	return (struct bf_mono){.ns = read_clock(CLOCK_MONOTONIC)};
}

struct bf_wall
bf_wall_now(void)
{
	return (struct bf_wall){.ns = read_clock(CLOCK_REALTIME)};
}
