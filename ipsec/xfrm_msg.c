// SPDX-License-Identifier: GPL-2.0-or-later
/* XFRM's netlink messages. Lengths are checked here; values are the kernel's. */
#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/xfrm.h>
#include <string.h>
#include "xfrm.h"

/* Attributes and offload modes that Debian 12's headers may lack. */
#define ATTR_SA_DIR 33   /* XFRMA_SA_DIR, kernel 6.10: 1 in, 2 out */
#define ICV_BITS_MAX 512 /* none of our ciphers has more */
#define ATTRS 40
#define OFFLOAD_PACKET 4 /* XFRM_OFFLOAD_PACKET, kernel 6.2 */

char *bwl_xfrm_addr_text(const struct bwl_xfrm_addr *x, char buf[static BWL_XFRM_ADDR_BUF])
{
	if (!inet_ntop(x->family, x->a, buf, BWL_XFRM_ADDR_BUF))
		strcpy(buf, "?");
	return buf;
}

bool bwl_xfrm_addr_is(const struct bwl_xfrm_addr *x, const struct bwl_xfrm_addr *y)
{
	return x->family == y->family && !memcmp(x->a, y->a, sizeof(x->a));
}

bool bwl_xfrm_sa_alive(const struct bwl_xfrm_sa *sa, uint64_t now_s)
{
	const struct bwl_xfrm_life *l = &sa->life;

	return !(l->hard_add && now_s >= l->add_s && now_s - l->add_s >= l->hard_add) &&
	       !(l->hard_use && l->use_s && now_s >= l->use_s && now_s - l->use_s >= l->hard_use) &&
	       l->bytes < l->hard_bytes && l->packets < l->hard_packets;
}

bool bwl_xfrm_is_device_block(const struct bwl_xfrm_policy *p)
{
	return p->dir == BWL_XFRM_OUT && p->block && p->sel_all && !p->mark.m && !p->mark.v &&
	       p->offload == BWL_OFFLOAD_PACKET;
}

bool bwl_xfrm_is_device_leak(const struct bwl_xfrm_policy *p)
{
	return p->dir == BWL_XFRM_OUT && !p->block && (!p->ntmpl || p->tmpl.optional) &&
	       !p->sel_ike && p->offload == BWL_OFFLOAD_PACKET;
}

static struct bwl_xfrm_addr address(unsigned family, const xfrm_address_t *x)
{
	struct bwl_xfrm_addr ret = { .family = (uint16_t)family };

	memcpy(ret.a, x, family == AF_INET6 ? 16 : 4);
	return ret;
}

struct attrs {
	const struct nlattr *at[ATTRS];
};

/* Not mnl_attr_parse(): it reads up to three bytes too far, and stops at malformed attributes. */
static bool read_attrs(const struct nlmsghdr *h, size_t offset, struct attrs *x)
{
	const char *end = (const char *)h + h->nlmsg_len;
	const char *at = (const char *)mnl_nlmsg_get_payload(h) + MNL_ALIGN(offset);
	const struct nlattr *a;

	for (; at < end && (size_t)(end - at) >= sizeof(*a); at += MNL_ALIGN(a->nla_len)) {
		a = (const struct nlattr *)at;
		if (a->nla_len < sizeof(*a) || a->nla_len > end - at)
			return false;
		if (mnl_attr_get_type(a) < ATTRS)
			x->at[mnl_attr_get_type(a)] = a;
	}
	return true;
}

/* The first n bytes of an attribute; false if it is missing or shorter. */
static bool attr(const struct attrs *x, unsigned type, void *ret, size_t n)
{
	const struct nlattr *a = x->at[type];

	if (!a || mnl_attr_get_payload_len(a) < n)
		return false;
	memcpy(ret, mnl_attr_get_payload(a), n);
	return true;
}

static uint32_t attr_u32(const struct attrs *x, unsigned type)
{
	uint32_t v = 0;

	attr(x, type, &v, sizeof(v));
	return v;
}

static struct bwl_xfrm_mark mark(const struct attrs *x)
{
	struct xfrm_mark m = { 0 };

	attr(x, XFRMA_MARK, &m, sizeof(m));
	return (struct bwl_xfrm_mark){ m.v, m.m };
}

