// SPDX-License-Identifier: GPL-2.0-or-later
/* The report of bench-cost, as a table or as JSON. */
#include "bench/cost/cost.h"
#include "bench/machine.h"

struct figures {
	struct bench_spread ns, ratio;
};

/*
 * Of one round. For rows in turn, without the cost of taking turns; for a turn itself, above
 * `empty`.
 */
static double ns_of(const struct cost *b, enum cost_row row, unsigned round)
{
	const enum cost_row *without = cost_rows[row].without;
	double ns = b->ns[row][round];

	if (row == TURN || row == TURN6)
		return ns - b->ns[EMPTY][round];
	if (row == XDP_TURN)
		return ns - b->ns[XDP_EMPTY][round];
	return without[0] ? ns - b->ns[without[0]][round] + b->ns[without[1]][round] : ns;
}

/* Round by round, so that both sides of a ratio are from the same moment. */
static struct figures figures_of(const struct cost *b, enum cost_row row)
{
	static double ns[BENCH_MAX_ROUNDS], ratio[BENCH_MAX_ROUNDS];
	unsigned i;

	for (i = 0; i < b->rounds; i++) {
		ns[i] = ns_of(b, row, i);
		ratio[i] = ns[i] / ns_of(b, cost_rows[row].over, i);
	}
	return (struct figures){ bench_spread_of(ns, b->rounds),
				 bench_spread_of(ratio, b->rounds) };
}

static void row_json(const struct cost *b, enum cost_row row, enum bench_steady steady)
{
	const struct cost_row_info *x = &cost_rows[row];
	struct figures f = figures_of(b, row);

	printf("{\"row\": \"%s\", \"what\": \"%s\", \"ns\": %.1f, ", x->name,
	       x->text + (*x->text == ' ' ? 2 : 0), f.ns.median);
	if (x->over) {
		printf("\"over\": \"%s\", \"ratio\": %.3f, ", cost_rows[x->over].name,
		       f.ratio.median);
		bench_goal_json(stdout, x->goal, f.ratio.median, steady);
		fputs(",\n  ", stdout);
		bench_spread_json(stdout, "ratio_spread", &f.ratio);
		fputs(", ", stdout);
	}
	bench_spread_json(stdout, "spread", &f.ns);
	fputs("}", stdout);
}

static void report_json(const struct cost *b, enum bench_steady steady)
{
	bool first = true;
	int i;

	fputs("{", stdout);
	bench_machine_json(stdout);
	printf(",\n"
	       " \"peers\": %u, \"prefixes\": %u, \"rounds\": %u, \"packets\": %u, \"steady\": %s, \"rows\": [",
	       b->peers, b->prefixes, b->rounds, b->packets,
	       steady == BENCH_STEADY ? "true" : "false");
	for (i = 0; i < _ROW_MAX; i++) {
		if (!b->wanted[i])
			continue;
		fputs(first ? "\n " : ",\n ", stdout);
		row_json(b, i, steady);
		first = false;
	}
	fputs("\n]}\n", stdout);
}

static void row_text(const struct cost *b, enum cost_row row, enum bench_steady steady)
{
	const struct cost_row_info *x = &cost_rows[row];
	struct figures f = figures_of(b, row);

	printf("%-18s %-35s %7.1f %7.1f %7.1f %7.1f %7.1f", x->name, x->text, f.ns.median, f.ns.min,
	       f.ns.q1, f.ns.q3, f.ns.max);
	if (x->over)
		printf("  %5.2fx %5.2f..%-5.2f %s", f.ratio.median, f.ratio.q1, f.ratio.q3,
		       cost_rows[x->over].name);
	bench_goal_text(stdout, x->goal, f.ratio.median, steady);
	puts("");
}

void cost_report(const struct cost *b, enum bench_steady steady)
{
	int i;

	if (b->json) {
		report_json(b, steady);
		return;
	}
	bench_machine_text(stdout);
	printf("ns a packet, %u rounds of %u packets, one CPU; in turn: %u peers, or %u prefixes,\n"
	       "without what taking turns costs; ratio to the row behind it, and its goal%s\n\n"
	       "%-18s %-35s  median     min      q1      q3     max   ratio   q1..q3   to\n",
	       b->rounds, b->packets, b->peers, b->prefixes,
	       steady == BENCH_STEADY ? "" : " (?: this run does not judge it)", "row", "");
	for (i = 0; i < _ROW_MAX; i++)
		if (b->wanted[i])
			row_text(b, i, steady);
}
