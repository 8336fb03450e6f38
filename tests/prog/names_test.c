// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From a name to its id (lib/tables/nameid.c): the table and a search through all names agree after
 * any policies, killed writers and garbage in the table; and an edit of one peer touches only that
 * peer's pages, which makes it fast.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include <bwl/pages.h>
#define RIG_HOST_ONLY
#include "prog.h"

#define MANY 20000U /* names of 640 kB, gates of 320 kB: far more than a page */
#define NAMES 60U
#define GBIT 1000000000ULL

static uint64_t seed = 0x9e3779b97f4a7c15ULL; /* every run is the same */

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(seed >> 33) % below;
}

static void in_force(struct bwl_gen *g)
{
	assert_int_equal(bwl_gen_open(rig->pins, bwl_active_slot(rig->pins), g, NULL), 0);
}

/* The owner of a name, by a search through all of them. */
static uint32_t by_look(const struct bwl_gen *g, const char *name)
{
	uint32_t id, found = 0;

	for (id = 1; id < rig->pins->schema.max_peers; id++) {
		if (!bwl_body_at(rig->pins, g, id) ||
		    strncmp(rig->pins->name[id].name, name, BWL_NAME_LEN))
			continue;
		assert_int_equal(found, 0); /* not another peer's */
		found = id;
	}
	return found;
}

static void reopen(void) /* also releases the lock */
{
	bwl_pins_close(rig->pins);
	rig->pins = rig_pins(rig);
}

/* --- agreement */

static char *policy_of(const bool *has, uint32_t round)
{
	char *text = NULL;
	size_t room;
	FILE *f = open_memstream(&text, &room);

	fputs(PORTS "heartbeat: none\npeers:\n", f);
	fprintf(f,
		"  - { name: always, addresses: [10.9.0.1], path: clear, via: 192.0.2.1, grant: { rate: 1gbit } }\n");
	for (uint32_t i = 0; i < NAMES; i++)
		/* in the next round its prefix may be another name's, with its account */
		if (has[i])
			fprintf(f,
				"  - { name: n%u, addresses: [10.1.0.%u], path: clear, via: 192.0.2.1, grant: { rate: 1gbit, volume: 1gb } }\n",
				i, 1 + (i * 7 + round % 3) % NAMES);
	fclose(f);
	return text;
}

static void agrees(const char *name)
{
	struct bwl_gen g;
	uint32_t id, hint;

	in_force(&g);
	id = by_look(&g, name);
	hint = bwl_name_id(rig->pins, name);
	assert_int_equal(bwl_peer_id(rig->pins, &g, name), id);
	if (hint)
		assert_string_equal(rig->pins->name[hint].name, name);
	if (hint && id)
		assert_int_equal(hint, id);
	bwl_gen_close(&g);
}

/* The edit reaches that peer, and no other peer's entry changes. */
static void edits_only(const char *name)
{
	struct bwl_change c = { .set = BWL_SET_RATE, .lim = { .present = true } };
	struct bwl_peer *before = calloc(rig->pins->schema.max_peers, sizeof(*before));
	const struct bwl_peer *body;
	struct bwl_gen g;
	uint32_t id, i;
	int r;

	assert_non_null(before);
	c.lim.rate_bps = (2 + draw(50)) * GBIT;
	in_force(&g);
	id = by_look(&g, name);
	for (i = 1; i < rig->pins->schema.max_peers; i++)
		if ((body = bwl_body(rig->pins, &g, i)))
			before[i] = *body;
	r = bwl_peer_change(rig->pins, name, &c, NULL);
	assert_int_equal(r, id ? 0 : -ENOENT);
	for (i = 1; i < rig->pins->schema.max_peers; i++) {
		body = bwl_body(rig->pins, &g, i);
		if (body && i == id)
			assert_int_equal(bwl_rate_decode(&body->grant.rate), c.lim.rate_bps);
		else if (body)
			assert_memory_equal(body, &before[i], sizeof(*body));
	}
	if (id) /* the next one needs no search */
		assert_int_equal(bwl_name_id(rig->pins, name), id);
	bwl_gen_close(&g);
	free(before);
	reopen();
}

/* What a policy's writer changes of names: the table and the names, both mapped. */
static void protect(int prot)
{
	const struct bwl_pins *p = rig->pins;
	const size_t n = p->schema.max_peers;

	if (mprotect(p->nameid, bwl_page_round(n * sizeof(*p->nameid), bwl_page_bytes()), prot) ||
	    mprotect(p->name, bwl_page_round(n * sizeof(*p->name), bwl_page_bytes()), prot))
		_exit(2);
}

/*
 * In the child: from that reading of the clock on, each write to them is a fault. Its parent then
 * sees SIGUSR2, single-steps it through that write alone, and sends SIGUSR1: protected again.
 */
static unsigned calls, stop_at;

static void at_clock(void)
{
	if (++calls == stop_at)
		protect(PROT_READ);
}

static void at_signal(int sig)
{
	protect(sig == SIGUSR1 ? PROT_READ : PROT_READ | PROT_WRITE);
	if (sig == SIGSEGV)
		raise(SIGUSR2);
}

