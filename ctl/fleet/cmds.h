/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The commands of `bwlimit-ctl --fleet`, one table per file, and shared help texts. */
#ifndef BWL_CTL_FLEET_CMDS_H
#define BWL_CTL_FLEET_CMDS_H

#include "../ctl.h"

extern const struct ctl_cmd fleet_order_cmds[], fleet_pending_cmds[], fleet_status_cmds[],
	fleet_ask_cmds[];
int fleet_publish(struct ctl *c, int argc, char **argv);
int fleet_logs(struct ctl *c, int argc, char **argv);     /* logs.c */
int fleet_rollouts(struct ctl *c, int argc, char **argv); /* rollouts.c */

/*
 * A column: the field, whose name contains its unit, and its heading; the last key is NULL. ask.c
 */
struct fleet_column {
	const char *key, *head;
};
void fleet_rows_print(const json_t *rows, const struct fleet_column *columns);
void fleet_document_print(const char *what, const json_t *o); /* an answer, for people; ask.c */

#define FLEET_CONF_HELP                                                                            \
	"  --conf FILE     instead of /etc/bwlimit/fleet.conf; the options below override it\n"    \
	"  --servers URL[,URL…]  members of etcd, https://HOST:PORT\n"                           \
	"  --ca FILE, --cert FILE, --cert-key FILE  authority, our certificate and its key\n"      \
	"  --prefix PATH   where the fleet is in the store (/bwl/v1)\n"                            \
	"  --root ROOT     the fleet's root: what trays would refuse is then refused here\n"       \
	"  --accept-etcd-holes  for a trial: also accept servers whose authorisation has known holes\n\n"
#define FLEET_WAIT_HELP                                                                            \
	"  --timeout TIME  how long to wait for trays (30s); exit code 3: some did not confirm\n"  \
	"  --no-wait       only publish, do not wait\n"
#define FLEET_KEY_HELP                                                                             \
	"  --key KEY       the signer's key: a PEM file, or pkcs11:…\n"                          \
	"  --reason TEXT   why, as `reason TEXT…` at the end (default: user and machine)\n"      \
	"  --for TIME      how long the document is valid (3650d)\n"
#define FLEET_ORDER_HELP FLEET_KEY_HELP FLEET_WAIT_HELP FLEET_CONF_HELP

#endif
