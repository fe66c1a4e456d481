/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * conf - reads an INI file and says file:line of whatever is wrong in it
 */
#ifndef BF_CONF_H
#define BF_CONF_H

#include "common/err.h"

/*
 * Takes one `name = value` of a section.
 * Returns: 0, or a negative code with err saying what is wrong
 */
typedef int bf_conf_setter(void *arg, const char *section, const char *name,
			   const char *value, struct bf_err *err);

/*
 * bf_conf_read - give every setting in a file to set(), until one is refused
 *
 * A file that others may write, or that is no text, is refused.
 * Returns: 0; -ENOENT and other -errno; -BF_EDENIED; -BF_EARGUMENT with
 *          file:line
 */
int bf_conf_read(const char *path, bf_conf_setter *set, void *arg,
		 struct bf_err *err);

#endif
