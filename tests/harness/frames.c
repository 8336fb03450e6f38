// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bwl-frames: what a thief needs to send and a judge needs to count, without bwlimit.
 *
 *   bwl-frames send DEV [--gw MAC] [--count N] [--seconds S] [--pps N]   lines of frame.h on stdin
 *                                           --bypass: past queues and TC egress; --xsk: by AF_XDP
 *   bwl-frames count DEV [--seconds S]      what arrives, by (ethertype, destination, source)
 *   bwl-frames sample DEV SECONDS [--from-first]     "BYTES FRAMES NANOSECONDS" of rx counters
 *   bwl-frames listen PORT…                 what reaches sockets (listen.c)
 *
 * count and listen print "# ready" at once and their result on SIGTERM. All but sample take
 * --marker HEX (or BWL_MARKER): the payload of what is sent, and what is looked for in all that
 * arrives (marker.h). With a marker, count says for each line also
 *
 *   MARKED-FRAMES MARKED-FRAMES'-BYTES BYTES-OF-THE-MARKER CONTROL-FRAMES CONTROL-BYTES
 *
 * where control is what any kernel says unasked, without the marker and no longer than it must be:
 * ARP, IGMP, ND and MLD; and in the end "marked FRAMES BYTES CONTENT" over all. "device" is the
 * same time by the interface's own counters.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include "frame.h"
#include "listen.h"
#include "marker.h"
#include "xsk.h"

#define NSEC 1000000000LL
#define MAX_SPECS 4096
#define KEYS (1U << 17)

static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

static int die(const char *what)
{
	fprintf(stderr, "bwl-frames: %s: %s\n", what, strerror(errno));
	return 1;
}

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NSEC + t.tv_nsec;
}

static void sleep_until(long long ns)
{
	struct timespec t = { ns / NSEC, ns % NSEC };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static int packet_socket(const char *dev, int protocol)
{
	struct sockaddr_ll at = {
		.sll_family = AF_PACKET, .sll_protocol = htons(protocol),
		.sll_ifindex = if_nametoindex(dev),
	};
	int fd = socket(AF_PACKET, SOCK_RAW, 0);

	if (fd < 0 || !at.sll_ifindex || bind(fd, (void *)&at, sizeof(at))) {
		die(dev);
		return -1;
	}
	return fd;
}

struct send_args {
	const char *dev;
	struct frame_env env;
	unsigned long count;
	double seconds, pps;
	bool bypass, xsk;
};

struct spec {
	char *text;
	bool fixed;		/* the same bytes each time */
	struct frame *frame;
};

static size_t read_specs(struct spec *specs, const struct frame_env *env)
{
	char *line = NULL, why[160];
	size_t room = 0, n = 0;

	while (getline(&line, &room, stdin) > 0) {
		line[strcspn(line, "#\n")] = 0;
		if (!line[strspn(line, " \t")])
			continue;
		if (n == MAX_SPECS) {
			fprintf(stderr, "bwl-frames: more than %d lines\n", MAX_SPECS);
			exit(2);
		}
		specs[n].text = strdup(line);
		specs[n].fixed = !strchr(line, '/');
		specs[n].frame = malloc(sizeof(struct frame));
		if (!specs[n].text || !specs[n].frame)
			exit(die("memory"));
		if (frame_build(line, env, specs[n].frame, why)) {
			fprintf(stderr, "bwl-frames: %s\n  in: %s\n", why, line);
			exit(2);
		}
		n++;
	}
	free(line);
	return n;
}

static int send_frames(struct send_args *a)
{
	static struct spec specs[MAX_SPECS];
	unsigned long long sent = 0, bytes = 0, refused = 0;
	long long start, end, now;
	bool vnet = false;
	struct ifreq ifr = {};
	size_t n, i;
	int fd, xsk = -1, one = 1;

	fd = packet_socket(a->dev, 0);
	if (fd < 0)
		return 1;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", a->dev);
	if (ioctl(fd, SIOCGIFHWADDR, &ifr))
		return die(a->dev);
	memcpy(a->env.own, ifr.ifr_hwaddr.sa_data, 6);
	n = read_specs(specs, &a->env);
	if (!n) {
		fprintf(stderr, "bwl-frames: no frames on standard input\n");
		return 2;
	}
	for (i = 0; i < n; i++)
		vnet |= specs[i].frame->has_vnet;
	if (vnet && setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one)))
		return die("PACKET_VNET_HDR");
	if (a->bypass && setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)))
		return die("PACKET_QDISC_BYPASS");
	if (a->xsk && (xsk = xsk_open(a->dev)) < 0)
		return die("AF_XDP");
	if (!a->count && a->seconds <= 0)
		a->count = n;
	start = now = now_ns();
	end = start + (long long)(a->seconds * NSEC);
	for (i = 0; !stopped && (!a->count || sent + refused < a->count); i = (i + 1) % n) {
		struct frame *f = specs[i].frame;
		struct iovec v[2] = { { f->vnet, sizeof(f->vnet) }, { f->data, 0 } };
		char why[160];

		if (!specs[i].fixed)
			frame_build(specs[i].text, &a->env, f, why);
		v[1].iov_len = f->len;
		if (a->xsk ? xsk_send(xsk, f->data, f->len) : writev(fd, vnet ? v : v + 1, vnet ? 2 : 1) < 0) {
			refused++;
		} else {
			sent++;
			bytes += f->len;
		}
		if (a->pps > 0)
			sleep_until(start + (long long)((double)(sent + refused) * NSEC / a->pps));
		if (a->seconds > 0 && ((sent + refused) % 16 == 0 || a->pps > 0)) {
			now = now_ns();
			if (now >= end)
				break;
		}
	}
	printf("sent %llu bytes %llu refused %llu\n", sent, bytes, refused);
	return 0;
}

