/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the policy reader only. libcyaml fills the structures of strings below; policy_yaml.c
 * gives the strings their meaning and reports every error in them. libcyaml does not keep the place
 * of a value: bwl/yaml_walk.h finds it again, only when there is something to report.
 */
#ifndef BWL_POLICY_TEXT_H
#define BWL_POLICY_TEXT_H

#include "bwl/policy.h"
#include "bwl/yaml_walk.h"

/* Fills `line` of host ports, zones and peers. */
void bwl_scan_lines(const char *text, size_t len, struct bwl_policy *p);

/* What the schema needs to know before libcyaml reads: keys that vary from file to file. */
struct bwl_prescan {
	char (*zones)[BWL_NAME_LEN];
	size_t nzones;
	size_t *silent;
	size_t nsilent; /* indices of peers with `accept: none`, in rising order */
	char (*ports)[16];
	size_t nports; /* keys of the peers' `ports`, each once */
};
/* Is s a name for one more key of `zones`, or of a peer's `ports`, that has n already? */
int bwl_prescan_name(bool zone, const char *s, size_t n, struct bwl_err *e);
/*
 * libcyaml has no value that is either a word or a mapping, so `none` after accept becomes `{}`:
 * *text is replaced by a copy in *copy if anything changes.
 */
int bwl_prescan(const char **text, size_t len, char **copy, struct bwl_prescan *ret,
		struct bwl_err *e);
void bwl_prescan_done(struct bwl_prescan *s);

/*
 * The keys of each mapping, once: the structures that libcyaml fills and its schema
 * (policy_schema.c) are made from these lists. X(S, kind, key, member, T, fields): S is passed on.
 * Kinds: TEXT, a scalar; KEY, a scalar whose row (policy_key.h) is T; TEXTS, a list of scalars;
 * SOME, such a list that is not empty; MAP, a bwl_text_T with this list of fields; MAPS, a list of
 * these.
 */
/* clang-format off */
#define BWL_LIMIT_KEYS(X, S) \
	X(S, TEXT, "rate", rate, , ) X(S, TEXT, "burst", burst, , ) X(S, TEXT, "volume", volume, , )
#define BWL_GRANT_KEYS(X, S) \
	X(S, TEXT, "mode", mode, , ) X(S, TEXT, "mark", mark, , ) X(S, TEXT, "until", until, , )
#define BWL_ZONE_KEYS(X, S) \
	X(S, KEY, "share", share, \
	  (KEPT(bwl_pol_zone, weighted), .kind = BWL_K_YESNO, .words = "first-come or weighted", \
	   .apart = true), )
#define BWL_PORT_KEYS(X, S) \
	X(S, TEXT, "dev", dev, , ) X(S, TEXTS, "sources", sources, , ) X(S, TEXTS, "vlans", vlans, , ) \
	X(S, TEXT, "mac", mac, , ) X(S, MAP, "limit", limit, limit, limit)
#define BWL_SERVICE_KEYS(X, S) \
	X(S, TEXT, "class", class_, , ) X(S, TEXT, "proto", proto, , ) X(S, TEXT, "port", port, , )
#define BWL_PEER_IPSEC_KEYS(X, S) \
	X(S, TEXT, "remote", remote, , ) X(S, TEXT, "id", id, , ) X(S, TEXT, "ppk", ppk, , )
/* `from`: an empty list would read as "from nowhere" and mean "from everywhere" */
#define BWL_PEER_KEYS(X, S) \
	X(S, TEXT, "name", name, , ) X(S, TEXTS, "addresses", addresses, , ) \
	X(S, KEY, "zone", zone, (KEPT(bwl_pol_peer, zone), .kind = BWL_K_TEXT, .apart = true), ) \
	X(S, KEY, "weight", weight, \
	  (KEPT(bwl_pol_peer, weight), .kind = BWL_K_NUMBER, .min = 1, .max = BWL_WEIGHT_MAX, \
	   .zero_is_none = true), ) \
	X(S, KEY, "contained", contained, \
	  (KEPT(bwl_pol_peer, contained), .kind = BWL_K_YESNO, .words = "false or true"), ) \
	X(S, MAP, "grant", grant, limit, grant) X(S, MAP, "accept", accept, limit, limit) \
	X(S, MAP, "floor", floor, limit, limit) X(S, MAP, "classes", classes, classes, class) \
	X(S, MAP, "ports", ports, tenants, tenants) \
	X(S, TEXT, "path", path, , ) X(S, TEXT, "via", via, , ) X(S, TEXT, "via6", via6, , ) \
	X(S, KEY, "uplink", uplink, (KEPT(bwl_pol_peer, uplink), .kind = BWL_K_TEXT, .apart = true), ) \
	X(S, KEY, "next_hop_mac", next_hop_mac, (KEPT(bwl_pol_peer, next_hop_mac), .kind = BWL_K_MAC), ) \
	X(S, SOME, "from", from, , ) \
	X(S, MAP, "ipsec", ipsec, ipsec, ipsec)
