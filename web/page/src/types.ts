// SPDX-License-Identifier: GPL-2.0-or-later
// The documents of docs/json.md, as far as this page shows them. A field may be null if that page says so.

export type N = number | null;
export type S = string | null;

export interface Api { scope: 'node' | 'fleet'; name: S; documents: string[]; bwlimit: string; now: string }
export interface Limit { rate_bits_per_second: N; burst_bytes: N; volume_bytes: N; window_s: N }
export interface Left { debt_bytes: N; burst_bytes: N; volume_bytes: N; used_bytes: N; window_s: N }
export interface Lease { state: S; longest_s: N; ends_in_s: N; renewed_ago_s: N }
export interface Program { program: string; attached: boolean; fallback: S }
export interface Port { port: string; role: string; present: boolean; up: boolean; carrier: boolean; programs: Program[] }
export interface Status {
	stopped: boolean; switch: string; clamped: boolean; policy_in_force: boolean; generation: number; returns_in_s: N; drill: boolean;
	attached_ago_s: N; heartbeat_ends_in_s: N; lease: Lease | null; clock_synchronised: boolean; ledger: string;
	journal: { state: S; why: S; record_count: number; stopped: boolean; clamped: boolean; revoked_count: N; prefix_count: number; limit_count: number };
	desired: { state: S; why: S; source_name: S; accepted_at: S; refused: object | null };
	ports: Port[];
}
export interface Check { id: S; result: 'ok' | 'warn' | 'fail'; text: string; todo: S }
export interface Verify { ok: boolean; failed_count: number; warned_count: number; checks: Check[] }
export interface TopPeer { peer: string; state: S; passed_bits_per_second: N; rate_bits_per_second: N; dropped_bits_per_second: N; left: Left | null }
export interface Top {
	time: string; node: S; passed_bits_per_second: N; dropped_bits_per_second: N; passed_bytes: N; dropped_bytes: N; stopped: boolean;
	switch: string; peers: TopPeer[];
}
export interface Grant { peer: string; state: S; rate_bits_per_second: N; left: Left | null; expires_in_s: N; mode: string; mode_in_force: string; enforced: boolean; sa_out: boolean; offload: S }
export interface Volume { limit_key: string; used_bytes: N; volume_bytes: N; window_s: N; released_bytes: N; ledger_state: string }
export interface Reason { port: S; hook: string; reason: string; passes: boolean; text: string; todo: S; frames: number; bytes: number; charged_bytes: number }
export interface Exfil {
	size_bytes: number; tray_count: number; least_s: N; never: boolean; long_run_bits_per_second: N; at_once_bytes: N; binding: S; exit_count: number;
	contained_count: number; unlimited_count: number; curve_bytes: N[] | null; warnings: string[];
}
export interface Peer {
	peer: string; addresses: string[]; zone: S; from: string[] | null; contained: boolean; revoked: boolean; grant: Limit | null; mode: string; enforced: boolean;
	expires_in_s: N; accept: Limit | null; accept_none: boolean; floor: Limit | null; path: string; via: S; ipsec_remote: S; state?: S; weight: N;
	classes: { class: string; limit: Limit | null }[]; ports: { port: string; limit: Limit | null }[];
}
export interface Policy {
	node: string; heartbeat_s: N; node_limit: Limit | null; generation: number; digest: string; zones: { zone: string; limit: Limit | null }[];
	host_ports: { port: string; sources: string[]; vlans: number[]; limit: Limit | null }[]; peers: Peer[];
}
export interface ChildSa { state: S; age_s: number; hard_in_s: number; sent_bytes: number; arrived_bytes: number; offload: S; data_plane_open: boolean | null }
export interface Ipsec { without_sa: string[]; ike_sas: { peer: S; state: S; remote: string; age_s: number; ke: string; child_sas: ChildSa[] }[] }
export interface Point { time: string; sent_bytes: number; sent_dropped_bytes: number; sent_bits_per_second: N; arrived_bits_per_second?: N; tray_count?: number }
export interface History { peer?: S; class?: S; class_names?: string[]; written_until?: string; since: string; until: string; step_s: number; points: Point[]; damaged_row_count?: number }
export interface Explain { source: string; destination: string; port: S; peer: S; class: S; passes: boolean; reason: S; text: string; todo: S; steps: { step: string; ok: boolean; text: string; reason: S }[] }
export interface Tunnel { sa_out: boolean; sa_in: boolean; offload: S; spi_out: S; spi_in: S; carried_by: string; carried_text: S }
export interface Journal {
	stopped_at?: S; clamped_at?: S; peer_names: string[]; closures?: { peer: string; closed_at: S }[]; prefixes: string[];
	limits: { peer: S; zone: S; rate_bits_per_second: N; expires_at?: S }[];
}
export interface Flow {
	peer: S; direction: 'out' | 'in'; port: S; class: S; reason: string; ip_protocol?: number; source?: S; source_port?: number; destination?: S; destination_port?: number;
	queue_pair?: number; frames: number; bytes: number; charged_bytes: number; until: string;
}
export interface Flows { interval_count: number; unbalanced_count: number; gap_count: number; flows: Flow[]; remainders: Flow[]; left_out_count: number; left_out_bytes: number }
export interface CountSum { passed_frames: number; passed_bytes: number; dropped_frames: number; dropped_bytes: number }
export interface Interval {
	sequence: number; interval: number; begun_at: S; ended_at: S; balanced: boolean; thinned: boolean; peer_balanced: boolean | null; grew: CountSum | null; in_flows: CountSum | null;
	in_remainder: CountSum | null; in_none: CountSum | null; why: S; gap: S;
}
export interface Intervals { peer: S; intervals: Interval[] }
export interface Histogram { frames: number; sum_s: number; bins: { up_to_s: N; frames: number }[] }
export interface Latency { measured: boolean; peers: { peer: S; shape: Histogram; gate: Histogram; unmatched_frames: number }[] }
export interface Stats { peers: { peer: string; dropped_bytes: number }[] }
export interface Audit { checkpoint?: string; record_count?: number }
export interface Log { time: string; level: string; event: string; text: string; program?: string; record?: number; acknowledged?: boolean }
export interface ErrorDocument { kind: 'error'; error: { program: string; code: string; text: string; todo: S } }

