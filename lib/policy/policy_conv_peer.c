// SPDX-License-Identifier: GPL-2.0-or-later
/* One peer of a policy file. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include "policy_key.h"
#include "bwl/until.h"

static int take_mark(struct bwl_conv *c, char *s, uint8_t *ret)
{
	size_t n = strlen(s);
	unsigned long v;

	if (n && s[n - 1] == '%')
		s[n - 1] = '\0';
	if (bwl_conv_number(c, s, 1, 100, &v))
		return bwl_hint(c->e, "per cent of the burst from which packets get ECN CE");
	*ret = v;
	return 0;
}

static void take_until(struct bwl_conv *c, const char *s, struct bwl_pol_peer *x)
{
	unsigned back = bwl_conv_down(c, "until");
	bool past;

	c->p->until_line = x->line ? x->line : 1;
	if (bwl_conv_ok(c,
			bwl_until_parse(s, c->now_boot_ns, c->now_wall_s, &x->expiry_ns, &past,
					c->e),
			back) &&
	    past)
		bwl_policy_warn(c->p, c->file, x->line,
				"peer %s: the grant ended at %s, in the past", x->name, s);
}

static void take_grant(struct bwl_conv *c, const struct bwl_text_limit *t, struct bwl_pol_peer *x)
{
	unsigned back = bwl_conv_down(c, "grant"), in = c->w.n;
	int r;

	bwl_conv_limit(c, t, &x->grant);
	if (t->mode) {
		bwl_conv_down(c, "mode");
		bwl_conv_ok(c, bwl_mode_parse(t->mode, &x->mode, c->e), in);
	}
	if (t->mark) {
		bool sure = bwl_sure_of(c->rep, &c->w, "mode");

		bwl_conv_down(c, "mark");
		r = take_mark(c, t->mark, &x->mark_pct);
		if (x->mode != BWL_MODE_MARK)
			r = sure ? bwl_fail(c->e, EINVAL, "mark belongs to `mode: mark`") : r;
		bwl_conv_ok(c, r, in);
	}
	if (t->until)
		take_until(c, t->until, x);
	c->w.n = back;
}

static int take_via(struct bwl_conv *c, const char *s, struct bwl_pol_peer *x)
{
	x->has_via4 = inet_pton(AF_INET, s, x->via4) == 1;
	x->has_via6 = !x->has_via4 && inet_pton(AF_INET6, s, x->via6) == 1;
	return x->has_via4 || x->has_via6
		       ? 0
		       : bwl_fail(c->e, EINVAL, "'%.64s' is not an IPv4 or IPv6 address", s);
}

static int take_via6(struct bwl_conv *c, const char *s, bool sure, struct bwl_pol_peer *x)
{
	if (x->has_via6)
		return sure ? bwl_fail(c->e, EINVAL,
				       "via6 repeats via, which is an IPv6 address: remove one")
			    : 0;
	x->has_via6 = inet_pton(AF_INET6, s, x->via6) == 1;
	return x->has_via6 ? 0 : bwl_fail(c->e, EINVAL, "'%.64s' is not an IPv6 address", s);
}

static void take_vias(struct bwl_conv *c, const struct bwl_text_peer *t, struct bwl_pol_peer *x)
{
	unsigned back = c->w.n;

	if (t->via) {
		bwl_conv_down(c, "via");
		bwl_conv_ok(c, take_via(c, t->via, x), back);
	}
	if (t->via6) {
		bool sure = bwl_sure_of(c->rep, &c->w, "via");

		bwl_conv_down(c, "via6");
		bwl_conv_ok(c, take_via6(c, t->via6, sure, x), back);
	}
}

static int take_path_word(struct bwl_conv *c, const char *s, uint8_t *ret)
{
	for (unsigned i = 0; i < _BWL_PATH_MAX; i++) {
		if (!strcmp(s, bwl_path_name(i))) {
			*ret = i;
			return 0;
		}
	}
	return bwl_fail(c->e, EINVAL, "'%.64s' is not a path: xfrm, offload or clear", s);
}

static void take_path(struct bwl_conv *c, const struct bwl_text_peer *t, struct bwl_pol_peer *x)
{
	unsigned back = c->w.n;

	if (t->ipsec) {
		bwl_conv_down(c, "ipsec");
		bwl_conv_name(c, "remote", t->ipsec->remote, "the address of the peer's DPU",
			      x->ipsec_remote, sizeof(x->ipsec_remote));
		bwl_conv_peer_ipsec(t->ipsec, x);
		c->w.n = back;
	}
	x->path = t->ipsec ? BWL_PATH_XFRM : BWL_PATH_CLEAR;
	if (t->path) {
		bwl_conv_down(c, "path");
		bwl_conv_ok(c, take_path_word(c, t->path, &x->path), back);
	} else if (!t->ipsec && strcmp(x->name, "self") && bwl_sure_of(c->rep, &c->w, "name") &&
		   bwl_check_name(x->name, sizeof(x->name) - 1)) { /* or it may be `self` */
		bwl_conv_missing(c, "path",
				 "give ipsec: { remote: ADDRESS }, or explicitly `path: clear`");
	}
}

