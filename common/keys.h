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

/* A key as text: base64, as wg and ssh users know it; with the NUL. */
#define BF_KEY_TEXT_BYTES 45u
void bf_keys_to_text(char out[BF_KEY_TEXT_BYTES],
		     const uint8_t key[BF_KEY_BYTES]);
/* Exactly 44 characters. Returns: 0 or -BF_EARGUMENT */
int bf_keys_from_text(uint8_t key[BF_KEY_BYTES], const char *text, size_t len);

/*
 * bf_keys_read_private - an X25519 private key from its file, a line of text
 *
 * Returns: 0; -ENOENT; -BF_EDENIED if others may read the file;
 *          -BF_EARGUMENT if it holds no key; other -errno
 */
int bf_keys_read_private(struct bf_key *out, const char *path,
			 struct bf_err *err);
/* Writes a new one with mode 0600, whole or not at all; an existing file
 * stays.
 */
int bf_keys_make_private(const char *path, struct bf_err *err);
void bf_keys_public(uint8_t out[BF_KEY_BYTES], const struct bf_key *key);
/* X25519. Returns: 0; -BF_EPROTO for a peer's key of low order */
int bf_keys_dh(uint8_t out[BF_KEY_BYTES], const struct bf_key *key,
	       const uint8_t peer[BF_KEY_BYTES]);

/*
 * bf_keys_alloc - zeroed pages for secrets: not in core dumps, not swapped
 * where the limits allow; NULL without memory
 *
 * Owns:    bf_keys_free() wipes and frees; NULL is fine
 */
void *bf_keys_alloc(size_t bytes);
void bf_keys_free(void *p, size_t bytes);

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
