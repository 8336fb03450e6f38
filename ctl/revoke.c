// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `revoke`: promise 9 in its order. First the map, one write: from then on nothing passes. Then the
 * kernel's SAs, without depending on a daemon; then charon, which tells the other side and unloads
 * the connection; then the kernel again, for what charon made in between.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "bwl/cleanup.h"
#include "ctl.h"
#include "ipsec/conn.h"
#include "ipsec/revoke.h"
#include "ipsec/xfrm.h"
#include "journal/journal.h"

#define TIMEOUT_NS 2000000000ULL

struct order {
	struct ctl *c;
	struct bwl_pins *pins;
	bool all, closed_all;
	const char *vici;
	uint64_t timeout_ns;
	char reason[CTL_REASON];
	const char **name; /* revoked in the map */
	size_t n;
	struct not_revoked {
		const char *name;
		struct bwl_err why;
		bool closed; /* who else has its prefixes is not known */
	} * not ;
	size_t nnot;
	uint64_t map_ns;
	bool encrypted; /* one of them has SAs */
	uint64_t kernel_ns;
	struct bwl_xfrm_dropped kernel;
	char kernel_why[160]; /* empty: done */
	struct bwl_ipsec_drop charon;
	uint64_t charon_ns;
	char charon_why[256]; /* empty: done */
	uint64_t journal_ns;
	struct bwl_err journal; /* code 0: done */
};

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* A peer that has prefixes of one that was named. */
static void also(void *arg, const char *name)
{
	struct order *o = arg;

	o->name = bwl_must(reallocarray(o->name, o->n + 1, sizeof(*o->name)));
	o->name[o->n++] = name;
}

/* What a name that the maps do not have may be meant for. */
static void say_nearest(const struct order *o, const char *name, struct bwl_err *e)
{
	uint32_t max = o->pins->schema.max_peers;
	BWL_AUTO_FREE const char **names = bwl_must(calloc((size_t)max + 1, sizeof(*names)));
	const char *near;
	size_t n = 0;

	for (uint32_t id = 1; !bwl_pins_whole(o->pins, NULL) && id < max; id++)
		if (*o->pins->name[id].name)
			names[n++] = o->pins->name[id].name;
	near = ctl_nearest(name, names);
	bwl_fail(e, ENOENT, "there is no such peer%s%s%s", near ? "; did you mean '" : "",
		 near ? near : "", near ? "'?" : "");
}

static void not_closed(struct order *o, const char *name, int r, struct bwl_err *e)
{
	if (r == -ENOENT)
		say_nearest(o, name, e);
	o->not = bwl_must(reallocarray(o->not, o->nnot + 1, sizeof(*o->not )));
	o->not [o->nnot++] = (struct not_revoked){ name, *e, r == -EAGAIN };
}

/* Every name is tried: one that is wrong must not keep the others open. */
static int close_map(struct order *o, int argc, char **argv)
{
	uint64_t start = clock_ns();
	int r = 0;

	if (o->all)
		r = bwl_revoke(o->pins, NULL, &o->c->err);
	for (int i = 0; i < argc; i++)
		bwl_revoke_at_once(o->pins, argv[i]);
	for (int i = 0; i < argc; i++) {
		struct bwl_err e = { 0 };
		int one = bwl_revoke_also(o->pins, argv[i], also, o, &e);

		if (!one || one == -EAGAIN)
			also(o, argv[i]);
		if (one)
			not_closed(o, argv[i], one, &e);
	}
	o->map_ns = clock_ns() - start;
	o->closed_all = o->all && !r;
	return r;
}

/* Documents signed earlier open none of it, whoever closed it first. */
static void closed_again(struct order *o)
{
	const char *dir = bwl_journal_dir(o->pins->ctl->drill);
	uint64_t now_s = (uint64_t)time(NULL);
	int r = o->closed_all ? bwl_journal_again(dir, BWL_J_CLOSE, NULL, now_s, &o->journal) : 0;

	for (size_t i = 0; !r && i < o->n; i++)
		r = bwl_journal_again(dir, BWL_J_CLOSE, o->name[i], now_s, &o->journal);
}

/* After the map and the kernel: a log on a slow disk delays nothing that closes. */
static void record(struct order *o)
{
	uint64_t start = clock_ns();

	if (!bwl_journal_closed(o->pins, &o->journal))
		closed_again(o);
	o->journal_ns = clock_ns() - start;
	if (o->closed_all)
		bwl_audit("revoke --all%s%s", *o->reason ? " reason " : "", o->reason);
	for (size_t i = 0; i < o->n; i++)
		bwl_audit("revoke %s%s%s", o->name[i], *o->reason ? " reason " : "", o->reason);
}

/* Peers whose SAs end: by id, for the kernel, and by name, for charon. */
struct ended {
	bool *id; /* [max] */
	const char **name;
	size_t n;
	uint32_t max; /* peers of the pins */
};

static bool is_ended(uint32_t peer, const void *arg)
{
	const struct ended *x = arg;

	return peer < x->max && x->id[peer];
}

