/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The SAs of our connections as charon reports them. For the kernel's view see xfrm.h. */
#ifndef BWL_IPSEC_SAS_H
#define BWL_IPSEC_SAS_H

#include "ipsec/conn.h"

struct bwl_ipsec_child {
	char state[16];           /* "INSTALLED", "REKEYING", … */
	uint32_t spi_in, spi_out; /* host byte order */
	uint32_t if_id;
	uint32_t peer_id; /* from if_id, or from its marks on a plain interface (maps/tunnel.h) */
	uint64_t unique;
	uint64_t age_s, rekey_s, hard_s; /* rekey_s, hard_s: from now; 0: due */
	uint64_t bytes_in, bytes_out;
};

struct bwl_ipsec_sa {
	char peer[BWL_NAME_LEN];
	char state[16]; /* of the IKE_SA: "ESTABLISHED", … */
	char remote[64], remote_id[256];
	uint64_t unique, age_s, rekey_s;
	bool ppk;
	char ke[96]; /* key exchanges, "ECP_384/ML_KEM_768" */
	struct bwl_ipsec_child *children;
	size_t nchildren;
};

/* From a CHILD_SA in list-sas: the peer's id, and the SPI under that key. Host byte order. */
uint32_t bwl_ipsec_child_peer(const json_t *child);
uint32_t bwl_ipsec_child_spi(const json_t *child, const char *key);

/* peer NULL: all. Sorted by peer, then in charon's order. The caller frees. */
int bwl_ipsec_sas(struct bwl_vici *v, const char *peer, struct bwl_ipsec_sa **ret, size_t *ret_n,
		  struct bwl_err *e);
void bwl_ipsec_sas_free(struct bwl_ipsec_sa *x, size_t n);

/* Initiates the peer, without waiting for the result. */
int bwl_ipsec_initiate(struct bwl_vici *v, const char *peer, struct bwl_err *e);
/*
 * Rekeys the CHILD_SAs of a peer, or with ike its IKE_SA. *ret: how many SAs were told to. charon
 * continues in the background.
 */
int bwl_ipsec_rekey(struct bwl_vici *v, const char *peer, bool ike, unsigned *ret,
		    struct bwl_err *e);

#endif
