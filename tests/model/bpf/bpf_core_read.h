/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In place of libbpf's: a kernel with every helper, whose packets have no deferred checksum. */
#ifndef BWL_TEST_BPF_CORE_READ_H
#define BWL_TEST_BPF_CORE_READ_H

#define bpf_core_field_exists(type, field) 0
#define bpf_core_enum_value_exists(type, value) 1
#define bpf_core_field_offset(type, field) 0
#define BPF_CORE_READ_BITFIELD_PROBED(p, field) ((void)(p), 0)

#endif
