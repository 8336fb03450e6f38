// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See capture.h. Each device is opened twice, once for each direction: on Ethernet libpcap does not
 * tell in which direction a frame went. The kernel ends everything with the process.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <pcap/pcap.h>
#include <bwl/clock.h>
#include "capture.h"
#include "headers.h"
#include "pcapng.h"

#define MS 1000000ULL
#define LOOK_MS 100
#define BATCH 256
#define BUFFER (4 << 20) /* bytes of each kernel buffer */

struct end {
	pcap_t *pcap;
	uint32_t interface;
	enum pcapng_way way;
	struct tap *tap;
	FILE *file;
};

static int failed(const struct end *x, const char *device, const char *what, struct bwl_err *e)
{
	bwl_fail(e, EPERM, "cannot capture on %s: %s: %s", device, what, pcap_geterr(x->pcap));
	return bwl_hint(e, "as root, on the DPU");
}

static int set_filter(const struct end *x, const struct tap *t, const char *device,
		      struct bwl_err *e)
{
	struct bpf_program p;
	int r = 0;

	if (pcap_compile(x->pcap, &p, t->filter, 1, PCAP_NETMASK_UNKNOWN))
		return failed(x, device, "filter", e);
	if (pcap_setfilter(x->pcap, &p))
		r = failed(x, device, "filter", e);
	pcap_freecode(&p);
	return r;
}

static int open_end(struct end *x, const char *device, struct bwl_err *e)
{
	char why[PCAP_ERRBUF_SIZE] = "";

	x->pcap = pcap_create(device, why);
	if (!x->pcap)
		return bwl_fail(e, ENODEV, "cannot capture on %s: %s", device, why);
	/* TAP_SNAP bytes of each frame: which of them are headers is found later */
	pcap_set_snaplen(x->pcap, TAP_SNAP);
	pcap_set_timeout(x->pcap, LOOK_MS);
	pcap_set_buffer_size(x->pcap, BUFFER);
	pcap_set_tstamp_precision(x->pcap, PCAP_TSTAMP_PRECISION_NANO);
	if (pcap_activate(x->pcap) < 0)
		return failed(x, device, "open", e);
	if (pcap_datalink(x->pcap) != DLT_EN10MB)
		return bwl_fail(e, EPROTONOSUPPORT, "%s is not an Ethernet device", device);
	if (pcap_setdirection(x->pcap, x->way == PCAPNG_IN ? PCAP_D_IN : PCAP_D_OUT))
		return failed(x, device, "direction", e);
	if (pcap_setnonblock(x->pcap, 1, why))
		return failed(x, device, "open", e);
	return set_filter(x, x->tap, device, e);
}

static void take(u_char *arg, const struct pcap_pkthdr *h, const u_char *at)
{
	struct end *x = (struct end *)(void *)arg;
	struct tap *t = x->tap;
	uint32_t n = (uint32_t)tap_headers(at, h->caplen);

	/* A block has 52 more bytes. */
	if (t->bytes + n + 52 > t->most_bytes) {
		t->is_full = true;
		return;
	}
	/* tv_usec is in nanoseconds, as requested */
	pcapng_packet(x->file, x->interface,
		      (uint64_t)h->ts.tv_sec * 1000000000 + (uint64_t)h->ts.tv_usec, x->way, at, n,
		      h->len);
	t->frames++;
	t->bytes += n + 52;
}

static int loop(struct tap *t, struct end *x, size_t n, FILE *f, struct bwl_err *e)
{
	struct pollfd p[2 * TAP_DEVICES_MAX];

	for (size_t i = 0; i < n; i++)
		p[i] = (struct pollfd){ .fd = pcap_get_selectable_fd(x[i].pcap), .events = POLLIN };
	while (!*t->stopped && !t->is_full) {
		uint64_t now_ns = bwl_now_ns();

		if (now_ns >= t->end_ns)
			break;
		poll(p, n,
		     (int)((t->end_ns - now_ns) / MS < LOOK_MS ? (t->end_ns - now_ns) / MS + 1
							       : LOOK_MS));
		for (size_t i = 0; i < n; i++)
			if (pcap_dispatch(x[i].pcap, BATCH, take, (u_char *)&x[i]) == PCAP_ERROR)
				return bwl_fail(e, EIO, "the capture ended: %s",
						pcap_geterr(x[i].pcap));
		if (fflush(f))
			return bwl_fail(e, errno, "cannot write: %s", strerror(errno));
	}
	return 0;
}

static void put_statistics(struct tap *t, struct end *x, size_t ndevices, FILE *f)
{
	struct timespec now;
	struct pcap_stat s;

	clock_gettime(CLOCK_REALTIME, &now);
	for (size_t i = 0; i < ndevices; i++) {
		uint64_t seen = 0, lost = 0;

		for (unsigned k = 0; k < 2; k++) {
			if (pcap_stats(x[2 * i + k].pcap, &s))
				continue;
			seen += s.ps_recv;
			lost += s.ps_drop;
		}
		pcapng_statistics(f, (uint32_t)i,
				  (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec, seen,
				  lost);
		t->lost += lost;
	}
}

int tap_run(struct tap *t, FILE *f, void (*began)(void *arg), void *arg, struct bwl_err *e)
{
	struct end x[2 * TAP_DEVICES_MAX] = { 0 };
	size_t n = 2 * t->ndevices;
	int r = 0;

	for (size_t i = 0; !r && i < n; i++) {
		x[i] = (struct end){ .interface = (uint32_t)(i / 2),
				     .way = i % 2 ? PCAPNG_OUT : PCAPNG_IN,
				     .tap = t,
				     .file = f };
		r = open_end(&x[i], t->device[i / 2], e);
	}
	if (!r) {
		began(arg);
		pcapng_section(f, t->program, t->comment);
		for (size_t i = 0; i < t->ndevices; i++)
			pcapng_interface(f, t->device[i], t->filter, TAP_SNAP);
		r = loop(t, x, n, f, e);
		put_statistics(t, x, t->ndevices, f);
		if (fflush(f) && !r)
			r = bwl_fail(e, errno, "cannot write: %s", strerror(errno));
	}
	for (size_t i = 0; i < n; i++)
		if (x[i].pcap)
			pcap_close(x[i].pcap);
	return r;
}
