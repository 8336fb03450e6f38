// SPDX-License-Identifier: GPL-2.0-or-later
// What is recorded about a peer: its newest flows, its intervals with their gaps and balance, how long its packets are delayed.
import { attr, commandLine, h, text } from './dom';
import { DASH, bytes, clock, count, typed } from './format';
import { type Fact, Facts, source } from './panels';
import { go, here } from './place';
import type { Store } from './store';
import { Table, mark } from './table';
import type { CountSum, Flow, Flows, Histogram, Interval, Intervals, Latency } from './types';
import type { Rounds } from './view';

const EVERY_MS = 10_000;
/** How many intervals without a problem are visible; those with a problem all are. */
const WELL = 6;

const PROTOCOLS: Record<number, string> = { 1: 'icmp', 6: 'tcp', 17: 'udp', 58: 'icmpv6' };

const end = (address: string | null | undefined, port: number | undefined): string => (address == null ? DASH : address.includes(':') ? `[${address}]:${port ?? 0}` : `${address}:${port ?? 0}`);
const from = (f: Flow): string => end(f.source, f.source_port);
const to = (f: Flow): string => (f.destination_port === 4791 ? `${end(f.destination, f.destination_port)} qp ${f.queue_pair ?? 0}` : end(f.destination, f.destination_port));
const protocol = (f: Flow): string => (f.ip_protocol === undefined ? '' : (PROTOCOLS[f.ip_protocol] ?? String(f.ip_protocol)));
const refused = (f: Flow): boolean => !f.reason.startsWith('pass');
const words = (f: Flow): string => [f.direction, protocol(f), f.class, f.reason, from(f), to(f)].join(' ');
/** Bytes as charged if it passed, as seen if it was refused (on arrival, as charged to its sender): like the counters. */
const weight = (f: Flow): number => (refused(f) ? f.bytes : f.charged_bytes);

const all = (s: CountSum | null): number | null => (s ? s.passed_bytes + s.dropped_bytes : null);
const isWrong = (x: Interval): boolean => x.gap !== null || x.peer_balanced === false || !x.balanced;

/** A short form of a time in seconds. */
function brief(s: number | null): string {
	if (s === null) return 'more';
	const [n, unit] = s >= 1 ? [s, 's'] : s >= 1e-3 ? [s * 1e3, 'ms'] : s >= 1e-6 ? [s * 1e6, 'µs'] : [s * 1e9, 'ns'];
	return `${n >= 100 ? n.toFixed(0) : n.toPrecision(3).replace(/\.?0+$/, '')} ${unit}`;
}
/** The upper end of the bin below which this share lies. */
function upTo(x: Histogram, share: number): string {
	let n = 0;
	for (const b of x.bins) {
		n += b.frames;
		if (n >= share * x.frames) return b.up_to_s !== null && b.up_to_s <= 1e-9 ? 'at once' : `≤ ${brief(b.up_to_s)}`;
	}
	return DASH;
}

export class Records {
	readonly element: HTMLElement;
	private readonly table: Table<Flow>;
	private readonly find = h('input', { type: 'search', 'aria-label': 'Find a flow', placeholder: 'address, port, class, reason', autocomplete: 'off', spellcheck: 'false' });
	private readonly flowWords = h('p', { class: 'small' });
	private readonly intervals = new Facts('intervals', 'Intervals: gaps and balance', 'not known yet', true);
	private readonly latency = new Facts('latency', 'How long packets are delayed', 'not known yet');
	private readonly proofWords = h('p', { class: 'small', 'aria-live': 'polite' });
	private readonly proof = h('div', { class: 'proof' });
	private readonly flowsPath: string;
	private readonly intervalsPath: string;

