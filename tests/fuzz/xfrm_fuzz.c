// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as messages of XFRM's netlink, one after the other, into the tracker. A message is
 * refused, or what is read from it is within bounds. Whatever came before, an entry is open only
 * with an SPI, and a flush of all SAs closes everything.
 */
#include <libmnl/libmnl.h>
#include <netinet/in.h>
#include "ipsec/track.h"
#include "fuzz.h"

#define PEERS 256

static void check_sa(const struct bwl_xfrm_sa *sa)
{
	must(memchr(sa->alg, '\0', sizeof(sa->alg)) != NULL, "the cipher's name ends");
	must(sa->src.family == sa->dst.family, "one family");
	must(sa->src.family == AF_INET || sa->src.family == AF_INET6, "a family");
	must(sa->dir <= BWL_XFRM_OUT && sa->offload < _BWL_OFFLOAD_MAX, "direction and offload");
	must(sa->keyed || !sa->encrypts, "what encrypts has a key");
	must(sa->overhead <= 40 + 8 + 8 + 16 + 15 + 2 + 64, "overhead");
}

static void check_policy(const struct bwl_xfrm_policy *p)
{
	must(p->sel_src.family == AF_INET || p->sel_src.family == AF_INET6, "a family");
	must(p->dir <= BWL_XFRM_FWD && p->offload < _BWL_OFFLOAD_MAX, "direction and offload");
}

static void check(const struct bwl_xfrm_msg *m)
{
	char buf[BWL_XFRM_ADDR_BUF];

	if (m->kind == BWL_XFRM_SA || m->kind == BWL_XFRM_SA_GONE) {
		check_sa(&m->sa);
		must(*bwl_xfrm_addr_text(&m->sa.dst, buf), "an address has a text");
	} else if (m->kind == BWL_XFRM_POLICY || m->kind == BWL_XFRM_POLICY_GONE) {
		check_policy(&m->policy);
		must(*bwl_xfrm_addr_text(&m->policy.tmpl.dst, buf), "so has any");
	} else {
		must(m->kind <= BWL_XFRM_UNCLEAR, "a kind");
	}
}

/* A copy of exactly that length, so that a sanitizer sees a read beyond the end. */
static void one(const struct nlmsghdr *h, struct bwl_track *t)
{
	struct nlmsghdr *exact = malloc(h->nlmsg_len);
	struct bwl_xfrm_msg m;
	struct bwl_err e = { 0 };
	int r;

	must(exact != NULL, "memory");
	memcpy(exact, h, h->nlmsg_len);
	r = bwl_xfrm_decode(exact, &m, &e);
	must(!r || (r == -EBADMSG && *e.text && m.kind == BWL_XFRM_OTHER), "refused, and said why");
	if (!r) {
		check(&m);
		must(!bwl_track_news(t, &m), "memory");
		bwl_track_settle(t, 1800000000);
	}
	free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct bwl_xfrm_msg flush = { .kind = BWL_XFRM_SA_FLUSH };
	const struct bwl_xfrm_addr remote = { .family = AF_INET, .a = { 192, 0, 2, 2 } };
	struct bwl_tunnel map[PEERS] = { 0 };
	struct bwl_track *t = NULL;
	struct nlmsghdr *copy = malloc(size + 1), *h = copy;
	int left = (int)size;

	must(copy && !bwl_track_new(PEERS, map, NULL, NULL, &t), "memory");
	memcpy(copy, data, size);
	for (unsigned id = 1; id < PEERS; id += 2)
		must(!bwl_track_peer(t, id, &remote, 4), "memory");
	/* mnl_nlmsg_ok() accepts lengths of 2^31 and more */
	for (; mnl_nlmsg_ok(h, left) && h->nlmsg_len <= (unsigned)left;
	     h = mnl_nlmsg_next(h, &left))
		one(h, t);
	for (unsigned id = 0; id < PEERS; id++)
		must(!(map[id].flags & BWL_TUN_SA) || (map[id].spi_out && id % 2),
		     "open: a peer with an SPI");
	bwl_track_news(t, &flush);
	bwl_track_settle(t, 1800000000);
	for (unsigned id = 0; id < PEERS; id++)
		must(!map[id].flags, "closed");
	bwl_track_free(t);
	free(copy);
	return 0;
}
