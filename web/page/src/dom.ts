// SPDX-License-Identifier: GPL-2.0-or-later
// Elements, without a framework. Text is always a text node: no string becomes markup.

type Child = Node | string | null | undefined | false;
type Attrs = Record<string, string | number | boolean | null | undefined | ((e: never) => void)>;

export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attrs: Attrs = {}, ...kids: Child[]): HTMLElementTagNameMap[K] {
	const e = document.createElement(tag);
	for (const [name, value] of Object.entries(attrs)) {
		if (value == null || value === false) continue;
		if (typeof value === 'function') e.addEventListener(name.slice(2), value as unknown as EventListener);
		else e.setAttribute(name, value === true ? '' : String(value));
	}
	for (const kid of kids) if (kid) e.append(kid);
	return e;
}

/** Writes a text only if it differs: otherwise nothing is laid out or read out again. */
export function text(e: Element, to: string): void {
	const first = e.firstChild;
	if (first && first === e.lastChild && first.nodeType === Node.TEXT_NODE) {
		if ((first as Text).data !== to) (first as Text).data = to;
	} else {
		e.textContent = to;
	}
}

export function attr(e: Element, name: string, to: string | null): void {
	if (to === null) {
		if (e.hasAttribute(name)) e.removeAttribute(name);
	} else if (e.getAttribute(name) !== to) {
		e.setAttribute(name, to);
	}
}

/** Elements of a parent, one for each item by its key, in the items' order. An element of a remaining item is moved, never made anew. */
export class Keyed<T> {
	private made = new Map<string, HTMLElement>();

	constructor(
		private parent: Element,
		private key: (item: T) => string,
		private make: (item: T) => HTMLElement,
		private update: (e: HTMLElement, item: T) => void,
	) {}

	set(items: T[]): void {
		const left = new Map(this.made);
		let at = this.parent.firstElementChild;
		for (const item of items) {
			const key = this.key(item);
			let e = this.made.get(key);
			if (!e) {
				e = this.make(item);
				this.made.set(key, e);
			}
			left.delete(key);
			this.update(e, item);
			if (e === at) at = at.nextElementSibling;
			else this.parent.insertBefore(e, at);
		}
		for (const [key, e] of left) {
			e.remove();
			this.made.delete(key);
		}
	}
}

let said = '';
/** Tells screen readers, politely, and only if it is new. */
export function say(what: string): void {
	if (what === said) return;
	said = what;
	const e = document.getElementById('said');
	if (e) e.textContent = what;
}

/** A command to type, with a button that copies it. The page itself can change nothing. */
export function commandLine(line: string): HTMLElement {
	const button = h('button', { type: 'button', class: 'copy', 'aria-label': `Copy: ${line}` }, 'copy');
	button.addEventListener('click', async () => {
		let done = false;
		try {
			await navigator.clipboard.writeText(line);
			done = true;
		} catch {
			// The origin is not secure, or copying is not allowed: the command is selected, so that Ctrl+C copies it.
			getSelection()?.selectAllChildren(code);
		}
		text(button, done ? 'copied' : 'Ctrl+C');
		say(done ? 'copied' : 'selected: copy it with Ctrl and C');
		setTimeout(() => text(button, 'copy'), 1500);
	});
	const code = h('code', {}, line);
	return h('span', { class: 'command' }, code, button);
}
