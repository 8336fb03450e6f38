// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How long a policy file takes to hold, how long one edit takes, and what kernel memory a peer
 * costs. A file of so many peers is written, read and checked, published into fresh maps, then
 * read again and swapped in for the first; then single peers are changed, while another CPU
 * watches the word that packets read.
 */
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "bench/machine.h"
#include "bench/opt.h"
#include "bench/rig.h"
#include "bench/stats.h"
#include "bwlimit.skel.h"

#define MAX_SIZES 8
#define MAX_EDITS 10000

struct row {
	unsigned peers;
	double check_s, load_s, swap_s;      /* file -> checked; -> first policy; -> swapped in */
	struct bench_spread seen_ms, set_ms; /* bwl_peer_change(): until packets see it; returns */
	double peer_bytes, cpu_bytes, prefix_bytes, all_bytes, budget_bytes;
	double live_mib, peak_mib; /* what a peer costs, times peers; both generations */
};

static const char usage[] =
	"usage: bench-apply [--peers N[,N…]] [--edits N] [--json]\n"
	"  --peers N,…  sizes of policies, at most 8 (default 100000,1000000)\n"
	"  --edits N    of single peers, each (default 200, at most 10000)\n"
	"Needs root. Examples: bench-apply --peers 10000\n"
	"                      bench-apply --peers 1000,10000 --json | jq '.rows[].swap_s'\n";

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int write_policy(const char *path, unsigned peers, unsigned mbit)
{
	FILE *f = fopen(path, "we");
	unsigned i;

	if (!f)
		return -errno;
	fprintf(f,
		"version: 1\nnode: bench\nuplinks: [%s]\nheartbeat: none\n"
		"host_ports:\n  - { dev: %s, sources: [192.168.0.0/24] }\n"
		"zones:\n  mesh: { rate: 100gbit }\npeers:\n",
		RIG_UPLINK_DEV, RIG_HOST_DEV);
	for (i = 0; i < peers; i++)
		fprintf(f,
			"  - name: peer-%u\n    addresses: [10.%u.%u.%u]\n    zone: mesh\n"
			"    path: clear\n    via: 192.0.2.254\n    grant: { rate: %umbit }\n",
			i, i >> 16 & 255, i >> 8 & 255, i & 255, mbit);
	return fclose(f) ? -errno : 0;
}

/* What the kernel says that a map takes. */
static double memlock(int fd)
{
	unsigned long long v = 0;
	char path[64], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		sscanf(line, "memlock: %llu", &v);
	if (f)
		fclose(f);
	return (double)v;
}

static void memory(struct rig *rig, struct row *row)
{
	const struct bwl_pins *p = rig->pins;
	struct bwl_err e = {};
	struct bwl_gen g;
	double n = row->peers;

	if (bwl_gen_open(rig->pins, bwl_active_slot(p, bwl_now_ns()), &g, &e))
		rig_die(&e);
	row->peer_bytes = (memlock(p->fd[BWL_PIN_gate]) + memlock(p->fd[BWL_PIN_name]) +
			   memlock(p->fd[BWL_PIN_state]) + memlock(p->fd[BWL_PIN_retired]) +
			   memlock(g.peer_fd)) /
			  n;
	row->cpu_bytes = memlock(p->fd[BWL_PIN_peercnt]) / n / libbpf_num_possible_cpus();
	row->prefix_bytes = memlock(g.dst4) / n;
	row->all_bytes = row->peer_bytes + row->prefix_bytes +
			 row->cpu_bytes * libbpf_num_possible_cpus();
	row->budget_bytes = 256 + 100 + 40 * libbpf_num_possible_cpus();
	row->live_mib = row->all_bytes * n / (1 << 20);
	bwl_gen_close(&g);
}

static void apply(struct rig *rig, const char *path, double *check_s, double *all_s,
		  struct bwl_publish_report *rep)
{
	struct bwl_policy *pol = NULL;
	double begin = now_s(), checked;
	struct bwl_err e = {};

