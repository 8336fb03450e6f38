// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the history costs, with a simulated clock: PEERS peers that all send, HOURS hours, second by
 * second; folding, forgetting and writing as in the agent, without reading maps.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "bench/machine.h"
#include "bench/opt.h"
#include "bwl/help.h"
#include "history/recorder.h"

#define SECOND 1000000000ULL
#define T0 1800000000LL

static const char usage[] = "usage: bench-history [--peers N] [--hours N] [--json]\n"
			    "\n"
			    "  --peers N  that send all the time (default 1000)\n"
			    "  --hours N  of a clock of its own (default 3)\n"
			    "\n"
			    "examples:\n"
			    "  bench-history --hours 1\n"
			    "  bench-history --peers 100 --json | jq '.rows[].disk_mib'\n";

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double file_mib(const char *dir)
{
	char path[100];
	struct stat st;

	snprintf(path, sizeof(path), "%s/" HIST_FILE, dir);
	return stat(path, &st) ? 0 : (double)st.st_size / (1 << 20);
}

static void must(int r, const struct bwl_err *e)
{
	if (!r)
		return;
	fprintf(stderr, "bench-history: %s\n", e->text);
	exit(1);
}

static void write_out(struct hist_db *db, struct hist_recorder *rec, struct hist_clocks now)
{
	struct bwl_err e = { 0 };
	bool renamed;

	must(hist_recorder_flush(rec, false, &e), &e);
	must(hist_db_tend(db, now.wall_s, &renamed, &e), &e);
	if (renamed)
		must(hist_recorder_flush(rec, true, &e), &e);
}

static int parse_args(int argc, char **argv, unsigned *peers, unsigned *hours, bool *json)
{
	static const struct option options[] = {
		{ "peers", required_argument, NULL, 'p' },
		{ "hours", required_argument, NULL, 't' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{},
	};
	bool good = true;
	int c;

	while (good && (c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'p':
			good = bench_number("bench-history", "--peers", optarg, 1, 1000000, peers);
			break;
		case 't':
			good = bench_number("bench-history", "--hours", optarg, 1, 10000, hours);
			break;
		case 'j':
			*json = true;
			break;
		case 'h':
			bwl_help(usage, stdout);
			exit(0);
		default:
			return -1;
		}
	}
	return good && optind == argc ? 0 : -1;
}

static void begin_report(bool json)
{
	if (!json) {
		bench_machine_text(stdout);
		return;
	}
	fputs("{", stdout);
	bench_machine_json(stdout);
	fputs(",\n \"rows\": [", stdout);
}

static void report_hour(const char *dir, bool json, unsigned hour, unsigned peers, double used_s)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	if (json && hour > 1)
		fputs(",", stdout);
	printf(json ? "\n"
		      " {\"hour\": %u, \"peers\": %u, \"cpu_percent\": %.3f, \"resident_mib\": %.1f, \"disk_mib\": %.1f}"
		    : "hour %u of %u peers: %.2f %% of one core, %.1f MiB resident at most, %.1f MiB on disk\n",
	       hour, peers, used_s / 36, (double)u.ru_maxrss / 1024, file_mib(dir));
	fflush(stdout);
}

int main(int argc, char **argv)
{
	unsigned peers = 1000, hours = 3;
	struct hist_clocks now = { T0, 1000 * SECOND };
	char dir[] = "/tmp/bwl-bench-history-XXXXXX", name[16], cmd[80];
	struct hist_recorder *rec;
	struct bwl_err e = { 0 };
	struct hist_values *x;
	struct hist_db *db;
	unsigned s, i, hour;
	bool aside, json = false;
	double was;

	if (parse_args(argc, argv, &peers, &hours, &json)) {
		bwl_help(usage, stderr);
		return 2;
	}
	x = calloc(peers, sizeof(*x));
	if (!x || !mkdtemp(dir))
		return 1;
	begin_report(json);
	must(hist_db_open(dir, 512ULL << 20, &db, &aside, &e), &e);
	must(hist_recorder_new(db, "bench", now.boot_ns, now, &rec, &e), &e);
	for (hour = 1; hour <= hours; hour++) {
		was = cpu_s();
		for (s = 0; s < 3600; s++) {
			now.wall_s++;
			now.boot_ns += SECOND;
			if (hist_recorder_is_due(rec, now))
				write_out(db, rec, now);
			if (!hist_recorder_look(rec, now))
				continue;
			for (i = 0; i < peers; i++) {
				x[i].v[HIST_SENT] += 125000 - (s * 31 + i * 7919) % 30000;
				x[i].v[HIST_ARRIVED] += (s + i) % 7 ? 0 : 1500;
				snprintf(name, sizeof(name), "p%u", i);
				must(hist_recorder_count(rec, 2 * i, name, "", &x[i]), &e);
			}
		}
		report_hour(dir, json, hour, peers, cpu_s() - was);
	}
	if (json)
		fputs("\n]}\n", stdout);
	hist_recorder_free(rec);
	hist_db_close(db);
	free(x);
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	return system(cmd) != 0;
}
