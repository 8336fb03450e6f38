// SPDX-License-Identifier: GPL-2.0-or-later
import type { Store } from './store';
import type { Api } from './types';

/** A page: what it wants of the server, and how it shows it. */
export interface View {
	readonly element: HTMLElement;
	readonly title: string;
	/** documents that the server is to send when they change */
	streams(): string[];
	/** called once a second while not paused: asks for what is not streamed, when its time has come */
	poll(now: number): void;
	/** called when something is new, and once a second for ages */
	render(): void;
	close(): void;
}

/** Asks again after so many milliseconds, each path by its own time. */
export class Rounds {
	private next = new Map<string, number>();
	constructor(private store: Store, private api: () => Api | null) {}
	/** What is not served is not asked for. */
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
	/** The page goes: what it asked about single peers and spans is no more shown. */
	close(): void {
		this.keep((path) => !path.includes('?'));
	}
}
