// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * settings - parses and prints the agent's settings
 *
 * Users and groups become numbers here, so that nothing later asks the name
 * service; members of an allowed group are allowed by their own uid, since
 * the kernel tells only a peer's primary group.
 */
#include "server/settings.h"

#include "common/conf.h"

#include <arpa/inet.h>
#include <errno.h>
#include <grp.h>
#include <netinet/in.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
bf_settings_init(struct bf_settings *s)
{
	*s = (struct bf_settings){
		.user = "bpfleet",
		.secret = BF_DEFAULT_SECRET,
		.log_level = BF_LOG_INFO,
		.audit = "log",
		.gate =
			{
				.max_connections = 4096,
				.max_half_open = 256,
				.handshake_s = 10,
				.idle_s = 600,
				.handshakes_per_s = 1000,
				.source_handshakes_per_s = 100,
				.penalty_failures = 20,
				.penalty_s = 60,
			},
	};
}

/* The number of a map: digits alone, unlike what strtoul() takes. */
static int
parse_id(uint32_t *out, const char *digits)
{
	uint64_t id = 0;

	for (; *digits >= '0' && *digits <= '9' && id <= UINT32_MAX; digits++)
		id = id * 10 + (uint64_t)(*digits - '0');
	*out = (uint32_t)id;
	return *digits || !id || id > UINT32_MAX ? -BF_EARGUMENT : 0;
}

int
bf_pattern_parse(struct bf_pattern *out, const char *text, struct bf_err *err)
{
	static const char *const kinds[] = {"name:", "pin:", "id:"};
	const char *rest = strchr(text, ':');
	size_t kind = 0, n = rest ? (size_t)(rest - text) + 1 : 0;

	*out = (struct bf_pattern){0};
	while (kind < BF_ARRAY_SIZE(kinds) &&
	       (n != strlen(kinds[kind]) || memcmp(text, kinds[kind], n) != 0))
		kind++;
	if (!rest || kind == BF_ARRAY_SIZE(kinds))
		return bf_err_set(err, BF_EARGUMENT,
				  "maps: \"%.64s\" is not name:GLOB, pin:GLOB "
				  "or id:N",
				  text);
	if (strlen(rest + 1) >= sizeof(out->glob))
		return bf_err_set(err, BF_EARGUMENT,
				  "maps: \"%.64s...\" is longer than %zu bytes",
				  text, sizeof(out->glob) - 1);
	out->kind = (enum bf_pattern_kind)kind;
	snprintf(out->glob, sizeof(out->glob), "%s", rest + 1);
	if (out->kind == BF_PATTERN_ID && parse_id(&out->id, out->glob))
		return bf_err_set(err, BF_EARGUMENT,
				  "maps: \"%.64s\" is no map id", text);
	return 0;
}

int
bf_settings_address(const char *text, struct sockaddr_storage *out)
{
	struct sockaddr_in *four = (struct sockaddr_in *)out;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;
	char host[64], *end = NULL;
	unsigned long port;

	*out = (struct sockaddr_storage){0};
	if (!len || len >= sizeof(host) || colon[1] < '0' || colon[1] > '9')
		return -BF_EARGUMENT;
	port = strtoul(colon + 1, &end, 10);
	if (*end || !port || port > UINT16_MAX)
		return -BF_EARGUMENT;
	memcpy(host, text, len);
	host[len] = '\0';
	if (host[0] != '[') {
		four->sin_family = AF_INET;
		four->sin_port = htons((uint16_t)port);
		return inet_pton(AF_INET, host, &four->sin_addr) == 1
			       ? 0
			       : -BF_EARGUMENT;
	}
	if (host[len - 1] != ']')
		return -BF_EARGUMENT;
	host[len - 1] = '\0';
	six->sin6_family = AF_INET6;
	six->sin6_port = htons((uint16_t)port);
	return inet_pton(AF_INET6, host + 1, &six->sin6_addr) == 1
		       ? 0
		       : -BF_EARGUMENT;
}

static bool
is_tcp(const char *url)
{
	struct sockaddr_storage ignored;

	return !strncmp(url, "tcp://", 6) &&
	       !bf_settings_address(url + 6, &ignored);
}

