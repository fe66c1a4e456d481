/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * worker - the half of the agent that peers talk to
 */
#ifndef BF_SERVER_WORKER_H
#define BF_SERVER_WORKER_H

/*
 * bf_worker_main - run the worker on BF_BROKER_FD until told to stop
 *
 * The order of the calls in it is the architecture: settings, then no more
 * privileges, then the network.
 * Returns: exit status of the process
 */
int bf_worker_main(void);

#endif
