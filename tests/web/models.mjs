// SPDX-License-Identifier: GPL-2.0-or-later
// The scenes that the page shows. The documents are those that record.sh took from a real lab; what a lab on this kernel cannot
// have (SAs, hours of history, a fleet) is added here, by the same schema, with a comment at each place.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorDocument } from './serve.mjs';

const here = dirname(fileURLToPath(import.meta.url));
const read = (file) => (existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined);
const clone = (x) => structuredClone(x);
const NAMES = ['status', 'verify', 'top', 'usage', 'reasons', 'stats', 'grants', 'peers', 'lease', 'policy', 'ipsec-status', 'history-peers'];
const PEERS = ['tray-3', 'object-store', 'log-collector', 'backup'];

/** The time at which the documents of a scene were read: tests set the browser's clock to it. */
export const timeOf = (scene) => new Date(scene.documents.top?.time ?? '2026-11-22T23:30:00Z');

function recorded(name) {
	const dir = join(here, 'models', name);
	const documents = {};
	for (const n of NAMES) {
		const doc = read(join(dir, `${n}.json`));
		if (doc) documents[n] = doc;
	}
	const exfil = read(join(dir, 'exfil.json'));
	documents.exfil = () => exfil;
	const peers = Object.fromEntries(PEERS.map((p) => [p, read(join(dir, `peer.${p}.json`))]));
	documents.peer = (q) => peers[q.get('name')] ?? errorDocument(`no peer '${q.get('name')}'`);
	const log = readFileSync(join(here, 'models/log.jsonl'), 'utf8').trim().split('\n').map((l) => JSON.parse(l));
	const now = documents.top?.time ?? '2';
	documents.log = { version: 1, kind: 'log-lines', lines: log.filter((l) => l.time <= now && (name === 'verify' || l.level !== 'alert')) };
	documents.audit = read(join(here, 'models/limit/audit.json'));
	const explain = read(join(dir, 'explain.json'));
	documents.journal = { version: 1, kind: 'journal', dir: '/var/lib/bwlimit/journal', state: 'ok', why: null, record_count: 3, stopped: false, clamped: false, revoked_count: 0,
		prefix_count: 0, limit_count: 4, stopped_at: null, clamped_at: null, peer_names: [], closures: [], prefixes: [], torn_bytes: 0,
		limits: PEERS.map((peer) => ({ peer, zone: null, rate_bits_per_second: null, burst_bytes: null, volume_bytes: null, expires_at: null })) };
	documents.explain = (q) => (q.get('destination')?.startsWith('10.') ? { ...explain, source: q.get('source'), destination: q.get('destination') }
		: errorDocument(`'${q.get('destination')}' is no address`, 'IPv4 or IPv6, no name', 'EINVAL'));
	const scene = { api: { scope: 'node', name: 'tray-7' }, documents, peers };
	documents.history = (q) => history(scene, q);
	records(scene);
	return scene;
}

