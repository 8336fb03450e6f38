/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internal: shared by the comparisons of widen*.c. Each adds to `to` what is wider. */
#ifndef BWL_SIGNED_WIDEN_PARTS_H
#define BWL_SIGNED_WIDEN_PARTS_H

#include <bwl/identity.h>
#include "signed/widen.h"

struct widen {
	const struct bwl_policy *from, *to;
	struct bwl_widened *ret;
	const struct bwl_holding *clocks;
};

/* widen_list.c: the peers by name, to be freed, and the one of p's name in such a list; or NULL. */
const struct bwl_pol_peer **widen_sorted(const struct bwl_policy *p);
const struct bwl_pol_peer *widen_same(const struct bwl_pol_peer *const *sorted, size_t n,
				      const struct bwl_pol_peer *p);

void widen_add(struct widen *w, const char *where, const char *what, const char *from,
	       const char *to);
/* A number that may only fall, formatted by `show`; UINT64_MAX: no limit. */
typedef char *(*widen_show)(uint64_t v, char *buf);
void widen_number(struct widen *w, const char *where, const char *what, uint64_t from, uint64_t to,
		  widen_show show);

/* widen_limit.c. An absent limit limits nothing. */
void widen_limit(struct widen *w, const char *where, const struct bwl_lim *a,
		 const struct bwl_lim *b);

/* widen_peer.c: is anything of it open? a and b have the same name. */
bool widen_is_open(const struct bwl_pol_peer *p);
/* the far DPU's identity, canonical */
const char *widen_id(const struct bwl_pol_peer *p, char buf[static BWL_IDENTITY_SIZE]);
void widen_peer(struct widen *w, const struct bwl_pol_peer *a, const struct bwl_pol_peer *b);

/* widen_places.c: who has which addresses */
void widen_places(struct widen *w);

/* widen_hops.c: what a peer does to the others' way, and to the DPU, open or closed */
void widen_hops(struct widen *w);

/* widen_node.c: what is no peer's */
void widen_node(struct widen *w);

#endif
