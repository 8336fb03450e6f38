/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the verbs of `ipsec`: the location of charon and its files. */
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
	"  --timeout TIME  how long to wait for each answer of charon (10s)\n"
#define IPSEC_DIR_HELP                                                                             \
	"  --dir DIR       swanctl's folder: x509, x509ca, x509crl, private, ppk (" BWL_IPSEC_DIR  \
	")\n"
/* ipsec_place.c: defaults */
int ctl_ipsec_place(struct ctl *c, struct ipsec_place *p);

/* ipsec_status.c */
int ctl_ipsec_status(struct ctl *c, int argc, char **argv);

#endif
