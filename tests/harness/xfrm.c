// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the tests need from XFRM besides bwlimit's own commands:
 *   bwl-xfrm drop FIRST LAST    removes SAs and policies with these if_ids; prints both counts
 *   bwl-xfrm default            directions that block packets without a policy ("in fwd out"),
 *                               or "unknown"
 *   bwl-xfrm blocks IFINDEX     families for which the device has a drop policy beneath
 *   bwl-xfrm record sas|policies|news READS   raw messages: tests/fuzz/xfrm.seeds
 */
#include <libmnl/libmnl.h>
#include <linux/xfrm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ipsec/xfrm.h"

static int write_bytes(const struct nlmsghdr *h, void *arg)
{
	(void)arg;
	fwrite(h, h->nlmsg_len, 1, stdout); /* a multiple of 4 here, because all attributes are */
	fflush(stdout);
	return MNL_CB_OK;
}

static int record(const char *what, unsigned left)
{
	struct mnl_socket *s = mnl_socket_open(NETLINK_XFRM);
	static uint32_t buf[16384];
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	int groups = 1 << (XFRMNLGRP_SA - 1) | 1 << (XFRMNLGRP_POLICY - 1) |
		     1 << (XFRMNLGRP_EXPIRE - 1);
	ssize_t n;

	if (!s || mnl_socket_bind(s, strcmp(what, "news") ? 0 : groups, MNL_SOCKET_AUTOPID))
		return 1;
	h->nlmsg_type = strcmp(what, "sas") ? XFRM_MSG_GETPOLICY : XFRM_MSG_GETSA;
	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	if (strcmp(what, "news") && mnl_socket_sendto(s, h, h->nlmsg_len) < 0)
		return 1;
	while (left-- && (n = mnl_socket_recvfrom(s, buf, sizeof(buf))) > 0)
		if (mnl_cb_run(buf, (size_t)n, 0, 0, write_bytes, NULL) <= 0)
			break;
	mnl_socket_close(s);
	return 0;
}

static bool is_between(uint32_t peer, const void *arg)
{
	const uint32_t *range = arg;

	return peer >= range[0] && peer <= range[1];
}

static int drop(const char *first, const char *last, struct bwl_err *e)
{
	uint32_t range[] = { (uint32_t)strtoul(first, NULL, 0), (uint32_t)strtoul(last, NULL, 0) };
	struct bwl_xfrm_dropped n;
	int r = bwl_xfrm_drop(is_between, range, &n, e);

	printf("%u %u\n", n.sas, n.policies);
	return r;
}

static int say_default(struct bwl_err *e)
{
	struct bwl_xfrm_default d;
	int r = bwl_xfrm_default_get(&d, e);

	printf("%s%s%s%s\n", d.known ? "" : "unknown", d.blocks_in ? "in " : "",
	       d.blocks_fwd ? "fwd " : "", d.blocks_out ? "out" : "");
	return r;
}

static int blocks(const char *ifindex, struct bwl_err *e)
{
	bool has4, has6;
	int r = bwl_xfrm_device_blocks((uint32_t)strtoul(ifindex, NULL, 0), &has4, &has6, e);

	printf("%s%s\n", has4 ? "4" : "", has6 ? "6" : "");
	return r;
}

int main(int argc, char **argv)
{
	struct bwl_err e = { 0 };
	int r;

	if (argc == 4 && !strcmp(argv[1], "drop"))
		r = drop(argv[2], argv[3], &e);
	else if (argc == 2 && !strcmp(argv[1], "default"))
		r = say_default(&e);
	else if (argc == 3 && !strcmp(argv[1], "blocks"))
		r = blocks(argv[2], &e);
	else if (argc == 4 && !strcmp(argv[1], "record"))
		return record(argv[2], (unsigned)strtoul(argv[3], NULL, 0));
	else
		return 2;
	if (r)
		bwl_err_print(&e, "bwl-xfrm", false);
	return r != 0;
}
