// SPDX-License-Identifier: GPL-2.0-or-later
// Past counters of reasons: what was refused in the last hour is their growth since then.
import type { Reason } from './types';

export interface Sample {
	/** performance.now() when they were read */
	at: number;
	reasons: Reason[];
}

const HOUR_MS = 3_600_000;
const EVERY_MS = 60_000;

export const reasonKey = (r: Reason): string => `${r.port} ${r.hook} ${r.reason}`;

function fell(before: Reason[], now: Reason[]): boolean {
	const frames = new Map(now.map((r) => [reasonKey(r), r.frames]));
	return before.some((r) => (frames.get(reasonKey(r)) ?? 0) < r.frames);
}

export class Samples {
	private list: Sample[] = [];

	/** Called by a timer, not when drawing: a hidden tab draws nothing for hours. */
	take(at: number, reasons: Reason[]): void {
		const last = this.list.at(-1);
		// A counter that fell was reset by an attach: earlier samples say nothing about it.
		if (last && fell(last.reasons, reasons)) this.list = [];
		if (this.list.length && at - (last as Sample).at < EVERY_MS) return;
		this.list.push({ at, reasons });
		const base = this.list.filter((s) => at - s.at >= HOUR_MS).length - 1;
		if (base > 0) this.list.splice(0, base);
	}
	/** The oldest sample kept: the first of this page, or one from an hour ago. */
	first(): Sample | null {
		return this.list[0] ?? null;
	}
	/** The newest sample that is at least an hour old; it is older if nothing came in between. */
	hour(now: number): Sample | null {
		return this.list.filter((s) => now - s.at >= HOUR_MS).at(-1) ?? null;
	}
}
