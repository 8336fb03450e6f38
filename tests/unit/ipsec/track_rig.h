/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tracker of one peer's SAs and policies, with its result. */
#ifndef BWL_TEST_TRACK_RIG_H
#define BWL_TEST_TRACK_RIG_H

#include "test.h"
#include <linux/xfrm.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include "ipsec/track.h"

#define PEERS 16
#define ID 7
#define NOW 1000000
#define UPLINK 4

struct fixture {
	struct bwl_tunnel map[PEERS];
	struct bwl_track *t;
	unsigned changes;
	struct bwl_track_verdict last;
};

static inline struct bwl_xfrm_addr addr(uint8_t last)
{
	return (struct bwl_xfrm_addr){ .family = AF_INET, .a = { 192, 0, 2, last } };
}

static inline void changed(uint32_t id, const struct bwl_track_verdict *v, void *arg)
{
	struct fixture *f = arg;

	assert_in_range(id, 1, PEERS - 1);
	f->changes++;
	f->last = *v;
}

static inline int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct bwl_xfrm_addr remote = addr(2);

	assert_int_equal(bwl_track_new(PEERS, f->map, changed, f, &f->t), 0);
	assert_int_equal(bwl_track_peer(f->t, ID, &remote, UPLINK), 0);
	*state = f;
	return 0;
}

static inline int teardown(void **state)
{
	struct fixture *f = *state;

	bwl_track_free(f->t);
	free(f);
	return 0;
}

/* An SA from us (.1) to the peer (.2), or in the other direction. */
static inline struct bwl_xfrm_msg sa(uint32_t spi, bool out)
{
	return (struct bwl_xfrm_msg){ .kind = BWL_XFRM_SA,
				      .sa = {
					      .src = addr(out ? 1 : 2),
					      .dst = addr(out ? 2 : 1),
					      .spi = htonl(spi),
					      .if_id = ID,
					      .peer = ID,
					      .reqid = 5,
					      .proto = IPPROTO_ESP,
					      .mode = XFRM_MODE_TUNNEL,
					      .keyed = true,
					      .encrypts = true,
					      .authenticates = true,
					      .overhead = 57,
					      .life = { ~0ULL, ~0ULL, ~0ULL, ~0ULL,
							.add_s = NOW - 100 },
				      } };
}

static inline struct bwl_xfrm_msg policy(uint32_t index)
{
	return (struct bwl_xfrm_msg){ .kind = BWL_XFRM_POLICY, .policy = {
		.index = index, .if_id = ID, .peer = ID, .dir = BWL_XFRM_OUT, .ntmpl = 1, .tmpl = {
			.src = addr(1), .dst = addr(2), .reqid = 5, .proto = IPPROTO_ESP,
			.mode = XFRM_MODE_TUNNEL,
		},
	} };
}

static inline void tell(struct fixture *f, struct bwl_xfrm_msg m)
{
	assert_int_equal(bwl_track_news(f->t, &m), 0);
	bwl_track_settle(f->t, NOW);
}

static inline void gone(struct fixture *f, struct bwl_xfrm_msg m)
{
	m.kind = m.kind == BWL_XFRM_SA ? BWL_XFRM_SA_GONE : BWL_XFRM_POLICY_GONE;
	tell(f, m);
}

static inline struct bwl_track_verdict verdict(const struct fixture *f, uint32_t id)
{
	struct bwl_track_verdict v;

	assert_true(bwl_track_get(f->t, id, &v));
	return v;
}

static inline void is_open(const struct fixture *f)
{
	assert_true(f->map[ID].flags & BWL_TUN_SA);
	assert_int_equal(verdict(f, ID).why, BWL_TRACK_USABLE);
}

static inline void is_closed(const struct fixture *f, unsigned why, unsigned alarm)
{
	assert_false(f->map[ID].flags & BWL_TUN_SA);
	assert_int_equal(f->map[ID].spi_out, 0);
	assert_int_equal(f->map[ID].offload, BWL_OFFLOAD_NONE);
	assert_int_equal(verdict(f, ID).why, why);
	assert_int_equal(verdict(f, ID).alarm, alarm);
}

#endif
