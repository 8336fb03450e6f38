// SPDX-License-Identifier: GPL-2.0-or-later
/* `policy sign`, `policy verify`: makes, signs and shows documents. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "signed.h"
#include "signed/payload.h"

struct terms {
	const char *key, *out, *type, *fleet, *audience, *name, *epoch, *version, *life, *reason,
		*offline, *lease, *opens, *lifts;
	bool stages, fresh, glass;
	enum bwl_signed_type what;
	uint64_t epoch_n, version_n, life_ns;
};

static int take_terms(struct ctl *c, struct terms *t)
{
	if (!t->fleet || !t->name || !t->version || !t->life)
		return ctl_usage(
			c,
			"a new document needs --fleet, --name, --number and --for; one that is signed already has them");
	for (t->what = 0; t->type && t->what < _BWL_SIGNED_MAX; t->what++)
		if (!strcmp(t->type, bwl_signed_word(t->what)))
			break;
	if (!t->type)
		t->what = BWL_SIGNED_POLICY;
	if (t->what == _BWL_SIGNED_MAX)
		return ctl_usage(
			c,
			"--type '%.32s': root, policy, grant, lease, revocation, rollout, expulsion, enrolment or timestamp",
			t->type);
	t->epoch_n = 1;
	if (ctl_number(c, "--number", t->version, INT64_MAX, &t->version_n) ||
	    (t->epoch && ctl_number(c, "--epoch", t->epoch, INT64_MAX, &t->epoch_n)) ||
	    bwl_parse_time(t->life, &t->life_ns, &c->err))
		return CTL_USAGE;
	if (t->life_ns < 1000000000ULL || t->life_ns > 3660ULL * 86400 * 1000000000)
		return ctl_usage(c, "--for %.32s: 1s to 3660d", t->life);
	return 0;
}

/* Names separated by commas. */
static json_t *names_of(const char *s)
{
	json_t *list = json_array();

	for (size_t n; *s; s += n + (s[n] == ',')) {
		n = strcspn(s, ",");
		json_array_append_new(list, json_stringn(s, n));
	}
	return list;
}

/* A type that has no such key is refused when the payload is parsed. */
static void add_options(const struct terms *t, json_t *o)
{
	if (t->reason)
		json_object_set_new(o, "reason", json_string(t->reason));
	if (t->offline)
		json_object_set_new(o, "offline_for", json_string(t->offline));
	if (t->lease)
		json_object_set_new(o, "lease_most", json_string(t->lease));
	if (t->opens)
		json_object_set_new(o, "opens", names_of(t->opens));
	if (t->lifts)
		json_object_set_new(o, "lifts", names_of(t->lifts));
	if (t->stages)
		json_object_set_new(o, "stages", json_true());
	if (t->fresh)
		json_object_set_new(o, "fresh_volume", json_true());
	if (t->glass)
		json_object_set_new(o, "break_glass", json_true());
}

/*
 * The file's content: a policy's text, or what another type's payload has in addition to the terms.
 */
static int content(struct ctl *c, const char *file, const struct terms *t, const char *bytes,
		   size_t len, json_t **ret)
{
	struct bwl_policy *pol = NULL;
	int r;

	if (t->what != BWL_SIGNED_POLICY) {
		*ret = json_loadb(bytes, len, JSON_REJECT_DUPLICATES, NULL);
		if (!json_is_object(*ret))
			return bwl_fail(&c->err, EBADMSG,
					"%s: the content of a %s is a JSON object (docs/fleet.md)",
					file, bwl_signed_word(t->what));
		add_options(t, *ret);
		return 0;
	}
	r = bwl_policy_parse(file, bytes, len, bwl_now_ns(), time(NULL), &pol, &c->err);
	bwl_policy_free(pol);
	if (r)
		return r;
	*ret = json_object();
	json_object_set_new(*ret, "text", json_stringn(bytes, len));
	add_options(t, *ret);
	return 0;
}

static int make(struct ctl *c, const char *file, struct terms *t, const char *bytes, size_t len,
		struct bwl_envelope *ret)
{
	char from[BWL_TIME_BUF], to[BWL_TIME_BUF];
	struct bwl_signed_terms parsed;
	struct timespec now;
	json_t *o = NULL;
	int r = take_terms(c, t);

	if (!r)
		r = content(c, file, t, bytes, len, &o);
	if (r)
		goto out;
	json_object_set_new(o, "name", json_string(t->name));
	json_object_set_new(o, "epoch", json_integer((json_int_t)t->epoch_n));
	json_object_set_new(o, "version", json_integer((json_int_t)t->version_n));
	clock_gettime(CLOCK_REALTIME, &now);
	json_object_set_new(o, "issued_at",
			    json_string(bwl_utc(now.tv_sec, (int)(now.tv_nsec / 1000000), from)));
	json_object_set_new(o, "not_after",
			    json_string(bwl_utc(now.tv_sec + (int64_t)(t->life_ns / 1000000000ULL),
						-1, to)));
	r = bwl_payload_check(t->what, o, &parsed, &c->err);
	if (!r)
		r = bwl_envelope_new(t->what, t->fleet, t->audience ? t->audience : "all", o, ret,
				     &c->err);
out:
	json_decref(o);
	return r;
}

