// SPDX-License-Identifier: GPL-2.0-or-later
/* Netlink: requests and answers, with libmnl. */
#include <errno.h>
#include <linux/genetlink.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <bwl/nl.h>
#include <bwl/text.h>

/*
 * Prepared for display: the kernel or a driver wrote it, so it becomes one line of plain
 * characters.
 */
static void copy_words(char *to, size_t size, const char *from, size_t n)
{
	snprintf(to, size, "%.*s", (int)n, from);
	bwl_text_plain(to, BWL_ASCII);
}

/*
 * The kernel returns the request before the attributes: completely, unless it is marked as capped.
 */
void bwl_nl_said_read(const struct nlmsghdr *h, char said[static BWL_NL_SAID])
{
	const struct nlmsgerr *err = mnl_nlmsg_get_payload(h);
	size_t at = sizeof(*err), len = mnl_nlmsg_get_payload_len(h), echo;
	const struct nlattr *a;

	if (h->nlmsg_type != NLMSG_ERROR || !(h->nlmsg_flags & NLM_F_ACK_TLVS) || len < at)
		return;
	if (!(h->nlmsg_flags & NLM_F_CAPPED)) {
		echo = err->msg.nlmsg_len;
		if (echo < sizeof(err->msg) || echo - sizeof(err->msg) > len - at)
			return;
		at += MNL_ALIGN(echo) - sizeof(err->msg);
	}
	if (at >= len)
		return;
	mnl_attr_for_each(a, h, at) if (mnl_attr_get_type(a) == NLMSGERR_ATTR_MSG)
		copy_words(said, BWL_NL_SAID, mnl_attr_get_payload(a), mnl_attr_get_payload_len(a));
}

static void look_for_words(const void *buf, int n, char *said)
{
	const struct nlmsghdr *h = buf;

	for (; mnl_nlmsg_ok(h, n); h = mnl_nlmsg_next(h, &n))
		bwl_nl_said_read(h, said);
}

/* said NULL: it is not needed. */
static int talk(int bus, struct nlmsghdr *h, mnl_cb_t fn, void *arg, char *said)
{
	struct mnl_socket *s = mnl_socket_open2(bus, SOCK_CLOEXEC);
	static unsigned seq;
	char buf[32768];
	unsigned port;
	ssize_t n;
	int r = -1, yes = 1;

	if (!s)
		return -errno;
	h->nlmsg_seq = ++seq;
	if (said) /* a kernel without them returns none */
		mnl_socket_setsockopt(s, NETLINK_EXT_ACK, &yes, sizeof(yes));
	if (!mnl_socket_bind(s, 0, MNL_SOCKET_AUTOPID)) {
		port = mnl_socket_get_portid(s);
		r = (int)mnl_socket_sendto(s, h, h->nlmsg_len);
		while (r > 0) {
			n = mnl_socket_recvfrom(s, buf, sizeof(buf));
			if (said && n > 0)
				look_for_words(buf, (int)n, said);
			r = n < 0 ? -1 : mnl_cb_run(buf, (size_t)n, h->nlmsg_seq, port, fn, arg);
		}
	}
	r = r < 0 ? -errno : 0;
	mnl_socket_close(s);
	explicit_bzero(buf, sizeof(buf)); /* XFRM's answers contain keys */
	return r;
}

int bwl_nl_talk(int bus, struct nlmsghdr *h, mnl_cb_t fn, void *arg)
{
	return talk(bus, h, fn, arg, NULL);
}

int bwl_nl_try(int bus, struct nlmsghdr *h, mnl_cb_t fn, void *arg, char said[static BWL_NL_SAID])
{
	*said = '\0';
	return talk(bus, h, fn, arg, said);
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
