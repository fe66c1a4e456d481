// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * err - words for error codes, and the one-line messages built on them
 */
#include "common/err.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* The kernel returns it from bpf(2), but keeps it out of errno.h. */
#define KERNEL_ENOTSUPP 524

static const struct {
	int code;
	const char *words;
} names[] = {
	{0, "no error"},
	{KERNEL_ENOTSUPP, "not supported by the kernel for this map type"},
	{BF_EPROTO, "malformed message"},
	{BF_EVERSION, "protocol version not spoken"},
	{BF_EOPERATION, "unknown operation"},
	{BF_EDENIED, "denied"},
	{BF_ENOMAP, "map not found"},
	{BF_EGONE, "map is gone"},
	{BF_EREPLACED, "map was replaced"},
	{BF_ECURSOR, "cursor refused"},
	{BF_EUNREADABLE, "map cannot be read"},
	{BF_ETOOBIG, "larger than the limit"},
	{BF_EBUSY, "agent is busy"},
	{BF_EARGUMENT, "invalid argument"},
	{BF_EKERNEL, "bpf(2) failed"},
	{BF_EUNREACHABLE, "agent unreachable"},
	{BF_ETIMEOUT, "timed out"},
	{BF_ENOKEY, "key not found"},
	{BF_EPERMISSION, "agent lacks a capability"},
	{BF_EINTERNAL, "internal error"},
	{BF_ESESSION, "no session"},
	{BF_EHOSTKEY, "key of the agent not known"},
};

int(bf_err_set)(struct bf_err *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (err) {
		err->code = code;
		va_start(ap, fmt);
		vsnprintf(err->text, sizeof(err->text), fmt, ap);
		va_end(ap);
	}
	return -code;
}

const char *
bf_err_str(int code)
{
	const char *words;

	if (code < 0)
		code = code == INT_MIN ? INT_MAX : -code;
	for (size_t i = 0; i < BF_ARRAY_SIZE(names); i++)
		if (names[i].code == code)
			return names[i].words;
	words = code < 4096 ? strerrordesc_np(code) : NULL;
	return words ? words : "unknown error";
}
