// SPDX-License-Identifier: GPL-2.0-or-later
// The page of a fleet: the same head, one table of trays paged by the server, rollouts, pending signatures.
import { Chart, chartKey } from './chart';
import { attr, commandLine, h, text } from './dom';
import { type Finding, verdict } from './findings';
import { DASH, bytes, count, order, percent, rate, span, typed } from './format';
import { ClosuresPanel, PendingPanel, RolloutsPanel, lackFindings, rolloutFindings } from './fleet_panels';
import { EXFIL } from './node';
import { ExfilCard, type Fact, FindingsPanel, source } from './panels';
import { go, here, link } from './place';
import type { Store } from './store';
import { Table, bar, mark, rowLink } from './table';
import type { Api, ErrorDocument, Exfil, FleetClosures, FleetPending, FleetRollouts, FleetStatus, History, Pending, Sum, Tray } from './types';
import { Rounds, type View } from './view';

const PAGE = 50;
/** What needs attention does not depend on the rows shown: it is requested separately, for the whole fleet. */
const WORST = 'fleet-status?limit=20&sort=worst';
/** Columns by which the server sorts all trays. */
const ORDERS: Record<string, string> = { tray: 'name', rate: 'passed', drops: 'dropped' };
/** Trays answer the controller each half minute. */
const LATE_S = 180;

export function trayLevel(t: Tray): string {
	if (!t.alive || (t.alarm_count ?? 0) > 0) return 'now';
	if (t.fresh === false || (t.closed_count ?? 0) > 0 || t.why !== null || t.late) return 'today';
	return t.heard_ago_s === null || t.heard_ago_s > LATE_S ? 'closed' : 'well';
}

function trayWhy(t: Tray): string {
	const words = [
		t.alive ? '' : 'not alive',
		t.alarm_count ? `${t.alarm_count} alarm${t.alarm_count === 1 ? '' : 's'}` : '',
		t.fresh === false ? 'signed time is old: check its clock and its link' : '',
		t.closed_count ? `${t.closed_count} closed` : '',
		t.late ? `not acknowledged: has version ${t.policy_version}` : '',
		t.why ?? '',
	];
	return words.filter(Boolean).join('; ') || DASH;
}

/** Who vouches for its status. */
const trayWord = (t: Tray): string => ({ signed: 'its status is signed', unsigned: 'its status is not signed: only its certificate vouches for it', refused: 'its status is refused: an earlier one is shown', unjudged: 'its status cannot be judged: enrol it again', late: 'its status is late: it is held back, or a clock is wrong' })[t.status_signature ?? ''] ?? 'no status is known';

const usedShare = (s: Sum): number | null => (s.volume_bytes && s.used_bytes !== null ? s.used_bytes / s.volume_bytes : null);
/** A tray that is late, old or closed is looked at first; a tray with an alarm loses its grants. */
const lookAt = (t: Tray): string | null => typed`bwlimit-ctl --fleet status --tray ${t.tray}`;
const revokeTray = (t: Tray): string | null => typed`bwlimit-ctl --fleet revoke --tray ${t.tray} --key YOUR.pem`;

export class FleetPage implements View {
	readonly element: HTMLElement;
	title = 'bwlimit fleet';
	private readonly rounds: Rounds;
	private readonly needs = new FindingsPanel();
	private readonly exfil = new ExfilCard('the site');
	private readonly leaving = h('p', { class: 'figure-medium' });
	private readonly alive = h('p', { class: 'small' });
	private readonly chart = new Chart('What all trays sent, last hour', 96);
	private readonly sums: Table<Sum>;
	private readonly trays: Table<Tray>;
	private readonly paging = h('nav', { class: 'filters paging', 'aria-label': 'Pages of trays' });
	private readonly pages = { back: h('a', {}, '← previous'), words: h('span'), next: h('a', {}, 'next →') };
	private readonly label = h('input', { type: 'search', id: 'find', 'aria-label': 'Only trays with this label, such as rack=7', placeholder: 'label, such as rack=7 /', autocomplete: 'off', spellcheck: 'false' });
	private readonly group = h('select', { 'aria-label': 'Group the rows shown', id: 'group', onchange: () => go({ group: this.group.value, fold: '' }) });
	private readonly rollouts = new RolloutsPanel();
	private readonly pending = new PendingPanel();
	private readonly closures = new ClosuresPanel();
	private readonly tray = h('section', { class: 'card one-tray', 'aria-labelledby': 'one-tray', hidden: '' });
	private trayShown = '';

