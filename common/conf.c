// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * conf - INI files, on inih
 */
#include "common/conf.h"

#include "common/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX (1u << 20)
#define LINE_MAX_BYTES 198u /* of the library, as Debian builds it */

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

/* The library would cut a long line in two, and a value at a NUL. */
static int
check_lines(struct bf_lines *in, struct bf_err *err)
{
	for (uint32_t line = 1; in->at < in->len; line++) {
		const char *s = in->text + in->at;
		const char *nl = memchr(s, '\n', in->len - in->at);
		size_t n = nl ? (size_t)(nl - s) : in->len - in->at;

		if (memchr(s, '\0', n))
			return bf_lines_fail(in, line,
					     "a NUL byte (is this a text "
					     "file?)",
					     err);
		if (n > LINE_MAX_BYTES)
			return bf_lines_fail(in, line,
					     "longer than 198 bytes (use two "
					     "lines; a list may be repeated)",
					     err);
		in->at += n + (nl != NULL);
	}
	return 0;
}

static int
parse_text(const char *path, const char *text, bf_conf_setter *set, void *arg,
	   struct bf_err *err)
{
	struct parse p = {.set = set, .arg = arg};
	int line = ini_parse_string(text, take_setting, &p);

	if (line == 0)
		return 0;
	return bf_err_set(err, BF_EARGUMENT, "%s:%d: %s", path, line,
			  p.err.code ? p.err.text
				     : "neither [section] nor name = value");
}

int
bf_conf_read(const char *path, bf_conf_setter *set, void *arg,
	     struct bf_err *err)
{
	struct bf_lines in = {.name = path};
	char *text = NULL;
	int fd, ret;

	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return bf_err_set(err, errno, "cannot read %s: %s", path,
				  bf_err_str(errno));
	ret = bf_lines_check_owner(fd, path, err);
	if (!ret)
		ret = bf_lines_read(&text, &in.len, fd, FILE_MAX, path, err);
	in.text = text;
	if (!ret)
		ret = check_lines(&in, err);
	if (!ret)
		ret = parse_text(path, text, set, arg, err);
	free(text);
	close(fd);
	return ret;
}
