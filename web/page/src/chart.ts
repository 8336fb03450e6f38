// SPDX-License-Identifier: GPL-2.0-or-later
// A rate over time, with its limit as a line; and the same numbers as a table.
import type uPlot from 'uplot';
import { h, text } from './dom';
import { clock, count, rate } from './format';

export interface Series { time: number; bits: number | null; refused: number | null }

const TABLE_ROWS = 120;

/** uPlot is a third of the page, and the first view does not need it: it is loaded with the first chart. */
let Plot: typeof uPlot | null = null;
let coming: Promise<void> | null = null;
const fetchPlot = (): Promise<void> => (coming ??= import('uplot').then((m) => { Plot = m.default; }, () => { coming = null; }));

function color(name: string): string {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** The colour scheme of the charts; a chart is made anew when it changes. */
const dark = matchMedia('(prefers-color-scheme: dark)');

export class Chart {
	readonly element: HTMLElement;
	private plot: uPlot | null = null;
	private readonly box: HTMLElement;
	private readonly body: HTMLElement;
	private readonly words: HTMLElement;
	private readonly details: HTMLDetailsElement;
	private readonly summary = h('summary', {}, 'as a table');
	private points: Series[] = [];
	private limit: number | null = null;
	private seconds = false;
	/** of the box, as the observer reports it: reading it would force a layout in the middle of an update */
	private width = 0;
	private readonly watch: ResizeObserver;
	private readonly redraw = (): void => this.draw(true);

	/** name: what is drawn, for people who cannot see it. */
	constructor(name: string, private height: number) {
		this.box = h('div', { class: 'plot', 'aria-hidden': 'true' });
		this.words = h('span', { class: 'plot-words' });
		this.body = h('tbody');
		this.details = h('details', { class: 'as-table', ontoggle: () => this.fill() },
			this.summary,
			h('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': `${name}, as a table` },
				h('table', {}, h('thead', {}, h('tr', {}, h('th', { scope: 'col' }, 'time'), h('th', { scope: 'col' }, 'sent'), h('th', { scope: 'col' }, 'refused'),
					h('th', { scope: 'col' }, 'limit now'))), this.body)));
		this.element = h('figure', { class: 'chart', 'aria-label': name }, this.box, h('figcaption', {}, this.words, this.details));
		this.watch = new ResizeObserver(([e]) => {
			const width = (this.width = Math.floor(e.contentRect.width));
			if (this.plot && width > 0 && width !== this.plot.width) this.plot.setSize({ width, height: this.height });
			else if (!this.plot) this.draw(false);
		});
		this.watch.observe(this.box);
		dark.addEventListener('change', this.redraw);
	}

	set(points: Series[], limit: number | null, words: string): void {
		this.points = points;
		this.limit = limit;
		text(this.words, words);
		text(this.summary, points.length > TABLE_ROWS ? `as a table: the newest ${count(TABLE_ROWS)} of ${count(points.length)}` : 'as a table');
		this.draw(false);
		if (this.details.open) this.fill();
	}

	private draw(anew: boolean): void {
		if (this.width === 0) return;
		if (!Plot) {
			void fetchPlot().then(() => Plot && this.box.isConnected && this.draw(true));
			return;
		}
		// One point has no width, so an empty minute is put before it.
		const last = this.points.at(-1)?.time ?? Date.now() / 1000;
		const points = this.points.length > 1 ? this.points : [{ time: last - 60, bits: null, refused: null }, this.points[0] ?? { time: last, bits: null, refused: null }];
		const data: uPlot.AlignedData = [points.map((p) => p.time), points.map((p) => p.bits), points.map((p) => p.refused), points.map(() => this.limit)];
		this.seconds = points[points.length - 1].time - points[0].time < 300;
		if (this.plot && !anew) {
			this.plot.setData(data);
			return;
		}
		this.plot?.destroy();
		const axis = { stroke: color('--ink-2'), font: '11px system-ui, sans-serif', grid: { stroke: color('--line'), width: 1 }, ticks: { show: false } };
		this.plot = new Plot({
			width: this.width,
			height: this.height,
			legend: { show: false },
			cursor: { show: false },
			padding: [6, 8, 0, 0],
			scales: { y: { range: (_u, _min, max) => [0, Math.max(max ?? 0, this.limit ?? 0, 10_000) * 1.08] } },
			axes: [
				{ ...axis, space: 70, size: 22, values: (_u, ticks) => ticks.map((t) => clock(t * 1000, this.seconds)) },
				{ ...axis, size: 76, space: 24, values: (_u, ticks) => ticks.map((t) => rate(t)) },
			],
			series: [
				{},
				{ label: 'sent', stroke: color('--accent'), width: 1.5, fill: color('--accent-soft'), points: { show: false } },
				{ label: 'refused', stroke: color('--now'), width: 1.25, dash: [2, 3], points: { show: false } },
				{ label: 'limit', stroke: color('--ink'), width: 1.5, dash: [7, 4], points: { show: false } },
			],
		}, data, this.box);
	}

	/** The newest first; equal seconds are listed only once. */
	private fill(): void {
		if (!this.details.open) {
			this.body.replaceChildren();
			return;
		}
		const rows = this.points.slice(-TABLE_ROWS).reverse();
		while (this.body.childElementCount > rows.length) this.body.lastElementChild?.remove();
		rows.forEach((p, i) => {
			let tr = this.body.children[i];
			if (!tr) {
				tr = h('tr', {}, h('th', { scope: 'row' }), h('td'), h('td'), h('td'));
				this.body.append(tr);
			}
			[clock(p.time * 1000, true), rate(p.bits), rate(p.refused), rate(this.limit)].forEach((s, c) => text(tr.children[c], s));
		});
	}

	close(): void {
		this.watch.disconnect();
		dark.removeEventListener('change', this.redraw);
		this.plot?.destroy();
		this.plot = null;
	}
}

const OF_KEY: [string, string][] = [['key-sent', 'sent'], ['key-refused', 'refused'], ['key-limit', 'limit']];
export const chartKey = (): HTMLElement => h('span', { class: 'chart-key' }, ...OF_KEY.map(([c, w]) => h('span', { class: c }, w)));
