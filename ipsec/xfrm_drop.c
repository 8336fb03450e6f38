// SPDX-License-Identifier: GPL-2.0-or-later
/* Removes SAs and policies, without charon. */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/xfrm.h>
#include <stdlib.h>
#include <string.h>
#include "xfrm.h"

#define ROUNDS 8       /* looks for SAs that were made meanwhile */
#define ONE_SEND 32768 /* bytes; below any socket's send buffer */

/* Requests in a row. The kernel performs all of a datagram's requests before send() returns. */
struct pile {
	bwl_xfrm_wanted wanted;
	const void *arg;
	char *buf;
	size_t len, room;
	uint32_t n;
};

static struct nlmsghdr *put(struct pile *p, uint16_t type, size_t body, void **ret_body)
{
	size_t most = MNL_NLMSG_HDRLEN + MNL_ALIGN(body) + 128; /* header, body, a few attributes */
	struct nlmsghdr *h;
	char *more;

	if (p->len + most > p->room) {
		more = realloc(p->buf, p->room * 2 + most);
		if (!more)
			return NULL;
		p->buf = more;
		p->room = p->room * 2 + most;
	}
	h = mnl_nlmsg_put_header(p->buf + p->len);
	h->nlmsg_type = type;
	h->nlmsg_flags = NLM_F_REQUEST;
	*ret_body = mnl_nlmsg_put_extra_header(h, body);
	return h;
}

static void put_mark(struct nlmsghdr *h, const struct bwl_xfrm_mark *m)
{
	struct xfrm_mark x = { m->v, m->m };

	if (m->v || m->m)
		mnl_attr_put(h, XFRMA_MARK, sizeof(x), &x);
}

static void close_message(struct pile *p, const struct nlmsghdr *h)
{
	p->len += MNL_ALIGN(h->nlmsg_len);
	p->n++;
}

static int put_removal(struct pile *p, const struct bwl_xfrm_sa *sa)
{
	struct xfrm_usersa_id *id;
	struct nlmsghdr *h;
	void *body;

	h = put(p, XFRM_MSG_DELSA, sizeof(*id), &body);
	if (!h)
		return -ENOMEM;
	id = body;
	memcpy(&id->daddr, sa->dst.a, sizeof(sa->dst.a));
	id->spi = sa->spi;
	id->family = sa->dst.family;
	id->proto = sa->proto;
	put_mark(h, &sa->mark);
	close_message(p, h);
	return 0;
}

/*
 * Without an SPI it is the kernel's own request for an SA: it has no key, and nothing to remove it
 * by.
 */
static int put_sa(const struct bwl_xfrm_msg *m, void *arg)
{
	struct pile *p = arg;

	return m->kind == BWL_XFRM_SA && p->wanted(m->sa.peer, p->arg) && m->sa.spi
		       ? put_removal(p, &m->sa)
		       : 0;
}

static int put_policy(const struct bwl_xfrm_msg *m, void *arg)
{
	static const uint8_t dirs[] = {
		[BWL_XFRM_IN] = XFRM_POLICY_IN,
		[BWL_XFRM_OUT] = XFRM_POLICY_OUT,
		[BWL_XFRM_FWD] = XFRM_POLICY_FWD,
	};
	const struct bwl_xfrm_policy *q = &m->policy;
	struct xfrm_userpolicy_type type = { .type = q->type };
	struct xfrm_userpolicy_id *id;
	struct pile *p = arg;
	struct nlmsghdr *h;
	void *body;

	/* socket policies have none of our directions, and no if_id */
	if (m->kind != BWL_XFRM_POLICY || !p->wanted(q->peer, p->arg) || !q->dir)
		return 0;
	h = put(p, XFRM_MSG_DELPOLICY, sizeof(*id), &body);
	if (!h)
		return -ENOMEM;
	id = body;
	id->index = q->index;
	id->dir = dirs[q->dir];
	mnl_attr_put_u32(h, XFRMA_IF_ID, q->if_id);
	mnl_attr_put(h, XFRMA_POLICY_TYPE, sizeof(type), &type);
	put_mark(h, &q->mark);
	close_message(p, h);
	return 0;
}

/* The bytes of all whole messages that fit into one datagram. */
static size_t slice(const struct pile *p, size_t from)
{
	size_t len = 0, next;

	while (from + len < p->len) {
		next = MNL_ALIGN(((const struct nlmsghdr *)(p->buf + from + len))->nlmsg_len);
		if (len + next > ONE_SEND)
			break;
		len += next;
	}
	return len;
}

/*
 * The only answers are errors (it is already gone), and the next pass shows what is left: they are
 * not read.
 */
static int send_all(const struct pile *p)
{
	struct mnl_socket *s = mnl_socket_open2(NETLINK_XFRM, SOCK_CLOEXEC);
	size_t at, len;
	int r = s && !mnl_socket_bind(s, 0, MNL_SOCKET_AUTOPID) ? 0 : -errno;

	for (at = 0; !r && at < p->len; at += len) {
		len = slice(p, at);
		if (mnl_socket_sendto(s, p->buf + at, len) < 0)
			r = -errno;
	}
	if (s)
		mnl_socket_close(s);
	return r;
}

static int no_removal(int r, struct bwl_err *e)
{
	return bwl_fail(e, -r, "cannot remove SAs and policies: %s", strerror(-r));
}

static int drop_kind(bwl_xfrm_wanted wanted, const void *arg, bool sas, uint32_t *ret_n,
		     struct bwl_err *e)
{
	struct pile p = { .wanted = wanted, .arg = arg };
	int r;

	r = sas ? bwl_xfrm_dump_sas(put_sa, &p, e) : bwl_xfrm_dump_policies(put_policy, &p, e);
	if (r == -ENOMEM)
		bwl_fail(e, ENOMEM, "out of memory");
	if (!r && p.n) {
		r = send_all(&p);
		if (r)
			no_removal(r, e);
	}
	*ret_n = p.n;
	free(p.buf);
	return r;
}

int bwl_xfrm_drop(bwl_xfrm_wanted wanted, const void *arg, struct bwl_xfrm_dropped *ret,
		  struct bwl_err *e)
{
	struct bwl_xfrm_dropped all = { 0 };
	uint32_t sas = 1, policies = 1;
	int r = 0, round;

	for (round = 0; !r && sas + policies && round < ROUNDS; round++) {
		r = drop_kind(wanted, arg, true, &sas, e);
		if (!r)
			r = drop_kind(wanted, arg, false, &policies, e);
		all.sas += sas;
		all.policies += policies;
	}
	if (ret)
		*ret = all;
	if (r || !(sas + policies))
		return r;
	bwl_fail(e, EBUSY, "%u SAs and %u policies came back after %d removals", sas, policies,
		 ROUNDS);
	return bwl_hint(e, "stop whatever makes them: systemctl stop strongswan");
}

int bwl_xfrm_remove(const struct bwl_xfrm_sa *sas, size_t n, struct bwl_err *e)
{
	struct pile p = { 0 };
	int r = 0;

	for (size_t i = 0; !r && i < n; i++)
		r = put_removal(&p, &sas[i]);
	if (!r)
		r = send_all(&p);
	free(p.buf);
	return r ? no_removal(r, e) : 0;
}
