// SPDX-License-Identifier: GPL-2.0-or-later
// A table that sorts, groups and folds, as the URL says. Only changed cells are written; those of visible rows at once.
import { Keyed, attr, h, text } from './dom';
import { go, here } from './place';

export interface Column<R> {
	id: string;
	title: string;
	/** figures: aligned right, the largest first */
	figures?: boolean;
	sort?: (r: R) => number | string | null;
	text: (r: R) => string;
	/** draws more than text into the cell; called each time */
	draw?: (cell: HTMLElement, r: R) => void;
	tip?: string;
	/** width: large, middle, small; without it, the rest of the table's width */
	width?: 'l' | 'm' | 's';
}

export interface Group { key: string; title: string; words: string }

export interface TableOptions<R> {
	name: string;
	key: (r: R) => string;
	columns: Column<R>[];
	/** the order as the URL has it: COLUMN or -COLUMN */
	order: string;
	/** rows that come first in any order */
	worst: (r: R) => number;
	group?: (r: R) => Group | null;
	level: (r: R) => string;
	empty: string;
	/** the server sorts and pages: rows stay in their order of arrival, and a column has one direction; a second click returns to the server's own order */
	sorted?: boolean;
	/** the URL's parameter for the order; default: sort */
	parameter?: string;
}

/** Rows per page: each costs time at every update, and nobody reads more. */
const PAGE = 50;
/** An invisible row is written at every so-manyth update, and when it becomes visible: a reader who copies the table, or has it read out, gets
 * figures from the last seconds. */
const TURNS = 5;
/** Rows within so many pixels of the visible part are written at once, because heads and some rows are higher than others. */
const NEAR = 100;
/** Number of letters that fit into every column. */
const SHORT = 9;

/** One collator for all: making one costs far more than comparing. */
const byName = new Intl.Collator('en', { numeric: true });

const firstOf = <R>(c: Column<R>): string => (c.figures ? `-${c.id}` : c.id);

type Line<R> = { key: string; row: R; write: boolean } | { key: string; group: Group; folded: boolean };

export class Table<R> {
	readonly element: HTMLElement;
	private readonly body: Keyed<Line<R>>;
	private readonly heads: HTMLElement[];
	private readonly none: HTMLElement;
	private readonly more: HTMLButtonElement;
	private shown = PAGE;
	private rows: R[] = [];
	/** each name's place among all names: rows that are otherwise equal are sorted by it, at every update */
	private places = new Map<string, number>();
	private turn = 0;
	/** the visible part of the rows, in pixels, as the observer reports it: reading it would force a layout in the middle of an update */
	private top = 0;
	private height = Infinity;
	private tall = 0;
	private lines = 1;
	private readonly parameter: string;

	constructor(private o: TableOptions<R>) {
		this.parameter = o.parameter ?? 'sort';
		this.heads = o.columns.map((c) => {
			const th = h('th', { scope: 'col', class: `${c.figures ? 'figures' : ''} ${c.width ? `w-${c.width}` : ''}`.trim() || null, title: c.tip });
			if (c.sort) th.append(h('button', { type: 'button', onclick: () => this.sortBy(c) }, c.title, h('span', { class: 'arrow', 'aria-hidden': 'true' })));
			else th.append(c.title);
			return th;
		});
		const tbody = h('tbody');
		const watch = new ResizeObserver((seen) => {
			for (const { target, contentRect } of seen) {
				if (target === tbody) this.tall = contentRect.height;
				else this.height = contentRect.height;
			}
		});
		this.none = h('p', { class: 'empty' }, o.empty);
		this.more = h('button', { type: 'button', class: 'more', onclick: () => this.grow() });
		this.body = new Keyed<Line<R>>(tbody, (l) => l.key, (l) => this.make(l), (e, l) => this.update(e, l));
		this.element = h('div', { class: 'scroll table', tabindex: 0, role: 'region', 'aria-label': `${o.name}, table` },
			h('table', {}, h('caption', { class: 'hidden-text' }, o.name), h('thead', {}, h('tr', {}, ...this.heads)), tbody), this.none, this.more);
		watch.observe(this.element);
		watch.observe(tbody);
		this.element.addEventListener('scroll', () => {
			this.top = this.element.scrollTop;
			this.set(this.rows);
		}, { passive: true });
	}

