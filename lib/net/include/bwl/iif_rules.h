/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Policy routing by input device: a lock that needs no process, no program and no mark. The kernel
 * takes packets for itself from the devices named here and from no other, forwards from none but
 * management's, and sends what has our mark nowhere. IPv4 and IPv6, in the network namespace of the
 * caller:
 *
 *   1  iif lo, each management device: table local; each uplink and host port: what has the mark,
 * too. The programs there give it to what they let up, so that a device that has a port's name and
 * no program leads nowhere 2  iif each management device: goto 4, on to a site's own rules 3  not
 * iif lo: blackhole, which answers nothing 4  nop 5  oif the tunnel device: its table 6  fwmark:
 * blackhole
 *
 * Rule 0 of the kernel, which leads everybody to table local, is gone while it stands.
 */
#ifndef BWL_IIF_RULES_H
#define BWL_IIF_RULES_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <bwl/err.h>

#define BWL_LOCK_DEVS 64

enum bwl_lock_kind { BWL_LOCK_UPLINK, BWL_LOCK_MANAGEMENT, BWL_LOCK_HOST };

struct bwl_lock {
	struct {
		char name[IFNAMSIZ]; /* the device need not be there yet: the rule waits for it */
		enum bwl_lock_kind kind;
	} dev[BWL_LOCK_DEVS];
	unsigned n;
	char tunnel[IFNAMSIZ]; /* empty: none */
	uint32_t table;        /* the tunnel device's */
	uint32_t mark, mask;   /* mask 0: no mark is known yet */
};

/* False where it is full or holds the device already. */
bool bwl_lock_add(struct bwl_lock *l, const char *name, enum bwl_lock_kind kind);
/*
 * Puts right whatever is not as `want` says, one netlink call after the other: first what keeps a
 * way open is added, last what is too much goes; killed in between, no way is cut and none is more
 * open than before.
 */
int bwl_lock_set(const struct bwl_lock *want, struct bwl_err *e);
/* Says what is not as it should be, a line each. Returns how many they are, or a negative errno. */
int bwl_lock_look(const struct bwl_lock *want, void (*say)(void *arg, const char *what), void *arg,
		  struct bwl_err *e);
/* Does any rule of ours stand? False also where that cannot be said. */
bool bwl_lock_stands(void);
/* Rule 0 first, then ours away. Without any of ours it does nothing. */
int bwl_lock_open(struct bwl_err *e);

#endif