/* Inbound SAs match without a mark, and set one. */
static uint32_t peer_of(const struct attrs *x, uint32_t if_id)
{
	struct bwl_xfrm_mark m = mark(x);

	if (if_id != BWL_TUN_IF_ID)
		return if_id;
	return (m.m ? m.v : attr_u32(x, XFRMA_SET_MARK)) & BWL_MARK_ID;
}

/*
 * Bytes of the initialisation vector, and the multiple to which the payload is padded (at least 4).
 */
static const struct cipher {
	const char *name;
	uint8_t iv, block;
	bool encrypts;
} ciphers[] = {
	{ "rfc4106(gcm(aes))", 8, 4, true },
	{ "rfc4309(ccm(aes))", 8, 4, true },
	{ "rfc7539esp(chacha20,poly1305)", 8, 4, true },
	{ "rfc3686(ctr(aes))", 8, 4, true },
	{ "cbc(aes)", 16, 16, true },
	{ "cbc(camellia)", 16, 16, true },
	{ "cbc(des3_ede)", 8, 8, true },
	{ "rfc4543(gcm(aes))", 8, 4, false },
	{ "ecb(cipher_null)", 0, 4, false },
	{ "cipher_null", 0, 4, false },
};

static const struct cipher *cipher(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(ciphers) / sizeof(*ciphers); i++)
		if (!strcmp(ciphers[i].name, name))
			return &ciphers[i];
	return NULL;
}

static void put_name(struct bwl_xfrm_sa *sa, const char name[64])
{
	memcpy(sa->alg, name, sizeof(sa->alg));
	sa->alg[sizeof(sa->alg) - 1] = '\0';
}

static void read_algorithms(const struct attrs *x, struct bwl_xfrm_sa *sa)
{
	struct xfrm_algo_aead aead;
	struct xfrm_algo_auth auth;
	struct xfrm_algo crypt;
	const struct cipher *k;
	uint32_t icv_bits = 0;

	if (attr(x, XFRMA_ALG_AEAD, &aead, sizeof(aead))) {
		put_name(sa, aead.alg_name);
		icv_bits = aead.alg_icv_len;
		sa->authenticates = true;
	} else if (attr(x, XFRMA_ALG_CRYPT, &crypt, sizeof(crypt))) {
		put_name(sa, crypt.alg_name);
	} else {
		return;
	}
	if (attr(x, XFRMA_ALG_AUTH_TRUNC, &auth, sizeof(auth)) &&
	    strncmp(auth.alg_name, "digest_null", sizeof(auth.alg_name))) {
		icv_bits = auth.alg_trunc_len;
		sa->authenticates = true;
	}
	sa->keyed = true;
	k = cipher(sa->alg);
	/*
	 * A cipher that is not in the table does encrypt: null ciphers are few and have known
	 * names.
	 */
	sa->encrypts = !k || k->encrypts;
	if (!k || icv_bits > ICV_BITS_MAX)
		return;
	/* outer header, UDP, SPI and sequence number, IV; padding, its length, next header; ICV */
	sa->overhead = (uint16_t)((sa->dst.family == AF_INET6 ? 40 : 20) + (sa->udp ? 8 : 0) + 8 +
				  k->iv + k->block - 1 + 2 + icv_bits / 8);
}

static struct bwl_xfrm_life life(const struct xfrm_usersa_info *u)
{
	return (struct bwl_xfrm_life){
		u->lft.soft_byte_limit,
		u->lft.hard_byte_limit,
		u->lft.soft_packet_limit,
		u->lft.hard_packet_limit,
		u->lft.soft_add_expires_seconds,
		u->lft.hard_add_expires_seconds,
		u->lft.soft_use_expires_seconds,
		u->lft.hard_use_expires_seconds,
		u->curlft.bytes,
		u->curlft.packets,
		u->curlft.add_time,
		u->curlft.use_time,
	};
}

static void read_offload(const struct attrs *x, uint8_t *offload, uint32_t *ifindex, uint8_t *dir)
{
	struct xfrm_user_offload o;

	if (!attr(x, XFRMA_OFFLOAD_DEV, &o, sizeof(o)))
		return;
	*ifindex = (uint32_t)o.ifindex;
	*offload = o.flags & OFFLOAD_PACKET ? BWL_OFFLOAD_PACKET : BWL_OFFLOAD_CRYPTO;
	if (dir)
		*dir = o.flags & XFRM_OFFLOAD_INBOUND ? BWL_XFRM_IN : BWL_XFRM_OUT;
}

