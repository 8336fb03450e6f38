// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How long it takes until a policy file is in force, how long one edit takes, and how much kernel
 * memory a peer needs. A file with that many peers is written, read and checked, published into
 * fresh maps, then read again and swapped in for the first one. Then single peers are changed,
 * while another CPU watches the word that packets read.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "bench/machine.h"
#include "bench/opt.h"
#include "bench/rig.h"
#include "bench/stats.h"
#include "bwl/help.h"
#include "bwlimit.skel.h"

#define MAX_SIZES 8
#define MAX_EDITS 10000

struct row {
	unsigned peers;
	double check_s, load_s, swap_s; /* file -> checked; -> first policy; -> swapped in */
	/* One peer's rate: opened and changed, until packets see it; until the call returns … */
	struct bench_spread seen_ms, set_ms;
	/* … without the table of names and with all maps mapped, until seen */
	struct bench_spread look_ms;
	struct bench_spread tool_ms;    /* bwlimit-ctl, from fork() until seen … */
	struct bench_spread audited_ms; /* … and with an audit log */
	double peer_bytes, cpu_bytes, prefix_bytes, all_bytes, budget_bytes;
	double live_mib, peak_mib; /* memory per peer, times peers; with both generations */
};

static const char usage[] = "usage: bench-apply [--peers N[,N…]] [--edits N] [--json]\n"
			    "\n"
			    "  --peers N,…  sizes of policies, at most 8 (default 100000,1000000)\n"
			    "  --edits N    of single peers, each (default 50, at most 10000)\n"
			    "\n"
			    "Needs root.\n"
			    "\n"
			    "examples:\n"
			    "  bench-apply --peers 10000\n"
			    "  bench-apply --peers 1000,10000 --json | jq '.rows[].swap_s'\n";

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

/* The memory of a map according to the kernel. */
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

	if (bwl_gen_open(rig->pins, bwl_active_slot(p), &g, &e))
		rig_die(&e);
	row->peer_bytes = (memlock(p->fd[BWL_PIN_gate]) + memlock(p->fd[BWL_PIN_name]) +
			   memlock(p->fd[BWL_PIN_nameid]) + memlock(p->fd[BWL_PIN_state]) +
			   memlock(p->fd[BWL_PIN_retired]) + memlock(g.peer_fd)) /
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

/* A thread on another CPU that waits until a peer's gate points at another entry. */
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

/*
 * How to edit: in this program, as the tool does it or as without the table; or by the tool itself.
 */
enum way { BY_TABLE, BY_LOOK, BY_TOOL, BY_TOOL_AUDITED, _WAYS };

static void change(struct rig *rig, enum way way, const char *name, uint64_t rate_bps)
{
	struct bwl_change c = { .set = BWL_SET_RATE,
				.lim = { .present = true, .rate_bps = rate_bps } };
	struct bwl_pins *p;
	struct bwl_err e = {};
	int r = way == BY_LOOK ? bwl_pins_open(rig->dir, true, &p, &e)
			       : bwl_pins_open_few(rig->dir, &p, &e);

	if (r || bwl_peer_change(p, name, &c, &e))
		rig_die(&e);
	bwl_pins_close(p);
}

static void run_tool(const struct rig *rig, const char *ctl, const char *audit, const char *name,
		     uint64_t rate_bps)
{
	pid_t child = fork();
	char rate[32];
	int status, null;

	if (!child) {
		snprintf(rate, sizeof(rate), "%llubit", (unsigned long long)rate_bps);
		setenv("BWLIMIT_AUDIT_DIR", audit, 1);
		setenv("BWLIMIT_JOURNAL_DIR", "", 1);
		null = open("/dev/null", O_WRONLY);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO); /* without an audit log it prints what it did */
		execl(ctl, ctl, "--json", "--pin-dir", rig->dir, "peer", "set", name, "rate", rate,
		      NULL);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) != child || status) {
		fprintf(stderr, "bench-apply: %s failed\n", ctl);
		exit(1);
	}
}

struct editor {
	struct rig *rig;
	struct bwl_gen gen;
	struct watch watch;
	char ctl[256], audit[64]; /* empty: none */
	uint64_t rate_bps;        /* of the next edit: each one differs */
};

/* One edit: the time until another CPU sees it, and until it is done. */
static void edit(struct editor *x, enum way way, const char *name, double *ret_seen_ms,
		 double *ret_done_ms)
{
	struct bwl_pins *p = x->rig->pins;
	double begin;

	x->rate_bps += 1000000;
	x->watch.word = bwl_body_of(&p->gate[bwl_peer_id(p, &x->gen, name)], x->gen.slot);
	while (x->watch.word)
		;
	if (way == BY_LOOK)
		memset(p->nameid, 0, sizeof(*p->nameid) * p->schema.max_peers);
	begin = now_s();
	if (way <= BY_LOOK)
		change(x->rig, way, name, x->rate_bps);
	else
		run_tool(x->rig, x->ctl, way == BY_TOOL_AUDITED ? x->audit : "", name, x->rate_bps);
	*ret_done_ms = (now_s() - begin) * 1e3;
	while (x->watch.seen_s == 0)
		;
	*ret_seen_ms = (x->watch.seen_s - begin) * 1e3;
	if (way == BY_LOOK)
		bwl_names_note_all(p);
}

