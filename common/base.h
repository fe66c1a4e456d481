/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * base - limits and small helpers that every file may use
 *
 * The limits bound what a peer can make either side allocate; they are part
 * of the protocol (proto/PROTOCOL.md, "Limits").  Depends on nothing.
 */
#ifndef BF_BASE_H
#define BF_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BF_VERSION "0.1.0"

/* Largest map key the kernel accepts in any type (hash: KMALLOC_MAX). */
#define BF_KEY_MAX (64u << 10)
/* Largest request body an agent accepts: many keys, or one of 64 KiB. */
#define BF_REQUEST_MAX (1u << 20)
/* The same over tcp, where anybody can make an agent receive one. */
#define BF_REQUEST_MAX_TCP (128u << 10)
/* Hard cap of keys + values in one page, and so of one entry or bucket. */
#define BF_PAGE_MAX (64u << 20)
/* What a page holds unless the client asks for something else. */
#define BF_PAGE_DEFAULT (256u << 10)
/* Largest reply body: a page, its cursor, and the fields around them. */
#define BF_REPLY_MAX (BF_PAGE_MAX + (1u << 20))
/* Longest map name the kernel keeps, without the NUL. */
#define BF_NAME_MAX 15u
/* Longest path of a pin that is asked for or told. */
#define BF_PATH_MAX 4096u

#define BF_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define BF_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))

static inline uint64_t
bf_min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t
bf_max_u64(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t
bf_round_up8(uint64_t n)
{
	return (n + 7) & ~(uint64_t)7;
}

/* Smallest power of two >= n (1 for 0), as the kernel sizes hash buckets. */
static inline uint64_t
bf_round_up_pow2(uint64_t n)
{
	uint64_t p = 1;

	while (p < n)
		p <<= 1;
	return p;
}

#endif
