// SPDX-License-Identifier: GPL-2.0-or-later
// What a peer's history says about a theft: since when it has been sending near its limit, and how much left in that time.
import type { History, N, Point } from './types';

/** The points that bwlimitd has written. Later seconds are not there yet: they are unknown, not 0. */
export function written(h: History): Point[] {
	const until = h.written_until ? Date.parse(h.written_until) : Infinity;
	return h.points.filter((p) => Date.parse(p.time) < until);
}

/** This long near the limit is not a burst. */
export const LONG_S = 300;

export interface Run {
	since: Date;
	seconds: number;
	bytes: number;
	/** the run began before the first point */
	longer: boolean;
}

/** Half of the limit or more counts as near it: volumes find a slow thief, not this. */
const NEAR = 0.5;
/** How many points below it do not end a run: a thief's transfer stutters. */
const GAPS = 2;

/** The run that has not ended yet; null: there is none. The last point is left out if it may be incomplete. */
export function run(points: Point[], stepS: number, limitBits: N): Run | null {
	if (!limitBits || points.length < 2) return null;
	const near = (p: Point): boolean => (8 * (p.sent_bytes + p.sent_dropped_bytes)) / stepS >= NEAR * limitBits;
	let first = -1;
	let gaps = 0;
	for (let i = points.length - 1; i >= 0 && gaps <= GAPS; i--) {
		if (near(points[i])) {
			first = i;
			gaps = 0;
		} else {
			gaps++;
		}
	}
	if (first < 0) return null;
	const part = points.slice(first);
	return {
		since: new Date(points[first].time),
		seconds: part.length * stepS,
		bytes: part.reduce((sum, p) => sum + p.sent_bytes, 0),
		longer: first === 0,
	};
}

const told = new WeakMap<History, { bits: N; run: Run | null }>();
/** The same for a whole history; computed once per answer, not at each update. */
export function runOf(h: History, limitBits: N): Run | null {
	const last = told.get(h);
	if (last?.bits === limitBits) return last.run;
	const of = run(written(h), h.step_s, limitBits);
	// A step of several minutes is seldom complete.
	if (of && h.step_s > 60 && h.written_until) of.seconds = Math.min(of.seconds, (Date.parse(h.written_until) - of.since.getTime()) / 1000);
	told.set(h, { bits: limitBits, run: of });
	return of;
}
