// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * conf - INI files, on inih
 */
#include "common/conf.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>

struct parse {
	bf_conf_setter *set;
	void *arg;
	struct bf_err err;
};

static int
take_setting(void *user, const char *section, const char *name,
	     const char *value)
{
	struct parse *p = user;

	if (p->err.code)
		return 1; /* only the first mistake is told */
	return p->set(p->arg, section, name, value ? value : "", &p->err) == 0;
}

int
bf_conf_read(const char *path, bf_conf_setter *set, void *arg,
	     struct bf_err *err)
{
	struct parse p = {.set = set, .arg = arg};
	FILE *f = fopen(path, "re");
	int line, failed;

	if (!f)
		return bf_err_set(err, errno, "cannot read %s: %s", path,
				  bf_err_str(errno));
	line = ini_parse_file(f, take_setting, &p);
	failed = ferror(f) ? EIO : 0;
	fclose(f);
	if (failed)
		return bf_err_set(err, failed, "cannot read %s", path);
	if (line == 0)
		return 0;
	return bf_err_set(err, BF_EARGUMENT, "%s:%d: %s", path, line,
			  p.err.code ? p.err.text
				     : "neither [section] nor name = value");
}
