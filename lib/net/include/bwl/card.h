/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queries a network card by devlink and by ethtool's netlink; changes nothing. The *_read()
 * functions parse one message without I/O, and trust none of its lengths.
 */
#ifndef BWL_CARD_H
#define BWL_CARD_H

#include <linux/netlink.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <bwl/err.h>

#define BWL_CARD_NAME 48 /* "pci/0000:03:00.0", as devlink(8) names a device */
#define BWL_CARD_WORD 32 /* a word used by the driver: "dmfs" */

struct bwl_devlink_port {
	char name[64];            /* "pci/0000:03:00.0/1" */
	char card[BWL_CARD_NAME]; /* the same without the port */
	uint32_t ifindex;         /* 0: no network device of this namespace represents it */
	uint16_t flavour;         /* enum devlink_port_flavour */
	bool function;            /* of a PF, VF or SF: another machine's, or another user's */
	bool inactive;            /* the function behind it is switched off */
	/* IPsec granted to the function behind it (6.6). told: the driver reports this. */
	bool ipsec_told, ipsec_crypto, ipsec_packet;
};
/* None, and 0, if the kernel has no devlink. Free with free(). */
int bwl_devlink_ports(struct bwl_devlink_port **ret, size_t *ret_n, struct bwl_err *e);
void bwl_devlink_port_read(const struct nlmsghdr *h, struct bwl_devlink_port *ret);

struct bwl_eswitch {
	bool mode_told, encap_told;
	uint16_t mode; /* enum devlink_eswitch_mode */
	uint8_t encap; /* enum devlink_eswitch_encap_mode */
};
/* 0, even if the device reports nothing; -ENOENT: no devlink, or no such device. */
int bwl_eswitch(const char *card, struct bwl_eswitch *ret);
void bwl_eswitch_read(const struct nlmsghdr *h, struct bwl_eswitch *ret);

/* A parameter with a string value; the runtime value (cmode runtime) is preferred. */
int bwl_devlink_param(const char *card, const char *name, char ret[static BWL_CARD_WORD]);
void bwl_devlink_param_read(const struct nlmsghdr *h, char ret[static BWL_CARD_WORD]);

/* devlink dev info. Empty: not reported. */
struct bwl_devlink_info {
	char driver[BWL_CARD_WORD];                         /* "mlx5_core" */
	char psid[BWL_CARD_WORD];                           /* the board: "MT_0000000009" */
	char running[BWL_CARD_WORD], stored[BWL_CARD_WORD]; /* firmware: now, after a reset */
};
/* 0, even if the device reports nothing; -ENOENT: no devlink, or no such device. */
int bwl_devlink_info(const char *card, struct bwl_devlink_info *ret);
void bwl_devlink_info_read(const struct nlmsghdr *h, struct bwl_devlink_info *ret);

/* Queues with an interrupt each: for receiving, for sending, and for both. */
struct bwl_channels {
	bool told;
	uint32_t rx, tx, combined, max_rx, max_tx, max_combined;
};
int bwl_channels(uint32_t ifindex, struct bwl_channels *ret);
void bwl_channels_read(const struct nlmsghdr *h, struct bwl_channels *ret);

enum bwl_offered {
	BWL_NOT_OFFERED, /* the driver does not have it */
	BWL_OFFERED_OFF,
	BWL_OFFERED_ON,
};
/* A feature by its name in `ethtool -k`. */
struct bwl_offer {
	const char *name;
	enum bwl_offered is;
};
int bwl_features(uint32_t ifindex, struct bwl_offer *f, size_t n);
void bwl_features_read(const struct nlmsghdr *h, struct bwl_offer *f, size_t n);

#endif
