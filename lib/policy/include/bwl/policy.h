/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A checked policy as people write it, read from a YAML file or read back from the pinned maps.
 * Everything here owns its memory; bwl_policy_free() frees it all. Units: rates bit/s, sizes bytes,
 * times ns; addresses in network byte order.
 */
#ifndef BWL_POLICY_H
#define BWL_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <bwl/bursts.h>
#include <bwl/cleanup.h>
#include <bwl/clock.h>
#include <bwl/err.h>
#include <bwl/prefix.h>
#include <bwl/words.h>
#include "maps/words.h"

struct bwl_lim {
	uint64_t rate_bps;  /* BWL_NO_RATE: unlimited */
	uint64_t burst;     /* bytes; 0: the default for the rate, bwl_default_burst() */
	uint64_t volume;    /* bytes, when has_volume */
	uint64_t window_ns; /* 0: total */
	bool has_volume;
	bool present; /* the policy contains this limit */
};

struct bwl_pol_port {
	char name[BWL_NAME_LEN]; /* device name */
	struct bwl_pfx *sources;
	size_t nsources;
	uint16_t vlans[BWL_MAX_VLANS];
	size_t nvlans;
	uint8_t mac[6];
	bool has_mac;
	struct bwl_lim limit;
	unsigned line;
};

struct bwl_pol_zone {
	char name[BWL_NAME_LEN];
	struct bwl_lim limit;
	bool weighted; /* its rate is shared by the weights of its members */
	unsigned line;
};

/* What one host port may send to a peer. */
struct bwl_pol_tenant {
	char port[16]; /* device */
	struct bwl_lim limit;
};

struct bwl_pol_peer {
	char name[BWL_NAME_LEN];
	struct bwl_pfx *addresses;
	size_t naddresses;
	char zone[BWL_NAME_LEN];      /* empty: none */
	uint32_t weight;              /* in a zone that is shared by weight; 0: 1 */
	char from[BWL_MAX_PORTS][16]; /* host ports by device; used when nfrom > 0 */
	size_t nfrom;
	bool contained;
	bool revoked;          /* read back from the maps; never in a file */
	struct bwl_lim grant;  /* present: has a grant */
	uint8_t mode;          /* enum bwl_mode */
	uint8_t mark_pct;      /* mode mark: CE from this per cent of the burst; default 50 */
	uint64_t expiry_ns;    /* CLOCK_BOOTTIME; BWL_NEVER_NS */
	struct bwl_lim accept; /* absent: the default, see bwl_default_accept() */
	bool accept_none;      /* `accept: none`: nothing may arrive */
	struct bwl_lim floor;
	struct bwl_lim class_[_BWL_CLASS_MAX];
	struct bwl_pol_tenant *tenants; /* `ports` */
	size_t ntenants;
	uint8_t path;    /* enum bwl_path */
	char uplink[16]; /* empty: the first one */
	bool has_via4, has_via6;
	uint8_t via4[4], via6[16];
	uint8_t next_hop_mac[6];    /* zeroes: it is resolved */
	char ipsec_remote[64];      /* path xfrm or offload; empty otherwise */
	char *ipsec_id, *ipsec_ppk; /* only from a file; NULL: the default (its name, the node's) */
	unsigned line;
};

struct bwl_pol_service { /* overrides of the built-in class table */
	uint8_t class_;  /* enum bwl_class */
	uint8_t proto;   /* IP protocol: 6, 17, or any other with port 0 */
	uint16_t port;
};

/*
 * strongSwan's configuration beside the peers. It exists only in the file: neither the maps nor the
 * digest have it. The words are strongSwan's own. policy_ipsec.c has domains and defaults.
 */
struct bwl_pol_ipsec {
	char id[256];   /* empty: the node's name */
	char local[64]; /* address; empty: chosen by routes */
	char ca[64];    /* file in swanctl's x509ca; empty: any CA that charon has */
	char ppk[64];   /* id of a post-quantum preshared key (RFC 8784); empty: none */
	char start[16], revocation[16], hw_offload[16];
	uint64_t rekey_ns, hard_ns;       /* CHILD_SA */
	uint64_t ike_rekey_ns, reauth_ns; /* IKE_SA; reauth 0: never */
	uint64_t dpd_ns;
	uint32_t replay_window;
	bool copy_ecn;
};

