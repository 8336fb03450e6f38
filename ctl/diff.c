// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The difference between two policies. Each part is written down as lines "field\tvalue\n" in
 * the words of the policy file; equal text is no change, so nothing can be forgotten on one side.
 */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "ctl.h"
#include "diff.h"

#define EXPIRY_SLACK_NS 2000000000ULL /* `until:` is read to the second, at two moments */

struct text {
	char *buf;
	size_t len, room;
};

static void reserve(struct text *t, size_t more)
{
	if (t->len + more <= t->room)
		return;
	t->room = 2 * (t->len + more);
	t->buf = realloc(t->buf, t->room);
	if (!t->buf)
		abort();
}

static void put(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	reserve(t, 256);
	va_start(ap, fmt);
	n = vsnprintf(t->buf + t->len, t->room - t->len, fmt, ap);
	va_end(ap);
	if (n > 0 && t->len + (size_t)n < t->room)
		t->len += (size_t)n;
}

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct bwl_pfx));
}

static void put_prefixes(struct text *t, const char *field, const struct bwl_pfx *p, size_t n)
{
	struct bwl_pfx *sorted = calloc(n + 1, sizeof(*sorted));
	char buf[64];

	if (!sorted)
		abort();
	if (n)
		memcpy(sorted, p, n * sizeof(*p));
	qsort(sorted, n, sizeof(*sorted), by_bytes);
	put(t, "%s\t", field);
	for (size_t i = 0; i < n; i++)
		put(t, "%s%s", i ? " " : "", bwl_pfx_format(&sorted[i], buf, sizeof(buf)));
	put(t, "\n");
	free(sorted);
}

static void put_lim(struct text *t, const char *what, const struct bwl_lim *l)
{
	char text[BWL_UNIT_BUF], vol[BWL_LIM_BUF];
	struct bwl_rate r = { 0 };
	uint64_t burst;

	if (!l->present)
		return;
	if (l->rate_bps == BWL_NO_RATE) {
		put(t, "%s rate\tunlimited\n", what);
	} else {
		burst = l->burst ? l->burst : bwl_default_burst(l->rate_bps);
		bwl_rate_encode(&r, l->rate_bps, burst);
		put(t, "%s rate\t%s\n", what, bwl_format_rate(bwl_rate_decode(&r), text));
		put(t, "%s burst\t%s\n", what, bwl_format_size(burst, text));
	}
	if (l->has_volume)
		put(t, "%s volume\t%s\n", what, bwl_lim_volume(l, vol));
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void put_from(struct text *t, const struct bwl_policy *pol, const struct bwl_pol_peer *p)
{
	char names[BWL_MAX_PORTS][16];

	if (!p->nfrom || p->nfrom == pol->nports) {
		put(t, "from\tall\n");
		return;
	}
	memcpy(names, p->from, sizeof(names));
	qsort(names, p->nfrom, sizeof(names[0]), by_text);
	put(t, "from\t");
	for (size_t i = 0; i < p->nfrom; i++)
		put(t, "%s%s", i ? " " : "", names[i]);
	put(t, "\n");
}

static void put_peer(struct text *t, const struct bwl_policy *pol, const struct bwl_pol_peer *p)
{
	struct bwl_lim accept = p->accept;
	struct bwl_pfx via = { .family = 4, .len = 32 };
	char buf[64];

	put_prefixes(t, "addresses", p->addresses, p->naddresses);
	put(t, "zone\t%s\n", *p->zone ? p->zone : "none");
	if (p->weight)
		put(t, "weight\t%u\n", p->weight);
	put_from(t, pol, p);
	if (p->contained)
		put(t, "contained\ttrue\n");
	put_lim(t, "grant", &p->grant);
	put(t, "mode\t%s\n", bwl_mode_name(p->mode));
	if (p->mode == BWL_MODE_MARK)
		put(t, "mark\t%u%%\n", p->mark_pct);
	if (!accept.present && p->grant.present)
		accept = bwl_default_accept(&p->grant);
	if (p->accept_none)
		put(t, "accept\tnone\n");
	else
		put_lim(t, "accept", &accept);
	put_lim(t, "floor", &p->floor);
	for (unsigned int i = 0; i < _BWL_CLASS_MAX; i++) {
		snprintf(buf, sizeof(buf), "class %s", bwl_class_name(i));
		put_lim(t, buf, &p->class_[i]);
	}
	for (size_t i = 0; i < pol->nports; i++) {
		const struct bwl_pol_tenant *x = bwl_policy_tenant(p, pol->ports[i].name);

		snprintf(buf, sizeof(buf), "port %s", pol->ports[i].name);
		if (x)
			put_lim(t, buf, &x->limit);
	}
	put(t, "path\t%s\n", bwl_path_name(p->path));
	put(t, "uplink\t%s\n", *p->uplink ? p->uplink : pol->nuplinks ? pol->uplinks[0] : "none");
	if (p->has_via4) {
		memcpy(via.addr, p->via4, 4);
		put(t, "via\t%s\n", bwl_pfx_format(&via, buf, sizeof(buf)));
	}
	if (p->has_via6) {
		via = (struct bwl_pfx){ .family = 6, .len = 128 };
		memcpy(via.addr, p->via6, 16);
		put(t, "via6\t%s\n", bwl_pfx_format(&via, buf, sizeof(buf)));
	}
	if (bwl_mac_is_one(p->next_hop_mac))
		put(t, "next_hop_mac\t%s\n", bwl_mac_format(p->next_hop_mac, buf));
	if (*p->ipsec_remote)
		put(t, "ipsec remote\t%s\n", p->ipsec_remote);
}

static int by_number(const void *a, const void *b)
{
	return (int)*(const uint16_t *)a - (int)*(const uint16_t *)b;
}

static void put_port(struct text *t, const struct bwl_pol_port *p)
{
	uint16_t vlans[BWL_MAX_VLANS];
	char mac[BWL_MAC_BUF];

	put_prefixes(t, "sources", p->sources, p->nsources);
	memcpy(vlans, p->vlans, sizeof(vlans));
	qsort(vlans, p->nvlans, sizeof(*vlans), by_number);
	put(t, "vlans\t");
	for (size_t i = 0; i < p->nvlans; i++)
		put(t, "%s%u", i ? " " : "", vlans[i]);
	put(t, "\n");
	if (p->has_mac)
		put(t, "mac\t%s\n", bwl_mac_format(p->mac, mac));
	put_lim(t, "limit", &p->limit);
}

static int by_service(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct bwl_pol_service));
}

