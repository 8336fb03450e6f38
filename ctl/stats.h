/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters of all peers at one moment, and the difference between two. */
#ifndef BWL_CTL_STATS_H
#define BWL_CTL_STATS_H

#include "ctl.h"

struct ctl_sample {
	uint64_t now_ns;
	uint32_t n;
	struct bwl_peer_count *count; /* [n], by peer id */
};
int ctl_sample(struct ctl *c, struct bwl_pins *pins, struct ctl_sample *ret);
void ctl_sample_free(struct ctl_sample *s);
/* Between two samples of one peer. */
struct bwl_speed ctl_speed(const struct ctl_sample *a, const struct ctl_sample *b, uint32_t id);
/* false: a signal came first */
bool ctl_sleep(uint64_t ns);

#endif