static bool
is_loopback(const struct sockaddr_storage *addr)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)addr;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)addr;

	if (addr->ss_family == AF_INET)
		return ntohl(four->sin_addr.s_addr) >> 24 == 127;
	return IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

static int
set_listen(struct bf_settings *s, const char *value, struct bf_err *err)
{
	bool known = !strncmp(value, "ipc:///", 7) ||
		     !strncmp(value, "abstract://", 11) || is_tcp(value);

	if (!known || strlen(value) >= BF_URL_MAX - 21)
		return bf_err_set(err, BF_EARGUMENT,
				  "listen %s: not ipc:///PATH with a path of "
				  "at most 100 bytes, nor tcp://ADDRESS:PORT "
				  "with numbers (0.0.0.0 or [::] for all)",
				  value);
	if (s->n_listen == BF_LISTEN_MAX)
		return bf_err_set(err, BF_EARGUMENT,
				  "listen: more than %u addresses",
				  BF_LISTEN_MAX);
	snprintf(s->listen[s->n_listen++], BF_URL_MAX, "%s", value);
	return 0;
}

static int
add_id(uint32_t *ids, uint32_t *n, uint32_t id, struct bf_err *err)
{
	if (*n == BF_ALLOW_MAX)
		return bf_err_set(err, BF_EARGUMENT,
				  "more than %u users or groups are allowed",
				  BF_ALLOW_MAX);
	ids[(*n)++] = id;
	return 0;
}

static int
allow_user(struct bf_settings *s, const char *name, struct bf_err *err)
{
	const struct passwd *pw = getpwnam(name);

	if (!pw)
		return bf_err_set(err, BF_EARGUMENT,
				  "allow-users: no user \"%s\"", name);
	return add_id(s->allow_uids, &s->n_allow_uids, pw->pw_uid, err);
}

static int
allow_group(struct bf_settings *s, const char *name, struct bf_err *err)
{
	const struct group *gr = getgrnam(name);
	const struct passwd *pw;
	int ret;

	if (!gr)
		return bf_err_set(err, BF_EARGUMENT,
				  "allow-groups: no group \"%s\"", name);
	ret = add_id(s->allow_gids, &s->n_allow_gids, gr->gr_gid, err);
	for (char **member = gr->gr_mem; *member && !ret; member++) {
		pw = getpwnam(*member);
		if (pw)
			ret = add_id(s->allow_uids, &s->n_allow_uids,
				     pw->pw_uid, err);
	}
	return ret;
}

/* Calls one setter for every word of a list. */
static int
each_word(struct bf_settings *s, const char *list,
	  int (*set)(struct bf_settings *, const char *, struct bf_err *),
	  struct bf_err *err)
{
	char copy[1024], *save = NULL;
	int ret = 0;

	snprintf(copy, sizeof(copy), "%s", list);
	for (char *w = strtok_r(copy, ", \t", &save); w && !ret;
	     w = strtok_r(NULL, ", \t", &save))
		ret = set(s, w, err);
	return ret;
}

static int
set_user(struct bf_settings *s, const char *value, struct bf_err *err)
{
	if (!value[0] || strlen(value) >= sizeof(s->user))
		return bf_err_set(err, BF_EARGUMENT, "user: not a user name");
	snprintf(s->user, sizeof(s->user), "%s", value);
	return 0;
}

static int
add_pattern(struct bf_settings *s, const char *value, struct bf_err *err)
{
	struct bf_pattern p;

	if (bf_pattern_parse(&p, value, err))
		return -BF_EARGUMENT;
	if (s->n_patterns == BF_PATTERNS_MAX)
		return bf_err_set(err, BF_EARGUMENT, "maps: more than %u lines",
				  BF_PATTERNS_MAX);
	s->patterns[s->n_patterns++] = p;
	return 0;
}

