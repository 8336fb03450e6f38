// SPDX-License-Identifier: GPL-2.0-or-later
/* `peer`: destinations. add and del make a new policy; set changes one entry in place. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ctl.h"
#include "journal/journal.h"

static char *addresses_text(const struct bwl_pol_peer *p, char *buf, size_t size)
{
	char a[64];

	if (!p->naddresses)
		return strcpy(buf, "-");
	bwl_pfx_format(&p->addresses[0], a, sizeof(a));
	if (p->naddresses == 1)
		snprintf(buf, size, "%s", a);
	else
		snprintf(buf, size, "%s +%zu", a, p->naddresses - 1);
	return buf;
}

/* Ids by name, once for all peers. */
struct ids {
	uint32_t *id;
	size_t n;
};

/* The state of the grant, from the maps: the model knows nothing of the heartbeat. */
static const char *state_of(const struct ctl_view *v, const struct ids *ids, const char *name)
{
	size_t low = 0, high = ids->n;
	const struct bwl_peer *p;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = strncmp(v->pins->name[ids->id[mid]].name, name, BWL_NAME_LEN);

		if (!order) {
			p = ctl_view_peer(v, ids->id[mid]);
			return p ? ctl_grant_name(ctl_grant_state(v, ids->id[mid], p)) : "no-peer";
		}
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return "no-peer";
}

static void list_row(struct ctl_table *t, const struct bwl_pol_peer *p, const char *state)
{
	char addr[96], rate[BWL_UNIT_BUF], burst[BWL_UNIT_BUF], vol[CTL_LIM_BUF];

	ctl_cell(t, "%s", p->name);
	ctl_cell(t, "%s", addresses_text(p, addr, sizeof(addr)));
	ctl_cell(t, "%s", *p->zone ? p->zone : "-");
	ctl_cell(t, "%s", ctl_lim_rate(&p->grant, rate));
	ctl_cell(t, "%s", ctl_lim_burst(&p->grant, burst));
	ctl_cell(t, "%s", ctl_lim_volume(&p->grant, vol));
	ctl_cell(t, "%s", bwl_mode_name(p->mode));
	ctl_cell(t, "%s", bwl_path_name(p->path));
	ctl_cell(t, "%s", state);
}

static int peer_list(struct ctl *c, int argc, char **argv)
{
	static const char *const heads[] = {
		"NAME", "ADDRESSES", "ZONE", ">RATE", ">BURST", ">VOLUME", "MODE", "PATH", "GRANT", NULL,
	};
	struct ctl_table *t = NULL;
	struct bwl_policy *pol = NULL;
	struct ids ids = { 0 };
	json_t *a = NULL;
	struct ctl_view v;
	int r;

	(void)argv;
	if (argc)
		return ctl_usage(c, "'peer list' takes no argument");
	r = ctl_view_open(c, false, &v);
	if (r)
		return r;
	r = ctl_view_ids(c, &v, 0, NULL, &ids.id, &ids.n);
	if (!r)
		r = bwl_policy_read(v.pins, &pol, &c->err);
	if (r) {
		free(ids.id);
		ctl_view_close(&v);
		return r;
	}
	if (c->json)
		a = json_array();
	else
		t = ctl_table_new(heads);
	for (size_t i = 0; i < pol->npeers; i++) {
		const struct bwl_pol_peer *p = &pol->peers[i];
		const char *state = state_of(&v, &ids, p->name);

		if (c->json) {
			json_t *o = ctl_json_peer(p, v.now_ns);

			json_object_set_new(o, "state", json_string(state));
			json_array_append_new(a, o);
		} else {
			list_row(t, p, state);
		}
	}
	if (c->json) {
		ctl_json_print(json_pack("{s:o}", "peers", a));
	} else {
		ctl_table_print(t, stdout);
		ctl_table_free(t);
	}
	free(ids.id);
	bwl_policy_free(pol);
	ctl_view_close(&v);
	return 0;
}

static void show_limit(const char *what, const struct bwl_lim *l)
{
	char rate[BWL_UNIT_BUF], burst[BWL_UNIT_BUF], vol[CTL_LIM_BUF];

	if (!l->present)
		return;
	printf("  %-10s rate %s, burst %s", what, ctl_lim_rate(l, rate), ctl_lim_burst(l, burst));
	if (l->has_volume)
		printf(", volume %s", ctl_lim_volume(l, vol));
	putchar('\n');
}

