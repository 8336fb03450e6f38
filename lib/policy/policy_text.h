/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the policy reader only. libcyaml fills the structures of strings below; what the
 * strings mean, and every complaint about them, is policy_yaml.c's. libcyaml forgets where a
 * value stood: policy_scan.c finds the place again, and only when there is something to say.
 */
#ifndef BWL_POLICY_TEXT_H
#define BWL_POLICY_TEXT_H

#include "bwl/policy.h"

#define BWL_MAX_POLICY_BYTES (512UL << 20)

/* One step from a YAML node to its child: a key, or an index when key is NULL. */
struct bwl_step {
	const char *key;
	size_t index;
};

#define BWL_PATH_STEPS 6
struct bwl_where {
	struct bwl_step step[BWL_PATH_STEPS];
	unsigned n;
};

struct bwl_node {
	const struct bwl_step *path;
	unsigned depth;        /* steps in path; the last is this node's own */
	bool is_key;           /* the key itself, before its value */
	const char *scalar;    /* NULL: a list or a mapping begins */
	bool plain;            /* a scalar without quotes */
	unsigned line, column; /* from 1 */
	size_t offset;         /* in characters */
};

/*
 * Walks the document in order and calls fn for every node until it returns non-zero, which is
 * then returned. Syntax errors fill *e with their position.
 */
int bwl_scan(const char *text, size_t len, int (*fn)(void *arg, const struct bwl_node *n),
	     void *arg, struct bwl_err *e);

enum bwl_locate { BWL_AT_VALUE, BWL_AT_KEY, BWL_AT_SECOND_KEY };
/* Puts line and column of the node, or of its nearest ancestor, into *e. */
void bwl_scan_locate(const char *text, size_t len, const struct bwl_where *w, enum bwl_locate what,
		     struct bwl_err *e);
/* Fills `line` of host ports, zones and peers. */
void bwl_scan_lines(const char *text, size_t len, struct bwl_policy *p);

/* What the schema must know before libcyaml reads: the keys it cannot guess. */
struct bwl_prescan {
	char (*zones)[BWL_NAME_LEN];
	size_t nzones;
	size_t *silent;
	size_t nsilent; /* indices of peers with `accept: none`, rising */
};
/*
 * libcyaml has no value that is either a word or a mapping: `none` after accept becomes `{}`
 * in *text, which is replaced by a copy in *copy when anything changes.
 */
int bwl_prescan(const char **text, size_t len, char **copy, struct bwl_prescan *ret,
		struct bwl_err *e);
void bwl_prescan_done(struct bwl_prescan *s);

struct bwl_text_limit {
	char *rate, *burst, *volume, *mode, *mark, *until;
};

struct bwl_text_port {
	char *dev;
	char **sources;
	unsigned sources_count;
	char **vlans;
	unsigned vlans_count;
	char *mac;
	struct bwl_text_limit *limit;
};

struct bwl_text_service {
	char *class_, *proto, *port;
};
struct bwl_text_classes {
	struct bwl_text_limit *limit[_BWL_CLASS_MAX];
};
struct bwl_text_zones {
	struct bwl_text_limit *limit[BWL_MAX_ZONES];
};
struct bwl_text_ipsec {
	char *remote, *id, *ppk;
};

/* The keys of the top-level `ipsec`: also members of struct bwl_pol_ipsec, times with _ns. */
/* clang-format off */
#define BWL_IPSEC_KEYS(X) \
	X(id) \
	X(local) X(ca) X(ppk) X(start) X(revocation) X(hw_offload) X(rekey) X(hard) X(ike_rekey) \
		X(reauth) X(dpd) X(replay_window) X(copy_ecn)
/* clang-format on */

enum bwl_ipsec_key {
#define X(k) BWL_IPSEC_##k,
	BWL_IPSEC_KEYS(X)
#undef X
		_BWL_IPSEC_MAX
};
struct bwl_text_node_ipsec {
	char *value[_BWL_IPSEC_MAX];
};
struct bwl_text_tamper {
	char *value[_BWL_TAMPER_MAX];
};

struct bwl_text_peer {
	char *name;
	char **addresses;
	unsigned addresses_count;
	char *zone, *contained;
	struct bwl_text_limit *grant, *accept, *floor;
	struct bwl_text_classes *classes;
	char *path, *via, *via6, *uplink;
	char **from;
	unsigned from_count;
	struct bwl_text_ipsec *ipsec;
};

struct bwl_text_policy {
	char *version, *node;
	char **uplinks;
	unsigned uplinks_count;
	char **uplink_control;
	unsigned uplink_control_count;
	struct bwl_text_port *host_ports;
	unsigned host_ports_count;
	char *heartbeat, *default_, *min_charge, *horizon, *ledger, *lease;
	struct bwl_text_limit *node_limit;
	struct bwl_text_node_ipsec *ipsec;
	struct bwl_text_tamper *tamper;
	struct bwl_text_zones *zones;
	struct bwl_text_service *services;
	unsigned services_count;
	struct bwl_text_peer *peers;
	unsigned peers_count;
};

/* libcyaml by the schema; a complaint names the place and what is accepted there. */
int bwl_text_load(const char *text, size_t len, const struct bwl_prescan *scan,
		  struct bwl_text_policy **ret, struct bwl_err *e);
void bwl_text_free(struct bwl_text_policy *t, const struct bwl_prescan *scan);

/* bwl_policy_check() that also says which value it complains about. */
int bwl_policy_check_at(struct bwl_policy *p, const char *file, struct bwl_where *w,
			struct bwl_err *e);
/* The part of it that compares prefixes with each other. */
int bwl_policy_check_overlaps(struct bwl_policy *p, const char *file, struct bwl_where *w,
			      struct bwl_err *e);
/* policy_ipsec.c: the top-level `ipsec`, and a peer's id and ppk (remote is the path's). */
void bwl_ipsec_defaults(struct bwl_pol_ipsec *x);
void bwl_ipsec_dump(const struct bwl_policy *p, FILE *f);
void bwl_ipsec_dump_peer(const struct bwl_pol_peer *x, FILE *f);
/* policy_tamper.c */
void bwl_tamper_dump(const struct bwl_policy *p, FILE *f);
void bwl_policy_warn(struct bwl_policy *p, const char *file, unsigned line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void bwl_policy_drop_warnings(struct bwl_policy *p);

static inline void bwl_where_key(struct bwl_where *w, const char *key)
{
	if (w->n < BWL_PATH_STEPS)
		w->step[w->n++] = (struct bwl_step){ .key = key };
}

static inline void bwl_where_index(struct bwl_where *w, size_t index)
{
	if (w->n < BWL_PATH_STEPS)
		w->step[w->n++] = (struct bwl_step){ .index = index };
}

#endif
