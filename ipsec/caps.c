// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the installed charon can do. Versions are no guide (Debian leaves out plugins and backports
 * features): algorithms are queried; settings are tried on a connection that nothing uses and that
 * is unloaded again.
 */
#include <errno.h>
#include <string.h>
#include "ipsec/conn.h"

#define PROBE "bwlimit-probe" /* not bwl-…, so that no peer has this name */

/* Does charon accept `key = value` in the connection, or in its child? */
static int takes(struct bwl_vici *v, bool in_child, const char *key, const char *value, bool *ret,
		 struct bwl_err *e)
{
	json_t *args = in_child ? json_pack("{s:{s:{s:{s:s}}}}", PROBE, "children", PROBE, key,
					    value)
				: json_pack("{s:{s:s}}", PROBE, key, value);
	int r = bwl_vici_call(v, "load-conn", args, NULL, e);

	json_decref(args);
	*ret = !r;
	if (r == -EREMOTEIO)
		return 0;
	if (r)
		return r;
	args = json_pack("{s:s}", "name", PROBE);
	r = bwl_vici_call(v, "unload-conn", args, NULL, e);
	json_decref(args);
	return r;
}

/* Called `dh` before 6.0, `ke` since. */
static bool has_mlkem(const json_t *algorithms)
{
	return json_object_get(json_object_get(algorithms, "ke"), "ML_KEM_768") ||
	       json_object_get(json_object_get(algorithms, "dh"), "ML_KEM_768");
}

int bwl_ipsec_caps_ask(struct bwl_vici *v, struct bwl_ipsec_caps *ret, struct bwl_err *e)
{
	json_t *o = NULL;
	int r;

	memset(ret, 0, sizeof(*ret));
	r = bwl_vici_call(v, "version", NULL, &o, e);
	if (r)
		return r;
	snprintf(ret->version, sizeof(ret->version), "%s", bwl_vici_text(o, "version"));
	json_decref(o);
	r = bwl_vici_call(v, "get-algorithms", NULL, &o, e);
	if (r)
		return r;
	ret->mlkem = has_mlkem(o);
	json_decref(o);
	r = takes(v, true, "hw_offload", "packet", &ret->packet, e);
	return r ? r : takes(v, false, "childless", "prefer", &ret->prefer_childless, e);
}
