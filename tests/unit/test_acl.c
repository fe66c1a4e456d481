// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * test_acl - lines of authorized_clients: what they allow, and every mistake
 */
#include "server/acl.h"

#include "common/frame.h"

#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define KEY1 "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
#define KEY2 "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="
#define KEY0 "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
#define OP(m) (1u << (m))
#define ALL_OPS                                                                \
	(OP(BF_HELLO) | OP(BF_LIST_MAPS) | OP(BF_SHOW_MAP) | OP(BF_DUMP) |     \
	 OP(BF_LOOKUP) | OP(BF_PEEK))
#define MAN "deploy/man/bpfleet-authorized-clients.5.scd"

static int
parse(struct bf_acl *acl, const char *text, struct bf_err *err)
{
	return bf_acl_parse(acl, text, strlen(text), "f", err);
}

/* Parses a text that must be one line; free with bf_acl_fini(). */
static struct bf_acl_client *
one(struct bf_acl *acl, const char *text)
{
	struct bf_err err = {0};

	if (parse(acl, text, &err))
		fail_msg("%s: %s", text, err.text);
	assert_int_equal(acl->n, 1);
	return &acl->lines[0].client;
}

/* The n-th of the file. */
static const struct bf_acl_client *
by_order(const struct bf_acl *acl, uint32_t n)
{
	for (uint32_t i = 0; i < acl->n; i++) {
		uint32_t before = 0;

		for (uint32_t k = 0; k < acl->n; k++)
			before += acl->lines[k].client.line <
				  acl->lines[i].client.line;
		if (before == n)
			return &acl->lines[i].client;
	}
	fail_msg("no line %u", n);
	return NULL;
}

static void
address(uint8_t out[16], const char *text)
{
	memset(out, 0, 16);
	if (inet_pton(AF_INET6, text, out) == 1)
		return;
	out[10] = out[11] = 0xff;
	assert_int_equal(inet_pton(AF_INET, text, out + 12), 1);
}

static void
test_bare_key(void **state)
{
	static const char *const texts[] = {
		KEY1,
		KEY1 "\n",
		KEY1 "\r\n",
		"\n# x\n  \n" KEY1 "\n\n",
		"  " KEY1 "\t \n",
		"#" KEY2 "\n" KEY1,
	};
	struct bf_acl acl;
	uint8_t anywhere[16];

	(void)state;
	address(anywhere, "203.0.113.9");
	for (size_t i = 0; i < BF_ARRAY_SIZE(texts); i++) {
		const struct bf_acl_client *c = one(&acl, texts[i]);

		for (size_t j = 0; j < BF_KEY_BYTES; j++)
			assert_int_equal(c->key[j], 1);
		assert_int_equal(c->ops, ALL_OPS);
		assert_int_equal(c->expires_s, 0);
		assert_int_equal(c->rate_n, 0);
		assert_int_equal(c->n_patterns, 0);
		assert_string_equal(c->comment, "");
		assert_true(bf_acl_from_ok(c, anywhere));
		bf_acl_fini(&acl);
	}
}

static void
test_empty(void **state)
{
	static const char *const texts[] = {"", "\n", "# " KEY1, "\r\n\t"};
	struct bf_acl acl;
	struct bf_err err;

	(void)state;
	for (size_t i = 0; i < BF_ARRAY_SIZE(texts); i++) {
		assert_int_equal(parse(&acl, texts[i], &err), 0);
		assert_int_equal(acl.n, 0);
		bf_acl_fini(&acl);
	}
	assert_int_equal(bf_acl_parse(&acl, NULL, 0, "f", &err), 0);
}

static void
test_all_options(void **state)
{
	struct bf_acl acl;
	const struct bf_acl_client *c = one(
		&acl, "maps=\"name:flow_*,pin:/a b/*,id:7\",ops=\"list,dump\","
		      "from=\"10.0.0.0/8,::1\",rate=\"60/min\","
		      "expires=\"20270101\" " KEY1 "  two words ");
	const struct bf_pattern *p = acl.lines[0].patterns;

	(void)state;
	assert_int_equal(c->line, 1);
	assert_int_equal(c->n_patterns, 3);
	assert_int_equal(p[0].kind, BF_PATTERN_NAME);
	assert_string_equal(p[0].glob, "flow_*");
	assert_int_equal(p[1].kind, BF_PATTERN_PIN);
	assert_string_equal(p[1].glob, "/a b/*");
	assert_int_equal(p[2].id, 7);
	assert_int_equal(c->ops, OP(BF_HELLO) | OP(BF_LIST_MAPS) |
					 OP(BF_SHOW_MAP) | OP(BF_DUMP));
	assert_int_equal(c->n_nets, 2);
	assert_int_equal(c->nets[0].bits, 104);
	assert_int_equal(c->nets[1].bits, 128);
	assert_int_equal(c->rate_n, 60);
	assert_int_equal(c->rate_s, 60);
	assert_string_equal(c->comment, "two words");
	bf_acl_fini(&acl);
}