export interface Sum {
	group_kind: 'fleet' | 'label' | 'zone'; group: string; tray_count: number; alive_count: number; passed_bits_per_second: N; dropped_bits_per_second: N;
	used_bytes: N; volume_bytes: N; worst_tray: S; worst_dropped_bits_per_second: N; worst_share: N;
}
export interface Tray {
	tray: string; alive: boolean; labels: string[]; policy_name: S; policy_version: N; late: boolean | null; fresh: boolean | null; closed_count: N; alarm_count: N; status_signature: S;
	passed_bits_per_second: N; dropped_bits_per_second: N; heard_ago_s: N; why: S;
}
export interface FleetStatus { time: string; fleet: string; tray_count: number; alive_count: number; heard_count: number; ending_certificate_count: number; first_certificate_tray: S; first_certificate_ends_in_s: N; late_count: number; policies: { policy_name: string; policy_version: number; tray_count: number }[]; sums: Sum[]; trays: Tray[] }
export interface Pending {
	document: string; document_version: number; audience: string; digest: string; not_after: string; signers: string[];
	asks: string[]; widens: boolean | null; widening_count: N; widenings: string[]; size_bytes: number; least_before_s: N; least_after_s: N; why: S;
}
export interface FleetPending { documents: Pending[] }
export interface Rollout {
	document: string; document_version: number; tray: S; phase: 'going' | 'done' | 'back' | 'stuck'; percent: number; stage_percents: number[]; next_percent: N;
	stage_since: S; soak_ends_in_s: N; judged_at: S; judged_count: N; unwell_count: N; bad_count: N; waited_tray_names: string[]; why: S;
}
export interface FleetRollouts { rollout_count: number; rollouts: Rollout[] }
export interface Closure { tray: string; alive: boolean; closure: string; peer: S; closed_at: S; text: string; todo: S }
export interface Lacking { document: string; lack: 'missing' | 'refused'; tray_count: number; tray_names: string[] }
export interface FleetClosures { closure_count: number; closures: Closure[]; unacknowledged: Lacking[] }
