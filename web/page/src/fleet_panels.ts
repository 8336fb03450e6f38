// SPDX-License-Identifier: GPL-2.0-or-later
// Parts of the fleet's page: rollouts in stages and the health of their trays; documents that wait for signatures, and what they widen;
// what is closed where, and which tray has not taken which document.
import { Keyed, attr, commandLine, h, text } from './dom';
import type { Finding } from './findings';
import { DASH, bytes, clock, count, order, span, typed } from './format';
import { Facts } from './panels';
import { mark } from './table';
import type { Closure, FleetClosures, FleetRollouts, Lacking, Pending, Rollout } from './types';

/** If a leader has not judged a rollout for this long, nobody judges it: a leader does so every half minute. */
const JUDGED_MS = 150_000;
const WORDS = 6;
const DONE = 2;

const nameOf = (r: Rollout): string => `${r.document.replace(/^policy\//, '')} ${r.document_version}${r.tray ? ` of ${r.tray}` : ''}`;
const isMute = (r: Rollout, now: Date): boolean => r.phase === 'going' && r.judged_at !== null && now.getTime() - Date.parse(r.judged_at) > JUDGED_MS;
function levelOf(r: Rollout, now: Date): 'now' | 'today' | 'note' | 'well' {
	return r.phase === 'stuck' ? 'now' : r.phase === 'back' || isMute(r, now) ? 'today' : r.phase === 'going' ? 'note' : 'well';
}
function stageWords(r: Rollout): string {
	const since = r.stage_since ? ` since ${clock(r.stage_since)}` : '';
	if (r.phase === 'done') return `in force everywhere${since}`;
	if (r.phase === 'back') return `rolled back at ${r.percent} % of the trays${since.replace('since', 'at')}: the previous policy is in force again`;
	if (r.phase === 'stuck') return `stopped at ${r.percent} % of the trays${since.replace('since', 'at')}: there is no previous policy to go back to`;
	const next = r.next_percent === null ? 'then it is done' : `then ${r.next_percent} %`;
	const soak = r.soak_ends_in_s === null ? '' : r.soak_ends_in_s > 0 ? `; soak: ${span(r.soak_ends_in_s)} left, ${next}` : `; its soak is over, ${next}`;
	return `rolled out to ${r.percent} % of the trays${since}${soak}`;
}
function healthWords(r: Rollout, now: Date): string {
	if (r.phase !== 'going') return r.why ?? '';
	if (r.judged_count === null || r.unwell_count === null) return `health: ${DASH} (the leader has not reported it)`;
	const names = r.waited_tray_names.length ? `; waits for ${r.waited_tray_names.join(', ')}${r.unwell_count > r.waited_tray_names.length ? ` and ${r.unwell_count - r.waited_tray_names.length} more` : ''}` : '';
	const is = r.unwell_count === 0 ? `all ${count(r.judged_count)} that it reaches are well` : `${count(r.unwell_count)} of ${count(r.judged_count)} unwell: ${r.why ?? DASH}${names}`;
	return `health: ${is}${isMute(r, now) ? `; not judged since ${clock(r.judged_at, true)}: does a controller lead?` : ''}`;
}

export function rolloutFindings(list: Rollout[], now: Date): Finding[] {
	return list.flatMap((r): Finding[] => {
		const level = levelOf(r, now);
		if (level === 'well') return [];
		const what = r.phase === 'going' ? `${nameOf(r)} is rolled out to ${r.percent} %` : r.phase === 'back' ? `${nameOf(r)} was rolled back at ${r.percent} %` : `${nameOf(r)} is stuck at ${r.percent} %`;
		return [{ key: `rollout ${r.document} ${r.tray ?? ''}`, level, what, since: r.stage_since ? `since ${clock(r.stage_since)}` : null, means: healthWords(r, now) || stageWords(r),
			command: 'bwlimit-ctl --fleet rollouts' }];
	});
}

