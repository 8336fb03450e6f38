// SPDX-License-Identifier: GPL-2.0-or-later
// Commands of the page, typed into a shell that has only the built programs: as user nobody, without a network, and with
// no bwlimit in reach, so each command ends once its words are understood, because there is nothing to act on.
import { execFileSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const PROGRAMS = { 'bwlimit-ctl': 'ctl', 'bwlimit-load': 'loader' };
const HIDDEN = '/run /var/lib /sys/fs/bpf /etc/bwlimit';
const root = process.getuid() === 0;
const BOX = `
for d in ${HIDDEN}; do [ ! -d $d ] || mount -t tmpfs none $d || exit 9; done
cd "$1" && while IFS= read -r -d '' line; do
	said=$(${root ? 'setpriv --reuid 65534 --regid 65534 --clear-groups ' : ''}env PATH="$1/bin" /usr/bin/timeout 60 /bin/sh -c "$line" 2>&1 </dev/null)
	printf '%s\\0%s\\0' $? "$said"
done <"$1/commands"`;

/** The commands that were not understood, with their output. null: this machine permits no namespaces. */
export function typedIn(commands) {
	const dir = mkdtempSync(join(tmpdir(), 'bwl-typed-'));
	try {
		chmodSync(dir, 0o755);
		mkdirSync(join(dir, 'bin'), { mode: 0o755 });
		for (const [name, of] of Object.entries(PROGRAMS)) {
			copyFileSync(join(process.env.BWL_BUILD, of, name), join(dir, 'bin', name));
			chmodSync(join(dir, 'bin', name), 0o755);
		}
		writeFileSync(join(dir, 'commands'), commands.map((c) => `${c}\0`).join(''));
		const ns = root ? '-nm' : '-Urnm';
		try {
			execFileSync('unshare', [ns, 'true'], { stdio: 'ignore' });
		} catch {
			return null;
		}
		const said = execFileSync('unshare', [ns, 'bash', '-c', BOX, 'box', dir], { encoding: 'utf8', maxBuffer: 1 << 26 }).split('\0');
		return { wrong: commands.flatMap((c, i) => (['0', '1'].includes(said[2 * i]) ? [] : [`${c}: exit ${said[2 * i]}: ${(said[2 * i + 1] ?? '').split('\n')[0]}`])) };
	} finally {
		rmSync(dir, { recursive: true, force: true });
	}
}
