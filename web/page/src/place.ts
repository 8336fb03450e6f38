// SPDX-License-Identifier: GPL-2.0-or-later
// Where the reader is: all choices are in the URL, so that it can be sent to somebody.

const heard = new Set<() => void>();

/** Needed a thousand times per update, so it is parsed once, and again when the URL changes. */
let chosen = new URLSearchParams(location.search);

export function here(name: string): string {
	return chosen.get(name) ?? '';
}

function moved(): void {
	chosen = new URLSearchParams(location.search);
	for (const f of heard) f();
}

export function link(changes: Record<string, string>): string {
	const q = new URLSearchParams(chosen);
	for (const [name, value] of Object.entries(changes)) {
		if (value === '') q.delete(name);
		else q.set(name, value);
	}
	const s = q.toString();
	return s ? `?${s}` : location.pathname;
}

/** step: Back undoes this change. Without it, typing into a field does not fill the history. */
export function go(changes: Record<string, string>, step = false): void {
	const to = link(changes);
	if (to === (location.search || location.pathname)) return;
	if (step) history.pushState(null, '', to);
	else history.replaceState(null, '', to);
	moved();
}

export function onmove(f: () => void): void {
	heard.add(f);
}

/** Follows links within this page without loading it again. */
export function followLinks(): void {
	document.addEventListener('click', (e) => {
		const a = (e.target as Element).closest('a');
		if (!a || e.ctrlKey || e.metaKey || e.shiftKey || e.button !== 0) return;
		const to = a.getAttribute('href') ?? '';
		if (!to.startsWith('?') && to !== location.pathname) return;
		e.preventDefault();
		if (to === (location.search || location.pathname)) return;
		history.pushState(null, '', to);
		moved();
	});
	addEventListener('popstate', moved);
}