static void put_node(struct text *t, const struct bwl_policy *p)
{
	struct bwl_pol_service *s = calloc(p->nservices + 1, sizeof(*s));
	char buf[BWL_UNIT_BUF];

	if (!s)
		abort();
	put(t, "node\t%s\nuplinks\t", p->node);
	for (size_t i = 0; i < p->nuplinks; i++)
		put(t, "%s%s", i ? " " : "", p->uplinks[i]);
	put(t, "\nuplink_control\t%#x\n", p->control);
	put(t, "heartbeat\t%s\n",
	    p->heartbeat_none ? "none" : bwl_format_time(p->heartbeat_ns, buf));
	put(t, "min_charge\t%u\n", p->min_charge);
	put(t, "lease\t%s\n", p->lease_ns ? bwl_format_time(p->lease_ns, buf) : "none");
	put(t, "horizon\t%s\n", p->horizon_ns ? bwl_format_time(p->horizon_ns, buf) : "auto");
	put(t, "ledger\t%s\n", p->ledger ? "required" : "auto");
	put(t, "count_classes\t%s\n", p->count_all ? "all" : "limited");
	put(t, "default\t%s\n", p->reject ? "reject" : "deny");
	put_lim(t, "node_limit", &p->node_limit);
	/* member by member, because padding is undefined */
	for (size_t i = 0; i < p->nservices; i++) {
		s[i].class_ = p->services[i].class_;
		s[i].proto = p->services[i].proto;
		s[i].port = p->services[i].port;
	}
	qsort(s, p->nservices, sizeof(*s), by_service);
	for (size_t i = 0; i < p->nservices; i++)
		put(t, "service %u/%u\t%s\n", s[i].proto, s[i].port, bwl_class_name(s[i].class_));
	free(s);
}

