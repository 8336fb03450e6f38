// SPDX-License-Identifier: GPL-2.0-or-later
// The page in Debian's chromium, one browser for all. page.mjs [GROUP]...: each is a file of page/; none are those of web.page.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { done, note, ok, open, part, same, shown, until, wrong } from './browser.mjs';
import { typedIn } from './commands.mjs';
import { scenes } from './models.mjs';
import { browser } from './page/one.mjs';
import { CSP } from './serve.mjs';

/** Every state. With the groups of web.page_findings: what the page promises: it shows a theft, and what it does not know; it changes nothing. */
const PAGE = ['states', 'incidents', 'fleet'];
const NO_GROUP = ['one.mjs', 'words.mjs'];
const ALL = readdirSync(join(dirname(fileURLToPath(import.meta.url)), 'page')).filter((f) => !NO_GROUP.includes(f)).map((f) => f.replace('.mjs', ''));
const asked = process.argv.slice(2);
for (const group of asked[0] === 'all' ? ALL : asked.length ? asked : PAGE) await import(`./page/${group}.mjs`);

// ---- the built programs accept every command that a page of this run said to type ----------------------------------------------
await part('typed', async () => {
	const box = typedIn([...shown].filter((c) => c.startsWith('bwlimit-')));
	if (!box) return note('no namespaces here: what it tells to type was not tried');
	ok('control: pages of this run showed some', shown.size >= 5, shown.size);
	same('every command of bwlimit that any page showed is taken as it stands: none is a usage error', box.wrong, []);
	same('control: one that lacks its key would have been seen', typedIn(['bwlimit-ctl --fleet revoke --tray tray-1']).wrong.length, 1);
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
	await until(() => wrong.some((w) => w.includes('Content Security Policy')));
	ok('a break of that policy would have been seen', wrong.some((w) => w.includes('Content Security Policy')), wrong);
	await t.close();
});
await browser.close();
done();
