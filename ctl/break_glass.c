// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `break-glass`: puts in force, from a file and for a few hours, what two people signed for an
 * emergency.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <bwl/encode.h>
#include "enrolled/gate.h"
#include "enrolled/glass.h"
#include "signed.h"
#include "signed/payload.h"

static void show(struct ctl *c, const char *file, const struct bwl_glass *g,
		 const struct bwl_publish_report *rep)
{
	json_t *o = bwl_doc("break-glass");
	char hex[65], t[BWL_UNIT_BUF];

	json_object_set_new(o, "file", json_string(file));
	json_object_set_new(o, "document_type", json_string(bwl_signed_word(g->doc.type)));
	json_object_set_new(o, "document_name", json_string(g->doc.terms.name));
	json_object_set_new(o, "document_version", bwl_json_u64(g->doc.terms.version));
	json_object_set_new(o, "digest",
			    json_string(bwl_hex_encode(g->doc.digest, sizeof(g->doc.digest), hex)));
	json_object_set_new(o, "people_count", json_integer(g->doc.people));
	json_object_set_new(o, "ends_in_s", bwl_json_span(g->for_ns));
	ctl_print_report(c, rep, o);
	if (!c->json)
		bwl_put(stdout,
			"  ends by itself in %s; before that: bwlimit-ctl policy rollback\n",
			bwl_human_time((double)g->for_ns / 1e9, t));
}

static int put_in_force(struct ctl *c, const char *file, const struct bwl_memory *m,
			const char *dir, const struct bwl_glass *g)
{
	const char *reason = bwl_payload_text(g->doc.body, "reason");
	struct bwl_publish_report rep = { 0 };
	struct bwl_pins *pins = NULL;
	char text[600], hex[65], t[BWL_UNIT_BUF];
	int r = bwl_pins_open(c->pin_dir, true, &pins, &c->err);

	bwl_hex_encode(g->doc.digest, sizeof(g->doc.digest), hex);
	snprintf(
		text, sizeof(text),
		"break-glass %.64s: the %s %s, version %llu, digest %s, signed by %u people, for %s: %.200s",
		file, bwl_signed_word(g->doc.type), g->doc.terms.name,
		(unsigned long long)g->doc.terms.version, hex, g->doc.people,
		bwl_human_time((double)g->for_ns / 1e9, t), reason ? reason : "no reason");
	if (!r)
		r = bwl_audit_intent(&c->err, "%s", text);
	if (!r)
		r = bwl_glass_break(pins, m, dir, g, &rep, &c->err);
	if (!r) {
		bwl_audit("%s", text);
		show(c, file, g, &rep);
	}
	bwl_pins_close(pins);
	return r;
}

static int break_glass(struct ctl *c, int argc, char **argv)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = NULL;
	BWL_AUTO_FREE char *bytes = NULL;
	const char *dir = bwl_enrolled_dir();
	struct bwl_glass g;
	size_t len;
	int r;

	if (argc != 1)
		return ctl_usage(c, "give a signed document");
	if (!dir) {
		bwl_fail(
			&c->err, ENOENT,
			"no root is enrolled here, so break-glass does not apply: use policy apply");
		return bwl_hint(&c->err, "bwlimit-ctl policy apply");
	}
	r = ctl_signed_read(c, argv[0], &bytes, &len);
	if (!r)
		r = bwl_memory_open(dir, &m, &c->err);
	if (!r)
		r = bwl_glass_open(m, dir, bytes, len, time(NULL), &g, &c->err);
	if (r)
		return r;
	r = put_in_force(c, argv[0], m, dir, &g);
	bwl_glass_free(&g);
	return r;
}

const struct ctl_cmd ctl_break_glass_cmds[] = {
	{ "break-glass", NULL, "FILE",
	  "In an emergency: put in force, for some hours, a policy or grant that two people signed",
	  "On an enrolled tray. FILE has break_glass set (policy sign --break-glass), and as many signatures as a\n"
	  "widening needs. Neither a controller, nor a store, nor bwlimitd is needed. After 4h, or when the document\n"
	  "ends, every grant ends by the data plane's own clock, and bwlimitd applies the policy before. Each document\n"
	  "works once. bwlimitd raises an alarm while it is in force, and the audit log records it.\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl break-glass emergency.signed\n"
	  "  bwlimit-ctl policy rollback\n",
	  break_glass },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