/* The value of a field in the lines, or NULL; *len its length. */
static const char *value_of(const struct text *t, const char *field, size_t flen, size_t *len)
{
	const char *p = t->buf, *end = t->buf + t->len;

	while (p < end) {
		const char *nl = memchr(p, '\n', (size_t)(end - p));
		const char *tab = memchr(p, '\t', (size_t)(nl - p));

		if ((size_t)(tab - p) == flen && !memcmp(p, field, flen)) {
			*len = (size_t)(nl - tab - 1);
			return tab + 1;
		}
		p = nl + 1;
	}
	return NULL;
}

static void add_field(json_t *a, const char *field, size_t flen, const char *from, size_t from_len,
		      const char *to, size_t to_len)
{
	json_t *o = json_object();

	json_object_set_new(o, "field", json_stringn(field, flen));
	json_object_set_new(o, "from", from ? json_stringn(from, from_len) : json_null());
	json_object_set_new(o, "to", to ? json_stringn(to, to_len) : json_null());
	json_array_append_new(a, o);
}

static json_t *fields(const struct text *from, const struct text *to)
{
	json_t *a = json_array();
	size_t flen, len, other;

	if (from->len == to->len && (!to->len || !memcmp(from->buf, to->buf, to->len)))
		return a;
	for (const char *p = to->buf; to->len && p < to->buf + to->len;) {
		const char *tab = strchr(p, '\t'), *nl = strchr(p, '\n'), *was;

		flen = (size_t)(tab - p);
		len = (size_t)(nl - tab - 1);
		was = value_of(from, p, flen, &other);
		if (!was || other != len || memcmp(was, tab + 1, len))
			add_field(a, p, flen, was, was ? other : 0, tab + 1, len);
		p = nl + 1;
	}
	for (const char *p = from->buf; from->len && p < from->buf + from->len;) {
		const char *tab = strchr(p, '\t'), *nl = strchr(p, '\n');

		flen = (size_t)(tab - p);
		if (!value_of(to, p, flen, &other))
			add_field(a, p, flen, tab + 1, (size_t)(nl - tab - 1), NULL, 0);
		p = nl + 1;
	}
	return a;
}

static void diff_expiry(const struct bwl_pol_peer *a, const struct bwl_pol_peer *b, uint64_t now_ns,
			json_t *ret)
{
	char from[BWL_WHEN_BUF], to[BWL_WHEN_BUF];
	uint64_t x = a->expiry_ns, y = b->expiry_ns, apart = x > y ? x - y : y - x;

	if (x == y || (x != BWL_NEVER_NS && y != BWL_NEVER_NS && apart <= EXPIRY_SLACK_NS))
		return;
	bwl_when(x, now_ns, from);
	bwl_when(y, now_ns, to);
	add_field(ret, "expires", 7, from, strlen(from), to, strlen(to));
}

/* One kind of named thing: how to find its name and write it down. */
struct kind {
	const char *key; /* of its name in the document */
	size_t size;
	void (*put)(struct text *t, const struct bwl_policy *p, const void *item);
};

static void put_peer_item(struct text *t, const struct bwl_policy *p, const void *item)
{
	put_peer(t, p, item);
}

static void put_zone_item(struct text *t, const struct bwl_policy *p, const void *item)
{
	const struct bwl_pol_zone *z = item;

	(void)p;
	put_lim(t, "limit", &z->limit);
	if (z->weighted)
		put(t, "share\tweighted\n");
}

static void put_port_item(struct text *t, const struct bwl_policy *p, const void *item)
{
	(void)p;
	put_port(t, item);
}

/* All three begin with their name. */
_Static_assert(!__builtin_offsetof(struct bwl_pol_peer, name) &&
		       !__builtin_offsetof(struct bwl_pol_zone, name) &&
		       !__builtin_offsetof(struct bwl_pol_port, name),
	       "the name comes first");

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char **sorted(const void *items, size_t n, size_t size)
{
	const char **ret = calloc(n + 1, sizeof(*ret));

	if (!ret)
		abort();
	for (size_t i = 0; i < n; i++)
		ret[i] = (const char *)items + i * size;
	qsort(ret, n, sizeof(*ret), by_name);
	return ret;
}

static void add_item(json_t *ret, const char *key, const char *name, const char *change,
		     json_t *fields_)
{
	json_array_append_new(ret, json_pack("{s:s,s:s,s:o}", key, name, "change", change, "fields",
					     fields_));
}

