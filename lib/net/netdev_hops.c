// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lists of next hops with their MACs: the kernel has one MAC per address, and routes may lead two
 * far DPUs to one router.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <bwl/netdev.h>
#include <bwl/prefix.h>

static int by_place(const void *a, const void *b)
{
	const struct bwl_fixed_hop *x = a, *y = b;

	if (x->ifindex != y->ifindex)
		return x->ifindex < y->ifindex ? -1 : 1;
	if (x->family != y->family)
		return x->family < y->family ? -1 : 1;
	return memcmp(x->addr, y->addr, sizeof(x->addr));
}

/* One that has another MAC for the same address; NULL: they agree. */
static const struct bwl_fixed_hop *other_mac(const struct bwl_fixed_hop *list, size_t n,
					     const struct bwl_fixed_hop *x)
{
	for (size_t i = 0; x->ifindex && i < n; i++)
		if (!by_place(&list[i], x) && memcmp(list[i].mac, x->mac, sizeof(x->mac)))
			return &list[i];
	return NULL;
}

static int torn(const struct bwl_fixed_hop *x, const struct bwl_fixed_hop *y, struct bwl_err *e)
{
	char addr[INET6_ADDRSTRLEN], dev[IF_NAMESIZE] = "?", a[BWL_MAC_BUF], b[BWL_MAC_BUF];

	inet_ntop(x->family, x->addr, addr, sizeof(addr));
	if_indextoname(x->ifindex, dev);
	return bwl_fail(
		e, EEXIST,
		"next hop %s on %s has two MACs, %s and %s: give all peers behind it the same next_hop_mac",
		addr, dev, bwl_mac_format(x->mac, a), bwl_mac_format(y->mac, b));
}

int bwl_netdev_hops_agree(const struct bwl_fixed_hop *list, size_t n,
			  const struct bwl_fixed_hop *old, size_t nold, struct bwl_err *e)
{
	for (size_t i = 0; i < n; i++) {
		const struct bwl_fixed_hop *y = other_mac(list, n, &list[i]);
		bool was = false;

		for (size_t k = 0; y && !was && k < nold; k++)
			was = !by_place(&old[k], y) && other_mac(old, nold, &old[k]);
		if (y && !was)
			return torn(&list[i], y, e);
	}
	return 0;
}

/*
 * Of two for one address: the policy's own next hop before one that a route leads to, then the one
 * that is there. Never none: the kernel would ask the wire.
 */
static bool yields(const struct bwl_fixed_hop *x, const struct bwl_fixed_hop *y)
{
	if (x->routed != y->routed)
		return x->routed;
	return !bwl_netdev_hop_check(y, NULL);
}

int bwl_netdev_hops_fix(const struct bwl_fixed_hop *list, size_t n, struct bwl_err *e)
{
	const struct bwl_fixed_hop *y;
	struct bwl_err unused = { 0 };
	int r = 0, one;

	for (size_t i = 0; i < n; i++) {
		if (!list[i].ifindex)
			continue;
		y = other_mac(list, n, &list[i]);
		if (y && yields(&list[i], y))
			continue;
		one = bwl_netdev_hop_fix(&list[i], r && r != -EEXIST ? &unused : e);
		if (!one && y && !r)
			one = torn(&list[i], y, e);
		r = one && (!r || r == -EEXIST) ? one : r;
	}
	return r;
}
