// SPDX-License-Identifier: GPL-2.0-or-later
/* Devices, policies and nftables' table: only those that the selected rows need. */
#include <errno.h>
#include <linux/if_link.h>
#include <stdio.h>
#include <string.h>
#include "bench/e2e/e2e.h"
#include "bench/veth/veth.h"
#include "bwlimit.skel.h"
#include "e2e_source.skel.h"

/* Rates that nothing reaches: only packets that pass are measured. */
static int make_nft(unsigned dests)
{
	const char *limit = "limit rate over 4000 mbytes/second burst 1000 mbytes";
	FILE *f = popen("nft -f -", "w");

	if (!f)
		return -errno;
	fprintf(f,
		"table netdev bench {\n"
		" set full { type ipv4_addr; size %u; flags dynamic; }\n"
		" set alone { type ipv4_addr; size %u; flags dynamic; }\n"
		" chain full { type filter hook ingress device r-%s priority 0; policy drop;\n"
		"  ip saddr != 10.7.0.0/24 counter drop\n"
		"  add @full { ip daddr %s counter } counter drop\n"
		"  %s counter drop\n" /* zone */
		"  %s counter drop\n" /* port */
		"  %s counter drop\n" /* node */
		"  fwd to " BENCH_SINK "\n }\n"
		" chain alone { type filter hook ingress device r-%s priority 0; policy drop;\n"
		"  add @alone { ip daddr %s } counter drop\n"
		"  fwd to " BENCH_SINK "\n }\n}\n",
		dests + 1, dests + 1, e2e_rows[NFT].dev, limit, limit, limit, limit,
		e2e_rows[NFT_LIMIT].dev, limit);
	return pclose(f) ? -EINVAL : 0;
}

static int make_devices(struct e2e *b)
{
	int i, r = bench_net_up();

	for (i = 0; !r && i < _ROW_MAX; i++)
		r = b->wanted[i] ? bench_veth_add(e2e_rows[i].dev, 1) : 0;
	if (!r && b->wanted[XDP_BARE])
		r = bench_xdp_sink_add(1);
	return r || !b->wanted[NFT] ? r : make_nft(b->most);
}

/* Makes one policy. uplink: the device of its next hops. */
static int make_rig(struct e2e *b, struct rig *rig, unsigned kind, unsigned uplink,
		    struct bwl_err *e)
{
	const struct rig_peers peers = { .n = b->most, .kind = kind, .mode = BWL_MODE_POLICE };
	struct rig_size size = { .peers = b->most + 1, .extras = 1024, .windows = 16 };
	struct bwl_policy *pol;
	size_t elf_size;
	const void *elf = bwlimit__elf_bytes(&elf_size);
	int r;

	size.programs = kind & RIG_OFFLOAD ? RIG_XDP_HOST : RIG_TC_HOST | RIG_XDP_HOST;
	r = rig_up(rig, elf, elf_size, &size, e);
	if (r)
		return r;
	rig->pins->dev[RIG_UPLINK_PORT].ifindex = uplink;
	pol = rig_policy();
	rig_add_peers(pol, &peers);
	r = bwl_publish(rig->pins, pol, NULL, NULL, e);
	bwl_policy_free(pol);
	return r;
}

/*
 * In generic mode bwlimit-load loads XDP without path offload; the copy for native mode, which runs
 * here, reads one more word.
 */
static int attach(struct e2e *b, enum e2e_row row)
{
	const char *dev = e2e_rows[row].dev;
	struct rig *rig = e2e_rig(b, row);
	int r = 0;

	if (row == BARE)
		return bench_attach(dev, bpf_program__fd(b->src->progs.bare_forward),
				    BENCH_TCX_INGRESS, 0);
	if (row == XDP_BARE)
		return bench_attach(dev, bpf_program__fd(b->src->progs.bare_redirect), BPF_XDP,
				    XDP_FLAGS_DRV_MODE);
	if (!e2e_rows[row].limiter)
		return 0;
	rig->pins->ifport[bench_ifindex('r', dev)].v = RIG_HOST_PORT + 1;
	if (row != OFFLOAD)
		r = bench_attach(dev, rig_prog(rig, "bwl_tc_host"), BENCH_TCX_INGRESS, 0);
	if (!r && row != BWLIMIT)
		r = bench_attach(dev, rig_prog(rig, "bwl_xdp_host"), BPF_XDP,
				 row == BWLIMIT_GENERIC ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE);
	return r;
}

int e2e_up(struct e2e *b, struct bwl_err *e)
{
	int r = make_devices(b), i;

	if (r)
		return bwl_fail(e, -r, "cannot make veth pairs and an nftables table: %s",
				strerror(-r));
	if (b->wanted[BWLIMIT] || b->wanted[BWLIMIT_XDP] || b->wanted[BWLIMIT_GENERIC])
		r = make_rig(b, &b->rig, 0, bench_sink_ifindex(), e);
	if (!r && b->wanted[OFFLOAD])
		r = make_rig(b, &b->offload, RIG_OFFLOAD, bench_xdp_sink_ifindex(), e);
	if (r)
		return r;
	if (b->wanted[OFFLOAD])
		rig_offload(&b->offload);
	b->src = e2e_source__open_and_load();
	if (!b->src)
		return bwl_fail(e, errno, "cannot load the source: %s", strerror(errno));
	b->src->bss->first = RIG_DEST(0, 0U);
	b->src->bss->sink_ifindex = bench_sink_ifindex();
	b->src->bss->xdp_sink_ifindex = b->wanted[XDP_BARE] ? bench_xdp_sink_ifindex() : 0;
	for (i = 0; !r && i < _ROW_MAX; i++)
		r = b->wanted[i] ? attach(b, i) : 0;
	return r ? bwl_fail(e, -r, "cannot attach by tcx or XDP: %s", strerror(-r)) : 0;
}

void e2e_down(struct e2e *b)
{
	e2e_source__destroy(b->src);
	if (b->rig.obj)
		rig_down(&b->rig);
	if (b->offload.obj)
		rig_down(&b->offload);
}