	if (bwl_policy_load(path, bwl_now_ns(), time(NULL), &pol, &e))
		rig_die(&e);
	checked = now_s();
	if (bwl_publish(rig->pins, pol, NULL, rep, &e))
		rig_die(&e);
	*check_s = checked - begin;
	*all_s = now_s() - begin;
	bwl_policy_free(pol);
}

/* Another CPU, waiting for a peer's gate to point at another entry. */
struct watch {
	_Atomic(const __u32 *) word;
	_Atomic double seen_s;
	atomic_bool stop;
};

static void *watcher(void *arg)
{
	struct watch *w = arg;
	const __u32 *word;
	__u32 was;

	while (!w->stop) {
		word = w->word;
		if (!word)
			continue;
		was = __atomic_load_n(word, __ATOMIC_SEQ_CST);
		w->seen_s = 0;
		w->word = NULL; /* ready */
		while (__atomic_load_n(word, __ATOMIC_SEQ_CST) == was && !w->stop)
			;
		w->seen_s = now_s();
	}
	return NULL;
}

static void edits(struct rig *rig, struct row *row, unsigned n)
{
	struct bwl_change c = { .set = BWL_SET_RATE, .lim = { .present = true } };
	static double seen[MAX_EDITS], done[MAX_EDITS];
	struct watch w = { 0 };
	struct bwl_err e = {};
	struct bwl_gen g;
	pthread_t thread;
	char name[32];
	double begin;
	unsigned i;

	if (bwl_gen_open(rig->pins, bwl_active_slot(rig->pins, bwl_now_ns()), &g, &e))
		rig_die(&e);
	if (pthread_create(&thread, NULL, watcher, &w)) {
		perror("pthread_create");
		exit(1);
	}
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "peer-%u",
			 (unsigned)((unsigned long long)row->peers * i / n));
		w.word = bwl_body_of(&rig->pins->gate[bwl_peer_id(rig->pins, &g, name)], g.slot);
		while (w.word)
			;
		c.lim.rate_bps = 1000000ULL * (i + 1);
		begin = now_s();
		if (bwl_peer_change(rig->pins, name, &c, &e))
			rig_die(&e);
		done[i] = (now_s() - begin) * 1e3;
		while (w.seen_s == 0)
			;
		seen[i] = (w.seen_s - begin) * 1e3;
	}
	w.stop = true;
	pthread_join(thread, NULL);
	bwl_gen_close(&g);
	row->seen_ms = bench_spread_of(seen, n);
	row->set_ms = bench_spread_of(done, n);
}

static void measure(struct row *row, unsigned nedits)
{
	struct rig_size size = { .peers = row->peers + 64, .extras = 1024, .windows = 1024 };
	struct bwl_publish_report rep = {};
	char path[] = "/tmp/bench-apply-XXXXXX";
	struct rig rig;
	struct bwl_err e = {};
	size_t elf_size;
	const void *elf = bwlimit__elf_bytes(&elf_size);
	int fd = mkstemp(path);

	if (fd < 0 || write_policy(path, row->peers, 10)) {
		perror(path);
		exit(1);
	}
	close(fd);
	if (rig_up(&rig, elf, elf_size, &size, &e))
		rig_die(&e);
	apply(&rig, path, &row->check_s, &row->load_s, &rep);
	if (write_policy(path, row->peers, 20)) {
		perror(path);
		exit(1);
	}
	apply(&rig, path, &row->check_s, &row->swap_s, &rep);
	unlink(path);
	memory(&rig, row);
	row->peak_mib = (double)rep.map_bytes / (1 << 20);
	edits(&rig, row, nedits);
	rig_down(&rig);
}