	constructor(private store: Store, private peer: string) {
		this.flowsPath = `flows?peer=${encodeURIComponent(peer)}`;
		this.intervalsPath = `flow-intervals?peer=${encodeURIComponent(peer)}`;
		this.table = new Table<Flow>({
			name: 'Flows',
			key: (f) => `${words(f)} ${f.port ?? ''}`,
			order: '-bytes',
			parameter: 'flowsort',
			worst: () => 0,
			level: (f) => (refused(f) ? 'note' : 'well'),
			empty: 'no flow',
			columns: [
				{ id: 'to', title: 'to', width: 'l', sort: to, text: to },
				{ id: 'from', title: 'from', width: 'l', sort: from, text: from },
				{ id: 'way', title: 'way', width: 's', sort: (f) => f.direction, text: (f) => `${f.direction} ${protocol(f)}`.trim(), tip: 'out: from a host; in: from the peer' },
				{ id: 'class', title: 'class', width: 's', sort: (f) => f.class, text: (f) => f.class ?? DASH },
				{ id: 'reason', title: 'reason', width: 's', sort: (f) => f.reason, text: (f) => f.reason },
				{ id: 'frames', title: 'frames', figures: true, width: 's', sort: (f) => f.frames, text: (f) => count(f.frames) },
				{ id: 'bytes', title: 'bytes', figures: true, width: 's', sort: weight, text: (f) => bytes(weight(f)), tip: 'As charged; refused frames as seen, or on arrival as charged to their sender' },
				{ id: 'last', title: 'last', figures: true, width: 's', sort: (f) => f.until, text: (f) => clock(f.until, true) },
			],
		});
		this.find.addEventListener('input', () => go({ flow: this.find.value }));
		this.find.value = here('flow');
		const prove = h('button', { type: 'button', 'aria-expanded': 'false', onclick: () => this.showProof(prove) }, 'commands for a proof');
		this.element = h('div', { class: 'records' },
			h('section', { class: 'card', 'aria-labelledby': 'flows' }, h('div', { class: 'tools' }, h('h3', { id: 'flows' }, 'Flows of the last half minute'), this.find), this.flowWords, this.table.element),
			h('div', { class: 'panels two' },
				h('div', { class: 'with-proof' }, this.intervals.element, h('div', { class: 'beside' }, prove, this.proofWords), this.proof), this.latency.element));
		attr(this.proof, 'hidden', '');
	}

	/** The page serves no proofs, because its readers have no right to them: root on the DPU types the command. */
	private showProof(button: HTMLElement): void {
		const open = this.proof.hasAttribute('hidden');
		attr(this.proof, 'hidden', open ? null : '');
		attr(button, 'aria-expanded', String(open));
		if (!open || this.proof.childElementCount) return;
		const records = typed`bwlimit-ctl flows intervals --peer ${this.peer} --most 360 --json`;
		const newest = this.store.get<Intervals>(this.intervalsPath)?.intervals[0]?.sequence;
		const shown = newest === undefined ? null : typed`bwlimit-ctl evidence open --interval ${String(newest)} --peer ${this.peer} --write proof.json`;
		this.proof.append(h('ul', { class: 'commands' },
			h('li', {}, h('span', { class: 'name' }, 'the balance, to the byte'), records ? commandLine(records) : h('span', {}, 'its name has characters that are not safe in a command')),
			...(shown ? [h('li', {}, h('span', { class: 'name' }, 'for an auditor: this peer in the newest interval, and nothing else'), commandLine(shown))] : []),
			h('li', {}, h('span', { class: 'name' }, 'proof that the log was not changed'), commandLine('bwlimit-ctl audit verify'))));
	}

	poll(rounds: Rounds, now: number): void {
		rounds.ask(this.flowsPath, EVERY_MS, now);
		rounds.ask(this.intervalsPath, EVERY_MS, now);
		rounds.ask('latency', 5_000, now);
	}

	render(): void {
		this.drawFlows();
		this.drawIntervals();
		this.drawLatency();
	}

	private why(path: string): string {
		const e = this.store.error(path);
		return e ? `${e.text}${e.todo ? ` – ${e.todo}` : ''}` : this.store.asked(path) ? '' : 'not known yet';
	}

