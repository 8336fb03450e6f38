// SPDX-License-Identifier: GPL-2.0-or-later
// What an update costs, and that hours of them leave nothing behind.
import { note, ok, open, part, same, until } from '../browser.mjs';
import { many, scenes } from '../models.mjs';
import { browser } from './one.mjs';

await part('cost', async () => {
	const scene = many(1000);
	const t = await open(browser, scene);
	await t.sees('all 1000');
	const cdp = await t.page.context().newCDPSession(t.page);
	await cdp.send('Performance.enable', { timeDomain: 'threadTicks' }); // CPU time, because the machine may be busy
	const metrics = async () => Object.fromEntries((await cdp.send('Performance.getMetrics')).metrics.map((m) => [m.name, m.value]));
	const top = scene.documents.top;
	const begin = Date.parse(top.time);
	const before = await metrics();
	const updates = 30;
	for (let i = 1; i <= updates; i++) {
		top.time = new Date(begin + i * 1000).toISOString();
		for (const [k, p] of top.peers.entries()) p.passed_bits_per_second = ((k + i) * 97_000) % 1e8;
		t.server.push('top', top);
		await new Promise((r) => setTimeout(r, 120));
	}
	const after = await metrics();
	const each = (name) => (after[name] - before[name]) / updates;
	note(`an update of 1000 peers: ${(1000 * each('TaskDuration')).toFixed(1)} ms of CPU of the main thread (scripts ${(1000 * each('ScriptDuration')).toFixed(1)}, layout ${(1000 * each('LayoutDuration')).toFixed(1)}, style ${(1000 * each('RecalcStyleDuration')).toFixed(1)}); cost.sh compares two pages`);
	ok('1000 peers are in a table that shows fifty', (await t.page.evaluate(() => document.querySelectorAll('.peers tbody tr').length)) === 50);
	await t.close();
});
await part('cells', async () => {
	const scene = many(60);
	const top = scene.documents.top;
	for (const [i, p] of top.peers.entries()) p.passed_bits_per_second = 5e7 - i * 1e5; // they stay in this order
	const t = await open(browser, scene, { query: '?sort=-now' });
	await t.sees('all 60');
	for (const w of ['mesh', 'external', 'never']) await t.sees(w); // all documents from which the table is made
	await until(() => t.server.asked.filter((a) => a.includes('since=1h')).length >= 20);
	await t.settles();
	await t.drawn(); // the first answer of each
	const figure = (peer) => t.page.evaluate((name) => [...document.querySelectorAll('.peers tbody tr')].find((tr) => tr.querySelector('a').textContent === name)?.querySelector('.figure').textContent, peer);
	const begin = Date.parse(top.time);
	let frame = 0;
	/** Draws one more frame, after change(); returns the texts of the table that were written. */
	const next = async (change) => {
		top.time = new Date(begin + ++frame * 1000).toISOString();
		change();
		await t.page.evaluate(() => {
			window.written = [];
			window.heard ??= new MutationObserver((list) => window.written.push(...list.map((m) => m.target.data)));
			window.heard.observe(document.querySelector('.peers tbody'), { subtree: true, characterData: true });
		});
		t.server.push('top', top);
		await t.until((w) => document.querySelector('.peers tbody .figure').textContent.startsWith(w), `${(top.peers[0].passed_bits_per_second / 1e6).toFixed(1)} Mbit/s`);
		return t.page.evaluate(() => window.written);
	};
	await next(() => { top.peers[0].passed_bits_per_second += 1e5; });
	const first = top.peers[0];
	let written = [];
	// A first answer that is drawn late writes another text.
	for (let i = 0; i < 10 && written.length !== 1; i++) written = await next(() => { first.passed_bits_per_second += 1e5; });
	same('where one peer sends another rate, one text of the table is written', written, [`${(first.passed_bits_per_second / 1e6).toFixed(1)} Mbit/s / 50.0 Mbit/s`]);
	const all = (by) => () => { for (const p of top.peers) p.passed_bits_per_second += by; };
	const some = await next(all(1e5));
	ok('where all do, those in sight and a part of the rest', some.length > 5 && some.length < 40, some);
	const far = top.peers[45].peer;
	const words = (before) => `${((top.peers[45].passed_bits_per_second - before * 1e5) / 1e6).toFixed(1)} Mbit/s`;
	for (let i = 0; i < 4; i++) await next(all(1e5));
	const late = await figure(far);
	ok('a row out of sight is never more than five updates old', [0, 1, 2, 3, 4].some((n) => late.startsWith(words(n))), late, words(0));
	for (let i = 0; i < 20; i++) { // until the row is old at the moment of a pause
		await next(all(1e5));
		await t.page.keyboard.press('p');
		if (!(await figure(far)).startsWith(words(0))) break;
		await t.page.keyboard.press('p');
		await t.page.waitForTimeout(100);
	}
	await t.page.evaluate((name) => [...document.querySelectorAll('.peers .row-link')].find((a) => a.textContent === name).scrollIntoView(), far);
	ok('one that is scrolled into sight is of this frame, paused as well', await t.is(([name, w]) => [...document.querySelectorAll('.peers tbody tr')].find((tr) => tr.querySelector('a').textContent === name).querySelector('.figure').textContent.startsWith(w), [far, words(0)]), await figure(far), words(0));
	await t.close();
});
const HOURS = [['theft', '', ['log-collector: sending at its limit, out of the site', 'The host sends from addresses that are not its own']], ['theft', '?peer=log-collector', []], ['fleet', '', null]];
for (const [name, query, findings] of HOURS) {
	await part(`hours ${name}`, async () => {
		const scene = scenes[name]();
		const t = await open(browser, scene, { query });
		await t.sees(name === 'fleet' ? '1 to 50' : 'log-collector');
		const cdp = await t.page.context().newCDPSession(t.page);
		await cdp.send('Performance.enable');
		const counts = async () => {
			await cdp.send('HeapProfiler.enable');
			await cdp.send('HeapProfiler.collectGarbage');
			const m = Object.fromEntries((await cdp.send('Performance.getMetrics')).metrics.map((x) => [x.name, x.value]));
			return { nodes: m.Nodes, listeners: m.JSEventListeners, heap: m.JSHeapUsedSize };
		};
		// On a busy machine a request is given up after 20 s of real time, whatever the simulated clock; that makes a finding until the next
		// one is answered. So it counts only once the page says again what it said before.
		const said = () => t.page.evaluate(() => [...document.querySelectorAll('.findings .what')].map((e) => e.lastElementChild.textContent));
		let should = findings;
		const settled = async () => {
			const isSo = async (now) => (should ? JSON.stringify(now) === JSON.stringify(should) : !now.some((w) => w.includes('bwlimit-web does not answer')));
			for (let i = 0; i < 240 && !(await isSo(await said())); i++) {
				await t.page.waitForTimeout(250);
				await t.page.clock.runFor(2_000);
			}
			should ??= await said();
			return said();
		};
		const hours = async (h) => {
			for (let i = 0; i < h * 20; i++) {
				await t.page.clock.fastForward(180_000);
				if (scene.documents.top) {
					scene.documents.top.time = new Date(await t.page.evaluate(() => Date.now())).toISOString();
					scene.documents.top.peers[0].passed_bits_per_second = 9e6 + (i % 7) * 1e5;
					scene.documents.top.peers[4] = { ...scene.documents.top.peers[1], peer: `job-${h}-${i}` }; // one comes, another goes
					t.server.push('top', scene.documents.top);
					t.server.push('status', scene.documents.status);
				}
			}
			await t.page.clock.runFor(3000);
			await t.page.waitForTimeout(200);
			same(`after so many hours the findings are what they were: "${name}${query}", ${h} h`, await settled(), should);
			return counts();
		};
		await hours(2); // fills what is bounded: a ring of an hour
		const a = await hours(1);
		const b = await hours(8);
		note(`"${name}${query}": after 3 h ${a.nodes} nodes, ${a.listeners} listeners, ${(a.heap / 1e6).toFixed(1)} MB; after 11 h ${b.nodes}, ${b.listeners}, ${(b.heap / 1e6).toFixed(1)} MB`);
		// Some nodes may be on their way out. Were one in four updates to leave one, there would be 40.
		ok(`eight hours more of updates make no more elements nor listeners: "${name}${query}"`, b.nodes < a.nodes + 40 && b.listeners <= a.listeners);
		await t.close();
	});
}
