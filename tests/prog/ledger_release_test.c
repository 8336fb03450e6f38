// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Promise 3 across the death of the agent and of the machine: packets through the real programs,
 * the agent's own code between them and the disk, and a reboot whenever the test wants one.
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#define RIG_HOST_ONLY
#include "agent/ledger/ledger.h"
#include "agent/ledger/release.h"
#include "prog.h"

#define DEST(name, n)                                                                              \
	"  - { name: " name ", addresses: [10.1.0." #n "], path: clear, via: 192.0.2.1, "
#define HEAD PORTS "heartbeat: none\n"
#define TO(n) "eth ip4 src=10.0.7.2 dst=10.1.0." #n " udp fill=958" /* 1000 bytes */
#define LEN 1000U
#define MB (1ULL << 20)

static char dir[40];
static struct ledger *ledger;
static struct releases *releases;
static const struct rig_opts old = { .host_only = true, .old_volume = true };
static unsigned boots;
static cpu_set_t any_cpu;

static void agent_dies(void)
{
	releases_free(releases);
	ledger_close(ledger);
	releases = NULL;
	ledger = NULL;
}

static void agent_comes(enum ledger_how want)
{
	struct bwl_err e = { 0 };
	enum ledger_how how;
	char era[40];

	snprintf(era, sizeof(era), "boot %u", boots);
	if (ledger_open(dir, &ledger, &how, &e))
		fail_msg("%s", e.text);
	if (how != want)
		print_error("%s\n", e.text);
	assert_int_equal(how, want);
	assert_int_equal(releases_new(rig->pins, era, &releases, &e), 0);
}

static void look(void)
{
	struct bwl_err e = { 0 };
	uint64_t ns;

	if (releases_run(releases, ledger, &ns, &e))
		fail_msg("%s", e.text);
}

/* All state of this boot is lost; the policy comes from its file. */
static void reboot(const char *policy)
{
	agent_dies();
	rig_close(rig);
	rig = rig_open(&old);
	boots++;
	rig_policy(rig, policy);
	rig_advance(RIG_SECOND);
}

static int begin(void **state)
{
	char cmd[200];

	(void)state;
	snprintf(dir, sizeof(dir), "/dev/shm/bwl-release-%d", getpid());
	snprintf(cmd, sizeof(cmd), "rm -rf %s && mkdir %s", dir, dir);
	boots = 0;
	return rig_setup(state) || system(cmd);
}

static int end(void **state)
{
	char cmd[200];

	(void)state;
	agent_dies();
	rig_close(rig);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd);
}

/* Bytes that pass, frame by frame, until one is refused. looks: the agent keeps up. */
static uint64_t pass(const char *spec, uint64_t most, bool looks)
{
	const struct rig_packet k = { .prog = RIG_HOST, .port = RIG_H0, .spec = spec };
	uint64_t bytes = 0;

	while (bytes < most) {
		if (rig_fire(rig, &k, 1) != TC_ACT_REDIRECT)
			break;
		bytes += LEN;
		if (looks && bytes % (16 * LEN) == 0)
			look();
	}
	return bytes;
}

static struct bwl_left left_of(const char *name)
{
	uint32_t id = id_of(name);
	struct bwl_left left;
	struct bwl_gen g;

	assert_int_equal(bwl_gen_open(rig->pins, bwl_active_slot(rig->pins), &g, NULL), 0);
	bwl_limit_left(rig->pins, &g.peer[*bwl_body_of(&rig->pins->gate[id], g.slot)].grant.rate,
		       &g.peer[*bwl_body_of(&rig->pins->gate[id], g.slot)].grant.volume, 2 * id,
		       rig_now(), &left);
	bwl_gen_close(&g);
	return left;
}