static const char *offload_name(const struct bwl_tunnel *t)
{
	static const char *const names[_BWL_OFFLOAD_MAX] = { "none", "crypto", "packet" };

	return t->offload < _BWL_OFFLOAD_MAX ? names[t->offload] : "unknown";
}

/* if_id: what an operator of IPsec looks for. */
static json_t *tunnel_json(const struct ctl_view *v, const struct bwl_pol_peer *p, uint32_t id)
{
	const struct bwl_tunnel *t = &v->pins->tunnel[id];
	unsigned int carrier = bwl_carrier_now(v->pins, id, v->now_ns);
	json_t *o;

	o = json_pack("{s:i, s:b, s:b, s:s, s:I, s:I}", "if_id", (int)id, "sa_out",
		      (t->flags & BWL_TUN_SA) != 0, "sa_in", (t->flags & BWL_TUN_SA_IN) != 0,
		      "offload", offload_name(t), "spi_out", (json_int_t)ntohl(t->spi_out), "spi_in",
		      (json_int_t)ntohl(t->spi_in));
	if (p->path != BWL_PATH_OFFLOAD)
		return o;
	json_object_set_new(o, "carrier", json_string(carrier == BWL_CARRIER_XDP ? "xdp" : "tc"));
	json_object_set_new(o, "carrier_why", json_string(bwl_carrier_name(carrier)));
	json_object_set_new(o, "carrier_text", json_string(bwl_carrier_text(carrier)));
	return o;
}

static void show_tunnel(const struct ctl_view *v, const struct bwl_pol_peer *p, uint32_t id)
{
	const struct bwl_tunnel *t = &v->pins->tunnel[id];
	unsigned int carrier = bwl_carrier_now(v->pins, id, v->now_ns);

	printf("  %-10s to %s, if_id %u, ", "ipsec", p->ipsec_remote, id);
	if (!v->pins->ctl->tunnel)
		puts("no tunnel device: bwlimit-load attach");
	else if (!(t->flags & BWL_TUN_SA))
		puts("no SA: closed");
	else
		printf("SA out %#x, in %#x, offload %s\n", ntohl(t->spi_out), ntohl(t->spi_in),
		       offload_name(t));
	if (p->path == BWL_PATH_OFFLOAD)
		printf("  %-10s by %s: %s\n", "carried", carrier == BWL_CARRIER_XDP ? "XDP" : "TC",
		       bwl_carrier_text(carrier));
}

static uint32_t horizon_of(const struct ctl_view *v, const struct bwl_pol_peer *p)
{
	return bwl_horizon(v->gen.base->horizon_ns, p->grant.rate_bps);
}

static void show_human(const struct ctl_view *v, const struct bwl_pol_peer *p, uint32_t id,
		       const struct bwl_peer *body)
{
	char when[BWL_UNIT_BUF + 8], a[64], left[CTL_LIM_BUF], mode[CTL_MODE_BUF];
	struct bwl_left l;

	printf("%s\n  %-10s", p->name, "addresses");
	for (size_t i = 0; i < p->naddresses; i++)
		printf(" %s", bwl_pfx_format(&p->addresses[i], a, sizeof(a)));
	printf("\n  %-10s %s%s\n", "state", ctl_grant_name(ctl_grant_state(v, id, body)),
	       p->contained ? ", contained" : "");
	if (*p->zone)
		printf("  %-10s %s\n", "zone", p->zone);
	show_limit("grant", &p->grant);
	printf("  %-10s %s%s%s\n", "mode", ctl_mode_text(v->pins, id, p->mode, mode),
	       bwl_mode_paces(p->mode) ? ", a packet may wait " : "",
	       bwl_mode_paces(p->mode) ? bwl_human_time(horizon_of(v, p) / 1e9, when) : "");
	printf("  %-10s %s\n", "expires", ctl_when(p->expiry_ns, v->now_ns, when));
	if (p->grant.has_volume) {
		bwl_limit_left(v->pins, &body->grant.rate, &body->grant.volume, BWL_GRANT_STATE(id), v->now_ns, &l);
		printf("  %-10s %s\n", "used", ctl_left_volume(&l, left));
	}
	if (p->accept_none)
		printf("  %-10s none\n", "accept");
	show_limit("accept", &p->accept);
	show_limit("floor", &p->floor);
	for (unsigned int i = 0; i < _BWL_CLASS_MAX; i++)
		show_limit(bwl_class_name(i), &p->class_[i]);
	printf("  %-10s %s\n", "path", bwl_path_name(p->path));
	if (p->path != BWL_PATH_CLEAR)
		show_tunnel(v, p, id);
	if (p->nfrom) {
		printf("  %-10s", "from");
		for (size_t i = 0; i < p->nfrom; i++)
			printf(" %s", p->from[i]);
		putchar('\n');
	}
}

