// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts instructions per packet from a host port to ESP, in a guest where one instruction takes
 * one nanosecond (vm-testbed/run --icount): a source of frames, and the programs that everything is
 * compared with (plain.bpf.c). tests/vm/92_esp_cost.sh puts them together.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/if_link.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench/machine.h"
#include "bench/rig.h"
#include "bench/stats.h"
#include "bwl/help.h"
#include "plain.skel.h"
#include "tests/harness/frame.h"

#define ROUNDS 31
#define PACKETS 256    /* per round: one ring of a veth, and shorter than a timer tick of 4 ms */
#define BATCH 64       /* one poll of NAPI */
#define TCX_INGRESS 46 /* enum bpf_attach_type from kernel 6.6 */
#define TCX_EGRESS 47

static const char usage[] =
	"usage: bench-esp load DIR TUNNEL IF-ID NET/LEN   pin the programs in DIR (on a bpffs)\n"
	"       bench-esp attach DIR PROGRAM DEV ingress|egress|xdp   by tcx or native XDP, until DIR/DEV-… is removed\n"
	"       bench-esp run DEV GATEWAY-MAC BYTES SRC DST   frames out of DEV: ns a frame\n"
	"\n"
	"programs: plain_drop plain_host plain_out plain_pass plain_look (XDP)\n"
	"run prints as JSON the median, the mean and the spread of 31 rounds of 256 frames, after one that\n"
	"warms up. tests/vm/92_esp_cost.sh puts it all together (vm-testbed/run --icount 92_esp_cost).\n"
	"\n"
	"examples:\n"
	"  bench-esp run h0 02:00:00:00:01:02 64 10.0.1.2 10.0.2.2 | jq .median\n";

static int fail(const char *what)
{
	fprintf(stderr, "bench-esp: %s: %s\n", what, strerror(errno));
	return 1;
}

static int load(char **argv)
{
	struct plain *p = plain__open();
	char *slash = strchr(argv[3], '/');
	struct in_addr net;
	unsigned len = slash ? (unsigned)atoi(slash + 1) : 33;

	if (slash)
		*slash = 0;
	if (!p || len < 1 || len > 32 || !inet_aton(argv[3], &net)) {
		bwl_help(usage, stderr);
		return 2;
	}
	p->rodata->plain_tunnel = if_nametoindex(argv[1]);
	p->rodata->plain_if_id = (__u32)strtoul(argv[2], NULL, 0);
	p->rodata->plain_mask = htonl(~0U << (32 - len));
	p->rodata->plain_net = net.s_addr & p->rodata->plain_mask;
	if (!p->rodata->plain_tunnel)
		return fail(argv[1]);
	if (plain__load(p) || bpf_object__pin_programs(p->obj, argv[0]))
		return fail("the programs");
	plain__destroy(p);
	return 0;
}

static int attach(char **argv)
{
	char prog[256], pin[256];
	int xdp = !strcmp(argv[3], "xdp"), egress = !strcmp(argv[3], "egress"), fd, link;
	LIBBPF_OPTS(bpf_link_create_opts, native, .flags = XDP_FLAGS_DRV_MODE);

	snprintf(prog, sizeof(prog), "%s/%s", argv[0], argv[1]);
	snprintf(pin, sizeof(pin), "%s/%s-%s", argv[0], argv[2], argv[3]);
	fd = bpf_obj_get(prog);
	if (fd < 0)
		return fail(prog);
	link = xdp ? bpf_link_create(fd, (int)if_nametoindex(argv[2]), BPF_XDP, &native)
		   : bpf_link_create(fd, (int)if_nametoindex(argv[2]),
				     egress ? TCX_EGRESS : TCX_INGRESS, NULL);
	if (link < 0 || bpf_obj_pin(link, pin))
		return fail(pin);
	return 0;
}

static int build(char **argv, struct frame *f)
{
	struct frame_env env = { .own = { 2, 0, 0, 0, 1, 1 } };
	int bytes = atoi(argv[2]), headers = 14 + 20 + 8;
	char words[160], why[160];

	if (bytes < headers || bytes > 2000 || frame_parse_mac(argv[1], env.gateway)) {
		bwl_help(usage, stderr);
		return 2;
	}
	snprintf(words, sizeof(words), "eth ip4 src=%s dst=%s udp dport=9 fill=%d", argv[3],
		 argv[4], bytes - headers);
	if (!frame_build(words, &env, f, why))
		return 0;
	fprintf(stderr, "bench-esp: %s\n", why);
	return 1;
}

/*
 * Live frames are redirected to the device; what follows there runs at the end of each batch,
 * within the time that the kernel reports. (The call itself also waits for RCU.)
 */
static int run(char **argv)
{
	static struct frame f;
	struct plain *skel = plain__open();
	struct xdp_md ctx = { .ingress_ifindex = if_nametoindex(argv[0]) };
	LIBBPF_OPTS(bpf_test_run_opts, o, .ctx_in = &ctx, .ctx_size_in = sizeof(ctx),
		    .repeat = PACKETS, .flags = BPF_F_TEST_XDP_LIVE_FRAMES, .batch_size = BATCH);
	struct bench_spread spread;
	struct bpf_program *p;
	double ns[ROUNDS], sum = 0;
	int i, r = build(argv, &f);

	if (r)
		return r;
	if (!skel || !ctx.ingress_ifindex)
		return fail(argv[0]);
	bpf_object__for_each_program(p, skel->obj)
		bpf_program__set_autoload(p, p == skel->progs.plain_source);
	if (plain__load(skel))
		return fail("the source");
	skel->bss->source_ifindex = ctx.ingress_ifindex;
	memcpy(skel->bss->source_eth, f.data, sizeof(skel->bss->source_eth));
	o.data_in = f.data;
	o.data_size_in = ctx.data_end = (__u32)f.len;
	for (i = -1; i < ROUNDS; i++) {
		if (bpf_prog_test_run_opts(bpf_program__fd(skel->progs.plain_source), &o))
			return fail("live frames");
		if (i >= 0)
			sum += ns[i] = o.duration;
	}
	spread = bench_spread_of(ns, ROUNDS);
	printf("{\"frames\": %d, \"median\": %.0f, \"mean\": %.0f, ", (ROUNDS + 1) * PACKETS,
	       spread.median, sum / ROUNDS);
	bench_spread_json(stdout, "spread", &spread);
	fputs(", ", stdout);
	bench_machine_json(stdout);
	fputs("}\n", stdout);
	plain__destroy(skel);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 6 && !strcmp(argv[1], "load"))
		return load(argv + 2);
	if (argc == 6 && !strcmp(argv[1], "attach"))
		return attach(argv + 2);
	if (argc == 7 && !strcmp(argv[1], "run"))
		return run(argv + 2);
	bwl_help(usage, argc == 2 && !strcmp(argv[1], "--help") ? stdout : stderr);
	return argc == 2 && !strcmp(argv[1], "--help") ? 0 : 2;
}
