// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `lease sign`: signs the lease of a signed policy by hand. A controller does that by itself; this
 * is for when none is left, and somebody has its key. It is no wider than what people signed: a
 * lease longer than the policy's lease_most is refused here, as trays refuse it.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <bwl/encode.h>
#include "signed.h"
#include "signed/payload.h"

#define SECOND 1000000000ULL

struct lease_terms {
	const char *key, *out, *life, *number;
	uint64_t number_n, life_ns;
};

static int take_terms(struct ctl *c, struct lease_terms *t, int argc)
{
	if (argc != 1 || !t->key || !t->life)
		return ctl_usage(
			c,
			"give the file of the signed policy, --for, and --key, the key that signs");
	if (bwl_parse_time(t->life, &t->life_ns, &c->err) ||
	    (t->number && ctl_number(c, "--number", t->number, INT64_MAX, &t->number_n)))
		return CTL_USAGE;
	if (t->life_ns < SECOND)
		return ctl_usage(c, "--for %.32s: 1s to the policy's lease_most", t->life);
	return 0;
}

static int within(struct ctl *c, const char *file, const struct bwl_signed *d, uint64_t life_ns)
{
	uint64_t most_ns = bwl_payload_span(d->body, "lease_most", 0);
	char most[BWL_UNIT_BUF];

	if (d->type != BWL_SIGNED_POLICY)
		return bwl_fail(&c->err, EINVAL, "%s is of type %s: a lease needs a signed policy",
				file, bwl_signed_word(d->type));
	if (life_ns <= most_ns)
		return 0;
	if (!most_ns)
		bwl_fail(&c->err, ERANGE, "the policy %s allows no lease: it has no lease_most",
			 d->terms.name);
	else
		bwl_fail(&c->err, ERANGE, "the policy %s allows leases of %s at most",
			 d->terms.name, bwl_human_time((double)most_ns / 1e9, most));
	c->err.id = "signed-bounds";
	return bwl_hint(&c->err, "policy sign --lease-most, by as many people as a widening needs");
}

static int make(struct ctl *c, const struct lease_terms *t, const struct bwl_signed *d,
		struct bwl_envelope *ret)
{
	char hex[65], from[BWL_TIME_BUF], to[BWL_TIME_BUF];
	int64_t now_s = time(NULL);
	struct bwl_signed_terms parsed;
	json_t *o;
	int r;

	/* Versions as controllers give them, so that theirs are higher again a moment later. */
	o = json_pack("{s:s, s:s, s:s, s:I, s:I, s:s, s:s}", "policy",
		      bwl_hex_encode(d->digest, 32, hex), "for", t->life, "name", d->terms.name,
		      "epoch", (json_int_t)d->terms.epoch, "version",
		      (json_int_t)(t->number ? t->number_n : (uint64_t)now_s * 2 + 1), "issued_at",
		      bwl_utc(now_s, -1, from), "not_after",
		      bwl_utc(now_s + (int64_t)(t->life_ns / SECOND), -1, to));
	r = bwl_payload_check(BWL_SIGNED_LEASE, bwl_must(o), &parsed, &c->err);
	if (!r)
		r = bwl_envelope_new(BWL_SIGNED_LEASE, d->fleet, d->audience, o, ret, &c->err);
	json_decref(o);
	return r;
}

int ctl_lease_sign(struct ctl *c, int argc, char **argv)
{
	struct lease_terms t = { 0 };
	const struct ctl_opt opts[] = {
		{ "--key", NULL, &t.key },  { "--out", NULL, &t.out },
		{ "--for", NULL, &t.life }, { "--number", NULL, &t.number },
		{ NULL, NULL, NULL },
	};
	BWL_AUTO(bwl_key_free) struct bwl_key *k = NULL;
	BWL_AUTO_FREE char *bytes = NULL, *text = NULL;
	struct bwl_envelope v = { 0 };
	struct bwl_signed d;
	char out[4096];
	size_t len;
	int r = ctl_opts(c, &argc, argv, opts);

	if (!r)
		r = take_terms(c, &t, argc);
	if (!r)
		r = ctl_signed_read(c, argv[0], &bytes, &len);
	if (!r)
		r = bwl_signed_peek(bytes, len, &d, &c->err);
	if (r)
		return r;
	snprintf(out, sizeof(out), "%s.lease", argv[0]);
	r = within(c, argv[0], &d, t.life_ns);
	if (!r)
		r = bwl_key_read(t.key, &k, &c->err);
	if (!r)
		r = make(c, &t, &d, &v);
	bwl_signed_free(&d);
	if (!r)
		r = bwl_envelope_sign(&v, k, &c->err);
	if (!r)
		r = ctl_signed_write(c, t.out ? t.out : out, &v);
	if (!r) {
		text = bwl_envelope_text(&v, &len);
		r = ctl_signed_show(c, t.out ? t.out : out, text, len, NULL, -1, false);
	}
	bwl_envelope_free(&v);
	return r;
}
