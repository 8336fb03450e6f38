/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * XFRM, the kernel's IPsec, by netlink: SAs and policies, notifications, and removal, in this
 * network namespace. Keys are never copied out of a message.
 */
#ifndef BWL_XFRM_H
#define BWL_XFRM_H

#include <linux/netlink.h>
#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "bwl/err.h"
#include "maps/tunnel.h"

struct bwl_xfrm_addr {
	uint16_t family; /* AF_INET or AF_INET6 */
	uint8_t a[16];   /* IPv4: the first four, the rest 0 */
};
#define BWL_XFRM_ADDR_BUF 46
char *bwl_xfrm_addr_text(const struct bwl_xfrm_addr *x, char buf[static BWL_XFRM_ADDR_BUF]);
bool bwl_xfrm_addr_is(const struct bwl_xfrm_addr *x, const struct bwl_xfrm_addr *y);

enum bwl_xfrm_dir { BWL_XFRM_DIR_UNKNOWN, BWL_XFRM_IN, BWL_XFRM_OUT, BWL_XFRM_FWD };

struct bwl_xfrm_mark {
	uint32_t v, m;
};
#define BWL_XFRM_INF (~0ULL) /* as reported by the kernel: no such limit */
/* Seconds, bytes and packets; times count from add_s or use_s, which are of the wall clock. */
struct bwl_xfrm_life {
	uint64_t soft_bytes, hard_bytes, soft_packets, hard_packets;
	uint64_t soft_add, hard_add, soft_use, hard_use; /* seconds; 0: no such limit */
	uint64_t bytes, packets, add_s, use_s;           /* so far; use_s 0: not used yet */
};

struct bwl_xfrm_sa {
	struct bwl_xfrm_addr src, dst;
	__be32 spi;
	uint32_t if_id, reqid, offload_ifindex;
	/* the owner: from if_id, or from its marks on a plain interface (maps/tunnel.h) */
	uint32_t peer;
	struct bwl_xfrm_mark mark;
	uint8_t proto, mode; /* IPPROTO_ESP …; XFRM_MODE_TUNNEL … */
	uint8_t dir;         /* IN or OUT if the kernel reports it (6.10, or offloaded) */
	uint8_t offload;     /* enum bwl_offload; read back, so the device did accept it */
	bool keyed;          /* false: larval, only its SPI is reserved */
	bool encrypts;       /* also false for the null cipher and for GMAC */
	bool authenticates;
	bool udp; /* ESP in UDP (RFC 3948) */
	bool esn;
	/* maximum bytes added to an inner packet, including padding; 0: unknown */
	uint16_t overhead;
	uint32_t stamp; /* for who keeps a table of them */
	char alg[64];   /* the cipher's name in the kernel: "rfc4106(gcm(aes))" */
	struct bwl_xfrm_life life;
};
/* Is it within its hard limits at this wall-clock time? */
bool bwl_xfrm_sa_alive(const struct bwl_xfrm_sa *sa, uint64_t now_s);

struct bwl_xfrm_policy {
	uint32_t index; /* its number in the kernel */
	uint32_t stamp; /* for who keeps a table of them */
	uint32_t if_id, priority, offload_ifindex;
	uint32_t peer; /* as of an SA */
	struct bwl_xfrm_mark mark;
	struct bwl_xfrm_addr sel_src, sel_dst;
	uint8_t sel_src_len, sel_dst_len;
	bool sel_all;    /* the selector matches every packet of its family */
	bool sel_ike;    /* it matches key exchange only: UDP from or to port 500 or 4500 */
	uint8_t dir;     /* enum bwl_xfrm_dir */
	uint8_t type;    /* XFRM_POLICY_TYPE_MAIN or _SUB */
	bool block;      /* drops matching packets */
	uint8_t offload; /* enum bwl_offload: NONE or PACKET */
	uint8_t ntmpl;   /* 0: lets packets pass unchanged */
	struct {         /* the first template */
		struct bwl_xfrm_addr src, dst;
		__be32 spi;
		uint32_t reqid;
		uint8_t proto, mode;
		bool optional;
	} tmpl;
};