	private drawFlows(): void {
		const x = this.store.get<Flows>(this.flowsPath);
		const wanted = here('flow').toLowerCase();
		const list = (x?.flows ?? []).filter((f) => words(f).toLowerCase().includes(wanted));
		const rest = (x?.remainders ?? []).reduce((n, f) => n + weight(f), 0);
		this.table.set(list, x ? (wanted ? 'No flow matches.' : 'No flow in this time.') : this.why(this.flowsPath));
		text(this.flowWords, x ? [`${count(list.length)} of ${count(x.flows.length)} flows, ${bytes(list.reduce((n, f) => n + weight(f), 0))}`,
			rest ? `${bytes(rest)} in remainders, which have no addresses` : '',
			x.left_out_count ? `${count(x.left_out_count)} with fewer bytes are not listed: ${bytes(x.left_out_bytes)} seen` : '',
			`${x.interval_count} interval${x.interval_count === 1 ? '' : 's'}`].filter(Boolean).join('; ') : '');
		for (const e of [this.flowWords, this.table.element]) attr(e, 'title', source(this.store, this.flowsPath));
		attr(this.table.element, 'data-fades', this.store.fades(this.flowsPath, 2 * EVERY_MS) ? '' : null);
	}

	private balance(x: Interval): string {
		if (!x.grew) return x.balanced ? 'nothing of this peer' : 'nothing of this peer; others do not balance';
		const parts = `${bytes(all(x.in_flows))} in flows + ${bytes((all(x.in_remainder) ?? 0) + (all(x.in_none) ?? 0))} in remainders`;
		return x.peer_balanced ? `${parts} = ${bytes(all(x.grew))} by its counter` : `${parts} ≠ ${bytes(all(x.grew))} by its counter: ${x.why ?? 'the cause is not known'}`;
	}

	private drawIntervals(): void {
		const x = this.store.get<Intervals>(this.intervalsPath)?.intervals;
		if (!x) {
			this.intervals.set([[this.why(this.intervalsPath), '', '', '']]);
			text(this.proofWords, '');
			return;
		}
		const wrong = x.filter(isWrong);
		const lines: Fact[] = [...wrong, ...x.filter((i) => !isWrong(i)).slice(0, WELL)].map((i) => [clock(i.ended_at, true),
			[i.gap ? `missing before it: ${i.gap}` : '', this.balance(i), i.thinned ? 'its flows were deleted to make room' : ''].filter(Boolean).join('; '),
			`interval ${i.interval} of its tables, ${i.sequence} of all, from ${clock(i.begun_at, true)}`, i.peer_balanced === false || i.gap ? 'today' : i.balanced ? '' : 'note']);
		this.intervals.set(lines, source(this.store, this.intervalsPath));
		this.intervals.fades(this.store.fades(this.intervalsPath, 2 * EVERY_MS));
		const gaps = x.filter((i) => i.gap).length;
		const off = x.filter((i) => i.peer_balanced === false).length;
		this.proofWords.replaceChildren(mark(gaps || off ? 'today' : 'well'), `of ${count(x.length)} intervals ${off ? `${count(off)} do not balance` : 'all balance'}, ${gaps ? `${count(gaps)} say that something is missing` : 'none says that something is missing'}`);
	}

	private drawLatency(): void {
		const x = this.store.get<Latency>('latency');
		if (!x) {
			this.latency.set([[this.why('latency'), '', '', '']]);
			return;
		}
		const own = x.peers.find((p) => p.peer === this.peer);
		const on = typed`bwlimit-ctl latency on ${this.peer}`;
		const lines: Fact[] = [];
		if (!x.measured) lines.push(['not measured', '', '', '', 'bwlimit-load upgrade --latency on']);
		if (own) {
			lines.push(['in shape, 50 %', upTo(own.shape, 0.5), 'until the departure time that mode shape gave', ''],
				['in shape, 99 %', upTo(own.shape, 0.99), '', ''],
				['host port to uplink, 50 %', upTo(own.gate, 0.5), 'limits, route and ESP', ''],
				['host port to uplink, 99 %', upTo(own.gate, 0.99), '', ''],
				['packets', count(own.shape.frames), `since it is measured by name; ${count(own.gate.frames)} at the uplink, where GSO packets may have been split`, '']);
			if (own.unmatched_frames) lines.push(['unmatched', count(own.unmatched_frames), 'at the uplink, time of arrival not known', 'note']);
		} else if (x.measured) {
			lines.push(['not by name', '', 'it is measured together with all others', '', on]);
		}
		this.latency.set(lines, source(this.store, 'latency'));
		this.latency.fades(this.store.fades('latency', EVERY_MS));
	}
}
