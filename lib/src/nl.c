/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Netlink: request and answers, over libmnl. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include "nl.h"

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
	explicit_bzero(buf, sizeof(buf));	/* answers of XFRM hold keys */
	return r;
}