	private order(): string {
		const given = here(this.parameter) || this.o.order;
		if (!this.o.sorted) return given;
		const c = this.o.columns.find((x) => x.id === given.replace(/^-/, ''));
		return c?.sort ? firstOf(c) : '';
	}
	private grow(): void {
		this.shown += PAGE;
		this.set(this.rows);
	}
	private sortBy(c: Column<R>): void {
		const now = this.order();
		const first = firstOf(c);
		go({ [this.parameter]: now !== first ? first : this.o.sorted ? '' : c.figures ? c.id : `-${c.id}` });
	}
	private place(keys: string[]): Map<string, number> {
		if (keys.length !== this.places.size || keys.some((k) => !this.places.has(k))) this.places = new Map([...keys].sort(byName.compare).map((k, i) => [k, i]));
		return this.places;
	}
	private sort(rows: R[]): R[] {
		if (this.o.sorted) return rows;
		const order = this.order();
		const down = order.startsWith('-');
		const column = this.o.columns.find((c) => c.id === order.replace(/^-/, ''));
		const value = column?.sort ?? (() => 0);
		const given = here(this.parameter) !== '';
		const keys = rows.map(this.o.key);
		const places = this.place(keys);
		return rows.map((row, i) => ({ row, worst: given ? 0 : this.o.worst(row), by: value(row), place: places.get(keys[i]) ?? 0 })).sort((a, b) => {
			if (a.worst !== b.worst) return b.worst - a.worst;
			// Unknown is neither large nor small: it is last in both directions.
			if (a.by === b.by) return a.place - b.place;
			if (a.by === null || b.by === null) return a.by === null ? 1 : -1;
			const c = typeof a.by === 'string' ? byName.compare(a.by, String(b.by)) : a.by - Number(b.by);
			return down ? -c : c;
		}).map((x) => x.row);
	}

	/** none: what to say if there is no row at all */
	set(rows: R[], none = this.o.empty): void {
		text(this.none, none);
		this.rows = rows;
		const order = this.order();
		this.o.columns.forEach((c, i) => {
			const by = order.replace(/^-/, '') === c.id;
			attr(this.heads[i], 'aria-sort', by && c.sort ? (order.startsWith('-') ? 'descending' : 'ascending') : null);
		});
		const sorted = this.sort(rows);
		const folded = new Set(here('fold').split(',').filter(Boolean));
		this.turn++;
		const insight = this.insight();
		const lines: Line<R>[] = [];
		const groups = new Map<string, R[]>();
		for (const r of sorted) {
			const g = this.o.group?.(r)?.key ?? '';
			const of = groups.get(g);
			if (of) of.push(r);
			else groups.set(g, [r]);
		}
		let left = this.shown;
		for (const [key, of] of groups) {
			const group = this.o.group?.(of[0]);
			if (group) {
				lines.push({ key: `group ${key}`, group: { ...group, words: this.worstOf(of, group) }, folded: folded.has(key) });
				if (folded.has(key)) continue;
			}
			for (const row of of.slice(0, left)) lines.push({ key: `row ${this.o.key(row)}`, row, write: insight(lines.length) || (lines.length + this.turn) % TURNS === 0 });
			left -= Math.min(left, of.length);
		}
		this.lines = lines.length;
		this.body.set(lines);
		attr(this.none, 'hidden', rows.length > 0 ? '' : null);
		const hidden = rows.length - this.shown;
		attr(this.more, 'hidden', hidden > 0 ? null : '');
		if (hidden > 0) text(this.more, `${Math.min(hidden, PAGE)} more of ${hidden}`);
	}
	/** Returns a function that says whether the line of that number is visible, or nearly. */
	private insight(): (at: number) => boolean {
		const each = this.tall / this.lines;
		if (!(each > 0)) return () => true;
		return (at) => at * each > this.top - NEAR && at * each < this.top + this.height + NEAR;
	}
	private worstOf(of: R[], group: Group): string {
		const bad = of.filter((r) => this.o.worst(r) > 0).length;
		return `${of.length}${bad ? `, ${bad} need${bad === 1 ? 's' : ''} a look` : ''}${group.words ? ` · ${group.words}` : ''}`;
	}