/** What is recorded about a peer: flows, intervals that all balance, the latency of one peer by name. */
function records(scene) {
	const now = Math.floor(timeOf(scene) / 1000);
	const at = (ago) => new Date(1000 * (now - ago)).toISOString();
	const flow = (peer, i, more = {}) => ({ peer, direction: 'out', port: 'pf0hpf', class: 'https', reason: 'pass', ip_protocol: 6, source: '10.0.7.2', source_port: 40000 + i,
		destination: '198.51.100.9', destination_port: 443, queue_pair: 0, frames: 100 * (i + 1), bytes: 140000 * (i + 1), charged_bytes: 150000 * (i + 1), tcp_flags: 24, since: at(20), until: at(i), ...more });
	scene.documents.flows = (q) => {
		const peer = q.get('peer');
		const flows = [...Array.from({ length: 9 }, (_, i) => flow(peer, i)), flow(peer, 9, { reason: 'peer-rate', charged_bytes: 0 }),
			flow(peer, 10, { ip_protocol: 17, class: 'rocev2', source_port: 0, destination: 'fd00:3::1', destination_port: 4791, queue_pair: 17 })];
		return { version: 1, kind: 'flows', since: at(30), interval_count: 3, unbalanced_count: 0, gap_count: 0, thinned_count: 0, flows,
			remainders: [{ peer, direction: 'out', port: 'pf0hpf', class: 'other', reason: 'pass', frames: 9, bytes: 9000, charged_bytes: 9100, since: at(20), until: at(2) }],
			left_out_count: 2, left_out_frames: 2, left_out_bytes: 148, left_out_charged_bytes: 148 };
	};
	const sum = (passed_bytes, dropped_bytes = 0) => ({ passed_frames: Math.ceil(passed_bytes / 1500), passed_bytes, dropped_frames: Math.ceil(dropped_bytes / 1500), dropped_bytes });
	scene.documents['flow-intervals'] = (q) => ({ version: 1, kind: 'flow-intervals', peer: q.get('peer'), intervals: Array.from({ length: 30 }, (_, i) => ({
		sequence: 4711 - i, interval: 900 - i, begun_at: at(10 * i + 15), ended_at: at(10 * i + 5), balanced: true, thinned: false, peer_balanced: true,
		grew: sum(5_000_000, 150_000), in_flows: sum(4_900_000, 150_000), in_remainder: sum(100_000), in_none: sum(0), why: null, gap: null })) });
	const histogram = (bins, sum_s) => ({ frames: bins.reduce((n, [, f]) => n + f, 0), sum_s, bins: bins.map(([up_to_s, frames]) => ({ up_to_s, frames })) });
	const row = (peer) => ({ peer, shape: histogram([[1e-9, 700], [0.001048576, 200], [0.004194304, 100]], 0.4),
		gate: histogram([[1.6384e-5, 600], [3.2768e-5, 390], [0.000131072, 10]], 0.021), unmatched_frames: 0 });
	scene.documents.latency = { version: 1, kind: 'latency', measured: true, peers: [row(null), row('log-collector')] };
}

const SECONDS = { s: 1, m: 60, h: 3600, d: 86400 };
const seconds = (text) => Number(text.slice(0, -1)) * SECONDS[text.at(-1)];

/** bwlimitd writes every 10 s: the newest seconds are present, as 0. */
const UNWRITTEN_S = 5;

/** History of a peer, or of one of its classes: scene.sent[PEER or PEER/CLASS] = (seconds ago) => bit/s sent and refused. It is computed, because no test can wait a day. */
function history(scene, q) {
	const peer = q.get('peer');
	const of = q.get('class');
	const rate = scene.sent?.[of ? `${peer}/${of}` : peer];
	if (!rate) return errorDocument(`there is no history of '${peer}'`, 'there is of nobody yet: bwlimitd writes it once something passes');
	const now = Math.floor(timeOf(scene) / 1000);
	const last = seconds(q.get('since'));
	const step = seconds(q.get('step'));
	const points = [];
	for (let t = now - last; t < now; t += step) {
		const [sent, refused] = t < now - UNWRITTEN_S ? rate(now - t) : [0, 0];
		points.push({ time: new Date(t * 1000).toISOString().replace('.000', ''), sent_bytes: Math.round((sent * step) / 8), sent_dropped_bytes: Math.round((refused * step) / 8),
			arrived_bytes: 0, arrived_dropped_bytes: 0, sent_bits_per_second: sent, arrived_bits_per_second: 0 });
	}
	const sum = (f) => points.reduce((n, p) => n + p[f], 0);
	return { version: 1, kind: 'history', peer, class: of, class_names: Object.keys(scene.sent).flatMap((k) => (k.startsWith(`${peer}/`) ? [k.slice(peer.length + 1)] : [])), since: points[0].time, until: points.at(-1).time, written_until: new Date((now - UNWRITTEN_S) * 1000).toISOString().replace('.000', ''), step_s: step,
		damaged_row_count: 0, total: { sent_bytes: sum('sent_bytes'), sent_dropped_bytes: sum('sent_dropped_bytes'), arrived_bytes: 0, arrived_dropped_bytes: 0 }, points };
}

