// SPDX-License-Identifier: GPL-2.0-or-later
// The page of a node: five questions, one screen, no click.
import { Chart, type Series, chartKey } from './chart';
import { Keyed, attr, h, text } from './dom';
import { ALARMS, findings, mostUsed, theft, verdict, verified } from './findings';
import { closures, ends, lowered } from './closed';
import { DASH, ago, bytes, clock, count, order, percent, rate, span, total, until } from './format';
import { Levels, isTight, nearlyUsed, shared } from './levels';
import { ExfilCard, type Fact, Facts, FindingsPanel, source } from './panels';
import { type Row, byPeer, rows, smallestRate } from './peers';
import { go, here, link } from './place';
import { type Refusal, refusals } from './reasons';
import { Samples } from './samples';
import type { Store } from './store';
import { Filters, Table, bar, rowLink } from './table';
import { type Run, runOf, written } from './theft';
import type { Api, Audit, ErrorDocument, Exfil, Grant, History, Ipsec, Journal, Log, N, Policy, Reason, Stats, Status, Top, Verify, Volume } from './types';
import { Rounds, type View } from './view';

export const EXFIL = 'exfil?size=1000000000000';
const LIVE = ['status', 'top', 'reasons', 'usage', 'grants', 'ipsec-status'];
const SHOWN_S = 900;
/** Peers whose history is requested, the worst first: each costs the DPU a query per minute, or every two minutes if it is quiet. */
const HISTORIES = 20;
/** At least so many of these are chosen for what was refused in the last hour. */
const REFUSERS = 8;
/** Lines among the budgets for volumes that concern a single peer. */
const PEER_BUDGETS = 8;

const HOUR_OF: [string, string] = ['1h', '1m'];
/** Requested for peers whose theft began before that hour, and for those that have used most of their volume. */
const DAY_OF: [string, string] = ['24h', '10m'];
/** What left before the page was opened, for the chart. */
const BEFORE: [string, string] = ['15m', '10s'];
const NEARLY_HOUR_S = 3300;

export const peerPath = (peer: string): string => `peer?name=${encodeURIComponent(peer)}`;
export const historyPath = (peer: string, since: string, step: string): string => `history?peer=${encodeURIComponent(peer)}&since=${since}&step=${step}`;

/** Not streamed: the newest result can equal the previous one word for word, and only its age shows that somebody checked. */
export const VERIFY_MS = 15_000;
const DAY_MS = 86_400_000;

export function levelOf(r: Row): string {
	if (r.sa === 'down') return 'now';
	if (r.state !== 'live') return 'closed';
	if (theft(r) || r.unlimited === 'all') return 'now';
	return r.atLimit || r.unlimited || !r.enforced || (r.exit && mostUsed(r)) ? 'today' : 'well';
}

export class NodePage implements View {
	readonly element: HTMLElement;
	title = 'bwlimit';
	private readonly rounds: Rounds;
	private readonly needs = new FindingsPanel();
	private readonly exfil = new ExfilCard('this tray');
	private readonly leaving = h('p', { class: 'figure-medium' });
	private readonly inside = h('p', { class: 'small' });
	private readonly chart = new Chart('What leaves through all exits, last 15 minutes', 72);
	private readonly budgets = new Levels('Budgets of the node, its host ports and its zones, and nearly used ones of peers', false);
	private readonly filters = new Filters('show', [['', 'all'], ['limit', 'at limit'], ['refused', 'refused'], ['exits', 'exits'], ['closed', 'closed']]);
	private readonly find = h('input', { type: 'search', id: 'find', 'aria-label': 'Find a peer', placeholder: 'find /', autocomplete: 'off', spellcheck: 'false' });
	private readonly group = h('select', { id: 'group', 'aria-label': 'Group' }, h('option', { value: '' }, 'no groups'), h('option', { value: 'zone' }, 'by zone'));
	private readonly part = h('span', { class: 'small' });
	private readonly table: Table<Row>;
	private readonly refused = h('tbody');
	private readonly refusedNone = h('p', { class: 'empty' }, 'nothing was refused');
	private readonly refusedSince = h('span', { class: 'small' });
	private readonly refusedList: Keyed<Refusal & { fresh: number }>;
	private readonly sas = new Facts('sas', 'Encrypted peers', 'no peer is encrypted');
	private readonly evidence = new Facts('evidence', 'Closures and evidence', 'not known yet');
	private readonly ends = new Facts('ends', 'What ends, what happened', 'not known yet', true);
	private readonly refusedPeers = h('p', { class: 'small' });
	private readonly samples = new Samples();
	private live: Series[] = [];
	private past: Series[] = [];
	/** as last drawn; null: not known yet */
	private all: Row[] | null = null;
	private histories: (History | null)[] = [];
	private lastTop = '';
	private asked: string[] = [];
	/** peers of which something was refused since attach, the most first; null: unknown */
	private refusers: string[] | null = null;
	private lastStats: Stats | null = null;

