// SPDX-License-Identifier: GPL-2.0-or-later
/* Aligned tables for people, JSON for scripts; both say the same. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ctl.h"

#define MAX_COLUMNS 12

struct ctl_table {
	const char *const *heads;
	size_t columns, cells, room;
	size_t width[MAX_COLUMNS];
	char **cell;
};

static void *no_memory(void *p)
{
	if (!p) {
		fputs(CTL_PROGRAM ": out of memory\n", stderr);
		abort();
	}
	return p;
}

static const char *head_text(const char *head)
{
	return *head == CTL_RIGHT ? head + 1 : head;
}

struct ctl_table *ctl_table_new(const char *const *heads)
{
	struct ctl_table *t = no_memory(calloc(1, sizeof(*t)));

	t->heads = heads;
	for (; heads[t->columns]; t->columns++)
		t->width[t->columns] = strlen(head_text(heads[t->columns]));
	return t;
}

void ctl_cell(struct ctl_table *t, const char *fmt, ...)
{
	size_t col = t->cells % t->columns, len;
	va_list ap;

	if (t->cells == t->room) {
		t->room = t->room ? 2 * t->room : 64;
		t->cell = no_memory(realloc(t->cell, t->room * sizeof(*t->cell)));
	}
	va_start(ap, fmt);
	if (vasprintf(&t->cell[t->cells], fmt, ap) < 0)
		no_memory(NULL);
	va_end(ap);
	len = strlen(t->cell[t->cells++]);
	if (len > t->width[col])
		t->width[col] = len;
}

static void print_row(const struct ctl_table *t, char *const *cell, FILE *f)
{
	for (size_t i = 0; i < t->columns; i++) {
		const char *text = cell ? cell[i] : head_text(t->heads[i]);
		bool last = i + 1 == t->columns;

		if (*t->heads[i] == CTL_RIGHT)
			fprintf(f, "%*s%s", (int)t->width[i], text, last ? "" : "  ");
		else if (last)
			fputs(text, f);
		else
			fprintf(f, "%-*s  ", (int)t->width[i], text);
	}
	fputc('\n', f);
}

void ctl_table_print(struct ctl_table *t, FILE *f)
{
	print_row(t, NULL, f);
	for (size_t i = 0; i + t->columns <= t->cells; i += t->columns)
		print_row(t, t->cell + i, f);
}

void ctl_table_free(struct ctl_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->cells; i++)
		free(t->cell[i]);
	free(t->cell);
	free(t);
}

void ctl_json_print(json_t *o)
{
	json_dumpf(o, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(o);
}

void ctl_json_line(json_t *o)
{
	json_dumpf(o, stdout, JSON_COMPACT);
	putchar('\n');
	fflush(stdout);
	json_decref(o);
}

void ctl_json_u64(json_t *o, const char *key, uint64_t v)
{
	json_object_set_new(o, key, v > INT64_MAX ? json_real((double)v) : json_integer((json_int_t)v));
}

json_t *ctl_json_lim(const struct bwl_lim *l)
{
	json_t *o;

	if (!l->present)
		return json_null();
	o = json_object();
	if (l->rate_bps == BWL_NO_RATE)
		json_object_set_new(o, "rate_bps", json_null());
	else
		ctl_json_u64(o, "rate_bps", l->rate_bps);
	if (l->rate_bps != BWL_NO_RATE)
		ctl_json_u64(o, "burst_bytes", l->burst ? l->burst : bwl_default_burst(l->rate_bps));
	if (l->has_volume) {
		ctl_json_u64(o, "volume_bytes", l->volume);
		json_object_set_new(o, "window_s",
				    l->window_ns ? json_real((double)l->window_ns / 1e9) : json_null());
	} else {
		json_object_set_new(o, "volume_bytes", json_null());
	}
	return o;
}

static json_t *json_prefixes(const struct bwl_pfx *p, size_t n)
{
	json_t *a = json_array();
	char buf[64];

	for (size_t i = 0; i < n; i++)
		json_array_append_new(a, json_string(bwl_pfx_format(&p[i], buf, sizeof(buf))));
	return a;
}

json_t *ctl_json_peer(const struct bwl_pol_peer *p, uint64_t now_ns)
{
	json_t *o = json_object(), *from = json_array(), *classes = json_object();
	char buf[64];

	json_object_set_new(o, "name", json_string(p->name));
	json_object_set_new(o, "addresses", json_prefixes(p->addresses, p->naddresses));
	json_object_set_new(o, "zone", *p->zone ? json_string(p->zone) : json_null());
	for (size_t i = 0; i < p->nfrom; i++)
		json_array_append_new(from, json_string(p->from[i]));
	json_object_set_new(o, "from", p->nfrom ? json_incref(from) : json_string("all"));
	json_decref(from);
	json_object_set_new(o, "contained", json_boolean(p->contained));
	json_object_set_new(o, "revoked", json_boolean(p->revoked));
	json_object_set_new(o, "grant", ctl_json_lim(&p->grant));
	json_object_set_new(o, "mode", json_string(bwl_mode_name(p->mode)));
	if (p->mode == BWL_MARK)
		json_object_set_new(o, "mark_percent", json_integer(p->mark_pct));
	json_object_set_new(o, "expires_in_s",
			    p->expiry_ns == BWL_NEVER_NS ? json_null()
			    : json_real(((double)p->expiry_ns - (double)now_ns) / 1e9));
	json_object_set_new(o, "accept", p->accept_none ? json_string("none") : ctl_json_lim(&p->accept));
	json_object_set_new(o, "floor", ctl_json_lim(&p->floor));
	for (unsigned int i = 0; i < _BWL_CLASS_MAX; i++)
		if (p->class_[i].present)
			json_object_set_new(classes, bwl_class_name(i), ctl_json_lim(&p->class_[i]));
	json_object_set_new(o, "classes", classes);
	json_object_set_new(o, "path", json_string(bwl_path_name(p->path)));
	if (*p->uplink)
		json_object_set_new(o, "uplink", json_string(p->uplink));
	if (p->has_via4)
		json_object_set_new(o, "via", json_string(bwl_pfx_format(&(struct bwl_pfx){
			.family = 4, .len = 32, .addr = { p->via4[0], p->via4[1], p->via4[2],
			p->via4[3] } }, buf, sizeof(buf))));
	if (p->has_via6) {
		struct bwl_pfx a = { .family = 6, .len = 128 };

		memcpy(a.addr, p->via6, 16);
		json_object_set_new(o, "via6", json_string(bwl_pfx_format(&a, buf, sizeof(buf))));
	}
	if (*p->ipsec_remote)
		json_object_set_new(o, "ipsec", json_pack("{s:s}", "remote", p->ipsec_remote));
	return o;
}

static json_t *json_port(const struct bwl_pol_port *p)
{
	json_t *o = json_object(), *vlans = json_array();
	char mac[18];

	json_object_set_new(o, "dev", json_string(p->name));
	json_object_set_new(o, "sources", json_prefixes(p->sources, p->nsources));
	for (size_t i = 0; i < p->nvlans; i++)
		json_array_append_new(vlans, json_integer(p->vlans[i]));
	json_object_set_new(o, "vlans", vlans);
	if (p->has_mac) {
		snprintf(mac, sizeof(mac), "%02x:%02x:%02x:%02x:%02x:%02x", p->mac[0], p->mac[1],
			 p->mac[2], p->mac[3], p->mac[4], p->mac[5]);
		json_object_set_new(o, "mac", json_string(mac));
	}
	json_object_set_new(o, "limit", ctl_json_lim(&p->limit));
	return o;
}

json_t *ctl_json_policy(const struct bwl_policy *p, uint64_t now_ns)
{
	static const char *const controls[] = {
#define X(e, name) [BWL_CTL_##e] = name,
		BWL_CONTROLS(X)
#undef X
	};
	json_t *o = json_object(), *uplinks = json_array(), *ports = json_array(),
	       *zones = json_object(), *peers = json_array(), *control = json_array();

	json_object_set_new(o, "node", json_string(p->node));
	for (size_t i = 0; i < p->nuplinks; i++)
		json_array_append_new(uplinks, json_string(p->uplinks[i]));
	json_object_set_new(o, "uplinks", uplinks);
	for (unsigned int i = 0; i < _BWL_CTL_MAX; i++)
		if (p->control & 1U << i)
			json_array_append_new(control, json_string(controls[i]));
	json_object_set_new(o, "uplink_control", control);
	for (size_t i = 0; i < p->nports; i++)
		json_array_append_new(ports, json_port(&p->ports[i]));
	json_object_set_new(o, "host_ports", ports);
	json_object_set_new(o, "heartbeat_s", p->heartbeat_none ? json_null()
			    : json_real((double)p->heartbeat_ns / 1e9));
	json_object_set_new(o, "min_charge", json_integer(p->min_charge));
	json_object_set_new(o, "horizon_s", p->horizon_ns ? json_real(p->horizon_ns / 1e9)
			    : json_null());
	json_object_set_new(o, "ledger", json_string(p->ledger ? "required" : "auto"));
	json_object_set_new(o, "node_limit", ctl_json_lim(&p->node_limit));
	for (size_t i = 0; i < p->nzones; i++)
		json_object_set_new(zones, p->zones[i].name, ctl_json_lim(&p->zones[i].limit));
	json_object_set_new(o, "zones", zones);
	for (size_t i = 0; i < p->npeers; i++)
		json_array_append_new(peers, ctl_json_peer(&p->peers[i], now_ns));
	json_object_set_new(o, "peers", peers);
	return o;
}

char *ctl_lim_rate(const struct bwl_lim *l, char buf[static BWL_UNIT_BUF])
{
	if (!l->present)
		return strcpy(buf, "-");
	if (l->rate_bps == BWL_NO_RATE)
		return strcpy(buf, "unlimited");
	return bwl_format_rate(l->rate_bps, buf);
}

char *ctl_lim_burst(const struct bwl_lim *l, char buf[static BWL_UNIT_BUF])
{
	if (!l->present || l->rate_bps == BWL_NO_RATE)
		return strcpy(buf, "-");
	return bwl_format_size(l->burst ? l->burst : bwl_default_burst(l->rate_bps), buf);
}

char *ctl_left_volume(const struct bwl_left *l, char buf[static CTL_LIM_BUF])
{
	char used[BWL_UNIT_BUF], all[BWL_UNIT_BUF];

	if (!l->has_volume)
		return strcpy(buf, "-");
	snprintf(buf, CTL_LIM_BUF, "%s of %s", bwl_human_size((double)l->used, used),
		 bwl_human_size((double)l->volume, all));
	return buf;
}

json_t *ctl_json_left(const struct bwl_left *l)
{
	json_t *o = json_object();

	ctl_json_u64(o, "debt_bytes", l->debt);
	ctl_json_u64(o, "burst_bytes", l->burst);
	if (l->has_volume) {
		ctl_json_u64(o, "volume_bytes", l->volume);
		ctl_json_u64(o, "used_bytes", l->used);
		json_object_set_new(o, "window_s",
				    l->window_ns ? json_real((double)l->window_ns / 1e9) : json_null());
	}
	return o;
}

char *ctl_lim_volume(const struct bwl_lim *l, char buf[static CTL_LIM_BUF])
{
	char size[BWL_UNIT_BUF], window[BWL_UNIT_BUF];

	if (!l->present || !l->has_volume)
		return strcpy(buf, "-");
	bwl_format_size(l->volume, size);
	if (!l->window_ns)
		return strcpy(buf, size);
	snprintf(buf, CTL_LIM_BUF, "%s per %s", size, bwl_format_time(l->window_ns, window));
	return buf;
}

/* Why nothing of this peer waits; NULL when it does. */
static const char *no_pace(const struct bwl_pins *pins, uint32_t id)
{
	if (bwl_carrier_now(pins, id, bwl_now_ns()) == BWL_CARRIER_XDP)
		return "carried by XDP";
	return bwl_is_paced(pins) ? NULL : "no fq on an uplink";
}

