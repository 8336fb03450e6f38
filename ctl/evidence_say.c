// SPDX-License-Identifier: GPL-2.0-or-later
/* See evidence_verify.h. */
#include <stdio.h>
#include <string.h>
#include "evidence_verify.h"

/* The range for which all this holds: between the first and the last entry, and nothing else. */
static void say_range(struct verify *v)
{
	const struct ev_chain *x = &v->chain;

	if (!x->begun)
		return;
	bwl_put(stdout,
		"     intervals %llu to %llu, %s to %s: records %llu to %llu of the log, proved by its checkpoint%s of %llu record%s\n",
		(unsigned long long)x->first.id.sequence, (unsigned long long)x->last.id.sequence,
		*x->first.id.begin ? x->first.id.begin : "?",
		*x->last.id.end ? x->last.id.end : "?", (unsigned long long)v->first_n,
		(unsigned long long)v->last_n, v->ncheckpoints > 1 ? "s, the last one" : "",
		(unsigned long long)v->checkpoint[v->ncheckpoints - 1].size,
		BWL_S(v->checkpoint[v->ncheckpoints - 1].size));
	if (v->repeated)
		bwl_put(stdout, "     %llu entr%s more than one of the folders\n",
			(unsigned long long)v->repeated,
			v->repeated == 1 ? "y is in" : "ies are in");
	bwl_put(stdout,
		"     %llu boot%s, %llu day%s, clock set %llu time%s; traffic without a peer in %llu interval%s (%llu byte%s passed), unknown in %llu\n",
		(unsigned long long)x->boots, BWL_S(x->boots), (unsigned long long)x->epochs + 1,
		BWL_S(x->epochs + 1), (unsigned long long)x->clock_steps, BWL_S(x->clock_steps),
		(unsigned long long)x->other_seen, BWL_S(x->other_seen),
		(unsigned long long)x->other.v[EV_BYTES], BWL_S(x->other.v[EV_BYTES]),
		(unsigned long long)x->other_unknown);
	bwl_put(stdout,
		"     after the first interval %llu counter%s first seen above zero (%llu byte%s passed by then), %llu began anew\n",
		(unsigned long long)x->appeared, x->appeared == 1 ? " was" : "s were",
		(unsigned long long)x->appeared_at.v[EV_BYTES], BWL_S(x->appeared_at.v[EV_BYTES]),
		(unsigned long long)x->forgotten);
	bwl_put(stdout,
		"     in gaps, or by traffic of no peer, %llu counter%s grew by %llu byte%s that passed\n",
		(unsigned long long)x->jumps, BWL_S(x->jumps),
		(unsigned long long)x->grown.v[EV_BYTES], BWL_S(x->grown.v[EV_BYTES]));
}

static void set_range(const struct verify *v, json_t *o)
{
	const struct ev_chain *x = &v->chain;
	const bool any = x->begun;

	json_object_set_new(o, "first_sequence",
			    any ? bwl_json_u64(x->first.id.sequence) : json_null());
	json_object_set_new(o, "last_sequence",
			    any ? bwl_json_u64(x->last.id.sequence) : json_null());
	json_object_set_new(o, "first_begin",
			    any && *x->first.id.begin ? json_string(x->first.id.begin)
						      : json_null());
	json_object_set_new(o, "last_end",
			    any && *x->last.id.end ? json_string(x->last.id.end) : json_null());
	json_object_set_new(o, "first_log_record", any ? bwl_json_u64(v->first_n) : json_null());
	json_object_set_new(o, "last_log_record", any ? bwl_json_u64(v->last_n) : json_null());
	json_object_set_new(o, "checkpoint_record_count",
			    any ? bwl_json_u64(v->checkpoint[v->ncheckpoints - 1].size)
				: json_null());
	json_object_set_new(o, "checkpoint_count", bwl_json_u64(v->ncheckpoints));
	json_object_set_new(o, "repeated_count", bwl_json_u64(v->repeated));
	json_object_set_new(o, "clock_step_count", bwl_json_u64(x->clock_steps));
	json_object_set_new(o, "boot_count", bwl_json_u64(x->boots));
	json_object_set_new(o, "epoch_count", bwl_json_u64(any ? x->epochs + 1 : 0));
	json_object_set_new(o, "other_count", bwl_json_u64(x->other_seen));
	json_object_set_new(o, "other_unknown_count", bwl_json_u64(x->other_unknown));
	json_object_set_new(o, "other_passed_frames", bwl_json_u64(x->other.v[EV_FRAMES]));
	json_object_set_new(o, "other_passed_bytes", bwl_json_u64(x->other.v[EV_BYTES]));
	json_object_set_new(o, "other_dropped_frames", bwl_json_u64(x->other.v[EV_DROPPED_FRAMES]));
	json_object_set_new(o, "other_dropped_bytes", bwl_json_u64(x->other.v[EV_DROPPED_BYTES]));
	json_object_set_new(o, "appeared_counter_count", bwl_json_u64(x->appeared));
	json_object_set_new(o, "appeared_passed_bytes", bwl_json_u64(x->appeared_at.v[EV_BYTES]));
	json_object_set_new(o, "appeared_dropped_bytes",
			    bwl_json_u64(x->appeared_at.v[EV_DROPPED_BYTES]));
	json_object_set_new(o, "forgotten_counter_count", bwl_json_u64(x->forgotten));
	json_object_set_new(o, "gap_passed_bytes", bwl_json_u64(x->grown.v[EV_BYTES]));
	json_object_set_new(o, "gap_dropped_bytes", bwl_json_u64(x->grown.v[EV_DROPPED_BYTES]));
	json_object_set_new(o, "whole_interval_count", bwl_json_u64(v->whole_intervals));
	json_object_set_new(o, "whole_peer_count", bwl_json_u64(v->whole_peers));
}

