// SPDX-License-Identifier: GPL-2.0-or-later
/* Asks whether an enrolled tray may be widened: see bwl_gate_fn. */
#include <errno.h>
#include <bwl/publish.h>
#include <bwl/cleanup.h>

static bwl_gate_fn gate;

uint64_t bwl_enrolled(const struct bwl_pins *p)
{
	return __atomic_load_n(&p->lease->enrolled, __ATOMIC_SEQ_CST);
}

void bwl_enrolled_set(struct bwl_pins *p, uint64_t flags)
{
	__atomic_fetch_or(&p->lease->enrolled, flags, __ATOMIC_SEQ_CST);
}

void bwl_enrolled_clear(struct bwl_pins *p, uint64_t flags)
{
	__atomic_fetch_and(&p->lease->enrolled, ~flags, __ATOMIC_SEQ_CST);
}

void bwl_gate_set(bwl_gate_fn fn)
{
	gate = fn;
}

int bwl_gate_refuse(struct bwl_err *e, const char *what)
{
	bwl_fail(e, EPERM, "this tray is enrolled, where local tools only tighten: %s", what);
	if (e)
		e->id = BWL_ENROLLED_WIDENS;
	return bwl_hint(
		e,
		"a signed document can: bwlimit-ctl policy sign, approve, policy publish; in an emergency, two people: bwlimit-ctl break-glass FILE");
}

bool bwl_only_tightens(struct bwl_pins *p)
{
	return bwl_enrolled(p) || (gate && gate(p, NULL, NULL, false, NULL) == 1);
}

int bwl_gate_ask(struct bwl_pins *p, struct bwl_policy *pol, const struct bwl_publish_opts *o,
		 struct bwl_err *e)
{
	if (o && o->allowed)
		return 0;
	if (gate)
		return gate(p, pol, o, false, e);
	return bwl_enrolled(p)
		       ? bwl_gate_refuse(
				 e, "this program cannot tell whether the change only tightens")
		       : 0;
}

/* A tray that may widen anyway skips this: it need not read a whole policy for one peer. */
int bwl_gate_ask_peer(struct bwl_pins *p, uint32_t id, const struct bwl_peer *body,
		      struct bwl_err *e)
{
	BWL_AUTO(bwl_policy_free) struct bwl_policy *pol = NULL;
	int r;

	if (!bwl_only_tightens(p))
		return 0;
	r = bwl_pins_whole(p, e);
	if (!r)
		r = bwl_policy_read_as(p, id, body, &pol, e);
	if (r)
		return r;
	return gate ? gate(p, pol, NULL, true, e) : bwl_gate_ask(p, pol, NULL, e);
}
