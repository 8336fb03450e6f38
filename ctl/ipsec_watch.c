// SPDX-License-Identifier: GPL-2.0-or-later
/* `ipsec watch`, `ipsec track`: the kernel's SAs into the pinned maps, always or once. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "ctl.h"
#include "ipsec/track.h"

static const char *offload_name(unsigned int offload)
{
	static const char *const names[_BWL_OFFLOAD_MAX] = { "none", "crypto", "packet" };

	return offload < _BWL_OFFLOAD_MAX ? names[offload] : "?";
}

static const char *peer_name(const struct bwl_pins *p, uint32_t id, char buf[static BWL_NAME_LEN])
{
	const char *name = bwl_peer_name(p, id, buf);

	return name ? name : "-";
}

static void put_verdict(json_t *o, const struct bwl_pins *p, uint32_t id, const struct bwl_track_verdict *v)
{
	char name[BWL_NAME_LEN], other[BWL_XFRM_ADDR_BUF];
	bool open = v->flags & BWL_TUN_SA;

	json_object_set_new(o, "peer", bwl_json_text(bwl_peer_name(p, id, name)));
	json_object_set_new(o, "if_id", json_integer(id));
	json_object_set_new(o, "sa_out", json_boolean(open));
	json_object_set_new(o, "sa_in", json_boolean(v->flags & BWL_TUN_SA_IN));
	json_object_set_new(o, "sa_state", json_string(bwl_track_why_name(v->why)));
	json_object_set_new(o, "text", json_string(bwl_track_why_text(v->why)));
	json_object_set_new(o, "offload", open ? json_string(offload_name(v->offload)) : json_null());
	json_object_set_new(o, "overhead_bytes", v->overhead ? json_integer(v->overhead) : json_null());
	json_object_set_new(o, "spi_out", bwl_json_spi(v->spi_out));
	json_object_set_new(o, "spi_in", bwl_json_spi(v->spi_in));
	json_object_set_new(o, "device_drops_rest", json_boolean(v->flags & BWL_TUN_BENEATH));
	json_object_set_new(o, "alarm", bwl_json_text(v->alarm ? bwl_track_why_name(v->alarm) : NULL));
	json_object_set_new(o, "other", bwl_json_text(v->other.family ? bwl_xfrm_addr_text(&v->other, other)
									: NULL));
}

static void print_alarm(const char *name, uint32_t id, const struct bwl_track_verdict *v)
{
	char other[BWL_XFRM_ADDR_BUF];

	bwl_warn("%s (if_id %u): %s: %s%s%s", name, id, bwl_track_why_name(v->alarm),
		 bwl_track_why_text(v->alarm), v->other.family ? ": " : "",
		 v->other.family ? bwl_xfrm_addr_text(&v->other, other) : "");
}

struct watch {
	struct ctl *c;
	struct bwl_pins *pins;
	bool quiet;		/* the table is printed afterwards */
};

static void on_change(uint32_t id, const struct bwl_track_verdict *v, void *arg)
{
	const struct watch *w = arg;
	char name[BWL_NAME_LEN], when[BWL_TIME_BUF];
	json_t *o;

	peer_name(w->pins, id, name);
	if (v->alarm)
		print_alarm(name, id, v);
	if (w->quiet)
		return;
	bwl_utc_now(when);
	if (w->c->json) {
		o = bwl_doc("ipsec-watch");
		json_object_set_new(o, "time", json_string(when));
		put_verdict(o, w->pins, id, v);
		bwl_doc_line(o);
	} else if (v->flags & BWL_TUN_SA) {
		printf("%s %s open: SA out 0x%08x, in 0x%08x, offload %s\n", when, name,
		       ntohl(v->spi_out), ntohl(v->spi_in), offload_name(v->offload));
	} else {
		printf("%s %s closed: %s (%s)\n", when, name, bwl_track_why_name(v->why),
		       bwl_track_why_text(v->why));
	}
	fflush(stdout);
}

/* Errors that may pass (no memory, a dump that was disturbed) are told once and tried again. */
static int run_watch(struct watch *w, struct bwl_tracker *t)
{
	const struct timespec nap = { .tv_nsec = 100000000 };
	char told[sizeof(w->c->err.text)] = "";
	int r;

	while (!ctl_stopped && !ferror(stdout)) {
		r = bwl_tracker_step(t, 1000, &w->c->err);
		if (r == -ESTALE)
			return r;
		if (!r) {
			*told = '\0';
			continue;
		}
		if (strcmp(told, w->c->err.text))
			bwl_warn("%s", w->c->err.text);
		strcpy(told, w->c->err.text);
		nanosleep(&nap, NULL);
	}
	return 0;
}

