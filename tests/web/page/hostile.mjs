// SPDX-License-Identifier: GPL-2.0-or-later
// Names that are markup, or shell.
import { ok, open, part, same } from '../browser.mjs';
import { hostile } from '../models.mjs';
import { browser } from './one.mjs';

for (const query of ['', '?peer=%3Cimg%20src%3Dx%20onerror%3D%22window.hit%3D1%22%3E%3Cscript%3Ewindow.hit%3D1%3C%2Fscript%3E&q=%3Csvg%20onload%3Dwindow.hit%3D1%3E']) {
	await part(`hostile ${query}`, async () => {
		const t = await open(browser, hostile(), { query });
		await t.sees('onerror');
		if (query) await t.page.click('button:has-text("explain")').catch(() => {});
		await t.settles();
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
