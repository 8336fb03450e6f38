/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Converts strings to values, step by step, so that an error knows its place. What cannot be read
 * is told, and stays empty: a list keeps an empty entry for it, so that indices are those of the
 * file. Library only.
 */
#ifndef BWL_POLICY_CONV_H
#define BWL_POLICY_CONV_H

#include "policy_report.h"
#include "policy_text.h"

struct bwl_conv {
	const struct bwl_text_policy *t;
	const struct bwl_prescan *scan;
	struct bwl_policy *p;
	uint64_t now_boot_ns;
	int64_t now_wall_s;
	const char *file;
	struct bwl_place w; /* place of what is being read */
	struct bwl_report *rep;
	struct bwl_err *e; /* the report's */
};

/* Steps down to a key and returns where it stepped from, for bwl_conv_ok(). */
unsigned bwl_conv_down(struct bwl_conv *c, const char *key);
/* Tells error r (0: none) of what is at c->w, then steps back. False: there was one. */
bool bwl_conv_ok(struct bwl_conv *c, int r, unsigned back);
void bwl_conv_missing(struct bwl_conv *c, const char *key, const char *domain);
/* domain: for the error if s is NULL. */
void bwl_conv_name(struct bwl_conv *c, const char *key, const char *s, const char *domain,
		   char *ret, size_t size);
/* t may be NULL: no limit. The caller steps down to the limit's own key, and back. */
void bwl_conv_limit(struct bwl_conv *c, const struct bwl_text_limit *t, struct bwl_lim *ret);
int bwl_conv_number(struct bwl_conv *c, const char *s, unsigned long min, unsigned long max,
		    unsigned long *ret);
void bwl_conv_prefixes(struct bwl_conv *c, const char *key, char **list, unsigned n,
		       struct bwl_pfx **ret, size_t *ret_n);
void bwl_conv_tamper(struct bwl_conv *c, const struct bwl_text_tamper *t);
void bwl_conv_ipsec(struct bwl_conv *c, const struct bwl_text_node_ipsec *t);
void bwl_conv_peer_ipsec(const struct bwl_text_ipsec *t, struct bwl_pol_peer *x);
void bwl_conv_peer(struct bwl_conv *c, const struct bwl_text_peer *t, struct bwl_pol_peer *x);

#endif
