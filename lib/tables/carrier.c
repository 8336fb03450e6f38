/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who carries a peer of path offload: the words, and what holds now. */
#include <bwl/pins.h>

static const struct {
	const char *name, *text;
} carriers[] = {
#define X(e, name, text) { name, text },
	BWL_CARRIERS(X)
#undef X
};

const char *bwl_carrier_name(unsigned carrier)
{
	return carrier < _BWL_CARRIER_MAX ? carriers[carrier].name : "?";
}

const char *bwl_carrier_text(unsigned carrier)
{
	return carrier < _BWL_CARRIER_MAX ? carriers[carrier].text : "";
}

unsigned bwl_carrier_now(const struct bwl_pins *p, uint32_t id, uint64_t now_ns)
{
	if (now_ns >= *(const volatile __u32 *)&p->ctl->tracked_until_s * 1000000000ULL)
		return BWL_CARRIER_UNTOLD;
	return *(const volatile __u8 *)&p->tunnel[id].carrier;
}