/* `zones` is first: its keys are filled in for every file */
#define BWL_TOP_KEYS(X, S) \
	X(S, MAP, "zones", zones, zones, zones) \
	X(S, TEXT, "version", version, , ) X(S, TEXT, "node", node, , ) \
	X(S, TEXTS, "uplinks", uplinks, , ) X(S, TEXTS, "uplink_control", uplink_control, , ) \
	X(S, MAPS, "host_ports", host_ports, port, port) \
	X(S, TEXT, "heartbeat", heartbeat, , ) \
	X(S, KEY, "lease", lease, \
	  (KEPT(bwl_policy, lease_ns), .kind = BWL_K_TIME, .min = BWL_LEASE_MIN_NS, \
	   .max = BWL_LEASE_MAX_NS, .zero_is_none = true), ) \
	X(S, KEY, "default", default_, \
	  (KEPT(bwl_policy, reject), .kind = BWL_K_YESNO, .words = "deny or reject", \
	   .always = true), ) \
	X(S, MAP, "node_limit", node_limit, limit, limit) \
	X(S, KEY, "min_charge", min_charge, \
	  (KEPT(bwl_policy, min_charge), .kind = BWL_K_SIZE, .max = 65535, .standard = "64b"), ) \
	X(S, KEY, "horizon", horizon, \
	  (KEPT(bwl_policy, horizon_ns), .kind = BWL_K_TIME, .min = 1000000, .max = 1000000000, \
	   .words = "auto"), ) \
	X(S, KEY, "ledger", ledger, \
	  (KEPT(bwl_policy, ledger), .kind = BWL_K_YESNO, .words = "auto or required"), ) \
	X(S, KEY, "count_classes", count_classes, \
	  (KEPT(bwl_policy, count_all), .kind = BWL_K_YESNO, .words = "limited or all"), ) \
	X(S, MAP, "ipsec", ipsec, node_ipsec, node_ipsec) \
	X(S, MAP, "tamper", tamper, tamper, tamper) X(S, MAPS, "services", services, service, service) \
	X(S, MAPS, "peers", peers, peer, peer)
/* clang-format on */

#define BWL_TEXT_MEMBER(S, kind, key, member, T, fields) BWL_TEXT_##kind(member, T)
#define BWL_TEXT_TEXT(member, T) char *member;
#define BWL_TEXT_KEY(member, T) char *member;
#define BWL_TEXT_TEXTS(member, T)                                                                  \
	char **member;                                                                             \
	unsigned member##_count;
#define BWL_TEXT_SOME(member, T) BWL_TEXT_TEXTS(member, T)
#define BWL_TEXT_MAP(member, T) struct bwl_text_##T *member;
#define BWL_TEXT_MAPS(member, T)                                                                   \
	struct bwl_text_##T *member;                                                               \
	unsigned member##_count;

struct bwl_text_limit {
	BWL_LIMIT_KEYS(BWL_TEXT_MEMBER, )
	BWL_GRANT_KEYS(BWL_TEXT_MEMBER, )
	BWL_ZONE_KEYS(BWL_TEXT_MEMBER, )
};
struct bwl_text_port {
	BWL_PORT_KEYS(BWL_TEXT_MEMBER, )
};
struct bwl_text_service {
	BWL_SERVICE_KEYS(BWL_TEXT_MEMBER, )
};
struct bwl_text_classes {
	struct bwl_text_limit *limit[_BWL_CLASS_MAX];
};
struct bwl_text_tenants {
	struct bwl_text_limit *limit[BWL_MAX_PORTS];
};
struct bwl_text_zones {
	struct bwl_text_limit *limit[BWL_MAX_ZONES];
};
struct bwl_text_ipsec {
	BWL_PEER_IPSEC_KEYS(BWL_TEXT_MEMBER, )
};

/* Keys of the top-level `ipsec`; also members of struct bwl_pol_ipsec, where times end in _ns. */
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
	BWL_PEER_KEYS(BWL_TEXT_MEMBER, )
};

struct bwl_text_policy {
	BWL_TOP_KEYS(BWL_TEXT_MEMBER, )
};

struct bwl_report;
/* Reads a text with libcyaml by the schema; an error names the place and what is accepted there. */
int bwl_text_load(const char *text, size_t len, const struct bwl_prescan *scan,
		  struct bwl_text_policy **ret, struct bwl_err *e);
void bwl_text_free(struct bwl_text_policy *t, const struct bwl_prescan *scan);

/*
 * policy_shape.c: tells every key and kind of t->text that the schema does not know. *ret is the
 * text without them, for bwl_text_load(), or stays as it is if there are none.
 */
int bwl_shape_check(struct bwl_report *t, char **ret, size_t *ret_len);
/* bwl_policy_check() with a report. */
void bwl_check_policy(struct bwl_policy *p, const char *file, struct bwl_report *t);
/* policy_ipsec.c: the top-level `ipsec`, and a peer's id and ppk (remote belongs to the path). */
void bwl_ipsec_defaults(struct bwl_pol_ipsec *x);
void bwl_ipsec_dump(const struct bwl_policy *p, FILE *f);
void bwl_ipsec_dump_peer(const struct bwl_pol_peer *x, FILE *f);
/* policy_tamper.c */
void bwl_tamper_dump(const struct bwl_policy *p, FILE *f);
void bwl_policy_warn(struct bwl_policy *p, const char *file, unsigned line, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void bwl_policy_drop_warnings(struct bwl_policy *p);

#endif
