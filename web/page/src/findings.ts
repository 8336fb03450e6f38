// SPDX-License-Identifier: GPL-2.0-or-later
// What needs attention: now (red), today (amber), or as a note. Worst first; each with its meaning and the command to type.
import { bytes, clock, count, order, percent, rate, span, typed, until } from './format';
import type { Row } from './peers';
import { LONG_S } from './theft';
import type { Api, Audit, Check, ErrorDocument, Ipsec, Log, Policy, Reason, Status, Verify } from './types';

export type Level = 'now' | 'today' | 'note';
export interface Finding {
	key: string;
	level: Level;
	what: string;
	since: string | null;
	means: string;
	command: string | null;
	peer?: string;
	/** bytes that have left, of a suspected theft */
	gone?: number;
}

export interface Facts {
	api: Api | null;
	status: Status | null;
	verify: Verify | null;
	/** its age in milliseconds */
	verifyAge: number | null;
	/** why the newest status or top could not be read */
	unread: ErrorDocument['error'] | null;
	/** why there is no newest verify */
	verifyWhy: string | null;
	/** milliseconds since the stream was closed or refused; null: it is open */
	broken: number | null;
	rows: Row[];
	policy: Policy | null;
	/** why the newest policy could not be read; `policy` is an older one, or null */
	policyWhy: string | null;
	ipsec: Ipsec | null;
	reasons: Reason[] | null;
	log: Log[] | null;
	audit: Audit | null;
	/** this browser's clock minus the DPU's, in seconds; null: unknown */
	skew: number | null;
}

/** Levels of a line that needs attention now. */
export const ALARMS: ReadonlySet<string> = new Set(['emergency', 'alert', 'critical']);
/** A browser opens a broken stream again by itself within 3 s. */
const BROKEN_MS = 5000;
const DAY = 86400;
/** bwlimit-verify.timer makes one every five minutes: if the newest is this old, the timer does not run. */
const VERIFY_OLD_MS = 1_800_000;

const RANK: Record<Level, number> = { now: 0, today: 1, note: 2 };