static int peer_show(struct ctl *c, int argc, char **argv)
{
	const struct bwl_pol_peer *p;
	const struct bwl_peer *body;
	struct bwl_policy *pol;
	struct ctl_view v;
	uint32_t id;
	json_t *o;
	int r;

	if (argc != 1)
		return ctl_usage(c, "say which peer");
	r = ctl_view_open(c, false, &v);
	if (r)
		return r;
	r = bwl_policy_read(v.pins, &pol, &c->err);
	if (r)
		goto close;
	p = bwl_policy_peer(pol, argv[0]);
	id = bwl_peer_id(v.pins, &v.gen, argv[0]);
	body = ctl_view_peer(&v, id);
	if (!p || !body) {
		r = ctl_view_no_peer(c, &v, argv[0]);
	} else if (c->json) {
		struct bwl_left l;

		bwl_limit_left(v.pins, &body->grant.rate, &body->grant.volume, BWL_GRANT_STATE(id), v.now_ns, &l);
		o = ctl_json_peer(p, v.now_ns);
		json_object_set_new(o, "state",
				    json_string(ctl_grant_name(ctl_grant_state(&v, id, body))));
		json_object_set_new(o, "left", ctl_json_left(&l));
		json_object_set_new(o, "mode_in_force",
				    json_string(ctl_mode_in_force(v.pins, id, p->mode)));
		if (bwl_mode_paces(p->mode))
			json_object_set_new(o, "horizon_s", json_real(horizon_of(&v, p) / 1e9));
		if (p->path != BWL_PATH_CLEAR)
			json_object_set_new(o, "tunnel", tunnel_json(&v, p, id));
		ctl_json_print(o);
	} else {
		show_human(&v, p, id, body);
	}
	bwl_policy_free(pol);
close:
	ctl_view_close(&v);
	return r;
}

static bool looks_like_address(const char *s)
{
	return (*s >= '0' && *s <= '9') || strpbrk(s, ".:/");
}

/* "pf0hpf,pf0vf0" */
static int set_from(struct ctl *c, struct bwl_pol_peer *p, const char *list)
{
	while (*list) {
		size_t n = strcspn(list, ",");

		if (!n || n >= sizeof(p->from[0]) || p->nfrom == BWL_MAX_PORTS)
			return ctl_usage(c, "from '%.64s': devices of host ports, with commas between",
					 list);
		memcpy(p->from[p->nfrom], list, n);
		p->from[p->nfrom++][n] = '\0';
		list += n + (list[n] == ',');
	}
	return 0;
}

static int copy_word(struct ctl *c, const char *what, const char *s, char *dst, size_t size)
{
	if (!s)
		return 0;
	if (!*s || strlen(s) >= size)
		return ctl_usage(c, "%s '%.64s': 1 to %zu characters", what, s, size - 1);
	strcpy(dst, s);
	return 0;
}

/* The words into the model; the addresses are there already. */
static int fill_peer(struct ctl *c, struct bwl_pol_peer *p, const char *name,
		     const struct ctl_words *w)
{
	if (copy_word(c, "name", name, p->name, sizeof(p->name)) ||
	    copy_word(c, "zone", w->zone, p->zone, sizeof(p->zone)) ||
	    copy_word(c, "uplink", w->uplink, p->uplink, sizeof(p->uplink)) ||
	    copy_word(c, "ipsec", w->ipsec, p->ipsec_remote, sizeof(p->ipsec_remote)) ||
	    (w->from && set_from(c, p, w->from)))
		return CTL_USAGE;
	p->grant = w->lim;
	p->mode = w->mode;
	p->mark_pct = w->mark_pct ? w->mark_pct : 50;
	p->expiry_ns = BWL_NEVER_NS;
	p->accept = w->accept;
	p->accept_none = w->accept_none;
	p->contained = w->seen & CTL_W_CONTAINED;
	p->path = w->seen & CTL_W_PATH ? w->path : BWL_PATH_XFRM;
	p->has_via4 = w->seen & CTL_W_VIA;
	p->has_via6 = w->seen & CTL_W_VIA6;
	memcpy(p->via4, w->via4, 4);
	memcpy(p->via6, w->via6, 16);
	return 0;
}

