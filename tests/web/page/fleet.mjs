// SPDX-License-Identifier: GPL-2.0-or-later
// A fleet: it is paged by the server.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ok, open, part, same, until } from '../browser.mjs';
import { scenes } from '../models.mjs';
import { errorDocument } from '../serve.mjs';
import { browser } from './one.mjs';

// ---- scenes of a fleet have only what bwlimit-web --fleet can send, by its API and schemas ---------------------------------------
await part('scenes', async () => {
	const docs = join(dirname(fileURLToPath(import.meta.url)), '../../../docs');
	const served = readFileSync(join(docs, 'api.md'), 'utf8').split('**For a fleet**')[1].split('**Not available**')[0];
	const others = (d, schema, at) => Object.entries(d).flatMap(([key, v]) => {
		const of = schema.properties?.[key];
		if (!of) return [`${at}.${key}`];
		return Array.isArray(v) && of.items?.properties ? v.flatMap((x) => others(x, of.items, `${at}.${key}`)) : [];
	});
	const wrongs = [];
	for (const name of ['fleet', 'fleet-well']) {
		for (const [kind, d] of Object.entries(scenes[name]().documents)) {
			if (!served.includes(`\`${kind}\``)) wrongs.push(`${name}: ${kind} is not served`);
			else wrongs.push(...others(typeof d === 'function' ? d(new URLSearchParams()) : d, JSON.parse(readFileSync(join(docs, `schema/${kind}.json`))), `${name}: ${kind}`));
		}
	}
	same('a scene of a fleet has no document and no field that the server does not send', [...new Set(wrongs)], []);
});
await part('the fleet', async () => {
	const t = await open(browser, scenes.fleet());
	await t.sees('1 to 50 of 10 000');
	await t.page.click('text="next →"');
	ok('the next fifty trays are asked of the server', (await t.says('51 to 100 of 10 000')) && t.server.asked.some((a) => a.includes('limit=50&sort=worst&offset=50')), t.server.asked);
	await t.page.click('.sums a:has-text("rack=3")');
	await t.until(() => location.search.includes('label=rack%3D3') && document.querySelectorAll('.peers .row-link').length === 40);
	same('a rack is one click', new URL(t.page.url()).search, '?label=rack%3D3');
	await t.page.click('.peers th button:has-text("now")');
	await t.until(() => location.search.includes('sort='));
	await until(() => t.server.asked.some((a) => a.includes('sort=passed')));
	ok('the server sorts, by a word that it knows', t.server.asked.some((a) => a.includes('sort=passed')) && !t.server.asked.some((a) => /sort=(?!worst|passed)/.test(a)), t.server.asked);
	const heads = () => t.page.evaluate(() => [...document.querySelectorAll('.peers th[aria-sort]')].map((th) => [th.innerText.trim(), th.getAttribute('aria-sort')]));
	same('the arrow is where the server sorts, and as it does', await heads(), [['now', 'descending']]);
	await t.page.click('.peers th button:has-text("now")');
	same('once more is the worst first again, and no arrow', [await heads(), new URL(t.page.url()).searchParams.get('sort')], [[], null]);
	await t.until(() => document.querySelector('#group')?.options.length > 1); // the next answer has the labels
	same('groups are by the labels that the fleet has', await t.page.evaluate(() => [...document.querySelector('#group').options].map((o) => o.value)), ['', 'hall', 'rack']);
	await t.page.selectOption('#group', 'hall');
	ok('and of the rows shown, which is said', await t.says('hall=1: 40 · of the rows shown'), await t.text());
	await t.page.selectOption('#group', '');
	ok('no more than fifty rows are in the page', (await t.page.evaluate(() => document.querySelectorAll('.peers tbody tr').length)) <= 50);
	const first = await t.page.evaluate(() => document.querySelector('.peers .row-link').textContent);
	await t.page.click('.peers .row-link >> nth=0');
	ok('a tray says what to type', (await t.says(`bwlimit-ctl --fleet status --tray ${first}`)) && (await t.says(`bwlimit-ctl --fleet revoke --tray ${first} --key YOUR.pem`)) && (await t.says(`bwlimit-ctl --fleet expel ${first} --key YOUR.pem`)));
	await t.close();
	const word = async (tray) => {
		const one = await open(browser, scenes.fleet(), { query: `?label=rack%3D1&tray=${tray}` });
		await one.sees('1 to 40');
		const row = await one.page.evaluate((name) => [...document.querySelectorAll('.peers tbody tr')].find((r) => r.innerText.includes(name))?.innerText ?? '', tray);
		const card = await one.page.evaluate(() => document.querySelector('.one-tray').innerText);
		await one.close();
		return [/\b(signed|unsigned|refused)\b/.exec(row)?.[0], card.includes('its status is signed'), card.includes('its status is not signed: only its certificate vouches for it'), card.includes('its status is refused: an earlier one is shown')];
	};
	same('whose word the status of a tray is', [await word('tray-00064'), await word('tray-00063'), await word('tray-00062')],
		[['signed', true, false, false], ['unsigned', false, true, false], ['refused', false, false, true]]);
});
await part('the fleet’s worst', async () => {
	const t = await open(browser, scenes.fleet(), { query: '?label=rack%3D200' });
	await t.page.click('.more-findings summary');
	ok('certificates that end soon are, too', (await t.says('2 certificates end within 30 days')) && (await t.says('The first is that of tray-00000: in 12 d.')), await t.text());
	ok('what widens is among what needs somebody', await t.says('No tray reads it before that. policy/base widens: zone external: rate: 10mbit -> 50mbit, and more.'), await t.text());
	const orders = await t.page.evaluate(() => Object.fromEntries([...document.querySelectorAll('.findings li')].map((li) => [li.querySelector('.what').lastElementChild.textContent, li.querySelector('code')?.textContent])));
	same('who has an alarm may be revoked; who is late, or silent, is looked at', ['tray-00062', 'tray-00011', 'tray-00090'].map((x) => orders[x]),
		['bwlimit-ctl --fleet revoke --tray tray-00062 --key YOUR.pem', 'bwlimit-ctl --fleet status --tray tray-00011', 'bwlimit-ctl --fleet status --tray tray-00090']);
	ok('what is wrong elsewhere is said while one rack is shown', (await t.says('tray-00062')) && (await t.says('1 alarm')), await t.text());
	t.server.state.scene.documents['fleet-status'] = () => errorDocument('the store does not answer', 'systemctl status etcd', 'EAGAIN');
	await t.page.clock.runFor(6_000);
	ok('an error of the fleet is red while old numbers stay', (await t.says('the store does not answer')) && (await t.says('What you see of the trays is old')) && (await t.text()).includes('tray-08000'), await t.text());
	await t.close();
	const dark = scenes['fleet-well']();
	const exfil = dark.documents.exfil();
	dark.documents.exfil = () => ({ ...exfil, exit_count: 0, curve_bytes: null, least_s: null });
	const unknown = await open(browser, dark);
	ok('of a fleet of which nothing is known, nothing is said to be shut', (await unknown.says('by tomorrow: – (the server has no curve for it)')) && !(await unknown.text()).includes('no exit is open'), await unknown.text());
	await unknown.close();
	const well = scenes['fleet-well']();
	const of = well.documents['fleet-status'];
	well.documents['fleet-status'] = (q) => {
		const d = of(q);
		for (const [i, x] of d.trays.entries()) if (i < 3) Object.assign(x, { policy_name: 'storage', policy_version: 7 });
		return d;
	};
	const two = await open(browser, well);
	ok('versions of two policies are not compared', (await two.says('Every tray is well')) && !(await two.text()).includes('not acknowledged'), await two.text());
	await two.close();
	well.documents['fleet-status'] = (q) => ({ ...of(q), late_count: 30, policies: [{ policy_name: 'base', policy_version: 42, tray_count: 90 }, { policy_name: 'base', policy_version: 41, tray_count: 30 }] });
	const late = await open(browser, well);
	ok('who is late is counted by the server, whichever rows are shown', (await late.says('30 of 120 have an older version of their policy')) && (await late.says('in force on 30 of 120 trays')) && (await late.says('and 30 more')), await late.text());
	await late.close();
});
