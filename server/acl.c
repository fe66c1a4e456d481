// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * acl - parses authorized_clients: options, a key and a comment a line
 *
 * Strict, since a misread line is access that nobody meant to give: whatever
 * is not understood is an error, and one error refuses the file.
 */
#include "server/acl.h"

#include "common/frame.h"
#include "common/lines.h"
#include "common/nearest.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define RATE_MAX 1000000u
#define YEAR_MIN 2000u /* so that no date is the 0 of "never" */

/* What a line can allow: not hello, which who may connect may ask. */
#define FIRST_OP BF_LIST_MAPS

/* What an option's value, or one word of it, does to a line. */
typedef int take_word(struct bf_acl_line *line, const char *word,
		      struct bf_err *err);

/* --------------------------------------------------------------- options */

/* A number of at most so many digits (9 at most) and nothing else. */
static int
parse_digits(uint32_t *out, const char *text, size_t len, size_t max_digits)
{
	uint32_t n = 0;

	if (!len || len > max_digits)
		return -BF_EARGUMENT;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -BF_EARGUMENT;
		n = n * 10 + (uint32_t)(text[i] - '0');
	}
	*out = n;
	return 0;
}

static int
add_map(struct bf_acl_line *line, const char *word, struct bf_err *err)
{
	struct bf_acl_client *c = &line->client;
	int ret;

	if (c->n_patterns == BF_ACL_PATTERNS_MAX)
		return bf_err_set(err, BF_EARGUMENT,
				  "maps: more than %u patterns (use wider "
				  "ones)",
				  BF_ACL_PATTERNS_MAX);
	ret = bf_pattern_parse(&line->patterns[c->n_patterns], word, err);
	c->n_patterns += !ret;
	return ret;
}

static int
add_op(struct bf_acl_line *line, const char *word, struct bf_err *err)
{
	const char *names[BF_METHOD_MAX], *like;
	size_t n = 0;

	for (uint32_t m = FIRST_OP; m <= BF_METHOD_MAX; m++) {
		if (!strcmp(word, bf_method_str(m))) {
			line->client.ops |= 1u << m;
			/* What is read must be found and described. */
			if (m != BF_LIST_MAPS && m != BF_SHOW_MAP)
				line->client.ops |=
					1u << BF_LIST_MAPS | 1u << BF_SHOW_MAP;
			return 0;
		}
		names[n++] = bf_method_str(m);
	}
	like = bf_nearest_word(word, names, n);
	if (like)
		return bf_err_set(err, BF_EARGUMENT,
				  "ops: \"%.32s\" is not known; did you mean "
				  "%s?",
				  word, like);
	return bf_err_set(err, BF_EARGUMENT,
			  "ops: \"%.32s\" is not list, show, dump, lookup or "
			  "peek",
			  word);
}

/* Clears what is beyond the prefix. Returns: whether anything was set */
static bool
clear_host_bits(struct bf_acl_net *net)
{
	bool any = false;

	for (uint32_t bit = net->bits; bit < 128; bit++) {
		uint8_t mask = (uint8_t)(0x80u >> bit % 8);

		any |= net->addr[bit / 8] & mask;
		net->addr[bit / 8] &= (uint8_t)~mask;
	}
	return any;
}

/* The address before the slash; bits becomes the most a prefix can have. */
static int
parse_address(struct bf_acl_net *net, const char *text, uint32_t *max_bits)
{
	net->addr[10] = net->addr[11] = 0xff;
	*max_bits = 32;
	if (inet_pton(AF_INET, text, net->addr + 12) == 1)
		return 0;
	*max_bits = 128;
	return inet_pton(AF_INET6, text, net->addr) == 1 ? 0 : -BF_EARGUMENT;
}

