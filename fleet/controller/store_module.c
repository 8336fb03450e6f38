// SPDX-License-Identifier: GPL-2.0-or-later
/* See store_module.h. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "bwl/bytes.h"
#include "bwl/clock.h"
#include "fleet/store/watch.h"
#include "lead.h"
#include "store_module.h"

#define TTL_S 10 /* of the election's lease: after this time a dead leader has a successor */
#define KEEP_NS (3 * CTRL_S)
#define LOOK_NS CTRL_S
#define READ_NS (60 * CTRL_S)
#define RETRY_NS (CTRL_S / 4)
#define RETRY_MAX_NS (2 * CTRL_S)
#define FULL_NS (2 * CTRL_S) /* until a full store is written to again; shorter than TTL_S */

enum { ALL, NODE, RANGES };

struct store {
	struct ctrl *c;
	/*
	 * Two connections, one for calls and one for the watch: while libcurl 7.88 works for one
	 * stream, it reads what came for another stream of the same connection, and of an answer
	 * that came whole in this way it may deliver only the trailers; that happens once in some
	 * dozens of calls.
	 */
	struct bwl_grpc *g, *for_watch;
	unsigned server, failed; /* the current or next server; consecutive failures */
	uint64_t retry_ns, read_ns, keep_ns, kept_ns, look_ns, lead_ns, full_ns;
	char range[RANGES][BWL_ETCD_KEY_MAX], election[BWL_ETCD_KEY_MAX];
	struct bwl_watch *watch;
	struct bwl_election el;
	char leader[BWL_ELECTION_NAME]; /* as last reported */
	struct view view;
	struct lead lead;
	char told[768]; /* last error, reported once */
};

static int64_t wall_s(void)
{
	return time(NULL);
}

static void tell(struct store *s, const char *event, const char *what, const struct bwl_err *why)
{
	char line[sizeof(s->told)];

	snprintf(line, sizeof(line), "%s %s %.600s", event, what ? what : "", why->text);
	if (!strcmp(line, s->told))
		return;
	memcpy(s->told, line, sizeof(line));
	s->c->say(s->c, event, what, why);
}

static void on_trouble(void *arg, const char *what, const struct bwl_err *why)
{
	struct store *s = arg;

	if (why && why->id &&
	    (!strncmp(why->id, "status-", strlen("status-")) ||
	     !strcmp(why->id, "closing-replaced") || !strcmp(why->id, "closing-no-room")))
		s->c->say(s->c, "alarm", what, why);
	else if (why)
		tell(s, "trouble", what, why);
	else
		s->c->say(s->c, "took", what, NULL);
}

static int read_root(struct store *s, struct bwl_err *e)
{
	const char *file = s->c->o->root;
	BWL_AUTO_FREE char *bytes = NULL;
	BWL_AUTO_CLOSE int fd = -1;
	size_t len;
	int r;

	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return bwl_fail(e, errno, "cannot read the root '%s': %m", file);
	r = bwl_bytes_read(fd, BWL_SIGNED_BYTES_MAX, &bytes, &len, e);
	return r ? r : bwl_root_first(bytes, len, &s->view.root, e);
}

/* Prints unasked the key that verifies its cosignatures. */
static int say_witness(struct store *s, struct bwl_err *e)
{
	char text[BWL_NOTE_KEY_TEXT];
	struct bwl_note_key w;
	int r = bwl_witness_key(s->c->o->witness_name, bwl_key_public(s->lead.witness), &w, e);

	if (!r)
		s->c->say(s->c, "witness", bwl_note_key_format(&w, false, text), NULL);
	return r;
}

static int read_keys(struct store *s, struct bwl_err *e)
{
	const struct options *o = s->c->o;
	char id[BWL_KEY_ID];
	int r = bwl_key_read(o->online_key, &s->lead.online, e);

	if (!r && !bwl_root_owner(s->view.root, bwl_key_id(bwl_key_public(s->lead.online), id),
				  BWL_ROLE_ONLINE)) {
		r = bwl_fail(e, EKEYREJECTED, "the root gives the key %.16s… no role `online`", id);
		bwl_hint(e,
			 "the next root names it (docs/fleet.md), or --online-key is another one");
	}
	if (!r && o->witness_key)
		r = bwl_key_read(o->witness_key, &s->lead.witness, e);
	if (!r && s->lead.witness)
		r = say_witness(s, e);
	return r;
}