	constructor(private store: Store, private api: () => Api | null) {
		this.rounds = new Rounds(store, api);
		this.table = new Table<Row>({
			name: 'Peers',
			key: (r) => r.peer,
			order: '-now',
			worst: (r) => ({ now: 2, today: 1 })[levelOf(r)] ?? 0,
			group: (r) => (here('group') === 'zone' ? { key: r.zone ?? '-', title: r.zone ?? 'no zone', words: '' } : null),
			level: levelOf,
			empty: 'No peer matches.',
			columns: [
				{ id: 'name', title: 'Peer', width: 'm', sort: (r) => r.peer, text: (r) => r.peer, draw: (c, r) => rowLink(c, r.peer, link({ peer: r.peer }), levelOf(r)) },
				{ id: 'now', title: 'now / limit', figures: true, width: 'l', sort: (r) => (r.share === null ? null : Math.round(r.share * 10)), text: () => '', draw: (c, r) => bar(c, r.share, `${rate(r.now)} / ${rate(r.limit)}`),
					tip: 'From the maps: passed in the last second, both ways, against the smallest rate that applies: its own, its zone’s, the node’s' },
				{ id: 'used', title: 'volume used', figures: true, width: 'l', sort: (r) => r.usedShare, text: () => '',
					draw: (c, r) => bar(c, r.usedShare, r.volume == null ? DASH : `${percent(r.usedShare)} of ${bytes(r.volume)}`), tip: 'From the maps: how much of the window’s volume was sent' },
				{ id: 'ends', title: 'ends', figures: true, width: 's', sort: (r) => (r.expires == null ? null : -r.expires), text: (r) => until(r.expires, r.endsKnown ? 'never' : DASH), tip: 'When the grant ends' },
				{ id: 'zone', title: 'zone', width: 's', sort: (r) => r.zone, text: (r) => r.zone ?? DASH },
				{ id: 'path', title: 'path', width: 's', sort: (r) => pathWords(r), text: pathWords, tip: 'How packets leave; esp: encrypted, and by what' },
				{ id: 'refused', title: 'refused 1 h', figures: true, width: 's', sort: (r) => r.refused, text: (r) => bytes(r.refused),
					tip: `From bwlimitd's history, of ${HISTORIES} peers: those near a limit, those refused most, and exits` },
				{ id: 'why', title: 'why', width: 's', sort: (r) => r.why, text: (r) => [r.enforced ? null : 'not enforced', r.why].filter(Boolean).join(', ') || DASH,
					tip: 'Why its packets are refused at this moment. Not enforced: mode monitor, what is over its own limits is counted and passes' },
			],
		});
		this.find.addEventListener('input', () => go({ q: this.find.value }));
		this.group.addEventListener('change', () => go({ group: this.group.value, fold: '' }));
		this.refusedList = new Keyed(this.refused, (r) => r.key,
			() => h('tr', {}, h('th', { scope: 'row' }), h('td', { class: 'figures' }), h('td', { class: 'figures' }), h('td', { class: 'cause' })), (e, r) => {
				text(e.children[0], r.reason);
				const from = source(this.store, 'reasons');
				attr(e.children[0], 'title', `${r.text}; ${from}`);
				text(e.children[1], count(r.frames));
				attr(e.children[1], 'title', `${bytes(r.bytes)} at ${r.port}; ${from}`);
				text(e.children[2], r.fresh > 0 ? `+${count(r.fresh)}` : '');
				text(e.children[3], r.line ?? r.text);
				attr(e.children[3], 'title', `${r.port}: ${r.text}${r.todo ? `; ${r.todo}` : ''}; ${from}`);
			});
		const leaving = h('section', { class: 'card leaving', 'aria-labelledby': 'leaving' },
			h('div', { class: 'beside' }, h('h2', { id: 'leaving' }, 'Leaving now'), this.leaving, chartKey()), this.inside, this.chart.element);
		const peers = h('section', { class: 'peers', 'aria-labelledby': 'peers' },
			h('div', { class: 'tools' }, h('h2', { id: 'peers' }, 'Peers'), this.part, this.filters.element, this.find, this.group), this.table.element);
		const reasons = h('section', { class: 'panel reasons', 'aria-labelledby': 'reasons' },
			h('div', { class: 'beside' }, h('h2', { id: 'reasons' }, 'Refused, and why'), this.refusedSince), this.refusedPeers,
			h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Refused, and why, table' },
				h('table', {}, h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'reason'), h('th', { scope: 'col', class: 'figures' }, 'frames'),
					h('th', { scope: 'col', class: 'figures' }, 'new'), h('th', { scope: 'col' }, 'line of the policy'))), this.refused), this.refusedNone));
		const budgets = h('section', { class: 'card budgets', 'aria-labelledby': 'budgets' }, h('h2', { id: 'budgets' }, 'Budgets, used and left'), this.budgets.element);
		this.element = h('div', { class: 'node tray' }, this.needs.element, this.exfil.element, leaving, budgets, peers,
			h('div', { class: 'panels' }, reasons, this.sas.element, this.evidence.element, this.ends.element));
	}

	streams(): string[] {
		return LIVE;
	}
	poll(now: number): void {
		for (const [path, every] of [['policy', 15_000], ['verify', VERIFY_MS], [EXFIL, 30_000], ['audit', 15_000], ['journal', 30_000], ['log', 5_000], ['stats', 60_000], ['history-peers', 60_000]] as const)
			this.rounds.ask(path, every, now);
		this.sample(now);
		const all = this.all;
		if (!all) return;
		const worst = all.filter((r) => (r.dropped ?? 0) > 0 || (r.share ?? 0) > 0.5 || (r.usedShare ?? 0) > 0.5)
			.sort((a, b) => Number(b.exit) - Number(a.exit) || (b.dropped ?? 0) - (a.dropped ?? 0) || (b.share ?? 0) - (a.share ?? 0)).map((r) => r.peer);
		const urgent = new Set(worst);
		// If nothing of a peer was refused since attach, nothing was refused in the last hour: no request is needed.
		const known = new Set(all.map((r) => r.peer));
		const stats = this.store.get<Stats>('stats');
		if (stats && stats !== this.lastStats) {
			this.lastStats = stats;
			const kept = this.store.get<{ peer_names: string[] }>('history-peers');
			const names = new Set(kept?.peer_names);
			this.refusers = stats.peers.filter((p) => p.dropped_bytes > 0 && (!kept || names.has(p.peer))).sort((a, b) => b.dropped_bytes - a.dropped_bytes).map((p) => p.peer);
		}
		const refusers = this.refusers ?? [];
		const exits = all.filter((r) => r.exit).map((r) => r.peer);
		// A peer stays in the list while it exists and there is room: its refusals of this hour do not end with this moment.
		// Then come exits that look quiet at this moment: only their history shows a theft in bursts.
		this.asked = [...new Set([...worst, ...refusers.slice(0, REFUSERS), ...this.asked.filter((p) => known.has(p)), ...exits, ...refusers])].slice(0, HISTORIES);
		const days = all.filter((r) => r.exit && ((r.run !== null && (r.run.longer || r.run.seconds > NEARLY_HOUR_S)) || mostUsed(r))).map((r) => r.peer).slice(0, HISTORIES);
		const early = exits.length <= HISTORIES && this.store.get('policy') ? exits : [];
		const kept = new Set([...this.asked.map((p) => historyPath(p, ...HOUR_OF)), ...days.map((p) => historyPath(p, ...DAY_OF)), ...early.map((p) => historyPath(p, ...BEFORE))]);
		this.rounds.keep((path) => !path.startsWith('history?') || kept.has(path));
		for (const p of this.asked) this.rounds.ask(historyPath(p, ...HOUR_OF), urgent.has(p) ? 60_000 : 120_000, now);
		for (const p of days) this.rounds.ask(historyPath(p, ...DAY_OF), 300_000, now);
		// What left before this page was opened: requested once, and only if there are few exits, which makes it cheap.
		for (const p of early) this.rounds.ask(historyPath(p, ...BEFORE), 3_600_000, now);
	}

	private sample(now: number): void {
		const reasons = this.store.get<{ reasons: Reason[] }>('reasons')?.reasons;
		if (reasons && !this.store.paused && !this.store.fades('reasons')) this.samples.take(now - (this.store.age('reasons') ?? 0), reasons);
	}
	private serves(name: string): boolean {
		return this.api()?.documents.includes(name) ?? false;
	}

	private rows(): Row[] | null {
		const s = this.store;
		const policy = s.get<Policy>('policy');
		const top = s.get<Top>('top');
		const refused = new Map<string, number>();
		const runs = new Map<string, Run | null>();
		for (const peer of this.asked) {
			const hist = s.get<History>(historyPath(peer, ...HOUR_OF));
			if (!hist) continue;
			refused.set(peer, hist.points.reduce((n, p) => n + p.sent_dropped_bytes, 0));
			const p = byPeer(policy?.peers).get(peer);
			const own = p?.enforced === false ? null : p ? (p.grant?.rate_bits_per_second ?? null) : (byPeer(top?.peers).get(peer)?.rate_bits_per_second ?? null);
			const { bits } = smallestRate(own, p?.zone ?? null, p ? policy : null);
			const last = runOf(hist, bits);
			const day = last?.longer ? s.get<History>(historyPath(peer, ...DAY_OF)) : null;
			runs.set(peer, (day && runOf(day, bits)) ?? last);
		}
		const slow = new Map<string, Run | null>();
		for (const t of top?.peers ?? []) {
			const volume = t.left?.volume_bytes;
			if (!volume || !t.left?.window_s || byPeer(policy?.peers).get(t.peer)?.enforced === false || !mostUsed({ usedShare: (t.left.used_bytes ?? 0) / volume })) continue;
			const day = s.get<History>(historyPath(t.peer, ...DAY_OF));
			if (day) slow.set(t.peer, runOf(day, (8 * volume) / t.left.window_s));
		}
		return rows({ top, grants: s.get<{ grants: Grant[] }>('grants')?.grants ?? null, policy, ipsec: s.get<Ipsec>('ipsec-status'),
			volumes: s.get<{ volumes: Volume[] }>('usage')?.volumes ?? null, refused, runs, slow });
	}

	render(): void {
		const s = this.store;
		const status = s.get<Status>('status');
		const top = s.get<Top>('top');
		const verify = s.get<Verify>('verify');
		const reasons = s.get<{ reasons: Reason[] }>('reasons')?.reasons ?? null;
		const policy = s.get<Policy>('policy');
		const log = logLines(s.get('log'), top?.time ?? null);
		this.all = this.rows();
		const all = this.all ?? [];
		this.title = `${top?.node ?? policy?.node ?? this.api()?.name ?? ''} · bwlimit`;
		const api = this.api();
		const list = findings({ api, status, verify, verifyAge: s.age('verify'), unread: s.error('status') ?? s.error('top'), verifyWhy: s.error('verify')?.text ?? null, broken: s.broken(), rows: all, policy, policyWhy: api && !this.serves('policy') ? 'The server does not serve it' : (s.error('policy')?.text ?? null), ipsec: s.get<Ipsec>('ipsec-status'), reasons,
			log, audit: s.get<Audit>('audit'), skew: top ? (Date.now() - (s.age('top') ?? 0) - Date.parse(top.time)) / 1000 : null });
		if (status || top) this.needs.set(list, verdict(list, verified(verify, s.age('verify'), s.error('verify'))));
		else this.waiting(s);
		this.exfil.set(s.get<Exfil>(EXFIL), s, EXFIL);
		this.drawLeaving(all, top, policy);
		this.drawPeers(all, top !== null);
		this.drawRefused(reasons, status, policy, top);
		this.drawSas(all);
		this.drawRefusedPeers(all);
		this.drawBudgets(all, policy, top);
		this.drawEvidence(status, verify, all);
		this.drawEnds(all, status, log);
	}

	/** Nothing has come yet, or the server has no bwlimit below it: the words say the next step. */
	private waiting(s: Store): void {
		const e = s.error('status') ?? s.error('top');
		this.needs.set(e ? [{ key: 'none', level: 'now', what: e.text, since: null, means: 'Nothing of bwlimit can be read on this node.', command: order(e.todo) ?? 'bwlimit-load status' }] : [],
			e ? { level: 'now', words: 'Nothing is known about this node' } : { level: 'note', words: 'Loading' });
	}

	private drawLeaving(all: Row[], top: Top | null, policy: Policy | null): void {
		const exits = all.filter((r) => r.exit);
		const known = top !== null && policy !== null;
		attr(this.leaving.closest('section') as Element, 'title', `From the maps and the policy; what was sent before this page was opened is from the history: ${source(this.store, 'top', 'policy')}`);
		const allowed = known ? allowedOut(exits, policy) : null;
		text(this.leaving, known ? `${rate(total(exits.map((r) => r.now)))} of ${allowed == null ? 'any rate' : rate(allowed)} allowed out` : DASH);
		text(this.inside, known ? `contained, not an exit: ${rate(total(all.filter((r) => !r.exit).map((r) => r.now)))} · refused now: ${rate(top.dropped_bits_per_second)}` : '');
		if (known && top.time !== this.lastTop && !this.store.paused) {
			this.lastTop = top.time;
			const time = Date.parse(top.time) / 1000;
			this.live.push({ time, bits: total(exits.map((r) => r.now)), refused: total(exits.map((r) => r.dropped)) });
			this.live = this.live.filter((p) => p.time > time - SHOWN_S);
		}
		const of = exits.length <= HISTORIES ? exits.map((r) => this.store.get<History>(historyPath(r.peer, ...BEFORE))) : [];
		if (of.length !== this.histories.length || of.some((h, i) => h !== this.histories[i])) {
			this.histories = of;
			this.past = before(of);
		}
		const first = this.live[0]?.time ?? Infinity;
		const last = this.live.at(-1)?.time ?? Infinity;
		const points = [...this.past.filter((p) => p.time < first && p.time > last - SHOWN_S), ...this.live];
		const peak = points.reduce((n, p) => Math.max(n, p.bits ?? 0), 0);
		this.chart.set(points, allowed, points.length > 1 ? `peak in this time ${rate(peak)}` : 'drawn as numbers come');
	}

	private drawPeers(all: Row[], known: boolean): void {
		const is: Record<string, (r: Row) => boolean> = {
			'': () => true,
			limit: (r) => r.atLimit,
			refused: (r) => (r.dropped ?? 0) > 0 || (r.refused ?? 0) > 0,
			exits: (r) => r.exit,
			closed: (r) => r.state !== 'live' || r.sa === 'down',
		};
		const inPolicy = this.store.get<Policy>('policy')?.peers.length ?? 0;
		text(this.part, known && all.length < inPolicy ? `the ${count(all.length)} busiest of ${count(inPolicy)}` : '');
		this.filters.set(Object.fromEntries(Object.entries(is).map(([id, f]) => [id, known ? all.filter(f).length : null])), link);
		const q = here('q').toLowerCase();
		if (document.activeElement !== this.find && this.find.value !== here('q')) this.find.value = here('q');
		if (this.group.value !== here('group')) this.group.value = here('group');
		const shown = all.filter(is[here('show')] ?? is['']).filter((r) => q === '' || r.peer.toLowerCase().includes(q) || (r.zone ?? '').toLowerCase().includes(q));
		this.table.set(shown, all.length > 0 ? undefined : known ? 'The policy has no peers: nothing may be sent. bwlimit-ctl peer add, or bwlimit-ctl policy apply.'
			: this.store.error('top')?.text ?? 'Not known yet.');
		attr(this.table.element, 'title', source(this.store, 'top', 'grants', 'policy'));
		attr(this.table.element, 'data-fades', this.store.fades('top') ? '' : null);
	}

	private drawRefused(reasons: Reason[] | null, status: Status | null, policy: Policy | null, top: Top | null): void {
		const now = performance.now();
		if (reasons) this.sample(now);
		const first = this.samples.first();
		const seen = first ? (now - first.at) / 1000 : 0;
		const attached = status?.attached_ago_s ?? null;
		// Counters begin at attach: an hour is known once this page has been open for one, or if attach is younger.
		const hour = this.samples.hour(now);
		const list = refusals(reasons ?? [], hour?.reasons ?? null, policy, top);
		const fresh = new Map(refusals(reasons ?? [], first?.reasons ?? null, policy, top).map((r) => [r.key, r.frames]));
		this.refusedList.set(list.slice(0, 40).map((r) => ({ ...r, fresh: fresh.get(r.key) ?? 0 })));
		const minutes = hour ? Math.floor((now - hour.at) / 60_000) : 0;
		text(this.refusedSince, minutes > 61 ? `in the last ${span(minutes * 60)}` : hour || (attached !== null && attached < 3600) ? 'in the last hour'
			: `since attach, ${attached === null ? DASH : span(attached)}; new: in ${span(Math.max(1, Math.floor(seen)))}`);
		attr(this.refusedNone, 'hidden', list.length > 0 || reasons === null ? '' : null);
		attr(this.refused.closest('section') as Element, 'title', source(this.store, 'reasons', 'status'));
		attr(this.refused.closest('section') as Element, 'data-fades', this.store.fades('reasons') ? '' : null);
	}

	/** Those that are nearly used first, then the outermost; for single peers only those that are nearly used. */
	private drawBudgets(all: Row[], policy: Policy | null, top: Top | null): void {
		const passed = new Map<string, N>();
		for (const r of all) {
			const zone = r.zone ?? '';
			const sum = passed.get(zone);
			passed.set(zone, sum === null || r.now === null ? null : (sum ?? 0) + r.now);
		}
		const used = this.store.get<{ volumes: Volume[] }>('usage')?.volumes ?? null;
		if (policy) this.budgets.set([...nearlyUsed(policy, used, PEER_BUDGETS), ...shared(policy, top, passed, used).reverse()].sort((a, b) => Number(isTight(b)) - Number(isTight(a))), `From the policy in force, the maps and the ledger: ${source(this.store, 'top', 'policy', 'usage')}`);
		attr(this.budgets.element, 'data-fades', this.store.fades('top') || this.store.fades('usage') ? '' : null);
	}

	/** The last hour, available at once: from bwlimitd's history of each peer. */
	private drawRefusedPeers(all: Row[]): void {
		const path = (p: string): string => historyPath(p, ...HOUR_OF);
		const heard = this.asked.filter((p) => this.store.get(path(p)) !== null);
		const of = all.filter((r) => (r.refused ?? 0) > 0).sort((a, b) => (b.refused ?? 0) - (a.refused ?? 0));
		const left = this.refusers?.filter((p) => !this.asked.includes(p)).length ?? null;
		const waits = this.refusers === null ? this.serves('stats') && !this.store.error('stats') : this.refusers.some((p) => this.asked.includes(p) && !this.store.asked(path(p)));
		const names = of.slice(0, 4).map((r) => `${r.peer} ${bytes(r.refused)}`).join(', ') + (of.length > 4 ? ` and ${of.length - 4} more peers` : '');
		const rest = left === null ? `; of ${heard.length} peers whose history was read` : left > 0 ? `; history not read, but refused since attach: ${left}` : '';
		text(this.refusedPeers, `Last hour, by peer: ${names || (waits ? 'loading …' : heard.length || this.refusers ? 'nothing' : DASH)}${waits ? '' : rest}`);
		attr(this.refusedPeers, 'title', 'From bwlimitd’s history, which has no reasons; frames of no peer are not in it' + (heard.length ? `; ${source(this.store, path(heard[0]))}` : '; not known'));
	}

	private drawSas(all: Row[]): void {
		const why = this.store.error('ipsec-status');
		const encrypted = all.filter((r) => r.sa !== 'none').sort((a, b) => Number(a.sa === 'up') - Number(b.sa === 'up'));
		const lines = encrypted.slice(0, 30).map((r): Fact => [
			r.peer,
			r.sa === 'up' ? `SA up, ${r.offload === 'packet' || r.offload === 'crypto' ? `${r.offload} offload` : 'no offload'}`
				: r.sa === 'down' ? 'no SA: closed' : 'not known',
			'What the data plane uses, from the maps: bwlimit-ctl grant list', r.sa === 'down' ? 'now' : '',
		]);
		if (encrypted.length > 30) lines.push([`${encrypted.length - 30} more`, '', '', '']);
		if (why && encrypted.length) lines.push(['charon', why.text, '', 'today']);
		this.sas.set(lines, source(this.store, this.serves('ipsec-status') ? 'ipsec-status' : 'grants'));
		this.sas.fades(this.store.fades('ipsec-status'));
	}

	private drawEvidence(status: Status | null, verify: Verify | null, all: Row[]): void {
		const audit = this.store.get<Audit>('audit');
		const policy = this.store.get<Policy>('policy');
		const journal = this.store.get<Journal>('journal');
		const verifyAge = this.store.age('verify');
		const closed = status ? closures(status, journal, all, policy) : [];
		this.evidence.set(status === null ? [] : [
			...(closed.length ? closed : [['closed', 'nothing', '', ''] as Fact]),
			...lowered(journal),
			...(status.journal.state === 'off' ? [['journal', 'none: a reboot forgets closures', '', 'today'] as Fact] : []),
			['verify', verify ? `${verify.ok ? 'clean' : `${verify.failed_count} failed`}${verify.warned_count ? `, ${verify.warned_count} warned` : ''}, ${ago(verifyAge)}`
				: DASH, 'bwlimit-load verify', !verify ? '' : !verify.ok ? 'now' : verified(verify, verifyAge, this.store.error('verify')) ? '' : 'today'],
			['ledger', status.ledger, 'Volumes on disk: bwlimit-ctl usage', ''],
			['checkpoint', audit?.record_count == null ? `${DASH} (${this.serves('audit') ? (this.store.error('audit')?.todo ?? 'not known yet') : 'root: audit show'})`
				: `${count(audit.record_count)} records, ${ago(this.store.age('audit'))}`, audit?.checkpoint ?? 'bwlimit-ctl audit checkpoint', ''],
			['policy', policy ? `${policy.digest.slice(0, 8)}, change ${policy.generation}` : DASH, policy?.digest ?? '', ''],
		], source(this.store, 'status', 'journal', 'policy'));
		this.evidence.fades(this.store.fades('status'));
	}

	private drawEnds(all: Row[], status: Status | null, log: Log[] | null): void {
		const lines = status ? ends(status, all, this.store.get<Policy>('policy')) : [];
		for (const l of (log ?? []).filter((x) => x.level !== 'debug').slice(-25).reverse())
			lines.push([clock(l.time, true), l.text, `${l.event}, ${l.level}${l.program ? `, by ${l.program}` : ''}`,
				ALARMS.has(l.level) ? 'now' : l.level === 'error' ? 'today' : '']);
		if (log === null) lines.push(['log', this.serves('log') ? (this.store.error('log')?.todo ?? this.store.error('log')?.text ?? DASH) : `${DASH} (journalctl -u bwlimitd)`, 'journalctl -u bwlimitd', '']);
		this.ends.set(lines, source(this.store, 'status', 'grants', 'log'));
	}

	close(): void {
		this.chart.close();
		this.rounds.close();
	}
}

