// SPDX-License-Identifier: GPL-2.0-or-later
// Parts that the pages of a node, a peer and a fleet share.
import { Keyed, attr, commandLine, h, say, text } from './dom';
import type { Finding, Level } from './findings';
import { ago, bytes, clock, percent, span } from './format';
import { link } from './place';
import type { Store } from './store';
import { mark } from './table';
import type { Exfil } from './types';

/** For a tooltip: the documents from which figures are made, and the age of each. */
export function source(store: Store, ...paths: string[]): string {
	return paths.map((p) => `${p.split('?')[0]}, ${store.age(p) === null ? 'not known' : ago(store.age(p))}`).join('; ');
}

/** What needs attention, worst first: four are visible, the rest below. */
export class FindingsPanel {
	readonly element: HTMLElement;
	private readonly head = h('h2', { id: 'needs' });
	private readonly first = h('ul', { class: 'findings' });
	private readonly rest = h('ul', { class: 'findings' });
	private readonly more: HTMLElement;
	private readonly moreWords = h('summary');
	private readonly lists: Keyed<Finding>[];

	constructor() {
		this.more = h('details', { class: 'more-findings' }, this.moreWords, this.rest);
		this.element = h('section', { class: 'needs', 'aria-labelledby': 'needs' }, this.head, this.first, this.more);
		this.lists = [this.first, this.rest].map((ul) => new Keyed<Finding>(ul, (f) => `${f.key}|${f.level}|${f.command}`, make, update));
	}
	set(list: Finding[], verdict: { level: Level | 'well'; words: string }): void {
		attr(this.element, 'data-level', verdict.level);
		text(this.head, verdict.words);
		say(verdict.words);
		const seen = list.length > 5 ? 4 : 5;
		this.lists[0].set(list.slice(0, seen));
		this.lists[1].set(list.slice(seen));
		attr(this.more, 'hidden', list.length > seen ? null : '');
		text(this.moreWords, `${list.length - seen} more`);
	}
}

function make(f: Finding): HTMLElement {
	return h('li', { 'data-level': f.level },
		h('span', { class: 'what' }, mark(f.level), f.peer ? h('a', { href: link({ peer: f.peer }) }) : h('b')),
		h('span', { class: 'since' }), h('span', { class: 'means' }), f.command ? commandLine(f.command) : h('span'));
}
function update(e: HTMLElement, f: Finding): void {
	const what = e.children[0].lastElementChild as HTMLElement;
	text(what, f.what);
	text(e.children[1], f.since ?? '');
	text(e.children[2], f.means);
	attr(e.children[2], 'title', f.means);
}

/** How much could have left after so many seconds, in the worst case: the point of the curve at or after it, so never less than the truth.
 * null: the curve is not served, or ends earlier. The long-run mean would be no bound: volumes leave in bursts. */
export function goneAfter(x: Exfil, seconds: number): number | null {
	return x.curve_bytes?.[Math.ceil(8 * Math.log2(seconds))] ?? null;
}
/** There is no exit at all. For a tray about which nothing is known nobody can say so; it is not `never` then. */
const shut = (x: Exfil): boolean => x.never && x.exit_count === 0;
function tomorrowWords(x: Exfil): string {
	if (shut(x)) return 'could be gone by tomorrow: nothing';
	const day = goneAfter(x, 86400);
	if (day === null) return `could be gone by tomorrow: – (${x.curve_bytes ? 'the curve ends before' : 'the server has no curve for it'})`;
	return `could be gone by tomorrow: at most ${bytes(day)} (${percent(Math.min(1, day / x.size_bytes))} of it)`;
}
function bindsWords(x: Exfil): string {
	if (shut(x)) return 'no exit is open: nothing may leave';
	if (x.never) return `volumes end before that: less than ${bytes(x.size_bytes)} can leave through the ${x.exit_count === 1 ? 'only exit' : `${x.exit_count} exits`}`;
	return `at least; ${x.binding ? `the binding limit is ${x.binding}` : 'no single limit binds'}`;
}

function list(ul: HTMLElement, lines: string[]): void {
	if (ul.dataset.lines === lines.join('\n')) return;
	ul.dataset.lines = lines.join('\n');
	ul.replaceChildren(...lines.map((l) => h('li', {}, l)));
}