/** Stages as a bar: each as wide as the part of the trays that it adds; the words beside it say the same. */
function drawStages(e: HTMLElement, r: Rollout): void {
	const says = JSON.stringify([r.stage_percents, r.percent, r.phase]);
	attr(e, 'hidden', r.phase === 'going' && r.stage_percents.length ? null : '');
	if (e.dataset.says === says) return;
	e.dataset.says = says;
	e.replaceChildren(...r.stage_percents.map((p, i) => {
		const part = h('span', { 'data-is': p < r.percent ? 'done' : p === r.percent ? 'now' : 'next' }, `${p} %`);
		part.style.flexGrow = String(Math.max(14, p - (r.stage_percents[i - 1] ?? 0)));
		return part;
	}));
}

export class RolloutsPanel {
	readonly element: HTMLElement;
	/** versions in force: below the rollouts */
	readonly versions = new Facts('versions', 'In force', 'no tray has reported', true);
	private readonly none = h('p', { class: 'empty' });
	private readonly list: Keyed<Rollout & { level: string; now: Date }>;

	constructor() {
		const ul = h('ul', { class: 'rollouts' });
		this.element = h('section', { class: 'panel', 'aria-labelledby': 'rollouts', tabindex: 0 }, h('h2', { id: 'rollouts' }, 'Policies being rolled out'), ul, this.none, this.versions.element);
		this.versions.element.removeAttribute('tabindex');
		this.list = new Keyed(ul, (r) => `${r.document} ${r.tray} ${r.level}`, (r) => h('li', {}, h('span', {}, mark(r.level), h('b', {})), h('span', { class: 'stages', role: 'presentation' }), h('span', {}), h('span', { class: 'small' })), (e, r) => {
			text(e.children[0].lastElementChild as HTMLElement, nameOf(r));
			drawStages(e.children[1] as HTMLElement, r);
			text(e.children[2], stageWords(r));
			text(e.children[3], healthWords(r, r.now));
		});
	}
	set(d: FleetRollouts | null, why: string | null, now: Date): void {
		const done = (d?.rollouts ?? []).filter((r) => r.phase === 'done');
		const list = [...(d?.rollouts ?? []).filter((r) => r.phase !== 'done'), ...done.slice(0, DONE)];
		this.list.set(list.map((r) => ({ ...r, level: levelOf(r, now), now })));
		const more = d ? d.rollout_count - list.length : 0;
		text(this.none, !d ? `${DASH} (${why ?? 'not known yet'})` : !list.length ? 'no policy has been rolled out yet' : more > 0 ? `${count(more)} more: bwlimit-ctl --fleet rollouts` : '');
		attr(this.none, 'hidden', this.none.textContent ? null : '');
	}
}

const least = (s: number | null): string => (s === null ? 'never' : span(s));
function widenWords(p: Pending): string {
	if (p.widens === null) return p.why ?? '';
	if (!p.widens) return 'widens nothing: one person suffices';
	return `▲ WIDENS, in ${count(p.widening_count)} place${p.widening_count === 1 ? '' : 's'}; the least time for ${bytes(p.size_bytes)} is then ${least(p.least_after_s)}, before ${least(p.least_before_s)}:`;
}

export class PendingPanel {
	readonly element: HTMLElement;
	private readonly none = h('p', { class: 'empty' }, 'nothing waits for a signature');
	private readonly list: Keyed<Pending>;

	constructor() {
		const ul = h('ul', { class: 'pending' });
		this.element = h('section', { class: 'panel', 'aria-labelledby': 'signatures', tabindex: 0 }, h('h2', { id: 'signatures' }, 'Waiting for signatures'), ul, this.none);
		this.list = new Keyed<Pending>(ul, (p) => `${p.document} ${p.document_version} ${p.digest}`, (p) => {
			const approve = typed`bwlimit-ctl --fleet approve ${p.document} --key YOUR.pem`;
			return h('li', {}, h('span', {}, mark('today'), h('b', {}, p.document)), h('span', { class: 'small' }), h('ul', { class: 'asks' }), approve ? commandLine(approve) : null);
		}, (e, p) => {
			text(e.children[1], `version ${p.document_version} for ${p.audience}; signed by ${p.signers.join(', ') || 'nobody yet'}; ends ${clock(p.not_after)}`);
			const more = p.widenings.length - WORDS;
			const lines = [...p.asks, widenWords(p), ...p.widenings.slice(0, WORDS).map((w) => `+ ${w}`), more > 0 ? `and ${count((p.widening_count ?? 0) - WORDS)} more, which approve shows` : ''].filter(Boolean);
			const ul = e.children[2] as HTMLElement;
			if (ul.dataset.says === lines.join('\n')) return;
			ul.dataset.says = lines.join('\n');
			ul.replaceChildren(...lines.map((l) => h('li', {}, l)));
		});
	}
	set(list: Pending[]): void {
		this.list.set(list);
		attr(this.none, 'hidden', list.length ? '' : null);
	}
}

