/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel's own BTF has of IPsec in network devices. */
#ifndef BWL_KERNEL_HAS_H
#define BWL_KERNEL_HAS_H

#include <stdbool.h>

/*
 * What programs are told of the kernel's own BTF. They do not ask by CO-RE: for a type that is not
 * there libbpf looks through the BTF of all modules, which takes CAP_SYS_ADMIN.
 */
struct bwl_kernel_has {
	bool sa_of_packet;   /* the SA by which a device decrypted it (bpf/lib/inbound.h) */
	bool policy_offload; /* packet offload of policies (bpf/lib/offload.h) */
};
void bwl_kernel_ask(struct bwl_kernel_has *ret);

#endif
