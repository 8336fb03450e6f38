// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From a sign of tampering to the closed map:
 *
 *   bwl-closed PIN_DIR NETNS down DEVICE | write FILE | send ADDRESS
 *
 * Gives the sign in the namespace and waits until every grant is revoked or clamped,
 * at most 30 s. Prints how long that took, in ns. Exit 1: it did not happen.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "bwl/netdev.h"
#include "bwl/tables.h"

#define PATIENCE_NS 30000000000ULL
#define RETRY_NS 2000000000ULL

static int put(const char *file, const char *text)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC), r = fd < 0 || pwrite(fd, text, 2, 0) != 2;

	if (fd >= 0)
		close(fd);
	return r;
}

static int give(const char *sign, const char *what)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(9) };
	struct bwl_netdev d;
	int fd;

	if (!strcmp(sign, "down"))
		return bwl_netdev_get(what, &d, NULL) || bwl_netdev_set_up(d.ifindex, false, NULL);
	if (!strcmp(sign, "write"))
		return put(what, "1\n");
	if (strcmp(sign, "send") || inet_pton(AF_INET, what, &to.sin_addr) != 1)
		return 1;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return 1;
	/* may fail once everything is stopped */
	sendto(fd, "", 1, 0, (struct sockaddr *)&to, sizeof(to));
	close(fd);
	return 0;
}

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec =
						50000 }; /* so that the agent may run on this CPU */
	struct timespec rest = { .tv_sec = 1 };
	int r = 1;
	struct bwl_err e = { 0 };
	struct bwl_pins *p;
	uint64_t begun, start;
	uint32_t was;
	int ns;

	if (argc != 5) {
		fputs("usage: bwl-closed PIN_DIR NETNS down DEVICE | write FILE | send ADDRESS\n",
		      stderr);
		return 2;
	}
	ns = open(argv[2], O_RDONLY | O_CLOEXEC);
	if (ns < 0 || setns(ns, CLONE_NEWNET) || bwl_pins_open(argv[1], true, &p, &e)) {
		fprintf(stderr, "bwl-closed: %s\n", e.code ? e.text : argv[2]);
		return 1;
	}
	was = __atomic_load_n(&p->ctl->revoked_all, __ATOMIC_SEQ_CST);
	begun = start = bwl_now_ns();
	if (give(argv[3], argv[4])) {
		perror("bwl-closed");
		begun = 0;
	}
	while (r && bwl_now_ns() - begun < PATIENCE_NS) {
		if (!strcmp(argv[3], "write") && bwl_now_ns() - start > RETRY_NS) {
			/* the sensor's resting value was not read in between: wait longer */
			put(argv[4], "0\n");
			nanosleep(&rest, NULL);
			rest.tv_sec++;
			start = bwl_now_ns();
			put(argv[4], "1\n");
		}
		if (__atomic_load_n(&p->ctl->revoked_all, __ATOMIC_SEQ_CST) != was ||
		    bwl_is_clamped(p)) {
			printf("%ju\n", (uintmax_t)(bwl_now_ns() - start));
			r = 0;
		}
		nanosleep(&pause, NULL);
	}
	bwl_pins_close(p);
	close(ns);
	return r;
}