static int check_words(struct ctl *c, const struct ctl_words *w)
{
	if ((w->seen & CTL_W_MARK) && (!(w->seen & CTL_W_MODE) || w->mode != BWL_MARK))
		return ctl_usage(c, "'mark' is the threshold of `mode mark`: say both");
	return 0;
}

static int peer_add(struct ctl *c, int argc, char **argv)
{
	struct ctl_words w = { 0 };
	struct bwl_publish_report rep = { 0 };
	struct bwl_policy *pol = NULL;
	struct bwl_pins *pins = NULL;
	struct bwl_pfx *pfx = NULL;
	struct bwl_pol_peer *p;
	char line[512];
	int n = 1, r;

	while (n < argc && looks_like_address(argv[n]))
		n++;
	if (n < 2)
		return ctl_usage(c, "say a name and at least one address or prefix");
	r = ctl_words(c, argc - n, argv + n, CTL_W_LIMIT | CTL_W_MODE | CTL_W_MARK | CTL_W_ACCEPT |
		      CTL_W_ZONE | CTL_W_VIA | CTL_W_VIA6 | CTL_W_PATH | CTL_W_FROM | CTL_W_UPLINK |
		      CTL_W_IPSEC | CTL_W_CONTAINED, &w);
	if (!r)
		r = check_words(c, &w);
	if (r)
		return r;
	if (!(w.seen & (CTL_W_PATH | CTL_W_IPSEC)))
		return ctl_usage(c, "say 'ipsec REMOTE', or 'path clear' for a peer without encryption");
	pfx = calloc((size_t)n - 1, sizeof(*pfx));
	if (!pfx)
		return bwl_fail(&c->err, ENOMEM, "out of memory");
	for (int i = 1; i < n; i++) {
		if (bwl_pfx_parse(argv[i], &pfx[i - 1], &c->err)) {
			free(pfx);
			return CTL_USAGE;
		}
	}
	r = ctl_edit_begin(c, &pins, &pol);
	if (!r && bwl_policy_peer(pol, argv[0])) {
		bwl_fail(&c->err, EEXIST, "there is a peer '%.64s' already", argv[0]);
		r = bwl_hint(&c->err, "bwlimit-ctl peer set changes it");
	}
	if (r)
		goto out;
	p = bwl_policy_add_peer(pol);
	p->addresses = pfx;
	p->naddresses = (size_t)n - 1;
	pfx = NULL;
	r = fill_peer(c, p, argv[0], &w);
	if (!r)
		r = bwl_audit_intent(&c->err, "peer add %s", ctl_join(argc, argv, line, sizeof(line)));
	if (!r)
		r = ctl_edit_end(c, pins, pol, false, &rep);
	if (!r) {
		bwl_audit("peer add %s", ctl_join(argc, argv, line, sizeof(line)));
		ctl_print_report(c, &rep, json_pack("{s:s}", "added", argv[0]));
	}
out:
	free(pfx);
	bwl_policy_free(pol);
	bwl_pins_close(pins);
	return r;
}

static void remove_peer(struct bwl_policy *pol, struct bwl_pol_peer *p)
{
	size_t i = (size_t)(p - pol->peers);

	free(p->addresses);
	memmove(p, p + 1, (pol->npeers - i - 1) * sizeof(*p));
	pol->npeers--;
	memset(&pol->peers[pol->npeers], 0, sizeof(*p));
}

static int peer_del(struct ctl *c, int argc, char **argv)
{
	struct bwl_publish_report rep = { 0 };
	struct bwl_policy *pol = NULL;
	struct bwl_pins *pins = NULL;
	char line[512];
	int r;

	if (!argc)
		return ctl_usage(c, "say which peer");
	r = ctl_edit_begin(c, &pins, &pol);
	for (int i = 0; !r && i < argc; i++) {
		struct bwl_pol_peer *p = bwl_policy_peer(pol, argv[i]);

		if (p)
			remove_peer(pol, p);
		else
			r = bwl_fail(&c->err, ENOENT, "no peer '%.64s' in the policy in force", argv[i]);
	}
	if (!r)
		r = bwl_audit_intent(&c->err, "peer del %s", ctl_join(argc, argv, line, sizeof(line)));
	if (!r)
		r = ctl_edit_end(c, pins, pol, false, &rep);
	if (!r) {
		json_t *names = json_array();

		for (int i = 0; i < argc; i++) {
			bwl_audit("peer del %s", argv[i]);
			json_array_append_new(names, json_string(argv[i]));
		}
		ctl_print_report(c, &rep, json_pack("{s:o}", "removed", names));
	}
	bwl_policy_free(pol);
	bwl_pins_close(pins);
	return r;
}