function ofStatus(s: Status, policy: Policy | null): Finding[] {
	const f: Finding[] = [];
	const add = (key: string, level: Level, what: string, means: string, cmd: string | null, since: string | null = null): void => {
		f.push({ key, level, what, means, command: cmd, since });
	};
	if (s.stopped || s.switch === 'stopped')
		add('stop', 'now', 'Closed by stop', 'Nothing passes to any peer until somebody opens it. First look at what closed it: the log below.',
			'bwlimit-ctl stop --off');
	else if (s.switch === 'upgrading')
		add('stop', 'now', 'An upgrade has not ended', 'Nothing passes while programs are replaced.', 'bwlimit-load upgrade');
	else if (s.switch === 'closed')
		add('stop', 'now', 'Not opened since it was attached', 'Nothing passes.', 'bwlimit-load up');
	else if (s.switch === 'unjudged')
		add('stop', 'now', 'The journal was not yet compared with the TPM', 'Nothing passes until bwlimitd has compared them.', 'systemctl status bwlimitd');
	if (!s.policy_in_force)
		add('policy', 'now', 'No policy is in force', 'Nothing passes: what is not granted is dropped.', 'bwlimit-ctl policy apply /etc/bwlimit/policy.yaml');
	if (s.drill) add('drill', 'now', 'These are the maps of a test', 'Attached with --drill: what is closed here does not stay closed.', 'bwlimit-load detach');
	for (const port of s.ports) {
		for (const p of port.programs) {
			if (!p.attached)
				add(`program ${port.port} ${p.program}`, 'now', `${p.program} is not on ${port.port}`, 'What it would refuse may pass.', 'bwlimit-load verify');
			else if (p.fallback)
				add(`program ${port.port} ${p.program}`, 'note', `${p.program} on ${port.port} fell back`, p.fallback, 'bwlimit-load verify');
		}
		if (!port.present) add(`port ${port.port}`, 'now', `Port ${port.port} is gone`, 'Its device does not exist.', 'bwlimit-load status');
	}
	const beats = s.heartbeat_ends_in_s;
	// A clamp or a lease also puts grants at their floors, and a lease may end sooner than the heartbeat: then bwlimitd need not be silent.
	const ended = s.lease?.state === 'ended' || s.lease?.state === 'never';
	const byLease = ended || (s.lease?.ends_in_s != null && beats != null && s.lease.ends_in_s <= beats + 1);
	if (s.policy_in_force && policy?.heartbeat_s != null && !s.clamped && !byLease) {
		if (beats == null || beats <= 0)
			add('heartbeat', 'now', 'bwlimitd is silent: grants have ended', 'Every peer is at its floor. Limits hold: they are in the kernel.',
				'systemctl restart bwlimitd', beats == null ? null : `for ${span(beats)}`);
		else if (beats < policy.heartbeat_s / 2)
			add('heartbeat', 'now', 'bwlimitd sends no heartbeat', `Grants end ${until(beats)}, unless it sends one. Limits hold: they are in the kernel.`,
				'systemctl status bwlimitd');
	}
	if (s.clamped) add('clamped', 'now', 'Every grant is held at its floor', 'By a sign of tampering, or by hand.', 'bwlimit-ctl heartbeat --lift');
	// bwlimitd goes back within a second: that second is nothing to act on.
	if (s.returns_in_s != null && s.returns_in_s < -1)
		add('trial', 'now', 'A trial is over, and the policy before is not in force again', 'Every grant has ended, only floors pass. bwlimitd goes back within a second, if it runs.',
			'bwlimit-ctl policy rollback', `for ${span(s.returns_in_s)}`);
	else if (s.returns_in_s != null)
		add('trial', 'today', 'A policy is on trial', `Its grants end ${s.returns_in_s < 0 ? 'now' : until(s.returns_in_s)}, and the previous one returns, unless it is confirmed.`, 'bwlimit-ctl policy confirm');
	if (!s.clock_synchronised)
		add('clock', 'today', 'The DPU’s clock is not synchronised', 'Until it is, neither signed times nor an “until:” of a policy are trusted. Grants do not last longer because of this: they end by the kernel’s own clock.',
			'chronyc tracking');
	if (s.journal.state === 'missing' || s.journal.state === 'cut')
		add('journal', 'now', `The journal of closures is ${s.journal.state}`, s.journal.why ?? 'What was closed may not stay closed.', 'bwlimit-ctl journal show');
	if (s.desired.state === 'damaged')
		add('desired', 'now', 'The accepted policy is damaged', s.desired.why ?? 'bwlimitd has no policy to keep in force.', 'systemctl status bwlimitd');
	if (s.desired.refused)
		add('desired', 'today', 'A desired policy was refused', s.desired.why ?? 'The previous one stays in force.', 'journalctl -u bwlimitd');
	if (s.lease && ended)
		add('lease', 'now', s.lease.state === 'never' ? 'There was never a lease' : 'The lease has ended', 'Every peer is at its floor.', 'bwlimit-ctl lease renew',
			s.lease.ends_in_s == null ? null : `for ${span(s.lease.ends_in_s)}`);
	else if (s.lease?.ends_in_s != null && s.lease.ends_in_s < Math.min(DAY, (s.lease.longest_s ?? DAY) / 4))
		add('lease', 'today', `The lease ends ${until(s.lease.ends_in_s)}`, 'Then every peer falls to its floor.', 'bwlimit-ctl lease renew');
	return f;
}

/** Four fifths of its volume are used. */
export const mostUsed = (r: Pick<Row, 'usedShare'>): boolean => (r.usedShare ?? 0) >= 0.8;
/** It sends now, near its limit or refused: a quiet peer spends nothing now, however much it has spent. */
const sends = (r: Row): boolean => (r.share ?? 0) >= 0.5 || (r.dropped ?? 0) > 0;
/** An exit that by its history has been near its limit for long, in a run that is not over, whatever the current second says;
 * or an exit that is at its limit now and has used most of its volume. */
export function theft(r: Row): boolean {
	if (!r.exit || r.state !== 'live') return false;
	return (r.run !== null && r.run.seconds >= LONG_S) || (r.atLimit && sends(r) && mostUsed(r));
}
/** In words, how near its limit a run was. */
function nearWords(r: Row): string {
	const share = r.run && r.limit ? (8 * r.run.bytes) / r.run.seconds / r.limit : 1;
	return share >= 0.9 ? 'at its limit' : `at ${percent(share)} of its limit`;
}
const OF = { peer: 'its own rate', zone: 'the rate of its zone', node: 'the rate of this node' };