static json_t *diff_items(const struct kind *k, const struct bwl_policy *from, const void *a,
			  size_t na, const struct bwl_policy *to, const void *b, size_t nb,
			  uint64_t now_ns)
{
	const char **x = sorted(a, na, k->size), **y = sorted(b, nb, k->size);
	struct text was = { 0 }, is = { 0 };
	json_t *ret = json_array(), *f;
	size_t i = 0, j = 0;

	while (i < na || j < nb) {
		int order = i == na ? 1 : j == nb ? -1 : strcmp(x[i], y[j]);
		const char *name = order <= 0 ? x[i] : y[j];

		was.len = is.len = 0;
		if (order <= 0)
			k->put(&was, from, x[i]);
		if (order >= 0)
			k->put(&is, to, y[j]);
		f = fields(&was, &is);
		if (order == 0 && k->put == put_peer_item)
			diff_expiry((const void *)x[i], (const void *)y[j], now_ns, f);
		if (order || json_array_size(f))
			add_item(ret, k->key, name,
				 order < 0   ? "removed"
				 : order > 0 ? "added"
					     : "changed",
				 f);
		else
			json_decref(f);
		i += order <= 0;
		j += order >= 0;
	}
	free(was.buf);
	free(is.buf);
	free(x);
	free(y);
	return ret;
}

json_t *ctl_diff(const struct bwl_policy *from, const struct bwl_policy *to, uint64_t now_ns)
{
	static const struct kind peers = { "peer", sizeof(struct bwl_pol_peer), put_peer_item };
	static const struct kind zones = { "zone", sizeof(struct bwl_pol_zone), put_zone_item };
	static const struct kind ports = { "port", sizeof(struct bwl_pol_port), put_port_item };
	struct text was = { 0 }, is = { 0 };
	json_t *o = bwl_doc("policy-diff"), *node, *x, *y, *z;

	put_node(&was, from);
	put_node(&is, to);
	node = fields(&was, &is);
	free(was.buf);
	free(is.buf);
	x = diff_items(&ports, from, from->ports, from->nports, to, to->ports, to->nports, now_ns);
	y = diff_items(&zones, from, from->zones, from->nzones, to, to->zones, to->nzones, now_ns);
	z = diff_items(&peers, from, from->peers, from->npeers, to, to->peers, to->npeers, now_ns);
	json_object_set_new(o, "changed",
			    json_boolean(json_array_size(node) || json_array_size(x) ||
					 json_array_size(y) || json_array_size(z)));
	json_object_set_new(o, "node_fields", node);
	json_object_set_new(o, "host_ports", x);
	json_object_set_new(o, "zones", y);
	json_object_set_new(o, "peers", z);
	return o;
}

static void print_fields(json_t *a, const char *indent, FILE *f)
{
	json_t *o;
	size_t i;

	json_array_foreach(a, i, o)
	{
		const char *from = json_string_value(json_object_get(o, "from"));
		const char *to = json_string_value(json_object_get(o, "to"));

		fprintf(f, "%s%s: %s -> %s\n", indent,
			json_string_value(json_object_get(o, "field")), from && *from ? from : "-",
			to && *to ? to : "-");
	}
}

static void print_items(json_t *a, const char *key, const char *what, FILE *f)
{
	json_t *o;
	size_t i;

	json_array_foreach(a, i, o)
	{
		const char *change = json_string_value(json_object_get(o, "change"));
		char sign = *change == 'a' ? '+' : *change == 'r' ? '-' : '~';

		fprintf(f, "%c %s %s\n", sign, what, json_string_value(json_object_get(o, key)));
		if (sign == '~')
			print_fields(json_object_get(o, "fields"), "    ", f);
	}
}

void ctl_diff_print(json_t *diff, FILE *f)
{
	if (!json_is_true(json_object_get(diff, "changed"))) {
		fputs("no difference\n", f);
		return;
	}
	print_fields(json_object_get(diff, "node_fields"), "~ ", f);
	print_items(json_object_get(diff, "host_ports"), "port", "host port", f);
	print_items(json_object_get(diff, "zones"), "zone", "zone", f);
	print_items(json_object_get(diff, "peers"), "peer", "peer", f);
}