/** SAs as charon and the kernel report them: the kernel of the lab has no ESP. */
function withSa(scene, peer = 'tray-3') {
	const d = scene.documents;
	d['ipsec-status'] = { version: 1, kind: 'ipsec-status', without_sa: [], ike_sas: [{ peer, state: 'ESTABLISHED', remote: '192.0.2.3', remote_id: 'CN=tray-3', age_s: 5400,
		rekey_in_s: 9000, ke: 'ECP_384', ppk: false, child_sas: [{ state: 'INSTALLED', if_id: 1, age_s: 1800, rekey_in_s: 1500, hard_in_s: 2200, arrived_bytes: 81204400,
			sent_bytes: 99120333, spi_in: '0xc1a70b11', spi_out: '0xc90e2244', offload: 'packet', data_plane_open: true }] }] };
	for (const c of d.verify.checks) if (['tunnel-device', 'shape-fq', 'sa-tracking'].includes(c.id)) Object.assign(c, { result: 'ok', text: `${c.id} is as it should be`, todo: null });
	d.verify.failed_count = d.verify.checks.filter((c) => c.result === 'fail').length;
	d.verify.warned_count = d.verify.checks.filter((c) => c.result === 'warn').length;
	d.verify.ok = d.verify.failed_count === 0;
	for (const g of d.grants?.grants ?? []) Object.assign(g, { mode_in_force: g.mode }, g.peer === peer ? { sa_out: true, offload: 'packet' } : {});
	const p = scene.peers[peer];
	if (p) Object.assign(p, { mode_in_force: p.mode, tunnel: { if_id: 1, sa_out: true, sa_in: true, offload: 'packet', spi_out: '0xc90e2244', spi_in: '0xc1a70b11', carried_by: 'xdp', carried_why: null, carried_text: null } });
	const t = d.top?.peers.find((x) => x.peer === peer);
	if (t?.state === 'live' && !d.top.stopped) {
		d.top.passed_bits_per_second += 41_300_000 - t.passed_bits_per_second;
		t.passed_bits_per_second = 41_300_000;
	}
	return scene;
}
const wobble = (x, s) => x * (0.8 + 0.2 * Math.sin(s / 37) + 0.1 * Math.sin(s / 11));

