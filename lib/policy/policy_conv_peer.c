/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One peer of a policy file. */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include "policy_key.h"
#include "bwl/until.h"

static int take_grant(struct bwl_conv *c, const struct bwl_text_limit *t, struct bwl_pol_peer *x)
{
	unsigned back = bwl_conv_down(c, "grant");
	unsigned long v;
	int r = bwl_conv_limit(c, t, &x->grant);

	if (r)
		return r;
	if (t->mode) {
		bwl_conv_down(c, "mode");
		r = bwl_mode_parse(t->mode, &x->mode, c->e);
		if (r)
			return r;
		c->w.n--;
	}
	if (t->mark) {
		size_t n = strlen(t->mark);

		bwl_conv_down(c, "mark");
		if (x->mode != BWL_MODE_MARK)
			return bwl_fail(c->e, EINVAL, "mark belongs to `mode: mark`");
		if (n && t->mark[n - 1] == '%')
			t->mark[n - 1] = '\0';
		r = bwl_conv_number(c, t->mark, 1, 100, &v);
		if (r) {
			bwl_hint(c->e, "per cent of the burst from which packets get ECN CE");
			return r;
		}
		x->mark_pct = v;
		c->w.n--;
	}
	if (t->until) {
		bool past;

		c->p->until_line = x->line ? x->line : 1;
		bwl_conv_down(c, "until");
		r = bwl_until_parse(t->until, c->now_boot_ns, c->now_wall_s, &x->expiry_ns, &past,
				    c->e);
		if (r)
			return r;
		if (past)
			bwl_policy_warn(c->p, c->file, x->line,
					"peer %s: the grant ended at %s, in the past", x->name,
					t->until);
		c->w.n--;
	}
	c->w.n = back;
	return 0;
}

static int take_via(struct bwl_conv *c, const struct bwl_text_peer *t, struct bwl_pol_peer *x)
{
	unsigned back = c->w.n;

	if (t->via) {
		bwl_conv_down(c, "via");
		if (inet_pton(AF_INET, t->via, x->via4) == 1)
			x->has_via4 = true;
		else if (inet_pton(AF_INET6, t->via, x->via6) == 1)
			x->has_via6 = true;
		else
			return bwl_fail(c->e, EINVAL, "'%.64s' is not an IPv4 or IPv6 address",
					t->via);
	}
	c->w.n = back;
	if (t->via6) {
		bwl_conv_down(c, "via6");
		if (x->has_via6)
			return bwl_fail(c->e, EINVAL,
					"via6 repeats via, which is an IPv6 address: remove one");
		if (inet_pton(AF_INET6, t->via6, x->via6) != 1)
			return bwl_fail(c->e, EINVAL, "'%.64s' is not an IPv6 address", t->via6);
		x->has_via6 = true;
	}
	c->w.n = back;
	return 0;
}

static int take_path(struct bwl_conv *c, const struct bwl_text_peer *t, struct bwl_pol_peer *x)
{
	unsigned back = c->w.n;

	if (t->ipsec) {
		int r;

		bwl_conv_down(c, "ipsec");
		if (!t->ipsec->remote)
			return bwl_conv_missing(c, "remote", "the address of the peer's DPU");
		r = bwl_conv_name(c, "remote", t->ipsec->remote, x->ipsec_remote,
				  sizeof(x->ipsec_remote));
		if (!r)
			r = bwl_conv_peer_ipsec(c, t->ipsec, x);
		if (r)
			return r;
		c->w.n = back;
	}
	if (!t->path) {
		if (!t->ipsec && strcmp(x->name, "self"))
			return bwl_conv_missing(
				c, "path",
				"give ipsec: { remote: ADDRESS }, or explicitly `path: clear`");
		x->path = t->ipsec ? BWL_PATH_XFRM : BWL_PATH_CLEAR;
		return 0;
	}
	for (unsigned i = 0; i < _BWL_PATH_MAX; i++) {
		if (!strcmp(t->path, bwl_path_name(i))) {
			x->path = i;
			return 0;
		}
	}
	bwl_conv_down(c, "path");
	return bwl_fail(c->e, EINVAL, "'%.64s' is not a path: xfrm, offload or clear", t->path);
}

