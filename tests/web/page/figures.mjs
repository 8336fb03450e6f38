// SPDX-License-Identifier: GPL-2.0-or-later
// Figures: where they are from, limits, budgets, what was refused in the last hour.
import { note, ok, open, part, same } from '../browser.mjs';
import { many, scenes } from '../models.mjs';
import { errorDocument } from '../serve.mjs';
import { browser } from './one.mjs';

await part('sources', async () => {
	const t = await open(browser, scenes.healthy());
	for (const [name, query, least] of [['healthy', '', 25], ['limit', '', 25], ['theft', '?peer=log-collector', 15], ['fleet', '', 100]]) {
		await t.show(scenes[name](), { query });
		await t.sees(name === 'fleet' ? '1 to 50' : 'log-collector');
		const is = await t.page.evaluate(() => {
			const figures = [...document.querySelectorAll('main :is(.figure-large, .figure-medium, .figure, .figures, .value, .by, td, .sentence, .plot-words, section li > .small)')].filter((e) => /\d/.test(e.textContent) && !e.closest('.findings, .command, thead'));
			const says = (e) => e.closest('[title]')?.title ?? '';
			return { all: figures.length, without: figures.filter((e) => !/ago|just now/.test(says(e))).map((e) => `${e.textContent}: ${says(e)}`), title: says(document.querySelector('.figure-large, .sentence')) };
		});
		same(`every figure has where it is from and how old it is as its tooltip: "${name}${query}"`, [is.without, is.all >= least ? true : is.all], [[], true]);
		note(is.title);
	}
	await t.close();
});
await part('own limits', async () => {
	const rows = (t, of) => t.page.evaluate((s) => [...document.querySelectorAll(`${s} tbody tr`)].map((tr) => [...tr.children].map((c) => c.textContent.replace(/[\s\u00a0]+/g, ' ').trim()).join(' | ')), of);
	const t = await open(browser, scenes['own-limits']());
	ok('a host port over its rate: both lines that may be meant', await t.says('peers: log-collector: ports: hpf0: 4.00 Mbit/s, 10.0 MB per 1 d'), await t.text());
	await t.sees('port hpf0 to log-collector');
	const budgets = await rows(t, '.budgets');
	same('among the budgets a volume of a host port to a peer that is nearly used is first', budgets[0], 'port hpf0 to log-collector | – / 4.00 Mbit/s | 92 % of 10.0 MB | 800 kB');
	same('and one that is not is no line there', budgets.filter((r) => /hpf1 to|arriving/.test(r)), []);
	await t.page.click('text="log-collector"');
	await t.sees('arriving from it');
	const levels = await rows(t, '.peer .levels');
	same('a peer has a line for each of its host ports\u2019 limits, the innermost', levels.slice(0, 2),
		['port hpf0 to it | – / 4.00 Mbit/s | 92 % of 10.0 MB per 1 d | 800 kB', 'port hpf1 to it | – / 6.00 Mbit/s | no volume | –']);
	same('and for the volume of what arrives', levels.at(-1), 'arriving from it | – / 10.0 Mbit/s | 24 % of 50.0 MB per 1 d | 38.0 MB');
	ok('its weight in the zone, and the rate of that', await t.says('weight 3: 37.1 Mbit/s'), await t.text());
	await t.page.click('text="port/hpf0"');
	ok('a host port has a history', await t.says('sent as port/hpf0'), await t.text());
	await t.close();
	const plain = await open(browser, scenes.healthy(), { query: '?peer=log-collector' });
	await plain.sees('Its limits');
	await plain.sees('zone external');
	same('control: where the policy has none of them there is no line', (await rows(plain, '.peer .levels')).filter((r) => /to it|arriving/.test(r)), []);
	ok('nor a weight', !(await plain.text()).includes('weight'));
	await plain.close();
});
await part('the last hour', async () => {
	const scene = scenes.limit();
	scene.documents.status.attached_ago_s = 1e6;
	const reasons = (frames) => {
		const d = structuredClone(scenes.limit().documents.reasons);
		d.reasons = [{ ...d.reasons.find((r) => !r.passes), frames, text: `as of ${frames}` }];
		return d;
	};
	scene.documents.reasons = reasons(1000);
	const t = await open(browser, scene);
	ok('before a page was open for an hour, counters are since attach', await t.says('since attach, 11 d 13 h'), await t.text());
	const shown = () => t.page.evaluate(() => document.querySelector('.reasons tbody td')?.innerText ?? 'no row');
	/** Waits until the row says so: the words beside it change with the clock, the row by a push, which may come later. */
	const shows = (frames) => t.is((f) => document.querySelector('.reasons tbody td')?.innerText === f, frames);
	const taken = (frames) => t.until((f) => document.querySelector('.reasons tbody th')?.title.startsWith(`as of ${f};`), frames);
	await t.page.clock.fastForward(7_200_000); // like a hidden tab, whose timers stood still
	t.server.push('reasons', reasons(1400));
	ok('after a hidden time the true age is said', await t.says('in the last 2 h'), await t.text());
	ok('with what came in it', await shows('400'), await shown());
	for (let i = 1; i <= 62; i++) {
		t.server.push('reasons', reasons(1400 + i));
		await t.marker();
		await t.page.clock.runFor(1_000); // it is drawn with the clock
		await taken(1400 + i); // in the minute to which it belongs
		await t.page.clock.fastForward(59_000);
	}
	const few = () => t.is(() => Number(document.querySelector('.reasons tbody td')?.innerText) < 100);
	ok('an hour later it is the last hour alone', (await t.says('in the last hour')) && (await few()), await shown()); // 62, and a few late ones
	t.server.push('reasons', reasons(7));
	ok('a counter that falls begins anew', (await t.says('since attach')) && (await shows('7')), await t.text());
	await t.close();
});
await part('refused in the last hour, at the first look', async () => {
	const scene = scenes.limit();
	scene.documents.status.attached_ago_s = 1e6;
	scene.sent['log-collector'] = (ago) => [1e5, ago <= 3600 ? 4e6 : 9e9];
	scene.sent['tray-3'] = (ago) => [0, ago > 1500 && ago < 2400 ? 8e6 : 0];
	for (const p of scene.documents.stats.peers) p.dropped_bytes = { 'log-collector': 5e12, 'tray-3': 9e9, 'object-store': 0 }[p.peer] ?? 0;
	scene.documents['history-peers'].peer_names = ['tray-3', 'log-collector', 'object-store'];
	const t = await open(browser, scene);
	ok('a page that was just opened says what was refused in the last hour, of a quiet peer inside the mesh as well', await t.says('Last hour, by peer: log-collector 1.80 GB, tray-3 840 MB'), await t.text());
	ok('and nothing of the time before', !(await t.text()).includes('not asked'));
	await t.close();
	const all = many(60);
	all.documents.status.attached_ago_s = 1e6;
	all.documents.stats.peers = Array.from({ length: 60 }, (_, i) => ({ ...all.documents.stats.peers[0], peer: `tray-${1000 + i}`, dropped_bytes: i < 30 ? 1e6 * (i + 1) : 0 }));
	all.documents['history-peers'].peer_names = all.documents.stats.peers.map((p) => p.peer);
	const asked = new Set();
	all.documents.history = (q) => {
		if (q.get('since') === '1h') asked.add(q.get('peer'));
		return { ...scene.documents.history(new URLSearchParams('peer=tray-3&since=1h&step=1m')), peer: q.get('peer') };
	};
	const busy = await open(browser, all);
	ok('where more were refused than are asked, that is said', /Last hour, by peer: tray-\d+ 840 MB, .* and \d+ more peers; history not read, but refused since attach: \d+/.test(((await busy.says('840 MB')), (await busy.says('history not read, but refused')), await busy.text())), await busy.text());
	await busy.page.clock.runFor(3_000);
	same('twenty are asked, those of whom most was refused among them', [asked.size <= 20, asked.has('tray-1029'), asked.has('tray-1022')], [true, true, true]);
	await busy.close();
	const none = scenes.healthy();
	delete none.documents.stats;
	none.documents.history = () => errorDocument('no history');
	const dash = await open(browser, none);
	ok('without any history it is a dash', await dash.says('Last hour, by peer: –'), await dash.text());
	await dash.close();
});
await part('budgets', async () => {
	const scene = scenes.theft();
	const t = await open(browser, scene);
	for (const w of ['61.7 Mbit/s / 2.00 Gbit/s', '15 % of 21.5 GB']) await t.sees(w); // from top, the policy and usage
	const rows = () => t.page.evaluate(() => [...document.querySelectorAll('.budgets tbody tr')].map((tr) => [tr.children[0], ...tr.querySelectorAll('.figure'), tr.lastElementChild].map((c) => c.innerText)));
	const first = await rows();
	same('the node, its host port and its zones: what is used of rate and volume, and what is left', first,
		[['node tray-7', '61.7 Mbit/s / 2.00 Gbit/s', 'no volume', '–'], ['port hpf0', '61.7 Mbit/s / 2.00 Gbit/s', 'no volume', '–'], ['zone external', '10.4 Mbit/s / 50.0 Mbit/s', '15 % of 21.5 GB', '18.2 GB'], ['zone mesh', '41.3 Mbit/s / 1.00 Gbit/s', 'no volume', '–']]);
	const usage = structuredClone(scene.documents.usage);
	usage.volumes.find((v) => v.limit_key === 'zone external').used_bytes = 21e9;
	t.server.push('usage', usage);
	await t.until(() => document.querySelector('.budgets tbody th').innerText === 'zone external');
	same('a zone that is nearly spent comes first, with its bar', [(await rows())[0], await t.page.evaluate(() => document.querySelector('.budgets tbody tr .figures:nth-child(3) .bar').hasAttribute('data-full'))],
		[['zone external', '10.4 Mbit/s / 50.0 Mbit/s', '97 % of 21.5 GB', '475 MB'], true]);
	await t.close();
	const dark = scenes.theft();
	delete dark.documents.usage;
	dark.documents.policy.host_ports.push({ ...dark.documents.policy.host_ports[0], port: 'hpf1' });
	const two = await open(browser, dark);
	for (const w of ['port hpf1', '10.4 Mbit/s / 50.0 Mbit/s']) await two.sees(w);
	same('what no document tells is a dash: usage, and which of two ports it was', await two.page.evaluate(() => [...document.querySelectorAll('.budgets tbody tr')].map((tr) => tr.innerText.replace(/[\s\u00a0]+/g, ' ').trim()).slice(1, 4)),
		['port hpf1 – / 2.00 Gbit/s no volume –', 'port hpf0 – / 2.00 Gbit/s no volume –', 'zone external 10.4 Mbit/s / 50.0 Mbit/s – of 21.5 GB –']);
	await two.close();
});
await part('classes', async () => {
	const scene = scenes.healthy();
	Object.assign(scene.sent, { 'object-store/nfs': () => [7e6, 1e6], 'object-store/other': () => [2e6, 0] });
	const t = await open(browser, scene);
	await t.page.click('text="object-store"');
	await t.page.click('[aria-label="Class"] >> text="nfs"');
	ok('the history of a class is two clicks away', (await t.says('sent as nfs in this time')) && t.server.asked.some((a) => a.includes('peer=object-store&since=15m&step=1s&class=nfs')), t.server.asked.filter((a) => a.includes('class')));
	same('by one question: its answer is not thrown away', t.server.asked.filter((a) => a.includes('class=nfs')).length, 1);
	same('and in the URL', new URL(t.page.url()).searchParams.get('class'), 'nfs');
	await t.page.click('.chart summary');
	await t.page.waitForSelector('.as-table tbody tr');
	same('against the limit of that class', await t.page.evaluate(() => [...document.querySelectorAll('.as-table tbody tr:first-child td')].map((c) => c.innerText)), ['7.00 Mbit/s', '1.00 Mbit/s', '80.0 Mbit/s']);
	await t.page.click('[aria-label="Class"] >> text="all classes"');
	ok('and back', (await t.says('sent in this time')) && !new URL(t.page.url()).search.includes('class='));
	await t.close();
});
await part('more than the server lists', async () => {
	const scene = many(2300);
	scene.documents.top.peers.length = 2000;
	const t = await open(browser, scene);
	ok('that the table has a part of all peers is said', await t.says('the 2 000 busiest of 2 300'), await t.text());
	await t.close();
});
