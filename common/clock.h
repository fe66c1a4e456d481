/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * clock - the two clocks, in nanoseconds, each in a type of its own
 *
 * Deadlines are monotonic; what a person or another host reads is wall time.
 */
#ifndef BF_CLOCK_H
#define BF_CLOCK_H

#include "common/base.h"

/* CLOCK_MONOTONIC; compared and added to, never shown. */
struct bf_mono {
	uint64_t ns;
};

/* CLOCK_REALTIME, ns since 1970. */
struct bf_wall {
	uint64_t ns;
};

struct bf_mono bf_mono_now(void);
struct bf_wall bf_wall_now(void);

static inline struct bf_mono
bf_mono_after_ms(struct bf_mono t, uint64_t ms)
{
	t.ns += ms * 1000000u;
	return t;
}

/* Milliseconds from now to t, rounded up; 0 when it has passed. */
static inline uint64_t
bf_mono_left_ms(struct bf_mono t)
{
	uint64_t now = bf_mono_now().ns;

	return t.ns <= now ? 0 : (t.ns - now + 999999u) / 1000000u;
}

static inline bool
bf_mono_passed(struct bf_mono t)
{
	return bf_mono_now().ns >= t.ns;
}

#endif
