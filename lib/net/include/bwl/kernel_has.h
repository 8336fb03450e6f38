/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel's own BTF says about IPsec in network devices. */
#ifndef BWL_KERNEL_HAS_H
#define BWL_KERNEL_HAS_H

#include <stdbool.h>

/*
 * Features of the kernel's own BTF, passed to programs. They do not use CO-RE for this: for a
 * missing type libbpf searches the BTF of all modules, which takes CAP_SYS_ADMIN.
 */
struct bwl_kernel_has {
	bool sa_of_packet;   /* the SA by which a device decrypted it (bpf/lib/inbound.h) */
	bool policy_offload; /* packet offload of policies (bpf/lib/offload.h) */
};
void bwl_kernel_ask(struct bwl_kernel_has *ret);

#endif