/* Signs of tampering, and bwlimitd's action for each. Only in the file, like ipsec. */
#define BWL_TAMPER_KEYS(X)                                                                         \
	X(carrier)                                                                                 \
	X(neighbour) X(port) X(intrusion) X(cleartext) X(program) X(command) X(counters) X(lease)
enum bwl_tamper_input {
#define X(k) BWL_TAMPER_##k,
	BWL_TAMPER_KEYS(X)
#undef X
		_BWL_TAMPER_MAX
};
enum bwl_action {
	BWL_ACTION_LOG,
	BWL_ACTION_CLAMP,
	BWL_ACTION_REVOKE,
	BWL_ACTION_REVOKE_PEER, /* only for inputs that identify a peer */
	BWL_ACTION_DESTROY,     /* like REVOKE, and this tray's own IKE keys are destroyed */
	_BWL_ACTION_MAX
};
const char *bwl_tamper_name(unsigned input);
const char *bwl_action_name(unsigned action);

#define BWL_LEASE_MIN_NS 1000000000ULL
#define BWL_LEASE_MAX_NS (366 * 86400 * 1000000000ULL)

struct bwl_policy {
	char node[BWL_NAME_LEN];
	char (*uplinks)[16];
	size_t nuplinks;
	uint32_t control; /* bit per enum bwl_control_bit */
	struct bwl_pol_port *ports;
	size_t nports;
	uint64_t heartbeat_ns; /* 0 with heartbeat_none */
	bool heartbeat_none;
	uint64_t lease_ns;   /* 0: none */
	uint32_t min_charge; /* default 64 */
	uint32_t horizon_ns; /* how long a packet may wait; 0: bwl_horizon() */
	bool ledger;         /* volumes are closed until bwlimitd has written them to disk */
	bool reject;         /* ICMP tells a host that its packet may not go */
	bool count_all;      /* every class of every grant is counted, limited or not */
	struct bwl_lim node_limit;
	struct bwl_pol_zone *zones;
	size_t nzones;
	struct bwl_pol_peer *peers;
	size_t npeers;
	struct bwl_pol_service *services;
	size_t nservices;
	struct bwl_pol_ipsec ipsec;
	uint8_t tamper[_BWL_TAMPER_MAX]; /* enum bwl_action */
	unsigned until_line;             /* line of a peer with `until:`; 0: none */
	char **warnings;
	size_t nwarnings; /* "file:line: text" */
};

/*
 * Reads and checks a file ("-": standard input). now_boot_ns and now_wall_s convert `until:` to
 * CLOCK_BOOTTIME. On failure nothing is returned and *e names file, line and domain.
 */
int bwl_policy_load(const char *path, uint64_t now_boot_ns, int64_t now_wall_s,
		    struct bwl_policy **ret, struct bwl_err *e);
/*
 * The two halves of bwl_policy_load(): the caller frees the bytes; errors and warnings begin with
 * name.
 */
#define BWL_POLICY_BYTES_MAX (512UL << 20)
int bwl_policy_bytes(const char *path, char **ret, size_t *ret_len, struct bwl_err *e);
const char *bwl_policy_file_name(const char *path);
int bwl_policy_parse(const char *name, const char *text, size_t len, uint64_t now_boot_ns,
		     int64_t now_wall_s, struct bwl_policy **ret, struct bwl_err *e);
/*
 * The same, but collects all errors of the file instead of the first: if *all has any, *ret is not
 * set. An error that only follows from another one is left out.
 */
#define BWL_ERRORS_MAX 20
struct bwl_errors {
	struct bwl_err list[BWL_ERRORS_MAX]; /* by line */
	size_t n;
	bool more; /* there are more than these */
};
int bwl_policy_parse_all(const char *name, const char *text, size_t len, uint64_t now_boot_ns,
			 int64_t now_wall_s, struct bwl_policy **ret, struct bwl_errors *all);
