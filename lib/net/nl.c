/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Netlink: request and answers, over libmnl. */
#include <errno.h>
#include <linux/genetlink.h>
#include <string.h>
#include <sys/socket.h>
#include <bwl/nl.h>

int bwl_nl_talk(int bus, struct nlmsghdr *h, mnl_cb_t fn, void *arg)
{
	struct mnl_socket *s = mnl_socket_open2(bus, SOCK_CLOEXEC);
	static unsigned seq;
	char buf[32768];
	unsigned port;
	ssize_t n;
	int r = -1;

	if (!s)
		return -errno;
	h->nlmsg_seq = ++seq;
	if (!mnl_socket_bind(s, 0, MNL_SOCKET_AUTOPID)) {
		port = mnl_socket_get_portid(s);
		r = (int)mnl_socket_sendto(s, h, h->nlmsg_len);
		while (r > 0) {
			n = mnl_socket_recvfrom(s, buf, sizeof(buf));
			r = n < 0 ? -1 : mnl_cb_run(buf, (size_t)n, h->nlmsg_seq, port, fn, arg);
		}
	}
	r = r < 0 ? -errno : 0;
	mnl_socket_close(s);
	explicit_bzero(buf, sizeof(buf)); /* answers of XFRM hold keys */
	return r;
}

struct nlmsghdr *bwl_nl_request(char *buf, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);

	h->nlmsg_type = type;
	h->nlmsg_flags = NLM_F_REQUEST | flags;
	return h;
}

struct nlmsghdr *bwl_genl_request(char *buf, uint16_t type, uint8_t cmd, uint16_t flags)
{
	struct nlmsghdr *h = bwl_nl_request(buf, type, flags);
	struct genlmsghdr *g = mnl_nlmsg_put_extra_header(h, sizeof(*g));

	g->cmd = cmd;
	g->version = 1;
	return h;
}

static int family_id(const struct nlmsghdr *h, void *arg)
{
	uint16_t *id = arg;
	const struct nlattr *a;

	mnl_attr_for_each(a, h, sizeof(struct genlmsghdr)) if (mnl_attr_get_type(a) ==
							       CTRL_ATTR_FAMILY_ID) *id =
		mnl_attr_get_u16(a);
	return MNL_CB_OK;
}

int bwl_genl_family(const char *name, uint16_t *ret)
{
	char buf[256];
	struct nlmsghdr *h = bwl_genl_request(buf, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, NLM_F_ACK);
	int r;

	*ret = 0;
	mnl_attr_put_strz(h, CTRL_ATTR_FAMILY_NAME, name);
	r = bwl_nl_talk(NETLINK_GENERIC, h, family_id, ret);
	return r ? r : *ret ? 0 : -ENOENT;
}
