// SPDX-License-Identifier: GPL-2.0-or-later
// A page that is left open: updates by a simulated clock, peers that come and go, findings that come and go, a reader who opens and
// closes a peer; what the page holds after each part must not grow. Environment: UPDATES is the number of updates (2000; a day is 86400).
// LEAK=nodes,listeners,heap adds such leaks to the page: then this must fail.
import { done, launch, note, ok, open, same } from './browser.mjs';
import { scenes } from './models.mjs';

const UPDATES = Number(process.env.UPDATES ?? 2000);
const PARTS = 12;
/** The first parts fill what fills only once: an hour of samples, 15 minutes of a chart, compiled code. */
const FILLING = 6;
const HEAP_MB = 1.5;

const LEAKS = {
	nodes: () => setInterval(() => { (window.kept ??= []).push(document.createElement('i')); }, 1000),
	listeners: () => setInterval(() => document.addEventListener('leak', () => {}), 1000),
	heap: () => setInterval(() => { (window.kept ??= []).push(new Array(5000).fill(Math.random())); }, 1000),
};

const browser = await launch();
const scene = scenes.theft();
const t = await open(browser, scene);
await t.says('log-collector: sending at its limit');
for (const leak of (process.env.LEAK ?? '').split(',').filter(Boolean)) await t.page.evaluate(LEAKS[leak]);
const cdp = await t.page.context().newCDPSession(t.page);
await cdp.send('Performance.enable');
await cdp.send('HeapProfiler.enable');
async function held() {
	for (let i = 0; i < 3; i++) await cdp.send('HeapProfiler.collectGarbage');
	const m = Object.fromEntries((await cdp.send('Performance.getMetrics')).metrics.map((x) => [x.name, x.value]));
	return { nodes: m.Nodes, listeners: m.JSEventListeners, heap: m.JSHeapUsedSize };
}

const { top, grants, policy, reasons, status } = scene.documents;
const like = { top: top.peers.find((p) => p.peer === 'object-store'), grant: grants.grants.find((p) => p.peer === 'object-store'), policy: policy.peers.find((p) => p.peer === 'object-store') };
const first = { top: [...top.peers], grants: [...grants.grants], policy: [...policy.peers] };
/** Like page.clock.fastForward(), but in one call: that one adds a script to the context each time, a day's worth of them. */
const forward = (ms) => t.page.evaluate(async (by) => {
	await globalThis.__pwClock.controller.fastForward(by);
	return Date.now();
}, ms);
/** One second: 10 jobs exist at a time, each for 10 s; every third is at its limit. */
async function second(i) {
	top.time = new Date(await forward(1000)).toISOString();
	const jobs = Array.from({ length: 10 }, (_, k) => `job-${i - k}`);
	top.peers = [...first.top, ...jobs.map((peer, k) => ({ ...like.top, peer, passed_bits_per_second: (i + k) % 3 ? 1e6 * k : 99.9e6 }))];
	t.server.push('top', top, 0);
	if (i % 5 === 0) t.server.push('status', status, 0);
	if (i % 10) return;
	grants.grants = [...first.grants, ...jobs.map((peer) => ({ ...like.grant, peer }))];
	policy.peers = [...first.policy, ...jobs.map((peer) => ({ ...like.policy, peer }))];
	for (const r of reasons.reasons) r.frames += 3;
	t.server.push('grants', grants, 0);
	t.server.push('reasons', reasons, 0);
}
/** Waits until the page has drawn the newest job: otherwise something other than the page would be measured. */
const drawn = async () => {
	const newest = scene.documents.top.peers[first.top.length].peer;
	for (let k = 0; k < 1000; k++) {
		if (await t.page.evaluate((name) => [...document.querySelectorAll('.peers .row-link')].some((a) => a.textContent === name), newest)) return;
		await t.page.clock.runFor(50);
	}
	throw new Error(`${newest} was never drawn`);
};

const all = [];
let i = 0;
for (let part = 1; part <= PARTS; part++) {
	for (; i < (UPDATES * part) / PARTS; ) {
		await second(++i);
		if (i % 20 === 0) await drawn();
	}
	await drawn();
	await t.page.click('text="log-collector"'); // a reader opens a peer, and goes back
	await t.says('Its limits');
	await t.page.goBack();
	await t.says('Leaving now');
	await second(++i);
	await drawn();
	all.push(await held());
	const h = all.at(-1);
	note(`${i} updates: ${h.nodes} nodes, ${h.listeners} listeners, ${(h.heap / 1e6).toFixed(2)} MB`);
}
const kept = all.slice(FILLING);
/** How far the least of the last parts is above the least of the parts before: a page that was just left may not be collected yet. */
const growth = (of) => {
	const least = (list) => Math.min(...list.map((h) => h[of]));
	return least(kept.slice(kept.length / 2)) - least(kept.slice(0, kept.length / 2));
};
ok(`${i} updates, and ${i} peers that came and went, leave no more elements`, growth('nodes') < 20, kept.map((h) => h.nodes));
ok('nor listeners', growth('listeners') < 5, kept.map((h) => h.listeners));
ok(`nor ${HEAP_MB} MB of memory`, growth('heap') < HEAP_MB * 1e6, kept.map((h) => h.heap));
same('control: what is counted is a page with peers', [kept[0].nodes > 500, kept[0].listeners > 20], [true, true]);
await t.close();
await browser.close();
done();
