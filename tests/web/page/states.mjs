// SPDX-License-Identifier: GPL-2.0-or-later
// Every state in its words, and what may never move.
import { ALL_PICTURES, ok, open, part, picture, same } from '../browser.mjs';
import { scenes } from '../models.mjs';
import { browser } from './one.mjs';
import { STATES } from './words.mjs';

const PICTURES = { healthy: 'page-node', theft: 'page-theft', fleet: 'page-fleet' };
const t = await open(browser, scenes.healthy());
for (const [name, words] of Object.entries(STATES)) {
	await part(`state ${name}`, async () => {
		await t.show(scenes[name]());
		const missing = [];
		for (const w of words) if (!(await t.says(w))) missing.push(w);
		same(`the state "${name}" is said in its words`, missing, []);
		if (['healthy', 'theft', 'verify', 'fleet'].includes(name)) {
			const over = await t.page.evaluate(() => [document.documentElement.scrollHeight - innerHeight, document.getElementById('main').scrollHeight - document.getElementById('main').clientHeight]);
			same(`"${name}" is one screen of 1280 by 800`, over, [0, 0]);
		}
		if (PICTURES[name]) await picture(t.page, PICTURES[name]);
		await picture(t.page, name, ALL_PICTURES);
	});
}
await part('not silent', async () => {
	for (const [name, words] of [['clamped', 'Every grant is held at its floor'], ['lease-ended', 'The lease has ended'], ['lease-ends', 'The lease ends in 3 s']]) {
		await t.show(scenes[name]());
		ok(`"${name}" is said, and not laid to a bwlimitd that is silent`, (await t.says(words)) && !/bwlimitd (is silent|says nothing)/.test(await t.text()), await t.text());
	}
});
await t.close();
await part('motion', async () => {
	const duration = async (motion) => {
		const t = await open(browser, scenes.healthy(), { motion });
		await t.sees('log-collector');
		const d = await t.page.evaluate(() => getComputedStyle(document.querySelector('.fill')).transitionDuration);
		await t.close();
		return d;
	};
	same('nothing moves by itself', [await duration('reduce'), await duration('no-preference')], ['0s', '0s']);
});
