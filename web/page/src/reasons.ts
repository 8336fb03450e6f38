// SPDX-License-Identifier: GPL-2.0-or-later
// Why packets were refused, and the line of the policy that caused it, if the documents say so.
import { bytes, rate, span } from './format';
import { reasonKey } from './samples';
import type { Limit, Policy, Reason, Top } from './types';

export interface Refusal {
	key: string;
	reason: string;
	port: string;
	frames: number;
	bytes: number;
	text: string;
	todo: string | null;
	line: string | null;
}

export function limitText(l: Limit | null | undefined): string {
	if (!l) return 'no limit';
	const volume = l.volume_bytes == null ? '' : `, ${bytes(l.volume_bytes)}${l.window_s ? ` per ${span(l.window_s)}` : ' in total'}`;
	return `${l.rate_bits_per_second == null ? 'any rate' : rate(l.rate_bits_per_second)}${volume}`;
}

function names(list: string[]): string {
	return list.length > 3 ? `${list.slice(0, 3).join(', ')} and ${list.length - 3} more` : list.join(', ');
}

/** Peers that are being refused by that kind of limit. */
function over(kind: string, top: Top | null): string[] {
	return (top?.peers ?? [])
		.filter((p) => (p.dropped_bits_per_second ?? 0) > 0)
		.filter((p) => !kind.endsWith('volume') || (p.left?.volume_bytes != null && (p.left.used_bytes ?? 0) >= p.left.volume_bytes))
		.map((p) => p.peer);
}

/** The port's own limit, and its limits to single peers: they share a counter. */
function portLines(port: string | null, policy: Policy | null): string[] {
	const own = policy?.host_ports.find((p) => p.port === port)?.limit;
	const to = (policy?.peers ?? []).flatMap((p) => p.ports.filter((t) => t.port === port).map((t) => `${p.peer}: ports: ${port}: ${limitText(t.limit)}`));
	return [...(own ? [`host_ports: ${port}: limit: ${limitText(own)}`] : []), ...(to.length ? [to.length > 3 ? `ports: ${port}, of ${to.length} peers` : `peers: ${to.join('; ')}`] : [])];
}

function policyLine(r: Reason, policy: Policy | null, top: Top | null): string | null {
	const port = policy?.host_ports.find((p) => p.port === r.port);
	switch (r.reason) {
	case 'source-address':
		return port ? `host_ports: ${r.port}: sources: ${names(port.sources)}` : null;
	case 'vlan':
		return port ? `host_ports: ${r.port}: vlans: [${port.vlans.join(', ')}]` : null;
	case 'source-mac':
		return port ? `host_ports: ${r.port}: mac` : null;
	case 'no-peer':
		return 'default: (no peer has this destination)';
	case 'node-rate':
	case 'node-volume':
		return policy?.node_limit ? `node_limit: ${limitText(policy.node_limit)}` : null;
	case 'port-rate':
	case 'port-volume':
		return portLines(r.port, policy).join('; ') || null;
	case 'zone-rate':
	case 'zone-volume': {
		const zones = policy?.zones.filter((z) => z.limit) ?? [];
		return zones.length ? `zones: ${zones.map((z) => `${z.zone}: ${limitText(z.limit)}`).join('; ')}` : null;
	}
	case 'peer-rate':
	case 'peer-volume':
	case 'ledger': {
		const who = over(r.reason, top);
		if (who.length === 0) return 'peers: grant';
		return who.length === 1
			? `peers: ${who[0]}: grant: ${limitText(policy?.peers.find((p) => p.peer === who[0])?.grant)}`
			: `peers: grant of ${names(who)}`;
	}
	case 'class-rate':
	case 'class-volume':
		return 'peers: classes';
	case 'accept-rate':
	case 'accept-volume':
		return 'peers: accept';
	case 'silent':
		return policy?.heartbeat_s == null ? null : `heartbeat: ${span(policy.heartbeat_s)}`;
	case 'from':
		return 'peers: from';
	case 'no-nexthop':
		return 'peers: via';
	case 'no-sa':
	case 'tunnel-source':
		return 'peers: ipsec';
	default:
		return null;
	}
}

/** What was refused, most frames first. base: counters to subtract, from an hour ago. */
export function refusals(now: Reason[], base: Reason[] | null, policy: Policy | null, top: Top | null): Refusal[] {
	const key = reasonKey;
	const before = new Map((base ?? []).map((r) => [key(r), r]));
	return now
		.filter((r) => !r.passes)
		.map((r) => {
			const b = before.get(key(r));
			return {
				key: key(r),
				reason: r.reason,
				port: r.hook === 'gate' ? `${r.port ?? '?'}, last gate` : (r.port ?? '?'),
				frames: r.frames - (b?.frames ?? 0),
				bytes: r.bytes - (b?.bytes ?? 0),
				text: r.text,
				todo: r.todo || null,
				line: policyLine(r, policy, top),
			};
		})
		.filter((r) => r.frames > 0)
		.sort((a, b) => b.frames - a.frames);
}