static void the_lead_is_a_hundredth_or_what_the_rate_needs_or_a_packet(void **state)
{
	(void)state;
	assert_int_equal(releases_lead(100 * MB, 0, 0), MB);
	assert_int_equal(releases_lead(100 * MB, 1000000000, 0), MB);
	assert_int_equal(releases_lead(1000000 * MB, 1000000, 5000), 2005000);
	assert_int_equal(releases_lead(MB, 0, 0), BWL_GSO_BURST);
	assert_int_equal(releases_lead(100, 0, 0), 100);
	assert_int_equal(releases_lead(BWL_MAX_VOLUME, 0, 0), BWL_MAX_VOLUME / 100);
}

static void a_volume_passes_whole_in_leads_and_no_byte_more(void **state)
{
	uint64_t all;

	(void)state;
	apply(HEAD "peers:\n" DEST("x", 1) "grant: { volume: 10mb } }\n");
	rig_advance(RIG_SECOND);
	agent_comes(LEDGER_BEGUN);
	look();
	all = pass(TO(1), ~0ULL, false); /* the agent does not look: one lead passes */
	assert_in_range(all, 1, MB / 10);
	assert_true(all > MB / 10 - LEN);
	look();
	all += pass(TO(1), ~0ULL, true);
	assert_in_range(all, 10 * MB - LEN, 10 * MB);
}

static const char total[] = HEAD "peers:\n" DEST("x", 1) "grant: { volume: 10mb } }\n";

static void a_reboot_costs_at_most_a_lead_and_gives_nothing_back(void **state)
{
	uint64_t all = 0, spent;
	unsigned i;

	(void)state;
	rig_close(rig);
	rig = rig_open(&rig_usual);
	rig_policy(rig, total);
	rig_advance(RIG_SECOND);
	agent_comes(LEDGER_BEGUN);
	for (i = 1; i <= 20; i++) {
		look();
		all += pass(TO(1), 300 * LEN, true);
		reboot(total);
		assert_int_equal(pass(TO(1), ~0ULL, false), 0); /* before the agent has started */
		agent_comes(LEDGER_FOUND);
		/* for this long the refusal for the spent volume is repeated */
		rig_advance(1000000);
		look();
		spent = left_of("x").used;
		assert_true(spent >= all);
		assert_true(spent - all <= i * (MB / 10));
	}
	all += pass(TO(1), ~0ULL, true);
	assert_true(all <= 10 * MB);
	assert_true(all >= 10 * MB - 20 * (MB / 10) - LEN);
}

static void killed_while_it_restores_it_restores_the_same(void **state)
{
	const struct rlimit none = { 0, RLIM_INFINITY };
	struct bwl_err e = { 0 };
	struct rlimit was;
	uint64_t ns, spent;
	int status;

	(void)state;
	rig_policy(rig, total);
	rig_advance(RIG_SECOND);
	agent_comes(LEDGER_BEGUN);
	look();
	pass(TO(1), 3 * MB, true);
	reboot(total);
	agent_comes(LEDGER_FOUND);
	spent = ledger_at(ledger, ledger_find(ledger, "peer x"))->spent;
	/* The disk fails: nothing is restored, and nothing passes. */
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &was);
	setrlimit(RLIMIT_FSIZE, &none);
	status = releases_run(releases, ledger, &ns, &e);
	setrlimit(RLIMIT_FSIZE, &was);
	assert_true(status < 0);
	assert_int_equal(pass(TO(1), ~0ULL, false), 0);
	agent_dies();
	agent_comes(LEDGER_FOUND);
	look();
	assert_int_equal(left_of("x").used, spent);
	/* Repeating it changes nothing. */
	agent_dies();
	agent_comes(LEDGER_FOUND);
	look();
	assert_int_equal(left_of("x").used, spent);
}

