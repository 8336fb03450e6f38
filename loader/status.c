/* SPDX-License-Identifier: GPL-2.0-or-later */
/* status: what is attached where, how, why not better, and the words that packets read first. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/tables.h>
#include <bwl/units.h>
#include "note.h"
#include "verify.h"

static json_t *one_program(const struct bwl_hook_at *at)
{
	struct bwl_hook_state st;
	char why[BWL_WHY_LEN];
	json_t *o;

	if (bwl_hook_query(at, &st, NULL))
		st = (struct bwl_hook_state){ .how = "unknown" };
	bwl_note_get(at, why);
	o = json_pack("{s:s, s:s, s:b, s:b, s:i, s:i, s:s, s:s}", "program", at->prog, "hook", st.how,
		      "attached", st.attached, "first", st.first, "prog_id", st.prog_id, "link_id",
		      st.link_id, "tag", st.tag, "fallback", st.attached ? why : "");
	if (st.foreign_id)
		json_object_set_new(o, "foreign_prog_id", json_integer(st.foreign_id));
	return o;
}

static const char *kind_word(unsigned kind)
{
	return kind == BWL_PORT_HOST ? "host" : kind == BWL_PORT_UPLINK ? "uplink"
	       : kind == BWL_PORT_MANAGEMENT ? "management" : "tunnel";
}

/* The devices of a bond, by which it is up or not; NULL for everything else. */
static json_t *bond_members(const struct bwl_netdev *bond)
{
	struct bwl_netdev *all = NULL;
	json_t *o;
	size_t i, n = 0;

	if (strcmp(bond->kind, "bond") || bwl_netdev_list(&all, &n, NULL))
		return NULL;
	o = json_array();
	for (i = 0; i < n; i++)
		if (all[i].master == bond->ifindex)
			json_array_append_new(o, json_pack("{s:s, s:b, s:b}", "device", all[i].name, "up",
							   all[i].up, "carrier", all[i].carrier));
	free(all);
	return o;
}

static json_t *one_port(const struct bwl_pins *p, unsigned id, uint32_t ctl_id)
{
	const struct bwl_dev *dev = &p->dev[id];
	json_t *progs = json_array();
	struct bwl_netdev d = { 0 };
	const struct bwl_slot *s;
	bool there = !bwl_netdev_get(dev->name, &d, NULL);
	unsigned i, n = bwl_port_slots(dev->kind, &s);

	for (i = 0; there && i < n; i++) {
		struct bwl_hook_at at = { p->dir, &d, s[i].hook, s[i].prog, ctl_id };

		json_array_append_new(progs, one_program(&at));
	}
	return json_pack("{s:i, s:s, s:s, s:s, s:i, s:i, s:b, s:b, s:b, s:o*, s:o}", "id", id, "device", dev->name,
			 "kind", kind_word(dev->kind), "driver", d.kind,
			 "ifindex", dev->ifindex, "mtu", dev->mtu, "present", there, "up", d.up,
			 "carrier", d.carrier, "bond", bond_members(&d), "programs", progs);
}

/* Null: the policy asks for none. */
static json_t *lease_words(struct bwl_pins *p)
{
	struct bwl_lease_now l;
	uint64_t now = bwl_now_ns();

	if (bwl_active_slot(p, now) == BWL_NO_SLOT || bwl_lease(p, &l, NULL) || l.state == BWL_LEASE_NONE)
		return json_null();
	return json_pack("{s:s, s:o}", "state", bwl_lease_word(l.state), "ends_in_seconds",
			 l.until_ns ? json_real(((double)l.until_ns - (double)now) / 1e9) : json_null());
}