function pathWords(r: Row): string {
	if (r.path === null) return DASH;
	if (r.sa === 'none') return r.path;
	if (r.sa === 'up') return `esp${r.offload === 'packet' ? ' hw' : r.offload === 'crypto' ? ' crypto hw' : ''} ✓`;
	return r.sa === 'down' ? 'no SA' : 'esp ?';
}

/** What left through all exits, from their histories. */
function before(histories: (History | null)[]): Series[] {
	const sums = new Map<number, Series>();
	for (const hist of histories) {
		for (const p of hist ? written(hist) : []) {
			const time = Date.parse(p.time) / 1000;
			const at = sums.get(time) ?? { time, bits: 0, refused: 0 };
			at.bits = total([at.bits, p.sent_bits_per_second]);
			at.refused = (at.refused ?? 0) + (8 * p.sent_dropped_bytes) / 10;
			sums.set(time, at);
		}
	}
	return [...sums.values()].sort((a, b) => a.time - b.time);
}

/** What all exits together may send: each zone at most its limit, all together at most the node's. null: no limit. */
function allowedOut(exits: Row[], policy: Policy): number | null {
	const zones = new Map<string, number | null>();
	for (const r of exits) {
		const z = r.zone ?? '';
		const sum = zones.has(z) ? zones.get(z) : 0;
		zones.set(z, sum == null || r.limit == null ? null : sum + r.limit);
	}
	let all: number | null = 0;
	for (const [zone, sum] of zones) {
		const most = policy.zones.find((z) => z.zone === zone)?.limit?.rate_bits_per_second ?? null;
		const least: number | null = sum === null ? most : most === null ? sum : Math.min(sum as number, most);
		all = all === null || least === null ? null : all + least;
	}
	const node = policy.node_limit?.rate_bits_per_second ?? null;
	return all === null ? node : node === null ? all : Math.min(all, node);
}

/** What happened within the last day, by the clock of the DPU; if at is null, everything. */
export function logLines(doc: unknown, at: string | null): Log[] | null {
	if (doc === null || (doc as ErrorDocument).kind === 'error') return null;
	const from = at === null ? -Infinity : Date.parse(at) - DAY_MS;
	return (doc as { lines: Log[] }).lines.filter((l) => Date.parse(l.time) > from);
}
