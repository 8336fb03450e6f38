// SPDX-License-Identifier: GPL-2.0-or-later
// One peer: what it sent and when, its limits, the commands to type, and what would happen to a packet.
import { Chart, type Series, chartKey } from './chart';
import { Keyed, attr, commandLine, h, text } from './dom';
import { DASH, bytes, clock, order, rate, span, total, typed, until } from './format';
import { ALARMS } from './findings';
import { VERIFY_MS, historyPath, logLines, peerPath } from './node';
import { type Fact, Facts, source } from './panels';
import { here, link } from './place';
import { Levels, level, ofAccept, ofPorts, shared } from './levels';
import { limitText } from './reasons';
import type { Store } from './store';
import { mark } from './table';
import { smallestRate } from './peers';
import { Records } from './records';
import { run, written } from './theft';
import type { Api, Explain, Grant, History, Left, Log, N, Peer, Policy, Top, Tunnel, Volume } from './types';
import { Rounds, type View } from './view';

/** The URL's word, the length of time, the step. */
const SPANS: [string, string, string, string][] = [
	['', '15 min, by seconds', '15m', '1s'],
	['1h', '1 h', '1h', '1m'],
	['24h', '24 h', '24h', '1m'],
	['30d', '30 d', '30d', '1h'],
];

interface Shown extends Peer { left: Left | null; mode_in_force: string; horizon_s: N; tunnel: Tunnel | null; portion_bits_per_second: N }

export class PeerPage implements View {
	readonly element: HTMLElement;
	readonly title: string;
	private readonly rounds: Rounds;
	private explained = ''; // the last path requested
	private question: symbol | null = null;
	private readonly path: string;
	private readonly sentence = h('p', { class: 'sentence' });
	private readonly chart: Chart;
	private readonly spans: HTMLAnchorElement[];
	private readonly levels = new Levels('Its limits');
	private readonly classes = h('nav', { class: 'filters', 'aria-label': 'Class' });
	private readonly classList: Keyed<string>;
	private readonly facts = new Facts('facts', 'What it is', 'not known yet');
	private readonly events = new Facts('events', 'What happened', 'nothing in the log of the last day', true);
	private readonly records: Records;
	private readonly state = h('span', { class: 'state' });
	private readonly answer = h('div', { class: 'answer', 'aria-live': 'polite' });
	private readonly form: HTMLFormElement;
	private prefilled = false;

	constructor(private store: Store, private peer: string, api: () => Api | null) {
		this.rounds = new Rounds(store, api);
		this.path = peerPath(peer);
		this.records = new Records(store, peer);
		this.title = `${peer} · bwlimit`;
		this.chart = new Chart(`What was sent to ${peer}`, 220);
		this.spans = SPANS.map(([, title]) => h('a', {}, title));
		this.classList = new Keyed(this.classes, (c) => c, (c) => h('a', {}, c || 'all classes'), (e, c) => {
			attr(e, 'href', link({ class: c }));
			attr(e, 'aria-current', here('class') === c ? 'true' : null);
		});
		const field = (name: string, label: string, attrs: Record<string, string>): HTMLElement =>
			h('label', {}, label, h('input', { name, autocomplete: 'off', spellcheck: 'false', ...attrs }));
		this.form = h('form', { class: 'explain', onsubmit: (e: Event) => { e.preventDefault(); void this.explain(); } },
			field('source', 'from', { size: '18', required: '' }), field('destination', 'to', { size: '18', required: '' }),
			h('label', {}, 'protocol', h('select', { name: 'protocol' }, ...['tcp', 'udp', 'icmp', ''].map((p) => h('option', { value: p }, p || 'any')))),
			field('destination_port', 'port', { size: '6', inputmode: 'numeric', value: '443' }), h('button', { type: 'submit' }, 'explain'));
		this.element = h('div', { class: 'peer' },
			h('nav', { 'aria-label': 'Where you are' }, h('a', { href: link({ peer: '', span: '', class: '' }), class: 'back' }, '← all peers')),
			h('h2', { class: 'name' }, peer, ' ', this.state), this.sentence,
			h('section', { class: 'card', 'aria-labelledby': 'sent' }, h('div', { class: 'beside' }, h('h3', { id: 'sent' }, 'Sent'),
				h('nav', { class: 'filters', 'aria-label': 'Time span' }, ...this.spans), this.classes, chartKey()), this.chart.element),
			h('section', { class: 'card', 'aria-labelledby': 'levels' }, h('h3', { id: 'levels' }, 'Its limits, inner to outer'),
				this.levels.element),
			h('section', { class: 'card', 'aria-labelledby': 'type' }, h('h3', { id: 'type' }, 'What to type'), this.commands()),
			h('section', { class: 'card', 'aria-labelledby': 'explain' }, h('h3', { id: 'explain' }, 'What would happen to a packet now'), this.form, this.answer),
			h('div', { class: 'panels two' }, this.facts.element, this.events.element), this.records.element);
	}