static int read_sa(const struct xfrm_usersa_info *u, const struct attrs *x, struct bwl_xfrm_sa *sa)
{
	uint8_t dir = 0;

	if (u->family != AF_INET && u->family != AF_INET6)
		return -EBADMSG;
	sa->src = address(u->family, &u->saddr);
	sa->dst = address(u->family, &u->id.daddr);
	sa->spi = u->id.spi;
	sa->proto = u->id.proto;
	sa->mode = u->mode;
	sa->reqid = u->reqid;
	sa->esn = u->flags & XFRM_STATE_ESN;
	sa->life = life(u);
	sa->if_id = attr_u32(x, XFRMA_IF_ID);
	sa->peer = peer_of(x, sa->if_id);
	sa->mark = mark(x);
	sa->udp = x->at[XFRMA_ENCAP];
	read_offload(x, &sa->offload, &sa->offload_ifindex, &sa->dir);
	if (attr(x, ATTR_SA_DIR, &dir, sizeof(dir)))
		sa->dir = dir == 1 ? BWL_XFRM_IN : dir == 2 ? BWL_XFRM_OUT : BWL_XFRM_DIR_UNKNOWN;
	read_algorithms(x, sa);
	return 0;
}

static bool is_ike(__be16 port, __be16 mask)
{
	return mask == 0xffff && (port == htons(BWL_IKE_PORT) || port == htons(BWL_IKE_NAT_PORT));
}

static int read_policy(const struct xfrm_userpolicy_info *u, const struct attrs *x,
		       struct bwl_xfrm_policy *p)
{
	static const uint8_t dirs[] = { BWL_XFRM_IN, BWL_XFRM_OUT, BWL_XFRM_FWD };
	struct xfrm_userpolicy_type type;
	struct xfrm_user_tmpl t;

	if (u->sel.family != AF_INET && u->sel.family != AF_INET6)
		return -EBADMSG;
	p->index = u->index;
	p->priority = u->priority;
	p->dir = u->dir < 3 ? dirs[u->dir] : BWL_XFRM_DIR_UNKNOWN;
	p->block = u->action == XFRM_POLICY_BLOCK;
	p->sel_src = address(u->sel.family, &u->sel.saddr);
	p->sel_dst = address(u->sel.family, &u->sel.daddr);
	p->sel_src_len = u->sel.prefixlen_s;
	p->sel_dst_len = u->sel.prefixlen_d;
	p->sel_all = !u->sel.prefixlen_s && !u->sel.prefixlen_d && !u->sel.proto &&
		     !u->sel.sport_mask && !u->sel.dport_mask && !u->sel.ifindex;
	p->sel_ike = u->sel.proto == IPPROTO_UDP && (is_ike(u->sel.sport, u->sel.sport_mask) ||
						     is_ike(u->sel.dport, u->sel.dport_mask));
	p->if_id = attr_u32(x, XFRMA_IF_ID);
	p->peer = peer_of(x, p->if_id);
	p->mark = mark(x);
	if (attr(x, XFRMA_POLICY_TYPE, &type, sizeof(type)))
		p->type = type.type;
	read_offload(x, &p->offload, &p->offload_ifindex, NULL);
	if (!attr(x, XFRMA_TMPL, &t, sizeof(t)))
		return 0;
	p->ntmpl = (uint8_t)(mnl_attr_get_payload_len(x->at[XFRMA_TMPL]) / sizeof(t));
	p->tmpl.src = address(t.family, &t.saddr);
	p->tmpl.dst = address(t.family, &t.id.daddr);
	p->tmpl.spi = t.id.spi;
	p->tmpl.proto = t.id.proto;
	p->tmpl.reqid = t.reqid;
	p->tmpl.mode = t.mode;
	p->tmpl.optional = t.optional;
	return 0;
}

/*
 * The parts of a message: a fixed header, attributes, and in messages about removed objects an
 * inner header.
 */
struct shape {
	size_t header;
	unsigned inner; /* the attribute that contains what is usually the header; 0: none */
	enum bwl_xfrm_kind kind;
};

