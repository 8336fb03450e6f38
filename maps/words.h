/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The words and bounds of a policy that the data plane also uses. Independent of the layout: a
 * program that reads policies and opens no map needs only this header of maps/.
 */
#ifndef BWL_MAPS_WORDS_H
#define BWL_MAPS_WORDS_H

#define BWL_NAME_LEN 32 /* names of peers, zones, ports: 1 to 31 characters and a NUL */

#define BWL_MAX_PORTS 64 /* host ports and uplinks; `from` is a 64-bit mask */
#define BWL_MAX_ZONES 256
#define BWL_MAX_NEXTHOPS 1024
#define BWL_MAX_VLANS 16   /* tags a host port may use */
#define BWL_MAX_SOURCES 32 /* prefixes a host port may send from, per family */

enum bwl_mode { BWL_MODE_POLICE, BWL_MODE_SHAPE, BWL_MODE_MARK, BWL_MODE_MONITOR, _BWL_MODE_MAX };
enum bwl_path { BWL_PATH_CLEAR, BWL_PATH_XFRM, BWL_PATH_OFFLOAD, _BWL_PATH_MAX };

/* Traffic classes. A class is the host's claim: the peer's limit always stands above it. */
#define BWL_CLASSES(X)                                                                             \
	X(OTHER, "other")                                                                          \
	X(ROCEV2, "rocev2")                                                                        \
	X(CNP, "cnp")                                                                              \
	X(NVME_TCP, "nvme-tcp")                                                                    \
	X(NFS, "nfs")                                                                              \
	X(ISCSI, "iscsi")                                                                          \
	X(HTTPS, "https")                                                                          \
	X(SSH, "ssh")                                                                              \
	X(DNS, "dns")                                                                              \
	X(ICMP, "icmp")
enum bwl_class {
#define X(e, name) BWL_C_##e,
	BWL_CLASSES(X)
#undef X
		_BWL_CLASS_MAX
};

/* Underlay control protocols the DPU itself may speak on an uplink. */
#define BWL_CONTROLS(X)                                                                            \
	X(LLDP, "lldp") X(LACP, "lacp") X(BGP, "bgp") X(BFD, "bfd") X(DHCP, "dhcp") X(PTP, "ptp")
enum bwl_control_bit {
#define X(e, name) BWL_CONTROL_##e,
	BWL_CONTROLS(X)
#undef X
		_BWL_CONTROL_MAX
};

#define BWL_NEVER_NS (~0ULL)

#define BWL_MAX_BURST (1ULL << 40) /* bytes; also bounds what counts as sane debt */
#define BWL_MAX_VOLUME (1ULL << 62)
/* slices of a second: none ends while a packet is being judged */
#define BWL_WINDOW_MIN_NS 11000000000ULL

/*
 * Mode shape, if the policy sets no horizon: up to four GSO packets of maximum size (64 KiB and the
 * headers of its segments) may wait, so that TCP can be told (CE) before it is refused; at least 10
 * ms, at most 250 ms at the grant's rate.
 */
#define BWL_HORIZON_BYTES (4 * 73728U)
#define BWL_HORIZON_MIN_NS 10000000U
#define BWL_HORIZON_MAX_NS 250000000U

#endif
