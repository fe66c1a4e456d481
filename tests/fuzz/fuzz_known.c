// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * fuzz_known - any bytes as known_agents, asked for any address
 *
 * With a line for exactly that address in front, a text that can be read has
 * it.  Input: the address (any, up to a newline) | the file
 */
#include "client/lib/known.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool holds)
{
	if (!holds)
		abort();
}

static int
check(const char *text, size_t len, const char *address,
      const uint8_t key[BF_KEY_BYTES])
{
	struct bf_err err = {0};
	int ret = bf_known_check_text(text, len, "f", address, key, &err);
	unsigned line;

	must(ret == 0 || ret == -ENOENT || ret == -BF_EDENIED ||
	     ret == -BF_EARGUMENT);
	must(-ret == err.code);
	if (ret == -BF_EDENIED || ret == -BF_EARGUMENT)
		must(sscanf(err.text, "f:%u: ", &line) == 1 && line);
	return ret;
}

/* An address that can stand at the beginning of a line. */
static bool
is_plain(const char *address)
{
	size_t len = strlen(address);

	for (size_t i = 0; i < len; i++)
		if ((unsigned char)address[i] <= 0x20 || address[i] == 0x7f)
			return false;
	return len && len < BF_KNOWN_ADDRESS_MAX && address[0] != '#';
}

static void
check_with_line(const char *text, size_t len, const char *address, int before)
{
	uint8_t key[BF_KEY_BYTES], other[BF_KEY_BYTES];
	char text_key[BF_KEY_TEXT_BYTES], *more = NULL;
	size_t more_len = 0;
	FILE *f = open_memstream(&more, &more_len);

	must(f != NULL);
	memset(key, 0xa5, sizeof(key));
	memset(other, 0x5a, sizeof(other));
	bf_keys_to_text(text_key, key);
	fprintf(f, "%s %s\n", address, text_key);
	fwrite(text, 1, len, f);
	fclose(f);
	must(check(more, more_len, address, key) ==
	     (before == -BF_EARGUMENT ? before : 0));
	if (before == -ENOENT)
		must(check(more, more_len, address, other) == -BF_EDENIED);
	free(more);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t key[BF_KEY_BYTES] = {1};
	const uint8_t *nl = size ? memchr(data, '\n', size) : NULL;
	char address[2 * BF_KNOWN_ADDRESS_MAX];
	const char *text;
	size_t len;
	int ret;

	if (!nl || (size_t)(nl - data) >= sizeof(address))
		return 0;
	memcpy(address, data, (size_t)(nl - data));
	address[nl - data] = '\0';
	text = (const char *)nl + 1;
	len = size - (size_t)(nl - data) - 1;
	ret = check(text, len, address, key);
	if (is_plain(address))
		check_with_line(text, len, address, ret);
	return 0;
}
