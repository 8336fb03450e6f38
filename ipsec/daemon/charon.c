// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keeps charon in line with the policy. A separate process, not a thread beside the tracker: a
 * hanging charon must not keep the data plane from learning of SAs, and a reader of private keys
 * needs no right to write maps.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include "bwl/desired.h"
#include "bwl/model.h"
#include "ipsec/conn.h"
#include "ipsec/keep.h"
#include "ipsec/number.h"
#include "ipsec/orphans.h"
#include "ipsecd.h"

#define TURN_NS 1000000000ULL
#define MAX_WAIT_NS 60000000000ULL /* after failed loads */

struct keep {
	const struct ipsecd *d;
	struct bwl_err err;
	struct bwl_keep *state;
	struct bwl_orphans *orphans;
	struct bwl_view view;
	struct bwl_policy *pol;
	json_t *tree;                                   /* NULL: not made since the last change */
	uint64_t policy_stamp, creds_stamp, maps_stamp; /* of what is loaded */
	uint64_t retry_ns, wait_ns;
	struct bwl_err told; /* the last error, reported once */
	struct bwl_err file_told;
};

static uint64_t mix(uint64_t h, const void *data, size_t n)
{
	const unsigned char *p = data;

	while (n--)
		h = (h ^ *p++) * 0x100000001b3ULL; /* FNV-1a */
	return h;
}

static uint64_t mix_file(uint64_t h, const char *path)
{
	struct stat st = { 0 };

	if (stat(path, &st))
		return mix(h, "", 1);
	h = mix(h, &st.st_ino, sizeof(st.st_ino));
	h = mix(h, &st.st_size, sizeof(st.st_size));
	return mix(h, &st.st_mtim, sizeof(st.st_mtim));
}

/* Files that are renamed into place, as pki and rsync do, change their folder. */
static uint64_t creds_stamp(const struct keep *k)
{
	static const char *const folders[] = {
		"x509", "x509ca", "x509crl", "private", "ecdsa", "rsa", "pkcs8", "ppk",
	};
	uint64_t h = 1;
	char path[4096];

	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++) {
		snprintf(path, sizeof(path), "%s/%s", k->d->dir, folders[i]);
		h = mix_file(h, path);
	}
	return h;
}

/* Covers ids, edits, revocations, and the kind of tunnel device. */
static uint64_t maps_stamp(const struct keep *k)
{
	const struct bwl_pins *p = k->view.pins;
	uint32_t generation = *(const volatile __u32 *)&p->ctl->generation;
	uint64_t h = mix(1, &generation, sizeof(generation));

	bool by_mark = bwl_is_by_mark(p);

	h = mix(h, &by_mark, sizeof(by_mark));
	h = mix(h, &p->ctl->revoked_all, sizeof(p->ctl->revoked_all));
	h = mix(h, &k->view.gen.slot, sizeof(k->view.gen.slot));
	return mix(h, p->gate, p->schema.max_peers * sizeof(*p->gate));
}

struct loaded {
	unsigned connections, unloaded, revoked;
	const char *charon;
};

/* Reports what was done: to one peer or, with the numbers, to all. */
static void say(struct keep *k, const char *what, const char *peer, const struct loaded *l)
{
	char when[BWL_TIME_BUF];
	json_t *o;

	bwl_utc_now(when);
	if (k->d->json) {
		o = bwl_doc("ipsec-keep");
		json_object_set_new(o, "time", json_string(when));
		json_object_set_new(o, "event", json_string(what));
		json_object_set_new(o, "peer", bwl_json_text(peer));
		json_object_set_new(o, "connection_count",
				    l ? json_integer(l->connections) : json_null());
		json_object_set_new(o, "unloaded_count",
				    l ? json_integer(l->unloaded) : json_null());
		json_object_set_new(o, "revoked_count", l ? json_integer(l->revoked) : json_null());
		json_object_set_new(o, "charon", bwl_json_text(l ? l->charon : NULL));
		bwl_doc_line(o);
		return;
	}
	bwl_put(stdout, "%s %s%s%s", when, what, peer ? " " : "", peer ? peer : "");
	if (l)
		printf(": %u connections, %u unloaded, %u left out because revoked", l->connections,
		       l->unloaded, l->revoked);
	putchar('\n');
	fflush(stdout);
}

static void on_nudge(const char *peer, bool rekeyed, void *arg)
{
	say(arg, rekeyed ? "rekeyed" : "asked", peer, NULL);
}

/* Removed an SA of an earlier charon. */
static void on_removed(const struct bwl_xfrm_sa *sa, void *arg)
{
	struct keep *k = arg;
	char name[BWL_NAME_LEN];

	say(k, "removed", bwl_peer_name(k->view.pins, sa->peer, name), NULL);
}

static bool has_sa(uint32_t id, void *arg)
{
	const struct bwl_pins *p = ((const struct keep *)arg)->view.pins;

	return !id || id >= p->schema.max_peers ||
	       (*(const volatile __u8 *)&p->tunnel[id].flags & BWL_TUN_SA);
}

/* Fails for a file that is not in force yet: it is read again later. */
static int read_policy(struct keep *k)
{
	struct bwl_ipsec_numbers n = { 0 };
	struct bwl_policy *pol;
	int r = bwl_desired_load(k->d->file, &pol, &k->err);

	if (r)
		return r;
	r = bwl_ipsec_number(&k->view, pol, true, 0, NULL, &n, &k->err);
	free(n.if_id);
	if (r) {
		bwl_policy_free(pol);
		return r;
	}
	bwl_policy_free(k->pol);
	k->pol = pol;
	return 0;
}

