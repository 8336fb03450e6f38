// SPDX-License-Identifier: GPL-2.0-or-later
// The newest answers of the API: each document with its age. Only GET is ever sent.
import type { ErrorDocument, Top } from './types';

export interface Held {
	doc: unknown | null;
	/** performance.now() at the time when its numbers were read */
	at: number;
	/** why the newest answer was not a document */
	error: ErrorDocument['error'] | null;
	streamed: boolean;
	/** the answer's text, for documents that are requested again and again */
	words?: string;
}

const PATH = 'api/v1/';
const FADES_MS = 3000;
/** A request that waits longer is given up: until then the same document cannot be requested again. */
const TIMEOUT_MS = 20_000;
/** How often the server reads these anew, at most (docs/api.md); what it does not send again in that time has not changed. */
const PERIOD_MS: Record<string, number> = { top: 1000, reasons: 10_000, usage: 10_000, status: 5000, grants: 10_000, 'ipsec-status': 10_000 };
const period = (name: string): number => PERIOD_MS[name] ?? 0;

export class Store {
	private held = new Map<string, Held>();
	private stream: EventSource | null = null;
	private wanted = '';
	/** when the stream last sent anything; if nothing is streamed, when a request was last answered with a document */
	private lastHeard = performance.now();
	/** since when the stream is closed or refused; null: it is open */
	private brokenSince: number | null = null;
	/** pending requests, by path */
	private waits = new Map<string, symbol>();
	paused = false;
	/** called when something is new */
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
	/** Milliseconds since its numbers were read; null: there are none. A document that a stream does not send again has not changed,
	 * except top: a frame is made every second, so a frame that stays the same grows old. */
	age(name: string): number | null {
		const e = this.held.get(name);
		if (!e || e.doc === null) return null;
		return performance.now() - (e.streamed && !e.error && name !== 'top' ? Math.max(e.at, this.lastHeard - period(name)) : e.at);
	}
	fades(name: string, after = FADES_MS): boolean {
		const age = this.age(name);
		return age !== null && age > after + period(name);
	}
	/** Milliseconds since the stream was closed or refused; null: it is open. */
	broken(): number | null {
		return this.brokenSince === null || this.paused ? null : performance.now() - this.brokenSince;
	}
	/** Milliseconds since the server last sent anything. */
	silence(): number {
		return performance.now() - this.lastHeard;
	}

	private put(name: string, doc: unknown, ageMs: number, streamed: boolean, words?: string): void {
		const before = this.held.get(name);
		const failed = (doc as ErrorDocument | null)?.kind === 'error';
		// A known document stays, and grows old, until a new one comes.
		const keeps = failed && before?.doc != null;
		const sameFrame = !failed && name === 'top' && before?.doc != null && (before.doc as Top).time === (doc as Top).time;
		this.held.set(name, {
			doc: keeps ? before.doc : failed ? null : doc,
			at: keeps || sameFrame ? before!.at : performance.now() - ageMs,
			error: failed ? (doc as ErrorDocument).error : null,
			streamed: streamed || (before?.streamed ?? false),
			words: name === 'top' ? undefined : words,
		});
		// There is a frame of top every second: other new documents are drawn with the next frame, or by the clock.
		if (name === 'top' || !before || failed !== (before.error !== null)) this.onchange();
	}
	/** Drops a document that is no longer shown; an answer that has not come yet is dropped, too. */
	forget(path: string): void {
		this.held.delete(path);
		this.waits.delete(path);
	}

	/** Requests a document once; while one request is pending, another for the same document is not sent. */
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
			// The same text again only changes the age: it is neither parsed nor drawn.
			if (before?.words === words && !before.error) before.at = performance.now() - age;
			else this.put(path, JSON.parse(words), age, false, words);
			if (this.wanted === '' && !this.error(path)) this.lastHeard = performance.now();
		} catch {
			if (forgotten()) return;
			// There was no answer, or no JSON: the held document grows old, which is shown, and the reason is kept.
			this.put(path, { kind: 'error', error: { program: 'page', code: 'ETIMEDOUT', text: `bwlimit-web does not answer '${path.split('?')[0]}'`, todo: 'systemctl status bwlimit-web' } }, 0, false);
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
		// With data, it is from the server: a document cannot be read. Without data it is from the browser: the stream broke, and is opened again.
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
	/** While paused the stream is closed, so a hundred open pages cost the DPU nothing. */
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
