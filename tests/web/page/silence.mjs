// SPDX-License-Identifier: GPL-2.0-or-later
// What is old, silent, missing, or paused is said to be so.
import { ok, open, part, same, until } from '../browser.mjs';
import { scenes } from '../models.mjs';
import { errorDocument } from '../serve.mjs';
import { browser } from './one.mjs';

/** The same frame with the current time. */
const later = async (t) => ({ ...scenes.healthy().documents.top, time: new Date(await t.page.evaluate(() => Date.now())).toISOString() });
/** Waits until the table fades, or does not: numbers are fresh for four seconds, in real time, too. */
const fades = (t, is) => t.is((f) => document.querySelector('.table')?.hasAttribute('data-fades') === f, is);
await part('the clock', async () => {
	const scene = scenes.clock();
	scene.time = new Date(Date.parse(scene.documents.top.time) + 110_000); // however slowly the page is opened
	const t = await open(browser, scene);
	ok('a browser whose clock differs is told by how much, and whose clock is synchronised', (await t.says('The DPU’s clock and yours differ by 1 min')) && (await t.says('The DPU’s is synchronised: check yours')), await t.text());
	await t.close();
	const unsure = await open(browser, scenes['clock-unsynchronised']());
	ok('a DPU whose clock is not synchronised says so, however well it agrees with the browser', (await unsure.says('The DPU’s clock is not synchronised')) && (await unsure.says('neither signed times nor an “until:” of a policy are trusted')) && !(await unsure.text()).includes('and yours differ'), await unsure.text());
	await unsure.close();
});
await part('loading', async () => {
	const t = await open(browser, scenes.healthy(), { hang: true });
	ok('the state "loading" says what to do if it stays', await t.says('systemctl status bwlimit-web'), await t.text());
	t.server.state.hang = false;
	await t.close();
});
await part('stale', async () => {
	const t = await open(browser, scenes.healthy());
	await t.sees('22 h 11 min');
	t.server.push('top', t.server.state.scene.documents.top = await later(t));
	ok('fresh numbers do not fade', await fades(t, false));
	t.server.state.hang = true;
	await t.page.clock.runFor(6_000);
	ok('numbers that are older than three seconds do', await fades(t, true));
	await t.page.clock.runFor(30_000);
	ok('the state "stale" is said in its words, with since when', await t.says('The server has been silent for'), await t.text());
	ok('and that limits hold without the page', await t.says('Limits hold without it'));
	t.server.state.hang = false;
	t.server.push('top', await later(t));
	const fresh = t.is(() => document.querySelector('.stale').hidden && !document.querySelector('.table').hasAttribute('data-fades'));
	ok('it goes when the server speaks again', await fresh, await t.text());
	await t.close();
});
await part('verify is old', async () => {
	const t = await open(browser, scenes.healthy(), { ages: { verify: 3 * 86_400 } });
	ok('a verify of three days ago is a finding with what to type', (await t.says('The promises have not been verified lately')) && (await t.says('for 3 d')) && (await t.says('systemctl status bwlimit-verify.timer')), await t.text());
	await t.page.clock.runFor(30_000);
	t.server.push('top', t.server.state.scene.documents.top);
	const head = await t.page.evaluate(() => [document.querySelector('.verified').innerText, document.querySelector('#needs').innerText]);
	same('and however much the stream says since, nothing is called verified', [head[0], head[1].includes('not verified')], ['not verified for 3 d', true]);
	t.server.state.ages.verify = 60;
	await t.page.clock.runFor(16_000);
	ok('it goes with a new one, even of the same words', await t.says('All promises hold'), await t.text());
	t.server.state.scene.documents.verify = errorDocument('there is no newest result');
	await t.page.clock.runFor(16_000);
	ok('a verify that cannot be read any more is one as well', (await t.says('verify cannot be read')) && (await t.says('No sign of a broken promise; not verified')), await t.text());
	await t.close();
});
await part('the stream', async () => {
	const t = await open(browser, scenes.healthy());
	await t.sees('All promises hold');
	t.server.state.refuse = true;
	t.server.drop();
	// Step by step: the page counts from when the browser reports it, and from the last message; both are in real time.
	for (let i = 0; i < 60 && !(await t.text()).includes('The stream of numbers is closed'); i++) await t.page.clock.runFor(500);
	ok('a stream that is closed and refused is red, though every question is answered', (await t.says('The stream of numbers is closed')) && (await t.says('1 thing needs you now')), await t.text());
	ok('and since when nothing came is said at the top', /silent ([5-9]|[1-5]\d) s|silent \d+ min/.test(await t.text()), await t.text());
	await t.page.clock.runFor(20_000);
	ok('and 20 s of it are said across the page', await t.says('The server has been silent for'), await t.text());
	t.server.state.refuse = false;
	t.server.state.scene.documents.top = await later(t);
	await t.page.clock.runFor(1_000);
	ok('it goes when the stream is there again', await t.says('All promises hold'), await t.text());
	await t.close();
	const same = await open(browser, scenes.healthy());
	await same.sees('All promises hold');
	for (let i = 0; i < 6; i++) {
		same.server.push('top', scenes.healthy().documents.top, 0);
		same.server.push('status', scenes.healthy().documents.status, 0);
		await same.page.clock.runFor(1_000);
	}
	ok('the same frame of top again and again is an old one', await same.page.evaluate(() => document.querySelector('.table').hasAttribute('data-fades')));
	await same.close();
});
await part('no policy to read', async () => {
	const scene = scenes.theft();
	scene.documents.policy = errorDocument('bwlimitd does not answer', null, 'EAGAIN');
	const t = await open(browser, scene);
	ok('where the policy cannot be read that is red, with every peer an exit', (await t.says('The policy cannot be read: exits are not known')) && (await t.says('exits 4')), await t.text());
	ok('and a theft stays one', (await t.says('log-collector: sending at its limit, out of the site')) && (await t.says('2 things need you now')), await t.text());
	t.server.state.scene.documents.policy = scenes.theft().documents.policy;
	await t.page.clock.runFor(16_000);
	ok('it goes when it can be read', (await t.says('exits 3')) && !(await t.text()).includes('exits are not known'));
	await t.page.evaluate(() => { AbortSignal.timeout = () => AbortSignal.abort(); });
	await t.page.clock.runFor(16_000);
	ok('a question that is never answered is given up, and is no silence', await t.says("bwlimit-web does not answer 'policy'"), await t.text());
	await t.close();
});
await part('agent gone', async () => {
	const t = await open(browser, scenes.healthy());
	await t.sees('22 h 11 min');
	const gone = errorDocument('bwlimitd does not answer', null, 'EAGAIN');
	for (const name of ['status', 'top', 'reasons']) t.server.push(name, t.server.state.scene.documents[name] = gone);
	ok('where bwlimitd does not answer, that is said, and what to type', (await t.says('bwlimitd does not answer')) && (await t.says('systemctl status bwlimitd')), await t.text());
	await t.page.clock.runFor(6_000);
	same('what was known stays, and fades', await t.page.evaluate(() => [document.querySelector('.table').hasAttribute('data-fades'), document.querySelectorAll('.peers tbody tr').length]), [true, 4]);
	t.server.push('top', await later(t));
	t.server.push('status', scenes.healthy().documents.status);
	ok('and is fresh again when it answers', (await fades(t, false)) && (await t.says('All promises hold')), await t.text());
	await t.close();
});
await part('missing', async () => {
	const scene = scenes.healthy();
	for (const p of scene.documents.top.peers) Object.assign(p, { passed_bits_per_second: null, rate_bits_per_second: null, left: null });
	for (const name of ['exfil', 'policy', 'grants', 'verify', 'log', 'audit', 'history', 'ipsec-status']) delete scene.documents[name];
	const t = await open(browser, scene);
	await t.until(() => document.querySelectorAll('.peers tbody tr').length === 4);
	const cells = await t.page.evaluate(() => [...document.querySelectorAll('.peers tbody tr:first-child td')].map((c) => c.innerText.trim()));
	same('what is not known is a dash, never 0', cells, ['– / –', '–', '–', '–', '–', '–', '–']);
	const large = await t.page.evaluate(() => [document.querySelector('.figure-large').innerText, document.querySelector('.figure-medium').innerText]);
	same('so are the large figures', large, ['–', '–']);
	ok('and that nothing was verified is said', await t.says('not verified'));
	await t.close();
	const one = scenes.healthy();
	one.documents.top.peers.find((p) => p.peer === 'log-collector').passed_bits_per_second = null;
	const dim = await open(browser, one);
	ok('of exits of which one is not known, the sum is not known', await dim.says('– of '), await dim.text());
	ok('nor the sum of its zone', await dim.page.evaluate(() => [...document.querySelectorAll('.budgets tbody tr')].some((tr) => /^zone external\s+– \//.test(tr.innerText.replace(/[\s\u00a0]+/g, ' ')))), await dim.text());
	await dim.page.click('text="log-collector"');
	await dim.sees('zone external');
	ok('nor on the peer’s own page', await dim.page.evaluate(() => [...document.querySelectorAll('.levels tbody tr')].filter((tr) => /^(peer log-collector|zone external)\s+– \//.test(tr.innerText.replace(/[\s\u00a0]+/g, ' '))).length === 2), await dim.text());
	await dim.close();
});
await part('pause', async () => {
	const t = await open(browser, scenes.healthy());
	await t.sees('3.78 Mbit/s');
	const more = structuredClone(t.server.state.scene.documents.top);
	more.peers.find((p) => p.peer === 'backup').passed_bits_per_second = 1_230_000;
	await t.page.keyboard.press('p');
	await t.until(() => document.getElementById('pause').getAttribute('aria-pressed') === 'true');
	await until(() => !t.server.streams.size);
	same('paused, the server has no stream to fill', t.server.streams.size, 0);
	t.server.state.scene.documents.top = more;
	await t.marker();
	const before = t.server.asked.length;
	await t.page.clock.runFor(60_000);
	await t.marker();
	same('and is asked nothing for a minute', t.server.asked.length, before);
	ok('what is seen stays', !(await t.text()).includes('1.23 Mbit/s') && (await t.says('paused at')));
	await t.page.click('#pause');
	ok('going on, it shows what is new', await t.says('1.23 Mbit/s'));
	await t.close();
});
