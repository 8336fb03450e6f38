// SPDX-License-Identifier: GPL-2.0-or-later
// What the API said last: each document with its age. Only GET is ever sent.
import type { ErrorDocument, Top } from './types';

export interface Held {
	doc: unknown | null;
	/** performance.now() when its numbers were read */
	at: number;
	/** why the newest answer was none */
	error: ErrorDocument['error'] | null;
	streamed: boolean;
	/** as it was answered, of what is asked again and again */
	words?: string;
}

const PATH = 'api/v1/';
const FADES_MS = 3000;
/** A question that waits longer is given up: the next one for the same could not be asked before. */
const TIMEOUT_MS = 20_000;
/** The server reads these anew so often at most (docs/api.md); what it does not send again in that time has not changed. */
const PERIOD_MS: Record<string, number> = { top: 1000, reasons: 10_000, usage: 10_000, status: 5000, grants: 10_000, 'ipsec-status': 10_000 };
const period = (name: string): number => PERIOD_MS[name] ?? 0;

export class Store {
	private held = new Map<string, Held>();
	private stream: EventSource | null = null;
	private wanted = '';
	/** when the stream said anything last; where nothing is streamed, when a question was answered with what was asked for */
	private lastHeard = performance.now();
	/** since when the stream is closed or refused; null: it is there */
	private brokenSince: number | null = null;
	/** questions that wait, by path */
	private waits = new Map<string, symbol>();
	paused = false;
	/** something is new */
	onchange: () => void = () => {};

	get<T>(name: string): T | null {
		return (this.held.get(name)?.doc as T) ?? null;
	}
	error(name: string): ErrorDocument['error'] | null {
		return this.held.get(name)?.error ?? null;
	}
	asked(name: string): boolean {
		return this.held.has(name);
	}
	/** Milliseconds since its numbers were read; null: there are none. What a stream does not send again has not changed,
	 * but for top: a frame is made each second, and the same frame again is an old one. */
	age(name: string): number | null {
		const e = this.held.get(name);
		if (!e || e.doc === null) return null;
		return performance.now() - (e.streamed && !e.error && name !== 'top' ? Math.max(e.at, this.lastHeard - period(name)) : e.at);
	}
	fades(name: string, after = FADES_MS): boolean {
		const age = this.age(name);
		return age !== null && age > after + period(name);
	}
	/** Milliseconds since the stream was closed or refused; null: it is there. */
	broken(): number | null {
		return this.brokenSince === null || this.paused ? null : performance.now() - this.brokenSince;
	}
	/** Milliseconds since the server said anything. */
	silence(): number {
		return performance.now() - this.lastHeard;
	}

	private put(name: string, doc: unknown, ageMs: number, streamed: boolean, words?: string): void {
		const before = this.held.get(name);
		const failed = (doc as ErrorDocument | null)?.kind === 'error';
		// What was known stays, and grows old, until it is known anew.
		const keeps = failed && before?.doc != null;
		const sameFrame = !failed && name === 'top' && before?.doc != null && (before.doc as Top).time === (doc as Top).time;
		this.held.set(name, {
			doc: keeps ? before.doc : failed ? null : doc,
			at: keeps || sameFrame ? before!.at : performance.now() - ageMs,
			error: failed ? (doc as ErrorDocument).error : null,
			streamed: streamed || (before?.streamed ?? false),
			words: name === 'top' ? undefined : words,
		});
		// There is a frame of top each second: what else comes anew is drawn with the next one, or by the clock.
		if (name === 'top' || !before || failed !== (before.error !== null)) this.onchange();
	}
	/** What was asked for once and is no more shown goes; so does an answer that has not come yet. */
	forget(path: string): void {
		this.held.delete(path);
		this.waits.delete(path);
	}

	/** Asks once; a second question for the same while one waits is left out. */
	async ask(path: string): Promise<void> {
		if (this.waits.has(path)) return;
		const question = Symbol(path);
		const forgotten = (): boolean => this.waits.get(path) !== question;
		this.waits.set(path, question);
		try {
			const answer = await fetch(PATH + path, { headers: { accept: 'application/json' }, cache: 'no-store', signal: AbortSignal.timeout(TIMEOUT_MS) });
			const words = await answer.text();
			if (forgotten()) return;
			const age = 1000 * Number(answer.headers.get('Age') ?? 0);
			const before = this.held.get(path);
			// The same again is only newer: nobody takes it apart, nor draws it.
			if (before?.words === words && !before.error) before.at = performance.now() - age;
			else this.put(path, JSON.parse(words), age, false, words);
			if (this.wanted === '' && !this.error(path)) this.lastHeard = performance.now();
		} catch {
			if (forgotten()) return;
			// Nobody answered, or not with JSON: what is held grows old, which is shown, and why is known.
			this.put(path, { kind: 'error', error: { program: 'page', code: 'ETIMEDOUT', text: `bwlimit-web gives no answer to '${path.split('?')[0]}'`, todo: 'systemctl status bwlimit-web' } }, 0, false);
		} finally {
			if (!forgotten()) this.waits.delete(path);
		}
	}

	listen(documents: string[]): void {
		const wanted = documents.join(',');
		if (wanted === this.wanted && this.stream?.readyState !== EventSource.CLOSED) return;
		this.stream?.close();
		this.wanted = wanted;
		this.stream = new EventSource(`${PATH}stream?documents=${wanted}&every=1s`);
		this.stream.addEventListener('open', () => {
			this.brokenSince = null;
		});
		for (const name of documents) {
			this.stream.addEventListener(name, (e) => {
				const said = JSON.parse((e as MessageEvent<string>).data) as { age_ms: number; document: unknown };
				this.lastHeard = performance.now();
				this.put(name, said.document, said.age_ms, true);
			});
		}
		// Of the server: a document that cannot be read; without data it is the browser's: the stream broke, and is begun anew.
		this.stream.addEventListener('error', (e) => {
			if (!(e instanceof MessageEvent)) {
				this.brokenSince ??= performance.now();
				return;
			}
			const said = JSON.parse(e.data as string) as { name: string; document: unknown };
			this.lastHeard = performance.now();
			this.put(said.name, said.document, 0, true);
		});
		this.stream.addEventListener('beat', () => {
			this.lastHeard = performance.now();
		});
	}
	/** Paused: the stream is closed, so a hundred open pages cost the DPU nothing. */
	pause(paused: boolean): void {
		this.paused = paused;
		this.brokenSince = null;
		if (paused) {
			this.stream?.close();
			this.stream = null;
		} else {
			const wanted = this.wanted;
			this.wanted = '';
			if (wanted) this.listen(wanted.split(','));
		}
	}
}