static void
test_ops(void **state)
{
	static const struct {
		const char *word;
		enum bf_method method;
	} ops[] = {{"list", BF_LIST_MAPS}, {"show", BF_SHOW_MAP},
		   {"dump", BF_DUMP},	   {"lookup", BF_LOOKUP},
		   {"peek", BF_PEEK},	   {"peek,peek", BF_PEEK}};
	struct bf_acl acl;
	char text[128];

	(void)state;
	for (size_t i = 0; i < BF_ARRAY_SIZE(ops); i++) {
		snprintf(text, sizeof(text), "ops=\"%s\" " KEY1, ops[i].word);
		assert_int_equal(
			one(&acl, text)->ops,
			OP(BF_HELLO) | OP(ops[i].method) |
				(i < 2 ? 0
				       : OP(BF_LIST_MAPS) | OP(BF_SHOW_MAP)));
		bf_acl_fini(&acl);
	}
}

static void
test_rates(void **state)
{
	static const struct {
		const char *word;
		uint32_t n, s;
	} rates[] = {{"1/s", 1, 1},
		     {"60/min", 60, 60},
		     {"1000000/h", 1000000, 3600},
		     {"007/s", 7, 1}};
	struct bf_acl acl;
	char text[128];

	(void)state;
	for (size_t i = 0; i < BF_ARRAY_SIZE(rates); i++) {
		const struct bf_acl_client *c;

		snprintf(text, sizeof(text), "rate=\"%s\" " KEY1,
			 rates[i].word);
		c = one(&acl, text);
		assert_int_equal(c->rate_n, rates[i].n);
		assert_int_equal(c->rate_s, rates[i].s);
		bf_acl_fini(&acl);
	}
}

static void
test_expires(void **state)
{
	static const struct {
		const char *word;
		uint64_t first_after;
	} dates[] = {
		{"20000101", 946771200},      /* 2 January 2000 */
		{"20270101", 1798848000},     /* 2 January 2027 */
		{"20281231", 1861920000},     /* 1 January 2029 */
		{"20280229", 1835481600},     /* 1 March 2028 */
		{"202701010000", 1798761600}, /* that second */
		{"202701012359", 1798847940}, /* 23:59:00 */
		{"99991231", 253402300800},   /* year 10000 */
		{"20000229", 951868800},      /* of a leap century */
	};
	struct bf_acl acl;
	char text[128];

	(void)state;
	for (size_t i = 0; i < BF_ARRAY_SIZE(dates); i++) {
		snprintf(text, sizeof(text), "expires=\"%s\" " KEY1,
			 dates[i].word);
		assert_true(one(&acl, text)->expires_s == dates[i].first_after);
		bf_acl_fini(&acl);
	}
}

static void
test_expires_ignores_zone(void **state)
{
	struct bf_acl acl;

	(void)state;
	setenv("TZ", "America/New_York", 1);
	tzset();
	assert_true(one(&acl, "expires=\"20270101\" " KEY1)->expires_s ==
		    1798848000);
	unsetenv("TZ");
	tzset();
	bf_acl_fini(&acl);
}