function healthy() {
	const s = withSa(recorded('healthy'));
	s.sent = { 'log-collector': (ago) => [wobble(3.6e6, ago), 0], 'object-store': (ago) => [wobble(9.8e6, ago), 0], 'tray-3': (ago) => [wobble(41e6, ago), 0] };
	const c = s.documents.top.peers.find((p) => p.peer === 'log-collector');
	c.left.used_bytes = Math.round(c.left.volume_bytes * 0.22);
	s.documents.reasons.reasons = s.documents.reasons.reasons.filter((r) => r.passes);
	return s;
}
function limit() {
	const s = withSa(recorded('limit'));
	s.sent = { 'log-collector': (ago) => (ago < 120 ? [9.9e6, 19.9e6] : [wobble(1.2e6, ago), 0]), 'object-store': (ago) => [wobble(9.8e6, ago), 0] };
	const c = s.documents.top.peers.find((p) => p.peer === 'log-collector');
	c.left.used_bytes = Math.round(c.left.volume_bytes * 0.41);
	return s;
}
function theft() {
	const s = limit();
	const since = 43 * 60;
	s.sent['log-collector'] = (ago) => (ago < since ? [9.9e6, 19.9e6] : [wobble(0.2e6, ago), 0]);
	for (const of of [s.documents.top.peers, s.documents.grants.grants, [s.peers['log-collector']]]) {
		const c = of.find((p) => p.peer === 'log-collector');
		c.left.volume_bytes = 4e9;
		c.left.used_bytes = 3.24e9;
	}
	for (const v of s.documents.usage.volumes) if (v.limit_key === 'peer log-collector') Object.assign(v, { volume_bytes: 4e9, used_bytes: 3.24e9 });
	ofZone(s, 3.24e9);
	Object.assign(s.documents.policy.peers.find((p) => p.peer === 'log-collector').grant, { volume_bytes: 4e9 });
	s.peers['log-collector'].grant.volume_bytes = 4e9;
	return s;
}
/** Further limits of log-collector: of two host ports to it, of what arrives from it, and its weight in the zone. */
function ownLimits() {
	const s = healthy();
	const d = s.documents;
	const limit = (rate, volume_bytes = null) => ({ rate_bits_per_second: rate, burst_bytes: rate / 32, volume_bytes, window_s: volume_bytes && 86400 });
	const more = { zone: 'external', weight: 3, ports: [{ port: 'hpf0', limit: limit(4e6, 10e6) }, { port: 'hpf1', limit: limit(6e6) }], accept: limit(10e6, 50e6) };
	Object.assign(s.peers['log-collector'], more, { portion_bits_per_second: 37.1e6 });
	Object.assign(d.policy.peers.find((p) => p.peer === 'log-collector'), more);
	d.policy.host_ports.push({ ...d.policy.host_ports[0], port: 'hpf1', sources: ['10.8.0.0/24'], limit: null });
	d.policy.zones.find((z) => z.zone === 'external').share = 'weighted';
	const volume = (limit_key, used_bytes, volume_bytes) => ({ limit_key, used_bytes, volume_bytes, window_s: 86400, released_bytes: volume_bytes, ledger_state: 'released', enforced: true });
	d.usage.volumes.push(volume('tenant log-collector/hpf0', 9.2e6, 10e6), volume('accept log-collector', 12e6, 50e6));
	s.sent['log-collector/port/hpf0'] = (ago) => [wobble(1.8e6, ago), 0];
	d.reasons.reasons.push({ port: 'hpf0', hook: 'ingress', reason: 'port-rate', passes: false, text: 'over the rate of its host port', todo: null, frames: 40, bytes: 60_000, charged_bytes: 0 });
	return s;
}
/** A zone has passed at least as much as its peers. */
function ofZone(s, used) {
	for (const v of s.documents.usage.volumes) if (v.limit_key === 'zone external') v.used_bytes = used;
}
function slowTheft() {
	const s = theft();
	s.sent['log-collector'] = (ago) => [ago < 9000 ? wobble(2.9e6, ago) : 1e4, 0];
	Object.assign(s.documents.top.peers.find((p) => p.peer === 'log-collector'), { passed_bits_per_second: 2.9e6, dropped_bits_per_second: 0 });
	return s;
}
/** Two exits at once, each at its own limit. */
function splitTheft() {
	const s = theft();
	Object.assign(s.documents.top.peers.find((p) => p.peer === 'backup'), { passed_bits_per_second: 5.01e6, dropped_bits_per_second: 1.1e6 });
	s.sent.backup = (ago) => (ago < 26 * 60 ? [4.95e6, 1.1e6] : [0, 0]);
	for (const of of [s.documents.top.peers, s.documents.grants.grants]) of.find((p) => p.peer === 'backup').left.used_bytes = 950e6;
	ofZone(s, 3.24e9 + 950e6);
	return s;
}
/** Like theft, in a second in which it pauses. */
function blinkingTheft() {
	const s = theft();
	Object.assign(s.documents.top.peers.find((p) => p.peer === 'log-collector'), { passed_bits_per_second: 0, dropped_bits_per_second: 0 });
	s.sent['log-collector'] = (ago) => [ago < 43 * 60 ? 6e6 : 0, 0];
	return s;
}
/** object-store has a limit of 100 Mbit/s, in a zone of 50: it uses 60 % of that. */
function zoneTheft() {
	const s = healthy();
	const peer = 'object-store';
	s.documents.policy.peers.find((p) => p.peer === peer).zone = 'external';
	s.documents.top.peers.find((p) => p.peer === peer).passed_bits_per_second = 30e6;
	s.sent[peer] = (ago) => [ago < 5.5 * 3600 ? 30e6 : 1e6, 0];
	return s;
}
/** An exit without a limit of its own; all: nor of its zone or the node. */
function unlimited(all = false) {
	const s = healthy();
	const d = s.documents;
	const peer = 'backup';
	const none = { rate_bits_per_second: null, burst_bytes: null, volume_bytes: null, window_s: null };
	d.policy.peers.find((p) => p.peer === peer).grant = { ...none };
	for (const of of [d.top.peers, d.grants.grants]) Object.assign(of.find((p) => p.peer === peer), { rate_bits_per_second: null, left: { debt_bytes: 0, burst_bytes: null, volume_bytes: null, used_bytes: null, window_s: null } });
	if (all) {
		d.policy.zones = d.policy.zones.map((z) => ({ ...z, limit: null }));
		d.policy.node_limit = null;
	}
	return s;
}
/** An exit in mode monitor, at twice its rate, and its volume is spent: both only count. */
function notEnforced() {
	const s = healthy();
	const d = s.documents;
	const is = (list) => list.find((p) => p.peer === 'log-collector');
	const shown = s.peers['log-collector'];
	for (const of of [is(d.policy.peers), is(d.grants.grants), shown]) Object.assign(of, { mode: 'monitor', enforced: false });
	is(d.grants.grants).mode_in_force = shown.mode_in_force = 'monitor';
	is(d.top.peers).passed_bits_per_second = 2 * is(d.top.peers).rate_bits_per_second;
	for (const of of [is(d.top.peers), is(d.grants.grants), shown]) of.left = { ...of.left, used_bytes: of.left.volume_bytes };
	return s;
}
/** Every grant is at its floor, not because of bwlimitd. */
function atFloor(of) {
	const s = healthy();
	Object.assign(s.documents.status, { heartbeat_ends_in_s: -40 }, of);
	return s;
}
function unsynchronised() {
	const s = healthy();
	s.documents.status.clock_synchronised = false;
	return s;
}
function saLost() {
	const s = healthy();
	s.documents['ipsec-status'] = { version: 1, kind: 'ipsec-status', without_sa: ['tray-3'], ike_sas: [] };
	Object.assign(s.documents.top.peers.find((p) => p.peer === 'tray-3'), { passed_bits_per_second: 0, dropped_bits_per_second: 38e6 });
	Object.assign(s.documents.grants.grants.find((g) => g.peer === 'tray-3'), { sa_out: false, offload: null });
	Object.assign(s.peers['tray-3'].tunnel, { sa_out: false, sa_in: false, spi_out: null, spi_in: null, offload: null });
	return s;
}
function tried() {
	const s = limit();
	Object.assign(s.documents.top.peers.find((p) => p.peer === 'log-collector'), { passed_bits_per_second: 0.2e6, dropped_bits_per_second: 0 });
	s.sent = {};
	return s;
}
/** Closed by stop, and one peer earlier; the journal says since when. */
function stopped() {
	const s = withSa(recorded('stopped'));
	Object.assign(s.documents.journal, { stopped: true, stopped_at: '2026-11-22T23:20:00Z', revoked_count: 1, peer_names: ['object-store'], closures: [{ peer: 'object-store', closed_at: '2026-11-22T22:58:00Z' }] });
	return s;
}
/** Thirteen encrypted peers, the last of which has no SA; nothing about charon is served. */
function lastSa() {
	const s = healthy();
	const d = s.documents;
	delete d['ipsec-status'];
	for (const list of [d.policy.peers, d.top.peers, d.grants.grants]) {
		const one = list.find((p) => p.peer === 'tray-3');
		for (let i = 1; i <= 12; i++) list.push({ ...clone(one), peer: `mesh-${i}` });
	}
	Object.assign(d.grants.grants.at(-1), { sa_out: false, offload: null });
	return s;
}
/** What today's bwlimit-web serves: nothing that only root may see. */
function plain() {
	const s = saLost();
	for (const name of ['verify', 'ipsec-status', 'log', 'audit']) delete s.documents[name];
	return s;
}
/** A policy in which nobody may send. */
function empty() {
	const s = healthy();
	s.documents.policy.peers = [];
	s.documents.top.peers = [];
	s.documents.grants.grants = [];
	const x = s.documents.exfil();
	s.documents.exfil = () => ({ ...x, never: true, least_s: null, binding: null, exit_count: 0, contained_count: 0, at_once_bytes: 0, long_run_bits_per_second: 0, curve_bytes: x.curve_bytes.map(() => 0), warnings: [] });
	s.documents['ipsec-status'].ike_sas = [];
	return s;
}
/** Exits are open, and their volumes end below 1 TB. */
function volumesEnd() {
	const s = healthy();
	const x = s.documents.exfil();
	s.documents.exfil = () => ({ ...x, never: true, least_s: null, binding: null, exit_count: 2, at_once_bytes: 3e8, long_run_bits_per_second: 0, curve_bytes: x.curve_bytes.map((_, i) => (i < 132 ? 1e8 : 3e8)),
		warnings: ['peer backup: its volume is of no window: it does not come again'] });
	return s;
}
/** A node with that many peers; past: what each sent, as in scene.sent. */
export function many(n, past = null) {
	const s = healthy();
	const t = s.documents.top.peers.find((p) => p.peer === 'object-store');
	const p = s.documents.policy.peers.find((x) => x.peer === 'object-store');
	const g = s.documents.grants.grants.find((x) => x.peer === 'object-store');
	const list = Array.from({ length: n }, (_, i) => `tray-${1000 + i}`);
	s.documents.top.peers = list.map((peer, i) => ({ ...clone(t), peer, passed_bits_per_second: (i * 97_000) % 1e8 }));
	s.documents.policy.peers = list.map((peer, i) => ({ ...p, peer, zone: i % 3 ? 'mesh' : 'external', contained: i % 3 > 0 }));
	s.documents.grants.grants = list.map((peer) => ({ ...clone(g), peer }));
	if (past) s.sent = Object.fromEntries(list.map((peer) => [peer, past]));
	else s.documents.history = () => errorDocument('no history');
	return s;
}
/** Names that a thief would choose, if he could. */
export function hostile() {
	const s = theft();
	const evil = `<img src=x onerror="window.hit=1"><script>window.hit=1</script>`;
	const name = (o, f = 'peer') => { if (o[f] === 'log-collector') o[f] = evil; };
	for (const list of [s.documents.top.peers, s.documents.grants.grants, s.documents.policy.peers]) list.forEach((p) => name(p));
	s.documents.policy.peers.forEach((p) => { p.zone = p.zone && `"><svg onload=window.hit=1>${p.zone}`; });
	s.documents.top.peers.find((p) => p.peer === 'backup').peer = "x'; touch /tmp/pwned; '";
	s.documents.top.peers.find((p) => p.peer === 'object-store').peer = 'a\nrm -rf /';
	s.documents.reasons.reasons.push({ ...s.documents.reasons.reasons.find((r) => !r.passes), reason: evil, text: evil, todo: evil, frames: 5 });
	s.documents.verify.checks.push({ id: evil, result: 'fail', text: evil, todo: evil });
	s.documents.log.lines.push({ version: 1, kind: 'log', time: s.documents.top.time, level: 'alert', event: 'tamper', text: evil });
	s.documents.exfil = () => ({ ...recorded('limit').documents.exfil(), binding: evil, warnings: [evil] });
	s.documents.top.node = evil;
	s.documents.peer = () => ({ ...s.peers['log-collector'], peer: evil, addresses: [evil] });
	s.documents.explain = () => errorDocument(evil, evil);
	return s;
}

