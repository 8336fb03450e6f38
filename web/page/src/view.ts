// SPDX-License-Identifier: GPL-2.0-or-later
import type { Store } from './store';
import type { Api } from './types';

/** A page: what it requests from the server, and how it shows it. */
export interface View {
	readonly element: HTMLElement;
	readonly title: string;
	/** documents that the server sends when they change */
	streams(): string[];
	/** called once a second while not paused: requests documents that are not streamed, when they are due */
	poll(now: number): void;
	/** called when something is new, and once a second so that ages advance */
	render(): void;
	close(): void;
}

/** Repeats requests after so many milliseconds; each path has its own period. */
export class Rounds {
	private next = new Map<string, number>();
	constructor(private store: Store, private api: () => Api | null) {}
	/** Documents that are not served are not requested. */
	ask(path: string, everyMs: number, now: number): void {
		if (!this.api()?.documents.includes(path.split('?')[0])) return;
		if ((this.next.get(path) ?? 0) > now) return;
		this.next.set(path, now + everyMs);
		void this.store.ask(path);
	}
	keep(wanted: (path: string) => boolean): void {
		for (const path of this.next.keys()) {
			if (wanted(path)) continue;
			this.next.delete(path);
			this.store.forget(path);
		}
	}
	/** The page is left: what it requested about single peers and spans is no longer shown. */
	close(): void {
		this.keep((path) => !path.includes('?'));
	}
}