int ctl_policy_sign(struct ctl *c, int argc, char **argv)
{
	struct terms t = { 0 };
	const struct ctl_opt opts[] = {
		{ "--key", NULL, &t.key },
		{ "--out", NULL, &t.out },
		{ "--type", NULL, &t.type },
		{ "--fleet", NULL, &t.fleet },
		{ "--audience", NULL, &t.audience },
		{ "--name", NULL, &t.name },
		{ "--epoch", NULL, &t.epoch },
		{ "--number", NULL, &t.version },
		{ "--for", NULL, &t.life },
		{ "--reason", NULL, &t.reason },
		{ "--offline-for", NULL, &t.offline },
		{ "--lease-most", NULL, &t.lease },
		{ "--opens", NULL, &t.opens },
		{ "--lifts", NULL, &t.lifts },
		{ "--stages", &t.stages, NULL },
		{ "--fresh-volume", &t.fresh, NULL },
		{ "--break-glass", &t.glass, NULL },
		{ NULL, NULL, NULL },
	};
	BWL_AUTO(bwl_key_free) struct bwl_key *k = NULL;
	BWL_AUTO_FREE char *bytes = NULL;
	struct bwl_envelope v = { 0 };
	char out[4096];
	size_t len;
	int r = ctl_opts(c, &argc, argv, opts);

	if (r)
		return r;
	if (argc != 1 || !t.key)
		return ctl_usage(c, "give a file, and --key, the key that signs");
	r = bwl_key_read(t.key, &k, &c->err);
	if (!r)
		r = ctl_signed_read(c, argv[0], &bytes, &len);
	if (r)
		return r;
	snprintf(out, sizeof(out), "%s", argv[0]);
	if (bwl_envelope_parse(bytes, len, &v, NULL)) {
		snprintf(out, sizeof(out), "%s.signed", argv[0]);
		r = make(c, argv[0], &t, bytes, len, &v);
	}
	if (!r)
		r = bwl_envelope_sign(&v, k, &c->err);
	if (!r)
		r = ctl_signed_write(c, t.out ? t.out : out, &v);
	if (!r) {
		BWL_AUTO_FREE char *text = bwl_envelope_text(&v, &len);

		r = ctl_signed_show(c, t.out ? t.out : out, text, len, NULL, -1, false);
	}
	bwl_envelope_free(&v);
	return r;
}

/* A root verifies itself, or follows another one. */
static int verify_root(struct ctl *c, const char *file, const char *old_file, const char *bytes,
		       size_t len)
{
	BWL_AUTO(bwl_root_free) struct bwl_root *old = NULL, *root = NULL;
	int r = old_file ? ctl_signed_root(c, old_file, &old) : 0;

	if (!r)
		r = old ? bwl_root_next(old, bytes, len, &root, &c->err)
			: bwl_root_first(bytes, len, &root, &c->err);
	if (!r) {
		struct bwl_envelope v;

		r = bwl_envelope_parse(bytes, len, &v, &c->err);
		if (!r)
			r = ctl_signed_show(c, file, bytes, len, root,
					    (int)bwl_root_people(root, BWL_ROLE_ROOT, &v, NULL),
					    true);
		bwl_envelope_free(&v);
	}
	return r;
}

int ctl_policy_verify(struct ctl *c, int argc, char **argv)
{
	const char *root_file = NULL, *tray_name = NULL;
	const struct ctl_opt opts[] = {
		{ "--root", NULL, &root_file },
		{ "--tray", NULL, &tray_name },
		{ NULL, NULL, NULL },
	};
	BWL_AUTO(bwl_root_free) struct bwl_root *root = NULL;
	BWL_AUTO_FREE char *bytes = NULL;
	struct bwl_tray tray = { 0 };
	struct bwl_signed d;
	size_t len;
	int r = ctl_opts(c, &argc, argv, opts);

	if (r)
		return r;
	if (argc != 1)
		return ctl_usage(c, "give a file");
	r = ctl_signed_read(c, argv[0], &bytes, &len);
	if (!r)
		r = bwl_signed_peek(bytes, len, &d, &c->err);
	if (r)
		return r;
	if (d.type == BWL_SIGNED_ROOT) {
		bwl_signed_free(&d);
		return verify_root(c, argv[0], root_file, bytes, len);
	}
	bwl_signed_free(&d);
	if (!root_file)
		return ctl_usage(c, "--root is missing: the root that it is checked against");
	r = ctl_signed_root(c, root_file, &root);
	if (r)
		return r;
	if (tray_name)
		snprintf(tray.name, sizeof(tray.name), "%s", tray_name);
	r = bwl_signed_open(bytes, len, root, tray_name ? &tray : NULL, time(NULL), &d, &c->err);
	if (r)
		return r;
	r = ctl_signed_show(c, argv[0], bytes, len, root, (int)d.people, d.enough);
	bwl_signed_free(&d);
	return r;
}
