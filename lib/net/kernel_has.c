// SPDX-License-Identifier: GPL-2.0-or-later
/* Features according to the kernel's own BTF: see bwl/kernel_has.h. */
#include <bpf/btf.h>
#include <stdint.h>
#include <string.h>
#include "bwl/kernel_has.h"

static bool has_member(const struct btf *btf, const char *type, const char *member)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(btf, btf_members(t)[i].name_off), member))
			return true;
	return false;
}

void bwl_kernel_ask(struct bwl_kernel_has *ret)
{
	struct btf *btf = btf__load_vmlinux_btf();

	*ret = (struct bwl_kernel_has){ 0 };
	if (!btf)
		return;
	/* Since 6.8; it is used as that version's mark. */
	ret->sa_of_packet = btf__find_by_name_kind(btf, "bpf_xfrm_state_opts", BTF_KIND_STRUCT) > 0;
	/* Since 6.2. */
	ret->policy_offload = has_member(btf, "xfrm_policy", "xdo");
	btf__free(btf);
}
