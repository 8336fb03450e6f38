// SPDX-License-Identifier: GPL-2.0-or-later
// The browser of real_test.sh: real.mjs URL ORDERS LIVES
import { existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { done, launch, note, ok, same, until } from './browser.mjs';

const [url, orders, lives] = process.argv.slice(2);
const lab = openSync(orders, 'w');
const order = (word) => writeSync(lab, `${word}\n`);
const browser = await launch();
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
page.setDefaultTimeout(240_000);
const wrong = [];
const answers = new Map();
page.on('pageerror', (e) => wrong.push(e.message));
page.on('console', (m) => m.text().includes('Content Security Policy') && wrong.push(m.text()));
page.on('response', (r) => answers.set(`${r.status()} ${new URL(r.url()).pathname}`, r.url()));
const text = () => page.evaluate(() => document.body.innerText.replace(/[\s\u00a0]+/g, ' '));
/** The bound only ends a test that hangs. */
const says = (re, timeout = 240_000) => page.waitForFunction((r) => new RegExp(r).test(document.body.innerText.replace(/[\s\u00a0]+/g, ' ')), re.source, { timeout, polling: 100 }).then(() => true, () => false);
const picture = async (name) => process.env.STATES && page.screenshot({ path: join(process.env.STATES, `real-${name}.png`) });

await page.goto(url);
ok('bwlimit-web serves the page, and it names the node', await says(/bwlimit tray-7 policy [0-9a-f]{8}/), await text());
ok('what the kernel says by itself while all begins is no sign of tampering', !(await text()).includes('A sign of tampering'), await text());
await page.evaluate(() => { document.querySelector('details.more-findings').open = true; });
ok('a peer that sends twice its limit is at its limit, with what is refused', await says(/log-collector.*(is at its limit|sending at its limit)/), await text());
ok('the reason has the line of the policy', await says(/peer-rate [0-9 +]+ peers: log-collector: grant: 10\.0 Mbit\/s/), await text());
ok('the largest figure is there', await says(/1 TB out of this tray would take [0-9]+ (h|d|y)/), await text());
ok('a peer whose SA is missing is said to be closed', await says(/tray-3 has no SA/), await text());
ok('the budgets of node and zones are there, used and left', await says(/node tray-7 [0-9.]+ [kMG]?bit\/s \/ 2\.00 Gbit\/s .*zone external [0-9.]+ [kMG]?bit\/s \/ 50\.0 Mbit\/s .* of 21\.5 GB 2[01]\.[0-9] GB/), await text());
// A history is requested once a minute.
ok('what was refused in the last hour is told by peer', await says(/Last hour, by peer: log-collector [0-9.]+ (kB|MB|GB)/), await text());
await picture('node');
await page.click('.peers .row-link:has-text("log-collector")');
ok('its history is drawn', await says(/[0-9.]+ (kB|MB|GB) sent in this time; a point is 1 s/), await text());
await page.fill('[name=destination]', '10.103.0.9');
await page.click('button:has-text("explain")');
ok('a packet is explained', await says(/would (pass|be refused)/), await text());
await picture('peer');
await page.click('.back');
ok('what somebody did is there, by the audit log', await says(/What ends, what happened .*grant (object-store|log-collector|backup) reason a test/), await text());
ok('so is the newest checkpoint', await says(/checkpoint [0-9]+ records, [0-9]+ s ago/), await text());
order('tamper');
ok('a sign of tampering is what needs somebody', await says(/A sign of tampering ?at [0-9:]+.*the lid was opened/), await text());
order('revoke');
ok('revoked, it says so', await says(/log-collector .* revoked/), await text());
ok('with since when, and what opens it', await says(/log-collector revoked, since [0-9: -]+ ?bwlimit-ctl grant log-collector reason WHY/), await text());
order('stop');
ok('stopped, it says so, and how to go on', await says(/Closed by stop .* bwlimit-ctl stop --off/), await text());
await picture('stopped');
order('kill');
ok('without bwlimitd it says so, and keeps what it knew', (await says(/bwlimitd/)) && (await says(/What you see is old/)) && (await says(/object-store/)), await text());
await picture('no-agent');
order('live');
await until(() => existsSync(lives));
const traffic = readFileSync(lives, 'utf8');
ok('traffic passes again, 99.5 % of what may, when bwlimitd is started again and stop is lifted', /^ok /m.test(traffic), traffic);
same('nothing threw or broke the policy of the page', wrong, []);
const refused = [...answers.keys()].filter((a) => /^(400|403|405|413|421|429|500)/.test(a));
same('the server refused no question as wrong', refused, []);
note([...answers.keys()].sort().join(', '));
await browser.close();
done();