static int watch(struct ctl *c, int argc, char **argv)
{
	struct bwl_tracker *t = NULL;
	struct watch w = { .c = c };
	int r;

	if (argc)
		return ctl_usage(c, "unexpected '%.64s'", argv[0]);
	r = bwl_pins_open(c->pin_dir, true, &w.pins, &c->err);
	if (r)
		return r;
	ctl_catch_signals();
	r = bwl_tracker_open(w.pins, false, on_change, &w, &t, &c->err);
	if (!r) {
		r = run_watch(&w, t);
		bwl_tracker_leave(t);
	}
	bwl_tracker_close(t);
	bwl_pins_close(w.pins);
	return r;
}

static void print_rows(const struct watch *w, const struct bwl_track *t)
{
	static const char *const heads[] = { "PEER", ">IF_ID", "LEAVES", "OUT", "IN", "OFFLOAD",
					     ">ADDS", "ALARM", NULL };
	struct bwl_table *table = bwl_table_new(heads);
	struct bwl_track_verdict v;
	char name[BWL_NAME_LEN];

	for (uint32_t id = 1; id < w->pins->schema.max_peers; id++) {
		bool open;

		if (!bwl_track_get(t, id, &v))
			continue;
		open = v.flags & BWL_TUN_SA;
		bwl_cell(table, "%s", peer_name(w->pins, id, name));
		bwl_cell(table, "%u", id);
		bwl_cell(table, "%s", open ? "yes" : bwl_track_why_name(v.why));
		bwl_cell(table, open ? "%08x" : "-", ntohl(v.spi_out));
		bwl_cell(table, v.flags & BWL_TUN_SA_IN ? "%08x" : "-", ntohl(v.spi_in));
		bwl_cell(table, "%s%s", open ? offload_name(v.offload) : "-",
			 v.offload == BWL_OFFLOAD_PACKET && !(v.flags & BWL_TUN_BENEATH)
				 ? " (no drop policy)" : "");
		bwl_cell(table, v.overhead ? "%u" : "-", v.overhead);
		bwl_cell(table, "%s", v.alarm ? bwl_track_why_name(v.alarm) : "-");
	}
	bwl_table_print(table, stdout);
	bwl_table_free(table);
}

static void print_json(const struct watch *w, const struct bwl_track *t)
{
	struct bwl_track_verdict v;
	json_t *a = json_array();

	for (uint32_t id = 1; id < w->pins->schema.max_peers; id++) {
		if (bwl_track_get(t, id, &v)) {
			json_array_append_new(a, json_object());
			put_verdict(json_array_get(a, json_array_size(a) - 1), w->pins, id, &v);
		}
	}
	ctl_print_list("ipsec-track", "peers", a);
}

static int track(struct ctl *c, int argc, char **argv)
{
	bool dry_run = false;
	const struct ctl_opt opts[] = { { "--dry-run", &dry_run, NULL }, { NULL, NULL, NULL } };
	struct watch w = { .c = c, .quiet = true };
	struct bwl_tracker *t = NULL;
	int r;

	r = ctl_only_opts(c, argc, argv, opts);
	if (r)
		return r;
	r = bwl_pins_open(c->pin_dir, !dry_run, &w.pins, &c->err);
	if (r)
		return r;
	r = bwl_tracker_open(w.pins, dry_run, on_change, &w, &t, &c->err);
	if (!r) {
		if (c->json)
			print_json(&w, bwl_tracker_track(t));
		else
			print_rows(&w, bwl_tracker_track(t));
		bwl_tracker_leave(t);
	}
	bwl_tracker_close(t);
	bwl_pins_close(w.pins);
	return r;
}

const struct ctl_cmd ctl_ipsec_watch_cmds[] = {
	{ "ipsec", "watch", "", "Keep the data plane informed of the kernel's SAs; what bwlimit-ipsec.service runs",
	  "An encrypted peer is open while the kernel has an SA to its DPU and an IPsec policy that\n"
	  "demands it. Prints what opens and closes (--json: one object a line) and, on standard\n"
	  "error, what must not be there. Ends on SIGTERM, or when the programs are detached. Without\n"
	  "it, new SAs are not used, and the kernel drops what has none.\n", watch },
	{ "ipsec", "track", "[--dry-run]", "Look once at the kernel's SAs and tell the data plane",
	  "  --dry-run  only print; also while `ipsec watch` runs\n"
	  "A device that encrypts by itself (packet) counts only while `ipsec watch` runs.\n"
	  "LEAVES says why nothing may leave to a peer: no-sa, no-policy (SA, and no IPsec policy that\n"
	  "demands it), unmatched (policy, and no SA that fits). ADDS is the most bytes that the SA adds\n"
	  "to a packet. An alarm closes the peer: policy-remote, open-policy, half-offload,\n"
	  "not-encrypted; or is of an SA that is not used: sa-remote, not-tunnel, no-peer.\n", track },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
