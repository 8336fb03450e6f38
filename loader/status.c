// SPDX-License-Identifier: GPL-2.0-or-later
/* status: what is attached where and how, why not better, and the words that packets read first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/clock.h>
#include <bwl/desired.h>
#include <bwl/model.h>
#include <bwl/show.h>
#include "journal/journal.h"
#include "fallback.h"
#include "verify.h"

/* If bwlimitd runs this for a reader, the programs are listed, but without the kernel's ids. */
static json_t *root_alone(json_t *o)
{
	static const char *const names[] = { "prog_id", "link_id", "foreign_prog_id", "tag" };

	for (size_t i = 0; getenv("BWLIMIT_ORDERED_AS") && i < sizeof(names) / sizeof(*names); i++)
		json_object_set_new(o, names[i], json_null());
	return o;
}

static json_t *one_program(const struct bwl_hook_at *at)
{
	struct bwl_hook_state st;
	char why[BWL_WHY_LEN];
	json_t *o = json_object();

	if (bwl_hook_query(at, &st, NULL))
		st = (struct bwl_hook_state){ .how = "unknown" };
	bwl_note_get(at, why);
	json_object_set_new(o, "program", json_string(at->prog));
	json_object_set_new(o, "how", json_string(st.how));
	json_object_set_new(o, "attached", json_boolean(st.attached));
	json_object_set_new(o, "first", json_boolean(st.first));
	json_object_set_new(o, "prog_id", st.prog_id ? json_integer(st.prog_id) : json_null());
	json_object_set_new(o, "link_id", st.link_id ? json_integer(st.link_id) : json_null());
	json_object_set_new(o, "foreign_prog_id",
			    st.foreign_id ? json_integer(st.foreign_id) : json_null());
	json_object_set_new(o, "tag", bwl_json_text(*st.tag ? st.tag : NULL));
	json_object_set_new(o, "fallback", bwl_json_text(st.attached && *why ? why : NULL));
	return root_alone(o);
}

static const char *role(unsigned kind)
{
	return kind == BWL_PORT_HOST         ? "host"
	       : kind == BWL_PORT_UPLINK     ? "uplink"
	       : kind == BWL_PORT_MANAGEMENT ? "management"
					     : "tunnel";
}

/* The members of a bond, which decide whether it is up; null for everything else. */
static json_t *bond_members(const struct bwl_netdev *bond)
{
	struct bwl_netdev *all = NULL;
	json_t *o;
	size_t i, n = 0;

	if (strcmp(bond->kind, "bond") || bwl_netdev_list(&all, &n, NULL))
		return json_null();
	o = json_array();
	for (i = 0; i < n; i++)
		if (all[i].master == bond->ifindex)
			json_array_append_new(o, json_pack("{s:s, s:b, s:b}", "device", all[i].name,
							   "up", all[i].up, "carrier",
							   all[i].carrier));
	free(all);
	return o;
}

static json_t *one_port(const struct bwl_pins *p, unsigned id, uint32_t ctl_id)
{
	const struct bwl_dev *dev = &p->dev[id];
	json_t *progs = json_array();
	struct bwl_netdev d = { 0 };
	const struct bwl_attach_point *s;
	bool there = dev->ifindex && !bwl_port_device(dev, &d, NULL);
	unsigned i, n = bwl_attach_points(dev->kind, &s);
	json_t *o;

	for (i = 0; there && i < n; i++) {
		struct bwl_hook_at at = { p->dir, &d, s[i].hook, s[i].prog, ctl_id };

		json_array_append_new(progs, one_program(&at));
	}
	o = json_pack("{s:i, s:s, s:s, s:i, s:i, s:b, s:b, s:b, s:b}", "port_id", id, "port",
		      dev->name, "role", role(dev->kind), "ifindex", dev->ifindex, "mtu_bytes",
		      dev->mtu, "awaited", !dev->ifindex, "present", there, "up", d.up, "carrier",
		      d.carrier);
	json_object_set_new(o, "driver", bwl_json_text(*d.kind ? d.kind : NULL));
	json_object_set_new(o, "bond", bond_members(&d));
	json_object_set_new(o, "programs", progs);
	return o;
}