	private make(l: Line<R>): HTMLElement {
		if ('row' in l) {
			const e = h('tr', {}, ...this.o.columns.map((c, i) =>
				i === 0 ? h('th', { scope: 'row' }) : h('td', { class: c.figures ? 'figures' : null })));
			this.write(e, l.row);
			return e;
		}
		const key = l.group.key;
		const button = h('button', { type: 'button', class: 'fold', onclick: () => this.fold(key) });
		return h('tr', { class: 'group' }, h('th', { scope: 'rowgroup', colspan: this.o.columns.length }, button));
	}
	private fold(key: string): void {
		const folded = new Set(here('fold').split(',').filter(Boolean));
		if (!folded.delete(key)) folded.add(key);
		go({ fold: [...folded].join(',') });
	}
	private write(e: Element, row: R): void {
		attr(e, 'data-level', this.o.level(row));
		this.o.columns.forEach((c, i) => {
			const cell = e.children[i] as HTMLElement;
			if (c.draw) return c.draw(cell, row);
			const words = c.text(row);
			text(cell, words);
			attr(cell, 'data-long', words.length > SHORT ? '' : null);
		});
	}
	private update(e: HTMLElement, l: Line<R>): void {
		if ('row' in l) {
			if (l.write) this.write(e, l.row);
		} else {
			const button = e.querySelector('button') as HTMLElement;
			attr(button, 'aria-expanded', String(!l.folded));
			text(button, `${l.folded ? '▸' : '▾'} ${l.group.title}: ${l.group.words}`);
		}
	}
}

/** A share of a limit as a bar that ends at the limit; never only by colour: the cell has the figure, too. */
export function bar(cell: HTMLElement, share: number | null, words: string): void {
	let figure = cell.querySelector<HTMLElement>('.figure');
	if (!figure) {
		figure = h('span', { class: 'figure' });
		cell.replaceChildren(figure, h('span', { class: 'bar', 'aria-hidden': 'true' }, h('span', { class: 'fill' })));
	}
	text(figure, words);
	const outer = figure.nextElementSibling as HTMLElement;
	const fill = outer.firstElementChild as HTMLElement;
	attr(outer, 'data-none', share === null ? '' : null);
	attr(outer, 'data-full', share !== null && share >= 0.97 ? '' : null);
	const width = `${(100 * Math.min(1, Math.max(0, share ?? 0))).toFixed(1)}%`;
	if (fill.style.width !== width) fill.style.width = width;
}

const SHAPES: Record<string, [string, string]> = {
	now: ['■', 'now'],
	today: ['▲', 'today'],
	note: ['●', 'note'],
	closed: ['✕', 'closed'],
	well: ['', ''],
};
/** A shape before a name, with a word for people who cannot see it. */
export function mark(level: string): HTMLElement {
	const [shape, w] = SHAPES[level] ?? SHAPES.well;
	return h('span', { class: `mark ${level}` }, h('span', { 'aria-hidden': 'true' }, shape), w ? h('span', { class: 'hidden-text' }, ` ${w}: `) : null);
}

/** A row's link, with the mark of its level. */
export function rowLink(cell: HTMLElement, name: string, href: string, level: string): void {
	let a = cell.querySelector('a');
	if (!a || cell.dataset.level !== level) {
		const focused = a !== null && document.activeElement === a;
		a = h('a', { class: 'row-link' });
		cell.replaceChildren(mark(level), a);
		cell.dataset.level = level;
		if (focused) a.focus();
	}
	attr(a, 'href', href);
	text(a, name);
}

/** Filters as links, of which one is current; each shows its number of rows. */
export class Filters {
	readonly element = h('nav', { class: 'filters', 'aria-label': 'Show' });
	private links = new Map<string, HTMLAnchorElement>();

	constructor(private parameter: string, private names: [string, string][]) {
		for (const [id, title] of names) {
			const a = h('a', {}, title);
			this.links.set(id, a);
			this.element.append(a);
		}
	}
	set(counts: Record<string, number | null>, linkTo: (changes: Record<string, string>) => string): void {
		for (const [id, title] of this.names) {
			const a = this.links.get(id);
			if (!a) continue;
			attr(a, 'href', linkTo({ [this.parameter]: id }));
			attr(a, 'aria-current', here(this.parameter) === id ? 'true' : null);
			text(a, counts[id] == null ? title : `${title} ${counts[id]}`);
		}
	}
}
