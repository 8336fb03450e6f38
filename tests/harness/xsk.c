// SPDX-License-Identifier: GPL-2.0-or-later
/* Uses the kernel's interface only: libxdp would attach its own program. */
#include <errno.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include "xsk.h"

#define CHUNK 4096U
#define RING 64U /* entries, and chunks */

static struct {
	unsigned char *chunks;
	uint32_t *tx_producer, *done_producer, *done_consumer;
	struct xdp_desc *tx;
	uint32_t next;
} x;

static int rings(int fd)
{
	struct xdp_mmap_offsets off;
	socklen_t len = sizeof(off);
	uint32_t n = RING;
	char *tx, *done;

	if (setsockopt(fd, SOL_XDP, XDP_UMEM_FILL_RING, &n, sizeof(n)) ||
	    setsockopt(fd, SOL_XDP, XDP_UMEM_COMPLETION_RING, &n, sizeof(n)) ||
	    setsockopt(fd, SOL_XDP, XDP_TX_RING, &n, sizeof(n)) ||
	    getsockopt(fd, SOL_XDP, XDP_MMAP_OFFSETS, &off, &len))
		return -1;
	tx = mmap(NULL, off.tx.desc + RING * sizeof(struct xdp_desc), PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_POPULATE, fd, XDP_PGOFF_TX_RING);
	done = mmap(NULL, off.cr.desc + RING * sizeof(uint64_t), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_POPULATE, fd, XDP_UMEM_PGOFF_COMPLETION_RING);
	if (tx == MAP_FAILED || done == MAP_FAILED)
		return -1;
	x.tx = (void *)(tx + off.tx.desc);
	x.tx_producer = (void *)(tx + off.tx.producer);
	x.done_producer = (void *)(done + off.cr.producer);
	x.done_consumer = (void *)(done + off.cr.consumer);
	return 0;
}

int xsk_open(const char *dev)
{
	struct sockaddr_xdp at = { .sxdp_family = AF_XDP, .sxdp_flags = XDP_COPY };
	struct xdp_umem_reg umem = { .len = (uint64_t)CHUNK * RING, .chunk_size = CHUNK };
	int fd = socket(AF_XDP, SOCK_RAW, 0);

	at.sxdp_ifindex = if_nametoindex(dev);
	x.chunks = mmap(NULL, umem.len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (fd < 0 || !at.sxdp_ifindex || x.chunks == MAP_FAILED)
		return -1;
	umem.addr = (uintptr_t)x.chunks;
	if (setsockopt(fd, SOL_XDP, XDP_UMEM_REG, &umem, sizeof(umem)) || rings(fd) ||
	    bind(fd, (void *)&at, sizeof(at)))
		return -1;
	return fd;
}

int xsk_send(int fd, const void *frame, size_t len)
{
	uint32_t at = x.next++ % RING;

	if (len > CHUNK) {
		errno = EMSGSIZE;
		return -1;
	}
	memcpy(x.chunks + (size_t)at * CHUNK, frame, len);
	x.tx[at] = (struct xdp_desc){ .addr = (uint64_t)at * CHUNK, .len = (uint32_t)len };
	__atomic_store_n(x.tx_producer, x.next, __ATOMIC_RELEASE);
	while (__atomic_load_n(x.done_producer, __ATOMIC_ACQUIRE) != x.next)
		if (sendto(fd, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 && errno != EAGAIN &&
		    errno != EBUSY)
			return -1;
	__atomic_store_n(x.done_consumer, x.next, __ATOMIC_RELEASE);
	return 0;
}