	private commands(): HTMLElement {
		const p = this.peer;
		const lines: [string, string | null, string][] = [
			['close at once', typed`bwlimit-ctl revoke ${p}`, 'no packet passes from then on, not even after a reboot'],
			['lower its rate', typed`bwlimit-ctl peer set ${p} rate 1mbit`, 'what is spent stays spent'],
			['grant for a time', typed`bwlimit-ctl grant ${p} rate 10mbit volume 1gb per 1d for 2h reason WHY`, 'also lifts a revocation'],
			['look closer', typed`bwlimit-ctl history ${p} --since 24h`, 'the same history in a terminal'],
		];
		return h('ul', { class: 'commands' }, ...lines.map(([name, line, what]) => h('li', {}, h('span', { class: 'name' }, name),
			line ? commandLine(line) : h('span', {}, 'its name has characters that are not safe in a command'), h('span', { class: 'small' }, what))));
	}

	streams(): string[] {
		return ['status', 'top', 'usage', 'grants'];
	}
	private span(): [string, string, string, string] {
		return SPANS.find(([id]) => id === here('span')) ?? SPANS[0];
	}
	private historyOf(): string {
		const [, , since, step] = this.span();
		const cls = here('class');
		return historyPath(this.peer, since, step) + (cls ? `&class=${encodeURIComponent(cls)}` : '');
	}
	poll(now: number): void {
		const [id] = this.span();
		this.rounds.ask('policy', 30_000, now);
		this.rounds.ask('verify', VERIFY_MS, now);
		this.rounds.ask(this.path, 2_000, now);
		this.rounds.ask('log', 5_000, now);
		this.records.poll(this.rounds, now);
		this.rounds.ask(this.historyOf(), id === '' ? 10_000 : 60_000, now);
		this.rounds.ask(historyPath(this.peer, '24h', '1m'), 60_000, now);
		this.rounds.keep((p) => !p.startsWith('history?') || p === this.historyOf() || p === historyPath(this.peer, '24h', '1m'));
	}

	private async explain(): Promise<void> {
		const asked = new URLSearchParams();
		for (const [name, value] of new FormData(this.form)) if (value !== '') asked.set(name, String(value).trim());
		const path = `explain?${asked.toString()}`;
		const question = Symbol(path);
		this.answer.replaceChildren(h('p', {}, 'loading …'));
		this.store.forget(this.explained);
		this.explained = path;
		this.question = question;
		await this.store.ask(path);
		if (this.question !== question) return; // another question was asked in the meantime
		const x = this.store.get<Explain>(path);
		const error = this.store.error(path);
		if (!x) {
			this.answer.replaceChildren(h('p', { class: 'wrong' }, mark('now'), error ? `${error.text}${error.todo ? ` – ${error.todo}` : ''}` : 'no answer'));
			return;
		}
		this.answer.replaceChildren(
			h('p', {}, mark(x.passes ? 'well' : 'today'), h('b', {}, x.passes ? 'would pass' : `would be refused: ${x.reason ?? ''}`), ` ${x.text}`,
				x.todo ? commandOrWords(x.todo) : null),
			h('ol', { class: 'steps' }, ...x.steps.map((s) => h('li', { 'data-level': s.ok ? null : 'now' },
				h('span', { class: 'name' }, s.step), h('span', {}, s.ok ? '✓' : '✕', h('span', { class: 'hidden-text' }, s.ok ? ' passes: ' : ' refuses: ')), h('span', {}, s.text)))));
	}

