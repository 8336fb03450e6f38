// SPDX-License-Identifier: GPL-2.0-or-later
/* verify: what encrypted peers and mode shape need around the programs. */
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include "bwl/esp.h"
#include "bwl/kernel_has.h"
#include "verify.h"
#include "bwl/plural.h"

#define PEERS_ARE(n) BWL_S(n), (n) == 1 ? "is" : "are"

struct found {
	unsigned encrypted, shaped;
	unsigned dev_in;                /* peers whose packets are decrypted by a device */
	bool nexthop[BWL_MAX_NEXTHOPS]; /* next hops of encrypted peers */
};

static void look(const struct bwl_pins *p, const struct bwl_gen *g, struct found *f)
{
	uint32_t id;

	for (id = 1; id < p->schema.max_peers; id++) {
		const struct bwl_peer *x = bwl_body(p, g, id);

		if (!x)
			continue;
		f->shaped += x->meta.mode == BWL_MODE_SHAPE;
		if (x->meta.path == BWL_PATH_CLEAR)
			continue;
		f->encrypted++;
		f->dev_in += (*(const volatile __u8 *)&p->tunnel[id].flags & BWL_TUN_DEV_IN) != 0;
		f->nexthop[x->meta.nexthop % BWL_MAX_NEXTHOPS] = true;
	}
}

static void check_device(struct bwl_report *r, const struct bwl_pins *p, const struct bwl_gen *g)
{
	struct bwl_err e = { 0 };
	struct bwl_netdev d;
	unsigned i;

	for (i = 0; i < BWL_MAX_PORTS; i++) {
		const struct bwl_dev *dev = &p->dev[i];

		if (!dev->ifindex || dev->kind != BWL_PORT_TUNNEL ||
		    bwl_netdev_get(dev->name, &d, &e))
			continue; /* a missing one is reported with the other ports */
		if (!d.up)
			bwl_check(r, "tunnel-device", BWL_FAIL, "bwlimit-load attach",
				  "the tunnel device %s is down", d.name);
		if (bwl_netdev_is_plain_xfrm(d.ifindex) != !!(dev->flags & BWL_DEV_PLAIN))
			bwl_check(r, "tunnel-device", BWL_FAIL,
				  "delete it (ip link del), then bwlimit-load attach",
				  "the tunnel device %s is not of the kind that its programs need",
				  d.name);
		if (g->base->port[i].flags != BWL_PORT_TUNNEL)
			bwl_check(r, "tunnel-policy", BWL_FAIL,
				  "bwlimit-load attach --policy FILE --republish",
				  "the policy in force is older than the tunnel device %s: closed",
				  d.name);
	}
}

static bool is_uplink(const struct bwl_pins *p, uint32_t ifindex)
{
	unsigned i;

	for (i = 0; i < BWL_MAX_PORTS; i++)
		if (p->dev[i].ifindex == ifindex)
			return p->dev[i].kind == BWL_PORT_UPLINK;
	return false;
}

/* ESP follows the DPU's routes: if they do not lead to an uplink it misses the last gate. */
static void check_route(struct bwl_report *r, const struct bwl_pins *p, const struct bwl_nexthop *h)
{
	int family = h->has4 ? AF_INET : AF_INET6;
	const void *addr = h->has4 ? (const void *)&h->via4 : h->via6;
	char text[INET6_ADDRSTRLEN];
	uint32_t ifindex;

	if (!h->has4 && !h->has6)
		return;
	inet_ntop(family, addr, text, sizeof(text));
	if (bwl_netdev_route_dev((uint8_t)family, addr, &ifindex, NULL))
		bwl_check(r, "peer-route", BWL_WARN, "add a route through an uplink",
			  "no route to a peer's DPU %s", text);
	else if (!is_uplink(p, ifindex))
		bwl_check(
			r, "peer-route", BWL_FAIL,
			"ip route get that address; route it through an uplink",
			"the route to a peer's DPU %s leaves through a device that is not an uplink",
			text);
}

