// SPDX-License-Identifier: GPL-2.0-or-later
// Lists: what is closed, what ends, what happened, what is recorded about a peer.
import { ok, open, part, same } from '../browser.mjs';
import { scenes, timeOf } from '../models.mjs';
import { errorDocument } from '../serve.mjs';
import { browser } from './one.mjs';

/** The lines of a panel: name, value, command. */
const factsOf = (page, id) => page.evaluate((of) => [...document.querySelectorAll(`[aria-labelledby="${of}"] .facts > li`)].map((li) => [li.children[0].innerText, li.children[1].innerText, li.querySelector('code')?.innerText ?? '']), id);
await part('closures', async () => {
	const scene = scenes.stopped();
	const t = await open(browser, scene);
	await t.sees('revoked, since 22:58');
	same('closures are a list: what, why, since when, and what opens it', (await factsOf(t.page, 'evidence')).slice(0, 2),
		[['everything', 'stopped, by hand or by a sign of tampering, since 23:20', 'bwlimit-ctl stop --off'], ['object-store', 'revoked, since 22:58', 'bwlimit-ctl grant object-store reason WHY']]);
	delete scene.documents.journal.closures;
	delete scene.documents.journal.stopped_at;
	const old = await open(browser, scene);
	ok('an older journal tells no times, and that is said', await old.says('revoked, since when is not known'), await old.text());
	await old.close();
	await t.close();
	const expired = scenes.healthy();
	for (const of of [expired.documents.top.peers, expired.documents.grants.grants]) Object.assign(of.find((p) => p.peer === 'backup'), { state: 'expired' });
	expired.documents.grants.grants.find((g) => g.peer === 'backup').expires_in_s = -7300;
	const e = await open(browser, expired);
	await e.sees('its grant ended');
	same('a grant that ended is one, with when', (await factsOf(e.page, 'evidence'))[0], ['backup', 'its grant ended 2 h 1 min ago', 'bwlimit-ctl grant backup for 1d reason WHY']);
	await e.close();
	const lost = await open(browser, scenes['sa-lost']());
	await lost.sees('no SA: nothing passes, not even in the clear');
	same('so is a peer without an SA', (await factsOf(lost.page, 'evidence'))[0], ['tray-3', 'no SA: nothing passes, not even in the clear', 'bwlimit-ctl ipsec status']);
	await lost.close();
});
await part('what ends', async () => {
	const scene = scenes.healthy();
	scene.documents.grants.grants.find((g) => g.peer === 'backup').expires_in_s = 5400;
	scene.documents.status.returns_in_s = 40;
	const t = await open(browser, scene);
	await t.sees('grant ends in 1 h 30 min');
	same('what ends is one list, the soonest first; of certificates it says where to look', (await factsOf(t.page, 'ends')).slice(0, 7),
		[['policy on trial', 'ends in 40 s', 'bwlimit-ctl policy confirm'], ['backup', 'grant ends in 1 h 30 min', ''], ['lease', 'live, ends in 23 h 59 min', ''], ['log-collector', 'grant ends in 29 d 23 h', ''],
			['heartbeat', 'in 9 s', ''], ['certificates of IPsec', '– (root: charon has them)', 'swanctl --list-certs'], ['certificate of bwlimit-sync', '– (where it runs)', 'openssl x509 -enddate -noout -in /etc/bwlimit/sync/cert.pem']]);
	await t.close();
	scene.documents.status.returns_in_s = -40;
	const over = await open(browser, scene);
	await over.sees('ended 40 s ago: only floors pass');
	same('a trial that is over does not say that the policy before is back', (await factsOf(over.page, 'ends'))[0], ['policy on trial', 'ended 40 s ago: only floors pass', 'bwlimit-ctl policy rollback']);
	await over.close();
});
await part('what happened', async () => {
	const scene = scenes.healthy();
	const before = (hours) => new Date(timeOf(scene) - hours * 3_600_000).toISOString();
	const line = (hours, level, text) => ({ time: before(hours), level, program: 'bwlimitd', event: 'tamper', text, record: 1 });
	scene.documents.log.lines = [line(25, 'alert', 'yesterday'), line(2, 'alert', 'the first'), line(1, 'warning', 'it was not told'),
		{ time: before(0.5), level: 'notice', program: 'bwlimit-ctl', event: 'grant', text: 'grant backup reason ticket 4711', record: 2 }];
	const t = await open(browser, scene);
	await t.sees('ticket 4711');
	same('the newest of the log is first, a day of it', (await factsOf(t.page, 'ends')).slice(-3).map((f) => f[1]), ['grant backup reason ticket 4711', 'it was not told', 'the first']);
	ok('a sign of tampering of this day needs somebody', await t.says('A sign of tampering at'), await t.text());
	ok('that it could not be told is none', !(await t.page.locator('[aria-labelledby=needs]').innerText()).includes('it was not told'));
	ok('of the newest checkpoint is said how many records it covers, and how old that is', await t.says('checkpoint 19 records,'), await t.text());
	const titles = () => t.page.evaluate(() => [...document.querySelectorAll('[aria-labelledby=ends] .facts > li, [aria-labelledby=evidence] .facts > li')].map((li) => li.outerHTML).join(''));
	ok('who said it is at each line, and the checkpoint itself', /grant, notice, by bwlimit-ctl/.test(await titles()) && /— bwlimit\/tray-7 /.test(await titles()), await titles());
	await t.close();
	scene.documents.log.lines = scene.documents.log.lines.filter((l) => l.text !== 'the first');
	const quiet = await open(browser, scene);
	await quiet.sees('ticket 4711');
	ok('one of yesterday, and one that is no alarm, need nobody', !(await quiet.text()).includes('A sign of tampering'), await quiet.text());
	await quiet.close();
	const ack = { time: before(1.5), level: 'notice', program: 'bwlimit-ctl', event: 'ack', text: 'ack of signs up to record 1: ticket 12, ordered by ada', record: 3, acknowledged: false };
	scene.documents.log.lines = [{ ...line(2, 'alert', 'the first'), acknowledged: true }, ack];
	const seen = await open(browser, scene);
	ok('one that somebody acknowledged is a note, with who said so and why', await seen.says('A sign of tampering, acknowledged') && await seen.says('ticket 12, ordered by ada'), await seen.text());
	ok('which needs nobody now', !(await seen.text()).includes('you now'), await seen.text());
	await seen.close();
	scene.documents.log.lines = [...scene.documents.log.lines, { ...line(1, 'alert', 'another'), record: 9, acknowledged: false }];
	const more = await open(browser, scene);
	ok('a new sign does, with what acknowledges it', await more.says('you now') && await more.says('bwlimit-ctl audit ack 9 WHY'), await more.text());
	await more.close();
	scene.documents.log = scene.documents.audit = () => errorDocument('there is none', 'bwlimitd writes it if there is an audit log: bwlimit-ctl audit init');
	const none = await open(browser, scene);
	ok('without an audit log both places say what makes one', await none.says('log bwlimitd writes it if there is an audit log: bwlimit-ctl audit init')
		&& await none.says('checkpoint – (bwlimitd writes it if there is an audit log'), await none.text());
	await none.close();
});
await part('records', async () => {
	const scene = scenes.theft();
	const t = await open(browser, scene, { query: '?peer=log-collector' });
	const rows = () => t.page.evaluate(() => [...document.querySelectorAll('[aria-label="Flows, table"] tbody tr')].map((r) => r.innerText.replace(/[\s\u00a0]+/g, ' ')));
	ok('its flows are there, and how many are listed', await t.says('11 of 11 flows'), await t.text());
	const first = (await rows())[0];
	ok('the one with the most bytes first; RoCE by its queue pair', first.includes('[fd00:3::1]:4791 qp 17') && first.includes('rocev2'), first);
	ok('what is in no row is said', await t.says('9.10 kB in remainders') && await t.says('2 with fewer bytes are not listed'), await t.text());
	await t.page.fill('[aria-label="Find a flow"]', 'peer-rate');
	ok('a filter is of every word of a flow, and in the URL', await t.says('1 of 11 flows') && new URL(t.page.url()).searchParams.get('flow') === 'peer-rate', t.page.url());
	same('and only that one is left', (await rows()).length, 1);
	await t.page.fill('[aria-label="Find a flow"]', 'no such thing');
	ok('none is said in words', await t.says('No flow matches.'), await t.text());
	await t.page.fill('[aria-label="Find a flow"]', '');
	await t.sees('11 of 11 flows');
	await t.page.click('[aria-label="Flows, table"] thead >> text="frames"');
	await t.page.focus('[aria-label="Flows, table"] thead th:nth-child(2) button');
	await t.page.keyboard.press('Enter');
	same('it sorts by keyboard too, by an order of its own', new URL(t.page.url()).searchParams.get('flowsort'), 'from');
	ok('an interval says its balance', await t.says('5.05 MB in flows + 100 kB in remainders = 5.15 MB by its counter'), await t.text());
	ok('and how many do', await t.says('of 30 intervals all balance, none says that something is missing'), await t.text());
	ok('how long packets are delayed: in shape', await t.says('in shape, 50 % at once') && await t.says('in shape, 99 % ≤ 4.19 ms'), await t.text());
	ok('and to the uplink', await t.says('host port to uplink, 50 % ≤ 16.4 µs') && await t.says('host port to uplink, 99 % ≤ 32.8 µs'), await t.text());
	await t.page.click('text="commands for a proof"');
	ok('a proof is a command to type', await t.says('bwlimit-ctl flows intervals --peer log-collector --most 360 --json') && await t.says('bwlimit-ctl audit verify'), await t.text());
	ok('one of them opens this peer in the newest interval to an auditor', await t.says(`bwlimit-ctl evidence open --interval ${scene.documents['flow-intervals'](new URLSearchParams()).intervals[0].sequence} --peer log-collector --write proof.json`), await t.text());
	same('and the button says that it is open', await t.page.getAttribute('text="commands for a proof"', 'aria-expanded'), 'true');
	await t.close();

	const bad = scenes.theft();
	const well = bad.documents['flow-intervals'];
	bad.documents['flow-intervals'] = (q) => {
		const d = well(q);
		Object.assign(d.intervals[20], { peer_balanced: false, balanced: false, why: 'its counter moved between two intervals' });
		Object.assign(d.intervals[25], { gap: 'intervals 3 to 7 of these tables' });
		return d;
	};
	bad.documents.latency = { ...bad.documents.latency, measured: false, peers: [bad.documents.latency.peers[0]] };
	bad.documents.flows = () => errorDocument('cannot read /var/lib/bwlimit/flows: No such file or directory', 'bwlimit-load upgrade --record on, and bwlimitd writes them; --state-dir says where');
	const u = await open(browser, bad, { query: '?peer=log-collector' });
	ok('an interval that does not balance is in sight, and why', await u.says('≠ 5.15 MB by its counter: its counter moved between two intervals'), await u.text());
	ok('so is a gap, however old', await u.says('missing before it: intervals 3 to 7 of these tables'), await u.text());
	ok('and they are counted', await u.says('of 30 intervals 1 do not balance, 1 say that something is missing'), await u.text());
	ok('without records the page says what makes them', await u.says('bwlimit-load upgrade --record on'), await u.text());
	ok('nor what is not measured', await u.says('not measured') && await u.says('bwlimit-load upgrade --latency on'), await u.text());
	await u.close();

	const none = scenes.theft();
	for (const name of ['flows', 'flow-intervals', 'latency']) delete none.documents[name];
	const v = await open(browser, none, { query: '?peer=log-collector' });
	ok('a server that serves none of it is not asked', await v.says('bwlimit-ctl revoke log-collector') && !v.server.asked.some((a) => /flow|latency/.test(a)), v.server.asked);
	await v.close();
	const other = scenes.theft();
	const w = await open(browser, other, { query: '?peer=tray-3' });
	ok('who is not measured by name has the command for it', await w.says('bwlimit-ctl latency on tray-3'), await w.text());
	await w.close();
});
