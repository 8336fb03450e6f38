/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Converts strings to values, step by step, so that an error knows its place. Library only. */
#ifndef BWL_POLICY_CONV_H
#define BWL_POLICY_CONV_H

#include "policy_text.h"

struct bwl_conv {
	const struct bwl_text_policy *t;
	const struct bwl_prescan *scan;
	struct bwl_policy *p;
	uint64_t now_boot_ns;
	int64_t now_wall_s;
	const char *file, *text;
	size_t len;
	struct bwl_place w; /* place of what is being read: stays where an error happened */
	struct bwl_err *e;
	struct bwl_errors *all; /* NULL: ends with the first error */
	bool checking;          /* the whole policy is being checked; reading is over */
};

/* policy_errors.c */
bool bwl_errors_has(const struct bwl_errors *all, const char *section);
/* Adds *e, at w. 0: added, or already there; r: no room. */
int bwl_errors_add(struct bwl_errors *all, const struct bwl_place *w, int r,
		   const struct bwl_err *e);
void bwl_errors_sort(struct bwl_errors *all);
/*
 * Keeps error r, unless it follows from another one, and steps back. 0: continue with what follows.
 */
int bwl_conv_go_on(struct bwl_conv *c, int r, unsigned back);
/* The same for a result of bwl_conv_*(): puts the place in front of the message. */
int bwl_conv_next(struct bwl_conv *c, int r, unsigned back);
void bwl_conv_prefix_error(struct bwl_conv *c);

/*
 * Steps down to a key and returns where it stepped from. The caller steps back by assigning
 * that to w.n; after an error it does not, and w says where the error is.
 */
unsigned bwl_conv_down(struct bwl_conv *c, const char *key);
int bwl_conv_missing(struct bwl_conv *c, const char *key, const char *domain);
int bwl_conv_name(struct bwl_conv *c, const char *key, const char *s, char *ret, size_t size);
/* t may be NULL: no limit. The caller steps down to the limit's own key. */
int bwl_conv_limit(struct bwl_conv *c, const struct bwl_text_limit *t, struct bwl_lim *ret);
int bwl_conv_number(struct bwl_conv *c, const char *s, unsigned long min, unsigned long max,
		    unsigned long *ret);
int bwl_conv_prefixes(struct bwl_conv *c, const char *key, char **list, unsigned n,
		      struct bwl_pfx **ret, size_t *ret_n);
int bwl_conv_tamper(struct bwl_conv *c, const struct bwl_text_tamper *t);
int bwl_conv_ipsec(struct bwl_conv *c, const struct bwl_text_node_ipsec *t);
int bwl_conv_peer_ipsec(struct bwl_conv *c, const struct bwl_text_ipsec *t, struct bwl_pol_peer *x);
int bwl_conv_peer(struct bwl_conv *c, const struct bwl_text_peer *t, struct bwl_pol_peer *x);

#endif
