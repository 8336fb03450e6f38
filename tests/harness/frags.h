/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Multi-buffer XDP (kernel 5.18) if the kernel has it; otherwise the same programs without it. */
#ifndef BWL_TEST_FRAGS_H
#define BWL_TEST_FRAGS_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <stdbool.h>
#include <unistd.h>

static inline bool frags_taken(void)
{
	const struct bpf_insn pass[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0, .imm = 2 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, o, .prog_flags = BPF_F_XDP_HAS_FRAGS);
	int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "pass", "GPL", pass, 2, &o);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Call first: libbpf's own handler of the section sets the flag at load, whatever was asked for. */
static inline void frags_are_asked_for(void)
{
	libbpf_register_prog_handler("xdp.frags", BPF_PROG_TYPE_XDP, BPF_XDP, NULL);
}

/* After it is opened, before it is loaded. */
static inline void frags_set(struct bpf_object *obj, bool frags)
{
	struct bpf_program *p;

	bpf_object__for_each_program(p, obj) if (bpf_program__type(p) == BPF_PROG_TYPE_XDP)
		bpf_program__set_flags(p, frags ? BPF_F_XDP_HAS_FRAGS : 0);
}

#endif
