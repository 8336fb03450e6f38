// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a controller's read model costs, with TRAYS simulated trays of PEERS peers each. They send a
 * controller the output of `top`, `usage`, `reasons` and `exfil`, and a status; then each document
 * that bwlimit-web asks for is made and written as JSON. No network and no store: CPU time of the
 * one thread that answers, bytes of the answer, memory of the set.
 */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include "bench/cpu.h"
#include "bench/machine.h"
#include "bench/opt.h"
#include "bench/stats.h"
#include "bwl/help.h"
#include "fleet/model/answer.h"

#define ROUNDS 21
#define WALL 1795372260
#define NOW_NS 1000000000000ULL
#define RACK 40 /* trays that share a policy */

static const char usage[] =
	"usage: bench-fleet-numbers [--trays N] [--peers N] [--json]\n"
	"\n"
	"  --trays N  of the fleet (default 10000)\n"
	"  --peers N  of a tray, each another tray by its name (default 100)\n"
	"\n"
	"examples:\n"
	"  bench-fleet-numbers --trays 1000\n"
	"  bench-fleet-numbers --json | jq '.rows[] | [.document, .cpu_ms.median, .bytes]'\n";

static struct model_set set;

static json_t *top(unsigned tray, unsigned trays, unsigned peers)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < peers && i < MODEL_PEERS; i++)
		json_array_append_new(
			list,
			json_pack("{s:o, s:s, s:f, s:f, s:f}", "peer",
				  json_sprintf("tray-%05u", (tray + 1 + i * 7) % trays), "state",
				  "live", "passed_bits_per_second", 4e8 + i, "rate_bits_per_second",
				  1e9, "dropped_bits_per_second", i ? 0.0 : (double)(tray % 100)));
	return json_pack("{s:s, s:f, s:f, s:I, s:I, s:s, s:o}", "kind", "top",
			 "passed_bits_per_second", 4e8 * peers, "dropped_bits_per_second",
			 (double)(tray % 100), "passed_bytes", (json_int_t)1 << 40, "dropped_bytes",
			 (json_int_t)tray, "switch", "running", "peers", list);
}

static json_t *volumes(unsigned tray, unsigned trays, unsigned peers)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < peers && i < MODEL_VOLUMES; i++)
		json_array_append_new(list,
				      json_pack("{s:o, s:I, s:I, s:f, s:s}", "limit_key",
						i == 0   ? json_string("zone external")
						: i == 1 ? json_string("zone mesh")
							 : json_sprintf("peer tray-%05u",
									(tray + 1 + i * 7) % trays),
						"used_bytes", (json_int_t)tray * 1000,
						"volume_bytes", (json_int_t)20000000000, "window_s",
						86400.0, "ledger_state", "released"));
	return json_pack("{s:s, s:o}", "kind", "usage", "volumes", list);
}

static json_t *reasons(void)
{
	static const char *const names[] = { "pass",      "peer-rate", "no-peer",
					     "malformed", "revoked",   "peer-volume" };
	json_t *list = json_array();

	for (unsigned i = 0; i < sizeof(names) / sizeof(*names); i++)
		json_array_append_new(list, json_pack("{s:s, s:s, s:i, s:i, s:i}", "hook",
						      "ingress", "reason", names[i], "frames", 1000,
						      "bytes", 100000, "charged_bytes", 100000));
	return json_pack("{s:s, s:o}", "kind", "reasons", "reasons", list);
}

static json_t *exfil(unsigned tray)
{
	double rate = 1e6 + tray / RACK;
	json_t *list = json_array();

	for (unsigned i = 0; i < BWL_EXFIL_POINTS; i++)
		json_array_append_new(list, json_real(rate * bwl_exfil_moment_s(i)));
	return json_pack("{s:s, s:f, s:f, s:i, s:i, s:i, s:s, s:o}", "kind", "exfil",
			 "long_run_bits_per_second", rate * 8, "at_once_bytes", 0.0, "exit_count",
			 4, "contained_count", 96, "unlimited_count", 0, "binding", "zone external",
			 "curve_bytes", list);
}

static void status(struct model_tray *t, unsigned tray)
{
	char text[1024];
	int n = snprintf(
		text, sizeof(text),
		"{\"tray\": \"%s\", \"policy\": {\"name\": \"base\", \"version\": 42, \"sha256\": \"abababababababababababababababababababababababababababababababab\"}, \"fresh\": true, \"closed\": %s, \"closed_count\": %d, \"alarms\": [], \"missing\": []}",
		t->name, tray % 10 ? "[]" : "[\"log\", \"web\"]", tray % 10 ? 0 : 2);

	model_take_status(&set, t, &(struct status_now){ NOW_NS, 0 }, text, (size_t)n);
}

/* A document as it arrives: parsed from text and taken in. */
static void take(struct model_tray *t, json_t *o,
		 int (*fn)(struct model_set *s, struct model_tray *t, const json_t *o))
{
	char *text = bwl_must(json_dumps(bwl_must(o), JSON_COMPACT));

	json_decref(o);
	o = bwl_must(json_loads(text, 0, NULL));
	if (fn(&set, t, o))
		abort();
	json_decref(o);
	free(text);
}

static int take_top(struct model_set *s, struct model_tray *t, const json_t *o)
{
	return model_take_top(s, t, o, WALL);
}