/** The largest figure on the page: how long a theft of 1 TB would take. */
export class ExfilCard {
	readonly element: HTMLElement;
	private readonly figure = h('p', { class: 'figure-large' });
	private readonly by = h('p', { class: 'by' });
	private readonly tomorrow = h('p');
	private readonly warnings = h('ul', { class: 'small warnings' });
	private readonly notes = h('ul', { class: 'small' });
	private readonly arithmetic: HTMLElement;

	constructor(private where: string) {
		this.arithmetic = h('details', { class: 'arithmetic' }, h('summary', {}, 'how this is calculated'), this.notes);
		this.element = h('section', { class: 'card exfil', 'aria-labelledby': 'exfil' },
			h('h2', { id: 'exfil' }, `1 TB out of ${where} would take`), this.figure, this.by, this.tomorrow, this.warnings, this.arithmetic);
	}
	set(x: Exfil | null, store: Store, path: string): void {
		attr(this.element, 'title', `By the policy in force: ${source(store, path)}`);
		const why = store.error(path);
		if (!x) {
			text(this.figure, '–');
			text(this.by, why ? why.text : 'not known yet');
			text(this.tomorrow, '');
			list(this.warnings, []);
			attr(this.arithmetic, 'hidden', '');
			return;
		}
		attr(this.arithmetic, 'hidden', null);
		text(this.figure, x.never ? 'for ever' : span(x.least_s));
		text(this.by, bindsWords(x));
		text(this.tomorrow, tomorrowWords(x));
		list(this.warnings, x.warnings.map((w) => `▲ ${w}`));
		const age = store.age(path);
		const lines = [
			`${x.exit_count} exit${x.exit_count === 1 ? '' : 's'}, ${x.contained_count} contained${x.unlimited_count ? `, ${x.unlimited_count} without a limit` : ''}; ${x.tray_count} tray${x.tray_count === 1 ? '' : 's'}`,
			`at once ${bytes(x.at_once_bytes)}, then ${bytes(x.long_run_bits_per_second == null ? null : x.long_run_bits_per_second / 8)} a second on average in the long run: less or more for a while`,
			`from the policy in force, ${ago(age)}: bwlimit-ctl ${this.where === 'the site' ? '--fleet ' : ''}exfil --size 1000000000000`,
		];
		list(this.notes, lines);
		attr(this.element, 'data-fades', store.fades(path, 120_000) ? '' : null);
	}
}

/** Name, value, source, level, command to type. */
export type Fact = [string, string, string, string, (string | null)?];

/** A small list of facts. */
export class Facts {
	readonly element: HTMLElement;
	private readonly list: Keyed<Fact & { key: string }>;
	private from = '';
	/** words: values are sentences */
	constructor(id: string, title: string, private none: string, words = false) {
		const dl = h('ul', { class: words ? 'facts words' : 'facts' });
		this.element = h('section', { class: 'panel', 'aria-labelledby': id, tabindex: 0 }, h('h2', { id }, title), dl);
		this.list = new Keyed(dl, (f) => f.key, (f) => h('li', {}, h('span', { class: 'name' }), h('span', { class: 'value' }), f[4] ? commandLine(f[4]) : null), (e, f) => {
			text(e.children[0], f[0]);
			text(e.children[1], f[1]);
			attr(e, 'title', [f[2], this.from].filter(Boolean).join('; ') || null);
			attr(e, 'data-level', f[3] || null);
		});
	}
	/** from: the documents of the lines, with their age */
	set(lines: Fact[], from = ''): void {
		this.from = from;
		const all: Fact[] = lines.length ? lines : [[this.none, '', '', '']];
		this.list.set(all.map((f, i) => Object.assign([...f] as Fact, { key: `${i} ${f[4] ?? ''}` })));
	}
	fades(old: boolean): void {
		attr(this.element, 'data-fades', old ? '' : null);
	}
}

/** Says how old the shown numbers are, and that nobody answers. */
export function silenceWords(store: Store, heard: Date): string | null {
	const s = store.silence() / 1000;
	return store.paused || s < 20 ? null
		: `The server has been silent for ${span(Math.floor(s))}. What you see is from ${clock(heard, true)}. Limits hold without it: they are in the kernel.`;
}
