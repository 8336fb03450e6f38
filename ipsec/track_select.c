// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which SA the kernel would use for a peer, and whether it may. The kernel uses an SA that has the
 * template's addresses, protocol, mode and reqid (and SPI, if the template has one); if nothing
 * fits the packets are lost. What is judged here would not be lost, but would be wrong.
 */
#include <linux/xfrm.h>
#include <netinet/in.h>
#include <string.h>
#include "track.h"

static const struct {
	const char *name, *text;
} whys[] = {
#define X(e, name, text) { name, text },
	BWL_TRACK_WHYS(X)
#undef X
};

const char *bwl_track_why_name(unsigned why)
{
	return why < _BWL_TRACK_WHY_MAX ? whys[why].name : "?";
}

const char *bwl_track_why_text(unsigned why)
{
	return why < _BWL_TRACK_WHY_MAX ? whys[why].text : "";
}

struct judge {
	const struct bwl_track_found *found;
	const struct bwl_xfrm_addr *remote;
	uint64_t now_s;
	struct bwl_track_verdict *ret;
	uint64_t newest_s; /* of the outbound SAs that would be used */
	bool any;
};

static void say(struct judge *j, enum bwl_track_why why, const struct bwl_xfrm_addr *other)
{
	if (why >= j->ret->why)
		return;
	j->ret->why = (uint8_t)why;
	if (other)
		j->ret->other = *other;
}

static bool is_inbound(const struct judge *j, const struct bwl_xfrm_sa *sa)
{
	if (sa->dir != BWL_XFRM_DIR_UNKNOWN)
		return sa->dir == BWL_XFRM_IN;
	return bwl_xfrm_addr_is(&sa->src, j->remote);
}

/* Tunnel ESP that encrypts and authenticates, and is not expired. Otherwise says why not. */
static enum bwl_track_why quality(const struct judge *j, const struct bwl_xfrm_sa *sa)
{
	if (!sa->keyed || !bwl_xfrm_sa_alive(sa, j->now_s))
		return BWL_TRACK_NO_SA;
	if (sa->proto != IPPROTO_ESP || sa->mode != XFRM_MODE_TUNNEL)
		return BWL_TRACK_NOT_TUNNEL;
	return sa->encrypts && sa->authenticates ? BWL_TRACK_USABLE : BWL_TRACK_NOT_ENCRYPTED;
}

static bool fits(const struct bwl_xfrm_policy *p, const struct bwl_xfrm_sa *sa)
{
	return bwl_xfrm_addr_is(&p->tmpl.src, &sa->src) &&
	       bwl_xfrm_addr_is(&p->tmpl.dst, &sa->dst) && p->tmpl.proto == sa->proto &&
	       p->tmpl.mode == sa->mode && p->tmpl.reqid == sa->reqid &&
	       (!p->tmpl.spi || p->tmpl.spi == sa->spi);
}

static void take(struct judge *j, const struct bwl_xfrm_policy *p, const struct bwl_xfrm_sa *sa)
{
	struct bwl_track_verdict *v = j->ret;
	bool packet = sa->offload == BWL_OFFLOAD_PACKET;

	if (p->offload == BWL_OFFLOAD_PACKET &&
	    (!packet || sa->offload_ifindex != p->offload_ifindex))
		return; /* the kernel only uses one in the policy's device */
	if (packet && p->offload != BWL_OFFLOAD_PACKET) {
		/* the device would get cleartext, and has no rule to encrypt it */
		say(j, BWL_TRACK_HALF_OFFLOAD, NULL);
		return;
	}
	/*
	 * If there are several (during a rekey) the newest is shown; the other properties must hold
	 * for each.
	 */
	if (!j->any || sa->life.add_s >= j->newest_s) {
		v->spi_out = sa->spi;
		j->newest_s = sa->life.add_s;
	}
	if (!j->any || sa->offload < v->offload)
		v->offload = sa->offload;
	if (!j->any)
		v->ifindex = packet ? sa->offload_ifindex : 0;
	else if (v->ifindex != sa->offload_ifindex)
		v->ifindex = 0;
	if (!j->any || (v->overhead && (!sa->overhead || sa->overhead > v->overhead)))
		v->overhead = sa->overhead;
	j->any = true;
}

static void outbound_sas(struct judge *j)
{
	const struct bwl_track_found *f = j->found;
	enum bwl_track_why why;
	uint32_t i;

	for (i = 0; i < f->nsa; i++) {
		const struct bwl_xfrm_sa *sa = &f->sa[i];

		if (!sa->spi || is_inbound(j, sa))
			continue;
		if (!bwl_xfrm_addr_is(&sa->dst, j->remote)) {
			say(j, BWL_TRACK_SA_REMOTE, &sa->dst);
			continue;
		}
		why = quality(j, sa);
		say(j, why == BWL_TRACK_USABLE ? BWL_TRACK_NO_POLICY : why, NULL);
	}
}