static int
add_net(struct bf_acl_line *line, const char *word, struct bf_err *err)
{
	struct bf_acl_client *c = &line->client;
	struct bf_acl_net net = {0};
	const char *slash = strchr(word, '/');
	char text[INET6_ADDRSTRLEN] = "";
	size_t len = slash ? (size_t)(slash - word) : strlen(word);
	uint32_t bits, max_bits;

	if (len < sizeof(text))
		memcpy(text, word, len);
	if (parse_address(&net, text, &max_bits))
		return bf_err_set(err, BF_EARGUMENT,
				  "from: \"%.64s\" is not an IPv4 or IPv6 "
				  "address (names are not looked up)",
				  word);
	bits = max_bits;
	if (slash && (parse_digits(&bits, slash + 1, strlen(slash + 1), 3) ||
		      bits > max_bits))
		return bf_err_set(err, BF_EARGUMENT,
				  "from: \"%.64s\" does not end in /0 to /%u",
				  word, max_bits);
	net.bits = (uint8_t)(bits + 128 - max_bits);
	if (clear_host_bits(&net)) {
		inet_ntop(max_bits == 32 ? AF_INET : AF_INET6,
			  max_bits == 32 ? net.addr + 12 : net.addr, text,
			  sizeof(text));
		return bf_err_set(err, BF_EARGUMENT,
				  "from: \"%.64s\" has bits set beyond /%u; "
				  "did you mean %s/%u?",
				  word, bits, text, bits);
	}
	if (c->n_nets == BF_ACL_NETS_MAX)
		return bf_err_set(err, BF_EARGUMENT,
				  "from: more than %u addresses (use wider "
				  "networks)",
				  BF_ACL_NETS_MAX);
	c->nets[c->n_nets++] = net;
	return 0;
}

static int
set_rate(struct bf_acl_line *line, const char *value, struct bf_err *err)
{
	static const struct {
		const char *name;
		uint32_t seconds;
	} units[] = {{"s", 1}, {"min", 60}, {"h", 3600}};
	const char *slash = strchr(value, '/');
	struct bf_acl_client *c = &line->client;

	for (size_t i = 0; slash && i < BF_ARRAY_SIZE(units); i++)
		if (!strcmp(slash + 1, units[i].name))
			c->rate_s = units[i].seconds;
	if (!slash || !c->rate_s ||
	    parse_digits(&c->rate_n, value, (size_t)(slash - value), 7) ||
	    !c->rate_n || c->rate_n > RATE_MAX)
		return bf_err_set(err, BF_EARGUMENT,
				  "rate: \"%.32s\" is not N/s, N/min or N/h "
				  "with N from 1 to %u",
				  value, RATE_MAX);
	return 0;
}