enum bwl_xfrm_kind {
	BWL_XFRM_OTHER, /* of no interest here */
	BWL_XFRM_SA,
	BWL_XFRM_SA_GONE,
	BWL_XFRM_POLICY,
	BWL_XFRM_POLICY_GONE,
	BWL_XFRM_SA_FLUSH,
	BWL_XFRM_POLICY_FLUSH,
	BWL_XFRM_UNCLEAR, /* a change that only a new dump explains */
};
struct bwl_xfrm_msg {
	enum bwl_xfrm_kind kind;
	uint8_t proto; /* SA_FLUSH: of this protocol; 0 all */
	union {
		struct bwl_xfrm_sa sa;         /* SA, SA_GONE */
		struct bwl_xfrm_policy policy; /* POLICY, POLICY_GONE */
	};
};

/* xfrm_msg.c, no I/O: one netlink message, complete and aligned to 4. -EBADMSG: invalid. */
int bwl_xfrm_decode(const struct nlmsghdr *h, struct bwl_xfrm_msg *ret, struct bwl_err *e);

/*
 * xfrm.c. fn returns non-zero to stop, which is returned. -EBADMSG: a message was not understood.
 */
typedef int (*bwl_xfrm_fn)(const struct bwl_xfrm_msg *m, void *arg);
int bwl_xfrm_dump_sas(bwl_xfrm_fn fn, void *arg, struct bwl_err *e);
int bwl_xfrm_dump_policies(bwl_xfrm_fn fn, void *arg, struct bwl_err *e);

/* Notifications: none after this call is missed, or bwl_xfrm_news_read() returns -ENOBUFS. */
struct bwl_xfrm_news;
int bwl_xfrm_news_open(struct bwl_xfrm_news **ret, struct bwl_err *e);
void bwl_xfrm_news_close(struct bwl_xfrm_news *n);   /* NULL-safe */
int bwl_xfrm_news_fd(const struct bwl_xfrm_news *n); /* for poll(2) */
/* The result of one read, without waiting: -EAGAIN: nothing, -ENOBUFS: notifications were lost. */
int bwl_xfrm_news_read(struct bwl_xfrm_news *n, bwl_xfrm_fn fn, void *arg, struct bwl_err *e);

/* The kernel's treatment of packets that no policy matches; without if_id. Kernel 5.14. */
struct bwl_xfrm_default {
	bool known, blocks_in, blocks_fwd, blocks_out;
};
int bwl_xfrm_default_get(struct bwl_xfrm_default *ret, struct bwl_err *e);

/*
 * xfrm_drop.c: revocation. Removes every SA and then every policy of the wanted peers, in one pass
 * for all of them, and repeats until none is left: -EBUSY if something makes new ones faster.
 * Involves only the kernel. SAs go first: a policy without an SA lets nothing out, also in a
 * device, while an SA without its policy may be bypassed.
 */
struct bwl_xfrm_dropped {
	uint32_t sas, policies;
};
typedef bool (*bwl_xfrm_wanted)(uint32_t peer, const void *arg);
int bwl_xfrm_drop(bwl_xfrm_wanted wanted, const void *arg, struct bwl_xfrm_dropped *ret,
		  struct bwl_err *e);
/* Removes these SAs; one that has gone meanwhile is no error. */
int bwl_xfrm_remove(const struct bwl_xfrm_sa *sas, size_t n, struct bwl_err *e);

/*
 * What protects when an SA is gone. For SAs in software or with crypto offload it is the xfrm
 * interface itself: it drops packets without a policy or an SA. With packet offload the device gets
 * cleartext, so there must be a drop policy in the device: *ret4 and *ret6 tell whether there is
 * one, offloaded to the interface, below all others of the family.
 */
bool bwl_xfrm_is_device_block(const struct bwl_xfrm_policy *p); /* for all of one family */
/*
 * A policy in a device that, by its priority, lets anything except key exchange out in the clear.
 */
bool bwl_xfrm_is_device_leak(const struct bwl_xfrm_policy *p);
int bwl_xfrm_device_blocks(uint32_t ifindex, bool *ret4, bool *ret6, struct bwl_err *e);

#endif
