// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts what arrives at a device, by addresses, marker and the device's own counters: see
 * frames.c.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include "count.h"

#define KEYS (1U << 17)

int frames_die(const char *what)
{
	fprintf(stderr, "bwl-frames: %s: %s\n", what, strerror(errno));
	return 1;
}

long long frames_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NSEC + t.tv_nsec;
}

void frames_sleep_until(long long ns)
{
	struct timespec t = { ns / NSEC, ns % NSEC };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

int frames_packet_socket(const char *dev, int protocol)
{
	struct sockaddr_ll at = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(protocol),
		.sll_ifindex = if_nametoindex(dev),
	};
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	if (fd < 0 || !at.sll_ifindex || bind(fd, (void *)&at, sizeof(at))) {
		frames_die(dev);
		return -1;
	}
	return fd;
}

struct key {
	uint8_t family; /* 4, 6 or 0: MACs */
	uint8_t tagged;
	uint16_t ethertype;
	uint8_t dst[16], src[16];
};
struct tally {
	struct key key;
	unsigned long long frames, bytes, marked, marked_bytes, content, control, control_bytes;
};

static void read_key(const uint8_t *p, size_t n, struct key *k)
{
	size_t off = 12;

	while (off + 6 <= n &&
	       ((p[off] == 0x81 && p[off + 1] == 0) || (p[off] == 0x88 && p[off + 1] == 0xa8))) {
		k->tagged++;
		off += 4;
	}
	k->ethertype = p[off] << 8 | p[off + 1];
	off += 2;
	if (k->ethertype == ETH_P_IP && n >= off + 20) {
		k->family = 4;
		memcpy(k->src, p + off + 12, 4);
		memcpy(k->dst, p + off + 16, 4);
	} else if (k->ethertype == ETH_P_IPV6 && n >= off + 40) {
		k->family = 6;
		memcpy(k->src, p + off + 8, 16);
		memcpy(k->dst, p + off + 24, 16);
	} else {
		memcpy(k->dst, p, 6);
		memcpy(k->src, p + 6, 6);
	}
}

static struct tally *find(struct tally *t, const struct key *k)
{
	const uint8_t *b = (const void *)k;
	uint32_t h = 2166136261u;
	size_t i;

	for (i = 0; i < sizeof(*k); i++)
		h = (h ^ b[i]) * 16777619u;
	for (i = 0; i < KEYS; i++, h++) {
		struct tally *e = &t[h % KEYS];

		if (!e->frames || !memcmp(&e->key, k, sizeof(*k)))
			return e;
	}
	fprintf(stderr, "bwl-frames: more than %u addresses\n", KEYS);
	exit(1);
}

static const char *show(uint8_t family, const uint8_t *a, char buf[INET6_ADDRSTRLEN])
{
	if (family)
		return inet_ntop(family == 4 ? AF_INET : AF_INET6, a, buf, INET6_ADDRSTRLEN);
	snprintf(buf, INET6_ADDRSTRLEN, "%02x:%02x:%02x:%02x:%02x:%02x", a[0], a[1], a[2], a[3],
		 a[4], a[5]);
	return buf;
}

struct look {
	unsigned long long bytes, frames;
	long long before, after; /* the counters were read between these */
};

/* The receive counters; read again if the CPU was away meanwhile. */
static int look_at(const char *dev, struct look *l)
{
	char line[512], name[64];
	int r = -1, tries;
	FILE *f;

	for (tries = 0; tries < 20; tries++) {
		f = fopen("/proc/net/dev", "r");
		r = -1;
		l->before = frames_now_ns();
		while (f && r && fgets(line, sizeof(line), f))
			if (sscanf(line, " %63[^:]: %llu %llu", name, &l->bytes, &l->frames) == 3 &&
			    !strcmp(name, dev))
				r = 0;
		l->after = frames_now_ns();
		if (f)
			fclose(f);
		if (r || l->after - l->before < NSEC / 5000)
			break;
	}
	return r;
}

/*
 * What a kernel sends by itself, at its minimum length: ARP, IGMP, ND, MLD. Anything longer does
 * not count as that, whoever sent it.
 */
static bool is_control(const struct key *k, const uint8_t *p, size_t n)
{
	size_t at = 14 + 40;
	uint8_t next;

	if (k->tagged || n > 200)
		return false;
	if (k->ethertype == ETH_P_ARP)
		return n <= 60;
	if (k->family == 4)
		return p[23] == IPPROTO_IGMP;
	if (k->family != 6)
		return false;
	next = p[20];
	if (next == 0 && n >= at + 8) { /* MLD comes after a router alert */
		next = p[at];
		at += (p[at + 1] + 1) * 8;
	}
	return next == IPPROTO_ICMPV6 && at < n && ((p[at] >= 130 && p[at] <= 136) || p[at] == 143);
}

#define FRAGMENT 44

/* in_frame: tags inside the frame. */
static unsigned protocol_of(const struct key *k, const uint8_t *p, unsigned in_frame)
{
	p += 14 + 4 * in_frame;
	if (k->family == 6)
		return p[6];
	return p[6] & 0x3f || p[7] ? FRAGMENT : p[9];
}

