// SPDX-License-Identifier: GPL-2.0-or-later
/* See order_verbs.h. A new verb is a line in the table. */
#include <stdio.h>
#include <string.h>
#include "agent.h"
#include "lease.h"
#include "order_verbs.h"

static uint32_t find(const struct bwl_pins *p, const char *name)
{
	for (uint32_t id = 1; *name && id < p->schema.max_peers; id++)
		if (!strncmp(p->name[id].name, name, BWL_NAME_LEN))
			return id;
	return 0;
}

static json_t *tamper(void *about, const json_t *ask)
{
	const char *why = json_string_value(json_object_get(ask, "why"));
	const json_t *said = json_object_get(ask, "peer");
	const char *peer = json_string_value(said);
	struct bwl_pins *p = ((struct order_about *)about)->pins;
	uint32_t id = peer ? find(p, peer) : 0;
	enum bwl_action did = BWL_ACTION_LOG;
	char text[300];
	json_t *o;

	if (!why || (said && !id))
		return json_pack("{s:s}", "error", why ? "no such peer" : "malformed request");
	snprintf(text, sizeof(text), "%s%.31s%s%.200s", peer ? "peer " : "", peer ? peer : "",
		 peer ? ": " : "", why);
	agent_tamper(p,
		     &(struct agent_sign){ .input = BWL_TAMPER_command,
					   .what = text,
					   .peer = &id,
					   .npeers = id ? 1 : 0,
					   .did = &did },
		     false);
	o = json_pack("{s:s, s:s, s:b, s:[]}", "action", bwl_action_name(did), "by", AGENT_PROGRAM,
		      "all", did != BWL_ACTION_LOG && did != BWL_ACTION_REVOKE_PEER, "peer_names");
	if (did == BWL_ACTION_REVOKE_PEER)
		json_array_append_new(json_object_get(o, "peer_names"), json_string(peer));
	return o;
}

static json_t *lease(void *about, const json_t *ask)
{
	return lease_order(((struct order_about *)about)->pins, ask);
}

static json_t *policy(void *about, const json_t *ask, int doc, int conn)
{
	return policy_order_take(((struct order_about *)about)->policy, ask, doc, conn);
}

const struct order_verb order_verbs[] = {
	{ .name = "tamper", .closes = true, .run = tamper },
	{ .name = "lease", .run = lease },
	{ .name = "policy", .take = policy },
	{ .name = NULL },
};