static uint64_t fold(const void *data, size_t n, uint64_t h)
{
	const uint64_t *w = data;

	for (n /= 8; n--;)
		h = (h ^ *w++) * 0x100000001b3ULL;
	return h;
}

static uint64_t now_is(void)
{
	const struct bwl_pins *p = rig->pins;
	uint64_t h = fold(p->nameid, sizeof(*p->nameid) * p->schema.max_peers, 1);

	return fold(p->name, sizeof(*p->name) * p->schema.max_peers, h);
}

static bool go_on(pid_t child, enum __ptrace_request how, int sig, int *status)
{
	assert_int_equal(ptrace(how, child, NULL, (void *)(intptr_t)sig), 0);
	assert_int_equal(waitpid(child, status, 0), child);
	return WIFSTOPPED(*status);
}

/* In a child that is killed once names or table have changed this often; true: it was killed. */
static bool apply_killed(const char *text, unsigned at, unsigned changes)
{
	struct sigaction catch = { .sa_handler = at_signal, .sa_flags = SA_NODEFER };
	uint64_t was = now_is(), is;
	int status;
	pid_t child = fork();

	if (!child) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		sigaction(SIGSEGV, &catch, NULL);
		sigaction(SIGUSR1, &catch, NULL);
		calls = 0;
		stop_at = at;
		rig_on_clock = at_clock;
		_exit(rig_try_policy(rig, text, NULL, NULL, NULL) ? 1 : 0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	while (WIFSTOPPED(status) && changes) {
		if (WSTOPSIG(status) != SIGUSR2) { /* a fault, whose handler is to run */
			go_on(child, PTRACE_CONT, WSTOPSIG(status), &status);
			continue;
		}
		is = was;
		/* out of the handler, and the write; one of the same value changes nothing */
		for (unsigned steps = 0; is == was && steps < 1000; steps++) {
			if (!go_on(child, PTRACE_SINGLESTEP, 0, &status))
				break;
			is = now_is();
		}
		changes -= is != was;
		was = is;
		if (changes && WIFSTOPPED(status))
			go_on(child, PTRACE_CONT, SIGUSR1, &status);
	}
	if (WIFSTOPPED(status)) {
		kill(child, SIGKILL);
		waitpid(child, &status, 0);
	}
	return WIFSIGNALED(status) && !changes;
}

/* What none of our writers leaves. */
static void scribble(void)
{
	struct bwl_pins *p = rig->pins;
	uint32_t n = p->schema.max_peers, i, one = draw(NAMES);

	switch (draw(4)) {
	case 0: /* nothing known */
		memset(p->nameid, 0, sizeof(*p->nameid) * n);
		break;
	case 1: /* full, of one id */
		for (i = 0; i < 2 * n; i++)
			p->nameid[i / 2].cell[i % 2] = one;
		break;
	case 2: /* full, of anything */
		for (i = 0; i < 2 * n; i++)
			p->nameid[i / 2].cell[i % 2] = draw(2) ? draw(n) : ~draw(n);
		break;
	default: /* holes */
		for (i = 0; i < n / 4; i++)
			p->nameid[draw(n)].cell[draw(2)] = 0;
	}
}

static void the_table_and_a_look_at_all_names_agree_whatever_happened(void **state)
{
	unsigned kills = 0, rounds = 36;
	bool has[NAMES] = { false };
	char name[16], *text;

	(void)state;
	for (unsigned round = 0; round < rounds; round++) {
		bool scribbled = round % 3 == 2;

		for (uint32_t i = 0; i < NAMES; i++)
			if (!draw(4))
				has[i] = !has[i];
		text = policy_of(has, round);
		if (round % 3 == 1)
			kills += apply_killed(text, 4 + draw(3), 1 + draw(NAMES));
		else
			rig_policy(rig, text);
		reopen();
		if (scribbled)
			scribble();
		for (uint32_t i = 0; i < NAMES; i++) {
			snprintf(name, sizeof(name), "n%u", i);
			agrees(name);
		}
		snprintf(name, sizeof(name), "n%u", draw(NAMES));
		if (!scribbled) /* a full table is repaired only by a new policy */
			edits_only(name);
		rig_advance(RIG_SECOND);
		rig_policy(rig, text);
		reopen();
		for (uint32_t i = 0; i < NAMES; i++) {
			struct bwl_gen g;

			snprintf(name, sizeof(name), "n%u", i);
			agrees(name);
			in_force(&g);
			/* whatever was there: after the next policy it knows all again */
			if (has[i])
				assert_int_equal(bwl_name_id(rig->pins, name), by_look(&g, name));
			bwl_gen_close(&g);
		}
		free(text);
	}
	print_message("# %u rounds, %u writers killed between two words\n", rounds, kills);
	/* otherwise no kill was between two words: how many there are depends on the machine */
	assert_true(kills);
}

/* --- what an edit touches */

static void many_peers(void)
{
	char *text = NULL;
	size_t room;
	FILE *f = open_memstream(&text, &room);

	fputs(PORTS "heartbeat: none\npeers:\n", f);
	for (uint32_t i = 0; i < MANY; i++)
		fprintf(f,
			"  - { name: peer-%u, addresses: [10.1.%u.%u], path: clear, via: 192.0.2.1, grant: { rate: 1gbit%s }%s }\n",
			i, i >> 8, i & 255, i % 3 ? "" : ", volume: 1gb per 1h",
			i % 5 ? "" : ", floor: { rate: 1mbit }");
	fclose(f);
	rig_policy(rig, text);
	rig_advance(RIG_SECOND);
	free(text);
	reopen();
}

static uint64_t rate_of(const char *name)
{
	struct bwl_gen g;
	uint64_t rate;

	in_force(&g);
	rate = bwl_rate_decode(&bwl_body(rig->pins, &g, by_look(&g, name))->grant.rate);
	bwl_gen_close(&g);
	return rate;
}

/* few: no other peers were mapped, so nothing of them can have been read. */
static void an_edit_of_one_peer_among_many_reads_only_that_peer(void **state)
{
	struct bwl_change c = { .set = BWL_SET_RATE, .lim = { .present = true } };
	struct bwl_err e = { 0 };
	struct bwl_pins *few;
	char name[32];

	(void)state;
	many_peers();
	for (uint32_t i = 0; i < 280; i++) { /* more than there were spare entries at first */
		snprintf(name, sizeof(name), "peer-%u", draw(MANY));
		c.set = BWL_SET_RATE | (i % 4 ? 0 : BWL_SET_VOLUME) |
			(i % 7 ? 0 : BWL_SET_AUTHORISE);
		c.lim.rate_bps = (2 + i) * GBIT;
		c.lim.has_volume = true;
		c.lim.volume = 1000000000ULL * (1 + i);
		c.lim.window_ns = i % 8 ? 0 : 3600 * RIG_SECOND;
		assert_int_equal(bwl_pins_open_few(rig->dir, &few, &e), 0);
		if (bwl_peer_change(few, name, &c, &e))
			fail_msg("%s: %s", name, e.text);
		assert_true(few->few);
		bwl_pins_close(few);
		assert_int_equal(rate_of(name), c.lim.rate_bps);
	}
	/* A peer that is not in the table is found nevertheless, and is in it from then on. */
	memset(rig->pins->nameid, 0, sizeof(*rig->pins->nameid) * rig->pins->schema.max_peers);
	for (uint32_t i = 0; i < 2; i++) {
		c.lim.rate_bps = (700 + i) * GBIT;
		assert_int_equal(bwl_pins_open_few(rig->dir, &few, &e), 0);
		assert_int_equal(bwl_peer_change(few, "peer-19999", &c, &e), 0);
		assert_int_equal(few->few, i);
		bwl_pins_close(few);
		assert_int_equal(rate_of("peer-19999"), c.lim.rate_bps);
	}
	assert_int_equal(bwl_pins_open_few(rig->dir, &few, &e), 0);
	assert_int_equal(bwl_peer_change(few, "peer-20000", &c, &e), -ENOENT);
	bwl_pins_close(few);
}

static void a_revocation_finds_its_peer_with_the_table_and_without(void **state)
{
	struct bwl_err e = { 0 };
	struct bwl_pins *few;
	struct bwl_gen g;

	(void)state;
	many_peers();
	assert_string_equal(host("eth ip4 src=10.0.7.2 dst=10.1.78.31 udp"), "pass"); /* 19999 */
	assert_string_equal(host("eth ip4 src=10.0.7.2 dst=10.1.78.30 udp"), "pass");
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(bwl_pins_open_few(rig->dir, &few, NULL), 0);
		assert_int_equal(bwl_revoke(few, i ? "peer-19998" : "peer-19999", &e), 0);
		assert_int_equal(bwl_revoke(few, "peer-20000", &e), -ENOENT);
		bwl_pins_close(few);
		memset(rig->pins->nameid, 0,
		       sizeof(*rig->pins->nameid) * rig->pins->schema.max_peers);
	}
	assert_string_equal(host("eth ip4 src=10.0.7.2 dst=10.1.78.31 udp"), "revoked");
	assert_string_equal(host("eth ip4 src=10.0.7.2 dst=10.1.78.30 udp"), "revoked");
	assert_string_equal(host("eth ip4 src=10.0.7.2 dst=10.1.78.29 udp"), "pass");
	in_force(&g);
	assert_true(bwl_is_revoked(rig->pins, &g, by_look(&g, "peer-19999")));
	bwl_gen_close(&g);
}

static int setup_many(void **state)
{
	(void)state;
	rig = rig_open(&(struct rig_opts){ .host_only = true,
					   .max_peers = MANY + 100,
					   .max_extras = MANY,
					   .max_windows = MANY });
	runs = 0;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(the_table_and_a_look_at_all_names_agree_whatever_happened),
		cmocka_unit_test_setup_teardown(an_edit_of_one_peer_among_many_reads_only_that_peer,
						setup_many, rig_teardown),
		cmocka_unit_test_setup_teardown(
			a_revocation_finds_its_peer_with_the_table_and_without, setup_many,
			rig_teardown),
	};

	return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
