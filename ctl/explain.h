/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the data plane would do with one packet now, step by step, in its order. Read-only. */
#ifndef BWL_CTL_EXPLAIN_H
#define BWL_CTL_EXPLAIN_H

#include "ctl.h"

struct ctl_question {
	uint8_t family; /* 4 or 6 */
	uint8_t src[16], dst[16];
	const char *port; /* device; NULL: the host port whose sources contain src */
	uint32_t peer;    /* bwl_lookup_dest(); 0 none */
	bool fragment;    /* one of a packet's; then neither proto nor dport */
	bool has_proto;
	uint8_t proto;
	uint16_t dport; /* 0: not given */
	uint32_t len;   /* 0: a full-size packet */
	bool json;      /* collect the steps for programs */
};

struct ctl_answer {
	unsigned int reason; /* enum bwl_reason: of the first step that decides */
	unsigned int class_;
	uint32_t len;
	uint32_t port;          /* port id, BWL_MAX_PORTS: none */
	uint64_t wait_ns;       /* rate: when it would pass without other traffic; otherwise 0 */
	struct bwl_list *steps; /* the caller ends it */
};

/* v->gen.base NULL: no policy is in force. */
void ctl_explain(const struct bwl_view *v, const struct ctl_question *q, struct ctl_answer *ret);

#endif