static void while_the_disk_refuses_not_a_byte_passes_the_mark(void **state)
{
	const struct rlimit none = { 0, RLIM_INFINITY };
	struct bwl_err e = { 0 };
	struct rlimit was;
	uint64_t all, ns;
	unsigned i;

	(void)state;
	rig_policy(rig, total);
	rig_advance(RIG_SECOND);
	agent_comes(LEDGER_BEGUN);
	look();
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &was);
	setrlimit(RLIMIT_FSIZE, &none);
	all = pass(TO(1), ~0ULL, false);
	for (i = 0; i < 10; i++) {
		assert_true(releases_run(releases, ledger, &ns, &e) < 0);
		assert_true(*e.text);
		all += pass(TO(1), ~0ULL, false);
	}
	setrlimit(RLIMIT_FSIZE, &was);
	assert_in_range(all, MB / 10 - LEN, MB / 10);
	look();
	all += pass(TO(1), ~0ULL, true);
	assert_in_range(all, 10 * MB - LEN, 10 * MB);
	/* What was written in between reads back. */
	agent_dies();
	agent_comes(LEDGER_FOUND);
}

static const char windowed[] = HEAD "peers:\n" DEST("x", 1) "grant: { volume: 10mb per 110s } }\n";

static void a_window_goes_on_after_a_reboot_with_its_slices(void **state)
{
	uint64_t all, first = 2000 * LEN, i;

	(void)state;
	rig_policy(rig, windowed);
	rig_advance(RIG_SECOND);
	agent_comes(LEDGER_BEGUN);
	look();
	assert_int_equal(pass(TO(1), first, true), first);
	for (i = 0; i < 6; i++) {
		rig_advance(10 * RIG_SECOND + 1);
		look();
	}
	assert_int_equal(pass(TO(1), first, true), first);
	reboot(windowed);
	agent_comes(LEDGER_FOUND);
	look();
	assert_in_range(left_of("x").used, 2 * first, 2 * first + MB / 10);
	/* What was six slices old leaves after six more; the rest stays. */
	rig_advance(70 * RIG_SECOND);
	assert_in_range(left_of("x").used, first, first + MB / 10);
	look();
	all = pass(TO(1), ~0ULL, true);
	assert_in_range(all + first, 10 * MB - MB / 10 - 2 * LEN, 10 * MB);
	rig_advance(130 * RIG_SECOND);
	look();
	assert_in_range(pass(TO(1), ~0ULL, true), 10 * MB - LEN, 10 * MB);
}

static void a_window_that_emptied_is_not_lost_in_a_reboot(void **state)
{
	(void)state;
	rig_policy(rig, windowed);
	rig_advance(RIG_SECOND);
	agent_comes(LEDGER_BEGUN);
	look();
	pass(TO(1), ~0ULL, true);
	rig_advance(140 * RIG_SECOND);
	look();
	reboot(windowed);
	agent_comes(LEDGER_FOUND);
	look();
	assert_in_range(left_of("x").used, 0, MB / 10);
	assert_true(pass(TO(1), ~0ULL, true) >= 10 * MB - MB / 10 - LEN);
}

static uint64_t give(uint64_t bytes)
{
	uint64_t given = 0;
	const struct bwl_change c = { .set = BWL_ADD_ONCE,
				      .lim = { .volume = bytes },
				      .given = &given };

	assert_int_equal(bwl_peer_change(rig->pins, "x", &c, NULL), 0);
	return given;
}

/* Over reboots before and after the ledger has seen it, and where some of it is spent. */
static void what_is_given_once_is_given_once_over_reboots(void **state)
{
	const uint64_t more = 2000 * LEN, lead = 10 * MB / 100;
	uint64_t spent, left;
	unsigned i;

	(void)state;
	rig_policy(rig, windowed);
	rig_advance(RIG_SECOND);
	agent_comes(LEDGER_BEGUN);
	look();
	assert_in_range(pass(TO(1), ~0ULL, true), 10 * MB - LEN, 10 * MB);
	assert_int_equal(give(more), more);
	assert_in_range(pass(TO(1), ~0ULL, true), more - LEN, more + LEN);
	for (i = 0; i < 4; i++) {
		assert_int_equal(give(more), more);
		if (i % 2) {
			rig_advance(11 * RIG_SECOND);
			look();
		}
		spent = i / 2 ? pass(TO(1), more / 2, true) : 0;
		reboot(windowed);
		agent_comes(LEDGER_FOUND);
		look();
		left = pass(TO(1), ~0ULL, true);
		assert_true(spent + left <= more + LEN);
		if (i % 2) /* the ledger had it */
			assert_true(spent + left >= more - 2 * lead);
	}
}

