// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * test_known - lines of known_agents: which match, and how they are added
 */
#include "client/lib/known.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define KEY1 "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
#define KEY2 "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="
#define KEY0 "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
#define WEB "tcp://web01:7117"
#define MAN "deploy/man/bpfleet-known-agents.5.scd"
#define PROCESSES 6
#define LINES_EACH 15

static uint8_t key0[BF_KEY_BYTES], key1[BF_KEY_BYTES], key2[BF_KEY_BYTES];

static int
check(const char *text, const char *address, struct bf_err *err)
{
	return bf_known_check_text(text, strlen(text), "f", address, key1, err);
}

/* ---------------------------------------------------------------- lines */

static void
test_lines(void **state)
{
	static const struct {
		const char *text;
		int ret;
	} cases[] = {
		{"", -ENOENT},
		{"# " WEB " " KEY1, -ENOENT},
		{WEB " " KEY1, 0},
		{WEB " " KEY1 "\r\n", 0},
		{"\n \t\n  " WEB "\t \t" KEY1 "\ta comment\n", 0},
		{WEB " " KEY2, -BF_EDENIED},
		{WEB "0 " KEY1, -ENOENT},
		{"tcp://WEB01:7117 " KEY1, -ENOENT},
		/* One line with the key is enough, in any order. */
		{WEB " " KEY2 "\n" WEB " " KEY1, 0},
		{WEB " " KEY1 "\n" WEB " " KEY2, 0},
		{"tcp://* " KEY2 "\n" WEB " " KEY1, 0},
		{"tcp://* " KEY1 "\n" WEB " " KEY2, 0},
		{"tcp://* " KEY2 "\n" WEB "0 " KEY1, -BF_EDENIED},
		/* A mistake counts, wherever it is. */
		{WEB " " KEY1 "\nx\n", -BF_EARGUMENT},
	};
	struct bf_err err;

	(void)state;
	for (size_t i = 0; i < BF_ARRAY_SIZE(cases); i++)
		if (check(cases[i].text, WEB, &err) != cases[i].ret)
			fail_msg("%s", cases[i].text);
	assert_int_equal(bf_known_check_text(NULL, 0, "f", WEB, key1, &err),
			 -ENOENT);
}

static void
test_patterns(void **state)
{
	static const struct {
		const char *pattern, *address;
		bool matches;
	} cases[] = {
		{"tcp://web*:7117", WEB, true},
		{"tcp://web*:7117", "tcp://web:7117", true},
		{"tcp://web*:7117", "tcp://db01:7117", false},
		{"tcp://web*:7117", "tcp://web01:7118", false},
		{"*", "ipc:///run/bpfleet/agent.sock", true},
		{"tcp://web0?:7117", WEB, true},
		{"tcp://web0[12]:7117", WEB, true},
		{"tcp://web0[!1]:7117", WEB, false},
		{"tcp://[vw]eb01:7117", WEB, true},
		{"tcp://[[:alpha:]]eb01:7117", WEB, true},
		{"tcp://web\\01:7117", WEB, true},
		{"tcp://web[01:7117", WEB, false},
		{"tcp://web01:7117*", WEB, true},
		{"tcp://[fd00::1]:7117", "tcp://[fd00::1]:7117", true},
		{"tcp://[fd00::1]:7117", "tcp://f:7117", false},
		{"tcp://[fd00::*]:7117", "tcp://[fd00::1]:7117", true},
		{"tcp://[fd00::*]:7117", "tcp://[fd01::1]:7117", false},
		{"tcp://[fd00::*]:7117", "tcp://f:7117", false},
		{"tcp://[fd00::[12]]:*", "tcp://[fd00::1]:7117", false},
		{"tcp://[fe80::1%eth0]:7117", "tcp://[fe80::1%eth0]:7117",
		 true},
		{"tcp://\\[fd00::[12]]:*", "tcp://[fd00::1]:7117", true},
		{"tcp://[::1]:*", "tcp://[::1]:7117", true},
	};
	struct bf_err err;
	char text[256];

	(void)state;
	for (size_t i = 0; i < BF_ARRAY_SIZE(cases); i++) {
		snprintf(text, sizeof(text), "%s " KEY1, cases[i].pattern);
		if (check(text, cases[i].address, &err) !=
		    (cases[i].matches ? 0 : -ENOENT))
			fail_msg("%s against %s", cases[i].address,
				 cases[i].pattern);
	}
}