	constructor(private store: Store, private api: () => Api | null) {
		this.rounds = new Rounds(store, api);
		this.sums = new Table<Sum>({
			name: 'Racks, labels and zones',
			parameter: 'groups',
			key: (s) => `${s.group_kind} ${s.group}`,
			order: 'group',
			worst: (s) => (s.group_kind === 'fleet' ? 3 : s.alive_count < s.tray_count ? 2 : (s.worst_share ?? 0) > 0.8 ? 1 : 0),
			level: (s) => (s.alive_count < s.tray_count ? 'today' : 'well'),
			empty: 'No labels yet.',
			columns: [
				{ id: 'group', title: 'Group', sort: (s) => s.group, text: (s) => s.group, draw: (c, s) =>
					rowLink(c, s.group_kind === 'fleet' ? 'all trays' : `${s.group_kind === 'zone' ? 'zone ' : ''}${s.group}`, link({ label: s.group_kind === 'label' ? s.group : '', offset: '' }), s.alive_count < s.tray_count ? 'today' : 'well') },
				{ id: 'trays', title: 'alive', figures: true, sort: (s) => s.tray_count, text: (s) => `${count(s.alive_count)} / ${count(s.tray_count)}` },
				{ id: 'rate', title: 'now', figures: true, sort: (s) => s.passed_bits_per_second, text: (s) => rate(s.passed_bits_per_second) },
				{ id: 'drops', title: 'refused', figures: true, sort: (s) => s.dropped_bits_per_second, text: (s) => rate(s.dropped_bits_per_second) },
				{ id: 'used', title: 'volume used', figures: true, sort: (s) => usedShare(s), text: () => '', draw: (c, s) =>
					bar(c, usedShare(s), s.volume_bytes ? `${percent(usedShare(s))} of ${bytes(s.volume_bytes)}` : DASH) },
				{ id: 'worst', title: 'worst tray', sort: (s) => s.worst_share, text: (s) => (s.worst_tray === null ? DASH
					: `${s.worst_tray}${s.worst_share != null ? `, ${percent(s.worst_share)} used` : s.worst_dropped_bits_per_second ? `, refuses ${rate(s.worst_dropped_bits_per_second)}` : ''}`) },
			],
		});
		this.trays = new Table<Tray>({
			name: 'Trays',
			key: (t) => t.tray,
			order: '',
			sorted: true,
			worst: (t) => ({ now: 2, today: 1 })[trayLevel(t)] ?? 0,
			group: (t) => {
				const by = here('group');
				if (!by) return null;
				const value = t.labels.find((l) => l.startsWith(`${by}=`)) ?? '';
				return { key: value || '-', title: value || `no ${by}`, words: 'of the rows shown' };
			},
			level: (t) => trayLevel(t),
			empty: 'No tray matches.',
			columns: [
				{ id: 'tray', title: 'Tray', width: 'm', sort: (t) => t.tray, text: (t) => t.tray, draw: (c, t) => rowLink(c, t.tray, link({ tray: t.tray }), trayLevel(t)) },
				{ id: 'labels', title: 'labels', width: 'm', text: (t) => t.labels.join(' ') || DASH },
				{ id: 'policy', title: 'policy', width: 's', text: (t) => (t.policy_name === null ? DASH : `${t.policy_name} ${t.policy_version ?? ''}`) },
				{ id: 'rate', title: 'now', figures: true, width: 's', sort: (t) => t.passed_bits_per_second, text: (t) => rate(t.passed_bits_per_second) },
				{ id: 'drops', title: 'refused', figures: true, width: 's', sort: (t) => t.dropped_bits_per_second, text: (t) => rate(t.dropped_bits_per_second) },
				{ id: 'heard', title: 'heard ago', figures: true, width: 's', text: (t) => (t.heard_ago_s === null ? DASH : span(Math.floor(t.heard_ago_s))), tip: 'Since the tray last answered the controller' },
				{ id: 'signature', title: 'status', width: 's', text: (t) => t.status_signature ?? DASH, tip: 'Its own status: signed by the key that its enrolment names, or unsigned; refused, late, or unjudged if it cannot be judged' },
				{ id: 'why', title: 'what is wrong', text: (t) => trayWhy(t) },
			],
		});
		this.paging.append(this.pages.back, this.pages.words, this.pages.next);
		this.label.addEventListener('change', () => go({ label: this.label.value.trim(), offset: '' }, true));
		this.element = h('div', { class: 'node fleet' }, this.needs.element, this.exfil.element,
			h('section', { class: 'card leaving', 'aria-labelledby': 'leaving' }, h('div', { class: 'beside' }, h('h2', { id: 'leaving' }, 'All trays now'), this.leaving, chartKey()), this.alive, this.chart.element),
			this.tray, h('section', { class: 'peers', 'aria-labelledby': 'trays' }, h('div', { class: 'tools' }, h('h2', { id: 'trays' }, 'Trays'), this.label, this.group, this.paging), this.trays.element),
			h('div', { class: 'panels' },
				h('section', { class: 'panel sums', 'aria-labelledby': 'sums' }, h('h2', { id: 'sums' }, 'Racks, labels, zones'), this.sums.element),
				this.rollouts.element, this.pending.element, this.closures.element));
	}

