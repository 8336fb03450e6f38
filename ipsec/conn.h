/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Converts the policy to strongSwan's connections: one tree, written as the text of swanctl.conf or
 * sent to charon by VICI. Each peer with `ipsec` is a connection bwl-NAME with a child of the same
 * name, whose SAs and policies carry the peer's id as if_id, or as mark (maps/tunnel.h).
 */
#ifndef BWL_IPSEC_CONN_H
#define BWL_IPSEC_CONN_H

#include <jansson.h>
#include <stdio.h>
#include "bwl/policy.h"
#include "ipsec/vici.h"

#define BWL_IPSEC_DIR "/etc/swanctl" /* certificates, keys, CRLs; --dir elsewhere */

/* Features of the installed charon beyond Debian 12's (5.9.8), found by asking and by trying. */
struct bwl_ipsec_caps {
	char version[64];      /* empty: charon was not asked */
	bool mlkem;            /* ML-KEM-768 as an additional key exchange (RFC 9370) */
	bool packet;           /* hw_offload = packet, crypto */
	bool prefer_childless; /* childless = prefer */
};
int bwl_ipsec_caps_ask(struct bwl_vici *v, struct bwl_ipsec_caps *ret, struct bwl_err *e);

/*
 * "bwl-NAME". A dot ends a name in swanctl.conf, so it is written as ~, which no name of a peer
 * has.
 */
#define BWL_IPSEC_NAME (BWL_NAME_LEN + 8)
char *bwl_ipsec_conn_name(const char *peer, char buf[static BWL_IPSEC_NAME]);
/* The reverse; false if the connection is not ours. */
bool bwl_ipsec_peer_name(const char *conn, char buf[static BWL_NAME_LEN]);

/*
 * The sections `connections` and, if post-quantum preshared keys are used, `secrets` (without the
 * secrets). if_id[i] belongs to p->peers[i]; 0: leave the peer out. by_mark: the tunnel device is a
 * plain one. dir: swanctl's.
 */
int bwl_ipsec_tree(const struct bwl_policy *p, const uint32_t *if_id, bool by_mark,
		   const struct bwl_ipsec_caps *caps, const char *dir, json_t **ret,
		   struct bwl_err *e);
/* Writes it as swanctl.conf. */
void bwl_ipsec_write(json_t *tree, FILE *f);

struct bwl_ipsec_load_report {
	unsigned certs, keys, crls, secrets; /* sent to charon */
	unsigned loaded, failed, unloaded;   /* connections */
	unsigned old_keys;                   /* unloaded, because no longer in the folder */
	/* IKE_SAs that were ended, because made for an earlier definition of the peer */
	unsigned stale;
	unsigned initiated; /* by us, not by charon itself */
};
/*
 * Loads credentials of dir, then the connections. Continues after a connection that charon refuses;
 * the first refusal is the error. `start`: initiates what then has no SA. Peers that should
 * initiate get BWL_IPSEC_PATIENCE_NS to do so.
 */
#define BWL_IPSEC_PATIENCE_NS 3000000000ULL
enum bwl_ipsec_load_flags {
	BWL_IPSEC_ALL = 1 << 0, /* bwl-* that are not in the tree: unloaded, SAs ended */
	BWL_IPSEC_START = 1 << 1,
};
int bwl_ipsec_load(struct bwl_vici *v, json_t *tree, const char *dir, unsigned flags,
		   struct bwl_ipsec_load_report *ret, struct bwl_err *e);

#endif