function ofPeer(r: Row): Finding[] {
	const f: Finding[] = [];
	const revoke = (): string | null => typed`bwlimit-ctl revoke ${r.peer}`;
	if (theft(r)) {
		const gone = r.run
			? `${bytes(r.run.bytes)} gone since ${clock(r.run.since)}${r.run.longer ? ' or earlier' : ''}${r.used != null && r.used > 1.02 * r.run.bytes ? `, ${bytes(r.used)} of its ${bytes(r.volume)} used` : ''}`
			: `${bytes(r.used)} of its volume gone`;
		const left = r.volume != null && r.used != null ? Math.max(0, r.volume - r.used) : null;
		const then = left == null ? `It has no volume: only ${OF[r.limitOf]} limits it.` : left === 0
			? `Its volume of ${bytes(r.volume)} is spent: nothing more leaves${r.window ? ' until older use ages out of the window' : ''}.`
			: `${bytes(left)} more can go${r.now ? `, in ${span((8 * left) / r.now)}` : '; at this second it sends nothing'}.`;
		f.push({ key: `theft ${r.peer}`, level: 'now', what: left === 0 ? `${r.peer}: still sending, its volume is spent` : `${r.peer}: sending ${nearWords(r)}, out of the site`,
			since: r.run ? `for ${span(r.run.seconds)}` : null, means: `${gone}. ${then} A theft, or an unannounced job.`, command: revoke(), peer: r.peer, gone: r.run?.bytes ?? r.used ?? 0 });
	} else if (r.atLimit && sends(r) && r.state === 'live') {
		f.push({ key: `limit ${r.peer}`, level: 'today', what: `${r.peer} is at its limit`, since: r.run ? `for ${span(r.run.seconds)}` : null,
			means: r.why === 'peer-volume' ? `Its volume of ${bytes(r.volume)} is spent.`
				: `${rate(r.now)} of ${rate(r.limit)}${r.limitOf === 'peer' ? '' : `, ${OF[r.limitOf]}`}; ${rate(r.dropped)} are refused.`,
			command: typed`bwlimit-ctl peer show ${r.peer}`, peer: r.peer });
	}
	else if (r.exit && mostUsed(r) && r.state === 'live')
		f.push({ key: `volume ${r.peer}`, level: 'today', what: `${r.peer}: most of its volume is used`, since: r.slow ? `for ${span(r.slow.seconds)}` : null,
			means: `${bytes(r.used)} of ${bytes(r.volume)}${r.window ? ` per ${span(r.window)}` : ''} gone${r.slow ? `, without a pause since ${clock(r.slow.since)}${r.slow.longer ? ' or earlier' : ''}` : ''}${r.now ? `; ${bytes(Math.max(0, r.volume! - r.used!))} more can go, in ${span((8 * Math.max(0, r.volume! - r.used!)) / r.now)}. Below its rate: perhaps a slow theft` : '; it sends nothing now'}.`,
			command: revoke(), peer: r.peer });
	if (!r.enforced && r.state === 'live')
		f.push({ key: `enforced ${r.peer}`, level: r.unlimited === 'all' ? 'now' : 'today', what: `${r.peer}: its limits are not enforced`, since: null,
			means: `Mode monitor: what is over its own limits is counted, and passes.${r.unlimited === 'all' ? ' No limit of a zone or of this node holds it either.' : r.unlimited ? ' Only its zone or this node limits it.' : ''}`,
			command: r.bare ? typed`bwlimit-ctl grant ${r.peer} rate 10mbit mode police reason WHY` : typed`bwlimit-ctl grant ${r.peer} mode police reason WHY`, peer: r.peer });
	else if (r.unlimited)
		f.push({ key: `unlimited ${r.peer}`, level: r.unlimited === 'all' ? 'now' : 'today', what: `${r.peer} has no limit${r.unlimited === 'all' ? '' : ' of its own'}`, since: null,
			means: r.unlimited === 'all' ? 'An exit with neither rate nor volume, and no limit of a zone or of this node: what goes there is only counted.'
				: 'An exit with neither rate nor volume: only its zone or this node limits it.', command: typed`bwlimit-ctl grant ${r.peer} rate 10mbit volume 1gb per 1d for 1d reason WHY`, peer: r.peer });
	if (r.sa === 'down')
		f.push({ key: `sa ${r.peer}`, level: 'now', what: `${r.peer} has no SA`, since: null,
			means: 'It must be encrypted, and has no SA: nothing passes to it, not even in the clear.', command: 'bwlimit-ctl ipsec status', peer: r.peer });
	if (r.state === 'expired')
		f.push({ key: `expired ${r.peer}`, level: 'today', what: `${r.peer}: its grant has expired`, since: `for ${span(r.expires)}`, means: 'Nothing passes above its floor.',
			command: grantAgain(r.peer), peer: r.peer });
	else if (r.expires != null && r.expires < DAY && r.state === 'live')
		f.push({ key: `ends ${r.peer}`, level: 'today', what: `${r.peer}: its grant ends ${until(r.expires)}`, since: null, means: 'Then it falls to its floor.',
			command: grantAgain(r.peer), peer: r.peer });
	if (r.fallback)
		f.push({ key: `mode ${r.peer}`, level: 'note', what: `${r.peer}: its mode fell back to ${r.mode}`, since: null,
			means: 'The limit holds; packets are dropped instead of paced or marked.', command: typed`bwlimit-ctl peer show ${r.peer}`, peer: r.peer });
	return f;
}