static void a_name_that_the_ledger_does_not_know_stays_spent(void **state)
{
	struct bwl_change c = { .set = BWL_ADD_VOLUME, .lim = { .volume = 100 * LEN } };
	const char *policy = HEAD "peers:\n" DEST("y", 1) "grant: { volume: 10mb } }\n";

	(void)state;
	rig_policy(rig, total);
	rig_advance(RIG_SECOND);
	agent_comes(LEDGER_BEGUN);
	look();
	reboot(policy); /* renamed without the agent */
	agent_comes(LEDGER_FOUND);
	look();
	assert_int_equal(releases_count(releases).unknown, 1);
	assert_int_equal(pass(TO(1), ~0ULL, true), 0);
	assert_int_equal(bwl_peer_change(rig->pins, "y", &c, NULL), 0);
	look();
	assert_int_equal(pass(TO(1), ~0ULL, true), 100 * LEN);
}

static void a_new_name_takes_the_account_along_also_across_a_reboot(void **state)
{
	const char *policy = HEAD "peers:\n" DEST("y", 1) "grant: { volume: 10mb } }\n";

	(void)state;
	rig_policy(rig, total);
	rig_advance(RIG_SECOND);
	agent_comes(LEDGER_BEGUN);
	look();
	pass(TO(1), 4 * MB, true);
	rig_policy(rig, policy);
	look();
	assert_int_equal(pass(TO(1), 10 * LEN, true), 10 * LEN);
	reboot(policy);
	agent_comes(LEDGER_FOUND);
	look();
	assert_in_range(left_of("y").used, 4 * MB, 4 * MB + 10 * LEN + MB / 10);
	reboot(total); /* and the old name finds what it had spent */
	agent_comes(LEDGER_FOUND);
	look();
	assert_true(left_of("x").used >= 4 * MB);
}

static void a_ledger_that_is_lost_leaves_volumes_spent_after_a_reboot_only(void **state)
{
	(void)state;
	rig_policy(rig, total);
	rig_advance(RIG_SECOND);
	agent_comes(LEDGER_BEGUN);
	look();
	pass(TO(1), MB, true);
	agent_dies();
	assert_int_equal(ledger_set_aside(dir, NULL), 0);
	agent_comes(LEDGER_BEGUN); /* the maps know everything */
	look();
	assert_in_range(left_of("x").used, MB, MB + LEN);
	assert_true(pass(TO(1), MB, true) >= MB);
	reboot(total);
	assert_int_equal(ledger_set_aside(dir, NULL), 0);
	agent_comes(LEDGER_BEGUN);
	look();
	assert_int_equal(pass(TO(1), ~0ULL, true), 0);
}

static void an_old_copy_in_the_same_maps_is_found_out(void **state)
{
	struct bwl_err e = { 0 };
	char cmd[200];
	uint64_t ns;

	(void)state;
	rig_policy(rig, total);
	rig_advance(RIG_SECOND);
	agent_comes(LEDGER_BEGUN);
	look();
	agent_dies();
	snprintf(cmd, sizeof(cmd), "cd %s && mkdir c && cp ledger.* c", dir);
	assert_int_equal(system(cmd), 0);
	agent_comes(LEDGER_FOUND);
	look();
	pass(TO(1), MB, true);
	agent_dies();
	snprintf(cmd, sizeof(cmd), "cd %s && rm ledger.* && cp c/* .", dir);
	assert_int_equal(system(cmd), 0);
	agent_comes(LEDGER_FOUND);
	assert_int_equal(releases_run(releases, ledger, &ns, &e), -EUCLEAN);
	assert_non_null(strstr(e.text, "old copy"));
	/* Set aside, it is begun anew from the maps, and the rest of the volume passes. */
	agent_dies();
	assert_int_equal(ledger_set_aside(dir, NULL), 0);
	agent_comes(LEDGER_BEGUN);
	look();
	assert_in_range(pass(TO(1), ~0ULL, true), 9 * MB - 2 * LEN, 9 * MB);
}

