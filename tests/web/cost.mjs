// SPDX-License-Identifier: GPL-2.0-or-later
// How much CPU time of the page's main thread an update costs: the named built pages run side by side at the same time, each with
// its own process. node cost.mjs [--peers N] [--seconds N] [--profile 1] DIST...; cost.sh calls it. --profile 1 writes cpu.cpuprofile beside each page.
import { writeFileSync } from 'node:fs';
import { launch, open } from './browser.mjs';
import { many } from './models.mjs';

const given = process.argv.slice(2);
const option = (name, most) => {
	const at = given.indexOf(name);
	return at < 0 ? most : Number(given.splice(at, 2)[1]);
};
const peers = option('--peers', 1000);
const seconds = option('--seconds', 60);
const profile = option('--profile', 0);
const LISTED = 2000; // top shows at most so many peers, the busiest

/** One second of a server with that many peers: each peer changes its rate; the slower documents change as often as they are read. */
function second(scene, i) {
	const d = scene.documents;
	const push = ['top'];
	d.top.time = new Date().toISOString();
	for (const [k, p] of d.top.peers.entries()) {
		p.passed_bits_per_second = ((k + i) * 97_000) % 1e8;
		p.left.used_bytes = (p.left.used_bytes ?? 0) + p.passed_bits_per_second / 8;
	}
	if (i % 5 === 1) {
		d.status.attached_ago_s += 5;
		for (const v of d.usage.volumes) v.used_bytes = (v.used_bytes ?? 0) + 1e5;
		for (const r of d.reasons.reasons) r.frames += 7;
		push.push('status', 'usage', 'reasons');
	}
	if (i % 10 === 1) {
		for (const g of d.grants.grants) if (g.expires_in_s !== null) g.expires_in_s -= 10;
		push.push('grants');
	}
	return push;
}

const browser = await launch();
const pages = [];
for (const dist of given) {
	const scene = many(peers, () => [5e6, 1e5]);
	scene.documents.top.time = new Date().toISOString();
	scene.documents.top.peers.length = Math.min(peers, LISTED);
	const t = await open(browser, scene, { dist, clock: false });
	await t.says(peers > LISTED ? 'busiest of' : `all ${peers}`);
	const cdp = await t.page.context().newCDPSession(t.page);
	await cdp.send('Performance.enable', { timeDomain: 'threadTicks' }); // CPU time, because the machine may be busy
	if (profile) {
		await cdp.send('Profiler.enable');
		await cdp.send('Profiler.setSamplingInterval', { interval: 200 });
	}
	pages.push({ dist, scene, t, all: [], metrics: async () => Object.fromEntries((await cdp.send('Performance.getMetrics')).metrics.map((m) => [m.name, m.value])), cdp });
}
const WHAT = ['TaskDuration', 'ScriptDuration', 'LayoutDuration', 'RecalcStyleDuration'];
const WARM = 5; // seconds for compiling, and for what is made only once
async function run(p, wait) {
	await new Promise((r) => setTimeout(r, wait)); // in turns, so that each page has the whole machine while it draws
	for (let i = 1; i <= seconds + WARM; i++) {
		if (profile && i === WARM + 1) await p.cdp.send('Profiler.start');
		const began = performance.now();
		const before = await p.metrics();
		for (const name of second(p.scene, i)) p.t.server.push(name, p.scene.documents[name]);
		await new Promise((r) => setTimeout(r, began + 1000 - performance.now()));
		const after = await p.metrics();
		if (i > WARM) p.all.push(Object.fromEntries([...WHAT, 'LayoutCount', 'RecalcStyleCount'].map((m) => [m, after[m] - before[m]])));
	}
}
await Promise.all(pages.map((p, i) => run(p, (1000 * i) / pages.length)));
const median = (list) => [...list].sort((a, b) => a - b)[list.length >> 1];
const mean = (list) => list.reduce((n, x) => n + x, 0) / list.length;
console.log(`an update of ${peers} peers each second, ${seconds} of them: ms of CPU of the main thread`);
console.log('median   mean    most  script  layout  style  layouts styles  page');
for (const p of pages) {
	const of = (m) => p.all.map((x) => 1000 * x[m]);
	const ms = (x, n = 7) => x.toFixed(1).padStart(n);
	console.log(`${ms(median(of('TaskDuration')), 6)}${ms(mean(of('TaskDuration')))} ${ms(Math.max(...of('TaskDuration')))}${WHAT.slice(1).map((m) => ms(mean(of(m)), 8)).join('')}  ${ms(mean(p.all.map((x) => x.LayoutCount)))}${ms(mean(p.all.map((x) => x.RecalcStyleCount)))}  ${p.dist}`);
	if (profile) writeFileSync(`${p.dist}/cpu.cpuprofile`, JSON.stringify((await p.cdp.send('Profiler.stop')).profile));
}
await browser.close();
process.exit(0);