/** The same grant for one more day. */
const grantAgain = (peer: string): string | null => typed`bwlimit-ctl grant ${peer} for 1d reason WHY`;

const SUSPICIOUS: Record<string, [string, string]> = {
	'tunnel-source': ['A peer’s DPU breaks its promise', 'Packets came through an SA from a source that is not that peer.'],
	'no-sa': ['Packets to an encrypted peer had no SA', 'Dropped: nothing leaves in the clear.'],
	gate: ['The last gate refused packets', 'Something tried to leave without being charged, or in the clear.'],
	'source-address': ['The host sends from addresses that are not its own', 'Dropped. A wrong configuration, or an attempt to evade limits.'],
};

function ofReasons(reasons: Reason[]): Finding[] {
	return Object.entries(SUSPICIOUS).flatMap(([reason, [what, means]]): Finding[] => {
		const rows = reasons.filter((r) => r.reason === reason && r.frames > 0);
		if (rows.length === 0) return [];
		const frames = rows.reduce((n, r) => n + r.frames, 0);
		return [{ key: `reason ${reason}`, level: reason === 'tunnel-source' ? 'now' : 'note', what, since: null,
			means: `${count(frames)} frame${frames === 1 ? '' : 's'} since attach, ${rows.map((r) => r.port).join(', ')}. ${means}`,
			command: 'bwlimit-ctl watch' }];
	});
}

/** The newest sign that nobody has acknowledged; if there is none, the newest one, with who acknowledged it and why. */
function ofSigns(log: Log[]): Finding[] {
	const signs = log.filter((l) => l.event === 'tamper' && ALARMS.has(l.level));
	const open = signs.filter((l) => !l.acknowledged);
	const sign = open.at(-1) ?? signs.at(-1);
	if (!sign) return [];
	const since = `at ${clock(sign.time)}`;
	if (open.length > 0)
		return [{ key: 'tamper', level: 'now', what: 'A sign of tampering', since, means: sign.text,
			command: sign.record == null ? 'bwlimit-ctl audit show' : `bwlimit-ctl audit ack ${sign.record} WHY` }];
	const ack = log.filter((l) => l.event === 'ack').at(-1);
	return [{ key: 'tamper', level: 'note', what: 'A sign of tampering, acknowledged', since, means: `${sign.text}.${ack ? ` At ${clock(ack.time)}: ${ack.text}.` : ''}`,
		command: 'bwlimit-ctl audit show' }];
}

/** One line for each check that is not ok, however many things it is about; none if the status already says more about the same. */
function ofVerify(checks: Check[], said: Finding[]): Finding[] {
	const by = new Map<string, Check[]>();
	const has = (key: string): boolean => said.some((f) => f.key === key);
	for (const c of checks) {
		if (c.result === 'ok' || (c.id === 'stop-switch' && has('stop')) || (c.id === 'heartbeat' && has('heartbeat')) || (c.id === 'policy' && has('policy'))) continue;
		by.set(`${c.result} ${c.id}`, [...(by.get(`${c.result} ${c.id}`) ?? []), c]);
	}
	return [...by].map(([key, [c, ...more]]) => {
		const todo = order(c.todo);
		return { key: `verify ${key}`, level: c.result === 'fail' ? 'now' : 'today', what: `verify ${c.result === 'fail' ? 'fails' : 'warns'}: ${c.id}`, since: null,
			means: `${c.text}${more.length ? `, and ${more.length} more like it` : ''}.${c.todo && c.todo !== todo ? ` ${c.todo}` : ''}`, command: todo };
	});
}

/** The promises were checked recently, and all held. */
export function verified(verify: Verify | null, ageMs: number | null, error: unknown): boolean {
	return verify !== null && verify.ok && error === null && ageMs !== null && ageMs <= VERIFY_OLD_MS;
}

