// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * fuzz_acl - any bytes as authorized_clients
 *
 * What is taken keeps its limits, and written down again, in the shortest
 * form, is taken as the same.
 */
#include "server/acl.h"

#include "common/lines.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OPS_MASK 0x7eu

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
must(bool holds)
{
	if (!holds)
		abort();
}

static void
check_client(const struct bf_acl_client *c)
{
	size_t len = strnlen(c->comment, sizeof(c->comment));
	uint8_t addr[16] = {0};

	must(c->line > 0);
	must(c->ops & 2u && !(c->ops & ~OPS_MASK));
	must(c->rate_n <= 1000000 && !c->rate_n == !c->rate_s);
	must(c->n_nets <= BF_ACL_NETS_MAX);
	must(c->n_patterns <= BF_ACL_PATTERNS_MAX);
	must(len < sizeof(c->comment));
	for (size_t i = 0; i < len; i++)
		must((unsigned char)c->comment[i] >= 0x20 &&
		     c->comment[i] != 0x7f);
	for (uint32_t i = 0; i < c->n_nets; i++) {
		must(c->nets[i].bits <= 128);
		must(bf_acl_from_ok(c, c->nets[i].addr) ||
		     c->nets[i].bits < 96);
	}
	bf_acl_from_ok(c, addr);
}

static void
put_nets(FILE *f, const struct bf_acl_client *c)
{
	char text[INET6_ADDRSTRLEN];

	for (uint32_t i = 0; i < c->n_nets; i++) {
		inet_ntop(AF_INET6, c->nets[i].addr, text, sizeof(text));
		fprintf(f, "%s%s/%u", i ? "," : "from=\"", text,
			c->nets[i].bits);
	}
	fputs(c->n_nets ? "\"," : "", f);
}

static void
put_maps(FILE *f, const struct bf_acl_line *line)
{
	static const char *const kinds[] = {"name", "pin", "id"};

	for (uint32_t i = 0; i < line->client.n_patterns; i++)
		fprintf(f, "%s%s:%s", i ? "," : "maps=\"",
			kinds[line->patterns[i].kind], line->patterns[i].glob);
	fputs(line->client.n_patterns ? "\"," : "", f);
}

static void
put_ops(FILE *f, const struct bf_acl_client *c)
{
	static const char *const verbs[] = {"list", "show", "dump", "lookup",
					    "peek"};
	bool first = true;

	fputs("ops=\"", f);
	for (uint32_t i = 0; i < BF_ARRAY_SIZE(verbs); i++) {
		if (!(c->ops & 4u << i))
			continue;
		fprintf(f, "%s%s", first ? "" : ",", verbs[i]);
		first = false;
	}
	fputs("\" ", f);
}

static void
put_line(FILE *f, const struct bf_acl_line *line)
{
	const struct bf_acl_client *c = &line->client;
	time_t expires = (time_t)c->expires_s;
	char key[BF_KEY_TEXT_BYTES], date[32];
	struct tm tm;

	put_maps(f, line);
	put_nets(f, c);
	if (c->rate_n)
		fprintf(f, "rate=\"%u/%s\",", c->rate_n,
			c->rate_s == 1	  ? "s"
			: c->rate_s == 60 ? "min"
					  : "h");
	if (expires) {
		gmtime_r(&expires, &tm);
		strftime(date, sizeof(date), "%Y%m%d%H%M", &tm);
		/* The year 10000 is written as the day before it. */
		fprintf(f, "expires=\"%s\",",
			tm.tm_year > 9999 - 1900 ? "99991231" : date);
	}
	put_ops(f, c);
	bf_keys_to_text(key, c->key);
	fprintf(f, "%s %s\n", key, c->comment);
}

static void
check_again(const struct bf_acl *acl)
{
	struct bf_acl again;
	struct bf_err err;
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	must(f != NULL);
	for (uint32_t i = 0; i < acl->n; i++)
		put_line(f, &acl->lines[i]);
	fclose(f);
	if (bf_acl_parse(&again, text, len, "again", &err)) {
		/* Default values written out can make a line too long. */
		must(strstr(err.text, "the line is too long") != NULL);
		free(text);
		return;
	}
	must(again.n == acl->n);
	for (uint32_t i = 0; i < acl->n; i++) {
		again.lines[i].client.line = acl->lines[i].client.line;
		must(!memcmp(&again.lines[i], &acl->lines[i],
			     sizeof(again.lines[i])));
	}
	bf_acl_fini(&again);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bf_err err = {0};
	struct bf_acl acl;
	unsigned line;

	if (bf_acl_parse(&acl, (const char *)data, size, "f", &err)) {
		must(!acl.n && !acl.lines);
		must(sscanf(err.text, "f:%u: ", &line) == 1 && line);
		return 0;
	}
	must(acl.n <= BF_ACL_CLIENTS_MAX);
	for (uint32_t i = 0; i < acl.n; i++)
		check_client(&acl.lines[i].client);
	check_again(&acl);
	bf_acl_fini(&acl);
	return 0;
}
