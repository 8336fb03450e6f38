// SPDX-License-Identifier: GPL-2.0-or-later
/* Errors in what a policy says of the node: its keys, host ports, zones and services. */
#include "policy_errors.h"

static void what_must_be_said_must_be_said(void **state)
{
	static const struct row rows[] = {
		{ "node: t\n", 1, 1, "version is missing" },
		{ "version: 2\n", 1, 10, "version '2' is not known" },
		{ "version: 1\n", 1, 1, "node is missing" },
		{ "version: 1\nnode: t\n", 1, 1,
		  "heartbeat is missing: a time such as 60s, or explicitly `none`" },
		{ "version: 1\nnode: t\nheartbeat: soon\n", 3, 12, "is not a time" },
		{ "version: 1\nnode: t\nheartbeat: 0s\n", 3, 12, "at least 1ms, or none" },
		{ "version: 1\nnode: t\nheartbeat: -1s\n", 3, 12, "negative" },
		{ HEAD "lease: soon\n", 5, 8, "is not a time" },
		{ HEAD "lease: 0s\n", 5, 8, "out of range: 1s to 366d" },
		{ TOP "lease: 999ms\n", 6, 8, "out of range: 1s to 366d" },
		{ TOP "lease: 367d\n", 6, 8, "out of range: 1s to 366d" },
		{ "version: 1\nnode: t\nuplinks: [p0]\nheartbeat: none\n" PORT "lease: 24h\n", 6, 8,
		  "lease needs a heartbeat" },
		{ HEAD "default: maybe\n", 5, 10, "'maybe' is not accepted: deny or reject" },
		{ HEAD "count_classes: some\n", 5, 16, "'some' is not accepted: limited or all" },
		{ HEAD "default: accept\n", 5, 10, "'accept' is not accepted: deny" },
		{ HEAD "min_charge: 64kb\n", 5, 13, "0 to 65535" },
		{ HEAD "min_charge: -1\n", 5, 13, "negative" },
		{ HEAD "horizon: 2s\n", 5, 10, "1ms to 1s, or auto" },
		{ HEAD "horizon: 0s\n", 5, 10, "1ms to 1s, or auto" },
		{ HEAD "ledger: maybe\n", 5, 9, "auto or required" },
		{ HEAD "uplink_control: [lldp, ospf]\n", 5, 24,
		  "lldp, lacp, bgp, bfd, dhcp or ptp" },
		{ HEAD, 1, 1, "host_ports is missing or empty" },
		{ "version: 1\nnode: t\nuplinks: []\nheartbeat: none\n", 3, 10,
		  "at least one device" },
		{ "version: 1\nnode: t/7\nheartbeat: none\n", 2, 7, "is not a valid name" },
		{ "version: 1\nnode: \"\"\nheartbeat: none\n", 2, 7, "is not a valid name" },
		{ "version: 1\nnode: 12345678901234567890123456789012\n", 2, 7, "at most 31" },
		{ "version: 1\nnode: t\nuplinks: [p0, p0]\nheartbeat: none\n", 3, 15,
		  "listed twice" },
		{ "version: 1\nnode: t\nuplinks: [a/b]\nheartbeat: none\n", 3, 11,
		  "is not a valid device name" },
		{ "version: 1\nnode: t\nuplinks: [abcdefghijklmnop]\nheartbeat: none\n", 3, 11,
		  "at most 15" },
	};

	(void)state;
	REFUSES(rows);
}

static void host_ports_are_checked(void **state)
{
	static const struct row rows[] = {
		{ HEAD "host_ports: [{ sources: [10.0.7.0/24] }]\n", 5, 14, "dev is missing" },
		{ HEAD "host_ports: [{ dev: h0 }]\n", 5, 14, "sources is missing or empty" },
		{ HEAD "host_ports: [{ dev: h0, sources: [] }]\n", 5, 34,
		  "sources is missing or empty" },
		{ HEAD "host_ports: [{ dev: h 0, sources: [10.0.7.0/24] }]\n", 5, 21,
		  "is not a valid device name" },
		{ HEAD "host_ports: [{ dev: p0, sources: [10.0.7.0/24] }]\n", 5, 21,
		  "is an uplink as well" },
		{ HEAD "host_ports: [{ dev: h0, sources: [10.0.7.1/24] }]\n", 5, 35,
		  "bits set after" },
		{ HEAD "host_ports: [{ dev: h0, sources: [10.0.7.0/24, 224.0.0.0/8] }]\n", 5, 48,
		  "multicast" },
		{ HEAD "host_ports: [{ dev: h0, sources: [10.0.7.0/24, 10.0.7.0/24] }]\n", 5, 48,
		  "overlaps" },
		{ HEAD
		  "host_ports:\n  - { dev: h0, sources: [10.0.7.0/24] }\n  - { dev: h0, sources: [10.0.8.0/24] }\n",
		  7, 12, "listed twice" },
		{ HEAD
		  "host_ports:\n  - { dev: h0, sources: [10.0.0.0/16] }\n  - { dev: h1, sources: [10.0.8.0/24] }\n",
		  7, 26, "overlaps 10.0.0.0/16 of host port h0" },
		{ HEAD
		  "host_ports:\n  - { dev: h0, sources: [10.0.8.0/24] }\n  - { dev: h1, sources: [10.0.0.0/16] }\n",
		  6, 26, "overlaps 10.0.0.0/16 of host port h1" },
		{ HEAD "host_ports: [{ dev: h0, sources: [10.0.7.0/24], vlans: [0] }]\n", 5, 57,
		  "from 1 to 4094" },
		{ HEAD "host_ports: [{ dev: h0, sources: [10.0.7.0/24], vlans: [4095] }]\n", 5, 57,
		  "from 1 to 4094" },
		{ HEAD "host_ports: [{ dev: h0, sources: [10.0.7.0/24], vlans: [7, 7] }]\n", 5, 60,
		  "VLAN 7 is listed twice" },
		{ HEAD
		  "host_ports: [{ dev: h0, sources: [10.0.7.0/24], vlans: [1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17] }]\n",
		  5, 56, "at most 16 VLAN" },
		{ HEAD "host_ports: [{ dev: h0, sources: [10.0.7.0/24], mac: 02:00 }]\n", 5, 54,
		  "not a MAC address" },
		{ HEAD
		  "host_ports: [{ dev: h0, sources: [10.0.7.0/24], mac: \"01:00:5e:00:00:01\" }]\n",
		  5, 54, "mac must be a unicast address" },
		{ HEAD
		  "host_ports: [{ dev: h0, sources: [10.0.7.0/24], mac: \"00:00:00:00:00:00\" }]\n",
		  5, 54, "mac must be a unicast address" },
		{ HEAD "host_ports: [{ dev: h0, sources: [10.0.7.0/24], limit: {} }]\n", 5, 56,
		  "is empty: give rate, volume or both" },
	};

	(void)state;
	REFUSES(rows);
}

