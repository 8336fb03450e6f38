// SPDX-License-Identifier: GPL-2.0-or-later
// All scenes, and every peer of them, for the commands that they show: page.mjs types them.
import { ok, open, part, shown } from '../browser.mjs';
import { scenes } from '../models.mjs';
import { browser } from './one.mjs';

await part('commands', async () => {
	const t = await open(browser, scenes.healthy());
	for (const [name, scene] of Object.entries(scenes)) {
		if (name === 'many') continue; // the same commands as healthy, a thousand times
		const s = scene();
		const at = s.api.scope === 'fleet' ? ['?tray=tray-00007'] : !['theft', 'hostile'].includes(name) ? [] : s.documents.policy.peers.map((p) => `?peer=${encodeURIComponent(p.peer)}`);
		for (const query of ['', ...at]) {
			await t.show(s, { query });
			await t.settles();
		}
	}
	await t.close();
	ok('control: there are many commands', shown.size > 40, shown.size);
});