struct key {
	uint8_t family;		/* 4, 6 or 0: MACs */
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

	while (off + 6 <= n && ((p[off] == 0x81 && p[off + 1] == 0) ||
				(p[off] == 0x88 && p[off + 1] == 0xa8))) {
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
	long long before, after;	/* the counters were read in between */
};

/* The receive counters, read again when the CPU was away meanwhile. */
static int look_at(const char *dev, struct look *l)
{
	char line[512], name[64];
	int r = -1, tries;
	FILE *f;

	for (tries = 0; tries < 20; tries++) {
		f = fopen("/proc/net/dev", "r");
		r = -1;
		l->before = now_ns();
		while (f && r && fgets(line, sizeof(line), f))
			if (sscanf(line, " %63[^:]: %llu %llu", name, &l->bytes, &l->frames) == 3 &&
			    !strcmp(name, dev))
				r = 0;
		l->after = now_ns();
		if (f)
			fclose(f);
		if (r || l->after - l->before < NSEC / 5000)
			break;
	}
	return r;
}

/*
 * What a kernel sends unasked, and no longer than it must be: ARP, IGMP, ND, MLD. A longer one is
 * not, whoever sent it.
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
	if (next == 0 && n >= at + 8) {	/* MLD has a router alert before it */
		next = p[at];
		at += (p[at + 1] + 1) * 8;
	}
	return next == IPPROTO_ICMPV6 && at < n &&
	       ((p[at] >= 130 && p[at] <= 136) || p[at] == 143);
}

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
	} else if (is_control(&k, p, have)) {
		e->control++;
		e->control_bytes += n;
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
	if (marker)
		printf("marked %llu %llu %llu\n", sum.marked, sum.marked_bytes, sum.content);
	printf("total %llu %llu", sum.frames, sum.bytes);
}