	render(): void {
		const s = this.store;
		const p = s.get<Shown>(this.path);
		const policy = s.get<Policy>('policy');
		const now = s.get<Top>('top')?.peers.find((t) => t.peer === this.peer) ?? null;
		const grant = s.get<{ grants: Grant[] }>('grants')?.grants.find((g) => g.peer === this.peer) ?? null;
		const error = s.error(this.path);
		text(this.state, p?.state ?? now?.state ?? '');
		attr(this.state, 'data-level', (p?.state ?? 'live') === 'live' ? null : 'now');
		const [id, , , step] = this.span();
		SPANS.forEach(([of], i) => {
			attr(this.spans[i], 'href', link({ span: of }));
			attr(this.spans[i], 'aria-current', of === id ? 'true' : null);
		});
		const limit = p?.grant?.rate_bits_per_second ?? now?.rate_bits_per_second ?? null;
		const hist = s.get<History>(this.historyOf());
		const why = s.error(this.historyOf());
		const points: Series[] = (hist ? written(hist) : []).map((q) => ({ time: Date.parse(q.time) / 1000, bits: q.sent_bits_per_second, refused: (8 * q.sent_dropped_bytes) / hist!.step_s }));
		const sum = (hist?.points ?? []).reduce((n, q) => n + q.sent_bytes, 0);
		const cls = here('class');
		const classes = [...new Set([...(p?.classes ?? []).map((c) => c.class), ...(p?.ports ?? []).map((t) => `port/${t.port}`), ...(s.get<History>(historyPath(this.peer, '24h', '1m'))?.class_names ?? []), cls])].filter(Boolean);
		this.classList.set(classes.length ? ['', ...classes] : []);
		const most = cls ? ((p?.classes.find((c) => c.class === cls) ?? p?.ports.find((t) => `port/${t.port}` === cls))?.limit?.rate_bits_per_second ?? null) : limit;
		this.chart.set(points, most, hist ? `${bytes(sum)} sent${cls ? ` as ${cls}` : ''} in this time; a point is ${span(hist.step_s)}${hist.damaged_row_count ? `; ${hist.damaged_row_count} rows are damaged` : ''}`
			: why ? `${why.text}${why.todo ? ` – ${why.todo}` : ''}` : `loading steps of ${step} …`);
		text(this.sentence, error ? `${error.text} ${error.todo ?? ''}` : this.words(p, now?.passed_bits_per_second ?? null, smallestRate(p?.enforced === false ? null : limit, p?.zone ?? null, policy).bits));
		attr(this.chart.element, 'title', `From bwlimitd’s history: ${source(s, this.historyOf())}`);
		attr(this.sentence, 'title', source(s, historyPath(this.peer, '24h', '1m'), this.path, 'top'));
		this.drawLevels(p, policy, now?.passed_bits_per_second ?? null);
		this.drawFacts(p, grant);
		this.drawEvents();
		this.records.render();
		this.prefill(p, policy);
		attr(this.element, 'data-fades', s.fades('top') ? '' : null);
	}

	/** Since when, how much, how long it can continue: the questions of somebody who suspects a theft. */
	private words(p: Shown | null, now: N, limit: N): string {
		const day = this.store.get<History>(historyPath(this.peer, '24h', '1m'));
		if (!p || !day) return p ? `Sends ${rate(now)} of ${rate(limit)}.` : '';
		const gone = day.points.reduce((n, q) => n + q.sent_bytes, 0);
		const r = run(written(day), day.step_s, limit);
		const volume = p.left?.volume_bytes ?? null;
		const left = volume !== null && p.left?.used_bytes != null ? Math.max(0, volume - p.left.used_bytes) : null;
		return [
			r ? `At its limit since ${clock(r.since)}${r.longer ? ' or earlier' : ''} (${span(r.seconds)}): ${bytes(r.bytes)} gone in that time.` : 'It is not sending near its limit.',
			`${bytes(gone)} in the last 24 h.`,
			!p.enforced ? 'Its own limits are not enforced: mode monitor only counts what is over them.' : volume === null ? 'It has no volume: only rates limit it.' : left === null ? 'It is not known how much of its volume is left.' : left === 0 ? 'Its volume is spent.' : `${bytes(left)} more can go before its volume is spent${now ? `, in ${span((8 * left) / now)} at this rate` : ''}.`,
			p.contained ? 'Contained: its own DPU limits it, so it is not an exit.' : 'An exit: what goes there leaves the site.',
		].join(' ');
	}