static void take_from(struct bwl_conv *c, const struct bwl_text_peer *t, struct bwl_pol_peer *x)
{
	unsigned back = bwl_conv_down(c, "from"), in = c->w.n;

	if (t->from_count > BWL_MAX_PORTS) {
		bwl_conv_ok(c, bwl_fail(c->e, E2BIG, "at most %d host ports", BWL_MAX_PORTS), back);
		return;
	}
	for (unsigned i = 0; i < t->from_count; i++) {
		char *to = x->from[x->nfrom++];
		int r = 0;

		bwl_place_index(&c->w, i);
		if (strlen(t->from[i]) < sizeof(x->from[0]))
			strcpy(to, t->from[i]);
		else
			r = bwl_fail(c->e, EINVAL,
				     "'%.64s' is not a valid device name: at most 15 characters",
				     t->from[i]);
		bwl_conv_ok(c, r, in);
	}
	c->w.n = back;
}

static void take_accept(struct bwl_conv *c, const struct bwl_text_limit *t, struct bwl_pol_peer *x)
{
	int r = 0;

	if (x->accept_none || !t)
		return;
	if (!t->rate && !t->volume && bwl_sure_of(c->rep, &c->w, "accept"))
		r = bwl_fail(c->e, EINVAL, "rate is missing: give one, or `accept: none`");
	bwl_conv_down(c, "accept");
	if (bwl_conv_ok(c, r, c->w.n))
		bwl_conv_limit(c, t, &x->accept);
}

static void take_limits(struct bwl_conv *c, const struct bwl_text_peer *t, struct bwl_pol_peer *x)
{
	unsigned back = c->w.n;

	if (t->grant)
		take_grant(c, t->grant, x);
	take_accept(c, t->accept, x);
	c->w.n = back;
	bwl_conv_down(c, "floor");
	bwl_conv_limit(c, t->floor, &x->floor);
	for (unsigned i = 0; t->classes && i < _BWL_CLASS_MAX; i++) {
		c->w.n = back;
		bwl_conv_down(c, "classes");
		bwl_conv_down(c, bwl_class_name(i));
		bwl_conv_limit(c, t->classes->limit[i], &x->class_[i]);
	}
	for (size_t i = 0; t->ports && i < c->scan->nports; i++) {
		if (!t->ports->limit[i])
			continue;
		c->w.n = back;
		bwl_conv_down(c, "ports");
		bwl_conv_down(c, c->scan->ports[i]);
		bwl_conv_limit(c, t->ports->limit[i],
			       &bwl_policy_add_tenant(x, c->scan->ports[i])->limit);
	}
	c->w.n = back;
}

void bwl_conv_peer(struct bwl_conv *c, const struct bwl_text_peer *t, struct bwl_pol_peer *x)
{
	bwl_conv_name(c, "name", t->name, "every peer needs one", x->name, sizeof(x->name));
	bwl_conv_prefixes(c, "addresses", t->addresses, t->addresses_count, &x->addresses,
			  &x->naddresses);
	bwl_conv_keys(c, bwl_peer_keys, t, x);
	take_path(c, t, x);
	take_vias(c, t, x);
	take_from(c, t, x);
	take_limits(c, t, x);
}