static void report_json(const struct row *row, unsigned n, unsigned nedits)
{
	unsigned i;

	fputs("{", stdout);
	bench_machine_json(stdout);
	printf(",\n \"edits\": %u, \"rows\": [", nedits);
	for (i = 0; i < n; i++, row++) {
		printf("%s\n {\"peers\": %u, \"check_s\": %.2f, \"load_s\": %.2f, \"swap_s\": %.2f, "
		       "\"set_seen_ms\": %.3f, \"set_returned_ms\": %.3f, \"peer_bytes\": %.0f, "
		       "\"cpu_bytes\": %.0f, \"prefix_bytes\": %.0f, \"all_bytes\": %.0f, "
		       "\"budget_bytes\": %.0f, \"mib\": %.1f, \"swap_policy_mib\": %.1f,\n  ",
		       i ? "," : "", row->peers, row->check_s, row->load_s, row->swap_s,
		       row->seen_ms.median, row->set_ms.median, row->peer_bytes, row->cpu_bytes,
		       row->prefix_bytes, row->all_bytes, row->budget_bytes, row->live_mib,
		       row->peak_mib);
		bench_spread_json(stdout, "set_seen_spread_ms", &row->seen_ms);
		fputs(", ", stdout);
		bench_spread_json(stdout, "set_returned_spread_ms", &row->set_ms);
		fputs("}", stdout);
	}
	fputs("\n]}\n", stdout);
}

static void report_text(const struct row *row, unsigned n, unsigned nedits)
{
	char name[48];
	unsigned i;

	bench_machine_text(stdout);
	printf("seconds from the file until it holds; milliseconds of one edit; bytes of kernel "
	       "memory a peer with one prefix\n\n%8s %8s %7s %8s %9s %9s %6s %5s %7s %6s %7s %8s "
	       "%8s\n",
	       "peers", "checked", "first", "swapped", "set, seen", "returned", "peer", "CPU",
	       "prefix", "all", "budget", "MiB", "swap MiB");
	for (i = 0; i < n; i++)
		printf("%8u %8.2f %7.2f %8.2f %9.3f %9.3f %6.0f %5.0f %7.0f %6.0f %7.0f %8.1f %8.1f\n",
		       row[i].peers, row[i].check_s, row[i].load_s, row[i].swap_s,
		       row[i].seen_ms.median, row[i].set_ms.median, row[i].peer_bytes,
		       row[i].cpu_bytes, row[i].prefix_bytes, row[i].all_bytes, row[i].budget_bytes,
		       row[i].live_mib, row[i].peak_mib);
	printf("\nof %u edits, ms%22s %s\n", nedits, "", bench_spread_heading);
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%u peers, until seen", row[i].peers);
		bench_spread_text(stdout, name, &row[i].seen_ms, 3);
		snprintf(name, sizeof(name), "%u peers, until it returned", row[i].peers);
		bench_spread_text(stdout, name, &row[i].set_ms, 3);
	}
	printf("\ngoals: 100000 peers within 3 s, 1000000 within 30 s; an edit seen within 1 ms; "
	       "all within budget (256 + 40 a possible CPU + 100 a prefix)\n");
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "peers", required_argument, NULL, 'p' },
		{ "edits", required_argument, NULL, 'e' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{},
	};
	struct row rows[MAX_SIZES] = { { .peers = 100000 }, { .peers = 1000000 } };
	bool json = false, good = true;
	unsigned n = 2, i, nedits = 200;
	char *word;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'p':
			for (n = 0; good && (word = strsep(&optarg, ",")) && n < MAX_SIZES; n++)
				good = bench_number("bench-apply", "--peers", word, 1, 4000000,
						    &rows[n].peers);
			good = good && !optarg;
			break;
		case 'e':
			good = good && bench_number("bench-apply", "--edits", optarg, 1, MAX_EDITS,
						    &nedits);
			break;
		case 'j':
			json = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return 0;
		default:
			fputs(usage, stderr);
			return 2;
		}
	}
	if (!good || optind != argc) {
		fputs(usage, stderr);
		return 2;
	}
	for (i = 0; i < n; i++)
		measure(&rows[i], nedits);
	(json ? report_json : report_text)(rows, n, nedits);
	return 0;
}
