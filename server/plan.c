// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * plan - reads keys and clients, opens the audit file, finds the user
 */
#include "server/plan.h"

#include "common/keys.h"
#include "common/log.h"
#include "server/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int
bf_plan_make_parents(const char *file, mode_t mode, bool *fresh)
{
	char path[BF_PATH_MAX];
	struct stat st;

	*fresh = false;
	snprintf(path, sizeof(path), "%s", file);
	for (char *p = path + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		*fresh = !mkdir(path, strchr(p + 1, '/') ? 0755 : mode);
		if (!*fresh && errno != EEXIST &&
		    (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)))
			return -errno;
		*p = '/';
	}
	return 0;
}

/* From the agent's secret, so that cursors outlive the agent. */
static int
make_cursor_key(struct bf_plan *p, struct bf_err *err)
{
	const char *path = p->settings.secret;
	struct bf_key secret;
	bool fresh;
	int ret;

	ret = bf_plan_make_parents(path, 0700, &fresh);
	if (ret)
		bf_err_set(err, -ret, "secret %s: %s", path, bf_err_str(ret));
	else
		ret = bf_keys_load(&secret, path, err);
	if (ret == -BF_EDENIED || ret == -BF_EARGUMENT)
		return ret;
	if (ret) {
		bf_log_error("agent secret", err,
			     "cursors end with this agent");
		bf_keys_random(&secret, sizeof(secret));
	}
	bf_keys_derive(&p->keys->cursor, &secret, "cursor");
	bf_keys_wipe(&secret, sizeof(secret));
	return 0;
}

static int
read_key(struct bf_key *out, const struct bf_settings *s, struct bf_err *err)
{
	int ret = bf_keys_read_private(out, s->key, err);

	if (ret == -ENOENT)
		return bf_err_set(err, ENOENT,
				  "key %s: there is none (make it with "
				  "bpfleet genkey, or here with --make-key)",
				  s->key);
	return ret;
}

static int
load_key(struct bf_plan *p, struct bf_err *err)
{
	const struct bf_settings *s = &p->settings;
	char text[BF_KEY_TEXT_BYTES];
	bool fresh;
	int ret = 0;

	if (!s->key[0])
		return 0;
	if (s->make_key && access(s->key, F_OK) < 0 && errno == ENOENT) {
		ret = bf_plan_make_parents(s->key, 0700, &fresh);
		ret = ret ? bf_err_set(err, -ret, "key %s: %s", s->key,
				       bf_err_str(ret))
			  : bf_keys_make_private(s->key, err);
	}
	if (!ret)
		ret = read_key(&p->keys->agent, s, err);
	if (ret)
		return ret;
	p->has_agent_key = true;
	bf_keys_public(p->public_key, &p->keys->agent);
	bf_keys_to_text(text, p->public_key);
	bf_log(BF_LOG_INFO, "agent key", "public=%s", text);
	return 0;
}

static int
load_clients(struct bf_plan *p, struct bf_err *err)
{
	const char *path = p->settings.authorized_clients;

	return path[0] ? bf_acl_read(&p->acl, path, err) : 0;
}

/* Opened here, since the worker can open nothing. */
static int
open_audit(struct bf_plan *p, bool is_private, struct bf_err *err)
{
	const char *path = p->settings.audit;

	p->audit = !strcmp(path, "log") && !is_private ? BF_AUDIT_LOG
						       : BF_AUDIT_OFF;
	if (path[0] != '/')
		return 0;
	p->audit_fd = open(
		path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW,
		0640);
	if (p->audit_fd < 0)
		return bf_err_set(err, errno, "audit %s: %s", path,
				  bf_err_str(errno));
	/* Even without O_APPEND its writes would begin behind what is there. */
	if (lseek(p->audit_fd, 0, SEEK_END) < 0 && errno != ESPIPE)
		return bf_err_set(err, errno, "audit %s: %s", path,
				  bf_err_str(errno));
	p->audit = BF_AUDIT_FILE;
	return 0;
}

static int
find_user(const struct passwd **out, const char *name, struct bf_err *err)
{
	const struct passwd *pw = getpwnam(name);

	if (!pw && !strcmp(name, "bpfleet"))
		pw = getpwnam("nobody");
	if (!pw || pw->pw_uid == 0)
		return bf_err_set(err, BF_EARGUMENT, "user %s: %s", name,
				  pw ? "the worker must not be root"
				     : "no such user on this host");
	*out = pw;
	return 0;
}

