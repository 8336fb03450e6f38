// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The lease: renewed on request of bwlimit-ctl. Its end is handled as a sign of tampering. This
 * does not have to put grants to their floors: no heartbeat goes beyond the lease
 * (lib/tables/heartbeat.c).
 */
#include <errno.h>
#include <stdio.h>
#include <syslog.h>
#include "agent.h"
#include "bwl/units.h"
#include "enrolled/gate.h"
#include "lease.h"

#define SECOND_NS 1000000000ULL

/* for_ns 0: as long as the policy allows, which is not less than what is left. */
static bool lengthens(const struct bwl_pins *p, uint64_t for_ns)
{
	uint64_t until = __atomic_load_n(&p->lease->until_ns, __ATOMIC_SEQ_CST), now = bwl_now_ns();

	return !for_ns || until <= now || for_ns > until - now;
}

json_t *lease_order(struct bwl_pins *p, const json_t *ask)
{
	const json_t *said = json_object_get(ask, "for_ns");
	json_int_t for_ns = json_integer_value(said);
	struct bwl_err e = { 0 };
	struct bwl_lease_now l;
	uint64_t deadline;
	char text[BWL_UNIT_BUF];
	json_t *o;

	if (!json_is_integer(said) || for_ns < 0)
		return json_pack("{s:s}", "error", "malformed request");
	if (lengthens(p, (uint64_t)for_ns) &&
	    bwl_enrolled_refuses(p, "the lease would end later", &e))
		return json_pack("{s:s, s:s, s:s}", "error", e.text, "todo", e.hint, "id", e.id);
	if (bwl_lease_renew(p, (uint64_t)for_ns, &e) || bwl_lease(p, &l, &e))
		return json_pack("{s:s, s:s}", "error", e.text, "todo", e.hint);
	agent_later(LOG_NOTICE, "lease", "the lease was renewed: it ends %s from now",
		    bwl_format_time(l.until_ns - l.renewed_ns, text));
	o = json_pack("{s:s, s:f}", "by", AGENT_PROGRAM, "ends_in_s",
		      (double)(l.until_ns - l.renewed_ns) / 1e9);
	json_object_set_new(o, "floor_why",
			    bwl_heartbeat(p, &deadline, &e) ? json_string(e.text) : json_null());
	return o;
}

void lease_look(struct bwl_pins *p, uint64_t *look_ns)
{
	uint64_t until = __atomic_load_n(&p->lease->until_ns, __ATOMIC_SEQ_CST), now = bwl_now_ns();
	struct bwl_lease_now l;
	char what[100], held[BWL_UNIT_BUF];

	if (!until || now < until || p->lease->acted_ns == until || now < *look_ns)
		return;
	*look_ns = now + SECOND_NS; /* in case there is nothing to act on yet */
	if (!agent_tamper_is_told() || bwl_lease(p, &l, NULL) || l.state != BWL_LEASE_ENDED)
		return;
	*look_ns = 0;
	snprintf(what, sizeof(what), "the lease ended, %s after it was renewed",
		 bwl_human_time((double)(until - l.renewed_ns) / 1e9, held));
	agent_tamper(p, &(struct agent_sign){ .input = BWL_TAMPER_lease, .what = what }, false);
	/* written last: after a kill before this, the end is acted on again */
	__atomic_store_n(&p->lease->acted_ns, until, __ATOMIC_SEQ_CST);
}

int lease_sleep_ms(const struct bwl_pins *p, int most)
{
	uint64_t until = __atomic_load_n(&p->lease->until_ns, __ATOMIC_SEQ_CST), now = bwl_now_ns();

	if (until <= now || until - now >= (uint64_t)most * 1000000)
		return most;
	return (int)((until - now) / 1000000) + 1;
}