static void
test_mistakes(void **state)
{
	static const struct {
		const char *text, *says;
	} bad[] = {
		{"x", "f:1: no key after the address"},
		{WEB " ", "f:1: no key after the address"},
		{"\n#\n" WEB " x", "f:3: \"x\" is not the key of an agent"},
		{KEY1 " " WEB, "f:1: \"" WEB "\" is not the key"},
		{WEB " " KEY0, "f:1: \"" KEY0 "\" is not the key"},
		{WEB " " KEY1 "A", "is not the key"},
		{WEB " \"" KEY1 "\"", "is not the key"},
		{WEB " " KEY1 " \033[2J", "f:1: a NUL or control byte"},
	};
	char text[BF_KNOWN_ADDRESS_MAX + 64];
	struct bf_err err;

	(void)state;
	for (size_t i = 0; i < BF_ARRAY_SIZE(bad); i++) {
		assert_int_equal(check(bad[i].text, WEB, &err), -BF_EARGUMENT);
		if (!strstr(err.text, bad[i].says))
			fail_msg("%s gave: %s", bad[i].text, err.text);
	}
	memset(text, 'x', BF_KNOWN_ADDRESS_MAX);
	strcpy(text + BF_KNOWN_ADDRESS_MAX, " " KEY1);
	assert_int_equal(check(text, WEB, &err), -BF_EARGUMENT);
	assert_non_null(strstr(err.text, "f:1: the address is longer than"));
	assert_int_equal(check(text + 1, WEB, &err), -ENOENT);
	assert_int_equal(check(text + 1, WEB, NULL), -ENOENT);
}

/* The longest pattern whose bracket has to be escaped. */
static void
test_longest_ipv6(void **state)
{
	char text[BF_KNOWN_ADDRESS_MAX + 64] = "tcp://[::*]:";
	char address[BF_KNOWN_ADDRESS_MAX];

	(void)state;
	memset(text + 12, '1', BF_KNOWN_ADDRESS_MAX - 1 - 12);
	memcpy(address, text, sizeof(address));
	address[9] = 'a'; /* which the star stands for */
	strcat(text, " " KEY1);
	assert_int_equal(check(text, address, NULL), 0);
	assert_int_equal(check(text, WEB, NULL), -ENOENT);
}

static void
test_words(void **state)
{
	struct bf_err err;

	(void)state;
	assert_int_equal(check("\n" WEB " " KEY2, WEB, &err), -BF_EDENIED);
	assert_int_equal(err.code, BF_EDENIED);
	assert_int_equal(strncmp(err.text, "f:2: " WEB, 5 + 16), 0);
	assert_non_null(strstr(err.text, KEY1));
	assert_non_null(strstr(err.text, KEY2));
	assert_non_null(strstr(err.text, "change the line"));
	assert_int_equal(check(WEB " " KEY2, WEB, NULL), -BF_EDENIED);
	assert_int_equal(check("", WEB, &err), -ENOENT);
	assert_non_null(strstr(err.text, WEB));
	assert_non_null(strstr(err.text, KEY1));
}

/* ---------------------------------------------------------------- files */

struct place {
	char dir[32], path[64];
};

static int
make_place(void **state)
{
	struct place *p = calloc(1, sizeof(*p));

	if (!p)
		return -1;
	*state = p;
	strcpy(p->dir, "/tmp/bf-known-XXXXXX");
	if (!mkdtemp(p->dir))
		return -1;
	snprintf(p->path, sizeof(p->path), "%s/known_agents", p->dir);
	return 0;
}

static int
remove_place(void **state)
{
	struct place *p = *state;
	char command[64];
	int ret;

	snprintf(command, sizeof(command), "rm -rf %s", p->dir);
	ret = system(command);
	free(p);
	return ret;
}

static void
write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static void
assert_file(const char *path, const char *want)
{
	char text[4096];
	FILE *f = fopen(path, "re");
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	assert_string_equal(text, want);
}

static unsigned
mode_of(const char *path)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return st.st_mode & 07777u;
}

