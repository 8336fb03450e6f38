/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One netlink request and its answers. */
#ifndef BWL_NL_H
#define BWL_NL_H

#include <libmnl/libmnl.h>

/*
 * Sends h to the netlink family `bus` and calls fn for every answer. Returns 0 or a negative errno;
 * -EINTR when a dump was disturbed and must be repeated.
 */
int bwl_nl_talk(int bus, struct nlmsghdr *h, mnl_cb_t fn, void *arg);
/* The same; on failure said is the kernel's or driver's message (extack), or "". */
#define BWL_NL_SAID 160
int bwl_nl_try(int bus, struct nlmsghdr *h, mnl_cb_t fn, void *arg, char said[static BWL_NL_SAID]);
/* Extracts that message from one answer; said is unchanged if it is not an error. Without I/O. */
void bwl_nl_said_read(const struct nlmsghdr *h, char said[static BWL_NL_SAID]);
/*
 * A request with NLM_F_REQUEST and these flags; the family's own header follows
 * (mnl_nlmsg_put_extra_header).
 */
struct nlmsghdr *bwl_nl_request(char *buf, uint16_t type, uint16_t flags);
/* Generic netlink. buf: 256 bytes. */
struct nlmsghdr *bwl_genl_request(char *buf, uint16_t type, uint8_t cmd, uint16_t flags);
/* 0, -ENOENT: the kernel has no such family, or another negative errno. */
int bwl_genl_family(const char *name, uint16_t *ret);

/* Marks neighbours that are ours: the kernel stores the owner (NDA_PROTOCOL, 5.2). */
#define BWL_NEIGHBOUR_PROTOCOL 119

#endif
