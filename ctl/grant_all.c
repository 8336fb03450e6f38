// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `grant --all`: reverses `revoke --all`. Each revoked peer gets what the policy in force gives it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "grant.h"
#include "journal/journal.h"
#include "progress.h"

#define NAMED 20 /* peers shown in the question */

int ctl_grant_no_policy(struct ctl *c)
{
	bwl_fail(&c->err, ENOENT, "no policy has been applied: there is no peer to grant to");
	return bwl_hint(&c->err, "bwlimit-ctl policy apply FILE");
}

/* Revoked peers with a grant that has not expired. */
struct revoked {
	const char **name;
	uint64_t *for_ns; /* 0: it never expires */
	size_t n, expired;
};

static int find_revoked(struct ctl *c, struct bwl_pins *p, struct revoked *ret)
{
	uint64_t now = bwl_now_ns();
	struct bwl_view v = { .pins = p, .now_ns = now };
	uint32_t slot = bwl_active_slot(p), max = p->schema.max_peers;
	int r;

	if (slot == BWL_NO_SLOT)
		return ctl_grant_no_policy(c);
	r = bwl_gen_open(p, slot, &v.gen, &c->err);
	if (r)
		return r;
	ret->name = bwl_must(calloc(max, sizeof(*ret->name)));
	ret->for_ns = bwl_must(calloc(max, sizeof(*ret->for_ns)));
	for (uint32_t id = 1; id < max; id++) {
		const struct bwl_peer *body = ctl_view_peer(&v, id);
		uint64_t end;

		if (!body || !(body->meta.flags & BWL_PEER_GRANT) || !bwl_is_revoked(p, &v.gen, id))
			continue;
		end = body->meta.expiry_ns;
		if (end <= now) {
			ret->expired++;
			continue;
		}
		ret->for_ns[ret->n] = end == BWL_NEVER_NS ? 0 : end - now;
		ret->name[ret->n++] = p->name[id].name;
	}
	bwl_gen_close(&v.gen);
	return 0;
}

static bool agreed(const struct revoked *x)
{
	char answer[16] = "";

	if (!isatty(STDIN_FILENO))
		return true;
	fprintf(stderr, "%zu revoked peer%s may send again:\n", x->n, BWL_S(x->n));
	for (size_t i = 0; i < x->n && i < NAMED; i++)
		fprintf(stderr, "  %s\n", x->name[i]);
	if (x->n > NAMED)
		fprintf(stderr, "  and %zu more\n", x->n - NAMED);
	fputs("grant? [y/N] ", stderr);
	return fgets(answer, sizeof(answer), stdin) && (*answer == 'y' || *answer == 'Y');
}

/* One after the other: the journal records each before it is opened. */
static int give_back(struct ctl *c, struct bwl_pins *p, const struct revoked *x)
{
	const struct bwl_change ch = { .set = BWL_SET_AUTHORISE };
	struct ctl_progress *progress = ctl_progress_start("granting %zu peer%s", x->n,
							   BWL_S(x->n));
	size_t done = 0;
	int r = 0;

	for (; done < x->n; done++) {
		const struct bwl_journal_limits none = { 0 };

		r = bwl_journal_grant(p, x->name[done], none, x->for_ns[done], &c->err);
		if (!r)
			r = bwl_peer_change(p, x->name[done], &ch, &c->err);
		if (r)
			break;
	}
	ctl_progress_end(progress);
	if (!r)
		return 0;
	bwl_journal_note(p, NULL); /* what is closed in the maps is closed in the journal again */
	bwl_warn("%zu of %zu peers may send again; the others are still revoked", done, x->n);
	return r;
}

static void print(const struct ctl *c, const struct revoked *x, const char *why)
{
	if (c->json) {
		json_t *o = bwl_doc("grant-all");

		json_object_set_new(o, "peer_names", bwl_json_names(x->name, x->n));
		json_object_set_new(o, "why", json_string(why));
		json_object_set_new(o, "kept_revoked_count", bwl_json_u64(x->expired));
		bwl_doc_print(o);
		return;
	}
	if (!x->n)
		puts("no peer to grant: none is revoked whose grant has not expired");
	else
		bwl_put(stdout,
			"granted: %zu peer%s, within the limits of the policy in force (bwlimit-ctl grant list)\n",
			x->n, BWL_S(x->n));
	if (x->expired)
		printf("  still revoked, because the grant has expired: %zu\n", x->expired);
}

int ctl_grant_all(struct ctl *c, int argc, char **argv)
{
	struct revoked x = { 0 };
	struct ctl_words w = { 0 };
	struct bwl_pins *pins;
	bool all = false, yes = false;
	const struct ctl_opt opts[] = { { "--all", &all, NULL },
					{ "--yes", &yes, NULL },
					{ NULL, NULL, NULL } };
	int r = ctl_opts(c, &argc, argv, opts);

	if (!r)
		r = ctl_words(c, argc, argv, CTL_W_REASON, &w);
	if (r)
		return r;
	if (!(w.seen & CTL_W_REASON))
		return ctl_usage(
			c, "the reason is missing: end with 'reason TEXT', for the audit log");
	r = bwl_pins_open(c->pin_dir, true, &pins, &c->err);
	if (r)
		return r;
	r = bwl_pins_lock(pins, &c->err);
	if (!r && bwl_only_tightens(pins))
		r = bwl_gate_refuse(&c->err, "grant --all would open what is revoked");
	if (!r)
		r = find_revoked(c, pins, &x);
	if (!r && x.n && !yes && !agreed(&x)) {
		bwl_info("nothing was changed");
		goto out;
	}
	if (!r && x.n)
		r = bwl_audit_intent(&c->err, "grant --all: %zu peer%s, reason %s", x.n, BWL_S(x.n),
				     w.reason);
	if (!r)
		r = give_back(c, pins, &x);
	if (!r && x.n)
		bwl_audit("grant --all: %zu peer%s, reason %s", x.n, BWL_S(x.n), w.reason);
	if (!r)
		print(c, &x, w.reason);
out:
	free(x.name);
	free(x.for_ns);
	bwl_pins_close(pins);
	return r;
}