static bool shape_of(uint16_t type, struct shape *s)
{
	switch (type) {
	case XFRM_MSG_NEWSA:
	case XFRM_MSG_UPDSA:
		*s = (struct shape){ sizeof(struct xfrm_usersa_info), 0, BWL_XFRM_SA };
		return true;
	case XFRM_MSG_DELSA:
		*s = (struct shape){ sizeof(struct xfrm_usersa_id), XFRMA_SA, BWL_XFRM_SA_GONE };
		return true;
	case XFRM_MSG_EXPIRE:
		*s = (struct shape){ sizeof(struct xfrm_user_expire), 0, BWL_XFRM_SA_GONE };
		return true;
	case XFRM_MSG_NEWPOLICY:
	case XFRM_MSG_UPDPOLICY:
		*s = (struct shape){ sizeof(struct xfrm_userpolicy_info), 0, BWL_XFRM_POLICY };
		return true;
	case XFRM_MSG_DELPOLICY:
		*s = (struct shape){ sizeof(struct xfrm_userpolicy_id), XFRMA_POLICY,
				     BWL_XFRM_POLICY_GONE };
		return true;
	case XFRM_MSG_POLEXPIRE:
		*s = (struct shape){ sizeof(struct xfrm_user_polexpire), 0, BWL_XFRM_POLICY_GONE };
		return true;
	case XFRM_MSG_FLUSHSA:
		*s = (struct shape){ sizeof(struct xfrm_usersa_flush), 0, BWL_XFRM_SA_FLUSH };
		return true;
	case XFRM_MSG_FLUSHPOLICY:
		*s = (struct shape){ 0, 0, BWL_XFRM_POLICY_FLUSH };
		return true;
	}
	return false;
}

/* EXPIRE and POLEXPIRE: soft ones only announce the end. */
static bool is_soft(const struct nlmsghdr *h)
{
	const uint8_t *p = mnl_nlmsg_get_payload(h);

	if (h->nlmsg_type == XFRM_MSG_EXPIRE)
		return !p[offsetof(struct xfrm_user_expire, hard)];
	return h->nlmsg_type == XFRM_MSG_POLEXPIRE &&
	       !p[offsetof(struct xfrm_user_polexpire, hard)];
}

static int read_body(const void *body, const struct attrs *x, struct bwl_xfrm_msg *ret)
{
	struct xfrm_userpolicy_info policy;
	struct xfrm_usersa_info sa;

	/* copied, because 64-bit members are aligned to only 4 bytes in a message */
	if (ret->kind == BWL_XFRM_SA || ret->kind == BWL_XFRM_SA_GONE) {
		memcpy(&sa, body, sizeof(sa));
		return read_sa(&sa, x, &ret->sa);
	}
	memcpy(&policy, body, sizeof(policy));
	return read_policy(&policy, x, &ret->policy);
}

static int bad(const struct nlmsghdr *h, struct bwl_err *e)
{
	return bwl_fail(e, EBADMSG, "cannot parse an XFRM message of type %#x and %u bytes",
			h->nlmsg_type, h->nlmsg_len);
}

int bwl_xfrm_decode(const struct nlmsghdr *h, struct bwl_xfrm_msg *ret, struct bwl_err *e)
{
	const uint8_t *body = mnl_nlmsg_get_payload(h);
	struct attrs x = { 0 };
	size_t inner = 0;
	struct shape s;

	memset(ret, 0, sizeof(*ret));
	if (h->nlmsg_type == XFRM_MSG_MIGRATE)
		ret->kind = BWL_XFRM_UNCLEAR;
	if (!shape_of(h->nlmsg_type, &s))
		return 0;
	if (mnl_nlmsg_get_payload_len(h) < s.header || !read_attrs(h, s.header, &x))
		return bad(h, e);
	if (is_soft(h))
		return 0;
	if (s.kind == BWL_XFRM_SA_FLUSH || s.kind == BWL_XFRM_POLICY_FLUSH) {
		ret->kind = s.kind;
		if (s.kind == BWL_XFRM_SA_FLUSH && *body != 255) /* IPSEC_PROTO_ANY */
			ret->proto = *body;
		return 0;
	}
	if (s.inner) {
		inner = s.kind == BWL_XFRM_SA_GONE ? sizeof(struct xfrm_usersa_info)
						   : sizeof(struct xfrm_userpolicy_info);
		if (!x.at[s.inner] || mnl_attr_get_payload_len(x.at[s.inner]) < inner)
			return bad(h, e);
		body = mnl_attr_get_payload(x.at[s.inner]);
	}
	ret->kind = s.kind;
	if (!read_body(body, &x, ret))
		return 0;
	memset(ret, 0, sizeof(*ret));
	return bad(h, e);
}
