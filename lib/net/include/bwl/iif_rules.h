/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Policy routing by input device: a lock that needs no process, no program and no mark. The kernel
 * accepts packets for itself only from the devices named here, forwards only from management
 * devices, and discards what it routes with our mark. IPv4 and IPv6, in the caller's network
 * namespace:
 *
 *   1  iif lo, iif each management device: table local; iif each uplink and host port: likewise,
 *      but only with the mark. The programs there mark what they let up, so a device with a port's
 *      name but without a program leads nowhere.
 *   2  iif each management device: goto 4, to a site's own rules.
 *   3  not iif lo: blackhole, which answers nothing.
 *   4  nop.
 *   5  oif the tunnel device: its table.
 *   6  fwmark: blackhole.
 *
 * Meanwhile the kernel's rule 0, which leads everybody to table local, does not exist. Its rules
 * for main and default (IPv4) stay behind these, and are set where they are missing: what the DPU
 * itself sends rests on them.
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
		char name[IFNAMSIZ]; /* the device may be missing: the rule waits for it */
		enum bwl_lock_kind kind;
	} dev[BWL_LOCK_DEVS];
	unsigned n;
	char tunnel[IFNAMSIZ]; /* empty: none */
	uint32_t table;        /* the tunnel device's */
	uint32_t mark, mask;   /* mask 0: no mark is known yet */
};

/* false: the list is full, or has the device already. */
bool bwl_lock_add(struct bwl_lock *l, const char *name, enum bwl_lock_kind kind);
/*
 * Corrects whatever differs from `want`, one netlink call after another: first what keeps a way
 * open is added, and last what is superfluous is removed. After a kill in between no way is cut
 * off, and none is more open than before.
 */
int bwl_lock_set(const struct bwl_lock *want, struct bwl_err *e);
/*
 * Reports each difference from `want` in a line. Returns how many there are, or a negative errno.
 */
int bwl_lock_look(const struct bwl_lock *want, void (*say)(void *arg, const char *what), void *arg,
		  struct bwl_err *e);
/* Is any of our rules set? Also false if that cannot be determined. */
bool bwl_lock_stands(void);
/* Sets rule 0 first, then removes ours. Does nothing if there are none of ours. */
int bwl_lock_open(struct bwl_err *e);

#endif