static void
test_from(void **state)
{
	static const struct {
		const char *from, *address;
		bool ok;
	} cases[] = {
		{"10.0.0.0/8", "10.255.0.1", true},
		{"10.0.0.0/8", "11.0.0.0", false},
		{"10.1.2.3", "10.1.2.3", true},
		{"10.1.2.3", "10.1.2.2", false},
		{"10.1.2.2/31", "10.1.2.3", true},
		{"10.1.2.2/31", "10.1.2.4", false},
		{"192.0.2.0/25", "192.0.2.127", true},
		{"192.0.2.0/25", "192.0.2.128", false},
		{"0.0.0.0/0", "203.0.113.7", true},
		{"0.0.0.0/0", "2001:db8::1", false},
		{"::/0", "2001:db8::1", true},
		{"::/0", "203.0.113.7", false},
		{"::ffff:0:0/96", "203.0.113.7", true},
		{"::ffff:10.0.0.0/104", "10.9.9.9", true},
		{"2001:db8::/33", "2001:db8:7fff::1", true},
		{"2001:db8::/33", "2001:db8:8000::1", false},
		{"fe80::1", "fe80::1", true},
		{"fe80::1", "fe80::2", false},
		{"10.0.0.0/8,fd00::/8", "fd12::1", true},
		{"10.0.0.0/8,fd00::/8", "10.0.0.1", true},
		{"10.0.0.0/8,fd00::/8", "192.0.2.1", false},
	};
	struct bf_acl acl;
	uint8_t addr[16];
	char text[128];

	(void)state;
	for (size_t i = 0; i < BF_ARRAY_SIZE(cases); i++) {
		snprintf(text, sizeof(text), "from=\"%s\" " KEY1,
			 cases[i].from);
		address(addr, cases[i].address);
		if (bf_acl_from_ok(one(&acl, text), addr) != cases[i].ok)
			fail_msg("%s against %s", cases[i].address,
				 cases[i].from);
		bf_acl_fini(&acl);
	}
}

static void
test_comments(void **state)
{
	static const struct {
		const char *text, *comment;
	} cases[] = {
		{KEY1 " # a \"b\" = c", "# a \"b\" = c"},
		{KEY1 "\ta\tb", "a b"},
		{"comment=\" of an, option \" " KEY1, "of an, option"},
		{"comment=\"\" " KEY1 " after", NULL},
		{"comment=\"\" " KEY1, ""},
		{KEY1 " J\xc3\xbcrgen", "J\xc3\xbcrgen"},
	};
	struct bf_acl acl;
	struct bf_err err;

	(void)state;
	for (size_t i = 0; i < BF_ARRAY_SIZE(cases); i++) {
		if (!cases[i].comment) {
			assert_int_equal(parse(&acl, cases[i].text, &err),
					 -BF_EARGUMENT);
			continue;
		}
		assert_string_equal(one(&acl, cases[i].text)->comment,
				    cases[i].comment);
		bf_acl_fini(&acl);
	}
}

static void
test_long_comment_is_cut(void **state)
{
	char text[256] = KEY1 " ";
	const struct bf_acl_client *c;
	struct bf_acl acl;

	(void)state;
	/* 62 letters, then one of two bytes that does not fit. */
	memset(text + 45, 'x', 62);
	memcpy(text + 45 + 62, "\xc3\xbc and more", 12);
	c = one(&acl, text);
	assert_int_equal(strlen(c->comment), 62);
	assert_int_equal(c->comment[61], 'x');
	bf_acl_fini(&acl);
	/* Nothing but the insides of characters: cut to nothing, no overrun. */
	memset(text + 45, 0xbc, 100);
	assert_int_equal(strlen(one(&acl, text)->comment), 0);
	bf_acl_fini(&acl);
}