static int take_from(struct bwl_conv *c, const struct bwl_text_peer *t, struct bwl_pol_peer *x)
{
	unsigned back = bwl_conv_down(c, "from");

	if (t->from_count > BWL_MAX_PORTS)
		return bwl_fail(c->e, E2BIG, "at most %d host ports", BWL_MAX_PORTS);
	for (unsigned i = 0; i < t->from_count; i++) {
		bwl_place_index(&c->w, i);
		if (strlen(t->from[i]) >= sizeof(x->from[0]))
			return bwl_fail(c->e, EINVAL,
					"'%.64s' is not a valid device name: at most 15 characters",
					t->from[i]);
		strcpy(x->from[x->nfrom++], t->from[i]);
		c->w.n--;
	}
	c->w.n = back;
	return 0;
}

static int take_accept(struct bwl_conv *c, const struct bwl_text_peer *t, struct bwl_pol_peer *x)
{
	bwl_conv_down(c, "accept");
	if (t->accept && !x->accept_none && !t->accept->rate && !t->accept->volume)
		return bwl_fail(c->e, EINVAL, "rate is missing: give one, or `accept: none`");
	return x->accept_none ? 0 : bwl_conv_limit(c, t->accept, &x->accept);
}

static int take_floor(struct bwl_conv *c, const struct bwl_text_limit *t, struct bwl_lim *ret)
{
	bwl_conv_down(c, "floor");
	return bwl_conv_limit(c, t, ret);
}

static int take_limits(struct bwl_conv *c, const struct bwl_text_peer *t, struct bwl_pol_peer *x)
{
	unsigned back = c->w.n;
	int r;

	if ((r = bwl_conv_next(c, t->grant ? take_grant(c, t->grant, x) : 0, back)) ||
	    (r = bwl_conv_next(c, take_accept(c, t, x), back)) ||
	    (r = bwl_conv_next(c, take_floor(c, t->floor, &x->floor), back)))
		return r;
	for (unsigned i = 0; t->classes && i < _BWL_CLASS_MAX; i++) {
		bwl_conv_down(c, "classes");
		bwl_conv_down(c, bwl_class_name(i));
		r = bwl_conv_limit(c, t->classes->limit[i], &x->class_[i]);
		if ((r = bwl_conv_next(c, r, back)))
			return r;
	}
	for (size_t i = 0; t->ports && i < c->scan->nports; i++) {
		if (!t->ports->limit[i])
			continue;
		bwl_conv_down(c, "ports");
		bwl_conv_down(c, c->scan->ports[i]);
		r = bwl_conv_limit(c, t->ports->limit[i],
				   &bwl_policy_add_tenant(x, c->scan->ports[i])->limit);
		if ((r = bwl_conv_next(c, r, back)))
			return r;
	}
	return 0;
}

int bwl_conv_peer(struct bwl_conv *c, const struct bwl_text_peer *t, struct bwl_pol_peer *x)
{
	unsigned back = c->w.n;
	int r;

	if (!t->name)
		return bwl_conv_missing(c, "name", "every peer needs one");
	r = bwl_conv_name(c, "name", t->name, x->name, sizeof(x->name));
	if ((r = bwl_conv_next(c, r, back)))
		return r;
	r = bwl_conv_prefixes(c, "addresses", t->addresses, t->addresses_count, &x->addresses,
			      &x->naddresses);
	if ((r = bwl_conv_next(c, r, back)) ||
	    (r = bwl_conv_next(c, bwl_conv_keys(c, bwl_peer_keys, t, x), back)) ||
	    (r = bwl_conv_next(c, take_path(c, t, x), back)) ||
	    (r = bwl_conv_next(c, take_via(c, t, x), back)) ||
	    (r = bwl_conv_next(c, take_from(c, t, x), back)))
		return r;
	return take_limits(c, t, x);
}