/*
 * Every outbound policy must demand a tunnel to the peer, because any of them may match a packet.
 */
static void outbound_policies(struct judge *j)
{
	const struct bwl_track_found *f = j->found;
	uint32_t i, k;

	for (i = 0; i < f->npolicy; i++) {
		const struct bwl_xfrm_policy *p = &f->policy[i];

		if (p->dir != BWL_XFRM_OUT || p->block)
			continue;
		if (p->ntmpl != 1 || p->tmpl.optional || p->tmpl.proto != IPPROTO_ESP ||
		    p->tmpl.mode != XFRM_MODE_TUNNEL) {
			say(j, BWL_TRACK_OPEN_POLICY, NULL);
			continue;
		}
		if (!bwl_xfrm_addr_is(&p->tmpl.dst, j->remote)) {
			say(j, BWL_TRACK_POLICY_REMOTE, &p->tmpl.dst);
			continue;
		}
		for (k = 0; k < f->nsa; k++)
			if (fits(p, &f->sa[k]) && quality(j, &f->sa[k]) == BWL_TRACK_USABLE)
				take(j, p, &f->sa[k]);
		if (!j->any && j->ret->why == BWL_TRACK_NO_POLICY)
			j->ret->why = BWL_TRACK_UNMATCHED;
	}
}

/*
 * The kernel decrypts with every SA that it has, whatever the outer source is, and the result
 * carries only the peer's id. So an SA that would accept another DPU's packets, or anybody's,
 * closes the way in until it is gone, even beside good ones. If the kernel does not report the
 * direction, an SA with two foreign addresses may be either.
 */
static bool taints(const struct judge *j, const struct bwl_xfrm_sa *sa)
{
	if (!sa->keyed || !bwl_xfrm_sa_alive(sa, j->now_s) || sa->dir == BWL_XFRM_OUT)
		return false;
	if (sa->dir == BWL_XFRM_DIR_UNKNOWN && bwl_xfrm_addr_is(&sa->dst, j->remote))
		return false;
	return !bwl_xfrm_addr_is(&sa->src, j->remote) || quality(j, sa) != BWL_TRACK_USABLE;
}

static void inbound(struct judge *j)
{
	const struct bwl_track_found *f = j->found;
	struct bwl_track_verdict *v = j->ret;
	bool tainted = false;
	uint64_t newest_s = 0;
	uint32_t i;

	for (i = 0; i < f->nsa; i++) {
		const struct bwl_xfrm_sa *sa = &f->sa[i];

		if (!sa->spi)
			continue;
		tainted |= taints(j, sa);
		if (!is_inbound(j, sa))
			continue;
		if (!bwl_xfrm_addr_is(&sa->src, j->remote)) {
			say(j, BWL_TRACK_SA_REMOTE, &sa->src);
			continue;
		}
		if (quality(j, sa) != BWL_TRACK_USABLE)
			continue;
		v->flags |= BWL_TUN_SA_IN;
		if (sa->offload == BWL_OFFLOAD_PACKET)
			v->flags |= BWL_TUN_DEV_IN;
		if (sa->life.add_s >= newest_s) {
			v->spi_in = sa->spi;
			newest_s = sa->life.add_s;
		}
	}
	if (tainted) {
		v->flags &= (uint8_t) ~(BWL_TUN_SA_IN | BWL_TUN_DEV_IN);
		v->spi_in = 0;
	}
}

void bwl_track_judge(const struct bwl_track_found *found, const struct bwl_xfrm_addr *remote,
		     uint64_t now_s, struct bwl_track_verdict *ret)
{
	struct judge j = { .found = found, .remote = remote, .now_s = now_s, .ret = ret };

	*ret = (struct bwl_track_verdict){ .why = BWL_TRACK_NO_SA };
	if (!remote) {
		if (found->nsa || found->npolicy)
			ret->why = ret->alarm = BWL_TRACK_NO_PEER;
		return;
	}
	inbound(&j);
	outbound_sas(&j);
	outbound_policies(&j);
	if (ret->why <= BWL_TRACK_NOT_TUNNEL)
		ret->alarm = ret->why;
	if (j.any && ret->why > BWL_TRACK_NOT_ENCRYPTED) {
		ret->flags |= BWL_TUN_SA;
		ret->why = BWL_TRACK_USABLE;
		return;
	}
	ret->offload = BWL_OFFLOAD_NONE;
	ret->ifindex = 0;
	ret->overhead = 0;
	ret->spi_out = 0;
}