// ---- a fleet: the documents that bwlimit-web --fleet serves (docs/api.md), by schema; a lab has three trays, this one has ten thousand ----
const rollout = (r) => ({ document: 'policy/base', digest: 'ab'.repeat(32), from_digest: null, tray: null, stage_percents: [], next_percent: null, soak_ends_in_s: null, judged_at: null, judged_count: null,
	unwell_count: null, bad_count: null, waited_tray_names: [], why: null, ...r });
export function fleet(n = 10_000, { well = false } = {}) {
	const time = '2026-11-22T23:30:00Z';
	const trays = Array.from({ length: n }, (_, i) => {
		const dead = !well && i % 2500 === 7;
		const old = !well && i % 1250 === 11;
		const mute = !well && i >= 90 && i < 93;
		return { tray: `tray-${String(i).padStart(5, '0')}`, alive: !dead, labels: [`hall=${1 + Math.floor(i / 2500)}`, `rack=${Math.floor(i / 40)}`], policy_name: 'base', policy_version: old ? 41 : 42, late: old,
			fresh: well || (i !== 60 && !old), closed_count: well || i !== 61 ? 0 : 2, alarm_count: well || i !== 62 ? 0 : 1, status_signature: !well && i === 62 ? 'refused' : i === 63 ? 'unsigned' : dead || mute ? null : 'signed', passed_bits_per_second: dead || mute ? null : 40e9 + i * 1e5,
			dropped_bits_per_second: dead || mute ? null : i % 100 === 1 ? 3e6 : 0, heard_ago_s: dead || mute ? 700 : 12, certificate_ends_in_s: dead || mute ? null : 86400 * (!well && i < 2 ? 12 + i : 300), why: dead || mute ? 'no answer: connection timed out' : null };
	});
	// Sorted by worst, like fleet/model/page.c.
	const rank = (t) => 64 * !t.alive + 32 * (t.alive && t.heard_ago_s > 180) + 16 * (t.alarm_count > 0) + 4 * !t.fresh + 2 * (t.closed_count > 0) + t.late;
	const worst = [...trays].sort((a, b) => rank(b) - rank(a) || (b.dropped_bits_per_second ?? 0) - (a.dropped_bits_per_second ?? 0));
	const sum = (group_kind, group, of, used = null, volume = null) => ({ group_kind, group, tray_count: of.length, alive_count: of.filter((t) => t.alive).length,
		passed_bits_per_second: group_kind === 'zone' ? null : of.reduce((x, t) => x + (t.passed_bits_per_second ?? 0), 0),
		dropped_bits_per_second: group_kind === 'zone' ? null : of.reduce((x, t) => x + (t.dropped_bits_per_second ?? 0), 0),
		used_bytes: group_kind === 'zone' ? (used ?? 0) : null, volume_bytes: volume, worst_tray: of[1]?.tray ?? null,
		worst_dropped_bits_per_second: group_kind === 'zone' ? null : (of[1]?.dropped_bits_per_second ?? 0), worst_share: group_kind === 'zone' ? (volume ? 0.97 : 0) : null });
	const groups = [sum('fleet', 'hall-3', trays)];
	for (let hall = 1; hall <= 4 && n >= 2500; hall++) groups.push(sum('label', `hall=${hall}`, trays.filter((t) => t.labels.includes(`hall=${hall}`))));
	for (let rack = 0; rack < Math.min(8, n / 40); rack++) groups.push(sum('label', `rack=${rack}`, trays.filter((t) => t.labels.includes(`rack=${rack}`))));
	groups.push(sum('zone', 'external', trays, well ? 2e12 : 17.1e12, 20e12), sum('zone', 'mesh', trays));
	const documents = {
		'fleet-status': (q) => {
			const all = worst.filter((t) => !q.get('label') || t.labels.includes(q.get('label')));
			const offset = Number(q.get('offset') ?? 0);
			return { version: 1, kind: 'fleet-status', time, fleet: 'hall-3', tray_count: n, alive_count: trays.filter((t) => t.alive).length, heard_count: trays.filter((t) => t.alive).length - (well ? 0 : 3),
				ending_certificate_count: well ? 0 : 2, first_certificate_tray: 'tray-00000', first_certificate_ends_in_s: well ? 86400 * 300 : 86400 * 12, late_count: trays.filter((t) => t.late).length, policies: [42, 41].map((v) => ({ policy_name: 'base', policy_version: v, tray_count: trays.filter((t) => t.policy_version === v).length })).filter((p) => p.tray_count),
				sums: groups, trays: all.slice(offset, offset + Number(q.get('limit') ?? 100)) };
		},
		'fleet-pending': { version: 1, kind: 'fleet-pending', documents: well ? [] : [{ document: 'policy/base', document_version: 43, epoch: 1, audience: 'all', digest: 'ab'.repeat(32), not_after: '2026-12-01T00:00:00Z',
			signers: ['alice'], asks: ['reason: ticket 4711'], widens: true, widening_count: 9, widenings: ['zone external: rate: 10mbit -> 50mbit', 'peer log, grant: rate: 1mbit -> 40mbit', ...Array.from({ length: 7 }, (_, i) => `peer web-${i}: in no policy before`)],
			size_bytes: 1e12, least_before_s: 34_128_000, least_after_s: 6_912_000, why: null }] },
		'fleet-rollouts': { version: 1, kind: 'fleet-rollouts', rollout_count: well ? 1 : 3, rollouts: [
			...(well ? [] : [rollout({ document: 'policy/storage', document_version: 8, phase: 'back', percent: 10, stage_since: '2026-11-22T21:12:00Z', from_digest: 'cd'.repeat(32), why: 'tray-00062 drops 12.3 % of its packets, 0.1 % before' }),
				rollout({ document_version: 42, phase: 'going', percent: 25, stage_percents: [10, 25, 50, 100], next_percent: 50, stage_since: '2026-11-22T23:24:00Z', soak_ends_in_s: 240, judged_at: '2026-11-22T23:29:57Z',
					judged_count: 2480, unwell_count: 12, bad_count: 0, waited_tray_names: Array.from({ length: 8 }, (_, i) => `tray-${String(11 + 1250 * i).padStart(5, '0')}`), why: 'tray-00011 has not taken it' })]),
			rollout({ document_version: 41, document: well ? 'policy/base' : 'policy/mesh', phase: 'done', percent: 100, stage_since: '2026-11-20T08:00:00Z' })] },
		'fleet-closures': { version: 1, kind: 'fleet-closures', time, fleet: 'hall-3', closure_count: well ? 0 : 301, closures: well ? [] : [
			{ tray: 'tray-00062', alive: true, closure: 'clamped', peer: null, closed_at: '2026-11-22T22:41:00Z', text: 'a sign of tampering: every grant is at its floor',
				todo: 'bwlimit-ctl policy sign base.yaml --key YOUR.pem --fleet hall-3 --audience tray:tray-00062 --name base --number 43 --for 30d --lifts clamp' },
			{ tray: 'tray-00061', alive: true, closure: 'peer', peer: 'log-collector', closed_at: '2026-11-22T23:02:00Z', text: 'closed: nothing passes to this peer',
				todo: 'bwlimit-ctl policy sign base.yaml --key YOUR.pem --fleet hall-3 --audience tray:tray-00061 --name base --number 43 --for 30d --opens log-collector' },
			{ tray: 'tray-00061', alive: true, closure: 'peer', peer: '$(reboot)', closed_at: null, text: 'closed: nothing passes to this peer', todo: null }],
		unacknowledged: well ? [] : [{ document: 'revocation/r-77ab', lack: 'missing', tray_count: 9, tray_names: Array.from({ length: 8 }, (_, i) => `tray-${String(11 + 1250 * i).padStart(5, '0')}`) }] },
		'fleet-history': { version: 1, kind: 'fleet-history', fleet: 'hall-3', since: '2026-11-22T22:30:00Z', until: time, step_s: 60, points: Array.from({ length: 60 }, (_, i) => ({
			time: new Date(Date.parse('2026-11-22T22:30:00Z') + i * 60_000).toISOString(), sent_bytes: 3e15, sent_bits_per_second: wobble(4e14, i * 9), sent_dropped_bytes: 2e9, tray_count: n })) },
		exfil: () => ({ ...recorded('healthy').documents.exfil(), tray_count: n, least_s: 34_128_000, long_run_bits_per_second: 231_000, at_once_bytes: 4.1e9, binding: 'tray tray-00042: zone external: volume 20gb per 1d', exit_count: 412,
			contained_count: 9_999, curve_bytes: Array.from({ length: 249 }, (_, k) => 4.1e9 + (231_000 / 8) * 2 ** (k / 8)), warnings: [...(well ? [] : ['trays of which nothing is known, and that are not counted: 3']), 'contained peers are not counted, their own DPUs must limit them: 9999',
				'less than the true time, by a tenth at most, and never more'] }),
	};
	return { api: { scope: 'fleet', name: 'hall-3' }, documents, time };
}