/*
 * `until:` is a wall-clock time, and is converted to boot time once. -EAGAIN if the policy has one
 * and the clock is not synchronised: it may be slow, and the grant would last longer.
 */
int bwl_policy_wall_ok(const struct bwl_policy *p, struct bwl_err *e);
/* Checks everything that does not depend on the file's syntax: names, overlaps, domains. */
int bwl_policy_check(struct bwl_policy *p, const char *file, struct bwl_err *e);
/* Normalised YAML: the same policy always gives the same text, and it reads back. */
int bwl_policy_dump(const struct bwl_policy *p, uint64_t now_boot_ns, int64_t now_wall_s, FILE *f);
/* SHA-256 over the normalised form, without expiries (they are relative to the boot). */
int bwl_policy_digest(const struct bwl_policy *p, uint8_t ret[32]);
void bwl_policy_free(struct bwl_policy *p);
BWL_AUTO_DEFINE(bwl_policy_free, struct bwl_policy *)
struct bwl_policy *bwl_policy_new(void); /* zeroed, with defaults; aborts without memory */
struct bwl_pol_peer *bwl_policy_add_peer(struct bwl_policy *p); /* amortised growth */
/* Linear; NULL when there is none. */
struct bwl_pol_peer *bwl_policy_peer(const struct bwl_policy *p, const char *name);
const struct bwl_pol_tenant *bwl_policy_tenant(const struct bwl_pol_peer *p, const char *port);
/* One more, without a limit yet. */
struct bwl_pol_tenant *bwl_policy_add_tenant(struct bwl_pol_peer *p, const char *port);

/* The peer's zone; NULL: it is in none. */
const struct bwl_pol_zone *bwl_policy_zone_of(const struct bwl_policy *p,
					      const struct bwl_pol_peer *q);

/* grant + 0.1 %, and 5 ms at that rate on top of the burst. */
struct bwl_lim bwl_default_accept(const struct bwl_lim *grant);

/*
 * A member's portion of a zone that is shared by weight; weights: of all members. 99 % of the rate:
 * the last hundredth fills the zone's reserve again (bpf/lib/gcra.h). A quarter of the burst: the
 * reserve is 7/16 of it at least, of which CPUs may hold 2/16 without having spent it, and 1/16 is
 * for what several CPUs find to be within a portion at once.
 */
#define BWL_WEIGHT_MAX 1000
struct bwl_lim bwl_portion(const struct bwl_lim *zone, uint32_t weight, uint64_t weights);
uint64_t bwl_weights(const struct bwl_policy *p, const struct bwl_pol_zone *z);

/* Packets over the burst may wait for their time, if every uplink has fq. */
static inline bool bwl_mode_paces(unsigned mode)
{
	return mode == BWL_MODE_SHAPE || mode == BWL_MODE_MARK;
}

/*
 * Does a packet over the grant's own limits (rate, volume, classes, host ports) not pass? Under
 * `monitor` it is only counted. Everything that compares limits with what is in force asks this.
 * What is around the peer (zone, port, node), its floor and its accept hold in every mode.
 */
static inline bool bwl_mode_enforces(unsigned mode)
{
	return mode != BWL_MODE_MONITOR;
}

/*
 * A grant with neither rate nor volume is for a mode that enforces nothing: in any other it would
 * pass everything, and count as enforced. Policies and edits ask this alike.
 */
static inline bool bwl_lim_is_empty(const struct bwl_lim *l)
{
	return l->rate_bps == BWL_NO_RATE && !l->has_volume;
}

static inline bool bwl_grant_is_empty(const struct bwl_lim *grant, unsigned mode)
{
	return bwl_mode_enforces(mode) && bwl_lim_is_empty(grant);
}

/* Of a peer. To one that has no grant, or whose grant is revoked, nothing passes. */
static inline bool bwl_peer_enforced(const struct bwl_pol_peer *p)
{
	return !p->grant.present || p->revoked || bwl_mode_enforces(p->mode);
}

/* The built-in class table plus the policy's overrides. */
void bwl_class_table(const struct bwl_policy *p, uint8_t proto_class[256],
		     uint8_t port_class[2][65536]);

#endif
