// SPDX-License-Identifier: GPL-2.0-or-later
// What changes in a healthy node, and the finding that results.
import { ok, open, part, same } from '../browser.mjs';
import { scenes } from '../models.mjs';
import { browser } from './one.mjs';

/** What changes in a healthy node, and the finding that results: its urgency, its words, what to type. */
const grantOf = (d, peer) => d.grants.grants.find((g) => g.peer === peer);
const refusedBy = (reason) => (d) => d.reasons.reasons.push({ port: 'p0', hook: 'gate', reason, passes: false, text: reason, todo: null, frames: 3, bytes: 300, charged_bytes: 300 });
const FINDINGS = [
	['today', 'A policy is on trial', 'bwlimit-ctl policy confirm', (d) => { d.status.returns_in_s = 40; }],
	['now', 'A trial is over, and the policy before is not in force again', 'bwlimit-ctl policy rollback', (d) => { d.status.returns_in_s = -40; }],
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
	['today', 'backup: its limits are not enforced', 'bwlimit-ctl grant backup mode police reason WHY', (d) => { Object.assign(grantOf(d, 'backup'), { mode: 'monitor', mode_in_force: 'monitor', enforced: false }); }],
	['now', 'A peer’s DPU breaks its promise', 'bwlimit-ctl watch', refusedBy('tunnel-source')],
	['today', 'backup: its limits are not enforced', 'bwlimit-ctl grant backup rate 10mbit mode police reason WHY', (d) => { Object.assign(grantOf(d, 'backup'), { mode: 'monitor', mode_in_force: 'monitor', enforced: false });
		for (const of of [grantOf(d, 'backup'), d.top.peers.find((p) => p.peer === 'backup')]) Object.assign(of, { rate_bits_per_second: null, left: null }); }],
	['note', 'Packets to an encrypted peer had no SA', 'bwlimit-ctl watch', refusedBy('no-sa')],
	['note', 'The last gate refused packets', 'bwlimit-ctl watch', refusedBy('gate')],
	['today', 'verify warns: clock', 'chronyc tracking', (d) => { d.verify.checks.push({ id: 'clock', result: 'warn', text: 'time is not synchronised', todo: 'chronyc tracking' }); d.verify.warned_count++; }],
	['now', 'verify fails: program-digest', 'bwlimit-load upgrade', (d) => { d.verify.checks.push({ id: 'program-digest', result: 'fail', text: 'another program is attached', todo: 'bwlimit-load upgrade' }); Object.assign(d.verify, { ok: false, failed_count: 1 }); }],
];
await part('findings', async () => {
	const t = await open(browser, scenes.healthy());
	same('control: a healthy node has no finding', [await t.says('All promises hold'), await t.page.evaluate(() => document.querySelectorAll('.findings li').length)], [true, 0]);
	for (const [level, what, command, change] of FINDINGS) {
		const scene = scenes.healthy();
		change(scene.documents);
		await t.show(scene);
		await t.sees(what);
		const is = await t.page.evaluate((w) => [...document.querySelectorAll('.findings li')].filter((li) => li.querySelector('.what').lastElementChild.textContent === w)
			.map((li) => [li.dataset.level, li.querySelector('code')?.textContent ?? null, li.querySelector('.means').textContent.length > 10]), what);
		same(`a finding with its level and its command: ${what}`, is, [[level, command, true]]);
	}
	await t.close();
});
await part('not enforced', async () => {
	const row = () => t.page.evaluate(() => [...document.querySelectorAll('.peers tbody tr')].find((r) => r.querySelector('.row-link')?.textContent === 'log-collector')?.lastElementChild.textContent);
	const t = await open(browser, scenes['not-enforced']());
	await t.sees('its limits are not enforced');
	same('a peer in mode monitor says so in its row, in words', await row(), 'not enforced');
	same('and no volume of its is called spent, or nearly', (await t.text()).match(/volume is spent|most of its volume|nothing more leaves/), null);
	await t.show(scenes.healthy());
	await t.sees('All promises hold');
	same('control: in mode police it does not', await row(), '–');
	await t.close();
	const p = await open(browser, scenes['not-enforced'](), { query: '?peer=log-collector' });
	await p.sees('monitor: not enforced');
	ok('its own page says so, and claims nothing of its volume', await p.says('Its own limits are not enforced') && !(await p.text()).includes('volume is spent'), await p.text());
	await p.close();
});