	private statusPath(): string {
		const q = new URLSearchParams({ limit: String(PAGE), sort: ORDERS[here('sort').replace(/^-/, '')] ?? 'worst' });
		for (const name of ['label', 'offset']) if (here(name)) q.set(name, here(name));
		return `fleet-status?${q.toString()}`;
	}
	streams(): string[] {
		return [];
	}
	poll(now: number): void {
		this.rounds.ask(this.statusPath(), 5_000, now);
		this.rounds.ask(WORST, 5_000, now);
		this.rounds.ask('fleet-pending', 15_000, now);
		this.rounds.ask('fleet-rollouts', 5_000, now);
		this.rounds.ask('fleet-closures', 10_000, now);
		this.rounds.ask('fleet-history', 30_000, now);
		this.rounds.ask(EXFIL, 30_000, now);
		this.rounds.keep((p) => !p.startsWith('fleet-status?') || p === this.statusPath() || p === WORST);
	}

	render(): void {
		const s = this.store;
		const f = s.get<FleetStatus>(this.statusPath());
		const pending = s.get<FleetPending>('fleet-pending')?.documents ?? [];
		this.title = `${f?.fleet ?? this.api()?.name ?? 'fleet'} · bwlimit`;
		const worst = s.get<FleetStatus>(WORST);
		const error = s.error(WORST) ?? s.error(this.statusPath());
		if (worst) {
			const list = this.findings(worst, error, pending);
			this.needs.set(list, fleetVerdict(list));
		} else {
			this.needs.set(error ? [{ key: 'none', level: 'now', what: error.text, since: null, means: 'The controller does not report the state of its trays.', command: order(error.todo) }] : [],
				error ? { level: 'now', words: 'Nothing is known about this fleet' } : { level: 'note', words: 'Loading' });
		}
		this.exfil.set(s.get<Exfil>(EXFIL), s, EXFIL);
		for (const [e, ...paths] of [[this.leaving.closest('section'), this.statusPath(), 'fleet-history'], [this.trays.element, this.statusPath()], [this.sums.element, this.statusPath()],
			[this.rollouts.element, 'fleet-rollouts'], [this.pending.element, 'fleet-pending'], [this.closures.element, 'fleet-closures']] as [Element, ...string[]][])
			attr(e, 'title', source(s, ...paths));
		this.drawRates(f);
		this.drawTrays(f);
		this.sums.set(f?.sums ?? []);
		this.drawVersions(worst, [...(worst?.trays ?? []), ...(f?.trays ?? [])]);
		this.rollouts.set(s.get<FleetRollouts>('fleet-rollouts'), s.error('fleet-rollouts')?.text ?? null, new Date());
		this.pending.set(pending);
		this.closures.set(s.get<FleetClosures>('fleet-closures'), s.error('fleet-closures')?.text ?? null);
	}

