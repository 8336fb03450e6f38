/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The frames of a drill at a live host port: what may go to its destination, and what may not. */
#ifndef BWL_CTL_DRILL_FRAMES_H
#define BWL_CTL_DRILL_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "bwl/policy.h"

#define DRILL_FRAME_MAX 1514

/* Of the port and the destination, IPv4 in the order of the wire. */
struct drill_ends {
	uint8_t mac[6], src[4], dst[4];
	uint8_t stranger[4]; /* of nobody's prefix; 0: every address is somebody's */
	uint8_t spoofed[4];  /* no source of the port; 0: every address is */
	uint16_t tag;        /* that the port may not use */
	bool mac_held;       /* the port has one MAC */
};
/* 0, or -EINVAL with what the port or the peer lacks. */
int drill_ends(const struct bwl_pol_port *port, const struct bwl_policy *pol,
	       const struct bwl_pol_peer *peer, struct drill_ends *ret, struct bwl_err *e);

/* UDP of that size on the wire, from the port to the destination. */
void drill_frame(const struct drill_ends *x, size_t len, uint8_t frame[static DRILL_FRAME_MAX]);

/* A later fragment, out of such a frame. */
void drill_fragment(uint8_t frame[static DRILL_FRAME_MAX]);

struct drill_evasion {
	const char *name;
	uint8_t reason; /* enum bwl_reason: as what it must be refused */
	/* Makes it of a frame as above; false: it cannot be tried here. */
	bool (*make)(const struct drill_ends *x, uint8_t *frame, size_t *len);
};
extern const struct drill_evasion drill_evasions[]; /* until a NULL name */

#endif
