// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bwl-frames: what a thief needs for sending and a judge for counting, without bwlimit.
 *
 *   bwl-frames send DEV [--gw MAC] [--count N] [--seconds S] [--pps N]   lines of frame.h on stdin
 *                                           --bypass: past queues and TC egress; --xsk: by AF_XDP
 *   bwl-frames count DEV [--seconds S]      what arrives, by (ethertype, destination, source)
 *   bwl-frames sample DEV SECONDS [--from-first]     "BYTES FRAMES NANOSECONDS" of rx counters
 *   bwl-frames listen PORT…                 what reaches sockets (listen.c)
 *   bwl-frames settle                       waits until what was sent before has arrived (settle.c)
 *
 * count and listen print "# ready" at once and their result on SIGTERM. All but sample take
 * --marker HEX (or BWL_MARKER): the payload of what is sent, and what is looked for in all that
 * arrives (marker.h). With a marker, count says for each line also
 *
 *   MARKED-FRAMES MARKED-FRAMES'-BYTES BYTES-OF-THE-MARKER CONTROL-FRAMES CONTROL-BYTES
 *
 * where control is what any kernel says unasked, without the marker and no longer than it must be:
 * ARP, IGMP, ND and MLD; and in the end "marked FRAMES BYTES CONTENT" over all, and for each of
 * IPv4 and IPv6 "protocols ETHERTYPE PROTOCOL=MARKED-FRAMES…" (44: fragments of either). "device"
 * is the same time by the interface's own counters.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include "count.h"
#include "frame.h"
#include "listen.h"
#include "marker.h"
#include "settle.h"
#include "xsk.h"

#define MAX_SPECS 4096

volatile sig_atomic_t frames_stopped;

static void on_signal(int sig)
{
	(void)sig;
	frames_stopped = 1;
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
	bool fixed; /* the same bytes in each frame */
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
			exit(frames_die("memory"));
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

	fd = frames_packet_socket(a->dev, 0);
	if (fd < 0)
		return 1;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", a->dev);
	if (ioctl(fd, SIOCGIFHWADDR, &ifr))
		return frames_die(a->dev);
	memcpy(a->env.own, ifr.ifr_hwaddr.sa_data, 6);
	n = read_specs(specs, &a->env);
	if (!n) {
		fprintf(stderr, "bwl-frames: no frames on standard input\n");
		return 2;
	}
	for (i = 0; i < n; i++)
		vnet |= specs[i].frame->has_vnet;
	if (vnet && setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one, sizeof(one)))
		return frames_die("PACKET_VNET_HDR");
	if (a->bypass && setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one)))
		return frames_die("PACKET_QDISC_BYPASS");
	if (a->xsk && (xsk = xsk_open(a->dev)) < 0)
		return frames_die("AF_XDP");
	if (!a->count && a->seconds <= 0)
		a->count = n;
	start = now = frames_now_ns();
	end = start + (long long)(a->seconds * NSEC);
	for (i = 0; !frames_stopped && (!a->count || sent + refused < a->count); i = (i + 1) % n) {
		struct frame *f = specs[i].frame;
		struct iovec v[2] = { { f->vnet, sizeof(f->vnet) }, { f->data, 0 } };
		char why[160];

		if (!specs[i].fixed)
			frame_build(specs[i].text, &a->env, f, why);
		v[1].iov_len = f->len;
		if (a->xsk ? xsk_send(xsk, f->data, f->len)
			   : writev(fd, vnet ? v : v + 1, vnet ? 2 : 1) < 0) {
			refused++;
		} else {
			sent++;
			bytes += f->len;
		}
		if (a->pps > 0)
			frames_sleep_until(start +
					   (long long)((double)(sent + refused) * NSEC / a->pps));
		if (a->seconds > 0 && ((sent + refused) % 16 == 0 || a->pps > 0)) {
			now = frames_now_ns();
			if (now >= end)
				break;
		}
	}
	printf("sent %llu bytes %llu refused %llu\n", sent, bytes, refused);
	return 0;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: bwl-frames send DEV [--gw MAC] [--count N] [--seconds S] [--pps N]\n"
		"                       [--marker HEX] [--bypass|--xsk]\n"
		"       bwl-frames count DEV [--seconds S] [--marker HEX]\n"
		"       bwl-frames sample DEV SECONDS [--from-first]\n"
		"       bwl-frames listen [--marker HEX] PORT…\n"
		"       bwl-frames settle\n");
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
	if (argc == 2 && !strcmp(argv[1], "settle"))
		return settle();
	if (argc < 3)
		return usage();
	if (!strcmp(argv[1], "listen")) {
		i = strcmp(argv[2], "--marker") ? 2 : 4;
		if (i >= argc || (i == 4 && marker_set(&marker, argv[3])))
			return usage();
		return listen_on(argc - i, argv + i, &marker, &frames_stopped);
	}
	if (!strcmp(argv[1], "sample") && argc >= 4)
		return count_sample(argv[2], atof(argv[3]),
				    argc > 4 && !strcmp(argv[4], "--from-first"));
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