/* null: the policy requires no lease. */
static json_t *lease_of(struct bwl_pins *p, uint64_t now)
{
	struct bwl_lease_now l;

	if (bwl_active_slot(p) == BWL_NO_SLOT || bwl_lease(p, &l, NULL) ||
	    l.state == BWL_LEASE_NONE)
		return json_null();
	return bwl_json_lease(&l, now);
}

static json_t *journal_of(const struct bwl_pins *p)
{
	struct bwl_journal j;
	json_t *o;

	bwl_journal_look(bwl_journal_dir(p->ctl->drill), &j);
	o = bwl_journal_json(&j);
	bwl_journal_free(&j);
	return o;
}

/* The tag is omitted: whoever knows it could mark packets for the last gate. */
static json_t *document(struct bwl_pins *p, json_t *ports)
{
	const struct bwl_ctl *c = p->ctl;
	uint64_t now = bwl_now_ns(), trial = bwl_trial_ns(p);
	json_t *o = bwl_doc("status");
	bool beats = c->heartbeat_ns && !bwl_is_clamped(p);

	json_object_set_new(o, "pin_dir", json_string(p->dir));
	json_object_set_new(o, "abi", json_integer(p->schema.abi));
	json_object_set_new(o, "max_peers", json_integer(p->schema.max_peers));
	json_object_set_new(o, "stopped", json_boolean(c->stop));
	json_object_set_new(o, "switch", json_string(bwl_switch_name(p)));
	json_object_set_new(o, "clamped", json_boolean(bwl_is_clamped(p)));
	json_object_set_new(o, "policy_in_force", json_boolean(bwl_active_slot(p) != BWL_NO_SLOT));
	json_object_set_new(o, "generation", json_integer(c->generation));
	json_object_set_new(o, "returns_in_s", trial ? bwl_json_in(trial, now) : json_null());
	json_object_set_new(o, "drill", json_boolean(c->drill));
	json_object_set_new(o, "fresh_volume", json_boolean(c->fresh_volume));
	json_object_set_new(o, "attached_ago_s", bwl_json_ago(c->attached_ns, now));
	json_object_set_new(o, "heartbeat_ends_in_s",
			    beats ? bwl_json_in(c->heartbeat_ns, now) : json_null());
	json_object_set_new(o, "lease", lease_of(p, now));
	json_object_set_new(o, "clock_synchronised", json_boolean(bwl_wall_state() == BWL_WALL_OK));
	json_object_set_new(o, "ledger", json_string(bwl_ledger_name(p)));
	json_object_set_new(o, "journal", journal_of(p));
	json_object_set_new(o, "desired", bwl_desired_json(bwl_state_dir()));
	json_object_set_new(o, "ports", ports);
	return o;
}