static int count_frames(const char *dev, double seconds, const struct marker *m)
{
	struct tally *t = calloc(KEYS, sizeof(*t));
	int fd = packet_socket(dev, ETH_P_ALL), one = 1, room = 64 << 20;
	struct tpacket_stats lost = {};
	socklen_t len = sizeof(lost);
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	long long end = seconds > 0 ? now_ns() + (long long)(seconds * NSEC) : 0;
	static uint8_t buf[70000];
	struct look from, to;
	ssize_t n;

	if (fd < 0 || !t)
		return 1;
	if (setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one)) ||
	    setsockopt(fd, SOL_PACKET, PACKET_AUXDATA, &one, sizeof(one)) || look_at(dev, &from))
		return die(dev);
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	printf("# ready\n");
	fflush(stdout);
	for (;;) {
		char control[CMSG_SPACE(sizeof(struct tpacket_auxdata))];
		struct iovec v = { buf, sizeof(buf) };
		struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = control,
				    .msg_controllen = sizeof(control) };
		struct cmsghdr *c;
		bool tagged;

		n = recvmsg(fd, &h, MSG_DONTWAIT | MSG_TRUNC);
		if (n < 0) {
			if (stopped || (end && now_ns() >= end))
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

/*
 * The receive counters over a time that is never shorter than what they count. --from-first:
 * it begins at the last look that saw nothing yet.
 */
static int sample(const char *dev, double seconds, bool from_first)
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
		if (stopped || end.after > give_up) {
			fprintf(stderr, "bwl-frames: nothing arrived at %s\n", dev);
			return 1;
		}
		sleep_until(end.after + NSEC / 5000);
		look_at(dev, &end);
	}
	sleep_until(start.before + (long long)(seconds * NSEC));
	look_at(dev, &end);
	printf("%llu %llu %lld\n", end.bytes - first.bytes, end.frames - first.frames,
	       end.after - start.before);
	return 0;
}

static int usage(void)
{
	fprintf(stderr, "usage: bwl-frames send DEV [--gw MAC] [--count N] [--seconds S] [--pps N]\n"
			"                       [--marker HEX] [--bypass|--xsk]\n"
			"       bwl-frames count DEV [--seconds S] [--marker HEX]\n"
			"       bwl-frames sample DEV SECONDS [--from-first]\n"
			"       bwl-frames listen [--marker HEX] PORT…\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_signal };
	static struct marker marker;
	struct send_args a = {};
	int i;

	if (marker_from_env(&marker)) {
		fprintf(stderr, "bwl-frames: BWL_MARKER: %d bytes in hex\n", FRAME_MARKER);
		return 2;
	}
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	if (argc < 3)
		return usage();
	if (!strcmp(argv[1], "listen")) {
		i = strcmp(argv[2], "--marker") ? 2 : 4;
		if (i >= argc || (i == 4 && marker_set(&marker, argv[3])))
			return usage();
		return listen_on(argc - i, argv + i, &marker, &stopped);
	}
	if (!strcmp(argv[1], "sample") && argc >= 4)
		return sample(argv[2], atof(argv[3]), argc > 4 && !strcmp(argv[4], "--from-first"));
	a.dev = argv[2];
	srandom(1);
	for (i = 3; i < argc; i++) {
		if (!strcmp(argv[i], "--bypass")) {
			a.bypass = true;
			continue;
		}
		if (!strcmp(argv[i], "--xsk")) {
			a.xsk = true;
			continue;
		}
		if (i + 1 == argc)
			return usage();
		if (!strcmp(argv[i], "--gw") && !frame_parse_mac(argv[i + 1], a.env.gateway))
			i++;
		else if (!strcmp(argv[i], "--count"))
			a.count = strtoul(argv[++i], NULL, 10);
		else if (!strcmp(argv[i], "--seconds"))
			a.seconds = atof(argv[++i]);
		else if (!strcmp(argv[i], "--pps"))
			a.pps = atof(argv[++i]);
		else if (!strcmp(argv[i], "--marker") && !marker_set(&marker, argv[i + 1]))
			i++;
		else
			return usage();
	}
	a.env.marker = marker.on ? marker.byte : NULL;
	if (!strcmp(argv[1], "send"))
		return send_frames(&a);
	return strcmp(argv[1], "count") ? usage() : count_frames(a.dev, a.seconds, &marker);
}