/* Who the worker becomes. */
static int
choose_user(struct bf_plan *p, bool by_id, struct bf_err *err)
{
	const struct passwd *pw;
	int ret;

	p->drop = geteuid() == 0;
	if (!p->drop) {
		bf_log(BF_LOG_WARN, "agent user",
		       "why=\"not started as root: the worker keeps uid %u\"",
		       geteuid());
		return 0;
	}
	ret = find_user(&pw, p->settings.user, err);
	if (ret)
		return ret;
	if (strcmp(pw->pw_name, p->settings.user) != 0)
		bf_log(BF_LOG_INFO, "agent user",
		       "why=\"no user %s on this host, taking %s\"",
		       p->settings.user, pw->pw_name);
	p->uid = pw->pw_uid;
	p->gid = pw->pw_gid;
	p->keep_cap_bpf = by_id && !bf_sandbox_probe_reads(p->uid, p->gid);
	if (p->keep_cap_bpf)
		bf_log(BF_LOG_WARN, "agent sandbox",
		       "why=\"this kernel wants CAP_BPF for reads: the worker "
		       "keeps it\"");
	return 0;
}

int
bf_plan_make(struct bf_plan *out, const struct bf_settings *settings,
	     bool is_private, bool by_id, struct bf_err *err)
{
	int ret;

	*out = (struct bf_plan){.settings = *settings, .audit_fd = -1};
	out->keys = bf_keys_alloc(sizeof(*out->keys));
	if (!out->keys)
		return bf_err_set(err, ENOMEM, "out of memory");
	ret = load_key(out, err);
	if (!ret)
		ret = load_clients(out, err);
	if (!ret)
		ret = choose_user(out, by_id, err);
	if (!ret)
		ret = make_cursor_key(out, err);
	if (!ret)
		ret = open_audit(out, is_private, err);
	if (ret)
		bf_plan_fini(out);
	return ret;
}

void
bf_plan_fini(struct bf_plan *plan)
{
	if (!plan->keys)
		return;
	bf_keys_free(plan->keys, sizeof(*plan->keys));
	bf_acl_fini(&plan->acl);
	if (plan->audit_fd >= 0)
		close(plan->audit_fd);
	*plan = (struct bf_plan){.audit_fd = -1};
}

int
bf_plan_check(const struct bf_settings *settings, const char **user,
	      struct bf_err *err)
{
	const struct passwd *pw;
	struct bf_acl acl = {0};
	struct bf_key key;
	int ret;

	ret = find_user(&pw, settings->user, err);
	if (!ret && settings->key[0] &&
	    !(settings->make_key && access(settings->key, F_OK) < 0)) {
		ret = read_key(&key, settings, err);
		bf_keys_wipe(&key, sizeof(key));
	}
	if (!ret && settings->authorized_clients[0])
		ret = bf_acl_read(&acl, settings->authorized_clients, err);
	bf_acl_fini(&acl);
	*user = ret ? NULL : pw->pw_name;
	return ret;
}

void
bf_plan_tell(const struct bf_plan *plan, struct bf_worker_setup *setup)
{
	const struct bf_settings *s = &plan->settings;

	memcpy(setup->listen, s->listen, sizeof(s->listen));
	setup->n_listen = s->n_listen;
	memcpy(setup->allow_uids, s->allow_uids, sizeof(s->allow_uids));
	setup->n_allow_uids = s->n_allow_uids;
	memcpy(setup->allow_gids, s->allow_gids, sizeof(s->allow_gids));
	setup->n_allow_gids = s->n_allow_gids;
	setup->log_level = (uint32_t)s->log_level;
	setup->gate = s->gate;
	memcpy(setup->metrics, s->metrics, sizeof(s->metrics));
	setup->drop = plan->drop;
	setup->uid = plan->uid;
	setup->gid = plan->gid;
	setup->keep_cap_bpf = plan->keep_cap_bpf;
	setup->owner_uid = geteuid();
	setup->cursor_key = plan->keys->cursor;
	memcpy(setup->public_key, plan->public_key, BF_KEY_BYTES);
	setup->n_clients = plan->acl.n;
	setup->audit = plan->audit;
}
