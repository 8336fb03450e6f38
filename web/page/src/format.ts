// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers as people read them. Unknown is a dash, never 0.

export const DASH = '–';
type Maybe = number | null | undefined;

function digits(x: number): string {
	const a = Math.abs(x);
	return a >= 100 || a === 0 ? x.toFixed(0) : a >= 10 ? x.toFixed(1) : x.toFixed(2);
}

function scaled(x: number, units: string[]): string {
	let i = 0;
	while (Math.abs(x) >= 999.5 && i < units.length - 1) {
		x /= 1000;
		i++;
	}
	return `${i === 0 ? x.toFixed(0) : digits(x)} ${units[i]}`;
}

const BITS = ['bit/s', 'kbit/s', 'Mbit/s', 'Gbit/s', 'Tbit/s'];
const BYTES = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];

/** A rate, from bits per second: three significant digits. */
export const rate = (bits: Maybe): string => (bits == null ? DASH : scaled(bits, BITS));
/** Decimal: 1 GB is 1 000 000 000 bytes. */
export const bytes = (n: Maybe): string => (n == null ? DASH : scaled(n, BYTES));
export const count = (n: Maybe): string => (n == null ? DASH : Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, ' '));
/** The sum of parts: unknown if one of them is unknown. */
export const total = (of: Maybe[]): number | null => of.reduce<number | null>((n, x) => (n === null || x == null ? null : n + x), 0);
export const percent = (share: Maybe): string =>
	share == null ? DASH : share > 0 && share < 0.01 ? '< 1 %' : `${Math.floor(share * 100)} %`;

const SPANS: [number, string][] = [
	[365 * 86400, 'y'],
	[86400, 'd'],
	[3600, 'h'],
	[60, 'min'],
	[1, 's'],
];

/** A duration, from seconds: its two largest units. */
export function span(s: Maybe): string {
	if (s == null) return DASH;
	const a = Math.abs(s);
	if (a < 1) return `${Math.round(a * 1000)} ms`;
	const i = SPANS.findIndex(([unit]) => a >= unit);
	const [unit, word] = SPANS[i];
	const first = Math.floor(a / unit);
	const next = SPANS[i + 1];
	const rest = next ? Math.floor((a - first * unit) / next[0]) : 0;
	return rest > 0 && first < 100 ? `${first} ${word} ${rest} ${next[1]}` : `${first} ${word}`;
}

/** The time until something: "in 2 h", "2 h ago"; for null, the words for "never ends". */
export function until(s: Maybe, never = DASH): string {
	if (s == null) return never;
	return s < 0 ? `${span(s)} ago` : `in ${span(s)}`;
}

/** An age, from milliseconds. */
export const ago = (ms: Maybe): string => (ms == null ? DASH : ms < 1000 ? 'just now' : `${span(Math.floor(ms / 1000))} ago`);

const two = (n: number): string => String(n).padStart(2, '0');

/** The time of day in this browser's time zone, with the date if it is another day. */
export function clock(at: Date | string | number | null | undefined, seconds = false): string {
	if (at == null) return DASH;
	const d = new Date(at);
	if (Number.isNaN(d.getTime())) return DASH;
	const now = new Date();
	const day = d.toDateString() === now.toDateString() ? '' : `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} `;
	return `${day}${two(d.getHours())}:${two(d.getMinutes())}${seconds ? `:${two(d.getSeconds())}` : ''}`;
}

/** A word quoted for a POSIX shell. null: it has characters that no command to type should have. */
export function word(s: string): string | null {
	if (s === '' || s.startsWith('-') || /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/.test(s)) return null;
	return /^[A-Za-z0-9_.:/@%+=,-]+$/.test(s) ? s : `'${s.replace(/'/g, `'\\''`)}'`;
}

/** The command at the beginning of a document's `todo`; null: it does not begin with a command. */
export function order(todo: string | null | undefined): string | null {
	const first = todo?.split(/[;,(\n]|: /)[0].trim() ?? '';
	return /^(bwlimit-[a-z]+|systemctl|sysctl|modprobe|ip|ethtool|tc|chronyc) /.test(first) ? first : null;
}

/** typed`bwlimit-ctl revoke ${peer}`: with names quoted; null if a name cannot be. */
export function typed(parts: TemplateStringsArray, ...names: string[]): string | null {
	const quoted = names.map(word);
	return quoted.includes(null) ? null : parts.reduce((all, part, i) => all + (quoted[i - 1] ?? '') + part);
}
