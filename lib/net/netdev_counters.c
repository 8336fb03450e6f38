// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A driver's own counters by name, as `ethtool -S` prints them: there is no standard, so a device's
 * counters are looked up each time. By ioctl, because ethtool's netlink family does not have them.
 */
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <bwl/netdev.h>

/*
 * The kernel writes as many as the driver has at that moment, whatever room it was given (until
 * 6.14): so there is room for queues that are added after the count.
 */
#define SPARE 4096

struct names {
	struct ethtool_gstrings *strings;
	struct ethtool_stats *values;
	uint32_t n;
};

static int count(int s, struct ifreq *q, uint32_t *ret)
{
	union {
		struct ethtool_sset_info info;
		uint8_t room[sizeof(struct ethtool_sset_info) + sizeof(uint32_t)];
	} ask = { .info = { .cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ULL << ETH_SS_STATS } };

	q->ifr_data = (void *)&ask;
	if (ioctl(s, SIOCETHTOOL, q))
		return errno == EOPNOTSUPP ? 0 : -errno;
	*ret = ask.info.sset_mask ? ask.info.data[0] : 0;
	return 0;
}

static int ask(int s, struct ifreq *q, struct names *a)
{
	uint32_t room = a->n + SPARE;

	a->strings = calloc(1, sizeof(*a->strings) + (size_t)room * ETH_GSTRING_LEN);
	a->values = calloc(1, sizeof(*a->values) + (size_t)room * sizeof(a->values->data[0]));
	if (!a->strings || !a->values)
		return -ENOMEM;
	a->strings->cmd = ETHTOOL_GSTRINGS;
	a->strings->string_set = ETH_SS_STATS;
	a->strings->len = a->n;
	q->ifr_data = (void *)a->strings;
	if (ioctl(s, SIOCETHTOOL, q))
		return -errno;
	a->values->cmd = ETHTOOL_GSTATS;
	a->values->n_stats = a->n;
	q->ifr_data = (void *)a->values;
	if (ioctl(s, SIOCETHTOOL, q))
		return -errno;
	return a->strings->len == a->n && a->values->n_stats == a->n ? 0 : -EAGAIN;
}

static void pick(const struct names *a, struct bwl_counter *c, size_t n)
{
	for (uint32_t i = 0; i < a->n; i++) {
		const char *name = (const char *)a->strings->data + (size_t)i * ETH_GSTRING_LEN;

		for (size_t k = 0; k < n; k++)
			if (!strncmp(name, c[k].name, ETH_GSTRING_LEN)) {
				c[k].value = a->values->data[i];
				c[k].found = true;
			}
	}
}

int bwl_netdev_counters(const char *name, struct bwl_counter *c, size_t n)
{
	int s = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0); /* any family: units forbid INET */
	struct names a = { 0 };
	struct ifreq q = { 0 };
	int r;

	for (size_t k = 0; k < n; k++)
		c[k].found = false;
	if (s < 0)
		return -errno;
	snprintf(q.ifr_name, sizeof(q.ifr_name), "%s", name);
	r = count(s, &q, &a.n);
	if (!r && a.n)
		r = ask(s, &q, &a);
	if (!r && a.n)
		pick(&a, c, n);
	free(a.strings);
	free(a.values);
	close(s);
	return r;
}