static uint32_t
days_in_month(uint32_t year, uint32_t month)
{
	static const uint8_t days[] = {31, 28, 31, 30, 31, 30,
				       31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return month == 2 && leap ? 29 : days[month - 1];
}

/* YYYYMMDD: through that day; YYYYMMDDHHMM: up to that minute. */
static int
set_expires(struct bf_acl_line *line, const char *value, struct bf_err *err)
{
	uint32_t year, month, day, hour = 24, minute = 0;
	size_t len = strlen(value);
	struct tm tm = {0};

	if ((len != 8 && len != 12) || parse_digits(&year, value, 4, 4) ||
	    parse_digits(&month, value + 4, 2, 2) ||
	    parse_digits(&day, value + 6, 2, 2) ||
	    (len == 12 && (parse_digits(&hour, value + 8, 2, 2) ||
			   parse_digits(&minute, value + 10, 2, 2))))
		return bf_err_set(err, BF_EARGUMENT,
				  "expires: \"%.32s\" is not YYYYMMDD or "
				  "YYYYMMDDHHMM (UTC)",
				  value);
	if (year < YEAR_MIN || !month || month > 12 || !day ||
	    day > days_in_month(year, month) || (len == 12 && hour > 23) ||
	    minute > 59)
		return bf_err_set(err, BF_EARGUMENT,
				  "expires: \"%.32s\" is no date and time "
				  "since %u (YYYYMMDD or YYYYMMDDHHMM, UTC)",
				  value, YEAR_MIN);
	tm.tm_year = (int)year - 1900;
	tm.tm_mon = (int)month - 1;
	tm.tm_mday = (int)day;
	tm.tm_hour = (int)hour;
	tm.tm_min = (int)minute;
	line->client.expires_s = (uint64_t)timegm(&tm);
	return 0;
}

/* Cut where a character of UTF-8 begins; a tab becomes a space. */
static int
set_comment(struct bf_acl_line *line, const char *value, struct bf_err *err)
{
	char *out = line->client.comment;
	size_t len;

	(void)err;
	value += strspn(value, " \t");
	len = strlen(value);
	if (len >= BF_ACL_COMMENT_MAX) {
		len = BF_ACL_COMMENT_MAX - 1;
		while (len && ((unsigned char)value[len] & 0xc0) == 0x80)
			len--;
	}
	while (len && strchr(" \t", value[len - 1]))
		len--;
	for (size_t i = 0; i < len; i++)
		out[i] = value[i] == '\t' ? ' ' : value[i];
	out[len] = '\0';
	return 0;
}

static const struct {
	const char *name;
	bool is_list; /* take() is called for each word */
	take_word *take;
} options[] = {
	{"maps", true, add_map},	 {"ops", true, add_op},
	{"from", true, add_net},	 {"rate", false, set_rate},
	{"expires", false, set_expires}, {"comment", false, set_comment},
};
#define OPTION_COMMENT (1u << 5)

/* ---------------------------------------------------------------- a line */

/* Returns: the index of an option, or a negative code */
static int
find_option(const char *name, struct bf_err *err)
{
	const char *names[BF_ARRAY_SIZE(options)], *like;

	for (size_t i = 0; i < BF_ARRAY_SIZE(options); i++) {
		if (!strcmp(name, options[i].name))
			return (int)i;
		names[i] = options[i].name;
	}
	like = bf_nearest_word(name, names, BF_ARRAY_SIZE(names));
	if (like)
		return bf_err_set(err, BF_EARGUMENT,
				  "option \"%.32s\" is not known; did you mean "
				  "%s?",
				  name, like);
	return bf_err_set(err, BF_EARGUMENT,
			  "option \"%.32s\" is not maps, ops, from, rate, "
			  "expires or comment",
			  name);
}

/* Gives every word of a list to its option; the list is cut up. */
static int
take_words(struct bf_acl_line *line, size_t option, char *list,
	   struct bf_err *err)
{
	int ret = 0;

	for (char *word = list, *comma; word && !ret;
	     word = comma ? comma + 1 : NULL) {
		comma = strchr(word, ',');
		if (comma)
			*comma = '\0';
		if (!word[0])
			return bf_err_set(err, BF_EARGUMENT,
					  "%s: a list with nothing in it, or "
					  "between two commas (remove it)",
					  options[option].name);
		ret = options[option].take(line, word, err);
	}
	return ret;
}

/* One name="value" at *at, which moves behind it. */
static int
parse_option(struct bf_acl_line *line, char **at, uint32_t *seen,
	     struct bf_err *err)
{
	char *name = *at, *end = name + strcspn(name, "=,\" \t"), *value;
	bool has_value = end[0] == '=' && end[1] == '"';
	int i;

	value = has_value ? end + 2 : end;
	*end = '\0';
	if (end == name)
		return bf_err_set(err, BF_EARGUMENT,
				  "no option after the comma (remove the "
				  "comma; the list has no spaces)");
	i = find_option(name, err);
	if (i < 0)
		return i;
	if (!has_value)
		return bf_err_set(err, BF_EARGUMENT,
				  "%s: no value in double quotes after it "
				  "(%s=\"...\")",
				  name, name);
	if (*seen & 1u << i)
		return bf_err_set(err, BF_EARGUMENT,
				  "%s: given twice (make one list of it)",
				  name);
	*seen |= 1u << i;
	end = strchr(value, '"');
	if (!end)
		return bf_err_set(err, BF_EARGUMENT,
				  "%s: the double quote is not closed", name);
	*end = '\0';
	*at = end + 1;
	if (options[i].is_list)
		return take_words(line, (size_t)i, value, err);
	return options[i].take(line, value, err);
}

static int
parse_options(struct bf_acl_line *line, char **at, uint32_t *seen,
	      struct bf_err *err)
{
	int ret;

	for (;;) {
		ret = parse_option(line, at, seen, err);
		if (ret)
			return ret;
		if (**at != ',')
			break;
		(*at)++;
	}
	if (**at && !strchr(" \t", **at))
		return bf_err_set(err, BF_EARGUMENT,
				  "\"%.32s\" after a closing quote (a comma "
				  "goes between options, a space before the "
				  "key)",
				  *at);
	*at += strspn(*at, " \t");
	return 0;
}

static int
parse_key(struct bf_acl_client *c, const char *word, size_t len,
	  struct bf_err *err)
{
	static const uint8_t zero[BF_KEY_BYTES];

	if (!len)
		return bf_err_set(err, BF_EARGUMENT,
				  "no key after the options (44 characters, as "
				  "bpfleet pubkey prints it)");
	if (bf_keys_from_text(c->key, word, len))
		return bf_err_set(err, BF_EARGUMENT,
				  "\"%.*s\" is not a key of 44 characters, as "
				  "bpfleet pubkey prints it (before it only "
				  "name=\"value\",... may stand)",
				  (int)bf_min_u64(len, 64), word);
	if (!memcmp(c->key, zero, sizeof(zero)))
		return bf_err_set(err, BF_EARGUMENT,
				  "the key is all zero, which is nobody's "
				  "(print one with bpfleet pubkey)");
	return 0;
}

/* Does the line begin with options?  In a key = can only be at its end. */
static bool
has_options(const char *text)
{
	size_t len = strcspn(text, " \t");
	size_t at = strcspn(text, "=,\" \t");

	if (at < len && (text[at] != '=' || at + 2 < len))
		return true;
	for (size_t i = 0; i < BF_ARRAY_SIZE(options); i++)
		if (at == strlen(options[i].name) &&
		    !memcmp(text, options[i].name, at))
			return true;
	return false;
}

static uint32_t
all_ops(void)
{
	uint32_t ops = 0;

	for (uint32_t m = FIRST_OP; m <= BF_METHOD_MAX; m++)
		ops |= 1u << m;
	return ops;
}

static int
parse_line(struct bf_acl_line *line, char *text, struct bf_err *err)
{
	struct bf_acl_client *c = &line->client;
	uint32_t seen = 0;
	size_t len;
	int ret = 0;

	if (has_options(text))
		ret = parse_options(line, &text, &seen, err);
	len = strcspn(text, " \t");
	ret = ret ? ret : parse_key(c, text, len, err);
	if (ret)
		return ret;
	c->ops = (c->ops ? c->ops : all_ops()) | 1u << BF_HELLO;
	text += len;
	text += strspn(text, " \t");
	if (text[0] && seen & OPTION_COMMENT)
		return bf_err_set(err, BF_EARGUMENT,
				  "a comment as an option and one after the "
				  "key (keep one)");
	return text[0] ? set_comment(line, text, err) : 0;
}

/* ---------------------------------------------------------------- a file */

static int
by_key_then_line(const void *a, const void *b)
{
	const struct bf_acl_client *x =
		&((const struct bf_acl_line *)a)->client;
	const struct bf_acl_client *y =
		&((const struct bf_acl_line *)b)->client;
	int order = memcmp(x->key, y->key, sizeof(x->key));

	return order ? order : (x->line > y->line) - (x->line < y->line);
}

/* Of the keys with two lines, the one whose second line comes first. */
static int
sort_by_key(struct bf_acl *acl, const struct bf_lines *in, struct bf_err *err)
{
	uint32_t first = 0, second = 0;
	char why[128];

	if (acl->n)
		qsort(acl->lines, acl->n, sizeof(*acl->lines),
		      by_key_then_line);
	for (uint32_t i = 1; i < acl->n; i++) {
		const struct bf_acl_client *c = &acl->lines[i].client;
		const struct bf_acl_client *before = &acl->lines[i - 1].client;

		if (memcmp(c->key, before->key, sizeof(c->key)) != 0 ||
		    (second && second < c->line))
			continue;
		first = before->line;
		second = c->line;
	}
	if (!second)
		return 0;
	snprintf(why, sizeof(why),
		 "the key has line %u already (keep one of them)", first);
	return bf_lines_fail(in, second, why, err);
}

/* Room for one more line, zeroed. */
static struct bf_acl_line *
new_line(struct bf_acl *acl, uint32_t *cap)
{
	struct bf_acl_line *lines = acl->lines;

	if (acl->n == *cap) {
		*cap = *cap ? *cap * 2 : 8;
		lines = reallocarray(lines, *cap, sizeof(*lines));
		if (!lines)
			return NULL;
		acl->lines = lines;
	}
	memset(&lines[acl->n], 0, sizeof(*lines));
	return &lines[acl->n];
}

static int
parse_lines(struct bf_acl *acl, struct bf_lines *in, struct bf_err *err)
{
	char text[BF_LINE_MAX];
	struct bf_acl_line *line;
	struct bf_err why;
	uint32_t cap = 0;
	int ret;

	while ((ret = bf_lines_next(in, text, err)) > 0) {
		if (acl->n == BF_ACL_CLIENTS_MAX)
			return bf_lines_fail(in, in->line,
					     "more than 4096 keys (remove old "
					     "ones)",
					     err);
		line = new_line(acl, &cap);
		if (!line)
			return bf_err_set(err, ENOMEM,
					  "%s: no memory for its lines",
					  in->name);
		line->client.line = in->line;
		if (parse_line(line, text, &why))
			return bf_lines_fail(in, in->line, why.text, err);
		acl->n++;
	}
	return ret;
}

int
bf_acl_parse(struct bf_acl *acl, const char *text, size_t len, const char *name,
	     struct bf_err *err)
{
	struct bf_lines in = {.name = name, .text = text, .len = len};
	int ret, twice;

	*acl = (struct bf_acl){0};
	ret = parse_lines(acl, &in, err);
	/* These stand before the mistake that ended the parse, if any. */
	twice = sort_by_key(acl, &in, err);
	ret = twice ? twice : ret;
	if (ret)
		bf_acl_fini(acl);
	return ret;
}

int
bf_acl_read(struct bf_acl *acl, const char *path, struct bf_err *err)
{
	char *text = NULL;
	size_t len = 0;
	int fd, ret;

	*acl = (struct bf_acl){0};
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return bf_err_set(err, errno, "cannot read %s: %s", path,
				  bf_err_str(errno));
	ret = bf_lines_check_owner(fd, path, err);
	if (!ret)
		ret = bf_lines_read(&text, &len, fd, BF_ACL_FILE_MAX, path,
				    err);
	if (!ret)
		ret = bf_acl_parse(acl, text, len, path, err);
	free(text);
	close(fd);
	return ret;
}

void
bf_acl_fini(struct bf_acl *acl)
{
	free(acl->lines);
	*acl = (struct bf_acl){0};
}

/* ------------------------------------------------------------- addresses */

static bool
is_mapped(const uint8_t addr[16])
{
	static const uint8_t prefix[12] = {[10] = 0xff, [11] = 0xff};

	return memcmp(addr, prefix, sizeof(prefix)) == 0;
}

static bool
has_prefix(const uint8_t addr[16], const struct bf_acl_net *net)
{
	uint32_t whole = net->bits / 8, rest = net->bits % 8;
	uint8_t mask = (uint8_t)(0xff00u >> rest);

	return memcmp(addr, net->addr, whole) == 0 &&
	       (!rest || ((addr[whole] ^ net->addr[whole]) & mask) == 0);
}

bool
bf_acl_from_ok(const struct bf_acl_client *client, const uint8_t addr[16])
{
	for (uint32_t i = 0; i < client->n_nets; i++) {
		const struct bf_acl_net *net = &client->nets[i];

		/* ::/0 is about IPv6, though ::ffff:0:0/96 lies within. */
		if (net->bits < 96 && is_mapped(addr))
			continue;
		if (has_prefix(addr, net))
			return true;
	}
	return client->n_nets == 0;
}