static const struct {
	const char *text, *says;
} bad[] = {
	/* keys */
	{"x", "f:1: \"x\" is not a key"},
	{"\n\n" KEY1 "\n\nAAAA", "f:5: \"AAAA\" is not a key"},
	{KEY1 "A", "f:1: "},
	{KEY0, "f:1: the key is all zero"},
	{"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQF=", "is not a key"},
	{"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE", "is not a key"},
	{"AQEBAQEBAQEBAQEBAQEB-QEBAQEBAQEBAQEBAQEBAQE=", "is not a key"},
	{"ops=\"list\"", "f:1: no key after the options"},
	{"ops=\"list\" ", "f:1: no key after the options"},
	{"ops=\"list\" comment " KEY1, "\"comment\" is not a key"},
	{KEY1 "\n" KEY2 "\n" KEY1, "f:3: the key has line 1 already"},
	{KEY1 "\n" KEY1 "\nx\n", "f:2: the key has line 1 already"},
	{KEY1 "\nx\n" KEY1 "\n", "f:2: \"x\" is not a key"},
	{KEY2 "\n" KEY1 "\n" KEY1 "\n" KEY2 "\n" KEY1, "f:3: "},
	/* options as such */
	{"map=\"id:1\" " KEY1, "\"map\" is not known; did you mean maps?"},
	{"zzz=\"id:1\" " KEY1, "\"zzz\" is not maps, ops, from, rate,"},
	{"ops=\"list\",ops=\"dump\" " KEY1, "f:1: ops: given twice"},
	{"ops=list " KEY1, "f:1: ops: no value in double quotes"},
	{"ops " KEY1, "f:1: ops: no value in double quotes"},
	{"ops,rate=\"1/s\" " KEY1, "f:1: ops: no value in double quotes"},
	{"ops=x", "f:1: ops: no value in double quotes"},
	{"ops=\"list " KEY1, "f:1: ops: the double quote is not closed"},
	{"ops=\"list\", rate=\"1/s\" " KEY1, "no option after the comma"},
	{"ops=\"list\"," KEY1, "f:1: option \"AQEBA"},
	{"ops=\"list\"" KEY1, "after a closing quote"},
	{"ops=\"list\";rate=\"1/s\" " KEY1, "after a closing quote"},
	{"ops = \"list\" " KEY1, "f:1: ops: no value"},
	{",ops=\"list\" " KEY1, "no option after the comma"},
	{"=\"list\" " KEY1, "no option after the comma"},
	{"\"list\" " KEY1, "no option after the comma"},
	{"comment=\"a\" " KEY1 " b", "f:1: a comment as an option and one"},
	/* maps */
	{"maps=\"\" " KEY1, "f:1: maps: a list with nothing in it"},
	{"maps=\"id:1,\" " KEY1, "maps: a list with nothing in it"},
	{"maps=\",id:1\" " KEY1, "maps: a list with nothing in it"},
	{"maps=\"flows\" " KEY1, "f:1: maps: \"flows\" is not name:GLOB"},
	{"maps=\"id:1, id:2\" " KEY1, "maps: \" id:2\" is not name:GLOB"},
	{"maps=\"id:0\" " KEY1, "f:1: maps: \"id:0\" is no map id"},
	{"maps=\"id:1,id:1,id:1,id:1,id:1,id:1,id:1,id:1,id:1,id:1,id:1,id:1,"
	 "id:1,id:1,id:1,id:1,id:1\" " KEY1,
	 "f:1: maps: more than 16"},
	/* ops */
	{"ops=\"dmup\" " KEY1, "f:1: ops: \"dmup\" is not known; did you mean "
			       "dump?"},
	{"ops=\"list show\" " KEY1, "f:1: ops: \"list show\" is not"},
	{"ops=\"hello\" " KEY1, "f:1: ops: \"hello\" is not list, show"},
	{"ops=\"LIST\" " KEY1, "f:1: ops: \"LIST\" is not list, show"},
	/* from */
	{"from=\"10.1.2.3/8\" " KEY1, "f:1: from: \"10.1.2.3/8\" has bits set "
				      "beyond /8; did you mean 10.0.0.0/8?"},
	{"from=\"2001:db8::1/32\" " KEY1, "did you mean 2001:db8::/32?"},
	{"from=\"1.1.1.1/0\" " KEY1, "did you mean 0.0.0.0/0?"},
	{"from=\"10.0.0.0/33\" " KEY1, "does not end in /0 to /32"},
	{"from=\"::/129\" " KEY1, "does not end in /0 to /128"},
	{"from=\"::/\" " KEY1, "does not end in /0 to /128"},
	{"from=\"::/-1\" " KEY1, "does not end in /0 to /128"},
	{"from=\"::/0x8\" " KEY1, "does not end in /0 to /128"},
	{"from=\"::/8/8\" " KEY1, "does not end in /0 to /128"},
	{"from=\"10.0.0\" " KEY1, "is not an IPv4 or IPv6 address"},
	{"from=\"10.0.0.256\" " KEY1, "is not an IPv4 or IPv6 address"},
	{"from=\"web01\" " KEY1, "is not an IPv4 or IPv6 address"},
	{"from=\"[::1]\" " KEY1, "is not an IPv4 or IPv6 address"},
	{"from=\"fe80::1%eth0\" " KEY1, "is not an IPv4 or IPv6 address"},
	{"from=\"/8\" " KEY1, "is not an IPv4 or IPv6 address"},
	{"from=\"1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:"
	 "bbbb\" " KEY1,
	 "is not an IPv4 or IPv6 address"},
	{"from=\"::1,::2,::3,::4,::5,::6,::7,::8,::9\" " KEY1,
	 "f:1: from: more than 8"},
	/* rate */
	{"rate=\"\" " KEY1, "f:1: rate: \"\" is not N/s, N/min or N/h"},
	{"rate=\"0/s\" " KEY1, "f:1: rate: "},
	{"rate=\"1000001/s\" " KEY1, "f:1: rate: "},
	{"rate=\"99999999999999999999/s\" " KEY1, "f:1: rate: "},
	{"rate=\"-1/s\" " KEY1, "f:1: rate: "},
	{"rate=\"/s\" " KEY1, "f:1: rate: "},
	{"rate=\"5\" " KEY1, "f:1: rate: "},
	{"rate=\"5/day\" " KEY1, "f:1: rate: "},
	{"rate=\"5/s/s\" " KEY1, "f:1: rate: "},
	/* expires */
	{"expires=\"2027\" " KEY1, "f:1: expires: \"2027\" is not YYYYMMDD"},
	{"expires=\"2027-01-01\" " KEY1, "is not YYYYMMDD"},
	{"expires=\"2027010100\" " KEY1, "is not YYYYMMDD"},
	{"expires=\"20270101000x\" " KEY1, "is not YYYYMMDD"},
	{"expires=\"+2027101\" " KEY1, "is not YYYYMMDD"},
	{"expires=\"20270229\" " KEY1, "f:1: expires: \"20270229\" is no date"},
	{"expires=\"21000229\" " KEY1, "is no date"},
	{"expires=\"20270431\" " KEY1, "is no date"},
	{"expires=\"20270100\" " KEY1, "is no date"},
	{"expires=\"20270001\" " KEY1, "is no date"},
	{"expires=\"20271301\" " KEY1, "is no date"},
	{"expires=\"202701012400\" " KEY1, "is no date"},
	{"expires=\"202701010060\" " KEY1, "is no date"},
	{"expires=\"19991231\" " KEY1, "is no date"},
	{"expires=\"00000101\" " KEY1, "is no date"},
	/* bytes */
	{KEY1 " a\033[31mb", "f:1: a NUL or control byte"},
	{KEY1 " \x7f", "f:1: a NUL or control byte"},
	{"ops=\"list\tdump\" " KEY1, "f:1: ops: \"list\tdump\" is not"},
};