/* The tag is left out: whoever knows it could mark packets for the last gate. */
static json_t *control_words(struct bwl_pins *p, uint64_t now)
{
	static const char *const stop[] = { "running", "stopped", "upgrading", "closed" };
	const struct bwl_control *c = p->ctl;
	json_t *o = json_pack("{s:s, s:i, s:b, s:b, s:b, s:f}", "switch", stop[c->stop < 4 ? c->stop : 1],
			      "policies_applied", c->generation, "policy",
			      bwl_active_slot(p, now) != BWL_NO_SLOT, "drill", c->drill != 0,
			      "fresh_volume", c->fresh_volume != 0, "attached_seconds",
			      (double)(now - c->attached_ns) / 1e9);
	uint64_t pending = bwl_pending_ns(p, now);

	json_object_set_new(o, "heartbeat_seconds",
			    !c->heartbeat_ns ? json_null() :
			    json_real(((double)c->heartbeat_ns - (double)now) / 1e9));
	json_object_set_new(o, "lease", lease_words(p));
	json_object_set_new(o, "ledger", json_string(c->ledger & BWL_LEDGER_TPM ? "bound to a TPM" :
						     c->ledger ? "without a TPM" : "none"));
	json_object_set_new(o, "journal", bwl_status_journal(p));
	json_object_set_new(o, "returns_in_seconds",
			    pending ? json_real((double)(pending - now) / 1e9) : json_null());
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
	if (!yes(q, "attached"))
		printf("    %-14s not attached\n", str(q, "program"));
	else
		printf("    %-14s %-12s tag %s link %lld%s\n", str(q, "program"), str(q, "hook"),
		       str(q, "tag"), num(q, "link_id"), yes(q, "first") ? "" : "  NOT FIRST");
	if (*str(q, "fallback"))
		printf("    %14s (%s)\n", "", str(q, "fallback"));
}

static const char *link_word(const json_t *o)
{
	return !yes(o, "up") ? "DOWN" : yes(o, "carrier") ? "up" : "NO CARRIER";
}

static void print_text(const json_t *o)
{
	const json_t *c = json_object_get(o, "control"), *v, *q;
	const char *lease = str(json_object_get(c, "lease"), "state");
	char buf[BWL_UNIT_BUF];
	size_t i, k;

	printf("pins %s, room for %lld peers, %s, %s, ledger %s, attached %s ago%s\n", str(o, "pins"),
	       num(o, "max_peers"), str(c, "switch"), yes(c, "policy") ? "a policy is in force" : "no policy", str(c, "ledger"),
	       bwl_human_time(json_number_value(json_object_get(c, "attached_seconds")), buf),
	       yes(c, "drill") ? ", DRILL" : "");
	if (!strcmp(str(json_object_get(c, "journal"), "state"), "missing") ||
	    !strcmp(str(json_object_get(c, "journal"), "state"), "cut"))
		printf("the journal of what was closed is %s: after a reboot everything is closed; bwlimit-ctl journal init\n",
		       str(json_object_get(c, "journal"), "state"));
	if (lease && strcmp(lease, "live"))
		printf("%s: every grant is at its floor until bwlimit-ctl lease renew\n",
		       strcmp(lease, "never") ? "the lease has ended" : "there was no lease since the maps were made");
	else if (lease)
		printf("the lease ends in %s\n", bwl_human_time(json_number_value(json_object_get(
		       json_object_get(c, "lease"), "ends_in_seconds")), buf));
	json_array_foreach(json_object_get(o, "ports"), i, v) {
		printf("%-12s %-10s ifindex %-5lld mtu %-5lld %s\n", str(v, "device"), str(v, "kind"),
		       num(v, "ifindex"), num(v, "mtu"), !yes(v, "present") ? "GONE" : link_word(v));
		json_array_foreach(json_object_get(v, "bond"), k, q)
			printf("    of %-11s %s\n", str(q, "device"), link_word(q));
		json_array_foreach(json_object_get(v, "programs"), k, q)
			print_program(q);
	}
}

int bwl_status(struct bwl_attach *a, struct bwl_err *e)
{
	json_t *ports = json_array(), *o;
	struct bwl_pins *p;
	uint32_t ctl_id;
	uint64_t now;
	size_t i;
	int r;

	r = bwl_pins_open(a->dir, false, &p, e);
	if (r) {
		json_decref(ports);
		return r;
	}
	now = bwl_now_ns();
	ctl_id = bwl_map_id(p->fd[BWL_PIN_ctl]);
	for (i = 0; i < BWL_MAX_PORTS; i++)
		if (p->dev[i].ifindex)
			json_array_append_new(ports, one_port(p, (unsigned)i, ctl_id));
	o = json_pack("{s:s, s:i, s:i, s:b, s:b, s:o, s:o}", "pins", p->dir, "abi", p->schema.abi,
		      "max_peers", p->schema.max_peers, "stopped", p->ctl->stop != 0, "policy",
		      bwl_active_slot(p, now) != BWL_NO_SLOT, "control", control_words(p, now), "ports",
		      ports);
	if (a->json) {
		json_dumpf(o, stdout, JSON_INDENT(2));
		putchar('\n');
	} else {
		print_text(o);
	}
	json_decref(o);
	bwl_pins_close(p);
	return 0;
}
