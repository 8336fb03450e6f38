// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the history costs, by a clock of its own: PEERS peers that all send, HOURS hours, second by
 * second; folding, forgetting and writing as in the agent, without reading maps. bench-history [PEERS [HOURS]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "history/recorder.h"

#define SECOND 1000000000ULL
#define T0 1800000000LL

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

int main(int argc, char **argv)
{
	unsigned peers = argc > 1 ? (unsigned)atoi(argv[1]) : 1000, hours = argc > 2 ? (unsigned)atoi(argv[2]) : 3;
	struct hist_clocks now = { T0, 1000 * SECOND };
	char dir[] = "/tmp/bwl-bench-history-XXXXXX", name[16], cmd[80];
	struct hist_recorder *rec;
	struct bwl_err e = { 0 };
	struct hist_values *x = calloc(peers, sizeof(*x));
	struct hist_db *db;
	unsigned s, i, hour;
	struct rusage u;
	bool aside;
	double was;

	if (!x || !peers || !hours || !mkdtemp(dir))
		return 1;
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
		getrusage(RUSAGE_SELF, &u);
		printf("hour %u of %u peers: %.2f %% of one core, %.1f MiB resident at most, %.1f MiB on disk\n", hour,
		       peers, (cpu_s() - was) / 36, (double)u.ru_maxrss / 1024, file_mib(dir));
		fflush(stdout);
	}
	hist_recorder_free(rec);
	hist_db_close(db);
	free(x);
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	return system(cmd) != 0;
}
