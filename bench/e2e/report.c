// SPDX-License-Identifier: GPL-2.0-or-later
/* The report of bench-e2e, as a table or as JSON. */
#include "bench/e2e/e2e.h"
#include "bench/machine.h"
#include "bench/veth/veth.h"

struct figures {
	struct bench_spread ns, ratio, to_limit; /* ns: added; of a bare forward: in all */
};

/* Round by round, so that both sides of a difference or a ratio are from the same moment. */
static struct figures figures_of(const struct e2e_result *res, enum e2e_row row, unsigned rounds)
{
	static double added[BENCH_MAX_ROUNDS], ratio[BENCH_MAX_ROUNDS], to_limit[BENCH_MAX_ROUNDS];
	enum e2e_row bare = e2e_rows[row].bare;
	unsigned i;

	for (i = 0; i < rounds; i++) {
		added[i] = res->ns[row][i] - (row == bare ? 0 : res->ns[bare][i]);
		ratio[i] = added[i] / (res->ns[NFT][i] - res->ns[BARE][i]);
		to_limit[i] = added[i] / (res->ns[NFT_LIMIT][i] - res->ns[BARE][i]);
	}
	return (struct figures){ bench_spread_of(added, rounds), bench_spread_of(ratio, rounds),
				 bench_spread_of(to_limit, rounds) };
}

static bool is_bare(enum e2e_row row)
{
	return row == e2e_rows[row].bare;
}

static void row_json(const struct e2e *b, const struct e2e_result *res, enum e2e_row row)
{
	struct figures f = figures_of(res, row, b->rounds);

	printf("{\"destinations\": %u, \"what\": \"%s\", \"%s\": %.1f, ", res->dests,
	       e2e_rows[row].name, is_bare(row) ? "ns" : "added_ns", f.ns.median);
	if (!is_bare(row)) {
		printf("\"over\": \"%s\", \"ratio\": %.3f, \"ratio_to_limit\": %.3f, ",
		       e2e_rows[e2e_rows[row].bare].name, f.ratio.median, f.to_limit.median);
		bench_goal_json(stdout, e2e_rows[row].goal, f.ratio.median, res->steady);
		fputs(", ", stdout);
		bench_spread_json(stdout, "ratio_spread", &f.ratio);
		fputs(", ", stdout);
	}
	bench_spread_json(stdout, "spread", &f.ns);
	fputs("}", stdout);
}

static void report_json(const struct e2e *b, const struct e2e_result *res, unsigned n)
{
	unsigned i, row;
	bool first = true;

	fputs("{", stdout);
	bench_machine_json(stdout);
	printf(",\n \"rounds\": %u, \"packets\": %u, \"sink\": \"%s\", \"rows\": [", b->rounds,
	       b->packets, bench_sink_kind());
	for (i = 0; i < n; i++) {
		for (row = 0; row < _ROW_MAX; row++) {
			if (!b->wanted[row])
				continue;
			fputs(first ? "\n " : ",\n ", stdout);
			row_json(b, &res[i], row);
			first = false;
		}
	}
	fputs("\n]}\n", stdout);
}

static void row_text(const struct e2e *b, const struct e2e_result *res, enum e2e_row row)
{
	struct figures f = figures_of(res, row, b->rounds);

	printf("%-17s%-33s %8.1f %8.1f %8.1f %8.1f %8.1f", e2e_rows[row].name, e2e_rows[row].text,
	       f.ns.median, f.ns.min, f.ns.q1, f.ns.q3, f.ns.max);
	if (!is_bare(row))
		printf(" %7.2fx %5.2f..%-5.2f %8.2fx", f.ratio.median, f.ratio.q1, f.ratio.q3,
		       f.to_limit.median);
	bench_goal_text(stdout, e2e_rows[row].goal, f.ratio.median, res->steady);
	puts("");
}

void e2e_report(const struct e2e *b, const struct e2e_result *res, unsigned n)
{
	unsigned i, row;

	if (b->json) {
		report_json(b, res, n);
		return;
	}
	bench_machine_text(stdout);
	printf("ns a packet, %u rounds of %u packets, one CPU. All forward to %s;\n"
	       "by XDP straight to a veth whose far end drops. Other rows than the bare ones: what is added to these.\n"
	       "ratio: of that to nftables doing the same work, and its goal (?: this run does not judge it)\n",
	       b->rounds, b->packets, bench_sink_kind());
	for (i = 0; i < n; i++) {
		printf("\n%8u destination%-30s %s    ratio    q1..q3      to limit\n", res[i].dests,
		       res[i].dests > 1 ? "s in turn" : "", bench_spread_heading);
		for (row = 0; row < _ROW_MAX; row++)
			if (b->wanted[row])
				row_text(b, &res[i], row);
	}
}
