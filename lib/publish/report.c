// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A report of bwl_publish() as JSON, and back: bwlimitd sends it to the program that gave the
 * order.
 */
#include <bwl/doc.h>
#include <bwl/publish.h>

#define COUNTS(X)                                                                                  \
	X(peers, "peer_count")                                                                     \
	X(prefixes, "prefix_count")                                                                \
	X(added, "added_count")                                                                    \
	X(retired, "retired_count")                                                                \
	X(inherited, "inherited_count")                                                            \
	X(kept_revoked, "kept_revoked_count")                                                      \
	X(exhausted, "exhausted_count")

json_t *bwl_json_report(const struct bwl_publish_report *r)
{
	json_t *o = json_object();

#define X(member, key) json_object_set_new(o, key, json_integer(r->member));
	COUNTS(X)
#undef X
	json_object_set_new(o, "map_bytes", bwl_json_u64(r->map_bytes));
	json_object_set_new(o, "took_s", bwl_json_real(r->seconds));
	return o;
}

bool bwl_report_from(const json_t *o, struct bwl_publish_report *ret)
{
	*ret = (struct bwl_publish_report){ 0 };
#define X(member, key) ret->member = (uint32_t)json_integer_value(json_object_get(o, key));
	COUNTS(X)
#undef X
	ret->map_bytes = (uint64_t)json_integer_value(json_object_get(o, "map_bytes"));
	ret->seconds = json_real_value(json_object_get(o, "took_s"));
	return json_is_object(o);
}
