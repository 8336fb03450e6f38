// SPDX-License-Identifier: GPL-2.0-or-later
/* XFRM's netlink socket: dumps, news, the default policy. */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/xfrm.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <bwl/nl.h>
#include "xfrm.h"

static int no_xfrm(int r, const char *what, struct bwl_err *e)
{
	bwl_fail(e, -r, "cannot %s: %s", what, strerror(-r));
	if (r == -EPERM)
		return bwl_hint(e, "this needs CAP_NET_ADMIN");
	if (r == -EPROTONOSUPPORT)
		return bwl_hint(e, "modprobe xfrm_user (CONFIG_XFRM_USER)");
	return r;
}

struct each {
	bwl_xfrm_fn fn;
	void *arg;
	struct bwl_err *e;
	int r;
};

static int one(const struct nlmsghdr *h, void *arg)
{
	struct each *x = arg;
	struct bwl_xfrm_msg m;

	x->r = bwl_xfrm_decode(h, &m, x->e);
	if (!x->r)
		x->r = x->fn(&m, x->arg);
	return x->r ? MNL_CB_STOP : MNL_CB_OK;
}

static int dump(uint16_t type, const char *what, bwl_xfrm_fn fn, void *arg, struct bwl_err *e)
{
	char buf[MNL_NLMSG_HDRLEN];
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	struct each x = { fn, arg, e, 0 };
	int r;

	h->nlmsg_type = type;
	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	r = bwl_nl_talk(NETLINK_XFRM, h, one, &x);
	return r ? no_xfrm(r, what, e) : x.r;
}

int bwl_xfrm_dump_sas(bwl_xfrm_fn fn, void *arg, struct bwl_err *e)
{
	return dump(XFRM_MSG_GETSA, "list the kernel's SAs", fn, arg, e);
}

int bwl_xfrm_dump_policies(bwl_xfrm_fn fn, void *arg, struct bwl_err *e)
{
	return dump(XFRM_MSG_GETPOLICY, "list the kernel's IPsec policies", fn, arg, e);
}

struct bwl_xfrm_news {
	struct mnl_socket *s;
	uint32_t buf[16384]; /* far above the largest message */
};

/* For the news of some thousand SAs: a rekey of all of them at once. */
#define NEWS_BYTES (8 << 20)

int bwl_xfrm_news_open(struct bwl_xfrm_news **ret, struct bwl_err *e)
{
	static const int groups[] = { XFRMNLGRP_SA, XFRMNLGRP_POLICY, XFRMNLGRP_EXPIRE,
				      XFRMNLGRP_MIGRATE };
	struct bwl_xfrm_news *n = calloc(1, sizeof(*n));
	int size = NEWS_BYTES, r = 0;
	size_t i;

	if (!n)
		return bwl_fail(e, ENOMEM, "out of memory");
	n->s = mnl_socket_open2(NETLINK_XFRM, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (!n->s || mnl_socket_bind(n->s, 0, MNL_SOCKET_AUTOPID))
		r = -errno;
	for (i = 0; !r && i < sizeof(groups) / sizeof(*groups); i++) {
		int group = groups[i];

		if (mnl_socket_setsockopt(n->s, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)))
			r = -errno;
	}
	if (r) {
		bwl_xfrm_news_close(n);
		return no_xfrm(r, "watch the kernel's SAs", e);
	}
	/* with less room news are lost sooner, which is noticed */
	setsockopt(mnl_socket_get_fd(n->s), SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size));
	*ret = n;
	return 0;
}

void bwl_xfrm_news_close(struct bwl_xfrm_news *n)
{
	if (n && n->s)
		mnl_socket_close(n->s);
	free(n);
}

int bwl_xfrm_news_fd(const struct bwl_xfrm_news *n)
{
	return mnl_socket_get_fd(n->s);
}

int bwl_xfrm_news_read(struct bwl_xfrm_news *n, bwl_xfrm_fn fn, void *arg, struct bwl_err *e)
{
	struct each x = { fn, arg, e, 0 };
	ssize_t len;
	int r;

	do
		len = mnl_socket_recvfrom(n->s, n->buf, sizeof(n->buf));
	while (len < 0 && errno == EINTR);
	if (len < 0) {
		r = errno == EWOULDBLOCK ? -EAGAIN : errno == ENOSPC ? -ENOBUFS : -errno;
		return r == -EAGAIN || r == -ENOBUFS
			       ? r
			       : no_xfrm(r, "read notifications about SAs", e);
	}
	r = mnl_cb_run(n->buf, (size_t)len, 0, 0, one, &x);
	r = r < 0 ? bwl_fail(e, errno, "cannot parse a notification about SAs: %s", strerror(errno))
		  : x.r;
	explicit_bzero(n->buf, (size_t)len); /* NEWSA carries the key */
	return r;
}

static int read_default(const struct nlmsghdr *h, void *arg)
{
	struct bwl_xfrm_default *d = arg;
	const struct xfrm_userpolicy_default *u = mnl_nlmsg_get_payload(h);

	if (mnl_nlmsg_get_payload_len(h) < sizeof(*u))
		return MNL_CB_OK;
	*d = (struct bwl_xfrm_default){ true, u->in == XFRM_USERPOLICY_BLOCK,
					u->fwd == XFRM_USERPOLICY_BLOCK,
					u->out == XFRM_USERPOLICY_BLOCK };
	return MNL_CB_OK;
}

int bwl_xfrm_default_get(struct bwl_xfrm_default *ret, struct bwl_err *e)
{
	char buf[64];
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	int r;

	*ret = (struct bwl_xfrm_default){ 0 };
	h->nlmsg_type = XFRM_MSG_GETDEFAULT;
	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	mnl_nlmsg_put_extra_header(h, sizeof(struct xfrm_userpolicy_default));
	r = bwl_nl_talk(NETLINK_XFRM, h, read_default, ret);
	if (r == -EINVAL) /* before 5.14 packets that match no policy always pass */
		return 0;
	return r ? no_xfrm(r, "ask for the default IPsec policy", e) : 0;
}

struct blocks {
	uint32_t ifindex;
	bool has4, has6;
};

static int find_block(const struct bwl_xfrm_msg *m, void *arg)
{
	const struct bwl_xfrm_policy *p = &m->policy;
	struct blocks *x = arg;

	if (m->kind != BWL_XFRM_POLICY || !bwl_xfrm_is_device_block(p) ||
	    p->offload_ifindex != x->ifindex)
		return 0;
	x->has4 |= p->sel_src.family == AF_INET;
	x->has6 |= p->sel_src.family == AF_INET6;
	return 0;
}

int bwl_xfrm_device_blocks(uint32_t ifindex, bool *ret4, bool *ret6, struct bwl_err *e)
{
	struct blocks x = { .ifindex = ifindex };
	int r = bwl_xfrm_dump_policies(find_block, &x, e);

	*ret4 = !r && x.has4;
	*ret6 = !r && x.has6;
	return r;
}
