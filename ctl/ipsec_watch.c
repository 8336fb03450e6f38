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

struct row {
	const struct bwl_pins *pins;
	uint32_t id;
	const struct bwl_track_verdict *v;
};

static bool leaves(const struct row *r)
{
	return r->v->flags & BWL_TUN_SA;
}

static const char *other(const struct bwl_track_verdict *v, char buf[static BWL_XFRM_ADDR_BUF])
{
	return v->other.family ? bwl_xfrm_addr_text(&v->other, buf) : NULL;
}

static struct bwl_value spi(__be32 value, bool used)
{
	return used ? bwl_v_both(bwl_json_spi(value), "%08x", ntohl(value))
		    : bwl_v_json(bwl_json_spi(value));
}

static struct bwl_value offload(const struct row *r)
{
	bool bare = r->v->offload == BWL_OFFLOAD_PACKET && !(r->v->flags & BWL_TUN_BENEATH);
	const char *name = offload_name(r->v->offload);

	return leaves(r) ? bwl_v_both(json_string(name), "%s%s", name,
				      bare ? " (no drop policy)" : "")
			 : bwl_v_json(json_null());
}

#define FIELD(field, key, head, value)                                                             \
	static struct bwl_value get_##field(const void *row)                                       \
	{                                                                                          \
		const struct row *r = row;                                                         \
                                                                                                   \
		return value;                                                                      \
	}                                                                                          \
	static const struct bwl_field field_##field = { key, head, get_##field }

FIELD(peer, "peer", "PEER", bwl_v_text(bwl_peer_name(r->pins, r->id, (char[BWL_NAME_LEN]){ 0 })));
FIELD(if_id, "if_id", ">IF_ID", bwl_v_count(r->id));
FIELD(sa_out, "sa_out", "LEAVES",
      bwl_v_both(json_boolean(leaves(r)), "%s", leaves(r) ? "yes" : bwl_track_why_name(r->v->why)));
FIELD(sa_in, "sa_in", NULL, bwl_v_yes(r->v->flags &BWL_TUN_SA_IN));
FIELD(sa_state, "sa_state", NULL, bwl_v_text(bwl_track_why_name(r->v->why)));
FIELD(text, "text", NULL, bwl_v_text(bwl_track_why_text(r->v->why)));
FIELD(spi_out, "spi_out", "OUT", spi(r->v->spi_out, leaves(r)));
FIELD(spi_in, "spi_in", "IN", spi(r->v->spi_in, r->v->flags &BWL_TUN_SA_IN));
FIELD(offload, "offload", "OFFLOAD", offload(r));
FIELD(overhead, "overhead_bytes", ">ADDS",
      r->v->overhead ? bwl_v_count(r->v->overhead) : bwl_v_json(json_null()));
FIELD(beneath, "device_drops_rest", NULL, bwl_v_yes(r->v->flags &BWL_TUN_BENEATH));
FIELD(alarm, "alarm", "ALARM", bwl_v_text(r->v->alarm ? bwl_track_why_name(r->v->alarm) : NULL));
FIELD(other, "other", NULL, bwl_v_text(other(r->v, (char[BWL_XFRM_ADDR_BUF]){ 0 })));

static const struct bwl_column columns[] = {
	{ &field_peer, BWL_BOTH },     { &field_if_id, BWL_BOTH },
	{ &field_sa_out, BWL_BOTH },   { &field_sa_in, BWL_BOTH },
	{ &field_sa_state, BWL_BOTH }, { &field_text, BWL_BOTH },
	{ &field_spi_out, BWL_BOTH },  { &field_spi_in, BWL_BOTH },
	{ &field_offload, BWL_BOTH },  { &field_overhead, BWL_BOTH },
	{ &field_beneath, BWL_BOTH },  { &field_alarm, BWL_BOTH },
	{ &field_other, BWL_BOTH },    { NULL, BWL_BOTH },
};

static void print_alarm(const char *name, uint32_t id, const struct bwl_track_verdict *v)
{
	char buf[BWL_XFRM_ADDR_BUF];
	const char *at = other(v, buf);

	bwl_warn("%s (if_id %u): %s: %s%s%s", name, id, bwl_track_why_name(v->alarm),
		 bwl_track_why_text(v->alarm), at ? ": " : "", at ? at : "");
}

struct watch {
	struct ctl *c;
	struct bwl_pins *pins;
	bool quiet; /* the table is printed afterwards */
};

static void on_change(uint32_t id, const struct bwl_track_verdict *v, void *arg)
{
	const struct watch *w = arg;
	char buf[BWL_NAME_LEN], when[BWL_TIME_BUF];
	const char *name = peer_name(w->pins, id, buf);
	json_t *o;

	if (v->alarm)
		print_alarm(name, id, v);
	if (w->quiet)
		return;
	bwl_utc_now(when);
	if (w->c->json) {
		o = bwl_doc("ipsec-watch");
		json_object_set_new(o, "time", json_string(when));
		json_object_update_new(o, bwl_row_json(columns, &(struct row){ w->pins, id, v }));
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

static void print_peers(const struct watch *w, const struct bwl_track *t)
{
	struct bwl_list *l = bwl_list_new(columns, w->c->json);
	struct bwl_track_verdict v;
	json_t *rows;

	for (uint32_t id = 1; id < w->pins->schema.max_peers; id++)
		if (bwl_track_get(t, id, &v))
			bwl_list_add(l, &(struct row){ w->pins, id, &v });
	rows = bwl_list_end(l);
	if (rows)
		ctl_print_list("ipsec-track", "peers", rows);
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
		print_peers(&w, bwl_tracker_track(t));
		bwl_tracker_leave(t);
	}
	bwl_tracker_close(t);
	bwl_pins_close(w.pins);
	return r;
}

const struct ctl_cmd ctl_ipsec_watch_cmds[] = {
	{ "ipsec", "watch", "",
	  "Keep the data plane informed of the kernel's SAs; what bwlimit-ipsec.service runs",
	  "An encrypted peer is open while the kernel has an SA to its DPU and an IPsec policy that\n"
	  "demands it. Prints what opens and closes (--json: one object a line) and, on standard\n"
	  "error, what must not be there. Ends on SIGTERM, or when the programs are detached. Without\n"
	  "it, new SAs are not used, and the kernel drops what has none.\n",
	  watch },
	{ "ipsec", "track", "[--dry-run]", "Look once at the kernel's SAs and tell the data plane",
	  "  --dry-run  only print; also while `ipsec watch` runs\n"
	  "A device that encrypts by itself (packet) counts only while `ipsec watch` runs.\n"
	  "LEAVES says why nothing may leave to a peer: no-sa, no-policy (SA, and no IPsec policy that\n"
	  "demands it), unmatched (policy, and no SA that fits). ADDS is the most bytes that the SA adds\n"
	  "to a packet. An alarm closes the peer: policy-remote, open-policy, half-offload,\n"
	  "not-encrypted; or is of an SA that is not used: sa-remote, not-tunnel, no-peer.\n",
	  track },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