const CLOSURES = 40;
const lackWords = (l: Lacking): string =>
	`${l.document} ${l.lack === 'missing' ? 'has not reached' : 'was refused by'} ${count(l.tray_count)} tray${l.tray_count === 1 ? '' : 's'}: ${l.tray_names.join(', ')}${l.tray_count > l.tray_names.length ? ` and ${count(l.tray_count - l.tray_names.length)} more` : ''}`;

/** A document that was just published is lacking, too: so only the alarm `withheld`, a minute later, makes this red. */
export function lackFindings(list: Lacking[]): Finding[] {
	return list.map((l) => ({ key: `lack ${l.lack} ${l.document}`, level: 'today', what: `${l.document} ${l.lack === 'missing' ? 'not acknowledged' : 'refused'} by ${count(l.tray_count)}`, since: null,
		means: `${l.tray_names.join(', ')}${l.tray_count > l.tray_names.length ? ' and more' : ''}${l.lack === 'missing' ? ': a signed time names it, but it has not arrived. After offline_for they fall to their floors.' : ''}`,
		command: 'bwlimit-ctl --fleet closures' }));
}

export class ClosuresPanel {
	readonly element: HTMLElement;
	private readonly none = h('p', { class: 'empty' });
	private readonly lacking: Keyed<Lacking>;
	private readonly list: Keyed<Closure>;

	constructor() {
		const lacks = h('ul', { class: 'closures' });
		const ul = h('ul', { class: 'closures' });
		this.element = h('section', { class: 'panel', 'aria-labelledby': 'closures', tabindex: 0 }, h('h2', { id: 'closures' }, 'Closures, and documents not taken'), lacks, ul, this.none);
		this.lacking = new Keyed<Lacking>(lacks, (l) => `${l.lack} ${l.document}`, () => h('li', {}, h('span', {}, mark('today'), h('span', {}))),
			(e, l) => text(e.children[0].lastElementChild as HTMLElement, lackWords(l)));
		this.list = new Keyed<Closure>(ul, (c) => `${c.tray} ${c.closure} ${c.peer} ${c.todo}`, (c) => {
			const line = order(c.todo);
			return h('li', {}, h('span', {}, mark(c.closure === 'peer' ? 'closed' : 'today'), h('b', {})), h('span', { class: 'small' }), line ? commandLine(line) : null);
		}, (e, c) => {
			text(e.children[0].lastElementChild as HTMLElement, `${c.tray}: ${c.closure === 'peer' ? c.peer ?? 'more peers' : c.closure}`);
			text(e.children[1], `${c.closed_at ? `since ${clock(c.closed_at)}` : 'since –'}; ${c.text}${c.alive ? '' : '; not alive: last report'}`);
		});
	}
	set(d: FleetClosures | null, why: string | null): void {
		const list = (d?.closures ?? []).slice(0, CLOSURES);
		this.lacking.set(d?.unacknowledged ?? []);
		this.list.set(list);
		const more = d ? d.closure_count - list.length : 0;
		text(this.none, !d ? `${DASH} (${why ?? 'not known yet'})` : more > 0 ? `${count(more)} more: bwlimit-ctl --fleet closures` : list.length || d.unacknowledged.length ? '' : 'nothing is closed, and every document was taken');
		attr(this.none, 'hidden', this.none.textContent ? null : '');
	}
}
