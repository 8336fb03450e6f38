// SPDX-License-Identifier: GPL-2.0-or-later
/* `peer`: destinations. add and del make a new policy; set changes one entry in place. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ctl.h"
#include "journal/journal.h"

/* Ids by name, once for all peers. */
struct ids {
	uint32_t *id;
	size_t n;
};

/* The id of the name; 0: the maps have none. */
static uint32_t id_of(const struct bwl_view *v, const struct ids *ids, const char *name)
{
	size_t low = 0, high = ids->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		int order = strncmp(v->pins->name[ids->id[mid]].name, name, BWL_NAME_LEN);

		if (!order)
			return ids->id[mid];
		if (order < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return 0;
}

static int peer_list(struct ctl *c, int argc, char **argv)
{
	static const struct bwl_column columns[] = {
		BWL_POLICY_COLUMNS,
		{ &bwl_f_state, BWL_BOTH },
		{ NULL, BWL_BOTH },
	};
	struct bwl_policy *pol = NULL;
	struct ids ids = { 0 };
	struct bwl_list *l;
	struct bwl_view v;
	json_t *rows;
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
	if (r)
		goto out;
	l = bwl_list_new(columns, c->json);
	for (size_t i = 0; i < pol->npeers; i++) {
		struct bwl_peer_row row = { .v = &v, .pol = &pol->peers[i], .now_ns = v.now_ns };

		row.id = id_of(&v, &ids, row.pol->name);
		row.body = ctl_view_peer(&v, row.id);
		bwl_list_add(l, &row);
	}
	rows = bwl_list_end(l);
	if (rows)
		ctl_print_list("peers", "peers", rows);
out:
	free(ids.id);
	bwl_policy_free(pol);
	bwl_view_close(&v);
	return r;
}

static void show_limit(const char *what, const struct bwl_lim *l)
{
	char rate[BWL_UNIT_BUF], burst[BWL_UNIT_BUF], vol[BWL_LIM_BUF];

	if (!l->present)
		return;
	bwl_put(stdout, "  %-10s rate %s, burst %s", what, bwl_lim_rate(l, rate),
		bwl_lim_burst(l, burst));
	if (l->has_volume)
		bwl_put(stdout, ", volume %s", bwl_lim_volume(l, vol));
	putchar('\n');
}

static void show_tunnel(const struct bwl_view *v, const struct bwl_pol_peer *p, uint32_t id)
{
	const struct bwl_tunnel *t = &v->pins->tunnel[id];
	unsigned int carried_by = bwl_carried_by_now(v->pins, id, v->now_ns);

	bwl_put(stdout, "  %-10s to %s, if_id %u, ", "ipsec", p->ipsec_remote, id);
	if (!v->pins->ctl->tunnel)
		puts("no tunnel device: bwlimit-load attach");
	else if (!(t->flags & BWL_TUN_SA))
		puts("no SA: closed");
	else
		bwl_put(stdout, "SA out %#x, in %#x, offload %s\n", ntohl(t->spi_out),
			ntohl(t->spi_in), bwl_offload_name(t) ? bwl_offload_name(t) : "unknown");
	if (p->path == BWL_PATH_OFFLOAD)
		bwl_put(stdout, "  %-10s by %s: %s\n", "carried",
			carried_by == BWL_CARRIED_XDP ? "XDP" : "TC",
			bwl_carried_by_text(carried_by));
}

static uint32_t horizon_of(const struct bwl_view *v, const struct bwl_pol_peer *p)
{
	return bwl_horizon(v->gen.base->horizon_ns, p->grant.rate_bps);
}

static void show_human(const struct bwl_view *v, const struct bwl_pol_peer *p, uint32_t id,
		       const struct bwl_peer *body)
{
	char when[BWL_WHEN_BUF], a[64], left[BWL_LIM_BUF];
	const struct bwl_limit *portion = bwl_portion_limit(&v->gen, body);
	struct bwl_value mode = bwl_v_mode(v->pins, id, p->mode);
	struct bwl_left l;

	bwl_put(stdout, "%s\n", p->name);
	bwl_put(stdout, "  %-10s", "addresses");
	for (size_t i = 0; i < p->naddresses; i++)
		bwl_put(stdout, " %s", bwl_pfx_format(&p->addresses[i], a, sizeof(a)));
	puts("");
	bwl_put(stdout, "  %-10s %s%s\n", "state", bwl_standing_name(bwl_standing(v, id, body)),
		p->contained ? ", contained" : "");
	if (portion)
		bwl_put(stdout, "  %-10s %s, weight %u: %s of it\n", "zone", p->zone,
			p->weight ? p->weight : 1,
			bwl_format_rate(bwl_rate_decode(&portion->rate), a));
	else if (*p->zone)
		bwl_put(stdout, "  %-10s %s\n", "zone", p->zone);
	show_limit("grant", &p->grant);
	bwl_put(stdout, "  %-10s %s%s%s\n", "mode", mode.text,
		bwl_mode_paces(p->mode) ? ", a packet may wait " : "",
		bwl_mode_paces(p->mode) ? bwl_human_time(horizon_of(v, p) / 1e9, when) : "");
	json_decref(mode.json);
	bwl_put(stdout, "  %-10s %s\n", "expires", bwl_when(p->expiry_ns, v->now_ns, when));
	if (p->grant.has_volume) {
		bwl_grant_left(v, id, body, &l);
		bwl_put(stdout, "  %-10s %s\n", "used", bwl_left_volume(&l, left));
	}
	if (p->accept_none)
		bwl_put(stdout, "  %-10s none\n", "accept");
	show_limit("accept", &p->accept);
	show_limit("floor", &p->floor);
	for (unsigned int i = 0; i < _BWL_CLASS_MAX; i++)
		show_limit(bwl_class_name(i), &p->class_[i]);
	for (size_t i = 0; i < p->ntenants; i++) {
		snprintf(a, sizeof(a), "port %s", p->tenants[i].port);
		show_limit(a, &p->tenants[i].limit);
	}
	bwl_put(stdout, "  %-10s %s\n", "path", bwl_path_name(p->path));
	if (p->path != BWL_PATH_CLEAR)
		show_tunnel(v, p, id);
	if (p->nfrom) {
		bwl_put(stdout, "  %-10s", "from");
		for (size_t i = 0; i < p->nfrom; i++)
			bwl_put(stdout, " %s", p->from[i]);
		putchar('\n');
	}
}

static void show_json(const struct bwl_view *v, const struct bwl_pol_peer *p, uint32_t id,
		      const struct bwl_peer *body)
{
	static const struct bwl_column columns[] = {
		BWL_POLICY_COLUMNS,           { &bwl_f_state, BWL_BOTH },
		{ &bwl_f_left, BWL_BOTH },    { &bwl_f_mode_in_force, BWL_BOTH },
		{ &bwl_f_horizon, BWL_BOTH }, { &bwl_f_portion, BWL_BOTH },
		{ &bwl_f_tunnel, BWL_BOTH },  { NULL, BWL_BOTH },
	};
	struct bwl_peer_row row = { .v = v, .id = id, .pol = p, .body = body, .now_ns = v->now_ns };
	json_t *o = bwl_doc("peer");

	bwl_grant_left(v, id, body, &row.left);
	json_object_update_new(o, bwl_row_json(columns, &row));
	bwl_doc_print(o);
}

static int peer_show(struct ctl *c, int argc, char **argv)
{
	const struct bwl_pol_peer *p;
	const struct bwl_peer *body;
	struct bwl_policy *pol;
	struct bwl_view v;
	uint32_t id;
	int r;

	if (argc != 1)
		return ctl_usage(c, "the peer is missing");
	r = ctl_view_open(c, false, &v);
	if (r)
		return r;
	r = bwl_policy_read(v.pins, &pol, &c->err);
	if (r)
		goto close;
	p = bwl_policy_peer(pol, argv[0]);
	id = bwl_peer_id(v.pins, &v.gen, argv[0]);
	body = ctl_view_peer(&v, id);
	if (!p || !body)
		r = ctl_view_no_peer(c, &v, argv[0]);
	else
		(c->json ? show_json : show_human)(&v, p, id, body);
	bwl_policy_free(pol);
close:
	bwl_view_close(&v);
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
			return ctl_usage(c,
					 "from '%.64s': devices of host ports, separated by commas",
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
	if ((w->seen & CTL_W_MARK) && (!(w->seen & CTL_W_MODE) || w->mode != BWL_MODE_MARK))
		return ctl_usage(c, "'mark' is the threshold of `mode mark`: give both");
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
	json_t *doc;

	while (n < argc && looks_like_address(argv[n]))
		n++;
	if (n < 2)
		return ctl_usage(c, "give a name and at least one address or prefix");
	r = ctl_words(c, argc - n, argv + n,
		      CTL_W_LIMIT | CTL_W_MODE | CTL_W_MARK | CTL_W_ACCEPT | CTL_W_ZONE |
			      CTL_W_VIA | CTL_W_VIA6 | CTL_W_PATH | CTL_W_FROM | CTL_W_UPLINK |
			      CTL_W_IPSEC | CTL_W_CONTAINED | CTL_W_REASON,
		      &w);
	if (!r)
		r = check_words(c, &w);
	if (r)
		return r;
	if (!(w.seen & (CTL_W_PATH | CTL_W_IPSEC)))
		return ctl_usage(
			c, "give 'ipsec REMOTE', or 'path clear' for a peer without encryption");
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
		bwl_fail(&c->err, EEXIST, "there is already a peer '%.64s'", argv[0]);
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
		r = bwl_audit_intent(&c->err, "peer add %s",
				     ctl_join(argc, argv, line, sizeof(line)));
	if (!r)
		r = ctl_edit_end(c, pins, pol, false, &rep);
	if (!r) {
		bwl_audit("peer add %s", ctl_join(argc, argv, line, sizeof(line)));
		doc = bwl_doc("peer-add");
		json_object_set_new(doc, "peer", json_string(argv[0]));
		ctl_print_report(c, &rep, doc);
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
	char line[512], why[CTL_REASON];
	struct bwl_pins *pins = NULL;
	int r;

	ctl_reason(NULL, 1, &argc, argv, why);
	if (!argc)
		return ctl_usage(c, "the peer is missing");
	r = ctl_edit_begin(c, &pins, &pol);
	for (int i = 0; !r && i < argc; i++) {
		struct bwl_pol_peer *p = bwl_policy_peer(pol, argv[i]);

		if (p)
			remove_peer(pol, p);
		else
			r = bwl_fail(&c->err, ENOENT, "no peer '%.64s' in the policy in force",
				     argv[i]);
	}
	if (!r)
		r = bwl_audit_intent(&c->err, "peer del %s%s%s",
				     ctl_join(argc, argv, line, sizeof(line)),
				     *why ? " reason " : "", why);
	if (!r)
		r = ctl_edit_end(c, pins, pol, false, &rep);
	if (!r) {
		json_t *doc = bwl_doc("peer-del");

		for (int i = 0; i < argc; i++)
			bwl_audit("peer del %s%s%s", argv[i], *why ? " reason " : "", why);
		json_object_set_new(doc, "peer_names",
				    bwl_json_names((const char *const *)argv, (size_t)argc));
		ctl_print_report(c, &rep, doc);
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
		return ctl_usage(c, "give a peer and what to change");
	r = ctl_words(c, argc - 1, argv + 1,
		      CTL_W_LIMIT | CTL_W_MODE | CTL_W_MARK | CTL_W_ACCEPT | CTL_W_REASON, &w);
	if (!r)
		r = check_words(c, &w);
	if (r)
		return r;
	if (!(w.seen & ~(unsigned int)CTL_W_REASON))
		return ctl_usage(c, "give what to change: rate, burst, volume, mode or accept");
	/* `none` is a flag of its own in the entry, which only a new policy sets */
	if (w.accept_none)
		return ctl_usage(
			c, "accept must be a rate here; only policy files and peer add take none");
	r = bwl_pins_open_few(c->pin_dir, &pins, &c->err);
	if (r)
		return r;
	ctl_change_from_words(&w, &ch);
	r = bwl_audit_intent(&c->err, "peer set %s", ctl_join(argc, argv, line, sizeof(line)));
	if (!r)
		r = bwl_peer_change(pins, argv[0], &ch, &c->err);
	if (!r) {
		r = bwl_journal_limits(pins, false, argv[0], ctl_journal_limits(&w), &c->err);
		bwl_audit("peer set %s", ctl_join(argc, argv, line, sizeof(line)));
		if (w.seen & CTL_W_MODE && w.mode == BWL_MODE_SHAPE)
			ctl_warn_shape(pins);
		if (!r && c->json)
			ctl_print_list("peer-set", "peer", json_string(argv[0]));
		else if (!r)
			bwl_put(stdout, "%s: changed\n", argv[0]);
		if (!r)
			ctl_say_limits(c, pins, argv[0]);
	}
	bwl_pins_close(pins);
	return r;
}

void ctl_change_from_words(const struct ctl_words *w, struct bwl_change *ch)
{
	static const struct {
		unsigned int word, bit;
	} bits[] = {
		{ CTL_W_RATE, BWL_SET_RATE },     { CTL_W_BURST, BWL_SET_BURST },
		{ CTL_W_VOLUME, BWL_SET_VOLUME }, { CTL_W_MODE, BWL_SET_MODE },
		{ CTL_W_ACCEPT, BWL_SET_ACCEPT },
	};

	for (size_t i = 0; i < sizeof(bits) / sizeof(*bits); i++)
		if (w->seen & bits[i].word)
			ch->set |= bits[i].bit;
	if (w->add_volume)
		ch->set = (ch->set & ~(unsigned int)BWL_SET_VOLUME) |
			  (w->once ? BWL_ADD_ONCE : BWL_ADD_VOLUME);
	ch->lim = w->lim;
	ch->mode = w->mode;
	ch->mark_pct = w->mark_pct;
	ch->accept = w->accept;
}

/* clang-format off */
#define PEER_WORDS \
	"Words: zone Z, rate R, burst B, volume V, mode police|shape|mark|monitor, mark PERCENT,\n" \
	"accept R|none, path clear, via A, via6 A, ipsec REMOTE, uplink DEV, from DEV[,DEV], contained.\n\n"
/* clang-format on */

const struct ctl_cmd ctl_peer_cmds[] = {
	{ "peer", "list", "", "Peers of the policy in force",
	  "Examples:\n"
	  "  bwlimit-ctl peer list\n"
	  "  bwlimit-ctl peer list --json | jq -r .peers[].name\n",
	  peer_list },
	{ "peer", "show", "NAME", "One peer: its limits and what is left of them",
	  "Examples:\n"
	  "  bwlimit-ctl peer show log-collector\n",
	  peer_show },
	{ "peer", "add", "NAME ADDRESS… path clear via A | ipsec REMOTE [WORDS] [reason TEXT…]",
	  "Add a destination to the policy in force",
	  PEER_WORDS
	  "Without rate and volume the peer has no grant: its packets are dropped until `grant`.\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl peer add log-collector 198.51.100.9 zone external rate 10mbit \\\n"
	  "      volume 1gb per 1d path clear via 192.0.2.254\n",
	  peer_add },
	{ "peer", "set",
	  "NAME [rate R] [burst B] [volume V] [mode M] [mark PERCENT] [accept R] [reason TEXT…]",
	  "Change a peer's limits in place, in the running data plane",
	  "What is not named stays as it is. Spent volume and debt stay. A revoked grant stays revoked, and a\n"
	  "peer without a grant gets none: `grant` gives it.\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl peer set log-collector rate 20mbit\n"
	  "  bwlimit-ctl peer set log-collector volume 2gb per 1d\n",
	  peer_set },
	{ "peer", "del", "NAME… [reason TEXT…]", "Remove destinations from the policy in force",
	  "What they have spent is remembered: adding the name again gives nothing back.\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl peer del log-collector\n",
	  peer_del },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