/* Makes the tree from what now holds, and loads all of it into charon. */
static int load(struct keep *k, struct bwl_vici *v)
{
	struct bwl_ipsec_load_report rep = { 0 };
	struct bwl_ipsec_caps caps = { 0 };
	struct bwl_ipsec_numbers n = { 0 };
	json_t *tree = NULL;
	int r;

	r = bwl_ipsec_number(&k->view, k->pol, false, 0, NULL, &n, &k->err);
	if (!r)
		r = bwl_ipsec_caps_ask(v, &caps, &k->err);
	if (!r)
		r = bwl_ipsec_tree(k->pol, n.if_id, n.by_mark, &caps, k->d->dir, &tree, &k->err);
	if (!r) {
		json_decref(k->tree);
		k->tree = tree;
		r = bwl_ipsec_load(v, tree, k->d->dir, BWL_IPSEC_ALL, &rep, &k->err);
	}
	if (!r)
		say(k, "loaded", NULL,
		    &(struct loaded){ rep.loaded, rep.unloaded, n.revoked, caps.version });
	free(n.if_id);
	return r;
}

/* What failed is tried again, at growing intervals while nothing changes. */
static int load_when_due(struct keep *k, struct bwl_vici *v, bool changed, bool *did)
{
	uint64_t now = bwl_now_ns();
	int r;

	if (!changed && now < k->retry_ns)
		return -EAGAIN;
	r = load(k, v);
	k->wait_ns = !r ? 0 : !k->wait_ns ? TURN_NS : 2 * k->wait_ns;
	if (k->wait_ns > MAX_WAIT_NS)
		k->wait_ns = MAX_WAIT_NS;
	k->retry_ns = now + k->wait_ns;
	*did = !r;
	return r;
}

static int with_charon(struct keep *k, struct bwl_vici *v, bool changed, bool *did)
{
	struct bwl_keep_seen seen = { .has_sa = has_sa, .arg = k, .did = on_nudge };
	bool differs = true;
	int r = 0;

	if (k->tree)
		r = bwl_keep_differs(v, k->tree, &differs, &k->err);
	if (!r && (changed || differs))
		return load_when_due(k, v, changed, did);
	if (!r && strcmp(k->pol->ipsec.start, "trap"))
		r = bwl_keep_nudge(k->state, v, k->tree, bwl_now_ns(), &seen, &k->err);
	if (!r)
		r = bwl_orphans_remove(k->orphans, v, bwl_now_ns(), on_removed, k, &k->err);
	return r;
}

static void tell_file(struct keep *k)
{
	if (strcmp(k->file_told.text, k->err.text))
		bwl_warn("%s: %s; the version read before stays in use",
			 bwl_desired_name(k->d->file), k->err.text);
	k->file_told = k->err;
}

static int open_view(struct keep *k)
{
	int r = bwl_view_open(k->d->pin_dir, false, &k->view, &k->err);

	if (r || k->view.has_gen)
		return r;
	bwl_view_close(&k->view);
	bwl_fail(&k->err, ENOENT, "no policy has been applied: everything is dropped");
	return bwl_hint(&k->err, "bwlimit-ctl policy apply FILE");
}

/* One complete check. *did: something was loaded, so check again at once. */
static int turn(struct keep *k, bool *did)
{
	char path[BWL_DESIRED_PATH];
	uint64_t policy = mix_file(1, bwl_desired_path(k->d->file, path)), creds = creds_stamp(k),
		 maps;
	struct bwl_vici *v = NULL;
	bool changed;
	int r = open_view(k);

	if (r)
		return r;
	maps = maps_stamp(k);
	changed = policy != k->policy_stamp || creds != k->creds_stamp || maps != k->maps_stamp;
	if (policy != k->policy_stamp || !k->pol)
		r = read_policy(k);
	if (r && k->pol) { /* unreadable or not yet in force: other changes do not wait */
		tell_file(k);
		policy = k->policy_stamp;
		r = 0;
	}
	if (!r)
		r = bwl_vici_open(k->d->vici, k->d->timeout_ns, &v, &k->err);
	if (!r) {
		k->policy_stamp = policy;
		k->creds_stamp = creds;
		k->maps_stamp = maps;
		r = with_charon(k, v, changed, did);
	}
	bwl_vici_close(v);
	bwl_view_close(&k->view);
	return r;
}

static void tell(struct keep *k, int r)
{
	if (r == -EAGAIN) /* the error was reported: it waits */
		return;
	if (r && strcmp(k->told.text, k->err.text))
		bwl_warn("%s", k->err.text);
	k->told = r ? k->err : (struct bwl_err){ 0 };
}

int ipsecd_charon(const struct ipsecd *d, struct bwl_err *e)
{
	struct keep k = { .d = d };
	int r = bwl_keep_new(&k.state, e);

	if (!r)
		r = bwl_orphans_new(&k.orphans, e);
	if (r) {
		bwl_keep_free(k.state);
		return r;
	}
	while (!*d->stopped) { /* whether or not anybody reads what it prints */
		bool did = false;

		tell(&k, turn(&k, &did));
		if (!did && !*d->stopped)
			nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
	}
	json_decref(k.tree);
	bwl_policy_free(k.pol);
	bwl_orphans_free(k.orphans);
	bwl_keep_free(k.state);
	return 0;
}
