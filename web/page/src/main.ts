// SPDX-License-Identifier: GPL-2.0-or-later
// The frame around every page: name, age of the numbers, pause, keys.
import { attr, h, say, text } from './dom';
import { verified as isVerified } from './findings';
import { FleetPage } from './fleet';
import { ago, clock, span } from './format';
import { NodePage } from './node';
import { silenceWords } from './panels';
import { PeerPage } from './peer';
import { followLinks, go, here, onmove } from './place';
import { Store } from './store';
import type { Api, Policy, Top, Verify } from './types';
import type { View } from './view';

const KEYS: [string, string][] = [['/', 'find'], ['j k', 'next and previous row'], ['Enter', 'open'], ['Esc', 'back'], ['p', 'pause or continue'], ['?', 'this help']];

const store = new Store();
let api: Api | null = null;
let view: View | null = null;
let shown = '';
let dirty = false;
let drawn = false;
let heard = new Date();
let retryAt = 0;

const who = h('span', { class: 'who' });
const policyWords = h('span', { class: 'policy' });
const verified = h('span', { class: 'verified' });
const beat = h('span', { class: 'beat' });
const pause = h('button', { type: 'button', id: 'pause', 'aria-pressed': 'false' }, 'pause');
const help = h('button', { type: 'button', id: 'help', 'aria-label': 'Keys and sources' }, '?');
const stale = h('p', { class: 'stale', role: 'alert', hidden: '' });
const main = document.getElementById('main') as HTMLElement;
const dialog = h('dialog', { 'aria-labelledby': 'keys' }, h('h2', { id: 'keys' }, 'Keys, and sources of the numbers'),
	h('dl', {}, ...KEYS.flatMap(([key, what]) => [h('dt', {}, h('kbd', {}, key)), h('dd', {}, what)])),
	h('p', {}, 'Rates, volumes, states and reasons: the maps of the data plane. What was refused and sent before: bwlimitd’s history. Volumes over a restart: the ledger. SAs: charon and the kernel. A number fades when it is more than 3 s old (slower ones later); – means not known.'),
	h('p', {}, '1 GB here is 10⁹ bytes. A policy counts in powers of two: its 1gb is 1.07 GB here.'),
	h('p', {}, 'This page changes nothing: every change is a command to type, and bwlimit-ctl checks who may run it.'),
	h('form', { method: 'dialog' }, h('button', {}, 'close')));

function buildHead(): void {
	const head = document.querySelector('header') as HTMLElement;
	head.replaceChildren(h('h1', {}, h('a', { href: location.pathname }, 'bwlimit')), who, policyWords, h('span', { class: 'gap' }), verified, beat, pause, help);
	document.getElementById('page')?.append(dialog);
	main.before(stale);
	pause.addEventListener('click', () => setPaused(!store.paused));
	help.addEventListener('click', () => dialog.showModal());
}

function setPaused(on: boolean): void {
	store.pause(on);
	attr(pause, 'aria-pressed', String(on));
	text(pause, on ? 'continue' : 'pause');
	say(on ? 'paused' : 'live again');
	if (!on) tick();
	render();
}

function route(): void {
	if (!api) return;
	const peer = here('peer');
	const want = api.scope === 'fleet' ? 'fleet' : peer ? `peer ${peer}` : 'node';
	if (want !== shown) {
		view?.close();
		view = api.scope === 'fleet' ? new FleetPage(store, () => api) : peer ? new PeerPage(store, peer, () => api) : new NodePage(store, () => api);
		main.replaceChildren(view.element);
		const first = shown === '';
		shown = want;
		if (!first) main.focus();
	}
	if (!store.paused) ask();
	render();
}

/** A stream that includes an unserved document would be refused as a whole. A stream that the browser gave up is opened again. */
function ask(): void {
	const wanted = (view?.streams() ?? []).filter((d) => api?.documents.includes(d));
	if (wanted.length) store.listen(wanted);
	view?.poll(performance.now());
}

function render(): void {
	dirty = false;
	drawn = true;
	const top = store.get<Top>('top');
	const policy = store.get<Policy>('policy');
	const verify = store.get<Verify>('verify');
	text(who, top?.node ?? policy?.node ?? api?.name ?? '');
	text(policyWords, policy ? `policy ${policy.digest.slice(0, 8)}` : '');
	const age = store.age('verify');
	text(verified, api?.scope === 'fleet' ? '' : !verify || age === null ? 'not verified here'
		: !verify.ok ? `verify FAILS ${ago(age)}` : isVerified(verify, age, store.error('verify')) ? `verified ${ago(age)}` : `not verified for ${span(Math.floor(age / 1000))}`);
	const silence = store.silence() / 1000;
	// A fleet is asked every 5 s; a node sends something every second.
	const quiet = api?.scope === 'fleet' ? 8 : 3;
	if (silence < quiet) heard = new Date(Date.now() - silence * 1000);
	text(beat, store.paused ? `paused at ${clock(heard, true)}` : silence > quiet ? `silent ${span(Math.floor(silence))}` : `● ${clock(heard, true)}`);
	attr(document.documentElement, 'data-stale', silence > quiet || store.paused ? '' : null);
	const words = silenceWords(store, heard);
	attr(stale, 'hidden', words === null ? '' : null);
	// Only the first time is read out: the seconds that follow are not new.
	if (words !== null) text(stale, words);
	view?.render();
	if (view && document.title !== view.title) document.title = view.title;
}

store.onchange = () => {
	if (dirty || store.paused) return;
	dirty = true;
	requestAnimationFrame(render);
};

async function start(): Promise<void> {
	await store.ask('');
	api = store.get<Api>('');
	retryAt = performance.now() + 3000;
	route();
}

function tick(): void {
	if (!api) {
		if (performance.now() > retryAt) void start();
		return;
	}
	if (!store.paused) {
		ask();
		// Ages advance by themselves; if something new was drawn in this second, they already have.
		if (!document.hidden && !drawn) render();
		drawn = false;
	}
}

function rowLinks(): HTMLElement[] {
	return [...document.querySelectorAll<HTMLElement>('.peers .row-link')];
}

function onKey(e: KeyboardEvent): void {
	if (e.ctrlKey || e.metaKey || e.altKey || dialog.open) return;
	const in_ = e.target as HTMLElement;
	const typing = in_.matches('input, select, textarea');
	if (e.key === 'Escape') {
		if (typing) {
			in_.blur();
			if (here('q')) go({ q: '' });
		} else if (here('peer') || here('tray')) {
			go({ peer: '', tray: '', span: '', class: '' }, true);
		}
		return;
	}
	if (typing) return;
	const links = rowLinks();
	const at = links.indexOf(document.activeElement as HTMLElement);
	switch (e.key) {
	case '/':
		document.getElementById('find')?.focus();
		break;
	case 'j':
		links[Math.min(at + 1, links.length - 1)]?.focus();
		break;
	case 'k':
		links[Math.max(at - 1, 0)]?.focus();
		break;
	case 'p':
		setPaused(!store.paused);
		break;
	case '?':
		dialog.showModal();
		break;
	default:
		return;
	}
	e.preventDefault();
}

main.tabIndex = -1;
buildHead();
followLinks();
onmove(route);
addEventListener('keydown', onKey);
setInterval(tick, 1000);
void start();