static int
set_path(char out[BF_PATTERN_MAX], const char *name, const char *value,
	 struct bf_err *err)
{
	if (value[0] != '/' || strlen(value) >= BF_PATTERN_MAX)
		return bf_err_set(err, BF_EARGUMENT,
				  "%s: not an absolute path of at most %u "
				  "bytes",
				  name, BF_PATTERN_MAX - 1);
	snprintf(out, BF_PATTERN_MAX, "%s", value);
	return 0;
}

static int
set_secret(struct bf_settings *s, const char *value, struct bf_err *err)
{
	return set_path(s->secret, "secret", value, err);
}

static int
set_key(struct bf_settings *s, const char *value, struct bf_err *err)
{
	return set_path(s->key, "key", value, err);
}

static int
set_authorized(struct bf_settings *s, const char *value, struct bf_err *err)
{
	return set_path(s->authorized_clients, "authorized-clients", value,
			err);
}

static int
set_audit(struct bf_settings *s, const char *value, struct bf_err *err)
{
	if (!strcmp(value, "log") || !strcmp(value, "off")) {
		snprintf(s->audit, sizeof(s->audit), "%s", value);
		return 0;
	}
	return set_path(s->audit, "audit: neither log nor off, and", value,
			err);
}

static int
set_metrics(struct bf_settings *s, const char *value, struct bf_err *err)
{
	struct sockaddr_storage addr;

	if (strlen(value) >= sizeof(s->metrics) ||
	    bf_settings_address(value, &addr) || !is_loopback(&addr))
		return bf_err_set(err, BF_EARGUMENT,
				  "metrics: \"%.64s\" is not ADDRESS:PORT with "
				  "an address of loopback, such as "
				  "127.0.0.1:7118",
				  value);
	snprintf(s->metrics, sizeof(s->metrics), "%s", value);
	return 0;
}

static int
set_make_key(struct bf_settings *s, const char *value, struct bf_err *err)
{
	s->make_key = !strcmp(value, "yes");
	if (!s->make_key && strcmp(value, "no") != 0)
		return bf_err_set(err, BF_EARGUMENT,
				  "make-key: \"%.32s\" is neither yes nor no",
				  value);
	return 0;
}

static int
set_log_level(struct bf_settings *s, const char *value, struct bf_err *err)
{
	if (bf_log_parse_level(value, &s->log_level))
		return bf_err_set(err, BF_EARGUMENT,
				  "log-level: \"%.32s\" is not err, warn, info "
				  "or debug",
				  value);
	return 0;
}

static int
allow_users(struct bf_settings *s, const char *value, struct bf_err *err)
{
	return each_word(s, value, allow_user, err);
}

static int
allow_groups(struct bf_settings *s, const char *value, struct bf_err *err)
{
	return each_word(s, value, allow_group, err);
}

static const struct {
	const char *name;
	int (*set)(struct bf_settings *, const char *, struct bf_err *);
} setters[] = {
	{"listen", set_listen},	      {"user", set_user},
	{"allow-users", allow_users}, {"allow-groups", allow_groups},
	{"maps", add_pattern},	      {"secret", set_secret},
	{"log-level", set_log_level}, {"key", set_key},
	{"make-key", set_make_key},   {"authorized-clients", set_authorized},
	{"audit", set_audit},	      {"metrics", set_metrics},
};

/* Numbers, all above 0. */
static const struct {
	const char *name;
	size_t offset;
	uint32_t max;
} numbers[] = {
	{"max-connections", offsetof(struct bf_gate_limits, max_connections),
	 100000},
	{"max-half-open", offsetof(struct bf_gate_limits, max_half_open),
	 100000},
	{"handshake-timeout", offsetof(struct bf_gate_limits, handshake_s),
	 3600},
	{"idle-timeout", offsetof(struct bf_gate_limits, idle_s), 1000000},
	{"handshake-rate", offsetof(struct bf_gate_limits, handshakes_per_s),
	 1000000},
	{"handshake-rate-per-source",
	 offsetof(struct bf_gate_limits, source_handshakes_per_s), 1000000},
	{"penalty-failures", offsetof(struct bf_gate_limits, penalty_failures),
	 1000000},
	{"penalty-time", offsetof(struct bf_gate_limits, penalty_s), 1000000},
};

