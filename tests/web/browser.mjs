// SPDX-License-Identifier: GPL-2.0-or-later
// TAP, and a browser that shows the page of a scene.
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { timeOf } from './models.mjs';
import { MARKER, serve } from './serve.mjs';

const require = createRequire(join(process.env.WEB_DEPS, 'package.json'));
const { chromium } = require('playwright-core');
export const AXE = require.resolve('axe-core/axe.min.js');

let n = 0;
let bad = 0;
export const note = (text) => console.log(`# ${text}`);
export function ok(sentence, good, ...why) {
	n++;
	if (good) return console.log(`ok ${n} - ${sentence}`);
	bad++;
	console.log(`not ok ${n} - ${sentence}`);
	for (const w of why) for (const line of String(typeof w === 'string' ? w : JSON.stringify(w)).split('\n').slice(0, 12)) note(line);
}
export const same = (sentence, is, should) => ok(sentence, JSON.stringify(is) === JSON.stringify(should), `is ${JSON.stringify(is)}`, `should be ${JSON.stringify(should)}`);
export function done() {
	console.log(`1..${n}`);
	process.exit(bad || !n ? 1 : 0); // a case that threw left its server open
}
/** Waits until f() is true; the bound only ends a test that hangs. */
export async function until(f) {
	for (let i = 0; !f(); i++) {
		if (i === 6000) throw new Error(`never becomes so: ${f}`);
		await new Promise((r) => setTimeout(r, 20));
	}
}
/** A case that throws counts as failed, and the next one runs. */
export async function part(name, f) {
	if (process.env.ONLY && !new RegExp(process.env.ONLY).test(name)) return; // to run a single case
	try {
		await f();
	} catch (e) {
		ok(name, false, e.message);
	}
}

export const launch = () => chromium.launch({ executablePath: process.env.BWL_BROWSER, args: ['--no-sandbox', '--disable-dev-shm-usage'] });

/** A picture: of README and docs/page.md into PICTURES, of every state into STATES. */
export const PICTURES = process.env.PICTURES;
export const ALL_PICTURES = process.env.STATES;
if (PICTURES) mkdirSync(PICTURES, { recursive: true });
export const picture = (page, name, dir = PICTURES) => dir && page.screenshot({ path: join(dir, `${name}.png`) });

/** What some page of this run did and no page may do: break its own policy, throw, ask another server, or send anything but GET. */
export const wrong = [];

/** All commands that the pages of this run showed. */
export const shown = new Set();

/** Words as a person reads them. */
const WORDS = () => document.body.innerText.replace(/[\s\u00a0]+/g, ' ');
/** How often a page is looked at while it is waited for, and until when: that only ends a test that hangs. */
const LOOK = { polling: 50, timeout: 120_000 };
const FIRST = '.needs h2:not(:empty), .peer .name';

export async function open(browser, scene, { query = '', width = 1280, height = 800, scheme = 'light', motion = 'no-preference', hang = false, ages = {}, dist, clock = true, policy = true } = {}) {
	const server = await serve(scene, 0, dist);
	server.state.hang = hang;
	server.state.ages = ages;
	const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, reducedMotion: motion, timezoneId: 'UTC', bypassCSP: !policy });
	const page = await context.newPage();
	page.setDefaultTimeout(LOOK.timeout); // of whatever says no other
	page.on('pageerror', (e) => wrong.push(`threw: ${e.message}`));
	page.on('console', (m) => m.text().includes('Content Security Policy') && wrong.push(m.text()));
	page.on('request', (r) => {
		if (!r.url().startsWith(server.url) && !r.url().startsWith('data:')) wrong.push(`asked ${r.url()}`);
		if (r.method() !== 'GET') wrong.push(`${r.method()} ${r.url()}`);
	});
	const note = async () => {
		for (const c of await page.evaluate(() => [...document.querySelectorAll('.command code')].map((e) => e.textContent))) shown.add(c);
	};
	const go = async (to, time) => {
		await page.goto(server.url + to);
		if (!hang) await page.waitForSelector(FIRST, { timeout: LOOK.timeout });
		// A slow start must not look like a wrong clock: the first frame of top has come about now.
		if (clock && !hang) await page.clock.setSystemTime(time);
	};
	const first = scene.time ?? timeOf(scene);
	if (clock) await page.clock.install({ time: first });
	await go(query, first);
	const marker = () => page.evaluate((path) => fetch(path).then((r) => r.text()), MARKER);
	return {
		page,
		server,
		text: () => page.evaluate(WORDS),
		/** Waits until f(argument) is true in the page. */
		until: (f, argument) => page.waitForFunction(f, argument, LOOK),
		/** Whether it becomes so. */
		is: (f, argument) => page.waitForFunction(f, argument, LOOK).then(() => true, () => false),
		/** Whether the page says so, in the end: it requests some documents one after the other. */
		says: (words) => page.waitForFunction((w) => document.body.innerText.replace(/[\s\u00a0]+/g, ' ').includes(w), words, LOOK).then(() => true, () => false),
		/** The same as a wait, which must not pass by its bound. */
		async sees(words) {
			if (!(await this.says(words))) throw new Error(`never says "${words}"`);
		},
		/** What the page asked until now has come to the server. */
		marker,
		/** Waits until the page, whose clock goes on, asks nothing more. */
		async settles() {
			for (let was = -1; was !== server.asked.length;) {
				was = server.asked.length;
				await page.clock.runFor(1_000);
				await marker();
			}
		},
		/** Waits until what is known is drawn, and laid out. */
		drawn: () => page.evaluate(() => new Promise((r) => { requestAnimationFrame(() => requestAnimationFrame(r)); })),
		/** The same page with another scene: a new page costs twice as much. */
		async show(other, { query: to = '' } = {}) {
			await note();
			server.state.scene = other;
			server.asked.length = 0;
			await go(to, other.time ?? timeOf(other));
		},
		async close() {
			await note();
			await context.close();
			await server.close();
		},
	};
}