static int start(struct ctrl *c, void **ret_self, struct bwl_err *e)
{
	struct store *s = bwl_must(calloc(1, sizeof(*s)));
	const char *prefix = c->o->prefix;
	int r;

	*ret_self = s;
	s->c = c;
	s->view.trouble = on_trouble;
	s->view.arg = s;
	s->view.signers = c->signers;
	s->lead.c = c;
	s->lead.v = &s->view;
	s->lead.el = &s->el;
	snprintf(s->range[ALL], sizeof(s->range[ALL]), "%s/all/", prefix);
	snprintf(s->range[NODE], sizeof(s->range[NODE]), "%s/node/", prefix);
	snprintf(s->election, sizeof(s->election), "%s/controller/leader/", prefix);
	s->watch = bwl_watch_new((const char *const[]){ s->range[ALL], s->range[NODE] }, RANGES);
	r = read_root(s, e);
	return r ? r : read_keys(s, e);
}

static void lose_lead(struct store *s)
{
	if (s->c->leads)
		s->c->say(s->c, "follows", *s->leader ? s->leader : NULL, NULL);
	s->c->leads = false;
	lead_end(&s->lead);
}

static void disconnect(struct store *s)
{
	bwl_watch_close(s->watch);
	bwl_grpc_close(s->for_watch);
	bwl_grpc_close(s->g);
	s->g = s->for_watch = s->lead.g = NULL;
}

static void stop(void *self)
{
	struct store *s = self;

	lead_end(&s->lead);
	if (s->g)
		bwl_election_leave(s->g, &s->el);
	disconnect(s);
	bwl_watch_free(s->watch);
	view_done(&s->view);
	bwl_key_free(s->lead.online);
	bwl_key_free(s->lead.witness);
	free(s);
}

/* Parses "TRAY/in/…" or "TRAY/out/WHAT", the rest of a key in the range of all trays. */
static void take_node(struct store *s, const struct bwl_etcd_kv *kv)
{
	size_t before = strlen(s->range[NODE]), n = bwl_pb_len(kv->key), len;
	char key[BWL_ETCD_KEY_MAX], range[BWL_ETCD_KEY_MAX], tray[BWL_DOC_NAME_MAX];
	struct bwl_doc_at at;
	const char *rest;

	if (n <= before || n >= sizeof(key))
		return;
	memcpy(key, kv->key.at, n);
	key[n] = '\0';
	len = strcspn(key + before, "/");
	if (!bwl_store_name_ok(key + before, len))
		return;
	snprintf(tray, sizeof(tray), "%.*s", (int)len, key + before);
	rest = key + before + len;
	if (!strncmp(rest, "/out/", 5))
		view_said(&s->view, tray, rest + 5, kv,
			  &(struct status_now){ bwl_now_ns(), wall_s() });
	else if (!bwl_doc_range(range, s->c->o->prefix, tray) &&
		 !bwl_doc_parse_key(range, key, n, &at))
		view_document(&s->view, tray, &at, kv, wall_s());
}

static int take_kv(void *arg, unsigned range, const struct bwl_etcd_kv *kv)
{
	struct store *s = arg;
	struct bwl_doc_at at;

	if (range == NODE)
		take_node(s, kv);
	else if (!bwl_doc_parse_key(s->range[ALL], (const char *)kv->key.at, bwl_pb_len(kv->key),
				    &at))
		view_document(&s->view, "", &at, kv, wall_s());
	return 0;
}

static int take_all(void *arg, const struct bwl_etcd_kv *kv)
{
	return take_kv(arg, ALL, kv);
}

static int take_nodes(void *arg, const struct bwl_etcd_kv *kv)
{
	return take_kv(arg, NODE, kv);
}

static int read_all(struct store *s, uint64_t now_ns, struct bwl_err *e)
{
	int64_t revision = 0;
	int r;

	view_read_begin(&s->view);
	r = bwl_etcd_values(s->g, s->range[ALL], take_all, s, &revision, e);
	r = r ? r : bwl_etcd_values(s->g, s->range[NODE], take_nodes, s, &revision, e);
	if (r)
		return r;
	view_read_end(&s->view);
	s->read_ns = now_ns + READ_NS;
	return bwl_watch_open(s->watch, s->for_watch, revision + 1, now_ns, e);
}