static unsigned
files_in(const char *dir)
{
	char command[64];
	unsigned n = 0;
	FILE *f;

	snprintf(command, sizeof(command), "ls -A %s | wc -l", dir);
	f = popen(command, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%u", &n), 1);
	pclose(f);
	return n;
}

static void
test_add(void **state)
{
	struct place *p = *state;
	struct bf_err err;

	assert_int_equal(bf_known_check(p->path, WEB, key1, &err), -ENOENT);
	assert_int_equal(bf_known_add(p->path, WEB, key1, &err), 0);
	assert_file(p->path, WEB " " KEY1 "\n");
	assert_int_equal(mode_of(p->path), 0600);
	assert_int_equal(bf_known_check(p->path, WEB, key1, &err), 0);
	assert_int_equal(bf_known_check(p->path, WEB, key2, &err), -BF_EDENIED);
	/* There already, or with another key by now: nothing is written. */
	assert_int_equal(bf_known_add(p->path, WEB, key1, &err), 0);
	assert_int_equal(bf_known_add(p->path, WEB, key2, &err), -BF_EDENIED);
	assert_file(p->path, WEB " " KEY1 "\n");
	assert_int_equal(
		bf_known_add(p->path, "tcp://[fd00::1]:7117", key2, &err), 0);
	assert_file(p->path, WEB " " KEY1 "\ntcp://[fd00::1]:7117 " KEY2 "\n");
	assert_int_equal(files_in(p->dir), 1);
}

static void
test_add_keeps(void **state)
{
	struct place *p = *state;
	struct bf_err err;
	struct stat st;

	write_file(p->path, "# mine\r\nx " KEY2 " \xc3\xbc\n\n# no newline");
	assert_int_equal(chmod(p->path, 0640), 0);
	if (geteuid() == 0)
		assert_int_equal(chown(p->path, 65534, 65533), 0);
	assert_int_equal(bf_known_add(p->path, WEB, key1, &err), 0);
	assert_file(p->path, "# mine\r\nx " KEY2
			     " \xc3\xbc\n\n# no newline\n" WEB " " KEY1 "\n");
	assert_int_equal(mode_of(p->path), 0640);
	assert_int_equal(stat(p->path, &st), 0);
	if (geteuid() == 0)
		assert_true(st.st_uid == 65534 && st.st_gid == 65533);
}

static void
test_add_makes_directories(void **state)
{
	struct place *p = *state;
	char path[128];
	struct bf_err err;

	snprintf(path, sizeof(path), "%s/a/b/known_agents", p->dir);
	assert_int_equal(bf_known_add(path, WEB, key1, &err), 0);
	assert_file(path, WEB " " KEY1 "\n");
	snprintf(path, sizeof(path), "%s/a/b", p->dir);
	assert_int_equal(mode_of(path), 0700);
	snprintf(path, sizeof(path), "%s/a", p->dir);
	assert_int_equal(mode_of(path), 0700);
	write_file(p->path, "");
	snprintf(path, sizeof(path), "%s/x", p->path);
	assert_int_equal(bf_known_add(path, WEB, key1, &err), -ENOTDIR);
	assert_non_null(strstr(err.text, path));
	assert_int_equal(bf_known_add("", WEB, key1, &err), -ENOENT);
}

static void
test_add_relative(void **state)
{
	struct place *p = *state;
	char old[4096];

	assert_non_null(getcwd(old, sizeof(old)));
	assert_int_equal(chdir(p->dir), 0);
	assert_int_equal(bf_known_add("known_agents", WEB, key1, NULL), 0);
	assert_int_equal(bf_known_add("./sub/k", WEB, key1, NULL), 0);
	assert_int_equal(bf_known_check("sub/k", WEB, key1, NULL), 0);
	assert_int_equal(chdir(old), 0);
	assert_file(p->path, WEB " " KEY1 "\n");
}

/* A link stays one, relative or not, to a file that is there or is not. */
static void
test_add_follows_links(void **state)
{
	struct place *p = *state;
	char real[128], link[128];
	struct bf_err err;

	snprintf(real, sizeof(real), "%s/dir/real", p->dir);
	snprintf(link, sizeof(link), "%s/link", p->dir);
	assert_int_equal(symlink("dir/real", link), 0);
	assert_int_equal(symlink(link, p->path), 0);
	assert_int_equal(bf_known_add(p->path, WEB, key1, &err), 0);
	assert_int_equal(bf_known_add(p->path, "tcp://b:1", key2, &err), 0);
	assert_file(real, WEB " " KEY1 "\ntcp://b:1 " KEY2 "\n");
	assert_int_equal(readlink(p->path, real, sizeof(real)),
			 (int)strlen(link));
	unlink(link);
	assert_int_equal(symlink("known_agents", link), 0);
	assert_int_equal(bf_known_add(p->path, WEB, key1, &err), -ELOOP);
}

static void
test_add_addresses(void **state)
{
	static const char *const bad[] = {
		"",
		"a b",
		"a\tb",
		"a\nb " KEY1,
		"a\033",
		"#a",
		"tcp://web*:7117",
		"tcp://web?:7117",
		"tcp://web[1]:7",
		"tcp://[fd00::*]:7",
		"tcp://a\\b:7",
		"tcp://[::1]:[7]",
		"ipc:///tmp/a b/s",
		"tcp://\x7f:7117",
	};
	struct place *p = *state;
	char long_one[BF_KNOWN_ADDRESS_MAX + 1];
	struct bf_err err;

	for (size_t i = 0; i < BF_ARRAY_SIZE(bad); i++)
		if (bf_known_add(p->path, bad[i], key1, &err) != -BF_EARGUMENT)
			fail_msg("taken: %s", bad[i]);
	memset(long_one, 'x', BF_KNOWN_ADDRESS_MAX);
	long_one[BF_KNOWN_ADDRESS_MAX] = '\0';
	assert_int_equal(bf_known_add(p->path, long_one, key1, &err),
			 -BF_EARGUMENT);
	assert_int_equal(bf_known_add(p->path, WEB, key0, &err), -BF_EARGUMENT);
	assert_int_equal(files_in(p->dir), 0);
	assert_int_equal(bf_known_add(p->path, long_one + 1, key1, &err), 0);
	assert_int_equal(bf_known_check(p->path, long_one + 1, key1, &err), 0);
}

static void
test_add_refuses(void **state)
{
	struct place *p = *state;
	struct bf_err err;

	/* What cannot be read is not added to. */
	write_file(p->path, "x\n");
	assert_int_equal(bf_known_add(p->path, WEB, key1, &err), -BF_EARGUMENT);
	assert_non_null(strstr(err.text, "known_agents:1: "));
	assert_file(p->path, "x\n");
	assert_int_equal(truncate(p->path, BF_KNOWN_FILE_MAX), 0);
	assert_int_equal(bf_known_add(p->path, WEB, key1, &err), -EFBIG);
	assert_int_equal(bf_known_add(p->dir, WEB, key1, &err), -EISDIR);
	assert_int_equal(bf_known_check(p->dir, WEB, key1, &err),
			 -BF_EARGUMENT);
	assert_int_equal(files_in(p->dir), 1);
}

/* In place of a full disk: no file may grow as long as the new one. */
static void
test_full_disk(void **state)
{
	struct place *p = *state;
	const struct rlimit limit = {70, 70};
	int status;
	pid_t pid;

	assert_int_equal(bf_known_add(p->path, WEB, key1, NULL), 0);
	pid = fork();
	if (pid == 0) {
		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &limit);
		_exit(bf_known_add(p->path, "tcp://b:1", key1, NULL) != -EFBIG);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_file(p->path, WEB " " KEY1 "\n");
	assert_int_equal(files_in(p->dir), 1);
	/* What a crash left behind is no obstacle. */
	strcat(p->path, ".tmp");
	write_file(p->path, "half a li");
	p->path[strlen(p->path) - 4] = '\0';
	assert_int_equal(bf_known_add(p->path, "tcp://b:1", key1, NULL), 0);
	assert_file(p->path, WEB " " KEY1 "\ntcp://b:1 " KEY1 "\n");
	assert_int_equal(files_in(p->dir), 1);
}

static void
add_many(const char *path, int process)
{
	char address[64];

	for (int i = 0; i < LINES_EACH; i++) {
		snprintf(address, sizeof(address), "tcp://h%d-%d:1", process,
			 i);
		if (bf_known_add(path, address, key1, NULL))
			_exit(1);
		/* One that all of them add, and one that is always there. */
		if (bf_known_add(path, WEB, key1, NULL) ||
		    bf_known_check(path, WEB, key1, NULL))
			_exit(2);
	}
	_exit(0);
}

static void
test_add_at_once(void **state)
{
	struct place *p = *state;
	char line[256];
	int status, n = 0;
	pid_t pids[PROCESSES];
	FILE *f;

	for (int i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0)
			add_many(p->path, i);
	}
	for (int i = 0; i < PROCESSES; i++) {
		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	f = fopen(p->path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		n++;
	fclose(f);
	assert_int_equal(n, PROCESSES * LINES_EACH + 1);
	assert_int_equal(files_in(p->dir), 1);
}

/* The lines between the fences of a manual page are a file. */
static void
test_manual(void **state)
{
	char line[1024], text[8192] = "";
	FILE *f = fopen(MAN, "re");
	bool inside = false;
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
	assert_int_equal(check(text, "tcp://db01:7117", &err), -ENOENT);
	assert_int_equal(check(text, "tcp://[2001:db8::7]:7117", &err),
			 -BF_EDENIED);
	assert_int_equal(check(text, "tcp://build3.example.net:7117", &err),
			 -BF_EDENIED);
}

int
main(void)
{
#define WITH_DIR(test)                                                         \
	cmocka_unit_test_setup_teardown(test, make_place, remove_place)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_longest_ipv6),
		cmocka_unit_test(test_words),
		WITH_DIR(test_add),
		WITH_DIR(test_add_keeps),
		WITH_DIR(test_add_makes_directories),
		WITH_DIR(test_add_relative),
		WITH_DIR(test_add_follows_links),
		WITH_DIR(test_add_addresses),
		WITH_DIR(test_add_refuses),
		WITH_DIR(test_full_disk),
		WITH_DIR(test_add_at_once),
		cmocka_unit_test(test_manual),
	};

	if (bf_keys_init(NULL))
		return 1;
	memset(key1, 1, sizeof(key1));
	memset(key2, 2, sizeof(key2));
	return cmocka_run_group_tests(tests, NULL, NULL);
}
