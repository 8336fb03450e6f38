// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `audit ack`: acknowledges the signs of tampering up to a record of the log. The page is red for
 * each sign until then. By a record's number, so that a sign that came later is not acknowledged
 * unseen.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "audit/recent.h"
#include "audit/tool_log.h"
#include "ctl.h"

static int no_such_sign(struct ctl *c, uint64_t record, json_int_t last)
{
	bwl_fail(&c->err, ENOENT, "the end of the log has no sign of tampering at record %llu",
		 (unsigned long long)record);
	if (last < 0)
		return bwl_hint(&c->err, "no sign there awaits an acknowledgement");
	return bwl_hint(&c->err, "the newest is record %lld: look at it first, with `audit show`",
			(long long)last);
}

/* The number of unacknowledged signs up to this record; the record must be a sign. */
static int count_signs(struct ctl *c, const json_t *lines, uint64_t record, uint64_t *ret)
{
	json_int_t last = -1;
	bool found = false;
	json_t *line;
	size_t i;

	*ret = 0;
	json_array_foreach(lines, i, line)
	{
		json_int_t n = json_integer_value(json_object_get(line, "record"));

		if (strcmp(json_string_value(json_object_get(line, "event")), "tamper"))
			continue;
		found |= (uint64_t)n == record;
		if (json_is_true(json_object_get(line, "acknowledged")))
			continue;
		*ret += (uint64_t)n <= record;
		last = n;
	}
	return found ? 0 : no_such_sign(c, record, last);
}

static int look(struct ctl *c, uint64_t record, uint64_t *ret)
{
	const char *dir = bwl_audit_dir(NULL);
	struct bwl_audit_recent *log;
	json_t *lines;
	int r;

	if (!dir) {
		bwl_fail(&c->err, ENOENT, "the audit log is off: BWLIMIT_AUDIT_DIR is empty");
		return bwl_hint(&c->err, "`bwlimit-ctl audit init` begins one");
	}
	log = bwl_audit_recent_new(dir);
	r = bwl_audit_recent_read(log, &c->err);
	lines = bwl_audit_recent_lines(log);
	if (r >= 0)
		r = count_signs(c, lines, record, ret);
	json_decref(lines);
	bwl_audit_recent_free(log);
	return r;
}

static int audit_ack(struct ctl *c, int argc, char **argv)
{
	const struct ctl_opt none[] = { { NULL, NULL, NULL } };
	uint64_t record, signs;
	char why[201], text[256];
	json_t *data;
	int r = ctl_opts(c, &argc, argv, none);

	if (r)
		return r;
	if (argc < 2)
		return ctl_usage(c, argc ? "the reason is missing: what was it?"
					 : "the record's number is missing: `audit show` has it");
	r = ctl_number(c, "RECORD", argv[0], INT64_MAX, &record);
	if (r)
		return r;
	ctl_join(argc - 1, argv + 1, why, sizeof(why));
	r = look(c, record, &signs);
	if (r)
		return r;
	if (signs) {
		snprintf(text, sizeof(text), "ack of signs up to record %llu: %s",
			 (unsigned long long)record, why);
		data = json_pack("{s:I}", "record", (json_int_t)record);
		r = bwl_audit_must_record("ack", text, data, &c->err);
		json_decref(data);
	}
	if (r)
		return r;
	if (c->json) {
		json_t *o = bwl_doc("audit-ack");

		json_object_set_new(o, "record", bwl_json_u64(record));
		json_object_set_new(o, "sign_count", bwl_json_u64(signs));
		bwl_doc_print(o);
	} else if (signs) {
		bwl_put(stdout, "acknowledged: %llu sign%s of tampering, up to record %llu\n",
			(unsigned long long)signs, BWL_S(signs), (unsigned long long)record);
	} else {
		printf("record %llu was acknowledged before; nothing was recorded\n",
		       (unsigned long long)record);
	}
	return 0;
}

const struct ctl_cmd ctl_audit_ack_cmds[] = {
	{ "audit", "ack", "RECORD REASON…",
	  "Acknowledge signs of tampering, up to a record of the log",
	  "The page then shows them as acknowledged, until a new sign comes. Nothing is opened, and no sign is removed\n"
	  "from the log, which records who acknowledged them and why. RECORD is the number of a sign's record, from the\n"
	  "page or `audit show`; later signs are not acknowledged. Members of group bwlimit may do this, too.\n\n"
	  "Examples:\n  bwlimit-ctl audit ack 4711 the uplink was rewired, ticket 12\n",
	  audit_ack },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