/* Until the volume itself refuses: a refusal of the ledger is for the agent to look, not the end.
 */
static uint64_t pass_the_rest(const char *spec)
{
	uint64_t refused = rig_frames(rig, RIG_H0, BWL_R_PEER_VOLUME), bytes = 0;

	for (unsigned looks = 0; rig_frames(rig, RIG_H0, BWL_R_PEER_VOLUME) == refused; looks++) {
		assert_true(looks < 1000);
		look();
		bytes += pass(spec, ~0ULL, true);
	}
	return bytes;
}

/* 150 times, or with BWL_LONG=1 a thousand: as many as it takes to spend most of the volume. */
static void killed_many_times_under_traffic_the_volume_is_exact(void **state)
{
	const struct rig_packet k = { .prog = RIG_HOST, .port = RIG_H0, .spec = TO(1) };
	const unsigned most = bwl_long() ? 1000 : 150;
	uint64_t all = 0, volume = most / 5 * MB;
	unsigned kills = 0;
	int status;
	pid_t pid;

	(void)state;
	apply(HEAD "peers:\n" DEST("x", 1) "grant: { volume: %umb } }\n", most / 5);
	rig_advance(RIG_SECOND);
	while (kills < most) {
		pid = fork();
		if (!pid) {
			sched_setaffinity(0, sizeof(any_cpu), &any_cpu);
			agent_comes(kills ? LEDGER_FOUND : LEDGER_BEGUN);
			for (;;)
				look();
		}
		/*
		 * The first child must have begun the ledger; later ones are killed anywhere in
		 * their work.
		 */
		while (!kills && !rig->pins->ctl->ledger)
			assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
		for (unsigned n = kills ? (unsigned)rand() % 300 : 1000; n; n--)
			if (rig_fire(rig, &k, 1) == TC_ACT_REDIRECT)
				all += LEN;
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (!WIFSIGNALED(status))
			fail_msg("the agent failed after %u kills", kills);
		kills++;
		assert_true(all <= volume);
	}
	agent_comes(LEDGER_FOUND);
	all += pass_the_rest(TO(1));
	print_message("# %u kills, %llu commits, %llu of %llu bytes passed\n", kills,
		      (unsigned long long)ledger_seq(ledger), (unsigned long long)all,
		      (unsigned long long)volume);
	/* A packet fits neither into the rest of the CPU's share nor into that of the volume. */
	assert_true(all <= volume && all > volume - 2 * LEN);
}

/* A writer holds accounts full until no packet uses the old policy any more. */
static void an_account_that_a_writer_holds_full_is_not_written_as_spent(void **state)
{
	struct bwl_err e = { 0 };
	struct bwl_pins *agent;
	uint64_t *used, own;
	uint32_t id;

	(void)state;
	apply(HEAD "peers:\n" DEST("x", 1) "grant: { volume: 200mb } }\n");
	rig_advance(RIG_SECOND);
	id = id_of("x");
	used = (uint64_t *)&rig->pins->state[2 * id].used_bytes;
	own = *used;
	agent_comes(LEDGER_BEGUN);
	releases_free(releases);
	assert_int_equal(bwl_pins_open(rig->pins->dir, true, &agent, &e), 0);
	assert_int_equal(releases_new(agent, "boot 0", &releases, &e), 0);
	assert_true(rig->pins->dir_fd >= 0); /* the lock of the process that applied it */
	*used = 200 * MB;
	look();
	assert_int_equal(rig->pins->mark[2 * id].spendable_bytes, BWL_RELEASE_NONE);
	*used = own;
	close(rig->pins->dir_fd);
	rig->pins->dir_fd = -1;
	look();
	assert_int_equal(rig->pins->mark[2 * id].spendable_bytes, own + 2 * MB);
	bwl_pins_close(agent);
}

