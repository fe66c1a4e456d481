/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * known - known_agents: which key an agent must have
 *
 * A line an agent: ADDRESS KEY [comment].  ADDRESS is a URL as given to -w, or
 * a pattern of one (fnmatch, where * also takes a slash).  A pattern stands for
 * hosts that share a key.  In tcp://[fd00::*]:7117 the brackets are an IPv6
 * address's, not a set of letters.
 */
#ifndef BF_CLIENT_KNOWN_H
#define BF_CLIENT_KNOWN_H

#include "common/err.h"
#include "common/keys.h"

#define BF_KNOWN_FILE_MAX (16u << 20)
#define BF_KNOWN_ADDRESS_MAX 512u /* bytes with the NUL */

/*
 * bf_known_check - is this the key of the agent at the address?
 *
 * Returns: 0 it is; -ENOENT no line (or no file) has the address;
 *          -BF_EDENIED every line with the address has another key: the
 *          message names file:line, both keys and the remedy; -BF_EARGUMENT
 *          with file:line for a line that cannot be read, wherever it is;
 *          other -errno
 */
int bf_known_check(const char *path, const char *address,
		   const uint8_t key[BF_KEY_BYTES], struct bf_err *err);

/* The same over a text in memory; name is for messages. */
int bf_known_check_text(const char *text, size_t len, const char *name,
			const char *address, const uint8_t key[BF_KEY_BYTES],
			struct bf_err *err);

/*
 * bf_known_add - append a line for an address that has none
 *
 * The file is made if need be, mode 0600, with its directories, mode 0700; a
 * link is followed.  It is replaced as a whole and keeps its mode and owner:
 * no reader sees half of it, and a full disk leaves the old one.  Processes
 * and threads that add at once wait for one another.
 * Returns: 0, also if the line is there already; -BF_EDENIED as above if the
 *          address has got another key meanwhile; -BF_EARGUMENT for an address
 *          that cannot stand in a line or would be a pattern, for the key of
 *          all zero, and for a file with a line that cannot be read; -EFBIG;
 * other -errno
 */
int bf_known_add(const char *path, const char *address,
		 const uint8_t key[BF_KEY_BYTES], struct bf_err *err);

#endif
