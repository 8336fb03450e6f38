/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the thread knows of the documents, and the end of it all in the maps: see part.h. */
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include "agent.h"
#include "part.h"

#define SLACK_NS                                                                                   \
	2000000000ULL /* seconds are cut off here and there: a word is not moved for them */

void docs_rebuild(struct documents *v)
{
	struct bwl_err e = { 0 };

	docs_terms_free(&v->terms);
	if (v->docs.m && docs_terms(&v->docs, &v->terms, &e) && e.code != ENOENT)
		agent_later(LOG_ERR, "documents", "what holds cannot be read: %s", e.text);
}

void docs_reload(struct documents *v)
{
	struct docs_clock c = docs_clock_now();
	struct bwl_err e = { 0 };

	docs_terms_free(&v->terms);
	docs_free(&v->docs);
	v->damaged = docs_load(v->a->state_dir, &c, &v->docs, &e) && e.code != ENOENT;
	if (v->damaged)
		agent_later(LOG_ALERT, "documents", "%s", e.text);
	docs_rebuild(v);
}

static void tell_why(struct documents *v, const char *why)
{
	if (!strcmp(v->why, why))
		return;
	snprintf(v->why, sizeof(v->why), "%s", why);
	if (*why)
		agent_later(LOG_ALERT, "offline", "everything is at its floor: %s", why);
	else
		agent_later(LOG_NOTICE, "offline", "what signed documents grant is open again");
}

/*
 * What ends is ended by the data plane, whoever is dead: the lease's word has the moment. It goes
 * up only where what is in force is ours, so that what was applied before lives on no signed time.
 */
void docs_mind_end(struct documents *v)
{
	struct docs_clock c = docs_clock_now();
	struct docs_end end = { 0, BWL_MEMORY " is damaged", false };
	uint64_t is = v->pins->lease->until_ns, deadline;

	if (!v->damaged && (!v->docs.m || !docs_has_policy(&v->docs)))
		return;
	if (v->docs.m)
		end = docs_end(&v->docs, &v->terms, &c);
	tell_why(v, end.at_ns ? "" : end.why);
	if (end.at_ns + SLACK_NS < is && is > c.boot_ns)
		bwl_lease_set(v->pins, end.at_ns, !end.lease);
	else if (v->in_force && end.at_ns > is + SLACK_NS)
		bwl_lease_set(v->pins, end.at_ns, !end.lease);
	else
		return;
	bwl_heartbeat(v->pins, &deadline, NULL);
}
