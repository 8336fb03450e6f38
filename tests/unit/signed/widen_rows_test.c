// SPDX-License-Identifier: GPL-2.0-or-later
/* Each row of widen_rows.h, in random policies: whether a change of that member is ever seen. */
#include "widen_rig.h"
#include "widen_rows.h"

enum part { P_lim, P_port, P_zone, P_tenant, P_peer, P_service, P_ipsec, P_policy };
enum how { NUMBER, FLAG, PATH, TEXT, BYTES, BYTES_AT, FEWER, PARTS, NOTHING };

static const struct row {
	enum part part;
	enum how how;
	size_t at, size;
	const char *name;
} rows[] = {
#define X(s, member, how, lands)                                                                   \
	{ P_##s, how, offsetof(TYPE_##s, member), sizeof(((TYPE_##s *)0)->member), #s "." #member },
	ROWS_OF_ALL(X)
#undef X
};

#define ROWS_MAX 256
struct items {
	void *item[ROWS_MAX];
	size_t n;
};

static void add(struct items *x, void *item)
{
	assert_true(x->n < ROWS_MAX);
	x->item[x->n++] = item;
}

static void limits_of(struct items *x, struct bwl_policy *p)
{
	add(x, &p->node_limit);
	for (size_t i = 0; i < p->nports; i++)
		add(x, &p->ports[i].limit);
	for (size_t i = 0; i < p->nzones; i++)
		add(x, &p->zones[i].limit);
	for (size_t i = 0; i < p->npeers; i++) {
		struct bwl_pol_peer *q = &p->peers[i];

		add(x, &q->grant);
		add(x, &q->accept);
		add(x, &q->floor);
		for (unsigned k = 0; k < _BWL_CLASS_MAX; k++)
			add(x, &q->class_[k]);
		for (size_t k = 0; k < q->ntenants; k++)
			add(x, &q->tenants[k].limit);
	}
}

static void items_of(struct items *x, enum part part, struct bwl_policy *p)
{
	x->n = 0;
	if (part == P_lim)
		limits_of(x, p);
	for (size_t i = 0; part == P_port && i < p->nports; i++)
		add(x, &p->ports[i]);
	for (size_t i = 0; part == P_zone && i < p->nzones; i++)
		add(x, &p->zones[i]);
	for (size_t i = 0; part == P_service && i < p->nservices; i++)
		add(x, &p->services[i]);
	for (size_t i = 0; i < p->npeers; i++) {
		if (part == P_peer)
			add(x, &p->peers[i]);
		for (size_t k = 0; part == P_tenant && k < p->peers[i].ntenants; k++)
			add(x, &p->peers[i].tenants[k]);
	}
	if (part == P_ipsec)
		add(x, &p->ipsec);
	if (part == P_policy)
		add(x, p);
}

/* Adds to a number of any size, least significant byte first. */
static void count(uint8_t *at, size_t size, int by)
{
	uint64_t v = 0;

	memcpy(&v, at, size);
	v += (uint64_t)(int64_t)by;
	memcpy(at, &v, size);
}

static bool change(const struct row *r, uint8_t *at)
{
	static const uint8_t zero[8];
	uint8_t *to;

	switch (r->how) {
	case FLAG:
		*at ^= 1;
		return true;
	case PATH:
		*at = (uint8_t)((*at + 1) % _BWL_PATH_MAX);
		return true;
	case FEWER:
		if (!memcmp(at, zero, r->size))
			return false;
		count(at, r->size, -1);
		return true;
	case TEXT:
	case BYTES:
		*at ^= 4;
		return true;
	case BYTES_AT:
		memcpy(&to, at, sizeof(to));
		*to ^= 4;
		return true;
	default:
		count(at, r->size < 8 ? r->size : 8, 1);
		return true;
	}
}

/* How often the change was seen, of 400 policies: in either direction, because it is one of both.
 */
static unsigned seen(const struct row *r)
{
	unsigned n = 0;
	uint64_t s = 7;

	for (unsigned round = 0; round < 400; round++) {
		struct bwl_policy *p = any_policy(&s), *q = clone(p);
		size_t which = test_random(&s);
		struct items x;

		items_of(&x, r->part, q);
		if (x.n && change(r, (uint8_t *)x.item[which % x.n] + r->at))
			n += widens(p, q) || widens(q, p);
		/* as they were, to be freed */
		q->warnings = NULL;
		q->nwarnings = 0;
		q->npeers = p->npeers;
		q->nports = p->nports;
		bwl_policy_free(p);
		bwl_policy_free(q);
	}
	return n;
}

static void each_member_is_compared_or_its_row_says_why_not(void **state)
{
	unsigned judged = 0;

	(void)state;
	for (size_t i = 0; i < N(rows); i++) {
		if (rows[i].how == PARTS)
			continue;
		judged++;
		if (!seen(&rows[i]) != (rows[i].how == NOTHING))
			fail_msg("%s: a change is %s", rows[i].name,
				 rows[i].how == NOTHING ? "seen" : "never seen");
	}
	assert_true(judged > 70);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_member_is_compared_or_its_row_says_why_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
