// SPDX-License-Identifier: GPL-2.0-or-later
// The four answers about a theft stand on the first screen, whatever its width.
import { open, part, same } from '../browser.mjs';
import { scenes } from '../models.mjs';
import { browser } from './one.mjs';

await part('incidents', async () => {
	// Who, since when, how much is gone, what to type: on the first screen, in readable lines, without a click.
	const INCIDENTS = { theft: ['log-collector: ', 'for 42 min', '3.12 GB gone', 'bwlimit-ctl revoke log-collector'], 'slow-theft': ['log-collector: ', 'for 2 h 19 min', '3.24 GB of 4.00 GB', 'bwlimit-ctl revoke log-collector'],
		'split-theft': ['backup: ', 'for 25 min', '928 MB gone', 'bwlimit-ctl revoke backup'], 'zone-theft': ['object-store: ', 'for 5 h 19 min', '72.0 GB gone', 'bwlimit-ctl revoke object-store'],
		'blinking-theft': ['log-collector: ', 'for 42 min', '1.89 GB gone', 'bwlimit-ctl revoke log-collector'] };
	const t = await open(browser, scenes.healthy());
	for (const [name, answers] of Object.entries(INCIDENTS)) {
		await t.show(scenes[name]());
		for (const a of answers) await t.sees(a);
		const missing = [];
		for (const [width, height] of [[320, 640], [720, 800], [900, 800], [1100, 800], [1280, 800], [2560, 1400]]) {
			await t.page.setViewportSize({ width, height });
			await t.drawn();
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
	}
	await t.close();
});
