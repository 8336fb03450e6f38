// SPDX-License-Identifier: GPL-2.0-or-later
/* See rig.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bwl/inner.h>
#include "rig.h"

static int quiet(enum libbpf_print_level level, const char *fmt, va_list args)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, fmt, args) : 0;
}

/* What bwlimit-load writes before anything can be attached. */
static int first_words(struct rig *r, const struct bwl_schema *schema)
{
	struct bwl_ctl ctl = {
		.sched = { { BWL_NO_SLOT, BWL_NO_SLOT, BWL_NEVER_NS } },
		.tag = 0x62776c31,
		.fresh_volume = 1,
		.drill = 1,
		.attached_ns = bwl_now_ns(),
	};
	struct bwl_dev host = {
		.ifindex = 1, .mtu = 1500, .kind = BWL_PORT_HOST, .name = RIG_HOST_DEV
	};
	struct bwl_dev up = {
		.ifindex = 2, .mtu = 1500, .kind = BWL_PORT_UPLINK, .name = RIG_UPLINK_DEV
	};
	__u32 zero = RIG_HOST_PORT, one = RIG_UPLINK_PORT, lo = 1, port = RIG_HOST_PORT + 1;

#define PUT(map, key, value)                                                                       \
	bpf_map__update_elem(bpf_object__find_map_by_name(r->obj, map), key, sizeof(__u32), value, \
			     sizeof(*(value)), 0)
	return PUT("bwl_schema_v1", &zero, schema) || PUT("bwl_ctl_v1", &zero, &ctl) ||
	       PUT("bwl_dev_v1", &zero, &host) || PUT("bwl_dev_v1", &one, &up) ||
	       PUT("bwl_ifport_v1", &lo, &port);
#undef PUT
}

static int pin_maps(struct rig *r)
{
	struct bpf_map *m;
	char path[160];
	int i;

	snprintf(path, sizeof(path), "%s/maps", r->dir);
	if (mkdir(r->dir, 0700) || mkdir(path, 0700))
		return -errno;
	for (i = 0; i < _BWL_PIN_MAX; i++) {
		m = bpf_object__find_map_by_name(r->obj, bwl_pin_name(i));
		snprintf(path, sizeof(path), "%s/maps/%s", r->dir, bwl_pin_name(i));
		if (!m || bpf_map__pin(m, path))
			return -errno;
	}
	return 0;
}

static bool wanted(const char *program, unsigned programs)
{
	return (programs & RIG_TC_HOST && !strcmp(program, "bwl_tc_host")) ||
	       (programs & RIG_XDP_HOST && !strcmp(program, "bwl_xdp_host"));
}

int rig_up(struct rig *r, const void *elf, size_t elf_size, const struct rig_size *n,
	   struct bwl_err *e)
{
	const struct bwl_schema schema = bwl_schema_new(n->peers, n->extras, n->windows);
	static unsigned serial;
	struct bpf_program *p;
	int err;

	*r = (struct rig){ 0 };
	libbpf_set_print(quiet);
	snprintf(r->dir, sizeof(r->dir), "/sys/fs/bpf/bwl-rig-%d-%u", getpid(), serial++);
	r->obj = bpf_object__open_mem(elf, elf_size, NULL);
	if (!r->obj)
		return bwl_fail(e, errno, "cannot open the BPF object: %s", strerror(errno));
	err = bwl_pins_size(r->obj, &schema);
	bpf_object__for_each_program(p, r->obj)
		bpf_program__set_autoload(p, wanted(bpf_program__name(p), n->programs));
	if (!err)
		err = bpf_object__load(r->obj);
	if (!err)
		err = first_words(r, &schema);
	if (!err)
		err = pin_maps(r);
	if (err) {
		rig_down(r);
		return bwl_fail(e, -err, "cannot load the programs: %s", strerror(-err));
	}
	err = bwl_pins_open(r->dir, true, &r->pins, e);
	if (err)
		rig_down(r);
	return err;
}

