// SPDX-License-Identifier: GPL-2.0-or-later
// The page in Debian's chromium: every state with its words, accessibility, keys, pausing, hostile names, and its cost.
import { mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { CSP, errorDocument } from './serve.mjs';
import { AXE, done, launch, note, ok, open, part, same, shown, until, wrong } from './browser.mjs';
import { typedIn } from './commands.mjs';
import { hostile, many, scenes, timeOf } from './models.mjs';

const browser = await launch();
/** The same frame with the current time. */
const later = async (t) => ({ ...scenes.healthy().documents.top, time: new Date(await t.page.evaluate(() => Date.now())).toISOString() });
/** Waits until the table fades, or does not: numbers are fresh for four seconds, in real time, too. */
const fades = (t, is) => t.page.waitForFunction((f) => document.querySelector('.table')?.hasAttribute('data-fades') === f, is, { timeout: 60_000 }).then(() => true, () => false);
const pictures = process.env.PICTURES;
if (pictures) mkdirSync(pictures, { recursive: true });
const states = process.env.STATES;
const picture = (page, name, dir = pictures) => dir && page.screenshot({ path: join(dir, `${name}.png`) });

// ---- states ------------------------------------------------------------------------------------------------------------------
const STATES = {
	healthy: ['All promises hold', '22 h 11 min', 'could be gone by tomorrow', 'log-collector', 'SA up, packet offload', 'nothing was refused', 'live, ends in 23 h'],
	limit: ['log-collector is at its limit', 'refused', 'peer-rate', 'peers: log-collector: grant:', 'bwlimit-ctl peer show log-collector'],
	theft: ['log-collector: sending at its limit, out of the site', 'for 42 min', '3.12 GB gone since 22:48, 3.24 GB of its 4.00 GB used', '760 MB more can go, in 9 min 43 s', 'bwlimit-ctl revoke log-collector', '81 % of 4.00 GB'],
	'slow-theft': ['most of its volume is used', 'for 2 h 19 min', '3.24 GB of 4.00 GB per 1 d gone, without a pause since 21:10', '760 MB more can go, in 34 min', 'perhaps a slow theft', 'bwlimit-ctl revoke log-collector'],
	'split-theft': ['2 things need you now · 2 peers together: 4.05 GB gone', '124 MB more can go', 'backup: sending at its limit', 'log-collector: sending at its limit'],
	'blinking-theft': ['1 thing needs you now', 'at this second it sends nothing', 'log-collector: sending at 60 % of its limit, out of the site', 'for 42 min'],
	'zone-theft': ['object-store: sending at 60 % of its limit, out of the site', 'for 5 h 19 min', '72.0 GB gone since 18:09', 'only the rate of its zone limits it', '30.0 Mbit/s / 50.0 Mbit/s'],
	'unlimited-own': ['backup has no limit of its own', 'only its zone or this node limits it'],
	unlimited: ['1 thing needs you now', 'backup has no limit', 'only counted'],
	tried: ['The host sends from addresses that are not its own', 'source-address', 'host_ports: hpf0: sources: 10.7.0.0/24', 'default: (no peer has this destination)'],
	'sa-lost': ['tray-3 has no SA', 'nothing passes to it, not even in the clear', 'bwlimit-ctl ipsec status', 'no SA: closed'],
	'last-sa': ['1 thing needs you now', 'mesh-12 has no SA', 'SA up, packet offload'],
	'agent-dead': ['bwlimitd is silent: grants have ended', 'Limits hold: they are in the kernel', 'systemctl restart bwlimitd', 'silent'],
	verify: ['verify fails: forwarding-ipv4', 'A sign of tampering', 'sysctl -w net.ipv4.ip_forward=0', 'verify FAILS', 'and 2 more like it'],
	plain: ['tray-3 has no SA', 'no SA: closed', 'Not verified by this page', 'not verified here', 'journalctl -u bwlimitd'],
	'volumes-end': ['for ever', 'volumes end before that: less than 1.00 TB can leave through the 2 exits', 'at most 300 MB (< 1 % of it)', '▲ peer backup: its volume is of no window'],
	empty: ['for ever', 'no exit is open: nothing may leave', 'could be gone by tomorrow: nothing', 'The policy has no peers: nothing may be sent'],
	'no-policy': ['No policy is in force', 'bwlimit-ctl policy apply /etc/bwlimit/policy.yaml', 'no policy has been applied: nothing can leave'],
	stopped: ['Closed by stop', 'bwlimit-ctl stop --off', 'object-store', 'revoked'],
	nothing: ['Nothing is known about this node', 'no bwlimit is attached here', 'bwlimit-load attach'],
	fleet: ['1 alarm', '4 trays are not alive', '1 y 30 d', 'by tomorrow: at most 6.78 GB (< 1 % of it)', '▲ trays of which nothing is known, and that are not counted: 3', 'WIDENS, in 9 places; the least time for 1.00 TB is then 80 d, before 1 y 30 d', '+ zone external: rate: 10mbit -> 50mbit', 'and 3 more, which approve shows', 'reason: ticket 4711', 'in force on 9 992 of 10 000 trays', 'in force on 8 of 10 000 trays', 'not acknowledged',
		'rolled out to 25 % of the trays since', 'soak: 4 min left, then 50 %', '12 of 2 480 unwell: tray-00011 has not taken it; waits for tray-00011, tray-01261', 'and 4 more', 'storage 8 rolled back at 10 %', 'tray-00062 drops 12.3 % of its packets', 'mesh 41', 'in force everywhere since',
		'revocation/r-77ab not acknowledged by 9', 'revocation/r-77ab has not reached 9 trays: tray-00011, tray-01261', 'tray-00062: clamped', 'since 22:41; a sign of tampering', '--lifts clamp', 'tray-00061: log-collector', 'since 23:02; closed', '--number 43 --for 30d --opens log-collector', 'since –; closed', '298 more: bwlimit-ctl --fleet closures', '1 to 50 of 10 000', 'zone external', 'bwlimit-ctl --fleet approve policy/base'],
	'fleet-well': ['Every tray is well', 'nothing waits for a signature', 'base 42', 'in force on 120 of 120 trays', 'in force everywhere since', 'nothing is closed, and every document was taken'],
};
const PICTURES = { healthy: 'page-node', theft: 'page-theft', fleet: 'page-fleet' };
for (const [name, words] of Object.entries(STATES)) {
	await part(`state ${name}`, async () => {
		const t = await open(browser, scenes[name]());
		const missing = [];
		for (const w of words) if (!(await t.says(w))) missing.push(w);
		same(`the state "${name}" is said in its words`, missing, []);
		if (['healthy', 'theft', 'verify', 'fleet'].includes(name)) {
			const over = await t.page.evaluate(() => [document.documentElement.scrollHeight - innerHeight, document.getElementById('main').scrollHeight - document.getElementById('main').clientHeight]);
			same(`"${name}" is one screen of 1280 by 800`, over, [0, 0]);
		}
		if (PICTURES[name]) await picture(t.page, PICTURES[name]);
		if (states) await picture(t.page, name, states);
		await t.close();
	});
}
/** What changes in a healthy node, and the finding that results: its urgency, its words, what to type. */
const grantOf = (d, peer) => d.grants.grants.find((g) => g.peer === peer);
const refusedBy = (reason) => (d) => d.reasons.reasons.push({ port: 'p0', hook: 'gate', reason, passes: false, text: reason, todo: null, frames: 3, bytes: 300, charged_bytes: 300 });
const FINDINGS = [
	['today', 'A policy is on trial', 'bwlimit-ctl policy confirm', (d) => { d.status.returns_in_s = 40; }],
	['now', 'The journal of closures is cut', 'bwlimit-ctl journal show', (d) => { d.status.journal.state = 'cut'; }],
	['now', 'The journal of closures is missing', 'bwlimit-ctl journal show', (d) => { d.status.journal.state = 'missing'; }],
	['now', 'The accepted policy is damaged', 'systemctl status bwlimitd', (d) => { d.status.desired.state = 'damaged'; }],
	['today', 'A desired policy was refused', 'journalctl -u bwlimitd', (d) => { d.status.desired.refused = { name: 'desired.yaml' }; }],
	['now', 'These are the maps of a test', 'bwlimit-load detach', (d) => { d.status.drill = true; }],
	['now', 'An upgrade has not ended', 'bwlimit-load upgrade', (d) => { d.status.switch = 'upgrading'; }],
	['now', 'Not opened since it was attached', 'bwlimit-load up', (d) => { d.status.switch = 'closed'; }],
	['now', 'The journal was not yet compared with the TPM', 'systemctl status bwlimitd', (d) => { d.status.switch = 'unjudged'; }],
	['now', 'the_program is not on hpf0', 'bwlimit-load verify', (d) => { d.status.ports.find((p) => p.port === 'hpf0').programs.push({ program: 'the_program', attached: false, fallback: null }); }],
	['note', 'the_program on hpf0 fell back', 'bwlimit-load verify', (d) => { d.status.ports.find((p) => p.port === 'hpf0').programs.push({ program: 'the_program', attached: true, fallback: 'generic mode' }); }],
	['now', 'Port hpf0 is gone', 'bwlimit-load status', (d) => { d.status.ports.find((p) => p.port === 'hpf0').present = false; }],
	['now', 'bwlimitd sends no heartbeat', 'systemctl status bwlimitd', (d) => { d.status.heartbeat_ends_in_s = d.policy.heartbeat_s / 2 - 1; }],
	['now', 'There was never a lease', 'bwlimit-ctl lease renew', (d) => { d.status.lease = { state: 'never', longest_s: 86400, ends_in_s: null, renewed_ago_s: null }; }],
	['today', 'The lease ends in 1 h', 'bwlimit-ctl lease renew', (d) => { d.status.lease = { state: 'live', longest_s: 86400, ends_in_s: 3600, renewed_ago_s: 82800 }; }],
	['today', 'backup: its grant ends in 1 h 30 min', 'bwlimit-ctl grant backup for 1d reason WHY', (d) => { grantOf(d, 'backup').expires_in_s = 5400; }],
	['today', 'backup: its grant has expired', 'bwlimit-ctl grant backup for 1d reason WHY', (d) => { grantOf(d, 'backup').expires_in_s = -60; d.top.peers.find((p) => p.peer === 'backup').state = 'expired'; }],
	['note', 'backup: its mode fell back to police', 'bwlimit-ctl peer show backup', (d) => { Object.assign(grantOf(d, 'backup'), { mode: 'shape', mode_in_force: 'police' }); }],
	['now', 'A peer’s DPU breaks its promise', 'bwlimit-ctl watch', refusedBy('tunnel-source')],
	['note', 'Packets to an encrypted peer had no SA', 'bwlimit-ctl watch', refusedBy('no-sa')],
	['note', 'The last gate refused packets', 'bwlimit-ctl watch', refusedBy('gate')],
	['today', 'verify warns: clock', 'chronyc tracking', (d) => { d.verify.checks.push({ id: 'clock', result: 'warn', text: 'time is not synchronised', todo: 'chronyc tracking' }); d.verify.warned_count++; }],
	['now', 'verify fails: program-digest', 'bwlimit-load upgrade', (d) => { d.verify.checks.push({ id: 'program-digest', result: 'fail', text: 'another program is attached', todo: 'bwlimit-load upgrade' }); Object.assign(d.verify, { ok: false, failed_count: 1 }); }],
];
await part('findings', async () => {
	const calm = await open(browser, scenes.healthy());
	same('control: a healthy node has no finding', [await calm.says('All promises hold'), await calm.page.evaluate(() => document.querySelectorAll('.findings li').length)], [true, 0]);
	await calm.close();
	for (const [level, what, command, change] of FINDINGS) {
		const scene = scenes.healthy();
		change(scene.documents);
		const t = await open(browser, scene);
		await t.says(what);
		const is = await t.page.evaluate((w) => [...document.querySelectorAll('.findings li')].filter((li) => li.querySelector('.what').lastElementChild.textContent === w)
			.map((li) => [li.dataset.level, li.querySelector('code')?.textContent ?? null, li.querySelector('.means').textContent.length > 10]), what);
		same(`a finding with its level and its command: ${what}`, is, [[level, command, true]]);
		await t.close();
	}
});
await part('sources', async () => {
	for (const [name, query, least] of [['healthy', '', 25], ['limit', '', 25], ['theft', '?peer=log-collector', 15], ['fleet', '', 100]]) {
		const t = await open(browser, scenes[name](), { query });
		await t.says(name === 'fleet' ? '1 to 50' : 'log-collector');
		const is = await t.page.evaluate(() => {
			const figures = [...document.querySelectorAll('main :is(.figure-large, .figure-medium, .figure, .figures, .value, .by, td, .sentence, .plot-words, section li > .small)')].filter((e) => /\d/.test(e.textContent) && !e.closest('.findings, .command, thead'));
			const says = (e) => e.closest('[title]')?.title ?? '';
			return { all: figures.length, without: figures.filter((e) => !/ago|just now/.test(says(e))).map((e) => `${e.textContent}: ${says(e)}`), title: says(document.querySelector('.figure-large, .sentence')) };
		});
		same(`every figure has where it is from and how old it is as its tooltip: "${name}${query}"`, [is.without, is.all >= least ? true : is.all], [[], true]);
		note(is.title);
		await t.close();
	}
});
await part('the clock', async () => {
	const scene = scenes.clock();
	scene.time = new Date(Date.parse(scene.documents.top.time) + 90_000);
	const t = await open(browser, scene);
	ok('a browser whose clock differs is told by how much, and whose clock is synchronised', (await t.says('The DPU’s clock and yours differ by 1 min 3')) && (await t.says('The DPU’s is synchronised: check yours')), await t.text());
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
	await t.says('22 h 11 min');
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
	const fresh = t.page.waitForFunction(() => document.querySelector('.stale').hidden && !document.querySelector('.table').hasAttribute('data-fades'), null, { timeout: 60_000 });
	ok('it goes when the server speaks again', await fresh.then(() => true, () => false), await t.text());
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
	await t.says('All promises hold');
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
	await same.says('All promises hold');
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
	await t.says('22 h 11 min');
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
	await t.page.waitForFunction(() => document.querySelectorAll('.peers tbody tr').length === 4);
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
	await dim.says('zone external');
	ok('nor on the peer’s own page', await dim.page.evaluate(() => [...document.querySelectorAll('.levels tbody tr')].filter((tr) => /^(peer log-collector|zone external)\s+– \//.test(tr.innerText.replace(/[\s\u00a0]+/g, ' '))).length === 2), await dim.text());
	await dim.close();
});

await part('own limits', async () => {
	const rows = (t, of) => t.page.evaluate((s) => [...document.querySelectorAll(`${s} tbody tr`)].map((tr) => [...tr.children].map((c) => c.textContent.replace(/[\s\u00a0]+/g, ' ').trim()).join(' | ')), of);
	const t = await open(browser, scenes['own-limits']());
	ok('a host port over its rate: both lines that may be meant', await t.says('peers: log-collector: ports: hpf0: 4.00 Mbit/s, 10.0 MB per 1 d'), await t.text());
	await t.says('port hpf0 to log-collector');
	const budgets = await rows(t, '.budgets');
	same('among the budgets a volume of a host port to a peer that is nearly used is first', budgets[0], 'port hpf0 to log-collector | – / 4.00 Mbit/s | 92 % of 10.0 MB | 800 kB');
	same('and one that is not is no line there', budgets.filter((r) => /hpf1 to|arriving/.test(r)), []);
	await t.page.click('text="log-collector"');
	await t.says('arriving from it');
	const levels = await rows(t, '.peer .levels');
	same('a peer has a line for each of its host ports\u2019 limits, the innermost', levels.slice(0, 2),
		['port hpf0 to it | – / 4.00 Mbit/s | 92 % of 10.0 MB per 1 d | 800 kB', 'port hpf1 to it | – / 6.00 Mbit/s | no volume | –']);
	same('and for the volume of what arrives', levels.at(-1), 'arriving from it | – / 10.0 Mbit/s | 24 % of 50.0 MB per 1 d | 38.0 MB');
	ok('its weight in the zone, and the rate of that', await t.says('weight 3: 37.1 Mbit/s'), await t.text());
	await t.page.click('text="port/hpf0"');
	ok('a host port has a history', await t.says('sent as port/hpf0'), await t.text());
	await t.close();
	const plain = await open(browser, scenes.healthy(), { query: '?peer=log-collector' });
	await plain.says('Its limits');
	await plain.says('zone external');
	same('control: where the policy has none of them there is no line', (await rows(plain, '.peer .levels')).filter((r) => /to it|arriving/.test(r)), []);
	ok('nor a weight', !(await plain.text()).includes('weight'));
	await plain.close();
});

await part('not silent', async () => {
	for (const [name, words] of [['clamped', 'Every grant is held at its floor'], ['lease-ended', 'The lease has ended'], ['lease-ends', 'The lease ends in 3 s']]) {
		const t = await open(browser, scenes[name]());
		ok(`"${name}" is said, and not laid to a bwlimitd that is silent`, (await t.says(words)) && !/bwlimitd (is silent|says nothing)/.test(await t.text()), await t.text());
		await t.close();
	}
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
	const shows = (frames) => t.page.waitForFunction((f) => document.querySelector('.reasons tbody td')?.innerText === f, frames, { timeout: 60_000 }).then(() => true, () => false);
	const taken = (frames) => t.page.waitForFunction((f) => document.querySelector('.reasons tbody th')?.title.startsWith(`as of ${f};`), frames, { timeout: 60_000 });
	await t.page.clock.fastForward(7_200_000); // like a hidden tab, whose timers stood still
	t.server.push('reasons', reasons(1400));
	ok('after a hidden time the true age is said', await t.says('in the last 2 h'), await t.text());
	ok('with what came in it', await shows('400'), await shown());
	for (let i = 1; i <= 62; i++) {
		t.server.push('reasons', reasons(1400 + i));
		await taken(1400 + i); // in the minute to which it belongs
		await t.page.clock.fastForward(60_000);
	}
	const few = () => t.page.waitForFunction(() => Number(document.querySelector('.reasons tbody td')?.innerText) < 100, null, { timeout: 60_000 }).then(() => true, () => false);
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
	for (const w of ['61.7 Mbit/s / 2.00 Gbit/s', '15 % of 21.5 GB']) await t.says(w); // from top, the policy and usage
	const rows = () => t.page.evaluate(() => [...document.querySelectorAll('.budgets tbody tr')].map((tr) => [tr.children[0], ...tr.querySelectorAll('.figure'), tr.lastElementChild].map((c) => c.innerText)));
	const first = await rows();
	same('the node, its host port and its zones: what is used of rate and volume, and what is left', first,
		[['node tray-7', '61.7 Mbit/s / 2.00 Gbit/s', 'no volume', '–'], ['port hpf0', '61.7 Mbit/s / 2.00 Gbit/s', 'no volume', '–'], ['zone external', '10.4 Mbit/s / 50.0 Mbit/s', '15 % of 21.5 GB', '18.2 GB'], ['zone mesh', '41.3 Mbit/s / 1.00 Gbit/s', 'no volume', '–']]);
	const usage = structuredClone(scene.documents.usage);
	usage.volumes.find((v) => v.limit_key === 'zone external').used_bytes = 21e9;
	t.server.push('usage', usage);
	await t.page.waitForFunction(() => document.querySelector('.budgets tbody th').innerText === 'zone external');
	same('a zone that is nearly spent comes first, with its bar', [(await rows())[0], await t.page.evaluate(() => document.querySelector('.budgets tbody tr .figures:nth-child(3) .bar').hasAttribute('data-full'))],
		[['zone external', '10.4 Mbit/s / 50.0 Mbit/s', '97 % of 21.5 GB', '475 MB'], true]);
	await t.close();
	const dark = scenes.theft();
	delete dark.documents.usage;
	dark.documents.policy.host_ports.push({ ...dark.documents.policy.host_ports[0], port: 'hpf1' });
	const two = await open(browser, dark);
	for (const w of ['port hpf1', '10.4 Mbit/s / 50.0 Mbit/s']) await two.says(w);
	same('what no document tells is a dash: usage, and which of two ports it was', await two.page.evaluate(() => [...document.querySelectorAll('.budgets tbody tr')].map((tr) => tr.innerText.replace(/[\s\u00a0]+/g, ' ').trim()).slice(1, 4)),
		['port hpf1 – / 2.00 Gbit/s no volume –', 'port hpf0 – / 2.00 Gbit/s no volume –', 'zone external 10.4 Mbit/s / 50.0 Mbit/s – of 21.5 GB –']);
	await two.close();
});

/** The lines of a panel: name, value, command. */
const factsOf = (page, id) => page.evaluate((of) => [...document.querySelectorAll(`[aria-labelledby="${of}"] .facts > li`)].map((li) => [li.children[0].innerText, li.children[1].innerText, li.querySelector('code')?.innerText ?? '']), id);
await part('closures', async () => {
	const scene = scenes.stopped();
	const t = await open(browser, scene);
	await t.says('revoked, since 22:58');
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
	await e.says('its grant has ended');
	same('a grant that ended is one, with when', (await factsOf(e.page, 'evidence'))[0], ['backup', 'its grant ended 2 h 1 min ago', 'bwlimit-ctl grant backup reason WHY']);
	await e.close();
	const lost = await open(browser, scenes['sa-lost']());
	await lost.says('no SA: nothing passes, not even in the clear');
	same('so is a peer without an SA', (await factsOf(lost.page, 'evidence'))[0], ['tray-3', 'no SA: nothing passes, not even in the clear', 'bwlimit-ctl ipsec status']);
	await lost.close();
});
await part('what ends', async () => {
	const scene = scenes.healthy();
	scene.documents.grants.grants.find((g) => g.peer === 'backup').expires_in_s = 5400;
	scene.documents.status.returns_in_s = 40;
	const t = await open(browser, scene);
	await t.says('grant ends in 1 h 30 min');
	same('what ends is one list, the soonest first; of certificates it says where to look', (await factsOf(t.page, 'ends')).slice(0, 7),
		[['policy on trial', 'the previous one returns in 40 s', 'bwlimit-ctl policy confirm'], ['backup', 'grant ends in 1 h 30 min', ''], ['lease', 'live, ends in 23 h 59 min', ''], ['log-collector', 'grant ends in 29 d 23 h', ''],
			['heartbeat', 'in 9 s', ''], ['certificates of IPsec', '– (root: charon has them)', 'swanctl --list-certs'], ['certificate of bwlimit-sync', '– (where it runs)', 'openssl x509 -enddate -noout -in /etc/bwlimit/sync/cert.pem']]);
	await t.close();
});
await part('what happened', async () => {
	const scene = scenes.healthy();
	const before = (hours) => new Date(timeOf(scene) - hours * 3_600_000).toISOString();
	const line = (hours, level, text) => ({ time: before(hours), level, program: 'bwlimitd', event: 'tamper', text, record: 1 });
	scene.documents.log.lines = [line(25, 'alert', 'yesterday'), line(2, 'alert', 'the first'), line(1, 'warning', 'it was not told'),
		{ time: before(0.5), level: 'notice', program: 'bwlimit-ctl', event: 'grant', text: 'grant backup reason ticket 4711', record: 2 }];
	const t = await open(browser, scene);
	await t.says('ticket 4711');
	same('the newest of the log is first, a day of it', (await factsOf(t.page, 'ends')).slice(-3).map((f) => f[1]), ['grant backup reason ticket 4711', 'it was not told', 'the first']);
	ok('a sign of tampering of this day needs somebody', await t.says('A sign of tampering at'), await t.text());
	ok('that it could not be told is none', !(await t.page.locator('[aria-labelledby=needs]').innerText()).includes('it was not told'));
	ok('of the newest checkpoint is said how many records it covers, and how old that is', await t.says('checkpoint 19 records,'), await t.text());
	const titles = () => t.page.evaluate(() => [...document.querySelectorAll('[aria-labelledby=ends] .facts > li, [aria-labelledby=evidence] .facts > li')].map((li) => li.outerHTML).join(''));
	ok('who said it is at each line, and the checkpoint itself', /grant, notice, by bwlimit-ctl/.test(await titles()) && /— bwlimit\/tray-7 /.test(await titles()), await titles());
	await t.close();
	scene.documents.log.lines = scene.documents.log.lines.filter((l) => l.text !== 'the first');
	const quiet = await open(browser, scene);
	await quiet.says('ticket 4711');
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

// ---- what is recorded about a peer -----------------------------------------------------------------------------------------
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
	await t.says('11 of 11 flows');
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

// ---- a peer ------------------------------------------------------------------------------------------------------------------
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
	await t.page.waitForFunction(() => location.search.includes('span=24h'));
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
	await t.says("'nonsense' is no address");
	t.server.fail();
	await failed;
	await t.page.clock.runFor(100);
	ok('what was asked before does not speak over a later answer', await t.says("'nonsense' is no address"), await t.text());
	await t.page.goBack();
	await t.page.goBack();
	ok('Back leads to all peers', await t.says('Leaving now'));
	await t.close();
});

// ---- URL, keys, pause --------------------------------------------------------------------------------------------------------
const names = (page) => page.evaluate(() => [...document.querySelectorAll('.peers .row-link')].map((a) => a.textContent));
await part('the URL', async () => {
	const t = await open(browser, scenes.theft(), { query: '?show=exits&q=o&sort=name' });
	await t.says('exits 3');
	await t.page.waitForFunction(() => document.querySelectorAll('.peers .row-link').length === 2);
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
	await t.says('refused 1');
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
	await t.page.waitForFunction(() => document.querySelectorAll('.peers .row-link').length === 1);
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
await part('pause', async () => {
	const t = await open(browser, scenes.healthy());
	await t.says('13.8 Mbit/s');
	const more = structuredClone(t.server.state.scene.documents.top);
	more.peers.find((p) => p.peer === 'backup').passed_bits_per_second = 1_230_000;
	await t.page.keyboard.press('p');
	await t.page.waitForFunction(() => document.getElementById('pause').getAttribute('aria-pressed') === 'true');
	for (let i = 0; i < 100 && t.server.streams.size; i++) await new Promise((r) => setTimeout(r, 20));
	same('paused, the server has no stream to fill', t.server.streams.size, 0);
	t.server.state.scene.documents.top = more;
	// A request that was sent just before may not have arrived yet.
	let before = -1;
	for (let i = 0; i < 100 && before !== t.server.asked.length; i++) {
		before = t.server.asked.length;
		await new Promise((r) => setTimeout(r, 500));
	}
	await t.page.clock.runFor(60_000);
	same('and is asked nothing for a minute', t.server.asked.length, before);
	ok('what is seen stays', !(await t.text()).includes('1.23 Mbit/s') && (await t.says('paused at')));
	await t.page.click('#pause');
	ok('going on, it shows what is new', await t.says('1.23 Mbit/s'));
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

await part('more than the server lists', async () => {
	const scene = many(2300);
	scene.documents.top.peers.length = 2000;
	const t = await open(browser, scene);
	ok('that the table has a part of all peers is said', await t.says('the 2 000 busiest of 2 300'), await t.text());
	await t.close();
});

// ---- accessibility -----------------------------------------------------------------------------------------------------------
const SIZES = [[320, 640], [1280, 800], [2560, 1400]];
await part('incidents', async () => {
	// Who, since when, how much is gone, what to type: on the first screen, in readable lines, without a click.
	const INCIDENTS = { theft: ['log-collector: ', 'for 42 min', '3.12 GB gone', 'bwlimit-ctl revoke log-collector'], 'slow-theft': ['log-collector: ', 'for 2 h 19 min', '3.24 GB of 4.00 GB', 'bwlimit-ctl revoke log-collector'],
		'split-theft': ['backup: ', 'for 25 min', '928 MB gone', 'bwlimit-ctl revoke backup'], 'zone-theft': ['object-store: ', 'for 5 h 19 min', '72.0 GB gone', 'bwlimit-ctl revoke object-store'],
		'blinking-theft': ['log-collector: ', 'for 42 min', '1.89 GB gone', 'bwlimit-ctl revoke log-collector'] };
	for (const [name, answers] of Object.entries(INCIDENTS)) {
		const t = await open(browser, scenes[name]());
		for (const a of answers) await t.says(a);
		const missing = [];
		for (const [width, height] of [[320, 640], [720, 800], [900, 800], [1100, 800], [1280, 800], [2560, 1400]]) {
			await t.page.setViewportSize({ width, height });
			await t.page.waitForTimeout(100);
			missing.push(...await t.page.evaluate(([of, w]) => {
				const line = [...document.querySelectorAll('.findings li')].find((li) => li.innerText.includes(of[0]));
				return of.filter((a, i) => {
					const e = line?.children[i];
					const r = e?.getBoundingClientRect();
					return !e?.innerText.replaceAll('\u00a0', ' ').includes(a) || r.bottom > innerHeight || r.width < Math.min(100, 5 * a.length);
				}).map((a) => `${w}: ${a}`);
			}, [answers, width]));
		}
		same(`the four answers stand in one line that can be read, on the first screen, from 320 to 2560 pixels: "${name}"`, missing, []);
		await t.close();
	}
});
const WIDE = [['healthy', ''], ['theft', ''], ['stopped', ''], ['theft', '?peer=log-collector'], ['healthy', '?peer=object-store&class=nfs'], ['verify', ''], ['fleet', '?group=hall'], ['fleet', '?tray=tray-00007']];
// All other states have the same parts with other words and colours: one size is enough for those.
const LOOKED_AT = [...WIDE.map((w) => [...w, SIZES]), ...Object.keys(STATES).filter((name) => !WIDE.some(([n, q]) => n === name && q === '')).map((name) => [name, '', [[1280, 800]]])];
for (const [name, query, sizes] of LOOKED_AT) {
	await part(`axe ${name}${query}`, async () => {
		const t = await open(browser, scenes[name](), { query });
		// axe sets styles of its own, which the page's policy would refuse: so the debugger bypasses the policy.
		const cdp = await t.page.context().newCDPSession(t.page);
		await cdp.send('Page.setBypassCSP', { enabled: true });
		await t.page.reload();
		await t.page.waitForSelector('.needs h2:not(:empty), .peer .name');
		await t.page.addScriptTag({ path: AXE });
		const found = [];
		const wide = [];
		for (const colorScheme of ['light', 'dark']) {
			for (const [width, height] of sizes) {
				await t.page.emulateMedia({ colorScheme });
				await t.page.setViewportSize({ width, height });
				await t.page.waitForTimeout(150);
				const r = await t.page.evaluate(() => axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
				for (const v of r.violations) found.push(`${colorScheme} ${width}: ${v.id}: ${v.nodes[0].html.slice(0, 120)} ${v.nodes[0].failureSummary?.split('\n')[1] ?? ''}`);
				if (await t.page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) wide.push(width);
			}
		}
		same(`axe finds nothing in "${name}${query}", light and dark, ${sizes.map(([w]) => w).join(', ')} pixels`, found, []);
		same(`and it never scrolls sideways as a whole: "${name}${query}"`, wide, []);
		await t.close();
	});
}
await part('motion', async () => {
	const duration = async (motion) => {
		const t = await open(browser, scenes.healthy(), { motion });
		await t.says('log-collector');
		const d = await t.page.evaluate(() => getComputedStyle(document.querySelector('.fill')).transitionDuration);
		await t.close();
		return d;
	};
	same('nothing moves by itself', [await duration('reduce'), await duration('no-preference')], ['0s', '0s']);
});

// ---- hostile names -----------------------------------------------------------------------------------------------------------
for (const query of ['', '?peer=%3Cimg%20src%3Dx%20onerror%3D%22window.hit%3D1%22%3E%3Cscript%3Ewindow.hit%3D1%3C%2Fscript%3E&q=%3Csvg%20onload%3Dwindow.hit%3D1%3E']) {
	await part(`hostile ${query}`, async () => {
		const t = await open(browser, hostile(), { query });
		await t.says('onerror');
		if (query) await t.page.click('button:has-text("explain")').catch(() => {});
		await t.page.waitForTimeout(300);
		const is = await t.page.evaluate(() => ({ hit: window.hit ?? null, made: document.querySelectorAll('#page img, #page script, #page svg, [onerror], [onload]').length,
			shown: document.body.innerText.includes('<img src=x onerror=') }));
		same(`names and reasons that are markup stay text${query ? ', from the URL too' : ''}`, is, { hit: null, made: 0, shown: true });
		if (!query) {
			const commands = await t.page.evaluate(() => [...document.querySelectorAll('.command code')].map((c) => c.textContent));
			ok('a name that is shell is quoted where it is to be typed', commands.some((c) => c.startsWith("bwlimit-ctl revoke '<img src=x")), commands);
			ok('one with a line break is in no command', !commands.some((c) => c.includes('\n') || c.includes('rm -rf')), commands);
		}
		await t.close();
	});
}

// ---- scenes of a fleet have only what bwlimit-web --fleet can send, by its API and schemas ---------------------------------------
await part('scenes', async () => {
	const docs = join(dirname(fileURLToPath(import.meta.url)), '../../docs');
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

// ---- the fleet is paged by the server -----------------------------------------------------------------------------------------
await part('the fleet', async () => {
	const t = await open(browser, scenes.fleet());
	await t.says('1 to 50 of 10 000');
	await t.page.click('text="next →"');
	ok('the next fifty trays are asked of the server', (await t.says('51 to 100 of 10 000')) && t.server.asked.some((a) => a.includes('limit=50&sort=worst&offset=50')), t.server.asked);
	await t.page.click('.sums a:has-text("rack=3")');
	await t.page.waitForFunction(() => location.search.includes('label=rack%3D3') && document.querySelectorAll('.peers .row-link').length === 40);
	same('a rack is one click', new URL(t.page.url()).search, '?label=rack%3D3');
	await t.page.click('.peers th button:has-text("now")');
	await t.page.waitForFunction(() => location.search.includes('sort='));
	for (let i = 0; i < 500 && !t.server.asked.some((a) => a.includes('sort=passed')); i++) await t.page.waitForTimeout(20);
	ok('the server sorts, by a word that it knows', t.server.asked.some((a) => a.includes('sort=passed')) && !t.server.asked.some((a) => /sort=(?!worst|passed)/.test(a)), t.server.asked);
	const heads = () => t.page.evaluate(() => [...document.querySelectorAll('.peers th[aria-sort]')].map((th) => [th.innerText.trim(), th.getAttribute('aria-sort')]));
	same('the arrow is where the server sorts, and as it does', await heads(), [['now', 'descending']]);
	await t.page.click('.peers th button:has-text("now")');
	same('once more is the worst first again, and no arrow', [await heads(), new URL(t.page.url()).searchParams.get('sort')], [[], null]);
	await t.page.waitForFunction(() => document.querySelector('#group')?.options.length > 1, null, { timeout: 60_000 }).catch(() => {}); // the next answer has the labels
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
		await one.says('1 to 40');
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

// ---- cost --------------------------------------------------------------------------------------------------------------------
await part('cost', async () => {
	const scene = many(1000);
	const t = await open(browser, scene);
	await t.says('all 1000');
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
	await t.says('all 60');
	for (const w of ['mesh', 'external', 'never']) await t.says(w); // all documents from which the table is made
	for (let i = 0; i < 500 && t.server.asked.filter((a) => a.includes('since=1h')).length < 20; i++) await t.page.waitForTimeout(20);
	await t.page.waitForTimeout(500); // until the first answer of each is drawn
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
		await t.page.waitForFunction((w) => document.querySelector('.peers tbody .figure').textContent.startsWith(w), `${(top.peers[0].passed_bits_per_second / 1e6).toFixed(1)} Mbit/s`);
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
	ok('one that is scrolled into sight is of this frame, paused as well', await t.page.waitForFunction(([name, w]) => [...document.querySelectorAll('.peers tbody tr')].find((tr) => tr.querySelector('a').textContent === name).querySelector('.figure').textContent.startsWith(w), [far, words(0)], { timeout: 10_000 }).then(() => true, () => false), await figure(far), words(0));
	await t.close();
});
const HOURS = [['theft', '', ['log-collector: sending at its limit, out of the site', 'The host sends from addresses that are not its own']], ['theft', '?peer=log-collector', []], ['fleet', '', null]];
for (const [name, query, findings] of HOURS) {
	await part(`hours ${name}`, async () => {
		const scene = scenes[name]();
		const t = await open(browser, scene, { query });
		await t.says(name === 'fleet' ? '1 to 50' : 'log-collector');
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

// ---- the built programs accept every command that the page says to type ----------------------------------------------------------
await part('commands', async () => {
	for (const [name, scene] of Object.entries(scenes)) {
		if (name === 'many') continue; // the same commands as healthy, a thousand times
		const s = scene();
		const at = s.api.scope === 'fleet' ? ['?tray=tray-00007'] : !['theft', 'hostile'].includes(name) ? [] : s.documents.policy.peers.map((p) => `?peer=${encodeURIComponent(p.peer)}`);
		for (const query of ['', ...at]) {
			const t = await open(browser, s, { query });
			await t.page.waitForTimeout(700);
			await t.close();
		}
	}
	const box = typedIn([...shown].filter((c) => c.startsWith('bwlimit-')));
	if (!box) return note('no namespaces here: what it tells to type was not tried');
	same('every command of bwlimit that any page showed is taken as it stands: none is a usage error', box.wrong, []);
	ok('control: there are many of them, and one that lacks its key would have been seen', shown.size > 40 && typedIn(['bwlimit-ctl --fleet revoke --tray tray-1']).wrong.length === 1, shown.size);
	same('all others are of programs that a DPU has', [...shown].filter((c) => !/^(bwlimit-[a-z]+|systemctl|sysctl|journalctl|modprobe|ip|ethtool|tc|chronyc|swanctl|openssl) /.test(c)), []);
});

// ---- nothing forbidden in the whole run ---------------------------------------------------------------------------------------
same('no page broke its content security policy, threw, asked another server, or sent anything but GET', [...new Set(wrong)], []);
await part('the policy of contents', async () => {
	const said = readFileSync(join(process.env.BWL_SOURCE, 'web/reply.c'), 'utf8').split('"Content-Security-Policy"')[1].split('}')[0];
	same('these pages were under the whole policy that bwlimit-web sends', [...said.matchAll(/"([^"]*)"/g)].map((m) => m[1]).join(''), CSP);
});
await part('the control', async () => {
	wrong.length = 0;
	const t = await open(browser, scenes.healthy());
	await t.page.evaluate(() => { document.body.setAttribute('style', 'color: red'); });
	await t.page.waitForTimeout(200);
	ok('a break of that policy would have been seen', wrong.some((w) => w.includes('Content Security Policy')), wrong);
	await t.close();
});
await browser.close();
done();
