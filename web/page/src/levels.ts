// SPDX-License-Identifier: GPL-2.0-or-later
// What limits a peer, or all peers: rates and volumes, with what is used of them and what is left.
import { Keyed, attr, h, text } from './dom';
import { DASH, bytes, percent, rate, span } from './format';
import { bar } from './table';
import type { Limit, N, Peer, Policy, Top, Volume } from './types';

export interface Level {
	/** its name in `usage` */
	key: string;
	name: string;
	limit: Limit | null;
	now: N;
	used: N;
}

const COLUMNS: [string, string][] = [
	['level', ''],
	['now / limit', 'From the maps: passed in the last second, both ways. Of a host port it is known only if there is a single one'],
	['used of volume', 'From the maps: how much of the window’s volume was sent; of accept, how much arrived'],
	['left', 'How much of the volume is left'],
];

/** A table of limits; the figures are beside the bars. */
export class Levels {
	readonly element: HTMLElement;
	private readonly list: Keyed<Level>;
	private from = '';

	/** windows: show a volume's window in the table; otherwise it is a tooltip */
	constructor(name: string, windows = true) {
		const body = h('tbody');
		this.element = h('div', { class: 'scroll levels', tabindex: 0, role: 'region', 'aria-label': name }, h('table', {}, h('caption', { class: 'hidden-text' }, name),
			h('thead', {}, h('tr', {}, ...COLUMNS.map(([t, title], i) => h('th', { scope: 'col', class: i ? 'figures' : null, title: title || null }, t)))), body));
		this.list = new Keyed(body, (l) => l.key, () => h('tr', {}, h('th', { scope: 'row' }), ...COLUMNS.slice(1).map(() => h('td', { class: 'figures' }))), (e, l) => {
			const [, now, used, left] = e.children as unknown as HTMLElement[];
			text(e.children[0], l.name);
			bar(now, rateShare(l), `${rate(l.now)} / ${l.limit?.rate_bits_per_second == null ? 'any rate' : rate(l.limit.rate_bits_per_second)}`);
			const volume = l.limit?.volume_bytes ?? null;
			const window = volume === null ? '' : l.limit?.window_s ? ` per ${span(l.limit.window_s)}` : ' in total';
			bar(used, usedShare(l), volume === null ? 'no volume' : `${percent(usedShare(l))} of ${bytes(volume)}${windows ? window : ''}`);
			attr(used, 'title', volume === null ? null : `${bytes(l.used)} of ${bytes(volume)}${window}; ${this.from}`);
			text(left, volume === null || l.used === null ? DASH : bytes(Math.max(0, volume - l.used)));
		});
	}
	/** from: the documents that the levels come from, with their age */
	set(levels: Level[], from: string): void {
		this.from = from;
		attr(this.element, 'title', from);
		this.list.set(levels);
	}
}

const rateShare = (l: Level): N => (l.now !== null && l.limit?.rate_bits_per_second ? l.now / l.limit.rate_bits_per_second : null);
const usedShare = (l: Level): N => (l.used !== null && l.limit?.volume_bytes ? l.used / l.limit.volume_bytes : null);
/** Four fifths of it are used: these come first if there are more than fit. */
export const isTight = (l: Level): boolean => Math.max(rateShare(l) ?? 0, usedShare(l) ?? 0) >= 0.8;

/** used: the documents' volumes */
export function level(key: string, name: string, limit: Limit | null, now: N, used: Volume[] | null): Level {
	return { key, name, limit, now, used: used?.find((v) => v.limit_key === key)?.used_bytes ?? null };
}

/** What single host ports may send to a peer (`ports`). who: the peer's name there. */
export function ofPorts(p: Peer, used: Volume[] | null, who = 'it'): Level[] {
	return p.ports.map((t) => level(`tenant ${p.peer}/${t.port}`, `port ${t.port} to ${who}`, t.limit, null, used));
}

/** What may arrive from it, if that has a volume. */
export function ofAccept(p: Peer, used: Volume[] | null, who = 'it'): Level[] {
	return p.accept?.volume_bytes == null ? [] : [level(`accept ${p.peer}`, `arriving from ${who}`, p.accept, null, used)];
}

/** Of all peers, those whose volume is nearly used: at most so many, the most used first. */
export function nearlyUsed(policy: Policy, used: Volume[] | null, most: number): Level[] {
	return (used ?? []).flatMap((v) => {
		const [, peer] = /^(?:tenant|accept) ([^/]+)/.exec(v.limit_key) ?? [];
		const p = peer && (v.used_bytes ?? 0) >= 0.8 * (v.volume_bytes ?? Infinity) ? policy.peers.find((q) => q.peer === peer) : null;
		return p ? [...ofPorts(p, [v], peer), ...ofAccept(p, [v], peer)].filter((l) => l.key === v.limit_key) : [];
	}).sort((a, b) => (usedShare(b) ?? 0) - (usedShare(a) ?? 0)).slice(0, most);
}

/** The limits that peers share, inner to outer: zones, host ports, the node. passed: by zone, in the last second. of: only those that apply to this peer. */
export function shared(policy: Policy, top: Top | null, passed: Map<string, N>, used: Volume[] | null, of: Peer | null = null): Level[] {
	const all = top?.passed_bits_per_second ?? null;
	const one = policy.host_ports.length === 1;
	return [
		...policy.zones.filter((z) => !of || z.zone === of.zone).map((z) => level(`zone ${z.zone}`, `zone ${z.zone}`, z.limit, top && (passed.has(z.zone) ? (passed.get(z.zone) ?? null) : 0), used)),
		...policy.host_ports.filter((p) => !of?.from || of.from.includes(p.port)).map((p) => level(`port ${p.port}`, `port ${p.port}`, p.limit, one ? all : null, used)),
		level('node', `node ${policy.node}`, policy.node_limit, all, used),
	];
}
