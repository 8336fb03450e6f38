// SPDX-License-Identifier: GPL-2.0-or-later
/* The report of bench-scale, as a table or as JSON. */
#include <stdio.h>
#include "bench/machine.h"
#include "bench/scale/scale.h"

static const char *peers_word(unsigned k)
{
	return k < YARDSTICKS ? "none" : scale_kinds[k].same ? "same" : "different";
}

static const char *way_word(unsigned k)
{
	static const char *const words[] = { "test_run", "xdp_test_run", "veth", "xdp_veth" };

	return words[scale_kinds[k].way];
}

/* One CPU has nothing to share, so it has no goal. */
static struct bench_goal goal_of(unsigned k, unsigned s)
{
	return (struct bench_goal){ .value = s ? scale_kinds[k].least : 0, .least = true };
}

/* A disturbed row is not judged, however steady the run. */
static enum bench_steady steady_of(const struct scale *b, unsigned k, unsigned s,
				   enum bench_steady run)
{
	return b->cell[k][s].disturbed * 4 > b->rounds ? BENCH_UNSURE : run;
}

static void row_head_json(unsigned k)
{
	printf("{\"row\": \"%s\", \"what\": \"%s\", \"way\": \"%s\", \"peers\": \"%s\", \"refused\": %s, ",
	       scale_kinds[k].name, scale_kinds[k].what, way_word(k), peers_word(k),
	       scale_is_refused(k) ? "true" : "false");
}

static void row_json(const struct scale *b, unsigned k, unsigned s, enum bench_steady steady)
{
	const struct cell *c = &b->cell[k][s];
	struct bench_spread ns = bench_spread_of(c->ns, b->rounds);
	struct bench_spread times = bench_spread_of(c->times_one, b->rounds);

	row_head_json(k);
	printf("\"cpus\": %u, \"ns_per_packet\": %.2f, \"times_one\": %.3f, \"of_yardstick\": %.3f, ",
	       b->step[s], ns.median, times.median, scale_of_yardstick(b, k, s));
	bench_goal_json(stdout, goal_of(k, s), scale_judged(b, k, s), steady_of(b, k, s, steady));
	printf(", \"disturbed\": %u,\n  ", c->disturbed);
	if (scale_kinds[k].reason)
		printf("\"counted\": {\"as\": \"%s\", \"packets\": %llu}, \"contended\": %llu, ",
		       bwl_reason_name(scale_kinds[k].reason), c->reason[scale_kinds[k].reason],
		       c->reason[BWL_R_CONTENDED]);
	if (scale_has_model(b, k) && s)
		printf("\"predicted_ns\": %.2f, \"predicted_from\": \"%s\", ",
		       scale_predicted_ns(b, k, b->step[s]), s == 1 ? "itself" : "two");
	if (crew_counts_cycles(b->crew) && !scale_is_veth(k))
		printf("\"cycles\": %.1f, ", c->cycles / (double)c->packets);
	if (crew_counts_transfers(b->crew) && !scale_is_veth(k))
		printf("\"line_transfers\": %.3f, ", c->transfers / (double)c->packets);
	bench_spread_json(stdout, "spread", &ns);
	fputs(", ", stdout);
	bench_spread_json(stdout, "times_one_spread", &times);
	fputs("}", stdout);
}

void scale_report_json(const struct scale *b, enum bench_steady steady)
{
	unsigned s, n = 0, i, k;

	fputs("{", stdout);
	bench_machine_json(stdout);
	printf(",\n \"rounds\": %u, \"packets\": %u, \"flow_records\": %s, \"transfers\": [",
	       b->rounds, b->packets, b->record ? "true" : "false");
	for (i = 0; i < b->npairs; i++) {
		printf("%s\n {\"from_cpu\": %d, \"to_cpu\": %d, ", i ? "," : "", b->cpu[0],
		       b->cpu[i + 1]);
		bench_spread_json(stdout, "ns", &b->transfer[i]);
		fputs("}", stdout);
	}
	fputs("],\n \"rows\": [", stdout);
	for (k = 0; k < KINDS; k++) {
		for (s = 0; b->wanted[k] && s < b->nsteps; s++) {
			fputs(n++ ? ",\n " : "\n ", stdout);
			row_json(b, k, s, steady);
		}
	}
	fputs("],\n \"predictions\": [", stdout);
	for (k = 0, n = 0; b->predict && k < KINDS; k++) {
		if (!scale_has_model(b, k))
			continue;
		fputs(n++ ? ",\n " : "\n ", stdout);
		row_head_json(k);
		printf("\"cpus\": %u, \"lines\": %.2f, \"ns_per_packet\": %.1f, \"times_one\": %.2f}",
		       b->predict, scale_lines(b, k), scale_predicted_ns(b, k, b->predict),
		       b->predict * scale_median_ns(b, k, 0) /
			       scale_predicted_ns(b, k, b->predict));
	}
	printf("],\n \"veth\": %s, \"counted\": {\"cycles\": %s, \"line_transfers\": ",
	       *b->veth_why ? "false" : "true", crew_counts_cycles(b->crew) ? "true" : "false");
	printf(crew_counts_transfers(b->crew) ? "\"%s\"}}\n" : "false}}\n",
	       crew_counts_transfers(b->crew));
}