/* Again after charon, for what it made in between. The second result counts. */
static void drop_kernel(struct order *o, const struct ended *x)
{
	struct bwl_xfrm_dropped d = { 0 };
	struct bwl_err e = { 0 };
	uint64_t start = clock_ns();

	o->kernel_why[0] = '\0';
	if (bwl_xfrm_drop(is_ended, x, &d, &e))
		snprintf(o->kernel_why, sizeof(o->kernel_why), "%.159s", e.text);
	o->kernel.sas += d.sas;
	o->kernel.policies += d.policies;
	o->kernel_ns += clock_ns() - start;
}

static void drop_charon(struct order *o, const struct ended *x)
{
	struct bwl_err e = { 0 };
	uint64_t start = clock_ns();
	int r = bwl_ipsec_drop_peers(o->vici, x->name, x->n, o->all, o->timeout_ns, &o->charon, &e);

	if (r)
		snprintf(o->charon_why, sizeof(o->charon_why), "%.200s%s", e.text,
			 o->charon.posted ? "; it will do so when it resumes" : "");
	o->charon_ns = clock_ns() - start;
}

/* Both generations: under a trial (--confirm) either may be the one that stays. */
static bool is_encrypted(const struct bwl_view *v, uint32_t id)
{
	const struct bwl_tunnel *t = &v[0].pins->tunnel[id];
	const struct bwl_peer *body;
	bool yes = t->flags || t->spi_out || t->spi_in;

	for (uint32_t slot = 0; !yes && slot < BWL_GENERATIONS; slot++) {
		body = v[slot].has_gen ? ctl_view_peer(&v[slot], id) : NULL;
		yes = body && body->meta.path != BWL_PATH_CLEAR;
	}
	return yes;
}

static bool is_revoked_here(const struct order *o, const char *name)
{
	size_t i;

	for (i = 0; i < o->n; i++)
		if (!strcmp(o->name[i], name))
			return true;
	return o->all;
}

/*
 * By the names in the maps, not by a policy: SAs may be left of a peer that is in no policy any
 * more.
 */
static void find_ended(struct order *o, struct ended *x)
{
	struct bwl_view v[BWL_GENERATIONS] = { 0 };
	uint32_t i;

	for (i = 0; i < BWL_GENERATIONS; i++) {
		v[i].pins = o->pins;
		v[i].has_gen = !bwl_gen_open(o->pins, i, &v[i].gen, NULL);
	}
	for (i = 1; i < x->max; i++) {
		const char *name = o->pins->name[i].name;

		if (!*name || !is_revoked_here(o, name))
			continue;
		x->id[i] = true;
		if (is_encrypted(v, i))
			x->name[x->n++] = name;
	}
	for (i = 0; i < BWL_GENERATIONS; i++)
		if (v[i].has_gen)
			bwl_gen_close(&v[i].gen);
}

static void end_sas(struct order *o)
{
	struct ended x = { .max = o->pins->schema.max_peers };

	x.id = calloc(x.max, sizeof(*x.id));
	x.name = calloc(x.max, sizeof(*x.name));
	if (!x.id || !x.name)
		abort();
	find_ended(o, &x);
	o->encrypted = x.n;
	if (o->encrypted) {
		drop_kernel(o, &x);
		record(o);
		drop_charon(o, &x);
		drop_kernel(o, &x);
	} else {
		record(o);
	}
	free(x.id);
	free(x.name);
}

static void add_step(json_t *steps, const char *name, uint64_t ns, const char *why)
{
	json_t *o = json_pack("{s:s, s:b}", "step", name, "done", !*why);

	json_object_set_new(o, "took_s", bwl_json_span(ns));
	json_object_set_new(o, "why", bwl_json_text(*why ? why : NULL));
	json_array_append_new(steps, o);
}

static bool closed_any(const struct order *o)
{
	return o->n || o->closed_all;
}

static void print_json(const struct order *o)
{
	json_t *doc = bwl_doc("revoke"), *steps = json_array(), *not = json_array();

	if (closed_any(o)) {
		add_step(steps, "map", o->map_ns, "");
		add_step(steps, "journal", o->journal_ns, o->journal.text);
	}
	for (size_t i = 0; i < o->nnot; i++)
		if (!o->not [i].closed)
			json_array_append_new(not, json_pack("{s:s, s:s}", "peer", o->not [i].name,
							     "why", o->not [i].why.text));
	json_object_set_new(doc, "why", bwl_json_text(*o->reason ? o->reason : NULL));
	json_object_set_new(doc, "not_revoked", not );
	if (o->encrypted) {
		add_step(steps, "kernel", o->kernel_ns, o->kernel_why);
		add_step(steps, "charon", o->charon_ns, o->charon_why);
	}
	json_object_set_new(doc, "all", json_boolean(o->all));
	json_object_set_new(doc, "peer_names", bwl_json_names(o->name, o->n));
	json_object_set_new(doc, "steps", steps);
	json_object_set_new(doc, "kernel_sa_count", json_integer(o->kernel.sas));
	json_object_set_new(doc, "kernel_policy_count", json_integer(o->kernel.policies));
	json_object_set_new(doc, "charon_sa_count", json_integer(o->charon.sas));
	json_object_set_new(doc, "connection_count", json_integer(o->charon.conns));
	bwl_doc_print(doc);
}