	private findings(f: FleetStatus, error: ErrorDocument['error'] | null, pending: Pending[]): Finding[] {
		const list: Finding[] = [];
		const add = (key: string, level: Finding['level'], what: string, means: string, cmd: string | null, since: string | null = null): void => {
			list.push({ key, level, what, means, command: cmd, since });
		};
		if (error) add('unread', 'now', error.text, 'What you see of the trays is old. Each keeps its limits without the controller; leases end by themselves.', order(error.todo) ?? 'systemctl status bwlimit-controller');
		const dead = f.tray_count - f.alive_count;
		if (dead > 0) add('dead', 'now', `${count(dead)} tray${dead === 1 ? ' is' : 's are'} not alive`, 'Switched off, disconnected or stolen. Leases end by themselves.', 'bwlimit-ctl --fleet trays');
		const mute = f.alive_count - f.heard_count;
		if (mute > 0) add('mute', 'today', `${count(mute)} tray${mute === 1 ? ' does' : 's do'} not answer`, 'Alive in the store, but silent for three minutes: their numbers are missing in every sum.', 'bwlimit-ctl --fleet status');
		list.push(...lackFindings(this.store.get<FleetClosures>('fleet-closures')?.unacknowledged ?? []));
		const rollouts = this.store.get<FleetRollouts>('fleet-rollouts')?.rollouts ?? [];
		list.push(...rolloutFindings(rollouts, new Date()));
		const wide = pending.find((p) => p.widens);
		if (pending.length) add('pending', 'today', `${pending.length} document${pending.length === 1 ? '' : 's'} wait${pending.length === 1 ? 's' : ''} for a signature`,
			`No tray reads it before that.${wide ? ` ${wide.document} widens: ${wide.widenings[0]}${(wide.widening_count ?? 0) > 1 ? ', and more' : ''}.` : ''}`, 'bwlimit-ctl --fleet pending');
		if (f.ending_certificate_count > 0) {
			const left = f.first_certificate_ends_in_s;
			add('certificates', left !== null && left < 3 * 86400 ? 'now' : 'today', `${count(f.ending_certificate_count)} certificate${f.ending_certificate_count === 1 ? ' ends' : 's end'} within 30 days`,
				`The first is that of ${f.first_certificate_tray ?? DASH}: ${left !== null && left < 0 ? 'it has ended' : `in ${span(left)}`}. A tray without one is not asked for its numbers; it may use the same one for the store.`, null);
		}
		// While it still goes out in stages, trays that it has not reached yet are expected.
		const going = rollouts.some((r) => r.phase === 'going');
		if (f.late_count > 0) add('late', going ? 'note' : 'today', `${count(f.late_count)} of ${count(f.tray_count)} have an older version of their policy`,
			going ? 'A policy is rolled out in stages: not all trays have been reached yet.' : 'No policy is rolled out in stages: they have not taken it, or another tray reports a newer version than it has.', 'bwlimit-ctl --fleet status --sort worst');
		for (const t of f.trays) {
			const level = trayLevel({ ...t, late: false });
			if (t.alive && (level === 'now' || level === 'today'))
				add(`tray ${t.tray}`, level, t.tray, trayWhy(t), level === 'now' ? revokeTray(t) : lookAt(t));
		}
		for (const z of f.sums.filter((x) => x.group_kind === 'zone' && (usedShare(x) ?? 0) > 0.8))
			add(`zone ${z.group}`, 'today', `zone ${z.group}: ${percent(usedShare(z))} of its volume is used`, `Used most by ${z.worst_tray ?? DASH}.`,
				typed`bwlimit-ctl --fleet revoke --all --zone ${z.group} --key YOUR.pem`);
		const rank = { now: 0, today: 1, note: 2 };
		return list.sort((a, b) => rank[a.level] - rank[b.level]);
	}

	private drawRates(f: FleetStatus | null): void {
		const all = f?.sums.find((s) => s.group_kind === 'fleet');
		text(this.leaving, all ? rate(all.passed_bits_per_second) : DASH);
		text(this.alive, f ? `${count(f.alive_count)} of ${count(f.tray_count)} trays alive, ${count(f.heard_count)} answered; refused now: ${rate(all?.dropped_bits_per_second)}` : '');
		const hist = this.store.get<History>('fleet-history');
		this.chart.set((hist?.points ?? []).map((p) => ({ time: Date.parse(p.time) / 1000, bits: p.sent_bits_per_second, refused: (8 * p.sent_dropped_bytes) / (hist?.step_s ?? 60) })), null,
			hist ? `to all peers, including contained ones; a point is ${span(hist.step_s)}` : this.store.error('fleet-history')?.text ?? 'not known yet');
	}