static unsigned long long marked_of[2][256]; /* [IPv4, IPv6][protocol] */

static void add_frame(struct tally *t, const uint8_t *p, size_t have, size_t n, bool tagged,
		      const struct marker *m)
{
	struct key k = { .tagged = tagged };
	struct tally *e;
	size_t content;

	read_key(p, have, &k);
	e = find(t, &k);
	e->key = k;
	e->frames++;
	e->bytes += n;
	content = marker_find(m, p, have);
	if (content) {
		e->marked++;
		e->marked_bytes += n;
		e->content += content;
		if (k.family)
			marked_of[k.family == 6][protocol_of(&k, p, k.tagged - tagged)]++;
	} else if (is_control(&k, p, have)) {
		e->control++;
		e->control_bytes += n;
	}
}

static void print_protocols(void)
{
	unsigned six, i;

	for (six = 0; six < 2; six++) {
		printf("protocols %s", six ? "86dd" : "0800");
		for (i = 0; i < 256; i++)
			if (marked_of[six][i])
				printf(" %u=%llu", i, marked_of[six][i]);
		printf("\n");
	}
}

static void print_tallies(const struct tally *t, bool marker)
{
	char d[INET6_ADDRSTRLEN], s[INET6_ADDRSTRLEN];
	struct tally sum = {};
	size_t i;

	for (i = 0; i < KEYS; i++) {
		const struct tally *e = &t[i];

		if (!e->frames)
			continue;
		printf("%04x%s %s %s %llu %llu", e->key.ethertype, e->key.tagged ? "+vlan" : "",
		       show(e->key.family, e->key.dst, d), show(e->key.family, e->key.src, s),
		       e->frames, e->bytes);
		if (marker)
			printf(" %llu %llu %llu %llu %llu", e->marked, e->marked_bytes, e->content,
			       e->control, e->control_bytes);
		printf("\n");
		sum.frames += e->frames;
		sum.bytes += e->bytes;
		sum.marked += e->marked;
		sum.marked_bytes += e->marked_bytes;
		sum.content += e->content;
	}
	if (marker) {
		print_protocols();
		printf("marked %llu %llu %llu\n", sum.marked, sum.marked_bytes, sum.content);
	}
	printf("total %llu %llu", sum.frames, sum.bytes);
}

int count_frames(const char *dev, double seconds, const struct marker *m)
{
	struct tally *t = calloc(KEYS, sizeof(*t));
	int fd = frames_packet_socket(dev, ETH_P_ALL), one = 1, room = 64 << 20;
	struct tpacket_stats lost = {};
	socklen_t len = sizeof(lost);
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	long long end = seconds > 0 ? frames_now_ns() + (long long)(seconds * NSEC) : 0;
	static uint8_t buf[70000];
	struct look from, to;
	ssize_t n;

	if (fd < 0 || !t)
		return 1;
	if (setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &one, sizeof(one)) || look_at(dev, &from))
		return frames_die(dev);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	printf("# ready\n");
	fflush(stdout);
	for (;;) {
		char control[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
		struct iovec v = { buf, sizeof(buf) };
		struct msghdr h = { .msg_iov = &v,
				    .msg_iovlen = 1,
				    .msg_control = control,
				    .msg_controllen = sizeof(control) };
		struct cmsghdr *c;
		bool tagged;

		n = recvmsg(fd, &h, MSG_DONTWAIT | MSG_TRUNC);
		if (n < 0) {
			if (frames_stopped || (end && frames_now_ns() >= end))
				break;
			poll(&pfd, 1, 50);
			continue;
		}
		if (n < 14)
			continue;
		c = CMSG_FIRSTHDR(&h);
		tagged = c && c->cmsg_type == PACKET_AUXDATA &&
			 ((struct tpacket_auxdata *)CMSG_DATA(c))->tp_status & TP_STATUS_VLAN_VALID;
		add_frame(t, buf, n < (ssize_t)sizeof(buf) ? (size_t)n : sizeof(buf),
			  n + (tagged ? 4 : 0), tagged, m);
	}
	look_at(dev, &to);
	getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &lost, &len);
	print_tallies(t, m->on);
	printf(" lost %u\n", lost.tp_drops);
	if (m->on)
		printf("device %llu %llu\n", to.frames - from.frames, to.bytes - from.bytes);
	free(t);
	return 0;
}

int count_sample(const char *dev, double seconds, bool from_first)
{
	struct look first, start, end;
	long long give_up;

	if (look_at(dev, &first)) {
		fprintf(stderr, "bwl-frames: no device %s\n", dev);
		return 1;
	}
	start = end = first;
	give_up = first.before + 30 * NSEC;
	while (from_first && end.frames == first.frames) {
		start = end;
		if (frames_stopped || end.after > give_up) {
			fprintf(stderr, "bwl-frames: nothing arrived at %s\n", dev);
			return 1;
		}
		frames_sleep_until(end.after + NSEC / 5000);
		look_at(dev, &end);
	}
	frames_sleep_until(start.before + (long long)(seconds * NSEC));
	look_at(dev, &end);
	printf("%llu %llu %lld\n", end.bytes - first.bytes, end.frames - first.frames,
	       end.after - start.before);
	return 0;
}
