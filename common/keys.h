/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * keys - secrets and what is derived from them; the only user of libsodium
 *
 * A secret lives in a file of mode 0600 or less, is wiped from memory after
 * use, and is never logged.
 */
#ifndef BF_KEYS_H
#define BF_KEYS_H

#include "common/base.h"
#include "common/err.h"

#define BF_KEY_BYTES 32u
#define BF_MAC_BYTES 16u

struct bf_key {
	uint8_t bytes[BF_KEY_BYTES];
};

/* Returns: 0, or -BF_EINTERNAL if the crypto library will not start. */
int bf_keys_init(struct bf_err *err);

/*
 * bf_keys_load - read the secret in a file, made on first use
 *
 * In:      path of a file that holds BF_KEY_BYTES raw bytes.  Where it does
 *          not exist it is made with mode 0600, whole or not at all.
 * Returns: 0; -BF_EDENIED if others may read the file; -BF_EARGUMENT if its
 *          size is wrong; other -errno
 */
int bf_keys_load(struct bf_key *out, const char *path, struct bf_err *err);

/* A key of its own for one purpose, such as "cursor". */
void bf_keys_derive(struct bf_key *out, const struct bf_key *secret,
		    const char *purpose);
void bf_keys_mac(uint8_t mac[BF_MAC_BYTES], const struct bf_key *key,
		 const void *bytes, size_t len);
/* Compares in constant time. */
bool bf_keys_mac_ok(const uint8_t mac[BF_MAC_BYTES], const struct bf_key *key,
		    const void *bytes, size_t len);
void bf_keys_random(void *out, size_t len);
void bf_keys_wipe(void *bytes, size_t len);

#endif