	private drawTrays(f: FleetStatus | null): void {
		const offset = Number(here('offset')) || 0;
		this.drawOne(f?.trays.find((t) => t.tray === here('tray')) ?? null);
		this.trays.set(f?.trays ?? []);
		this.drawGroups(f);
		attr(this.trays.element, 'data-fades', this.store.fades(this.statusPath(), 60_000) ? '' : null);
		const total = f ? (here('label') ? f.sums.find((s) => s.group_kind === 'label' && s.group === here('label'))?.tray_count ?? f.tray_count : f.tray_count) : 0;
		text(this.pages.words, f ? `${count(Math.min(offset + 1, total))} to ${count(offset + f.trays.length)} of ${count(total)}` : DASH);
		attr(this.pages.back, 'href', offset > 0 ? link({ offset: String(Math.max(0, offset - PAGE) || '') }) : null);
		attr(this.pages.back, 'aria-disabled', offset > 0 ? null : 'true');
		const more = f !== null && offset + f.trays.length < total && f.trays.length > 0;
		attr(this.pages.next, 'href', more ? link({ offset: String(offset + PAGE) }) : null);
		attr(this.pages.next, 'aria-disabled', more ? null : 'true');
		if (document.activeElement !== this.label && this.label.value !== here('label')) this.label.value = here('label');
	}

	/** Groups by each key of the fleet's labels. */
	private drawGroups(f: FleetStatus | null): void {
		const keys = [...new Set([here('group'), ...(f?.sums ?? []).flatMap((s) => (s.group_kind === 'label' ? [s.group.split('=')[0]] : []))])].filter(Boolean).sort();
		if (this.group.dataset.keys !== keys.join('\n')) {
			this.group.dataset.keys = keys.join('\n');
			this.group.replaceChildren(h('option', { value: '' }, 'no groups'), ...keys.map((k) => h('option', { value: k }, `by ${k}`)));
		}
		if (this.group.value !== here('group')) this.group.value = here('group');
	}

	/** The chosen tray: what is wrong, and what to type. Its own page is served by its own bwlimit-web. */
	private drawOne(t: Tray | null): void {
		attr(this.tray, 'hidden', t ? null : '');
		const says = t ? `${t.tray} ${trayWhy(t)} ${trayWord(t)}` : '';
		if (!t || this.trayShown === says) return;
		this.trayShown = says;
		const lines = [lookAt(t), revokeTray(t), typed`bwlimit-ctl --fleet expel ${t.tray} --key YOUR.pem`, ...t.labels.map((l) => typed`bwlimit-ctl --fleet top --label ${l}`)];
		this.tray.replaceChildren(h('div', { class: 'beside' }, h('h2', { id: 'one-tray' }, mark(trayLevel(t)), t.tray), h('span', {}, trayWhy(t)), h('span', { class: 'small' }, trayWord(t)),
			h('a', { href: link({ tray: '' }) }, 'close')), h('div', { class: 'beside' }, ...lines.filter((l) => l !== null).map((l) => commandLine(l))));
	}

	/** Counts over all trays, made by the server; names only of trays whose rows are here. */
	private drawVersions(f: FleetStatus | null, rows: Tray[]): void {
		const lines: Fact[] = [];
		if (f) {
			for (const p of f.policies.slice(0, 4)) lines.push([`${p.policy_name} ${p.policy_version}`, `in force on ${count(p.tray_count)} of ${count(f.tray_count)} trays`, 'As the trays report', '']);
			if (f.policies.length > 4) lines.push([`${f.policies.length - 4} more`, '', 'bwlimit-ctl --fleet status', '']);
			const late = [...new Set(rows.filter((t) => t.late).map((t) => t.tray))].slice(0, 8);
			if (f.late_count > 0) lines.push(['not acknowledged', late.join(', ') + (f.late_count > late.length ? ` and ${count(f.late_count - late.length)} more` : ''),
				'An older version than another tray reports of the same policy', 'today']);
		}
		this.rollouts.versions.set(lines, source(this.store, this.statusPath()));
	}

	close(): void {
		this.chart.close();
		this.rounds.close();
	}
}

function fleetVerdict(list: Finding[]): ReturnType<typeof verdict> {
	const v = verdict(list, true);
	return v.level === 'well' ? { level: 'well', words: 'Every tray is well' } : { ...v, words: v.words.replace('All promises hold · ', '') };
}