bool ctl_paces(const struct bwl_pins *pins, uint32_t id)
{
	return !no_pace(pins, id);
}

const char *ctl_mode_in_force(const struct bwl_pins *pins, uint32_t id, unsigned int mode)
{
	return bwl_mode_name(mode == BWL_SHAPE && no_pace(pins, id) ? BWL_POLICE : mode);
}

const char *ctl_mode_text(const struct bwl_pins *pins, uint32_t id, unsigned int mode, char buf[static CTL_MODE_BUF])
{
	const char *why = bwl_mode_paces(mode) ? no_pace(pins, id) : NULL;

	if (!why)
		return bwl_mode_name(mode);
	snprintf(buf, CTL_MODE_BUF, mode == BWL_SHAPE ? "shape (polices: %s)" : "mark (then drops: %s)", why);
	return buf;
}

void ctl_warn_shape(const struct bwl_pins *pins)
{
	if (!bwl_is_paced(pins))
		bwl_warn("mode shape polices: an uplink has no fq that keeps departure times (bwlimit-load attach --pace puts it there)");
}

char *ctl_when(uint64_t deadline_ns, uint64_t now_ns, char buf[static BWL_UNIT_BUF + 8])
{
	char t[BWL_UNIT_BUF];

	if (deadline_ns == BWL_NEVER_NS)
		return strcpy(buf, "never");
	if (deadline_ns > now_ns)
		snprintf(buf, BWL_UNIT_BUF + 8, "in %s", bwl_human_time((double)(deadline_ns - now_ns) / 1e9, t));
	else
		snprintf(buf, BWL_UNIT_BUF + 8, "%s ago", bwl_human_time((double)(now_ns - deadline_ns) / 1e9, t));
	return buf;
}
