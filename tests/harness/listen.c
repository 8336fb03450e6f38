// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What reaches sockets, by family and protocol. Two kinds of listeners: ordinary sockets,
 * UDP and TCP on each port (TCP by Fast Open, so that the data of a SYN alone reaches accept());
 * and raw ones, which get whatever the kernel accepts as its own, checksum right or wrong.
 *
 *   udp     datagrams at a port            tcp   segments to a port, or marked (raw)
 *   open    connections accepted           icmp  echo requests, or marked (raw)
 *   raw     marked, of another protocol, or UDP to another port
 *   control marked IGMP, ND and MLD: what the kernel must receive; not a program's
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "listen.h"

#define EARS 128
#define PORTS 24

enum hear { H_UDP, H_TCP, H_OPEN, H_ICMP, H_RAW, H_CONTROL, H_MAX };
static const char *const hear_names[H_MAX] = { "udp", "tcp", "open", "icmp", "raw", "control" };

struct ear {
	enum hear what;
	bool six;
	int proto; /* of a raw socket; otherwise 0 */
};

struct ears {
	struct ear ear[EARS];
	struct pollfd p[EARS];
	int n, nports;
	uint16_t port[PORTS];
	unsigned long long got[H_MAX][2], marked, bytes;
};

static const uint8_t raw4[] = { 1, 2, 4, 6, 17, 47, 50, 51, 132, 253 };
static const uint8_t raw6[] = { 58, 4, 6, 17, 41, 47, 50, 51, 132, 253 };

static int add(struct ears *e, enum hear what, bool six, int type, int proto, int port)
{
	struct sockaddr_in6 a6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr_in a4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(six ? AF_INET6 : AF_INET, type, proto), one = 1, queue = 64, room = 8 << 20;

	if (fd < 0 || e->n == EARS)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (six && type != SOCK_RAW)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (type != SOCK_RAW &&
	    bind(fd, six ? (void *)&a6 : (void *)&a4, six ? sizeof(a6) : sizeof(a4)))
		return -1;
	if (type == SOCK_STREAM) {
		setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN, &queue, sizeof(queue));
		if (listen(fd, queue))
			return -1;
	}
	e->ear[e->n] = (struct ear){ what, six, type == SOCK_RAW ? proto : 0 };
	e->p[e->n++] = (struct pollfd){ .fd = fd, .events = POLLIN };
	return 0;
}

/* Fast Open without a cookie, in this network namespace: Documentation/networking/ip-sysctl. */
static void fast_open(void)
{
	FILE *f = fopen("/proc/sys/net/ipv4/tcp_fastopen", "w");

	if (!f)
		return;
	fprintf(f, "%d\n", 0x1 | 0x2 | 0x200);
	fclose(f);
}

static bool listed(const struct ears *e, unsigned port)
{
	int i;

	for (i = 0; i < e->nports; i++)
		if (e->port[i] == port)
			return true;
	return false;
}

/* What a raw socket received, from the transport header on; H_MAX: nothing of interest. */
static enum hear judge(const struct ears *e, const struct ear *ear, const uint8_t *p, size_t n,
		       bool marked)
{
	unsigned port = n >= 4 ? p[2] << 8 | p[3] : 0;

	switch (ear->proto) {
	case IPPROTO_TCP:
		return marked || listed(e, port) ? H_TCP : H_MAX;
	case IPPROTO_UDP:
		return marked && !listed(e, port) ? H_RAW : H_MAX;
	case IPPROTO_ICMP:
		return marked || (n && p[0] == 8) ? H_ICMP : H_MAX;
	case IPPROTO_IGMP:
		return marked ? H_CONTROL : H_MAX;
	case IPPROTO_ICMPV6:
		if (n && ((p[0] >= 130 && p[0] <= 137) || p[0] == 143))
			return marked ? H_CONTROL : H_MAX;
		return marked || (n && p[0] == 128) ? H_ICMP : H_MAX;
	}
	return marked ? H_RAW : H_MAX;
}

static void hear(struct ears *e, int i, const struct marker *m)
{
	static uint8_t buf[70000];
	const struct ear *ear = &e->ear[i];
	size_t content, head = 0;
	enum hear what = ear->what;
	ssize_t n;
	int c;

	if (what == H_OPEN) {
		c = accept(e->p[i].fd, NULL, NULL);
		if (c < 0)
			return;
		n = recv(c, buf, sizeof(buf), MSG_DONTWAIT);
		close(c);
		if (n < 0)
			n = 0;
	} else {
		n = recv(e->p[i].fd, buf, sizeof(buf), MSG_DONTWAIT);
		if (n < 0)
			return;
	}
	content = marker_find(m, buf, n);
	if (ear->proto) {
		head = !ear->six && n ? (buf[0] & 15) * 4 : 0;
		if (head > (size_t)n)
			return;
		what = judge(e, ear, buf + head, n - head, content);
	}
	if (what == H_MAX)
		return;
	e->got[what][ear->six]++;
	if (content && what != H_CONTROL) {
		e->marked++;
		e->bytes += content;
	}
}

static int open_ears(struct ears *e, int nports, char **ports)
{
	size_t k;
	int i, six, port;

	for (i = 0; i < nports && i < PORTS; i++) {
		port = atoi(ports[i]);
		e->port[e->nports++] = port;
		for (six = 0; six < 2; six++)
			if (add(e, H_UDP, six, SOCK_DGRAM, 0, port) ||
			    add(e, H_OPEN, six, SOCK_STREAM, 0, port)) {
				fprintf(stderr, "bwl-frames: port %d: %s\n", port, strerror(errno));
				return 1;
			}
	}
	for (k = 0; k < sizeof(raw4); k++)
		if (add(e, H_RAW, false, SOCK_RAW, raw4[k], 0))
			goto out;
	for (k = 0; k < sizeof(raw6); k++)
		if (add(e, H_RAW, true, SOCK_RAW, raw6[k], 0))
			goto out;
	return 0;
out:
	fprintf(stderr, "bwl-frames: raw socket: %s\n", strerror(errno));
	return 1;
}

int listen_on(int nports, char **ports, const struct marker *m, const volatile sig_atomic_t *stop)
{
	static struct ears e;
	int i, ready;

	fast_open();
	if (open_ears(&e, nports, ports))
		return 1;
	printf("# ready\n");
	fflush(stdout);
	for (;;) {
		ready = poll(e.p, e.n, *stop ? 0 : 100);
		if (ready <= 0 && *stop)
			break;
		for (i = 0; ready > 0 && i < e.n; i++)
			if (e.p[i].revents & POLLIN)
				hear(&e, i, m);
	}
	printf("heard");
	for (i = 0; i < H_MAX; i++)
		printf(" %s4 %llu %s6 %llu", hear_names[i], e.got[i][0], hear_names[i],
		       e.got[i][1]);
	printf(" marked %llu bytes %llu\n", e.marked, e.bytes);
	return 0;
}