static void
test_mistakes(void **state)
{
	struct bf_acl acl;
	struct bf_err err;

	(void)state;
	for (size_t i = 0; i < BF_ARRAY_SIZE(bad); i++) {
		if (parse(&acl, bad[i].text, &err) != -BF_EARGUMENT)
			fail_msg("taken: %s", bad[i].text);
		if (!strstr(err.text, bad[i].says) ||
		    strncmp(err.text, "f:", 2) != 0 ||
		    strtoul(err.text + 2, NULL, 10) == 0)
			fail_msg("%s\n gave: %s\n not: %s", bad[i].text,
				 err.text, bad[i].says);
		/* What came before a mistake lets nobody in. */
		assert_int_equal(acl.n, 0);
		assert_null(acl.lines);
	}
	assert_int_equal(bf_acl_parse(&acl, KEY1 " \0x", 47, "f", &err),
			 -BF_EARGUMENT);
	assert_int_equal(parse(&acl, "x", NULL), -BF_EARGUMENT);
}

/* As many lines as there may be, and one more; the last two share a key. */
static void
test_many_lines(void **state)
{
	char key[BF_KEY_TEXT_BYTES], *text;
	uint8_t bytes[BF_KEY_BYTES] = {1};
	size_t len = 0;
	struct bf_acl acl;
	struct bf_err err;

	(void)state;
	text = malloc((BF_ACL_CLIENTS_MAX + 1) * sizeof(key));
	assert_non_null(text);
	for (uint32_t i = 0; i <= BF_ACL_CLIENTS_MAX; i++) {
		/* Descending, so that their order is not that of the file. */
		uint32_t n = BF_ACL_CLIENTS_MAX - (i ? i : 1);

		memcpy(bytes + 1, &n, sizeof(n));
		bf_keys_to_text(key, bytes);
		memcpy(text + len, key, sizeof(key));
		len += sizeof(key);
		text[len - 1] = '\n';
	}
	assert_int_equal(bf_acl_parse(&acl, text, len, "f", &err),
			 -BF_EARGUMENT);
	assert_non_null(strstr(err.text, "f:2: the key has line 1 already"));
	assert_int_equal(bf_acl_parse(&acl, text + 45, len - 45, "f", &err), 0);
	assert_int_equal(acl.n, BF_ACL_CLIENTS_MAX);
	assert_int_equal(by_order(&acl, 4095)->line, 4096);
	bf_acl_fini(&acl);
	bf_acl_fini(&acl);
	memcpy(text, KEY2, 44);
	assert_int_equal(bf_acl_parse(&acl, text, len, "f", &err),
			 -BF_EARGUMENT);
	assert_non_null(strstr(err.text, "f:4097: more than 4096 keys"));
	free(text);
}

