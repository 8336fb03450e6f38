// SPDX-License-Identifier: GPL-2.0-or-later
// A peer, the URL, keys; an exit that goes and comes back.
import { ok, open, part, picture, same, until } from '../browser.mjs';
import { scenes } from '../models.mjs';
import { browser } from './one.mjs';

const names = (page) => page.evaluate(() => [...document.querySelectorAll('.peers .row-link')].map((a) => a.textContent));
await part('a peer', async () => {
	const t = await open(browser, scenes.theft());
	await t.page.click('text="log-collector"');
	ok('one click from the node a peer says since when and how much', (await t.says('At its limit since 22:48 (42 min): 3.12 GB gone in that time.')) && (await t.says('760 MB more can go')), await t.text());
	ok('its limits are named, inner to outer', (await t.says('peer log-collector')) && (await t.says('zone external')) && (await t.says('node tray-7')));
	ok('and what to type', (await t.says('bwlimit-ctl revoke log-collector')) && (await t.says('bwlimit-ctl grant log-collector rate 10mbit')));
	await picture(t.page, 'page-peer');
	await t.page.click('.chart summary');
	await t.page.waitForSelector('.as-table tbody tr');
	same('seconds that are not written yet are no 0', await t.page.evaluate(() => document.querySelector('.as-table tbody td').innerText), '9.90 Mbit/s');
	ok('a table that has a part of the points says which', await t.says('as a table: the newest 120 of 895'), await t.text());
	await t.page.click('.chart summary');
	await t.page.click('text="24 h"');
	await t.until(() => location.search.includes('span=24h'));
	ok('the span is in the URL', await t.says('a point is 1 min'));
	await t.page.click('.chart summary');
	await t.page.waitForSelector('.as-table tbody tr');
	const rows = await t.page.evaluate(() => [...document.querySelectorAll('.as-table tbody tr:first-child > *')].map((c) => c.innerText));
	same('the chart has its table', [rows.length, rows[1], rows[2], rows[3]], [4, '9.90 Mbit/s', '19.9 Mbit/s', '10.0 Mbit/s']);
	await t.page.fill('[name=destination]', '10.103.0.9');
	await t.page.click('button:has-text("explain")');
	ok('a packet that is typed in is explained, step by step', (await t.says('would be refused')) || (await t.says('would pass')), await t.text());
	ok('by one GET', t.server.asked.some((a) => /^GET \/api\/v1\/explain\?source=10\.7\.0\.2&destination=10\.103\.0\.9&protocol=tcp&destination_port=443$/.test(a)), t.server.asked.filter((a) => a.includes('explain')));
	await t.page.fill('[name=destination]', 'nonsense');
	await t.page.click('button:has-text("explain")');
	ok('nonsense is refused in the server’s words', await t.says("'nonsense' is no address"));
	t.server.state.hang = true;
	await t.page.fill('[name=destination]', '10.103.0.8');
	await t.page.click('button:has-text("explain")');
	const failed = t.page.waitForResponse((r) => r.url().includes('10.103.0.8'));
	await until(() => t.server.asked.some((a) => a.includes('10.103.0.8')));
	t.server.state.hang = false;
	await t.page.fill('[name=destination]', 'nonsense');
	await t.page.click('button:has-text("explain")');
	await t.sees("'nonsense' is no address");
	t.server.fail();
	await failed;
	await t.page.clock.runFor(100);
	ok('what was asked before does not speak over a later answer', await t.says("'nonsense' is no address"), await t.text());
	await t.page.goBack();
	await t.page.goBack();
	ok('Back leads to all peers', await t.says('Leaving now'));
	await t.close();
});
await part('the URL', async () => {
	const t = await open(browser, scenes.theft(), { query: '?show=exits&q=o&sort=name' });
	await t.sees('exits 3');
	await t.until(() => document.querySelectorAll('.peers .row-link').length === 2);
	same('filter, search and order are taken from the URL', await names(t.page), ['log-collector', 'object-store']);
	await t.page.click('.peers th button:has-text("Peer")');
	same('and put there', [await names(t.page), new URL(t.page.url()).search], [['object-store', 'log-collector'], '?show=exits&q=o&sort=-name']);
	await t.page.selectOption('#group', 'zone');
	await t.page.click('.fold >> nth=0');
	ok('groups fold, and that is in the URL', /group=zone/.test(t.page.url()) && /fold=/.test(t.page.url()), t.page.url());
	await t.close();
});
await part('keys', async () => {
	const t = await open(browser, scenes.theft());
	await t.sees('refused 1');
	const at = () => t.page.evaluate(() => document.activeElement.textContent || document.activeElement.id);
	await t.page.keyboard.press('j');
	await t.page.keyboard.press('j');
	same('j j is at the second row', await at(), 'object-store');
	await t.page.keyboard.press('k');
	await t.page.keyboard.press('Enter');
	ok('k and Enter open the first', await t.says('Its limits'));
	await t.page.keyboard.press('Escape');
	ok('Esc leads back', await t.says('Leaving now'));
	await t.page.keyboard.press('/');
	await t.page.keyboard.type('tray');
	await t.until(() => document.querySelectorAll('.peers .row-link').length === 1);
	same('/ finds', await names(t.page), ['tray-3']);
	await t.page.keyboard.press('Escape');
	same('Esc ends that', (await names(t.page)).length, 4);
	await t.page.keyboard.press('?');
	same('? shows the keys', await t.page.evaluate(() => document.querySelector('dialog').open), true);
	await t.page.keyboard.press('Escape');
	let hidden = [];
	const seen = new Set();
	for (let i = 0; i < 60; i++) {
		await t.page.keyboard.press('Tab');
		const s = await t.page.evaluate(() => {
			const e = document.activeElement;
			const r = e.getBoundingClientRect();
			const top = document.elementFromPoint(r.left + Math.min(r.width / 2, 20), r.top + r.height / 2);
			return { id: `${e.tagName} ${e.id || e.getAttribute('aria-label') || e.textContent.slice(0, 30)}`, seen: e === document.body || e.contains(top) || (top?.contains(e) ?? false), ring: e === document.body || getComputedStyle(e).outlineStyle !== 'none' };
		});
		seen.add(s.id);
		if (!s.seen || !s.ring) hidden.push(s.id);
	}
	same('Tab leads through everything, each time in sight and with a ring', hidden, []);
	ok('it comes round', seen.size > 15 && seen.size < 60, [...seen]);
	await t.close();
});
await part('an exit that goes', async () => {
	const t = await open(browser, scenes.theft());
	const d = t.server.state.scene.documents;
	const times = () => t.server.asked.filter((a) => a.includes('history?peer=log-collector&since=15m')).length;
	const until = async (true_) => {
		for (let i = 0; i < 300 && !(await true_()); i++) await t.page.clock.runFor(500);
		return true_();
	};
	const all = { top: d.top.peers, grants: d.grants.grants, policy: d.policy.peers };
	const only = async (keep) => {
		d.top = { ...d.top, time: new Date(await t.page.evaluate(() => Date.now())).toISOString(), peers: all.top.filter(keep) };
		d.grants = { ...d.grants, grants: all.grants.filter(keep) };
		d.policy = { ...d.policy, peers: all.policy.filter(keep) };
		t.server.push('top', d.top, 0);
		t.server.push('grants', d.grants, 0);
	};
	const listed = () => t.page.evaluate(() => [...document.querySelectorAll('.peers .row-link')].some((a) => a.textContent === 'log-collector'));
	ok('is asked about once, for what left before', await until(() => times() === 1), times());
	await only((p) => p.peer !== 'log-collector');
	ok('and is listed no more', await until(async () => !(await listed())));
	await t.page.clock.runFor(2_000);
	await only(() => true);
	ok('its history is kept no longer than it is there: back again, it is asked about anew', await until(() => times() === 2), times());
	await t.close();
});