static const char *str(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static long long num(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static bool yes(const json_t *o, const char *key)
{
	return json_is_true(json_object_get(o, key));
}

static void print_program(const json_t *q)
{
	if (!strcmp(str(q, "how"), "unknown"))
		bwl_put(stdout, "    %-14s shown to root only\n", str(q, "program"));
	else if (!yes(q, "attached"))
		bwl_put(stdout, "    %-14s not attached\n", str(q, "program"));
	else
		bwl_put(stdout, "    %-14s %-12s tag %s link %lld%s\n", str(q, "program"),
			str(q, "how"), str(q, "tag") ? str(q, "tag") : "-", num(q, "link_id"),
			yes(q, "first") ? "" : "  NOT FIRST");
	if (str(q, "fallback"))
		bwl_say(19, "    %14s (%s)", "", str(q, "fallback"));
}

static const char *link_word(const json_t *o)
{
	return !yes(o, "up") ? "DOWN" : yes(o, "carrier") ? "up" : "NO CARRIER";
}

static const char *ledger_text(const char *ledger)
{
	return !strcmp(ledger, "tpm")    ? "bound to a TPM"
	       : !strcmp(ledger, "none") ? ledger
					 : "without a TPM";
}

/* Reports the source's content if it is not in force, and a copy that attach would refuse. */
static void print_desired(const json_t *o)
{
	const json_t *no = json_object_get(o, "refused");

	if (!strcmp(str(o, "state"), "damaged"))
		bwl_say(2,
			"the accepted copy of the policy is damaged: after a reboot everything is closed; a running bwlimitd writes a new one");
	if (str(no, "why"))
		bwl_say(2,
			"refused since %s; the previously accepted policy stays in force: %s%s%.0lld%s%s",
			str(no, "since") ? str(no, "since") : "-",
			str(no, "file") ? str(no, "file") : "", num(no, "line") ? ":" : "",
			num(no, "line"), str(no, "file") ? ": " : "", str(no, "why"));
}

static void print_head(const json_t *o)
{
	const json_t *lease = json_object_get(o, "lease"),
		     *trial = json_object_get(o, "returns_in_s");
	const char *journal = str(json_object_get(o, "journal"), "state"),
		   *state = str(lease, "state");
	char buf[BWL_UNIT_BUF];

	bwl_say(2, "pins %s, room for %lld peers, %s, %s, ledger %s, attached %s ago%s",
		str(o, "pin_dir"), num(o, "max_peers"), str(o, "switch"),
		yes(o, "policy_in_force") ? "a policy is in force" : "no policy",
		ledger_text(str(o, "ledger")),
		bwl_human_time(json_number_value(json_object_get(o, "attached_ago_s")), buf),
		yes(o, "drill") ? ", DRILL" : "");
	if (!strcmp(journal, "missing") || !strcmp(journal, "cut"))
		bwl_say(2,
			"the journal of closures is %s: after a reboot everything is closed; bwlimit-ctl journal init",
			journal);
	print_desired(json_object_get(o, "desired"));
	if (json_is_number(trial) && json_number_value(trial) < 0)
		bwl_say(2,
			"a policy was not confirmed in time: all is at its floor until the one before returns: systemctl status bwlimitd, or bwlimit-ctl policy rollback");
	else if (json_is_number(trial))
		bwl_say(2,
			"a policy is on trial: its grants end in %s, and the desired policy, signed documents and edits wait until then: bwlimit-ctl policy confirm, or policy rollback",
			bwl_human_time(json_number_value(trial), buf));
	if (!yes(o, "clock_synchronised"))
		bwl_say(2,
			"the wall clock is not synchronised: neither signed times nor `until:` are trusted; chronyc tracking");
	if (state && strcmp(state, "live"))
		bwl_say(2, "%s: every grant is at its floor until bwlimit-ctl lease renew",
			strcmp(state, "never") ? "the lease has ended"
					       : "no lease was given since the maps were made");
	else if (state)
		bwl_say(2, "the lease ends in %s",
			bwl_human_time(json_number_value(json_object_get(lease, "ends_in_s")),
				       buf));
}

static void print_text(const json_t *o)
{
	const json_t *v, *q;
	size_t i, k;

	print_head(o);
	json_array_foreach(json_object_get(o, "ports"), i, v)
	{
		bwl_put(stdout, "%-12s %-10s ifindex %-5lld mtu %-5lld %s\n", str(v, "port"),
			str(v, "role"), num(v, "ifindex"), num(v, "mtu_bytes"),
			yes(v, "awaited")    ? "AWAITED"
			: !yes(v, "present") ? "GONE"
					     : link_word(v));
		json_array_foreach(json_object_get(v, "bond"), k, q)
			bwl_put(stdout, "    of %-11s %s\n", str(q, "device"), link_word(q));
		json_array_foreach(json_object_get(v, "programs"), k, q) print_program(q);
	}
}

int bwl_status(struct bwl_attach *a, struct bwl_err *e)
{
	json_t *ports = json_array(), *o;
	struct bwl_pins *p;
	uint64_t awaited;
	uint32_t ctl_id;
	size_t i;
	int r;

	r = bwl_pins_open(a->dir, false, &p, e);
	if (r) {
		json_decref(ports);
		return r;
	}
	ctl_id = bwl_map_id(p->fd[BWL_PIN_ctl]);
	bwl_ports_awaited(p, &awaited);
	for (i = 0; i < BWL_MAX_PORTS; i++)
		if (p->dev[i].ifindex || awaited & 1ULL << i)
			json_array_append_new(ports, one_port(p, (unsigned)i, ctl_id));
	o = document(p, ports);
	if (a->json) {
		bwl_doc_print(o);
	} else {
		print_text(o);
		json_decref(o);
	}
	bwl_pins_close(p);
	return 0;
}