function ofVerifyAge(f: Facts): Finding[] {
	const old = f.verify !== null && (f.verifyAge === null || f.verifyAge > VERIFY_OLD_MS);
	if (!old && f.verifyWhy === null) return [];
	const age = f.verifyAge === null ? null : span(Math.floor(f.verifyAge / 1000));
	return [{ key: 'verify-old', level: 'today', what: old ? 'The promises have not been verified lately' : 'verify cannot be read', since: f.verify && age ? `for ${age}` : null,
		means: `${f.verifyWhy ? `${f.verifyWhy}. ` : ''}${f.verify ? 'The last result says nothing about the present.' : 'It is not known whether every promise holds.'} A timer should verify every five minutes.`,
		command: 'systemctl status bwlimit-verify.timer' }];
}

export function findings(f: Facts): Finding[] {
	const all: Finding[] = [];
	if (f.unread)
		all.push({ key: 'unread', level: 'now', what: f.unread.text, since: null,
			means: 'What you see is old. Limits hold without daemons: they are in the kernel. Grants end if the heartbeat stops.',
			command: order(f.unread.todo) ?? 'systemctl status bwlimitd' });
	if (f.broken !== null && f.broken > BROKEN_MS)
		all.push({ key: 'stream', level: 'now', what: 'The stream of numbers is closed', since: `for ${span(Math.floor(f.broken / 1000))}`,
			means: 'The numbers here are not updated: bwlimit-web is gone, or already has 32 streams. Limits hold without it: they are in the kernel.', command: 'systemctl status bwlimit-web' });
	if (f.status) all.push(...ofStatus(f.status, f.policy));
	// If no policy is in force there is none to read; a line above says that.
	if (f.policyWhy !== null && f.status?.policy_in_force !== false)
		all.push({ key: 'no-exits', level: 'now', what: 'The policy cannot be read: exits are not known', since: null,
			means: `${f.policyWhy}. ${f.policy ? 'Exits are those of the policy that was read before.' : 'Every peer counts as an exit here until it can be read.'}`, command: 'bwlimit-ctl policy show' });
	all.push(...ofSigns(f.log ?? []));
	all.push(...ofVerify(f.verify?.checks ?? [], all), ...ofVerifyAge(f));
	for (const r of f.rows) all.push(...ofPeer(r));
	for (const peer of f.ipsec?.without_sa ?? [])
		if (!all.some((a) => a.key === `sa ${peer}`))
			all.push({ key: `sa ${peer}`, level: 'now', what: `${peer} has no SA`, since: null, means: 'charon knows the peer and has no SA: nothing passes to it.',
				command: 'bwlimit-ctl ipsec status', peer });
	if (f.reasons) all.push(...ofReasons(f.reasons));
	if (f.skew != null && Math.abs(f.skew) > 5)
		all.push({ key: 'skew', level: 'today', what: `The DPU’s clock and yours differ by ${span(f.skew)}`, since: null,
			means: `${f.status?.clock_synchronised ? 'The DPU’s is synchronised: check yours.' : 'The DPU’s is not synchronised.'} Times of day on this page are the DPU’s.`,
			command: 'chronyc tracking' });
	if (f.status && f.api && !f.api.documents.includes('verify'))
		all.push({ key: 'unverified', level: 'note', what: 'Not verified by this page', since: null, means: 'Its server does not serve verify: run it on the DPU, as root.',
			command: 'bwlimit-load verify' });
	return all.sort((a, b) => RANK[a.level] - RANK[b.level]);
}

/** The line above all others: a word, and how many findings need attention. */
export function verdict(list: Finding[], verified: boolean): { level: Level | 'well'; words: string } {
	const now = list.filter((f) => f.level === 'now').length;
	const today = list.filter((f) => f.level === 'today').length;
	const things = (n: number): string => `${n} thing${n === 1 ? '' : 's'}`;
	const thefts = list.filter((f) => f.gone !== undefined);
	const together = thefts.length > 1 ? ` · ${thefts.length} peers together: ${bytes(thefts.reduce((n, f) => n + (f.gone ?? 0), 0))} gone` : '';
	if (now) return { level: 'now', words: `${things(now)} need${now === 1 ? 's' : ''} you now${today ? `, ${today} today` : ''}${together}` };
	const promises = verified ? 'All promises hold' : 'No sign of a broken promise; not verified';
	return today ? { level: 'today', words: `${promises} · ${things(today)} need${today === 1 ? 's' : ''} you today` } : { level: verified ? 'well' : 'note', words: promises };
}

