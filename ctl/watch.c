// SPDX-License-Identifier: GPL-2.0-or-later
/* `watch`: what the data plane reports through its ring buffer, as it happens. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>
#include <bpf/libbpf.h>
#include "ctl.h"

struct watch {
	struct ctl *c;
	struct bwl_pins *pins;
	uint64_t count, max; /* events printed; 0: no end */
};

static const char *protocol(const struct bwl_event *e, char buf[static 24])
{
	if (e->ethertype != 0x0800 && e->ethertype != 0x86dd) {
		if (e->ethertype == 0x0806)
			return "arp";
		snprintf(buf, 24, "ethertype %#06x", e->ethertype);
		return buf;
	}
	switch (e->proto) {
	case IPPROTO_TCP:
		return "tcp";
	case IPPROTO_UDP:
		return "udp";
	case IPPROTO_ICMP:
		return "icmp";
	case IPPROTO_ICMPV6:
		return "icmpv6";
	default:
		snprintf(buf, 24, "proto %u", e->proto);
		return buf;
	}
}

static void print_json(const struct watch *w, const struct bwl_event *e)
{
	json_t *o = bwl_doc("event");
	char when[BWL_TIME_BUF];

	json_object_set_new(o, "time", json_string(bwl_utc_boot(e->time_ns, when)));
	json_object_set_new(o, "event", json_string(bwl_event_name(e->kind)));
	json_object_update_new(o, bwl_json_packet(w->pins, e));
	bwl_doc_line(o);
}

static void print_human(const struct watch *w, const struct bwl_event *e)
{
	char when[BWL_TIME_BUF], src[BWL_EVENT_ADDRESS], dst[BWL_EVENT_ADDRESS], proto[24],
		name[BWL_NAME_LEN];
	const char *peer = bwl_peer_name(w->pins, e->peer, name);
	bool ports = e->proto == IPPROTO_TCP || e->proto == IPPROTO_UDP;

	bwl_utc_boot(e->time_ns, when);
	printf("%s %-16s %-8s %s ", when, bwl_event_name(e->kind),
	       w->pins->dev[e->port % BWL_MAX_PORTS].name, peer ? peer : "-");
	printf("%s", bwl_event_address(e->saddr, src));
	if (ports)
		printf(" %u", ntohs(e->sport));
	printf(" > %s", bwl_event_address(e->daddr, dst));
	if (ports)
		printf(" %u", ntohs(e->dport));
	printf(" %s %u bytes: %s", protocol(e, proto), e->len, bwl_reason_name(e->reason));
	if (!bwl_reason_is_pass(e->reason))
		printf(" (%s)", bwl_reason_text(e->reason));
	putchar('\n');
	fflush(stdout);
}

static int on_event(void *arg, void *data, size_t len)
{
	struct watch *w = arg;
	struct bwl_event e;

	if (len < sizeof(e) || (w->max && w->count >= w->max))
		return 0;
	memcpy(&e, data, sizeof(e));
	w->count++;
	if (w->c->json)
		print_json(w, &e);
	else
		print_human(w, &e);
	/* stops the batch: what is left stays in the ring for the next reader */
	return w->max && w->count >= w->max ? -ECANCELED : 0;
}

/* The ring has one read position: two readers would each miss what the other saw. */
static int one_reader(struct ctl *c, const struct bwl_pins *p, int *ret_fd)
{
	char path[sizeof(p->dir) + 8];

	snprintf(path, sizeof(path), "%s/maps", p->dir);
	*ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*ret_fd < 0)
		return bwl_fail(&c->err, errno, "cannot open %s: %s", path, strerror(errno));
	if (!flock(*ret_fd, LOCK_EX | LOCK_NB))
		return 0;
	close(*ret_fd);
	bwl_fail(&c->err, EBUSY, "the events are being read already");
	return bwl_hint(
		&c->err,
		"only one program can: bwlimitd logs them (journalctl -u bwlimitd -f); or end the other `watch`");
}

static void print_end(struct watch *w, uint64_t lost)
{
	if (w->c->json)
		bwl_doc_line(json_pack("{s:i, s:s, s:I, s:I}", "version", BWL_JSON_VERSION, "kind",
				       "event-end", "event_count", (json_int_t)w->count,
				       "lost_count", (json_int_t)lost));
	else
		bwl_info("%llu events, %llu lost (over the limit, or nobody read them)",
			 (unsigned long long)w->count, (unsigned long long)lost);
}

/* 0: no --timeout */
static int poll_ring(struct watch *w, struct ring_buffer *rb, uint64_t timeout_ns)
{
	uint64_t end = bwl_now_ns() + timeout_ns, now;
	int ms = 500, r = 0;

	while (!ctl_stopped && r >= 0 && !ferror(stdout)) {
		now = bwl_now_ns();
		if (timeout_ns) {
			if (now >= end)
				break;
			ms = end - now < 500000000 ? (int)((end - now) / 1000000) + 1 : 500;
		}
		r = ring_buffer__poll(rb, ms);
	}
	if (r == -EINTR || r == -ECANCELED)
		r = 0;
	return r < 0 ? bwl_fail(&w->c->err, -r, "cannot read the events: %s", strerror(-r)) : 0;
}

static int watch(struct ctl *c, int argc, char **argv)
{
	const char *count = NULL, *timeout = NULL;
	const struct ctl_opt opts[] = {
		{ "--count", NULL, &count },
		{ "--timeout", NULL, &timeout },
		{ NULL, NULL, NULL },
	};
	uint64_t ns = 0, lost, lost_before = 0, total;
	struct ring_buffer *rb = NULL;
	struct watch w = { .c = c };
	int lock = -1, r;

	r = ctl_only_opts(c, argc, argv, opts);
	if (r)
		return r;
	if (count && ctl_number(c, "a number of events", count, 1000000000, &w.max))
		return CTL_USAGE;
	if (timeout && bwl_parse_time(timeout, &ns, &c->err))
		return CTL_USAGE;
	if (timeout && !ns)
		return ctl_usage(c, "--timeout %.32s: more than nothing", timeout);
	r = bwl_pins_open(c->pin_dir, true, &w.pins, &c->err);
	if (r)
		return r;
	r = one_reader(c, w.pins, &lock);
	if (!r)
		r = bwl_event_lost(w.pins, &lost_before, &total, &c->err);
	if (!r) {
		ctl_catch_signals();
		rb = ring_buffer__new(w.pins->fd[BWL_PIN_event], on_event, &w, NULL);
		r = rb ? poll_ring(&w, rb, ns)
		       : bwl_fail(&c->err, errno, "cannot map the events: %s", strerror(errno));
	}
	if (!r)
		r = bwl_event_lost(w.pins, &lost, &total, &c->err);
	if (!r)
		print_end(&w, lost - lost_before);
	ring_buffer__free(rb);
	if (lock >= 0)
		close(lock);
	bwl_pins_close(w.pins);
	return r;
}

const struct ctl_cmd ctl_watch_cmds[] = {
	{ "watch", NULL, "[--count N] [--timeout TIME]",
	  "Events as they happen: first drops, new destinations, spoofed sources, …",
	  "Events are rate-limited in the data plane; what was lost is said at the end. With --json\n"
	  "one object a line, the last is of kind event-end.\n",
	  watch },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
