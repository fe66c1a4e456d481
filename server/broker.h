/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * broker - the privileged half: opens maps for the worker, keeps it running
 */
#ifndef BF_SERVER_BROKER_H
#define BF_SERVER_BROKER_H

#include "server/settings.h"

struct bf_broker_opts {
	struct bf_settings settings;
	int lifeline_fd; /* told when ready, ends the agent when closed; -1 */
	/* Reads the settings again, on SIGHUP. Returns: 0 or negative. */
	int (*reload)(struct bf_settings *out, void *arg, struct bf_err *err);
	void *reload_arg;
};

/*
 * bf_broker_run - start a worker and serve it until told to stop
 *
 * Returns: exit status of the process
 */
int bf_broker_run(const struct bf_broker_opts *opts);

#endif