/* Finds the tool that was built with this program, and a place for its audit log. */
static void find_tool(struct editor *x)
{
	char cmd[500], *slash;
	ssize_t len = readlink("/proc/self/exe", x->ctl, sizeof(x->ctl) - 32);

	x->ctl[len < 0 ? 0 : len] = '\0';
	slash = strstr(x->ctl, "/bench/bench-apply");
	snprintf(x->audit, sizeof(x->audit), "/tmp/bench-apply-audit-XXXXXX");
	if (!slash || !mkdtemp(x->audit)) {
		fprintf(stderr, "bench-apply: no bwlimit-ctl beside it\n");
		exit(1);
	}
	strcpy(slash, "/ctl/bwlimit-ctl");
	snprintf(cmd, sizeof(cmd), "BWLIMIT_AUDIT_DIR=%s %s audit init >%s/said 2>&1", x->audit,
		 x->ctl, x->audit);
	if (system(cmd)) {
		fprintf(stderr, "bench-apply: no audit log in %s\n", x->audit);
		exit(1);
	}
}

static void edits(struct rig *rig, struct row *row, unsigned n)
{
	static double seen[_WAYS][MAX_EDITS], done[MAX_EDITS];
	struct editor x = { .rig = rig };
	struct bwl_err e = {};
	char name[32], cmd[100];
	pthread_t thread;
	double other;
	unsigned i;
	int way;

	/* As for any other process: nobody has the lock. */
	bwl_pins_close(rig->pins);
	if (bwl_pins_open(rig->dir, true, &rig->pins, &e) ||
	    bwl_gen_open(rig->pins, bwl_active_slot(rig->pins), &x.gen, &e))
		rig_die(&e);
	find_tool(&x);
	if (pthread_create(&thread, NULL, watcher, &x.watch)) {
		perror("pthread_create");
		exit(1);
	}
	for (i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "peer-%u",
			 (unsigned)((unsigned long long)row->peers * i / n));
		for (way = 0; way < _WAYS; way++) /* in turn */
			edit(&x, way, name, &seen[way][i], way == BY_TABLE ? &done[i] : &other);
	}
	x.watch.stop = true;
	pthread_join(thread, NULL);
	bwl_gen_close(&x.gen);
	snprintf(cmd, sizeof(cmd), "rm -r %s", x.audit);
	if (system(cmd))
		perror(x.audit);
	row->seen_ms = bench_spread_of(seen[BY_TABLE], n);
	row->set_ms = bench_spread_of(done, n);
	row->look_ms = bench_spread_of(seen[BY_LOOK], n);
	row->tool_ms = bench_spread_of(seen[BY_TOOL], n);
	row->audited_ms = bench_spread_of(seen[BY_TOOL_AUDITED], n);
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
		printf("%s\n"
		       " {\"peers\": %u, \"check_s\": %.2f, \"load_s\": %.2f, \"swap_s\": %.2f, \"set_seen_ms\": %.3f, \"set_returned_ms\": %.3f, \"peer_bytes\": %.0f, \"cpu_bytes\": %.0f, \"prefix_bytes\": %.0f, \"all_bytes\": %.0f, \"budget_bytes\": %.0f, \"mib\": %.1f, \"swap_policy_mib\": %.1f,\n"
		       "  ",
		       i ? "," : "", row->peers, row->check_s, row->load_s, row->swap_s,
		       row->seen_ms.median, row->set_ms.median, row->peer_bytes, row->cpu_bytes,
		       row->prefix_bytes, row->all_bytes, row->budget_bytes, row->live_mib,
		       row->peak_mib);
		bench_spread_json(stdout, "set_seen_spread_ms", &row->seen_ms);
		fputs(", ", stdout);
		bench_spread_json(stdout, "set_returned_spread_ms", &row->set_ms);
		fputs(",\n  ", stdout);
		bench_spread_json(stdout, "set_without_table_spread_ms", &row->look_ms);
		fputs(", ", stdout);
		bench_spread_json(stdout, "tool_seen_spread_ms", &row->tool_ms);
		fputs(", ", stdout);
		bench_spread_json(stdout, "tool_audited_seen_spread_ms", &row->audited_ms);
		printf(", \"without_table_ratio\": %.1f}",
		       row->look_ms.median / row->seen_ms.median);
	}
	fputs("\n]}\n", stdout);
}

static void report_text(const struct row *row, unsigned n, unsigned nedits)
{
	char name[48];
	unsigned i;

	bench_machine_text(stdout);
	printf("seconds from the file until it holds; milliseconds of one edit; bytes of kernel memory a peer with one prefix\n"
	       "\n"
	       "%8s %8s %7s %8s %9s %9s %6s %5s %7s %6s %7s %8s %8s\n",
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
		snprintf(name, sizeof(name), "%u peers, without the table", row[i].peers);
		bench_spread_text(stdout, name, &row[i].look_ms, 3);
		snprintf(name, sizeof(name), "%u peers, bwlimit-ctl until seen", row[i].peers);
		bench_spread_text(stdout, name, &row[i].tool_ms, 3);
		snprintf(name, sizeof(name), "%u peers, … with an audit log", row[i].peers);
		bench_spread_text(stdout, name, &row[i].audited_ms, 3);
		printf("%u peers: without the table %.1f times as long\n", row[i].peers,
		       row[i].look_ms.median / row[i].seen_ms.median);
	}
	printf("\n"
	       "goals: 100000 peers within 3 s, 1000000 within 30 s; an edit seen within 1 ms; all within budget (256 + 40 a possible CPU + 100 a prefix)\n");
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
	unsigned n = 2, i, nedits = 50;
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
			bwl_help(usage, stdout);
			return 0;
		default:
			bwl_help(usage, stderr);
			return 2;
		}
	}
	if (!good || optind != argc) {
		bwl_help(usage, stderr);
		return 2;
	}
	for (i = 0; i < n; i++)
		measure(&rows[i], nedits);
	(json ? report_json : report_text)(rows, n, nedits);
	return 0;
}
