// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `revoke`: promise 9 in its order. The map first, one write: from there on nothing passes. Then
 * the kernel's SAs, asking nobody; then charon, which tells the other side and forgets how to come
 * back; then the kernel again, for what charon made in between.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "ctl.h"
#include "ipsec/conn.h"
#include "ipsec/revoke.h"
#include "ipsec/xfrm.h"

#define TIMEOUT_NS 2000000000ULL

struct order {
	struct ctl *c;
	struct bwl_pins *pins;
	bool all, closed_all;
	const char *vici;
	uint64_t timeout_ns;
	const char **name;	/* revoked in the map */
	size_t n;
	uint64_t map_ns;
	bool encrypted;		/* one of them has SAs */
	uint64_t kernel_ns;
	struct bwl_xfrm_dropped kernel;
	char kernel_why[160];	/* empty: done */
	struct bwl_ipsec_drop charon;
	uint64_t charon_ns;
	char charon_why[256];	/* empty: done */
};

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Every name is tried: one that is wrong must not keep the others open. */
static int close_map(struct order *o, int argc, char **argv)
{
	uint64_t start = clock_ns();
	int r = 0;

	if (o->all)
		r = bwl_revoke(o->pins, NULL, &o->c->err);
	for (int i = 0; i < argc; i++) {
		struct bwl_err e = { 0 };
		int one = bwl_revoke(o->pins, argv[i], &e);

		if (!one) {
			o->name[o->n++] = argv[i];
		} else if (!r) {
			o->c->err = e;
			r = one;
		}
	}
	o->map_ns = clock_ns() - start;
	o->closed_all = o->all && !r;
	return r;
}

/* After the map and the kernel: a log on a slow disk holds up nothing that closes. */
static void record(const struct order *o)
{
	if (o->closed_all)
		bwl_audit("revoke --all");
	for (size_t i = 0; i < o->n; i++)
		bwl_audit("revoke %s", o->name[i]);
}

static void drop_kernel(struct order *o, const uint32_t *id, size_t n)
{
	struct bwl_xfrm_dropped d;
	struct bwl_err e = { 0 };
	uint64_t start = clock_ns();
	int r = 0;

	o->kernel_why[0] = '\0';
	if (o->all) {
		r = bwl_xfrm_drop(1, o->pins->schema.max_peers - 1, &d, &e);
		o->kernel.sas += d.sas;
		o->kernel.policies += d.policies;
	}
	for (size_t i = 0; !r && i < n; i++) {
		r = bwl_xfrm_drop(id[i], id[i], &d, &e);
		o->kernel.sas += d.sas;
		o->kernel.policies += d.policies;
	}
	if (r)
		snprintf(o->kernel_why, sizeof(o->kernel_why), "%.159s", e.text);
	o->kernel_ns += clock_ns() - start;
}

static void drop_charon(struct order *o, const char *const *peer, size_t n)
{
	struct bwl_err e = { 0 };
	uint64_t start = clock_ns();
	int r = bwl_ipsec_drop_peers(o->vici, peer, o->all ? 0 : n, o->timeout_ns, &o->charon, &e);

	if (r)
		snprintf(o->charon_why, sizeof(o->charon_why), "%.200s%s", e.text, o->charon.posted
			 ? "; it will do it when it goes on" : "");
	o->charon_ns = clock_ns() - start;
}

/* Of the peers that were revoked in the map, those with SAs. */
static size_t encrypted_ones(struct order *o, const char **peer, uint32_t *id)
{
	struct ctl_view v = { .pins = o->pins, .now_ns = bwl_now_ns() };
	uint32_t slot = bwl_active_slot(o->pins, v.now_ns);
	const struct bwl_peer *body;
	size_t n = 0;

	if (bwl_gen_open(o->pins, slot, &v.gen, NULL))
		return 0;
	v.has_gen = true;
	for (uint32_t i = 1; o->all && !o->encrypted && i < o->pins->schema.max_peers; i++) {
		body = o->pins->name[i].name[0] ? ctl_view_peer(&v, i) : NULL;
		o->encrypted = body && body->meta.path != BWL_PATH_CLEAR;
	}
	for (size_t i = 0; i < o->n; i++) {
		uint32_t x = bwl_peer_id(o->pins, &v.gen, o->name[i]);

		body = x ? ctl_view_peer(&v, x) : NULL;
		if (!body || body->meta.path == BWL_PATH_CLEAR)
			continue;
		peer[n] = o->name[i];
		id[n++] = x;
	}
	o->encrypted |= n > 0;
	bwl_gen_close(&v.gen);
	return n;
}

