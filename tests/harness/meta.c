// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Forged metadata as XDP hands it to TC (bpf/lib/handover.h), from a host that knows everything:
 *
 *   bwl-meta PIN_DIR IN OUT PEER PORT SPOILT
 *
 * Frames that arrive at IN get metadata for host port PORT (a port id) and PEER, and go into OUT.
 * SPOILT is one of key, generation, edits, slot, port, or none. Ends with standard input.
 *
 *   bwl-meta look DEV
 *
 * Counts the frames that arrive at DEV until standard input ends, those that have metadata, and
 * those whose metadata has a key.
 */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/libbpf.h>
#include "bwl/model.h"
#include "meta.skel.h"

/* As in bpf/lib/handover.h, which only BPF programs can include. */
struct handover {
	__u64 key;
	__u32 generation, edits, id;
	__u16 slot, port;
};
_Static_assert(sizeof(struct handover) == sizeof(((struct meta__rodata *)0)->meta_bytes),
	       "meta.bpf.c pushes another one");

static int fill(const char *dir, const char *peer, unsigned port, const char *spoilt,
		struct handover *h)
{
	struct bwl_err e = { 0 };
	struct bwl_view v;

	if (bwl_view_open(dir, false, &v, &e) || !v.has_gen) {
		fprintf(stderr, "bwl-meta: %s\n", e.code ? e.text : "no policy");
		return 1;
	}
	*h = (struct handover){
		.key = ((__u64)v.pins->ctl->tag << 32 | (__u32)v.pins->ctl->attached_ns) + 1,
		.generation = v.pins->ctl->generation,
		.edits = v.pins->ctl->edits,
		.id = bwl_peer_id(v.pins, &v.gen, peer),
		.slot = (__u16)bwl_active_slot(v.pins),
		.port = (__u16)port,
	};
	bwl_view_close(&v);
	h->key ^= !strcmp(spoilt, "key");
	h->generation += !strcmp(spoilt, "generation");
	h->edits -= !strcmp(spoilt, "edits");
	h->slot ^= !strcmp(spoilt, "slot");
	h->port ^= !strcmp(spoilt, "port");
	return h->id ? 0 : 1;
}

static void until_told(void)
{
	char c;

	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
}

static int look(const char *dev)
{
	DECLARE_LIBBPF_OPTS(bpf_tc_hook, hook, .ifindex = (int)if_nametoindex(dev),
			    .attach_point = BPF_TC_INGRESS);
	DECLARE_LIBBPF_OPTS(bpf_tc_opts, opts);
	struct meta *s = meta__open_and_load();
	int r;

	if (!s)
		return 1;
	opts.prog_fd = bpf_program__fd(s->progs.meta_look);
	r = bpf_tc_hook_create(&hook);
	if ((r && r != -EEXIST) || bpf_tc_attach(&hook, &opts)) {
		perror("bwl-meta");
		meta__destroy(s);
		return 1;
	}
	until_told();
	printf("frames %llu with %llu keyed %llu\n", (unsigned long long)s->bss->look_frames,
	       (unsigned long long)s->bss->look_with, (unsigned long long)s->bss->look_keyed);
	hook.attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS; /* removes the qdisc, too */
	bpf_tc_hook_destroy(&hook);
	meta__destroy(s);
	return 0;
}

int main(int argc, char **argv)
{
	struct handover h;
	struct bpf_link *link;
	struct meta *s;
	int in, out;

	if (argc == 3 && !strcmp(argv[1], "look"))
		return look(argv[2]);
	if (argc != 7) {
		fputs("usage: bwl-meta PIN_DIR IN OUT PEER PORT SPOILT | look DEV\n", stderr);
		return 2;
	}
	in = (int)if_nametoindex(argv[2]);
	out = (int)if_nametoindex(argv[3]);
	if (!in || !out || fill(argv[1], argv[4], (unsigned)atoi(argv[5]), argv[6], &h))
		return 1;
	s = meta__open();
	if (!s)
		return 1;
	s->rodata->meta_out = (__u32)out;
	memcpy((void *)s->rodata->meta_bytes, &h, sizeof(h));
	link = meta__load(s) ? NULL : bpf_program__attach_xdp(s->progs.meta_push, in);
	if (!link) {
		perror("bwl-meta");
		meta__destroy(s);
		return 1;
	}
	until_told();
	bpf_link__destroy(link);
	meta__destroy(s);
	return 0;
}
