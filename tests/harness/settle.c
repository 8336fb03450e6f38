// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Waits until what was sent before has been received, on a machine of any speed.
 *
 * Between network namespaces a frame is never on a wire: it waits in a queue of the CPU that sent
 * it, for that CPU's next round of NET_RX, and each further hop is a round more. A datagram by the
 * loopback device waits there, too, behind all that was scheduled before. When it arrives one round
 * more has passed. A round takes up to 64 frames of a queue; a queue has 256; a lab has four hops,
 * and neighbours that are asked first.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>
#include "count.h"
#include "settle.h"

#define ROUNDS 64
#define OVER 3      /* times over all CPUs: a frame may go on where another one's queue is read */
#define LONG 120000 /* ms: something is broken */

static int open_own(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(to);
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&to, sizeof(to)) ||
	    getsockname(fd, (struct sockaddr *)&to, &len) ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return -1;
	return fd;
}

static int rounds(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char c = 0;

	for (int i = 0; i < ROUNDS; i++)
		if (send(fd, &c, 1, 0) != 1 || poll(&p, 1, LONG) != 1 || recv(fd, &c, 1, 0) != 1)
			return -1;
	return 0;
}

int settle(void)
{
	static cpu_set_t all, one;
	int fd = open_own(), cpu, i;

	if (fd < 0 || sched_getaffinity(0, sizeof(all), &all))
		return frames_die("settle");
	for (i = 0; i < OVER; i++) {
		for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
			if (!CPU_ISSET(cpu, &all))
				continue;
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			if (sched_setaffinity(0, sizeof(one), &one) || rounds(fd))
				return frames_die("settle");
		}
	}
	close(fd);
	return 0;
}
