/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * broker_msg - what broker and worker say to each other
 *
 * Fixed-size structs over a SOCK_SEQPACKET pair, one fd at most with each.
 * The worker asks, the broker answers; the broker checks all it is asked.
 */
#ifndef BF_SERVER_BROKER_MSG_H
#define BF_SERVER_BROKER_MSG_H

#include "common/cursor.h"
#include "common/err.h"
#include "common/mapinfo.h"
#include "server/acl.h"

#include <pthread.h>

/* The worker finds its end of the pair here after exec. */
#define BF_BROKER_FD 3
#define BF_AUDIT_FD 4
#define BF_LIST_MAX 16u
#define BF_PINS_BYTES 16384u

enum bf_broker_op {
	BF_BROKER_READY = 1, /* the worker listens; no answer */
	BF_BROKER_LIST = 2,  /* maps with an id above `id` */
	BF_BROKER_OPEN = 3,  /* a read-only fd, by id, pin or both */
	BF_BROKER_DH = 4,    /* X25519 of the agent's key and `key` */
};

#define BF_BROKER_WANT_PINS 1u
#define BF_BROKER_WANT_DETAILS 2u

struct bf_broker_req {
	uint32_t op;
	uint32_t id;
	uint32_t flags;
	uint32_t client; /* whose rules hold too: 1 + index; 0: local */
	uint8_t key[BF_KEY_BYTES];
	char pin[BF_PATH_MAX];
};

struct bf_broker_reply {
	struct bf_err err; /* code 0: none */
	uint32_t n;	   /* infos; 1 for an opened map */
	uint32_t end;	   /* no more maps */
	uint32_t next_after_id;
	uint8_t shared[BF_KEY_BYTES]; /* for BF_BROKER_DH */
	char limits[160];	      /* why some maps cannot be seen; "" */
	struct bf_map_info infos[BF_LIST_MAX];
	uint32_t pins_len;
	/* For each pin: index of its info, path, NUL. */
	char pins[BF_PINS_BYTES];
};

/* The broker's first message: all that the worker needs to know.  n_clients
 * messages follow it, a struct bf_acl_client each, sorted by key.
 */
struct bf_worker_setup {
	char listen[BF_LISTEN_MAX][BF_URL_MAX];
	uint32_t n_listen;
	uint32_t drop; /* become uid and gid */
	uint32_t uid, gid;
	uint32_t keep_cap_bpf; /* this kernel wants it for reads */
	uint32_t owner_uid;    /* started the agent: always allowed */
	uint32_t allow_uids[BF_ALLOW_MAX], n_allow_uids;
	uint32_t allow_gids[BF_ALLOW_MAX], n_allow_gids;
	uint32_t log_level;
	struct bf_key cursor_key;
	uint8_t boot_id[BF_BOOT_ID_BYTES];
	char limits[160];
	struct bf_gate_limits gate;
	char metrics[BF_URL_MAX];	  /* "": none */
	uint8_t public_key[BF_KEY_BYTES]; /* of the agent */
	uint32_t n_clients;
	uint32_t audit; /* 0 off; 1 to the log; 2 to BF_AUDIT_FD */
};

/* The worker's end; one call at a time. */
struct bf_broker {
	int fd;
	pthread_mutex_t lock;
};

/*
 * bf_broker_call - ask the broker
 *
 * Out:     *fd_out is a new fd or -1 (fd_out may be NULL for BF_BROKER_LIST)
 * Returns: 0; what the broker says, negative; -BF_EINTERNAL if it is gone
 * Threads: any
 */
int bf_broker_call(struct bf_broker *broker, const struct bf_broker_req *req,
		   struct bf_broker_reply *reply, int *fd_out,
		   struct bf_err *err);

/* One message with an fd (or -1). Returns: 0 or -errno. */
int bf_broker_send(int sock, const void *msg, size_t len, int fd);
/*
 * One message of exactly len bytes; *fd_out is -1 or new.
 * Returns: 0; -EPIPE at the end of the stream; other -errno
 */
int bf_broker_recv(int sock, void *msg, size_t len, int *fd_out);

#endif
