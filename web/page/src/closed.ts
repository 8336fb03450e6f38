// SPDX-License-Identifier: GPL-2.0-or-later
// What is closed, why, since when, and the command that opens it; and what ends by itself, the soonest first.
import { clock, span, typed, until } from './format';
import type { Fact } from './panels';
import type { Row } from './peers';
import type { Journal, N, Policy, S, Status } from './types';

/** Nobody reads more lines than this; the rest are in the table of peers. */
const LINES = 12;

/** The journal has the times of closures by people; other closures have times of their own. null: no document has it. */
const since = (at: S | undefined): string => (at ? `, since ${clock(at)}` : ', since when is not known');
const grant = (peer: string): string | null => typed`bwlimit-ctl grant ${peer} reason WHY`;
/** What has ended, or never was, has no end that could stay. */
const again = (peer: string): string | null => typed`bwlimit-ctl grant ${peer} for 1d reason WHY`;
const first = (peer: string): string | null => typed`bwlimit-ctl grant ${peer} rate 10mbit for 1d reason WHY`;

const SWITCH: Record<string, [string, string]> = {
	stopped: ['stopped, by hand or by a sign of tampering', 'bwlimit-ctl stop --off'],
	closed: ['not opened since it was attached', 'bwlimit-load up'],
	upgrading: ['an upgrade has not ended', 'bwlimit-load upgrade'],
	unjudged: ['the journal was not yet compared with the TPM', 'systemctl status bwlimitd'],
};

export function closures(status: Status, journal: Journal | null, rows: Row[], policy: Policy | null): Fact[] {
	const all: Fact[] = [];
	const add = (what: string, words: string, command: string | null, tip = '', level = 'now'): void => {
		all.push([what, words, tip, level, command]);
	};
	const by = SWITCH[status.stopped ? 'stopped' : status.switch];
	if (by) add('everything', by[0] + (status.stopped ? since(journal?.stopped_at) : ''), by[1], 'Nothing passes to any peer');
	if (!status.policy_in_force) add('everything', 'no policy is in force', 'bwlimit-ctl policy apply /etc/bwlimit/policy.yaml');
	if (status.clamped) add('every grant', `held at its floor${since(journal?.clamped_at)}`, 'bwlimit-ctl heartbeat --lift');
	const lease = status.lease;
	if (lease?.state === 'ended' || lease?.state === 'never') add('every grant', lease.state === 'never' ? 'there was never a lease' : `the lease ended ${until(lease.ends_in_s)}`, 'bwlimit-ctl lease renew');
	else if (!status.clamped && status.policy_in_force && policy && status.heartbeat_ends_in_s !== null && status.heartbeat_ends_in_s <= 0)
		add('every grant', `bwlimitd is silent, for ${span(status.heartbeat_ends_in_s)}`, 'systemctl restart bwlimitd');
	const at = new Map((journal?.closures ?? []).map((c) => [c.peer, c.closed_at]));
	const revoked = new Set([...rows.filter((r) => r.state === 'revoked').map((r) => r.peer), ...(journal?.peer_names ?? [])]);
	for (const peer of revoked) add(peer, `revoked${since(at.get(peer))}`, grant(peer), rows.some((r) => r.peer === peer) ? '' : 'Not in the policy: any peer with its addresses is closed');
	for (const r of rows) {
		if (r.state === 'expired') add(r.peer, `its grant ended ${until(r.expires)}`, again(r.peer), '', 'today');
		else if (r.state === 'no-grant') add(r.peer, 'the policy grants it nothing', first(r.peer), '', '');
		else if (r.sa === 'down') add(r.peer, 'no SA: nothing passes, not even in the clear', 'bwlimit-ctl ipsec status');
	}
	// If there are names, the prefixes are theirs. If there are none, the journal is from before journals had names, or closes everything.
	if (revoked.size === 0 && journal?.prefixes.length) add(journal.prefixes.slice(0, 3).join(', '), `closed, ${journal.prefixes.length} prefix${journal.prefixes.length === 1 ? '' : 'es'}`, 'bwlimit-ctl journal show');
	return cut(all, 'use the filter “closed” of the peers');
}

/** Limits that people lowered: they hold over a reboot, even if the file has higher ones. */
export function lowered(journal: Journal | null): Fact[] {
	const of = journal?.limits ?? [];
	return of.length === 0 ? [] : [['limits set by hand', of.slice(0, 3).map((l) => l.peer ?? `zone ${l.zone}`).join(', ') + (of.length > 3 ? ` and ${of.length - 3} more` : ''),
		'They hold over a reboot; the lower of file and journal applies: bwlimit-ctl journal show. A policy that is applied by hand raises them', '', null]];
}

interface End { s: number; what: string; words: string; tip: string; command?: string | null }
const DAY = 86400;

export function ends(status: Status | null, rows: Row[], policy: Policy | null): Fact[] {
	const all: End[] = [];
	for (const r of rows) if (r.expires != null && r.expires > 0) all.push({ s: r.expires, what: r.peer, words: `grant ends ${until(r.expires)}`, tip: 'Then it falls to its floor' });
	const lease = status?.lease;
	if (lease?.ends_in_s != null && lease.ends_in_s > 0) all.push({ s: lease.ends_in_s, what: 'lease', words: `${lease.state}, ends ${until(lease.ends_in_s)}`, tip: 'Then every peer falls to its floor: bwlimit-ctl lease show' });
	const trial = status?.returns_in_s;
	if (trial != null)
		all.push({ s: trial, what: 'policy on trial', tip: 'Then every grant ends, and bwlimitd puts the previous policy in force again', words: trial < 0 ? `ended ${until(trial)}: only floors pass` : `ends ${until(trial)}`,
			command: trial < 0 ? 'bwlimit-ctl policy rollback' : 'bwlimit-ctl policy confirm' });
	const facts = cut(all.sort((a, b) => a.s - b.s).map((e): Fact => [e.what, e.words, e.tip, e.s < DAY && e.what !== 'lease' ? 'today' : '', e.command ?? null]), 'sort the peers by “ends”');
	if (status && !lease) facts.push(['lease', 'not required', 'The policy requires none', '', null]);
	const beat: N = policy?.heartbeat_s ?? null;
	if (status) facts.push(['heartbeat', beat === null ? '–' : until(status.heartbeat_ends_in_s), 'When grants fall to their floors if bwlimitd stays silent, from the maps', '', null]);
	if (policy?.peers.some((p) => p.path !== 'clear'))
		facts.push(['certificates of IPsec', '– (root: charon has them)', 'No document that is served says when they end', '', 'swanctl --list-certs']);
	facts.push(['certificate of bwlimit-sync', '– (where it runs)', 'No document that is served says when it ends', '', 'openssl x509 -enddate -noout -in /etc/bwlimit/sync/cert.pem']);
	return facts;
}

function cut(facts: Fact[], where: string): Fact[] {
	return facts.length <= LINES ? facts : [...facts.slice(0, LINES), [`${facts.length - LINES} more`, where, '', '', null]];
}