static void zones_and_services_are_checked(void **state)
{
	static const struct row rows[] = {
		{ TOP "zones: { z: {} }\n", 6, 13, "zone: z is empty" },
		{ TOP "zones: { -z: { rate: 1mbit } }\n", 6, 14, "is not a valid zone name" },
		{ TOP "zones: { \"\": { rate: 1mbit } }\n", 6, 14, "is not a valid zone name" },
		{ TOP "zones: { 12345678901234567890123456789012: { rate: 1mbit } }\n", 6, 10,
		  "at most 31" },
		{ TOP "zones: { z: { rate: 1mbit, share: fair } }\n", 6, 35,
		  "'fair' is not accepted: first-come or weighted" },
		{ TOP "zones: { z: { volume: 1mb, share: weighted } }\n", 6, 13,
		  "zone z: rate is missing" },
		{ TOP "zones: { z: { rate: 1mbit, share: weighted } }\n" TAIL "    weight: 2\n", 12,
		  13, "it is in none" },
		{ TOP "zones: { z: { rate: 1mbit } }\n" TAIL "    zone: z\n    weight: 1\n", 13, 13,
		  "weight needs a zone with `share: weighted`: zone z has none" },
		{ TOP "zones: { z: { rate: 1mbit } }\n" TAIL "    zone: z\n    weight: 0\n", 13, 13,
		  "'0' is out of range: 1 to 1000" },
		{ TOP "zones: { z: { rate: 1mbit, share: weighted } }\n" TAIL
		      "    zone: z\n    weight: 1001\n",
		  13, 13, "'1001' is out of range: 1 to 1000" },
		{ TOP "zones: { z: { rate: 1mbit, share: weighted } }\n" TAIL
		      "    zone: z\n    weight: heavy\n",
		  13, 13, "'heavy' is not a number" },
		{ TOP "zones: { z: { rate: 1mbit, burst: 6000b, share: weighted } }\n" TAIL
		      "    zone: z\n    weight: 1\n",
		  13, 13, "give the zone a larger burst" },
		{ TOP "zones: { z: { rate: 1kbit, share: weighted } }\n" TAIL
		      "    zone: z\n    weight: 1\n",
		  13, 13, "give the zone a larger rate" },
		{ TOP "services: [{ proto: tcp, port: 1 }]\n", 6, 12, "class is missing" },
		{ TOP "services: [{ class: nfs, port: 1 }]\n", 6, 12, "proto is missing" },
		{ TOP "services: [{ class: ftp, proto: tcp, port: 1 }]\n", 6, 21,
		  "is not a traffic class" },
		{ TOP "services: [{ class: nfs, proto: quic, port: 1 }]\n", 6, 33,
		  "from 0 to 255" },
		{ TOP "services: [{ class: nfs, proto: tcp }]\n", 6, 12,
		  "port is missing: 1 to 65535" },
		{ TOP "services: [{ class: nfs, proto: tcp, port: 0 }]\n", 6, 44,
		  "from 1 to 65535" },
		{ TOP "services: [{ class: nfs, proto: tcp, port: 65536 }]\n", 6, 44,
		  "from 1 to 65535" },
		{ TOP "services: [{ class: nfs, proto: 47, port: 1 }]\n", 6, 12,
		  "only tcp and udp have ports" },
		{ TOP "services: [{ class: nfs, proto: 47 }, { class: ssh, proto: 47 }]\n", 6, 39,
		  "listed twice" },
	};

	(void)state;
	REFUSES(rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_must_be_said_must_be_said),
		cmocka_unit_test(host_ports_are_checked),
		cmocka_unit_test(zones_and_services_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
