// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * corpus_send FRAMES.PCAP DEV: sends every frame of the file out of DEV unchanged, slowly enough
 * for the ring at the other end. Prints "sent FRAMES BYTES refused FRAMES": frames that the
 * device's MTU or the kernel refuses could not have been sent by anybody.
 */
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#define FRAME_MAX 65535
#define BATCH 32 /* a veth's ring holds 256 */

int main(int argc, char **argv)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET };
	const struct timespec nap = { .tv_nsec = 1000000 };
	unsigned long sent = 0, refused = 0;
	static uint8_t data[FRAME_MAX];
	unsigned long long bytes = 0;
	uint32_t rec[4];
	FILE *f;
	int fd;

	if (argc != 3) {
		fprintf(stderr, "usage: corpus_send FRAMES.PCAP DEV\n");
		return 2;
	}
	f = fopen(argv[1], "re");
	fd = socket(AF_PACKET, SOCK_RAW, 0);
	to.sll_ifindex = (int)if_nametoindex(argv[2]);
	if (!f || fd < 0 || !to.sll_ifindex) {
		perror("corpus_send");
		return 1;
	}
	fseek(f, 24, SEEK_SET);
	while (fread(rec, sizeof(rec), 1, f) == 1) {
		if (rec[2] > FRAME_MAX || fread(data, 1, rec[2], f) != rec[2])
			return 1;
		if (sendto(fd, data, rec[2], 0, (struct sockaddr *)&to, sizeof(to)) < 0) {
			refused++;
			continue;
		}
		bytes += rec[2];
		if (++sent % BATCH == 0)
			nanosleep(&nap, NULL);
	}
	printf("sent %lu %llu refused %lu\n", sent, bytes, refused);
	return 0;
}
