// SPDX-License-Identifier: GPL-2.0-or-later
/* `--fleet trays`: what the store has of each tray; needs no controller. */
#include <stdio.h>
#include <time.h>
#include "believe.h"
#include "cmds.h"
#include "fleet.h"
#include "says.h"

static json_t *row(const struct fleet_tray *t)
{
	const struct status_now now = { bwl_now_ns(), time(NULL) };
	enum status_worth w = status_worth(&t->by, &t->last, &now);
	const struct tray_status *s = t->status ? &t->status->s : NULL;
	bool has_policy = s && s->has_policy;
	json_t *o = json_object(), *labels = json_array();

	for (size_t i = 0; i < t->nlabels; i++)
		json_array_append_new(labels, json_string(t->labels[i]));
	json_object_set_new(o, "tray", json_string(t->name));
	json_object_set_new(o, "alive", json_boolean(t->alive));
	json_object_set_new(o, "enrolled", json_boolean(t->enrolled));
	json_object_set_new(o, "expelled", json_boolean(t->expelled));
	json_object_set_new(o, "labels", labels);
	json_object_set_new(o, "policy_name", bwl_json_text(has_policy ? s->policy_name : NULL));
	json_object_set_new(o, "policy_version",
			    has_policy ? bwl_json_u64(s->policy_version) : json_null());
	json_object_set_new(o, "fresh",
			    s && w != STATUS_LATE ? json_boolean(s->fresh) : json_null());
	json_object_set_new(o, "status_signature",
			    s || *t->last.refused ? json_string(status_signature_word(w))
						  : json_null());
	return o;
}

static const struct bwl_value no_value;

static struct bwl_value cell(const void *at, const char *key)
{
	const json_t *v = json_object_get(at, key);

	if (json_is_string(v))
		return bwl_v_text(json_string_value(v));
	if (json_is_boolean(v))
		return bwl_v_yes(json_is_true(v));
	return v && json_is_integer(v) ? bwl_v_count((uint64_t)json_integer_value(v)) : no_value;
}

#define CELL(name)                                                                                 \
	static struct bwl_value get_##name(const void *at)                                         \
	{                                                                                          \
		return cell(at, #name);                                                            \
	}
CELL(tray)
CELL(alive)
CELL(enrolled)
CELL(expelled)
CELL(policy_name)
CELL(policy_version)
CELL(fresh)
CELL(status_signature)

static const struct bwl_field fields[] = {
	{ "tray", "~TRAY", get_tray },
	{ "alive", "THERE", get_alive },
	{ "enrolled", "ENROLLED", get_enrolled },
	{ "expelled", "EXPELLED", get_expelled },
	{ "policy_name", "~POLICY", get_policy_name },
	{ "policy_version", ">VERSION", get_policy_version },
	{ "fresh", "FRESH", get_fresh },
	{ "status_signature", "STATUS", get_status_signature },
};
static const struct bwl_column columns[] = {
	{ &fields[0], BWL_BOTH }, { &fields[1], BWL_BOTH }, { &fields[2], BWL_BOTH },
	{ &fields[3], BWL_BOTH }, { &fields[4], BWL_BOTH }, { &fields[5], BWL_BOTH },
	{ &fields[6], BWL_BOTH }, { &fields[7], BWL_BOTH }, { NULL, BWL_BOTH },
};

static void print(struct ctl *c, const struct fleet *f, json_t *rows)
{
	struct bwl_list *l;
	json_t *o, *v;
	size_t i;

	if (c->json) {
		o = bwl_doc("fleet-trays");
		json_object_set(o, "trays", rows);
		json_object_set_new(o, "tampering", fleet_tampering(f));
		bwl_doc_print(o);
		return;
	}
	l = bwl_list_new(columns, false);
	json_array_foreach(rows, i, v) bwl_list_add(l, v);
	bwl_list_end(l);
}

static int trays(struct ctl *c, int argc, char **argv)
{
	struct fleet f = { 0 };
	const struct ctl_opt opts[] = { FLEET_CONF_OPTS(&f.conf), { NULL, NULL, NULL } };
	json_t *rows = json_array();
	int r = ctl_only_opts(c, argc, argv, opts);

	if (!r)
		r = fleet_open(c, &f);
	if (!r)
		r = fleet_trays(&f);
	if (!r)
		r = fleet_labels(&f);
	for (size_t i = 0; !r && i < f.n; i++) {
		r = f.tray[i].has_status ? fleet_status_read(&f, &f.tray[i]) : 0;
		if (!r)
			json_array_append_new(rows, row(&f.tray[i]));
	}
	if (!r)
		print(c, &f, rows);
	json_decref(rows);
	fleet_close(&f);
	return r;
}

const struct ctl_cmd fleet_status_cmds[] = {
	{ "trays", NULL, "[OPTIONS]", "Trays in the store: enrolled, alive, and what is in force",
	  "Reads only the store; `status` asks the controller, which knows what they send.\n\n" FLEET_CONF_HELP
	  "Examples:\n"
	  "  bwlimit-ctl --fleet trays\n",
	  trays },
	{ "logs", NULL, "[OPTIONS]",
	  "Audit logs of the trays: how far each is cosigned, and what is wrong",
	  "Read from the store, where the controllers keep it. LOG is cosigned; behind: the tray has more records than\n"
	  "it has proved to follow; seen: no controller cosigns; wrong: it contradicts what it said before, and is no\n"
	  "longer cosigned. --json has the cosigned checkpoints, for `audit verify --witness`.\n\n" FLEET_CONF_HELP
	  "Examples:\n"
	  "  bwlimit-ctl --fleet logs --json\n",
	  fleet_logs },
	{ "rollouts", NULL, "[--most N] [OPTIONS]",
	  "Policies that are rolled out in stages: how far, since when, and the health of their trays",
	  "Read from the store, where the controllers keep it. A policy is going, done, back (the health of its trays\n"
	  "became worse, and the policy before it holds again) or stuck (the same, but there was none before it).\n"
	  "PER CENT of the trays take it; JUDGED are those that are examined, UNWELL those that are bad or still\n"
	  "awaited. What needs attention comes first.\n\n"
	  "  --most N        list at most N\n" FLEET_CONF_HELP "Examples:\n"
	  "  bwlimit-ctl --fleet rollouts --most 5\n",
	  fleet_rollouts },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
