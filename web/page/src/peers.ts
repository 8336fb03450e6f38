// SPDX-License-Identifier: GPL-2.0-or-later
// One row for each peer, combined from the documents that name it.
import type { Grant, Ipsec, Limit, N, Peer, Policy, S, Top, TopPeer, Volume } from './types';
import type { Run } from './theft';

export interface Row {
	peer: string;
	zone: S;
	state: S;
	contained: boolean;
	exit: boolean;
	now: N;
	/** the smallest of its own rate, its zone's and the node's; limitOf says which */
	limit: N;
	limitOf: LimitOf;
	/** it has no limit of its own; 'all': neither has its zone, nor the node */
	unlimited: 'own' | 'all' | null;
	share: N;
	dropped: N;
	used: N;
	volume: N;
	window: N;
	usedShare: N;
	expires: N;
	/** the documents say when it ends, or that it never does */
	endsKnown: boolean;
	path: S;
	sa: 'none' | 'up' | 'down' | 'unknown';
	offload: S;
	refused: N;
	run: Run | null;
	/** a run of sending without a pause at half or more of the rate that spends its volume within its window */
	slow: Run | null;
	atLimit: boolean;
	why: S;
	mode: S;
	fallback: boolean;
	/** false: mode monitor. Its own rate and volume limit nothing, so the other members have none of them. */
	enforced: boolean;
	/** it has neither rate nor volume, as mode monitor allows: to enforce it needs one */
	bare: boolean;
}

export type LimitOf = 'peer' | 'zone' | 'node';
/** The smallest rate that applies to a peer, of those in the documents: its own, its zone's, the node's. */
export function smallestRate(own: N, zone: S, policy: Policy | null): { bits: N; of: LimitOf } {
	let least: { bits: N; of: LimitOf } = { bits: own, of: 'peer' };
	const and = (bits: N, of: LimitOf): void => {
		if (bits !== null && (least.bits === null || bits < least.bits)) least = { bits, of };
	};
	and(policy?.zones.find((z) => z.zone === zone)?.limit?.rate_bits_per_second ?? null, 'zone');
	and(policy?.node_limit?.rate_bits_per_second ?? null, 'node');
	return least;
}

const open = (l: Limit | null | undefined): boolean => l?.rate_bits_per_second == null && l?.volume_bytes == null;
function unlimited(p: Peer | undefined, t: TopPeer, policy: Policy | null, enforced: boolean): Row['unlimited'] {
	if (!p || p.contained || t.state !== 'live') return null;
	if (enforced && (!open(p.grant) || t.rate_bits_per_second !== null || t.left?.volume_bytes != null)) return null;
	return open(policy?.zones.find((z) => z.zone === p.zone)?.limit) && open(policy?.node_limit) ? 'all' : 'own';
}

/** At its limit: within 3 % of it, or refused at this moment because of a limit. */
const AT = 0.97;

function reasonNow(t: TopPeer, of: LimitOf, share: N, usedShare: N, sa: Row['sa']): S {
	if (t.state && t.state !== 'live') return t.state === 'no-grant' ? 'no-grant' : t.state;
	if (sa === 'down') return 'no-sa';
	if (usedShare != null && usedShare >= 0.999) return 'peer-volume';
	if ((t.dropped_bits_per_second ?? 0) > 0 && share != null && share > 0.7) return `${of}-rate`;
	return null;
}

const made = new WeakMap<object, Map<string, unknown>>();
/** A document's list, indexed by the peer's name; made once per document. */
export function byPeer<T extends { peer: string }>(list: T[] | null | undefined): Map<string, T> {
	let by = list ? made.get(list) : new Map();
	if (!by) made.set(list as T[], (by = new Map(list?.map((x) => [x.peer, x]))));
	return by as Map<string, T>;
}

export interface Sources {
	top: Top | null;
	grants: Grant[] | null;
	policy: Policy | null;
	ipsec: Ipsec | null;
	volumes: Volume[] | null;
	/** bytes refused in the last hour, of peers whose history was requested */
	refused: Map<string, number>;
	runs: Map<string, Run | null>;
	/** of the last day, for peers that have used most of their volume */
	slow: Map<string, Run | null>;
}

export function rows(s: Sources): Row[] | null {
	if (!s.top) return null;
	const grants = byPeer(s.grants);
	const peers = byPeer(s.policy?.peers);
	const without = new Set(s.ipsec?.without_sa ?? []);
	const sas = new Map<string, { up: boolean; offload: S }>();
	for (const ike of s.ipsec?.ike_sas ?? []) {
		const child = ike.child_sas.find((c) => c.data_plane_open) ?? ike.child_sas[0];
		if (ike.peer) sas.set(ike.peer, { up: child?.data_plane_open === true, offload: child?.offload ?? null });
	}
	return s.top.peers.map((t) => {
		const g = grants.get(t.peer);
		const p = peers.get(t.peer);
		const encrypted = p != null && p.path !== 'clear';
		const had = g ? { up: g.sa_out, offload: g.offload } : sas.get(t.peer); // what the data plane uses, in preference to what charon says
		const sa = !p || !encrypted ? 'none' : had ? (had.up ? 'up' : 'down') : without.has(t.peer) || s.ipsec ? 'down' : 'unknown';
		const enforced = g?.enforced ?? p?.enforced ?? true;
		const { bits, of } = smallestRate(!enforced ? null : t.rate_bits_per_second, p?.zone ?? null, p ? s.policy : null);
		const share = t.passed_bits_per_second != null && bits ? t.passed_bits_per_second / bits : null;
		const left = enforced ? (t.left ?? g?.left ?? null) : null;
		const usedShare = left?.volume_bytes && left.used_bytes !== null ? left.used_bytes / left.volume_bytes : null;
		const why = reasonNow(t, of, share, usedShare, sa);
		return {
			peer: t.peer,
			zone: p?.zone ?? null,
			state: t.state,
			contained: p?.contained ?? false,
			// While the policy is unknown, a peer counts as an exit.
			exit: !p?.contained,
			now: t.passed_bits_per_second,
			limit: bits,
			limitOf: of,
			unlimited: unlimited(p, t, s.policy, enforced),
			share,
			dropped: t.dropped_bits_per_second,
			used: left?.used_bytes ?? null,
			volume: left?.volume_bytes ?? null,
			window: left?.window_s ?? null,
			usedShare,
			expires: g ? g.expires_in_s : (p?.expires_in_s ?? null),
			endsKnown: g != null || p != null,
			path: p?.path ?? null,
			sa,
			offload: had?.offload ?? null,
			refused: s.refused.get(t.peer) ?? null,
			run: s.runs.get(t.peer) ?? null,
			slow: s.slow.get(t.peer) ?? null,
			atLimit: (share != null && share >= AT) || (why?.endsWith('-rate') ?? false) || why === 'peer-volume',
			why,
			mode: g?.mode_in_force ?? null,
			fallback: g != null && g.mode !== g.mode_in_force,
			enforced,
			bare: t.rate_bits_per_second == null && (t.left ?? g?.left)?.volume_bytes == null,
		};
	});
}