/* The writer was killed meanwhile: accounts are full until they are settled from the record. */
static void an_account_that_a_killed_writer_holds_full_is_not_written_as_spent(void **state)
{
	struct bwl_err e = { 0 };
	uint64_t *used, own;
	struct bwl_gen g;
	uint32_t id;

	(void)state;
	apply(HEAD "peers:\n" DEST("x", 1) "grant: { volume: 200mb } }\n");
	rig_advance(RIG_SECOND);
	assert_int_equal(bwl_gen_open(rig->pins, bwl_active_slot(rig->pins), &g, NULL), 0);
	id = bwl_peer_id(rig->pins, &g, "x");
	bwl_gen_close(&g);
	used = (uint64_t *)&rig->pins->state[2 * id].used_bytes;
	own = *used;
	agent_comes(LEDGER_BEGUN);
	*used = 200 * MB;
	rig->pins->held[1] = (struct bwl_held){ .own = own,
						.put = *used,
						.state = 2 * id,
						.window = BWL_NO_WINDOW,
						.kind = BWL_HELD_FULL };
	rig->pins->held[0] = (struct bwl_held){ .own = 1, .put = BWL_SCHEDS };
	look();
	assert_int_equal(rig->pins->mark[2 * id].spendable_bytes, BWL_RELEASE_NONE);
	bwl_pins_close(rig->pins); /* the lock of the process that applied it */
	rig->pins = rig_pins(rig);
	assert_int_equal(bwl_settle_held(rig->dir, &e), 0);
	assert_int_equal(rig->pins->state[2 * id].used_bytes, own);
	releases_free(releases);
	assert_int_equal(releases_new(rig->pins, "boot 0", &releases, &e), 0);
	look();
	assert_int_equal(rig->pins->mark[2 * id].spendable_bytes, own + 2 * MB);
}

/* --- names that somebody invents */

/* n peers with the name and a number; each has the one address that it always has. */
static void apply_named(const char *name, unsigned n, const char *volume)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	fputs(HEAD "peers:\n" DEST("kept", 251) "grant: { volume: 100kb } }\n", f);
	for (unsigned i = 0; i < n; i++)
		fprintf(f,
			"  - { name: %s-%u, addresses: [10.1.0.%u, 'fd00:1::%x'], path: clear, via: 192.0.2.1, via6: 'fe80::1', grant: { volume: %s } }\n",
			name, i, i, i + 1, volume);
	fclose(f);
	rig_policy(rig, text);
	free(text);
	rig_advance(RIG_SECOND);
}

static bool has_row(const char *key)
{
	return ledger_find(ledger, key) >= 0;
}

#define INVENTED 55U
#define WINDOW "200kb per 11s"
#define TO_6(n) "eth ip6 src=fd00:7::2 dst=fd00:1::" #n " udp fill=938"

/*
 * Windowed volumes under new names again and again: what is past its window and in no policy ends,
 * nothing else does.
 */
static void names_that_are_gone_end_with_their_windows(void **state)
{
	struct releases_count c;
	char name[20];
	unsigned i;

	(void)state;
	rig_policy(rig, HEAD "peers:\n" DEST("left", 252) "grant: { volume: 100kb } }\n");
	rig_advance(RIG_SECOND);
	agent_comes(LEDGER_BEGUN);
	look();
	assert_int_equal(pass(TO(252), 50 * LEN, true), 50 * LEN);
	for (i = 0; i < 60; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		apply_named(name, INVENTED, WINDOW);
		look();
		assert_int_equal(pass(TO(1), 2 * LEN, true), 2 * LEN);
		assert_int_equal(pass(TO_6(3), 2 * LEN, true), 2 * LEN);
		rig_advance(61 * RIG_SECOND);
		look();
		c = releases_count(releases);
		assert_true(ledger_count(ledger) <= 2 * (int)INVENTED + 3);
		assert_int_equal(c.full, 0);
	}
	assert_true(has_row("peer n59-1"));
	assert_false(has_row("peer n40-1"));
	/* A total has no window: it has not ended, and counts when its name comes back. */
	assert_true(has_row("peer left"));
	reboot(HEAD "peers:\n" DEST("left", 252) "grant: { volume: 100kb } }\n");
	agent_comes(LEDGER_FOUND);
	look();
	assert_true(pass(TO(252), 200 * LEN, true) <= 50 * LEN);
}