static void print_text(const struct order *o)
{
	if (o->all)
		puts("revoked: every grant");
	for (size_t i = 0; i < o->n; i++)
		bwl_put(stdout, "revoked: %s\n", o->name[i]);
	for (size_t i = 0; i < o->nnot; i++)
		bwl_put(stdout, "%s: %s%s\n", o->not [i].name,
			o->not [i].closed ? "" : "not revoked: ", o->not [i].why.text);
	if (!closed_any(o))
		return;
	bwl_put(stdout, "  %-8s %10.3f ms  closed\n", "map", (double)o->map_ns / 1e6);
	bwl_put(stdout, "  %-8s %10.3f ms  %s\n", "journal", (double)o->journal_ns / 1e6,
		o->journal.code ? o->journal.text : "over a reboot, too");
	if (!o->encrypted)
		return;
	bwl_put(stdout, "  %-8s %10.3f ms  %u SA%s and %u polic%s removed%s%s\n", "kernel",
		(double)o->kernel_ns / 1e6, o->kernel.sas, BWL_S(o->kernel.sas), o->kernel.policies,
		o->kernel.policies == 1 ? "y" : "ies", *o->kernel_why ? "; " : "", o->kernel_why);
	if (*o->charon_why)
		bwl_put(stdout, "  %-8s %10.3f ms  %s\n", "charon", (double)o->charon_ns / 1e6,
			o->charon_why);
	else
		bwl_put(stdout,
			"  %-8s %10.3f ms  %u connection%s unloaded, %u more SA%s ended, the other side told\n",
			"charon", (double)o->charon_ns / 1e6, o->charon.conns,
			BWL_S(o->charon.conns), o->charon.sas, BWL_S(o->charon.sas));
}

/* The exit code follows from each name. */
static int judge(struct order *o, int argc)
{
	struct bwl_err *e = &o->c->err;

	if (*o->kernel_why) /* charon alone makes nothing that passes a closed map */
		return bwl_fail(e, EIO, "the grant is revoked; its SAs are still in the kernel: %s",
				o->kernel_why);
	if (o->journal.code) {
		*e = o->journal;
		return -EIO;
	}
	if (!o->nnot)
		return 0;
	bwl_fail(e, o->not [0].why.code, "%s%s: %.400s", o->not [0].name,
		 o->not [0].closed ? "" : " is not revoked", o->not [0].why.text);
	if (o->nnot > 1)
		bwl_hint(e, "%zu of %d names are not revoked, or not wholly", o->nnot, argc);
	return -e->code;
}

int ctl_revoke(struct ctl *c, int argc, char **argv)
{
	struct order o = { .c = c, .timeout_ns = TIMEOUT_NS };
	const char *timeout = NULL;
	const struct ctl_opt opts[] = { { "--all", &o.all, NULL },
					{ "--vici", NULL, &o.vici },
					{ "--timeout", NULL, &timeout },
					{ NULL, NULL, NULL } };
	int r;

	ctl_reason(opts, 1, &argc, argv, o.reason);
	r = ctl_opts(c, &argc, argv, opts);
	if (r)
		return r;
	if (o.all ? argc != 0 : argc == 0)
		return ctl_usage(c,
				 o.all ? "give --all or names, not both" : "give a peer, or --all");
	if (timeout && bwl_parse_time(timeout, &o.timeout_ns, &c->err))
		return CTL_USAGE;
	r = bwl_pins_open_few(c->pin_dir, &o.pins, &c->err);
	if (r)
		return r;
	r = close_map(&o, argc, argv);
	if (!r && closed_any(&o)) {
		r = bwl_pins_whole(o.pins, &c->err);
		if (!r)
			end_sas(&o);
	} /* else it is closed; SAs and journal could not be checked */
	if (!r && (closed_any(&o) || argc > 1))
		(c->json ? print_json : print_text)(&o);
	if (!r)
		r = judge(&o, argc);
	free(o.name);
	free(o.not );
	bwl_pins_close(o.pins);
	return r;
}

const struct ctl_cmd ctl_revoke_cmds[] = {
	{ "revoke", NULL, "NAME… | --all [--vici SOCKET] [--timeout TIME] [reason TEXT…]",
	  "End grants and SAs at once; only `grant` lifts it",
	  "Closes the map first, with one write per name, or one for --all: from then on nothing passes.\n"
	  "Then removes the SAs and policies of encrypted peers from the kernel, and has charon\n"
	  "unload their connections, end their IKE SAs and tell the other side; a charon that hangs\n"
	  "or is dead is reported, and delays nothing. Prints how long each step took. A revocation\n"
	  "holds across every later policy. Each name has its line; one that is unknown keeps none of the\n"
	  "others open, and the exit code is then 1. The reason goes to the audit log.\n\n"
	  "  --vici SOCKET   charon's control socket (" BWL_VICI_SOCKET ")\n"
	  "  --timeout TIME  how long to wait for charon, in total (2s)\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl revoke log-collector\n"
	  "  bwlimit-ctl revoke --all reason theft, ticket 4711\n",
	  ctl_revoke },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
