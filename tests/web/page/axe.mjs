// SPDX-License-Identifier: GPL-2.0-or-later
// Accessibility, at all widths, light and dark.
import { AXE, open, part, same } from '../browser.mjs';
import { scenes } from '../models.mjs';
import { browser } from './one.mjs';
import { STATES } from './words.mjs';

const SIZES = [[320, 640], [1280, 800], [2560, 1400]];
const WIDE = [['healthy', ''], ['theft', ''], ['stopped', ''], ['theft', '?peer=log-collector'], ['healthy', '?peer=object-store&class=nfs'], ['verify', ''], ['fleet', '?group=hall'], ['fleet', '?tray=tray-00007']];
// All other states have the same parts with other words and colours: one size is enough for those.
const LOOKED_AT = [...WIDE.map((w) => [...w, SIZES]), ...Object.keys(STATES).filter((name) => !WIDE.some(([n, q]) => n === name && q === '')).map((name) => [name, '', [[1280, 800]]])];
// axe sets styles of its own, which the page's policy would refuse.
const t = await open(browser, scenes.healthy(), { policy: false });
for (const [name, query, sizes] of LOOKED_AT) {
	await part(`axe ${name}${query}`, async () => {
		await t.show(scenes[name](), { query });
		await t.settles();
		await t.page.addScriptTag({ path: AXE });
		const found = [];
		const wide = [];
		for (const colorScheme of ['light', 'dark']) {
			for (const [width, height] of sizes) {
				await t.page.emulateMedia({ colorScheme });
				await t.page.setViewportSize({ width, height });
				await t.drawn();
				const r = await t.page.evaluate(() => axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] }));
				for (const v of r.violations) found.push(`${colorScheme} ${width}: ${v.id}: ${v.nodes[0].html.slice(0, 120)} ${v.nodes[0].failureSummary?.split('\n')[1] ?? ''}`);
				if (await t.page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) wide.push(width);
			}
		}
		same(`axe finds nothing in "${name}${query}", light and dark, ${sizes.map(([w]) => w).join(', ')} pixels`, found, []);
		same(`and it never scrolls sideways as a whole: "${name}${query}"`, wide, []);
	});
}
await t.close();