static int
set_number(struct bf_settings *s, size_t i, const char *value,
	   struct bf_err *err)
{
	char *end = NULL;
	unsigned long n = strtoul(value, &end, 10);
	uint32_t v = (uint32_t)n;

	if (value[0] < '0' || value[0] > '9' || *end || !n ||
	    n > numbers[i].max)
		return bf_err_set(err, BF_EARGUMENT,
				  "%s: \"%.32s\" is no number from 1 to %u",
				  numbers[i].name, value, numbers[i].max);
	memcpy((char *)&s->gate + numbers[i].offset, &v, sizeof(v));
	return 0;
}

bool
bf_settings_limit(const struct bf_gate_limits *limits, size_t i,
		  const char **name, uint32_t *value)
{
	if (i >= BF_ARRAY_SIZE(numbers))
		return false;
	*name = numbers[i].name;
	memcpy(value, (const char *)limits + numbers[i].offset, sizeof(*value));
	return true;
}

int
bf_settings_set(struct bf_settings *s, const char *name, const char *value,
		struct bf_err *err)
{
	for (size_t i = 0; i < BF_ARRAY_SIZE(setters); i++)
		if (!strcmp(setters[i].name, name))
			return setters[i].set(s, value, err);
	for (size_t i = 0; i < BF_ARRAY_SIZE(numbers); i++)
		if (!strcmp(numbers[i].name, name))
			return set_number(s, i, value, err);
	return bf_err_set(err, BF_EARGUMENT, "unknown setting \"%.64s\"", name);
}

static int
take_line(void *arg, const char *section, const char *name, const char *value,
	  struct bf_err *err)
{
	if (strcmp(section, "agent") != 0)
		return bf_err_set(err, BF_EARGUMENT,
				  "unknown section \"%.64s\" (only [agent])",
				  section);
	return bf_settings_set(arg, name, value, err);
}

int
bf_settings_check(const struct bf_settings *s, struct bf_err *err)
{
	for (uint32_t i = 0; i < s->n_listen; i++) {
		if (strncmp(s->listen[i], "tcp:", 4) != 0)
			continue;
		if (!s->key[0] || !s->authorized_clients[0])
			return bf_err_set(err, BF_EARGUMENT,
					  "listen %s: over tcp %s is needed",
					  s->listen[i],
					  s->key[0] ? "authorized-clients"
						    : "a key");
	}
	return 0;
}

int
bf_settings_read(struct bf_settings *s, const char *path, struct bf_err *err)
{
	return bf_conf_read(path, take_line, s, err);
}

void
bf_settings_print(const struct bf_settings *s)
{
	static const char *const levels[] = {"err", "warn", "info", "debug"};
	static const char *const kinds[] = {"name", "pin", "id"};
	const char *name;
	uint32_t limit;

	printf("[agent]\n");
	for (uint32_t i = 0; i < s->n_listen; i++)
		printf("listen = %s\n", s->listen[i]);
	printf("user = %s\n", s->user);
	printf("secret = %s\n", s->secret);
	if (s->key[0])
		printf("key = %s\nmake-key = %s\n", s->key,
		       s->make_key ? "yes" : "no");
	if (s->authorized_clients[0])
		printf("authorized-clients = %s\n", s->authorized_clients);
	printf("audit = %s\n", s->audit);
	if (s->metrics[0])
		printf("metrics = %s\n", s->metrics);
	for (size_t i = 0; bf_settings_limit(&s->gate, i, &name, &limit); i++)
		printf("%s = %u\n", name, limit);
	printf("log-level = %s\n", levels[s->log_level]);
	for (uint32_t i = 0; i < s->n_patterns; i++)
		printf("maps = %s:%s\n", kinds[s->patterns[i].kind],
		       s->patterns[i].glob);
	if (!s->n_patterns)
		printf("; maps: all\n");
	printf("; allowed: uid 0");
	for (uint32_t i = 0; i < s->n_allow_uids; i++)
		printf(", uid %u", s->allow_uids[i]);
	for (uint32_t i = 0; i < s->n_allow_gids; i++)
		printf(", gid %u", s->allow_gids[i]);
	printf("\n");
}
