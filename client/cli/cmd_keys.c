// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * cmd_keys - genkey and pubkey, filters in the manner of wg(8): a private key
 * is on stdin and stdout only, never on a command line
 */
#include "client/cli/cmd.h"
#include "common/keys.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The shell has opened the file before we could choose its mode. */
static void
warn_if_readable(void)
{
	struct stat st;

	if (fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode) &&
	    st.st_mode & 077)
		cli_note("warning: others can read the file that the private "
			 "key goes to: chmod 600 it, or set umask 077 before");
}

/* The output buffer is not used: it would keep the secret in memory. */
static int
put_secret(const char *text)
{
	bool ok = printf("%s\n", text) > 0 && fflush(stdout) == 0;

	if (!ok)
		cli_note("cannot write output");
	return ok ? CLI_OK : CLI_INTERNAL;
}

int
cmd_genkey(struct cli *c)
{
	char text[BF_KEY_TEXT_BYTES], buffer[BF_KEY_TEXT_BYTES + 1];
	struct bf_key key;
	int status;

	if (c->argc)
		return cli_usage("genkey: unexpected word \"%s\"", c->argv[0]);
	if (bf_keys_init(NULL))
		return CLI_INTERNAL;
	warn_if_readable();
	setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	bf_keys_random(key.bytes, sizeof(key.bytes));
	bf_keys_to_text(text, key.bytes);
	status = put_secret(text);
	setvbuf(stdout, NULL, _IONBF, 0);
	bf_keys_wipe(&key, sizeof(key));
	bf_keys_wipe(text, sizeof(text));
	bf_keys_wipe(buffer, sizeof(buffer));
	return status;
}

int
cmd_pubkey(struct cli *c)
{
	char text[BF_KEY_TEXT_BYTES + 2];
	uint8_t public_key[BF_KEY_BYTES];
	struct bf_key key;
	ssize_t n, len = 0;
	bool ok;

	if (c->argc)
		return cli_usage("pubkey: unexpected word \"%s\"", c->argv[0]);
	if (bf_keys_init(NULL))
		return CLI_INTERNAL;
	while ((n = read(STDIN_FILENO, text + len,
			 sizeof(text) - (size_t)len)) > 0)
		len += n;
	while (len > 0 && strchr("\r\n", text[len - 1]))
		len--;
	ok = !bf_keys_from_text(key.bytes, text, (size_t)len);
	if (ok)
		bf_keys_public(public_key, &key);
	bf_keys_wipe(&key, sizeof(key));
	bf_keys_wipe(text, sizeof(text));
	if (!ok)
		return cli_usage("pubkey: no private key on stdin (as bpfleet "
				 "genkey prints one)");
	bf_keys_to_text(text, public_key);
	out_printf(c->out, "%s\n", text);
	return CLI_OK;
}