void rig_down(struct rig *r)
{
	char path[160];
	int i;

	bwl_pins_close(r->pins);
	bpf_object__close(r->obj);
	for (i = 0; i < _BWL_PIN_MAX; i++) {
		snprintf(path, sizeof(path), "%s/maps/%s", r->dir, bwl_pin_name(i));
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/maps", r->dir);
	rmdir(path);
	bwl_inner_forget(r->dir);
	rmdir(r->dir);
	*r = (struct rig){ 0 };
}

int rig_prog(const struct rig *r, const char *name)
{
	return bpf_program__fd(bpf_object__find_program_by_name(r->obj, name));
}

struct bwl_policy *rig_policy(void)
{
	struct bwl_policy *p = bwl_policy_new();
	struct bwl_pol_port *port = calloc(1, sizeof(*port));

	p->uplinks = calloc(1, sizeof(*p->uplinks));
	if (!port || !p->uplinks)
		abort();
	port->sources = calloc(2, sizeof(*port->sources));
	if (!port->sources)
		abort();
	snprintf(p->node, sizeof(p->node), "rig");
	snprintf(p->uplinks[0], sizeof(p->uplinks[0]), RIG_UPLINK_DEV);
	p->nuplinks = 1;
	snprintf(port->name, sizeof(port->name), RIG_HOST_DEV);
	port->sources[0].family = 4;
	port->sources[1].family = 6;
	port->nsources = 2;
	p->ports = port;
	p->nports = 1;
	p->heartbeat_none = true;
	p->min_charge = 64;
	return p;
}

static struct bwl_lim plenty(void)
{
	return (struct bwl_lim){ .present = true, .rate_bps = 10000000000000ULL, .burst = 1 << 30 };
}

void rig_add_peers(struct bwl_policy *p, unsigned n, unsigned what)
{
	struct bwl_pol_peer *q;
	unsigned i;

	p->node_limit = plenty();
	p->ports[0].limit = plenty();
	p->zones = calloc(1, sizeof(*p->zones));
	if (!p->zones)
		abort();
	p->nzones = 1;
	snprintf(p->zones[0].name, BWL_NAME_LEN, "mesh");
	p->zones[0].limit = plenty();
	for (i = 0; i < n; i++) {
		__be32 addr = htonl(RIG_FIRST_DEST + i), via = htonl(0xc00002fe);

		q = bwl_policy_add_peer(p);
		snprintf(q->name, sizeof(q->name), "peer-%u", i);
		snprintf(q->zone, sizeof(q->zone), "mesh");
		q->addresses = calloc(1, sizeof(*q->addresses));
		if (!q->addresses)
			abort();
		q->naddresses = 1;
		q->addresses[0] = (struct bwl_pfx){ .family = 4, .len = 32 };
		memcpy(q->addresses[0].addr, &addr, 4);
		q->grant = plenty();
		if (what & RIG_VOLUME) {
			q->grant.has_volume = true;
			q->grant.volume = 1ULL << 60;
			q->grant.window_ns = 86400ULL * 1000000000;
		}
		if (what & RIG_CLASS)
			q->class_[BWL_C_ROCEV2] = plenty();
		q->expiry_ns = BWL_NEVER_NS;
		q->mode = BWL_MODE_POLICE;
		q->path = BWL_PATH_CLEAR;
		q->has_via4 = true;
		memcpy(q->via4, &via, 4);
	}
}

void rig_frame(__u8 f[RIG_FRAME_BYTES], unsigned dest)
{
	struct { /* packed: an IP header behind Ethernet is not aligned */
		struct ethhdr eth;
		struct iphdr ip;
		struct udphdr udp;
	} __attribute__((packed)) h = {
		.eth = { .h_dest = { 2, 0, 0, 0, 0, 2 },
			 .h_source = { 2, 0, 0, 0, 0, 1 },
			 .h_proto = htons(ETH_P_IP) },
		.ip = { .version = 4,
			.ihl = 5,
			.ttl = 64,
			.protocol = IPPROTO_UDP,
			.tot_len = htons(RIG_FRAME_BYTES - sizeof(struct ethhdr)),
			.saddr = htonl(0x0a070002),
			.daddr = htonl(RIG_FIRST_DEST + dest) },
		.udp = { .source = htons(49152),
			 .dest = htons(4791),
			 .len = htons(RIG_FRAME_BYTES - sizeof(struct ethhdr) -
				      sizeof(struct iphdr)) },
	};

	memset(f, 0, RIG_FRAME_BYTES);
	memcpy(f, &h, sizeof(h));
}

void rig_die(const struct bwl_err *e)
{
	fprintf(stderr, "%s\n%s%s%s", e->text, e->hint[0] ? "  " : "", e->hint,
		e->hint[0] ? "\n" : "");
	exit(1);
}