static int connect_to(struct store *s, uint64_t now_ns, struct bwl_err *e)
{
	const struct options *o = s->c->o;
	struct bwl_etcd_status status;
	int r = bwl_grpc_open(o->servers[s->server], &o->tls, &s->g, e);

	r = r ? r : bwl_grpc_open(o->servers[s->server], &o->tls, &s->for_watch, e);
	if (!r)
		r = bwl_etcd_status(s->g, &status, e);
	if (!r && !status.leader)
		r = bwl_fail(e, EHOSTUNREACH, "%s has no leader: it is cut off from the others",
			     o->servers[s->server]);
	if (!r && !o->accept_holes)
		r = bwl_etcd_version_ok(status.version, e);
	if (!r)
		r = read_all(s, now_ns, e);
	if (r)
		return r;
	s->lead.g = s->g;
	s->keep_ns = s->look_ns = s->lead_ns = now_ns;
	*s->told = '\0';
	s->c->say(s->c, "connected", o->servers[s->server], NULL);
	return 0;
}

/* Fetches policies that are in parts, or that came before the root that judges them. */
static int fetch_policies(struct store *s, struct bwl_err *e)
{
	for (size_t i = 0; i < s->view.npolicies; i++) {
		struct view_policy *p = s->view.policy[i];
		char key[BWL_ETCD_KEY_MAX];
		uint8_t *bytes;
		int64_t mod;
		size_t len;
		int r;

		if (!p->to_fetch || !s->view.root)
			continue;
		r = bwl_doc_key(key, s->c->o->prefix, *p->tray ? p->tray : NULL, BWL_DOC_policy,
				p->name, p->big);
		r = r ? r
		      : bwl_doc_fetch(s->g, s->c->o->prefix, key, p->big, &bytes, &len, &mod, e);
		if (r == -ENOENT || r == -EUCLEAN || r == -EMSGSIZE) { /* the watch reports it */
			p->to_fetch = false;
			continue;
		}
		if (r)
			return r;
		view_policy_bytes(&s->view, p, (const char *)bytes, len, wall_s());
		free(bytes);
	}
	return 0;
}

/*
 * Fetches closing documents in parts: a document is named in signed times only after it was judged.
 */
static int fetch_parts(struct store *s, struct bwl_err *e)
{
	while (s->view.nparts) {
		const struct view_part *p = &s->view.part[s->view.nparts - 1];
		char key[BWL_ETCD_KEY_MAX];
		BWL_AUTO_FREE uint8_t *bytes = NULL;
		int64_t mod;
		size_t len;
		int r = bwl_doc_key(key, s->c->o->prefix, *p->tray ? p->tray : NULL, p->at.kind,
				    p->at.name, true);

		r = r ? r : bwl_doc_fetch(s->g, s->c->o->prefix, key, true, &bytes, &len, &mod, e);
		if (r && r != -ENOENT && r != -EUCLEAN && r != -EMSGSIZE)
			return r;
		if (!r)
			view_closing_bytes(&s->view, (const char *)bytes, len, wall_s());
		s->view.nparts--;
	}
	return 0;
}

static int hear(struct store *s, uint64_t now_ns, struct bwl_err *e)
{
	int r = bwl_watch_hear(s->watch, take_kv, s, now_ns, e);

	if (r == -ESTALE || (!r && now_ns >= s->read_ns))
		r = read_all(s, now_ns, e);
	r = r ? r : fetch_parts(s, e);
	return r ? r : fetch_policies(s, e);
}