	private drawLevels(p: Shown | null, policy: Policy | null, now: N): void {
		if (!p) return;
		const used = this.store.get<{ volumes: Volume[] }>('usage')?.volumes ?? null;
		const top = this.store.get<Top>('top');
		const beside = new Set(policy?.peers.filter((q) => p.zone !== null && q.zone === p.zone).map((q) => q.peer));
		const passed = new Map([[p.zone ?? '', total((top?.peers ?? []).filter((t) => beside.has(t.peer)).map((t) => t.passed_bits_per_second))]]);
		this.levels.set([
			...ofPorts(p, used),
			level(`peer ${p.peer}`, `peer ${p.peer}`, p.grant, now, used),
			...p.classes.map((c) => level(`class ${p.peer}/${c.class}`, `class ${c.class}`, c.limit, null, used)),
			...(policy ? shared(policy, top, passed, used, p) : []),
			...ofAccept(p, used),
		], source(this.store, this.path, 'top', 'policy', 'usage'));
	}

	private drawFacts(p: Shown | null, grant: Grant | null): void {
		if (!p) return;
		const t = p.tunnel;
		const lines: Fact[] = [
			['addresses', p.addresses.join(', '), '', ''],
			['from', p.from?.join(', ') ?? 'every host port', 'host ports that may use it', ''],
			...(p.portion_bits_per_second === null ? [] : [['its part of the zone', `weight ${p.weight ?? 1}: ${rate(p.portion_bits_per_second)}`, `its own part of zone ${p.zone}, and more while others leave some unused`, ''] as Fact]),
			['grant', limitText(p.grant), `burst ${bytes(p.grant?.burst_bytes)}`, ''],
			['ends', until(p.expires_in_s, 'never'), '', (p.expires_in_s ?? Infinity) < 86400 ? 'today' : ''],
			['mode', grant && grant.mode !== grant.mode_in_force ? `${grant.mode}, fell back to ${grant.mode_in_force}` : p.mode_in_force + (p.enforced ? '' : ': not enforced'), '', p.enforced ? '' : 'today'],
			['may send to us', p.accept_none ? 'nothing' : p.accept ? limitText(p.accept) : 'as granted', 'accept', ''],
			['floor', p.floor ? limitText(p.floor) : 'nothing', 'when no grant is live', ''],
			['path', t ? `ESP to ${p.ipsec_remote ?? DASH}` : `${p.path}${p.via ? `, via ${p.via}` : ''}`, '', ''],
		];
		if (t) {
			lines.push(['SA', t.sa_out ? `${t.spi_out ?? DASH} out, ${t.spi_in ?? DASH} in` : 'none: nothing passes', '', t.sa_out ? '' : 'now']);
			lines.push(['carried by', `${t.carried_by}, ${t.offload && t.offload !== 'none' ? `${t.offload} offload` : 'no offload'}${t.carried_text ? ` (${t.carried_text})` : ''}`, '', '']);
		}
		this.facts.set(lines, source(this.store, this.path));
		this.facts.fades(this.store.fades(this.path, 10_000));
	}

	private drawEvents(): void {
		const log = logLines(this.store.get('log'), this.store.get<Top>('top')?.time ?? null) ?? [];
		const named = log.filter((l: Log) => l.text.split(/[\s:,']+/).includes(this.peer)).slice(-30).reverse();
		this.events.set(named.map((l): Fact => [clock(l.time, true), l.text, `${l.event}, ${l.level}`, ALARMS.has(l.level) ? 'now' : '']), source(this.store, 'log'));
	}

	/** Fills in the first address of each, to be changed. */
	private prefill(p: Shown | null, policy: Policy | null): void {
		if (this.prefilled || !p || !policy) return;
		this.prefilled = true;
		const first = (prefixes: string[]): string => {
			const [address, length] = (prefixes[0] ?? '').split('/');
			return length === '32' || length === '128' || length === undefined ? address : address.replace(/\.0$/, '.2').replace(/::$/, '::2');
		};
		const set = (name: string, value: string): void => {
			const e = this.form.elements.namedItem(name) as HTMLInputElement | null;
			if (e && e.value === '') e.value = value;
		};
		set('source', first(policy.host_ports[0]?.sources ?? []));
		set('destination', first(p.addresses));
	}

	close(): void {
		this.chart.close();
		this.store.forget(this.explained);
		this.rounds.close();
	}
}

function commandOrWords(todo: string): HTMLElement {
	const line = order(todo);
	return h('span', { class: 'small' }, ` ${line === todo ? '' : todo} `, line ? commandLine(line) : null);
}