static int peer_set(struct ctl *c, int argc, char **argv)
{
	struct bwl_change ch = { 0 };
	struct ctl_words w = { 0 };
	struct bwl_pins *pins;
	char line[512];
	int r;

	if (!argc)
		return ctl_usage(c, "say which peer, and what to change");
	r = ctl_words(c, argc - 1, argv + 1,
		      CTL_W_LIMIT | CTL_W_MODE | CTL_W_MARK | CTL_W_ACCEPT, &w);
	if (!r)
		r = check_words(c, &w);
	if (r)
		return r;
	if (!w.seen)
		return ctl_usage(c, "say what to change: rate, burst, volume, mode or accept");
	/* an entry says `none` by a flag of its own, which only a new policy sets */
	if (w.accept_none)
		return ctl_usage(c, "accept none is for policy files and peer add; here it is a rate");
	r = bwl_pins_open(c->pin_dir, true, &pins, &c->err);
	if (r)
		return r;
	ctl_change_from_words(&w, &ch);
	r = bwl_audit_intent(&c->err, "peer set %s", ctl_join(argc, argv, line, sizeof(line)));
	if (!r)
		r = bwl_peer_change(pins, argv[0], &ch, &c->err);
	if (!r) {
		r = bwl_journal_limits(pins, false, argv[0], ctl_journal_limits(&w), &c->err);
		bwl_audit("peer set %s", ctl_join(argc, argv, line, sizeof(line)));
		if (w.seen & CTL_W_MODE && w.mode == BWL_SHAPE)
			ctl_warn_shape(pins);
		if (!r && c->json)
			ctl_json_print(json_pack("{s:s,s:b}", "peer", argv[0], "changed", 1));
		else if (!r)
			printf("%s: changed\n", argv[0]);
	}
	bwl_pins_close(pins);
	return r;
}

void ctl_change_from_words(const struct ctl_words *w, struct bwl_change *ch)
{
	static const struct { unsigned int word, bit; } bits[] = {
		{ CTL_W_RATE, BWL_SET_RATE }, { CTL_W_BURST, BWL_SET_BURST },
		{ CTL_W_VOLUME, BWL_SET_VOLUME }, { CTL_W_MODE, BWL_SET_MODE },
		{ CTL_W_ACCEPT, BWL_SET_ACCEPT },
	};

	for (size_t i = 0; i < sizeof(bits) / sizeof(*bits); i++)
		if (w->seen & bits[i].word)
			ch->set |= bits[i].bit;
	if (w->add_volume)
		ch->set = (ch->set & ~(unsigned int)BWL_SET_VOLUME) | BWL_ADD_VOLUME;
	ch->lim = w->lim;
	ch->mode = w->mode;
	ch->mark_pct = w->mark_pct ? w->mark_pct : 50;
	ch->accept = w->accept;
}

#define PEER_WORDS                                                                               \
	"Words: zone Z, rate R, burst B, volume V, mode police|shape|mark|monitor, mark PERCENT,\n" \
	"accept R|none, path clear, via A, via6 A, ipsec REMOTE, uplink DEV, from DEV[,DEV], contained.\n\n"

const struct ctl_cmd ctl_peer_cmds[] = {
	{ "peer", "list", "", "Peers of the policy in force", NULL, peer_list },
	{ "peer", "show", "NAME", "One peer: its limits and what is left of them", NULL, peer_show },
	{ "peer", "add", "NAME ADDRESS… path clear via A | ipsec REMOTE [WORDS]",
	  "Add a destination to the policy in force",
	  PEER_WORDS
	  "Without rate and volume the peer has no grant: its packets are dropped until `grant`.\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl peer add log-collector 198.51.100.9 zone external rate 10mbit \\\n"
	  "      volume 1gb per 1d path clear via 192.0.2.254\n", peer_add },
	{ "peer", "set", "NAME [rate R] [burst B] [volume V] [mode M] [mark PERCENT] [accept R]",
	  "Change a peer's limits in place, in the running data plane",
	  "What is not named stays. Spent volume and debt stay. A revoked grant stays revoked.\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl peer set log-collector rate 20mbit\n"
	  "  bwlimit-ctl peer set log-collector volume 2gb per 1d\n", peer_set },
	{ "peer", "del", "NAME…", "Take destinations out of the policy in force",
	  "What they have spent is remembered: adding the name again gives nothing back.\n", peer_del },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