static void row_text(const struct scale *b, unsigned k, unsigned s, enum bench_steady steady)
{
	const struct cell *c = &b->cell[k][s];
	struct bench_spread ns = bench_spread_of(c->ns, b->rounds);

	printf("%-31s %4u %8.1f %8.1f %8.1f %8.1f %8.1f %9.2f %9.2f", scale_kinds[k].name,
	       b->step[s], ns.median, ns.min, ns.q1, ns.q3, ns.max,
	       bench_spread_of(c->times_one, b->rounds).median, scale_of_yardstick(b, k, s));
	if (scale_has_model(b, k) && s == 1)
		printf(" %9s", "(fitted)");
	else if (scale_has_model(b, k) && s)
		printf(" %9.1f", scale_predicted_ns(b, k, b->step[s]));
	else
		printf(" %9s", "");
	if (crew_counts_cycles(b->crew) && !scale_is_veth(k))
		printf(" %8.0f", c->cycles / (double)c->packets);
	if (crew_counts_transfers(b->crew) && !scale_is_veth(k))
		printf(" %8.2f", c->transfers / (double)c->packets);
	bench_goal_text(stdout, goal_of(k, s), scale_judged(b, k, s), steady_of(b, k, s, steady));
	if (c->reason[BWL_R_CONTENDED])
		printf("  %.2f %% lost in races",
		       100.0 * (double)c->reason[BWL_R_CONTENDED] / (double)c->packets);
	fputs("\n", stdout);
}

static void model_text(const struct scale *b)
{
	unsigned i, k;

	if (!b->npairs) {
		puts("\nno model: it needs two CPUs");
		return;
	}
	puts("\na cache line's transfer, written by one CPU, then by the other, ns");
	for (i = 0; i < b->npairs; i++)
		printf("  CPU %3d and %3d: %.1f (quartiles %.1f and %.1f)\n", b->cpu[0],
		       b->cpu[i + 1], b->transfer[i].median, b->transfer[i].q1, b->transfer[i].q3);
	if (!b->predict)
		return;
	printf("\n"
	       "model, from the times of two CPUs: cache lines written by others that a packet fetches, and what %u CPUs take\n"
	       "\n"
	       "%-31s %8s %14s %9s\n",
	       b->predict, "", "lines", "ns a packet", "times one");
	for (k = 0; k < KINDS; k++)
		if (scale_has_model(b, k))
			printf("%-31s %8.2f %14.1f %9.2f\n", scale_kinds[k].name, scale_lines(b, k),
			       scale_predicted_ns(b, k, b->predict),
			       b->predict * scale_median_ns(b, k, 0) /
				       scale_predicted_ns(b, k, b->predict));
}

void scale_report_text(const struct scale *b, enum bench_steady steady)
{
	unsigned s, k;

	bench_machine_text(stdout);
	if (b->record)
		puts("Flow records are on.");
	printf("ns a packet on each of N CPUs at once, %u rounds of %u packets on each.\n"
	       "times one: what they pass together over what one passes alone; of empty: that over the empty\n"
	       "program's (veth: the bare forward's) in the same round; model: from one and two CPUs\n",
	       b->rounds, b->packets);
	if (!crew_counts_cycles(b->crew) || !crew_counts_transfers(b->crew))
		printf("%s%s not counted: this machine has no counters for us (%s)\n",
		       crew_counts_cycles(b->crew) ? "" : "cycles and ", "line transfers",
		       crew_counts_not(b->crew));
	if (crew_counts_transfers(b->crew))
		printf("lines: %s\n", crew_counts_transfers(b->crew));
	printf("\n%-31s %4s %s %9s %9s %9s%s%s\n", "", "CPUs", bench_spread_heading, "times one",
	       "of empty", "model", crew_counts_cycles(b->crew) ? "   cycles" : "",
	       crew_counts_transfers(b->crew) ? "    lines" : "");
	for (k = 0; k < KINDS; k++)
		for (s = 0; b->wanted[k] && s < b->nsteps; s++)
			row_text(b, k, s, steady);
	if (*b->veth_why)
		printf("no rows of veth: %s\n", b->veth_why);
	model_text(b);
}