/* ----------------------------------------------------------------- files */

static void
write_file(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static void
test_files(void **state)
{
	static const struct {
		mode_t mode;
		int ret;
	} modes[] = {{0600, 0},		  {0644, 0},
		     {0664, -BF_EDENIED}, {0602, -BF_EDENIED},
		     {0666, -BF_EDENIED}, {0400, 0}};
	char dir[] = "/tmp/bf-acl-XXXXXX", path[64], link[64];
	struct bf_acl acl;
	struct bf_err err;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/clients", dir);
	snprintf(link, sizeof(link), "%s/link", dir);
	assert_int_equal(bf_acl_read(&acl, path, &err), -ENOENT);
	assert_non_null(strstr(err.text, path));
	assert_int_equal(bf_acl_read(&acl, dir, &err), -BF_EARGUMENT);
	assert_int_equal(symlink("clients", link), 0);
	for (size_t i = 0; i < BF_ARRAY_SIZE(modes); i++) {
		write_file(path, KEY1, modes[i].mode);
		assert_int_equal(bf_acl_read(&acl, path, &err), modes[i].ret);
		assert_int_equal(acl.n, modes[i].ret ? 0 : 1);
		bf_acl_fini(&acl);
		assert_int_equal(bf_acl_read(&acl, link, &err), modes[i].ret);
		bf_acl_fini(&acl);
		chmod(path, 0600);
	}
	write_file(path, KEY1 "\nx\n", 0600);
	assert_int_equal(bf_acl_read(&acl, path, &err), -BF_EARGUMENT);
	assert_non_null(strstr(err.text, "/clients:2: "));
	assert_int_equal(truncate(path, BF_ACL_FILE_MAX + 1), 0);
	assert_int_equal(bf_acl_read(&acl, path, &err), -EFBIG);
	if (geteuid() == 0) {
		write_file(path, KEY1, 0600);
		assert_int_equal(chown(path, 65534, 0), 0);
		assert_int_equal(bf_acl_read(&acl, path, &err), -BF_EDENIED);
	}
	unlink(link);
	unlink(path);
	rmdir(dir);
}

/* The lines between the fences of a manual page are a file. */
static void
test_manual(void **state)
{
	char line[1024], text[8192] = "";
	FILE *f = fopen(MAN, "re");
	bool inside = false;
	struct bf_acl acl;
	struct bf_err err;

	(void)state;
	if (!f)
		fail_msg("%s: run from the top of the sources", MAN);
	while (fgets(line, sizeof(line), f)) {
		if (!strncmp(line, "```", 3))
			inside = !inside;
		else if (inside)
			strncat(text, line, sizeof(text) - strlen(text) - 1);
	}
	fclose(f);
	if (parse(&acl, text, &err))
		fail_msg("%s: %s", MAN, err.text);
	assert_int_equal(acl.n, 3);
	assert_int_equal(by_order(&acl, 0)->ops, ALL_OPS);
	assert_int_equal(by_order(&acl, 1)->n_nets, 2);
	assert_string_equal(by_order(&acl, 2)->comment, "billing probe");
	bf_acl_fini(&acl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bare_key),
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_all_options),
		cmocka_unit_test(test_ops),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_expires),
		cmocka_unit_test(test_expires_ignores_zone),
		cmocka_unit_test(test_from),
		cmocka_unit_test(test_comments),
		cmocka_unit_test(test_long_comment_is_cut),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_many_lines),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_manual),
	};

	if (bf_keys_init(NULL))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