/* Takes part in the election, renews its lease, and checks who leads. */
static int elect(struct store *s, uint64_t now_ns, struct bwl_err *e)
{
	char leader[BWL_ELECTION_NAME];
	int r = 0;

	if (*s->el.key && now_ns >= s->keep_ns) {
		r = bwl_etcd_lease_keep(s->g, s->el.lease, e);
		if (!r)
			s->kept_ns = now_ns;
		if (r == -ENOENT)
			s->el = (struct bwl_election){ 0 };
		s->keep_ns = now_ns + KEEP_NS;
	}
	if (!*s->el.key) {
		lose_lead(s);
		r = bwl_election_run(s->g, s->election, s->c->o->name, TTL_S, &s->el, e);
		s->kept_ns = now_ns;
	}
	if (r || now_ns < s->look_ns)
		return r;
	s->look_ns = now_ns + LOOK_NS;
	r = bwl_election_look(s->g, s->election, &s->el, leader, e);
	if (r == -ENOENT) {
		lose_lead(s);
		return 0; /* runs again the next time */
	}
	if (r)
		return r;
	if (strcmp(leader, s->leader)) {
		memcpy(s->leader, leader, sizeof(leader));
		s->c->say(s->c, "leader", leader, NULL);
	}
	if (!s->el.leads) {
		lose_lead(s);
	} else if (!s->c->leads) {
		r = lead_begin(&s->lead, e);
		if (r)
			return r;
		s->c->leads = true;
		s->lead_ns = now_ns;
		s->c->say(s->c, "leads", s->c->o->name, NULL);
	}
	return 0;
}

static int lead(struct store *s, uint64_t now_ns, struct bwl_err *e)
{
	int r;

	if (!s->c->leads || now_ns < s->lead_ns)
		return 0;
	s->lead_ns = now_ns + LEAD_STEP_NS;
	r = lead_step(&s->lead, now_ns, wall_s(), e);
	if (r != -EEXIST)
		return r;
	/* It no longer leads, or somebody else has written: everything is read again. */
	tell(s, "fenced", s->c->o->name, e);
	lose_lead(s);
	s->look_ns = s->read_ns = now_ns;
	return 0;
}

static uint64_t step(void *self, uint64_t now_ns)
{
	struct store *s = self;
	struct bwl_err e = { 0 };
	int r;

	/* Its lease may have expired. The fence decides; this only reports it. */
	if (s->c->leads && now_ns - s->kept_ns > TTL_S * CTRL_S)
		lose_lead(s);
	if (!s->g && now_ns < s->retry_ns)
		return s->retry_ns;
	r = s->g ? 0 : connect_to(s, now_ns, &e);
	r = r ? r : hear(s, now_ns, &e);
	if (!r && now_ns < s->full_ns)
		return s->full_ns;
	r = r ? r : elect(s, now_ns, &e);
	r = r ? r : lead(s, now_ns, &e);
	if (r == -ENOSPC) { /* another member would refuse it, too; reading continues */
		tell(s, "trouble", s->c->o->servers[s->server], &e);
		s->full_ns = now_ns + FULL_NS;
		return s->full_ns;
	}
	if (!r) {
		if (s->full_ns)
			*s->told = '\0';
		s->full_ns = 0;
		s->failed = 0;
		return s->look_ns < s->lead_ns || !s->c->leads ? s->look_ns : s->lead_ns;
	}
	/* Its lease may still hold: another member knows it. */
	tell(s, "lost", s->c->o->servers[s->server], &e);
	disconnect(s);
	s->server = (s->server + 1) % s->c->o->nservers;
	s->retry_ns = now_ns;
	if (++s->failed >= s->c->o->nservers) {
		uint64_t more = RETRY_NS << (s->failed - s->c->o->nservers < 4
						     ? s->failed - s->c->o->nservers
						     : 4);

		s->retry_ns += more < RETRY_MAX_NS ? more : RETRY_MAX_NS;
	}
	return s->retry_ns;
}

void store_wait(void *self, unsigned timeout_ms, struct curl_waitfd *fds, unsigned n)
{
	struct store *s = self;
	struct pollfd p[16];

	if (s->for_watch) {
		bwl_grpc_wait(s->for_watch, timeout_ms, fds, n, NULL);
		return;
	}
	for (unsigned i = 0; i < n && i < 16; i++)
		p[i] = (struct pollfd){ .fd = fds[i].fd, .events = POLLIN };
	poll(p, n < 16 ? n : 16, (int)timeout_ms);
}

const struct ctrl_module store_module = {
	.name = "store",
	.start = start,
	.step = step,
	.stop = stop,
};
