// SPDX-License-Identifier: GPL-2.0-or-later
// TAP, and a browser that shows the page of a scene.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { timeOf } from './models.mjs';
import { serve } from './serve.mjs';

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
/** Waits until f() is true, for at most 60 s. */
export async function until(f) {
	for (let i = 0; i < 3000 && !f(); i++) await new Promise((r) => setTimeout(r, 20));
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

/** What some page of this run did and no page may do: break its own policy, throw, ask another server, or send anything but GET. */
export const wrong = [];

/** All commands that the pages of this run showed. */
export const shown = new Set();

export async function open(browser, scene, { query = '', width = 1280, height = 800, scheme = 'light', motion = 'no-preference', hang = false, ages = {}, dist, clock = true } = {}) {
	const server = await serve(scene, 0, dist);
	server.state.hang = hang;
	server.state.ages = ages;
	const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, reducedMotion: motion, timezoneId: 'UTC' });
	const page = await context.newPage();
	page.on('pageerror', (e) => wrong.push(`threw: ${e.message}`));
	page.on('console', (m) => m.text().includes('Content Security Policy') && wrong.push(m.text()));
	page.on('request', (r) => {
		if (!r.url().startsWith(server.url) && !r.url().startsWith('data:')) wrong.push(`asked ${r.url()}`);
		if (r.method() !== 'GET') wrong.push(`${r.method()} ${r.url()}`);
	});
	const time = scene.time ?? timeOf(scene);
	if (clock) await page.clock.install({ time });
	await page.goto(server.url + query);
	if (!hang) await page.waitForSelector('.needs h2:not(:empty), .peer .name');
	// A slow start must not look like a wrong clock: the first frame of top has come about now.
	if (clock && !hang) await page.clock.setSystemTime(time);
	return {
		page,
		server,
		text: () => page.evaluate(() => document.body.innerText.replace(/[\s\u00a0]+/g, ' ')),
		/** Waits until the page says so: it requests some documents one after the other. */
		says: (words) => page.waitForFunction((w) => document.body.innerText.replace(/[\s\u00a0]+/g, ' ').includes(w), words, { timeout: 60_000 }).then(() => true, () => false),
		async close() {
			for (const c of await page.evaluate(() => [...document.querySelectorAll('.command code')].map((e) => e.textContent))) shown.add(c);
			await context.close();
			await server.close();
		},
	};
}
