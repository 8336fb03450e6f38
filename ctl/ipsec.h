/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the commands that speak to charon share. */
#ifndef BWL_CTL_IPSEC_H
#define BWL_CTL_IPSEC_H

#include "ctl.h"
#include "ipsec/conn.h"

struct ipsec_place {
	const char *vici, *dir, *timeout;
	uint64_t timeout_ns;
};
#define IPSEC_PLACE_OPTS(p)                                                                        \
	{ "--vici", NULL, &(p).vici }, { "--dir", NULL, &(p).dir },                                \
	{                                                                                          \
		"--timeout", NULL, &(p).timeout                                                    \
	}
#define IPSEC_PLACE_HELP                                                                           \
	"  --vici SOCKET   charon's control socket (" BWL_VICI_SOCKET ")\n"                        \
	"  --timeout TIME  for each answer of charon (10s)\n"
#define IPSEC_DIR_HELP                                                                             \
	"  --dir DIR       swanctl's folder: x509, x509ca, x509crl, private, ppk (" BWL_IPSEC_DIR  \
	")\n"
/* Defaults. */
int ctl_ipsec_place(struct ctl *c, struct ipsec_place *p);

struct ipsec_numbers {
	uint32_t *if_id; /* by index of peer; 0: not to be loaded */
	unsigned peers, revoked;
	unsigned unknown; /* not in the policy in force; strict: an error */
	bool by_mark;     /* the tunnel device is a plain one */
	bool numbered;    /* in order of the file, because there are no pins */
};
/*
 * The ids of the pins, of the peers in names or of all: what the data plane and the interfaces go
 * by. v NULL: no pins. The caller frees if_id.
 */
int ctl_ipsec_number(struct ctl *c, const struct bwl_view *v, const struct bwl_policy *pol,
		     bool strict, int argc, char **argv, struct ipsec_numbers *ret);

#endif
