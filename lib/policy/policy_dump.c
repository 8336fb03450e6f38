// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes normalised YAML. Lists without an order are sorted and defaults are left out, so the same
 * policy gives the same text whether it came from a file or from the maps. (Of IPsec, the maps have
 * only the remote: the rest is strongSwan's, and not in the digest.)
 */
#include <arpa/inet.h>
#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/units.h"
#include "policy_key.h"
#include "bwl/until.h"

struct dump {
	const struct bwl_policy *p;
	FILE *f;
	/* leave out what is relative to this boot, only in the file or only in the maps */
	bool for_digest;
	uint64_t now_boot_ns;
	int64_t now_wall_s;
	int err;
};

/* Up to the first NULL. printf would be too slow here: a digest writes a million peers. */
static void put(struct dump *d, const char *a, const char *b, const char *c)
{
	fputs_unlocked(a, d->f);
	if (b)
		fputs_unlocked(b, d->f);
	if (b && c)
		fputs_unlocked(c, d->f);
}

/* Sorted pointers to the items of an array; the caller frees. */
static const void **sorted(struct dump *d, const void *base, size_t n, size_t size,
			   int (*cmp)(const void *, const void *))
{
	const void **list = malloc((n ? n : 1) * sizeof(*list));

	if (!list) {
		d->err = -ENOMEM;
		return NULL;
	}
	for (size_t i = 0; i < n; i++)
		list[i] = (const char *)base + i * size;
	qsort(list, n, sizeof(*list), cmp);
	return list;
}

static int by_name(const void *a, const void *b)
{
	/* ports, zones and peers all begin with their name */
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int by_port(const void *a, const void *b)
{
	return strcmp((*(const struct bwl_pol_tenant *const *)a)->port,
		      (*(const struct bwl_pol_tenant *const *)b)->port);
}

static int by_prefix(const void *pa, const void *pb)
{
	const struct bwl_pfx *a = *(const struct bwl_pfx *const *)pa;
	const struct bwl_pfx *b = *(const struct bwl_pfx *const *)pb;
	int r = a->family - b->family;

	if (!r)
		r = memcmp(a->addr, b->addr, a->family == 4 ? 4 : 16);
	return r ? r : a->len - b->len;
}

static int by_tag(const void *a, const void *b)
{
	return **(const uint16_t *const *)a - **(const uint16_t *const *)b;
}

static int by_service(const void *pa, const void *pb)
{
	const struct bwl_pol_service *a = *(const struct bwl_pol_service *const *)pa;
	const struct bwl_pol_service *b = *(const struct bwl_pol_service *const *)pb;

	return a->proto != b->proto ? a->proto - b->proto : a->port - b->port;
}

static void put_prefixes(struct dump *d, const char *key, const struct bwl_pfx *x, size_t n)
{
	const void **list = sorted(d, x, n, sizeof(*x), by_prefix);
	char text[64];

	if (!list)
		return;
	put(d, "    ", key, ": [");
	for (size_t i = 0; i < n; i++)
		put(d, i ? ", \"" : "\"", bwl_pfx_format(list[i], text, sizeof(text)), "\"");
	put(d, "]\n", NULL, NULL);
	free(list);
}

/* "rate: …, burst: …, volume: …" without braces. */
static void put_limit_fields(struct dump *d, const struct bwl_lim *l)
{
	const char *comma = "";
	char a[BWL_UNIT_BUF];

	if (l->rate_bps != BWL_NO_RATE) {
		put(d, "rate: ", bwl_format_rate(l->rate_bps, a), NULL);
		comma = ", ";
	}
	if (l->burst && l->burst != bwl_default_burst(l->rate_bps)) {
		put(d, comma, "burst: ", bwl_format_size(l->burst, a));
		comma = ", ";
	}
	if (l->has_volume) {
		put(d, comma, "volume: ", bwl_format_size(l->volume, a));
		if (l->window_ns)
			put(d, " per ", bwl_format_time(l->window_ns, a), NULL);
	}
}

static void put_limit(struct dump *d, const char *indent, const char *key, const struct bwl_lim *l)
{
	if (!l->present)
		return;
	put(d, indent, key, ": { ");
	put_limit_fields(d, l);
	put(d, " }\n", NULL, NULL);
}

static void put_zone(struct dump *d, const struct bwl_pol_zone *z)
{
	put(d, "  ", z->name, ": { ");
	put_limit_fields(d, &z->limit);
	put(d, z->weighted ? ", share: weighted }\n" : " }\n", NULL, NULL);
}

static void put_grant(struct dump *d, const struct bwl_pol_peer *x)
{
	char a[BWL_UNTIL_BUF];

	if (!x->grant.present)
		return;
	put(d, "    grant: { ", NULL, NULL);
	put_limit_fields(d, &x->grant);
	put(d, x->grant.rate_bps != BWL_NO_RATE || x->grant.has_volume ? ", " : "",
	    "mode: ", bwl_mode_name(x->mode));
	if (x->mode == BWL_MODE_MARK)
		fprintf(d->f, ", mark: %u%%", x->mark_pct);
	if (x->expiry_ns != BWL_NEVER_NS && !d->for_digest)
		fprintf(d->f, ", until: \"%s\"",
			bwl_until_format(x->expiry_ns, d->now_boot_ns, d->now_wall_s, a));
	put(d, " }\n", NULL, NULL);
}

static bool accept_is_default(const struct bwl_pol_peer *x)
{
	struct bwl_lim def = bwl_default_accept(&x->grant);
	uint64_t burst = x->accept.burst ? x->accept.burst : bwl_default_burst(x->accept.rate_bps);

	return def.present && def.rate_bps == x->accept.rate_bps && def.burst == burst &&
	       !x->accept.has_volume;
}

static void put_path(struct dump *d, const struct bwl_pol_peer *x)
{
	char a[INET6_ADDRSTRLEN];

	put(d, "    path: ", bwl_path_name(x->path), "\n");
	if (x->has_via4)
		put(d, "    via: ", inet_ntop(AF_INET, x->via4, a, sizeof(a)), "\n");
	if (x->has_via6)
		put(d, "    via6: \"", inet_ntop(AF_INET6, x->via6, a, sizeof(a)), "\"\n");
	/* the first uplink is the default */
	if (*x->uplink && strcmp(x->uplink, d->p->uplinks[0]))
		put(d, "    uplink: ", x->uplink, "\n");
	if (!*x->ipsec_remote)
		return;
	put(d, "    ipsec: { remote: \"", x->ipsec_remote, "\"");
	if (!d->for_digest)
		bwl_ipsec_dump_peer(x, d->f);
	put(d, " }\n", NULL, NULL);
}

static void put_tenants(struct dump *d, const struct bwl_pol_peer *x)
{
	const void **list;

	if (!x->ntenants)
		return;
	list = sorted(d, x->tenants, x->ntenants, sizeof(*x->tenants), by_port);
	fputs("    ports:\n", d->f);
	for (size_t i = 0; list && i < x->ntenants; i++) {
		const struct bwl_pol_tenant *t = list[i];

		put_limit(d, "      ", t->port, &t->limit);
	}
	free(list);
}

static void put_peer(struct dump *d, const struct bwl_pol_peer *x)
{
	static const struct bwl_pol_peer standard;
	bool classes = false;

	put(d, "  - name: ", x->name, "\n");
	if (x->revoked && !d->for_digest)
		fputs("    # revoked\n", d->f);
	if (x->naddresses)
		put_prefixes(d, "addresses", x->addresses, x->naddresses);
	if (*x->zone)
		put(d, "    zone: ", x->zone, "\n");
	if (x->nfrom) {
		const void **list = sorted(d, x->from, x->nfrom, sizeof(x->from[0]), by_name);

		fputs("    from: [", d->f);
		for (size_t i = 0; list && i < x->nfrom; i++)
			fprintf(d->f, "%s%s", i ? ", " : "", (const char *)list[i]);
		fputs("]\n", d->f);
		free(list);
	}
	bwl_dump_keys(bwl_peer_keys, x, &standard, "", "    ", d->f);
	put_path(d, x);
	put_grant(d, x);
	if (x->accept_none)
		fputs("    accept: none\n", d->f);
	else if (!accept_is_default(x))
		put_limit(d, "    ", "accept", &x->accept);
	put_limit(d, "    ", "floor", &x->floor);
	for (unsigned k = 0; k < _BWL_CLASS_MAX; k++) {
		if (!x->class_[k].present)
			continue;
		if (!classes)
			fputs("    classes:\n", d->f);
		classes = true;
		put_limit(d, "      ", bwl_class_name(k), &x->class_[k]);
	}
	put_tenants(d, x);
}

static void put_port(struct dump *d, const struct bwl_pol_port *x)
{
	char mac[BWL_MAC_BUF];

	fprintf(d->f, "  - dev: %s\n", x->name);
	put_prefixes(d, "sources", x->sources, x->nsources);
	if (x->nvlans) {
		const void **list = sorted(d, x->vlans, x->nvlans, sizeof(x->vlans[0]), by_tag);

		fputs("    vlans: [", d->f);
		for (size_t i = 0; list && i < x->nvlans; i++)
			fprintf(d->f, "%s%u", i ? ", " : "", *(const uint16_t *)list[i]);
		fputs("]\n", d->f);
		free(list);
	}
	if (x->has_mac)
		fprintf(d->f, "    mac: \"%s\"\n", bwl_mac_format(x->mac, mac));
	put_limit(d, "    ", "limit", &x->limit);
}

static void put_head(struct dump *d)
{
	static const char *const controls[] = {
#define X(e, name) name,
		BWL_CONTROLS(X)
#undef X
	};
	const struct bwl_policy *p = d->p;
	struct bwl_policy standard = { 0 };
	char a[BWL_UNIT_BUF];
	bool any = false;

	fprintf(d->f, "version: 1\nnode: %s\nuplinks: [", p->node);
	for (size_t i = 0; i < p->nuplinks; i++)
		fprintf(d->f, "%s%s", i ? ", " : "", p->uplinks[i]);
	fputs("]\n", d->f);
	for (unsigned i = 0; i < _BWL_CONTROL_MAX; i++) {
		if (!(p->control & 1U << i))
			continue;
		fprintf(d->f, "%s%s", any ? ", " : "uplink_control: [", controls[i]);
		any = true;
	}
	if (any)
		fputs("]\n", d->f);
	if (p->heartbeat_none)
		fputs("heartbeat: none\n", d->f);
	else
		fprintf(d->f, "heartbeat: %s\n", bwl_format_time(p->heartbeat_ns, a));
	bwl_keys_defaults(bwl_top_keys, &standard);
	bwl_dump_keys(bwl_top_keys, p, &standard, "", "", d->f);
	put_limit(d, "", "node_limit", &p->node_limit);
	if (!d->for_digest) { /* not in the maps */
		bwl_ipsec_dump(p, d->f);
		bwl_tamper_dump(p, d->f);
	}
}

static void put_services(struct dump *d)
{
	const struct bwl_policy *p = d->p;
	const void **list = sorted(d, p->services, p->nservices, sizeof(*p->services), by_service);

	if (p->nservices)
		fputs("services:\n", d->f);
	for (size_t i = 0; list && i < p->nservices; i++) {
		const struct bwl_pol_service *s = list[i];

		fprintf(d->f, "  - { class: %s, proto: ", bwl_class_name(s->class_));
		if (s->proto == IPPROTO_TCP || s->proto == IPPROTO_UDP)
			fprintf(d->f, "%s, port: %u }\n", s->proto == IPPROTO_TCP ? "tcp" : "udp",
				s->port);
		else
			fprintf(d->f, "%u }\n", s->proto);
	}
	free(list);
}

static int dump(struct dump *d)
{
	const struct bwl_policy *p = d->p;
	const void **ports = sorted(d, p->ports, p->nports, sizeof(*p->ports), by_name);
	const void **zones = sorted(d, p->zones, p->nzones, sizeof(*p->zones), by_name);
	const void **peers = sorted(d, p->peers, p->npeers, sizeof(*p->peers), by_name);

	if (!d->err) {
		put_head(d);
		fputs("host_ports:\n", d->f);
		for (size_t i = 0; i < p->nports; i++)
			put_port(d, ports[i]);
		if (p->nzones)
			fputs("zones:\n", d->f);
		for (size_t i = 0; i < p->nzones; i++)
			put_zone(d, zones[i]);
		put_services(d);
		fputs(p->npeers ? "peers:\n" : "peers: []\n", d->f);
		for (size_t i = 0; i < p->npeers; i++)
			put_peer(d, peers[i]);
	}
	free(ports);
	free(zones);
	free(peers);
	if (!d->err && ferror(d->f))
		d->err = -EIO;
	return d->err;
}

int bwl_policy_dump(const struct bwl_policy *p, uint64_t now_boot_ns, int64_t now_wall_s, FILE *f)
{
	struct dump d = {
		.p = p,
		.f = f,
		.now_boot_ns = now_boot_ns,
		.now_wall_s = now_wall_s,
	};

	return dump(&d);
}

static ssize_t on_write(void *md, const char *buf, size_t size)
{
	return EVP_DigestUpdate(md, buf, size) == 1 ? (ssize_t)size : 0;
}

int bwl_policy_digest(const struct bwl_policy *p, uint8_t ret[32])
{
	struct dump d = { .p = p, .for_digest = true };
	EVP_MD_CTX *md = EVP_MD_CTX_new();
	int r = -ENOMEM;

	if (md && EVP_DigestInit_ex(md, EVP_sha256(), NULL) == 1)
		d.f = fopencookie(md, "w", (cookie_io_functions_t){ .write = on_write });
	if (d.f) {
		r = dump(&d);
		if (fclose(d.f) && !r)
			r = -EIO;
		if (!r && EVP_DigestFinal_ex(md, ret, NULL) != 1)
			r = -EIO;
	}
	EVP_MD_CTX_free(md);
	return r;
}
