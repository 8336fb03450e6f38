// SPDX-License-Identifier: GPL-2.0-or-later
/* What carries a peer of path offload: the words, and the present state. */
#include <bwl/pins.h>

static const struct {
	const char *name, *text;
} carried_bys[] = {
#define X(e, name, text) { name, text },
	BWL_CARRIED_BY(X)
#undef X
};

const char *bwl_carried_by_name(unsigned carried_by)
{
	return carried_by < _BWL_CARRIED_MAX ? carried_bys[carried_by].name : "?";
}

const char *bwl_carried_by_text(unsigned carried_by)
{
	return carried_by < _BWL_CARRIED_MAX ? carried_bys[carried_by].text : "";
}

unsigned bwl_carried_by_now(const struct bwl_pins *p, uint32_t id, uint64_t now_ns)
{
	if (now_ns >= *(const volatile __u32 *)&p->ctl->tracked_until_s * 1000000000ULL)
		return BWL_CARRIED_UNTOLD;
	return *(const volatile __u8 *)&p->tunnel[id].carried_by;
}