function verifyFails() {
	const s = withSa(recorded('verify'));
	return s;
}
function noPolicy() {
	return recorded('no-policy');
}
function nothing() {
	const e = errorDocument('no bwlimit is attached here', 'bwlimit-load attach --host DEV --uplink DEV');
	return { api: { scope: 'node', name: 'tray-9' }, documents: { status: e, top: e, exfil: () => e, policy: e } };
}

export const scenes = {
	healthy, limit, theft, 'slow-theft': slowTheft, 'split-theft': splitTheft, 'blinking-theft': blinkingTheft, 'zone-theft': zoneTheft, clamped: () => atFloor({ clamped: true }), 'lease-ended': () => atFloor({ lease: { state: 'ended', longest_s: 86400, ends_in_s: -40, renewed_ago_s: 86440 } }),
	'lease-ends': () => atFloor({ heartbeat_ends_in_s: 3, lease: { state: 'live', longest_s: 86400, ends_in_s: 3, renewed_ago_s: 86397 } }), 'unlimited-own': () => unlimited(), unlimited: () => unlimited(true), 'not-enforced': notEnforced, tried, 'sa-lost': saLost, 'last-sa': lastSa, 'agent-dead': () => withSa(recorded('agent-dead')),
	clock: healthy, 'clock-unsynchronised': unsynchronised, verify: verifyFails, plain, empty, 'volumes-end': volumesEnd, 'no-policy': noPolicy, stopped, nothing, hostile, fleet: () => fleet(), 'fleet-well': () => fleet(120, { well: true }),
	'own-limits': ownLimits, many: () => many(1000),
};