static void end_sas(struct order *o)
{
	const char **peer = calloc(o->n + 1, sizeof(*peer));
	uint32_t *id = calloc(o->n + 1, sizeof(*id));
	size_t n;

	if (!peer || !id)
		abort();
	n = encrypted_ones(o, peer, id);
	if (o->encrypted) {
		drop_kernel(o, id, n);
		record(o);
		drop_charon(o, peer, n);
		drop_kernel(o, id, n);
	} else {
		record(o);
	}
	free(peer);
	free(id);
}

static json_t *step(const char *name, uint64_t ns, const char *why, json_t *more)
{
	json_t *o = json_pack("{s:s, s:b, s:f}", "step", name, "done", !*why, "ms", (double)ns / 1e6);

	if (*why)
		json_object_set_new(o, "why", json_string(why));
	json_object_update_new(o, more);
	return o;
}

static void print_json(const struct order *o)
{
	json_t *names = json_array(), *steps = json_array();

	for (size_t i = 0; i < o->n; i++)
		json_array_append_new(names, json_string(o->name[i]));
	json_array_append_new(steps, step("map", o->map_ns, "", json_object()));
	if (o->encrypted) {
		json_array_append_new(steps, step("kernel", o->kernel_ns, o->kernel_why,
			json_pack("{s:i, s:i}", "sas", (int)o->kernel.sas, "policies",
				  (int)o->kernel.policies)));
		json_array_append_new(steps, step("charon", o->charon_ns, o->charon_why,
			json_pack("{s:i, s:i}", "connections", (int)o->charon.conns, "sas",
				  (int)o->charon.sas)));
	}
	ctl_json_print(json_pack("{s:o, s:o}", "revoked", o->all ? (json_decref(names), json_string("all"))
							       : names, "steps", steps));
}

static void print_text(const struct order *o)
{
	printf("revoked: %s\n", o->all ? "every grant" : o->n == 1 ? o->name[0] : "all named");
	printf("  %-8s %10.3f ms  closed\n", "map", (double)o->map_ns / 1e6);
	if (!o->encrypted)
		return;
	printf("  %-8s %10.3f ms  %u SAs and %u policies removed%s%s\n", "kernel",
	       (double)o->kernel_ns / 1e6, o->kernel.sas, o->kernel.policies,
	       *o->kernel_why ? "; " : "", o->kernel_why);
	if (*o->charon_why)
		printf("  %-8s %10.3f ms  %s\n", "charon", (double)o->charon_ns / 1e6, o->charon_why);
	else
		printf("  %-8s %10.3f ms  %u connections unloaded, %u more SAs ended, the other side told\n",
		       "charon", (double)o->charon_ns / 1e6, o->charon.conns, o->charon.sas);
}

static int revoke(struct ctl *c, int argc, char **argv)
{
	struct order o = { .c = c, .timeout_ns = TIMEOUT_NS };
	const char *timeout = NULL;
	const struct ctl_opt opts[] = { { "--all", &o.all, NULL }, { "--vici", NULL, &o.vici },
					{ "--timeout", NULL, &timeout }, { NULL, NULL, NULL } };
	int r;

	r = ctl_opts(c, &argc, argv, opts);
	if (r)
		return r;
	if (o.all ? argc != 0 : argc == 0)
		return ctl_usage(c, o.all ? "say --all or names, not both" : "say which peer, or --all");
	if (timeout && bwl_parse_time(timeout, &o.timeout_ns, &c->err))
		return CTL_USAGE;
	r = bwl_pins_open(c->pin_dir, true, &o.pins, &c->err);
	if (r)
		return r;
	o.name = calloc((size_t)argc + 1, sizeof(*o.name));
	if (!o.name)
		abort();
	r = close_map(&o, argc, argv);
	if (o.n || (o.all && !r))
		end_sas(&o);
	if (!r && c->json)
		print_json(&o);
	else if (!r)
		print_text(&o);
	free(o.name);
	bwl_pins_close(o.pins);
	return r;
}

const struct ctl_cmd ctl_revoke_cmds[] = {
	{ "revoke", NULL, "NAME… | --all [--vici SOCKET] [--timeout TIME]",
	  "End grants at once, and SAs; only `grant` lifts it",
	  "Closes the map first, one write a name, or one for --all: from there on nothing passes.\n"
	  "Then removes the SAs and policies of encrypted peers from the kernel, and has charon\n"
	  "unload their connections, end their IKE SAs and tell the other side; a charon that hangs\n"
	  "or is dead is said, and holds up nothing. Says how long each step took. Holds across every\n"
	  "later policy.\n\n"
	  "  --vici SOCKET   charon's control socket (" BWL_VICI_SOCKET ")\n"
	  "  --timeout TIME  for charon, all in all (2s)\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl revoke log-collector\n"
	  "  bwlimit-ctl revoke --all\n", revoke },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