/* What encryption needs of the kernel, for the families of the peers' DPUs. */
static void check_esp(struct bwl_report *r, const struct bwl_gen *g, const struct found *f)
{
	const char *there = NULL;
	struct bwl_esp x;
	unsigned i, k;

	for (k = 0; k < 2; k++) {
		bool needed = false;

		for (i = 0; i < BWL_MAX_NEXTHOPS; i++)
			needed |= f->nexthop[i] &&
				  (k ? g->base->nexthop[i].has6 && !g->base->nexthop[i].has4
				     : g->base->nexthop[i].has4);
		if (!needed)
			continue;
		bwl_esp_ask(k ? AF_INET6 : AF_INET, &x);
		if (x.state == BWL_ESP_THERE)
			there = there ? "IPv4 and IPv6" : k ? "IPv6" : "IPv4";
		else
			bwl_check(r, "encryption", x.state == BWL_ESP_UNTOLD ? BWL_WARN : BWL_FAIL,
				  x.todo, "%s: encrypted peers stay closed (no-sa)", x.why);
	}
	if (there)
		bwl_check(r, "encryption", BWL_OK, "", "the kernel has ESP and AES-GCM for %s",
			  there);
}

/*
 * The SA of a packet that a device has decrypted is known from what the driver attaches to the
 * packet. GRO does not compare SAs, so the programs refuse packets that it has merged. Before Linux
 * 6.8 they accept none (bpf/lib/inbound.h).
 */
static void check_decrypted(struct bwl_report *r, const struct bwl_pins *p, unsigned peers)
{
	struct bwl_kernel_has has;
	struct bwl_netdev_xdp x;
	unsigned i;

	bwl_kernel_ask(&has);
	if (!has.sa_of_packet)
		bwl_check(
			r, "device-decrypts", BWL_WARN,
			"boot Linux 6.8 or newer; or use inbound SAs in software or crypto offload",
			"before Linux 6.8, what a device decrypts is dropped (no-sa): %u peer%s affected",
			peers, BWL_S(peers));
	for (i = 0; has.sa_of_packet && i < BWL_MAX_PORTS; i++) {
		const struct bwl_dev *d = &p->dev[i];

		if (!d->ifindex || d->kind != BWL_PORT_UPLINK ||
		    bwl_netdev_xdp(d->name, d->ifindex, &x, NULL))
			continue;
		bwl_check(
			r, "device-merges", x.merges ? BWL_WARN : BWL_OK,
			"ethtool -K UPLINK gro off lro off rx-gro-hw off",
			x.merges
				? "%s merges received frames (GRO): merged frames that it decrypts are dropped (merged)"
				: "%s merges none of the frames it decrypts",
			d->name);
	}
}

void bwl_verify_tunnel(struct bwl_report *r, const struct bwl_pins *p, const struct bwl_gen *g,
		       uint64_t now)
{
	const char *why = bwl_not_paced(p);
	struct found f = { 0 };
	unsigned i;

	look(p, g, &f);
	if (f.shaped && why)
		bwl_check(r, "shape-fq", BWL_WARN,
			  "bwlimit-load attach --pace; Linux 5.18 or newer",
			  "%s: %u peer%s of mode shape %s policed", why, f.shaped,
			  PEERS_ARE(f.shaped));
	check_device(r, p, g);
	if (!f.encrypted)
		return;
	if (!p->ctl->tunnel)
		bwl_check(r, "tunnel-device", BWL_FAIL,
			  "modprobe xfrm_interface; bwlimit-load attach",
			  "%u peer%s %s encrypted but there is no tunnel device: closed",
			  f.encrypted, PEERS_ARE(f.encrypted));
	check_esp(r, g, &f);
	if (now >= *(const volatile __u32 *)&p->ctl->tracked_until_s * 1000000000ULL)
		bwl_check(r, "sa-tracking", BWL_WARN, "systemctl start bwlimitd, or bwlimit-ipsec",
			  "nothing tracks the SAs of %u encrypted peer%s", f.encrypted,
			  BWL_S(f.encrypted));
	if (f.dev_in)
		check_decrypted(r, p, f.dev_in);
	for (i = 0; i < BWL_MAX_NEXTHOPS; i++)
		if (f.nexthop[i])
			check_route(r, p, &g->base->nexthop[i]);
}
