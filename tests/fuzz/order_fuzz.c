// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a request to bwlimitd: refused with a reason, or a verb of the table with an object,
 * and for the verb policy everything that it needs.
 */
#include "agent/order_socket.h"
#include "agent/policy_order.h"
#include "fuzz.h"

static const struct order_verb verbs[] = {
	{ .name = "tamper" }, { .name = "lease" }, { .name = "policy" }, { .name = NULL }
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct order_verb *v;
	const char *why = NULL;
	struct policy_ask a;
	json_t *ask;

	if (size >= BWL_AGENT_LINE) /* never passed to it */
		return 0;
	v = order_parse(verbs, (const char *)data, size, &ask, &why);
	if (!v) {
		must(!ask && why && *why, "refused, and said why");
		return 0;
	}
	must(json_is_object(ask) && v->name, "a request is an object");
	must(!strcmp(json_string_value(json_object_get(ask, "verb")), v->name),
	     "the verb that it says");
	if (policy_ask_parse(ask, &a))
		must(*a.name && strlen(a.name) < sizeof(a.name) && a.size <= BWL_POLICY_BYTES_MAX,
		     "a policy has a name, and a size that is read");
	json_decref(ask);
	return 0;
}