static int take_reasons(struct model_set *s, struct model_tray *t, const json_t *o)
{
	(void)s;
	return model_take_reasons(t, o);
}

static void play(unsigned trays, unsigned peers)
{
	char name[32], label[48];

	for (unsigned i = 0; i < trays; i++) {
		struct model_tray *t;

		snprintf(name, sizeof(name), "tray-%05u", i);
		t = bwl_must(model_tray_add(&set, name, strlen(name)));
		t->names_left = MODEL_NAMES_A_TRAY;
		t->alive = t->seen = true;
		t->status_mod = 1;
		t->heard_ns = NOW_NS - 1;
		snprintf(label, sizeof(label), "rack=%u", i / RACK);
		t->label[t->nlabels++] = model_name_of(&set.names, label, &t->names_left);
		status(t, i);
		take(t, top(i, trays, peers), take_top);
		take(t, volumes(i, trays, peers), model_take_usage);
		take(t, reasons(), take_reasons);
		take(t, exfil(i), model_take_exfil);
	}
}

static json_t *make_exfil(const struct model_asked *a)
{
	return model_exfil(a, "1tb", NULL, NULL);
}

static const struct {
	const char *document;
	json_t *(*make)(const struct model_asked *a);
	struct model_page page;
} rows[] = {
	{ "fleet-status?limit=50&sort=worst", model_status, { 0, 50, MODEL_BY_WORST } },
	{ "fleet-status?limit=50&sort=passed&offset=9900",
	  model_status,
	  { 9900, 50, MODEL_BY_PASSED } },
	{ "fleet-status", model_status, { 0, 0, MODEL_BY_NAME } },
	{ "top", model_top, { 0 } },
	{ "usage", model_usage, { 0 } },
	{ "reasons", model_reasons, { 0 } },
	{ "fleet-history", model_history, { 0 } },
	{ "fleet-closures", model_closures, { 0 } },
	{ "exfil?size=1tb", make_exfil, { 0 } },
};

static struct bench_spread measure(unsigned i, size_t *ret_bytes)
{
	const struct model_asked a = {
		.set = &set, .fleet = "hall", .page = rows[i].page, .now_ns = NOW_NS, .wall_s = WALL
	};
	double ms[ROUNDS];

	for (unsigned k = 0; k < ROUNDS; k++) {
		double begin = bench_thread_ns();
		json_t *o = bwl_must(rows[i].make(&a));
		char *text = bwl_must(json_dumps(o, JSON_COMPACT));

		json_decref(o);
		ms[k] = (bench_thread_ns() - begin) / 1e6;
		*ret_bytes = strlen(text);
		free(text);
	}
	return bench_spread_of(ms, ROUNDS);
}

static long peak_kib(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

static void report(bool json, double tray_us, long set_kib)
{
	if (json) {
		printf("{");
		bench_machine_json(stdout);
		printf(", \"take_tray_us\": %.1f, \"set_kib\": %ld, \"rows\": [", tray_us, set_kib);
	} else {
		bench_machine_text(stdout);
		printf("one tray's documents read and taken: %.0f us of CPU; memory with all of them: %.1f MiB\n\n",
		       tray_us, (double)set_kib / 1024);
		printf("%-50s %12s %12s %12s %14s\n", "document", "median ms", "min", "max",
		       "bytes");
	}
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		size_t bytes = 0;
		struct bench_spread s = measure(i, &bytes);

		if (json) {
			printf("%s{\"document\": \"%s\", ", i ? ", " : "", rows[i].document);
			bench_spread_json(stdout, "cpu_ms", &s);
			printf(", \"bytes\": %zu}", bytes);
		} else {
			printf("%-50s %12.2f %12.2f %12.2f %14zu\n", rows[i].document, s.median,
			       s.min, s.max, bytes);
		}
	}
	printf(json ? "], \"peak_kib\": %ld}\n"
		    : "\npeak, with the largest answer in memory: %ld KiB\n",
	       peak_kib());
}

int main(int argc, char **argv)
{
	static const struct option longs[] = { { "trays", required_argument, NULL, 't' },
					       { "peers", required_argument, NULL, 'p' },
					       { "json", no_argument, NULL, 'j' },
					       { "help", no_argument, NULL, 'h' },
					       { NULL, 0, NULL, 0 } };
	unsigned trays = 10000, peers = 100;
	bool json = false;
	double begin;
	int c;

	while ((c = getopt_long(argc, argv, "h", longs, NULL)) >= 0) {
		if (c == 't' && !bench_number("bench-fleet-numbers", "--trays", optarg, 1,
					      MODEL_TRAYS_MAX, &trays))
			return 2;
		if (c == 'p' &&
		    !bench_number("bench-fleet-numbers", "--peers", optarg, 1, 65536, &peers))
			return 2;
		json |= c == 'j';
		if (c == 'h' || c == '?') {
			bwl_help(usage, c == 'h' ? stdout : stderr);
			return c == 'h' ? 0 : 2;
		}
	}
	if (optind != argc) {
		bwl_help(usage, stderr);
		return 2;
	}
	begin = bench_thread_ns();
	play(trays, peers);
	report(json, (bench_thread_ns() - begin) / 1e3 / trays, peak_kib());
	model_set_done(&set);
	return 0;
}
