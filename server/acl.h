/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * acl - authorized_clients: which keys may do what, from where, until when
 *
 * A line a key, options first, as in ssh's authorized_keys:
 *   maps="name:flow_*",ops="list,dump",from="10.0.0.0/8",rate="60/min",
 *   expires="20270101" KEY comment
 * A key without a line is denied; a line without an option does not limit it.
 */
#ifndef BF_SERVER_ACL_H
#define BF_SERVER_ACL_H

#include "common/err.h"
#include "common/keys.h"
#include "server/settings.h"

#define BF_ACL_CLIENTS_MAX 4096u
#define BF_ACL_NETS_MAX 8u
#define BF_ACL_PATTERNS_MAX 16u
#define BF_ACL_COMMENT_MAX 64u /* bytes with the NUL; longer ones are cut */
#define BF_ACL_FILE_MAX (4u << 20)

/* IPv6; IPv4 as ::ffff:a.b.c.d with 96 more bits. */
struct bf_acl_net {
	uint8_t addr[16];
	uint8_t bits;
};

/* What the worker is told of a line; plain bytes, sent as they are. */
struct bf_acl_client {
	uint8_t key[BF_KEY_BYTES];
	uint32_t line;	    /* in the file, from 1 */
	uint32_t ops;	    /* bit m: method m is allowed; hello always is */
	uint64_t expires_s; /* Unix time of the first second after; 0: never */
	uint32_t rate_n;    /* requests per rate_s seconds; 0: any */
	uint32_t rate_s;
	uint32_t n_nets;     /* 0: from anywhere */
	uint32_t n_patterns; /* 0: all maps that the agent shows */
	struct bf_acl_net nets[BF_ACL_NETS_MAX];
	char comment[BF_ACL_COMMENT_MAX]; /* no control bytes, NULs after it */
};

/* A line with its map patterns, which stay with the broker. */
struct bf_acl_line {
	struct bf_acl_client client;
	struct bf_pattern patterns[BF_ACL_PATTERNS_MAX];
};

struct bf_acl {
	uint32_t n;
	struct bf_acl_line *lines; /* sorted by key, each once */
};

/*
 * bf_acl_parse - the text of a file; name is for messages
 *
 * Blank lines and lines that begin with # are skipped; a file without keys is
 * fine.  Lines that have expired are kept, and are for their user to refuse.
 * Out:     whatever it held before is forgotten, not freed
 * Returns: 0; -BF_EARGUMENT with "name:line: ..." for the first mistake,
 *          also for a key that has a line already; -ENOMEM
 * Owns:    bf_acl_fini() it; after an error it is empty
 */
int bf_acl_parse(struct bf_acl *acl, const char *text, size_t len,
		 const char *name, struct bf_err *err);

/*
 * bf_acl_read - the same from a file
 *
 * A link is followed; its target is what is checked.
 * Returns: also -BF_EDENIED if others than its owner may write the file (or
 *          it is neither root's nor ours); -EFBIG; -ENOENT and other -errno
 */
int bf_acl_read(struct bf_acl *acl, const char *path, struct bf_err *err);
void bf_acl_fini(struct bf_acl *acl);

/*
 * bf_acl_from_ok - may the client come from this address (as in bf_acl_net)?
 *
 * IPv4 and IPv6 are apart: ::/0 is all of IPv6 and none of IPv4.
 */
bool bf_acl_from_ok(const struct bf_acl_client *client, const uint8_t addr[16]);

#endif