/* Within their window nothing of them ends: then there is no room for more, and that is told. */
static void while_it_is_full_new_names_are_closed_and_nothing_is_dropped(void **state)
{
	uint32_t most = releases_most_rows(&rig->pins->schema);
	const struct releases_count *c;
	struct releases_count is;
	unsigned i, last = 0;
	char name[20];

	(void)state;
	c = &is;
	apply_named("n0", INVENTED, "200kb per 1h");
	agent_comes(LEDGER_BEGUN);
	look();
	assert_int_equal(pass(TO(1), 150 * LEN, true), 150 * LEN);
	for (i = 1; i < 60; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		apply_named(name, INVENTED, "200kb per 1h");
		look();
		look();
		is = releases_count(releases);
		assert_true(ledger_count(ledger) <= (int)most);
		if (!last && c->full)
			last = i;
	}
	assert_int_equal(last, most / INVENTED);
	assert_int_equal(ledger_count(ledger), most);
	assert_int_equal(c->full, INVENTED);
	assert_string_equal(c->full_key, "peer n59-0");
	/* What was spent within the hour is still known, under the name that spent it. */
	assert_true(has_row("peer n0-1"));
	assert_true(ledger_at(ledger, ledger_find(ledger, "peer n0-1"))->spent >= 150 * LEN);
	/* A peer without a row is closed, with that reason; one that has a row is not. */
	apply(HEAD "peers:\n" DEST("fresh", 253) "grant: { volume: 200kb per 1h } }\n" DEST(
		"kept", 251) "grant: { volume: 100kb } }\n");
	rig_advance(RIG_SECOND);
	look();
	assert_string_equal(host(TO(253)), "ledger");
	assert_string_equal(host(TO(251)), "pass");
	/* Not before an hour without their names has passed, and its slices; then there is room. */
	rig_advance(3500 * RIG_SECOND);
	look();
	assert_int_equal(ledger_count(ledger), most);
	rig_advance(900 * RIG_SECOND);
	look();
	rig_advance(61 * RIG_SECOND);
	look();
	look();
	assert_true(ledger_count(ledger) < 10);
	assert_true(has_row("peer kept") && has_row("peer fresh"));
	assert_string_equal(host(TO(253)), "pass");
	is = releases_count(releases);
	assert_int_equal(c->full, 0);
}

#define T(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_lead_is_a_hundredth_or_what_the_rate_needs_or_a_packet),
		T(a_volume_passes_whole_in_leads_and_no_byte_more),
		T(a_reboot_costs_at_most_a_lead_and_gives_nothing_back),
		T(killed_while_it_restores_it_restores_the_same),
		T(while_the_disk_refuses_not_a_byte_passes_the_mark),
		T(a_window_goes_on_after_a_reboot_with_its_slices),
		T(a_window_that_emptied_is_not_lost_in_a_reboot),
		T(what_is_given_once_is_given_once_over_reboots),
		T(a_name_that_the_ledger_does_not_know_stays_spent),
		T(a_new_name_takes_the_account_along_also_across_a_reboot),
		T(a_ledger_that_is_lost_leaves_volumes_spent_after_a_reboot_only),
		T(an_old_copy_in_the_same_maps_is_found_out),
		T(an_account_that_a_writer_holds_full_is_not_written_as_spent),
		T(an_account_that_a_killed_writer_holds_full_is_not_written_as_spent),
		T(names_that_are_gone_end_with_their_windows),
		T(while_it_is_full_new_names_are_closed_and_nothing_is_dropped),
		T(killed_many_times_under_traffic_the_volume_is_exact),
	};

	/*
	 * A packet is charged on the CPU that sends it: what another one had taken in advance would
	 * not pass, and be missing from the volume.
	 */
	sched_getaffinity(0, sizeof(any_cpu), &any_cpu);
	stay_on_this_cpu();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