/* The worst of all that was found. */
static const char *verdict(const struct verify *v)
{
	return v->nproblems                  ? "bad"
	       : v->nnewer                   ? "newer"
	       : ev_chain_has_gap(&v->chain) ? "gap"
					     : "ok";
}

void evidence_say(struct verify *v)
{
	const struct ev_chain *x = &v->chain;
	const char *word = verdict(v);
	json_t *o;

	if (!v->c->json) {
		bwl_put(stdout,
			"%s  %llu interval%s, %llu byte%s passed by records; %llu not balanced, %llu with something missing before, %llu without flows\n",
			v->nproblems             ? "BAD"
			: !strcmp(word, "newer") ? "newer: cannot judge:"
			: !strcmp(word, "gap")   ? "gap"
						 : "ok ",
			(unsigned long long)x->intervals, BWL_S(x->intervals),
			(unsigned long long)v->passed.v[EV_BYTES], BWL_S(v->passed.v[EV_BYTES]),
			(unsigned long long)x->unbalanced, (unsigned long long)x->gaps,
			(unsigned long long)x->thinned);
		bwl_put(stdout,
			"     %llu time%s a peer does not balance, for a reason that it gives\n",
			(unsigned long long)x->unbalanced_peers, BWL_S(x->unbalanced_peers));
		bwl_put(stdout,
			"     %llu counter%s followed from one interval to the next; pseudonyms changed %llu time%s\n",
			(unsigned long long)x->counters, BWL_S(x->counters),
			(unsigned long long)x->epochs, BWL_S(x->epochs));
		say_range(v);
		bwl_put(stdout,
			"     shown: %llu interval%s (%llu with all slots), %llu peer%s (%llu with all records), %llu record%s; %llu draw%s, %llu of them not shown\n",
			(unsigned long long)v->opened_intervals, BWL_S(v->opened_intervals),
			(unsigned long long)v->whole_intervals, (unsigned long long)v->opened_peers,
			BWL_S(v->opened_peers), (unsigned long long)v->whole_peers,
			(unsigned long long)v->opened_records, BWL_S(v->opened_records),
			(unsigned long long)v->draws, BWL_S(v->draws),
			(unsigned long long)v->missed);
		return;
	}
	o = bwl_doc("evidence-verify");
	json_object_set_new(o, "ok", json_boolean(!v->nproblems && !v->nnewer));
	json_object_set_new(o, "evidence_verdict", json_string(word));
	json_object_set(o, "problem_texts", v->problems);
	json_object_set_new(o, "interval_count", bwl_json_u64(x->intervals));
	json_object_set_new(o, "unbalanced_count", bwl_json_u64(x->unbalanced));
	json_object_set_new(o, "unbalanced_peer_count", bwl_json_u64(x->unbalanced_peers));
	json_object_set_new(o, "gap_count", bwl_json_u64(x->gaps));
	json_object_set_new(o, "thinned_count", bwl_json_u64(x->thinned));
	json_object_set_new(o, "passed_frames", bwl_json_u64(v->passed.v[EV_FRAMES]));
	json_object_set_new(o, "passed_bytes", bwl_json_u64(v->passed.v[EV_BYTES]));
	json_object_set_new(o, "dropped_frames", bwl_json_u64(v->passed.v[EV_DROPPED_FRAMES]));
	json_object_set_new(o, "dropped_bytes", bwl_json_u64(v->passed.v[EV_DROPPED_BYTES]));
	json_object_set_new(o, "followed_counter_count", bwl_json_u64(x->counters));
	json_object_set_new(o, "shown_interval_count", bwl_json_u64(v->opened_intervals));
	json_object_set_new(o, "shown_peer_count", bwl_json_u64(v->opened_peers));
	json_object_set_new(o, "shown_record_count", bwl_json_u64(v->opened_records));
	json_object_set_new(o, "draw_count", bwl_json_u64(v->draws));
	json_object_set_new(o, "missed_draw_count", bwl_json_u64(v->missed));
	set_range(v, o);
	bwl_doc_print(o);
}
