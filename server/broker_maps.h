/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * broker_maps - the broker's answers: lists maps and opens them read-only
 *
 * Everything the worker asks is checked again here against the allow-list; a
 * map outside of it is as if it were not there.  A client whose line limits
 * its maps is refused all others, whether they are there or not.
 */
#ifndef BF_SERVER_BROKER_MAPS_H
#define BF_SERVER_BROKER_MAPS_H

#include "common/clock.h"
#include "server/broker_msg.h"
#include "server/pins.h"

struct bf_broker_maps {
	const struct bf_settings *settings;
	const struct bf_acl *acl;
	const struct bf_acl_line *client; /* whom the answer is for; or NULL */
	struct bf_pins pins;		  /* of the last scan */
	struct bf_mono rescan_at;	  /* after which it is too old */
	bool by_id;			  /* this process may open maps by id */
};

/* Finds out what this process may do; limits (160 bytes) gets the words. */
void bf_broker_maps_init(struct bf_broker_maps *m,
			 const struct bf_settings *settings,
			 const struct bf_acl *acl, char *limits,
			 size_t limits_cap);
void bf_broker_maps_fini(struct bf_broker_maps *m);

/*
 * bf_broker_maps_answer - fill the reply to a LIST or OPEN
 *
 * Returns: an fd for the worker, which the caller closes, or -1
 */
int bf_broker_maps_answer(struct bf_broker_maps *m,
			  const struct bf_broker_req *req,
			  struct bf_broker_reply *reply);

#endif
