/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * err - one error space: -errno, and own codes from 5000
 *
 * A function that can fail returns 0 or a negative code and, where a person
 * may read about it, fills a caller-owned struct bf_err.  The own codes are
 * also the codes on the wire (proto/PROTOCOL.md, "Errors") and in the public
 * header.  Codes of nng, libsodium and bpf(2) never leave the file that owns
 * that library.
 */
#ifndef BF_ERR_H
#define BF_ERR_H

#include "common/base.h"

enum bf_err_code {
	BF_EPROTO = 5000,      /* bytes that are no message of the protocol */
	BF_EVERSION = 5001,    /* a protocol version the other does not speak */
	BF_EOPERATION = 5002,  /* an operation the agent does not know */
	BF_EDENIED = 5003,     /* the agent's rules do not allow it */
	BF_ENOMAP = 5004,      /* no such map, or not visible to the agent */
	BF_EGONE = 5005,       /* the map was freed */
	BF_EREPLACED = 5006,   /* another map stands where it was */
	BF_ECURSOR = 5007,     /* cursor altered, or of another map or agent */
	BF_EUNREADABLE = 5008, /* this type of map cannot be read that way */
	BF_ETOOBIG = 5009,     /* one entry, bucket or reply above the cap */
	BF_EBUSY = 5010,       /* over the agent's budget now; try again */
	BF_EARGUMENT = 5011,   /* a wrong argument, such as a key's length */
	BF_EKERNEL = 5012,     /* bpf(2) failed in a way nobody expected */
	BF_EUNREACHABLE = 5013, /* no agent answers at the address */
	BF_ETIMEOUT = 5014,	/* no answer within the deadline */
	BF_ENOKEY = 5015,	/* the map has no such key, or is empty */
	BF_EPERMISSION = 5016,	/* the agent itself lacks a capability */
	BF_EINTERNAL = 5017,	/* our own bug */
	BF_ESESSION = 5018,	/* no handshake yet on this connection */
	BF_EHOSTKEY = 5019, /* the agent has another key, or none is known */
};

/* What failed, on what, why and what to do, in one line. */
struct bf_err {
	int code; /* positive: errno or enum bf_err_code; 0 = none */
	char text[512];
};

/*
 * bf_err_set - record an error
 *
 * Returns: -code, so that `return bf_err_set(err, ...)` reads well
 * In/out:  err may be NULL; text is cut at its size
 */
int bf_err_set(struct bf_err *err, int code, const char *fmt, ...)
	BF_PRINTF(3, 4);
#ifdef __clang_analyzer__ /* which cannot see that it is never 0 */
#define bf_err_set(...) ((bf_err_set)(__VA_ARGS__), -BF_EINTERNAL)
#endif

/*
 * bf_err_str - the words for a code of either sign
 *
 * Returns: a static string, never NULL; knows errno 524 (ENOTSUPP), which
 *          errno.h does not
 */
const char *bf_err_str(int code);

#endif
