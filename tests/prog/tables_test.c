// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Policies in the maps: what is read back is what was written, names keep their ids, too much is
 * refused and changes nothing, writers take turns, and a kill leaves the old policy or the new one.
 */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#define RIG_HOST_ONLY
#include "prog.h"

#define DEST(name, n)                                                                              \
	"  - { name: " name ", addresses: [10.1.0." #n "], path: clear, via: 192.0.2.1, "
#define TO(n) "eth ip4 src=10.0.7.2 dst=10.1.0." #n " "
#define HEAD PORTS "heartbeat: none\n"

static const char full[] =
	"version: 1\nnode: tray-7\nuplinks: [p0, p1]\nuplink_control: [lldp, bgp]\n"
	"host_ports:\n"
	"  - { dev: h0, sources: [10.0.7.0/24, fd00:7::/64], vlans: [5, 6], limit: { rate: 200gbit } }\n"
	"  - { dev: h1, sources: [10.0.8.0/24], mac: '02:00:00:00:00:03' }\n"
	"heartbeat: 60s\nmin_charge: 84\nnode_limit: { rate: 200gbit, volume: 100tb per 1d }\n"
	"services: [ { class: ssh, proto: tcp, port: 2222 }, { class: icmp, proto: 253 } ]\n"
	"zones: { mesh: { rate: 1600gbit }, external: { rate: 100mbit, volume: 20gb per 1d } }\n"
	"peers:\n"
	"  - { name: tray-3, addresses: [10.0.3.0/24, 'fd00:3::/64', 198.51.100.3], zone: mesh, contained: true, grant: { rate: 1gbit, burst: 1ms, mode: shape }, accept: { rate: 1gbit }, ipsec: { remote: 192.0.2.3 } }\n"
	"  - { name: log, addresses: [198.51.100.9], zone: external, path: clear, via: 192.0.2.254, uplink: p1, grant: { rate: 10mbit, volume: 1gb per 1d, mode: police }, floor: { rate: 1mbit } }\n"
	"  - { name: store, addresses: [10.9.0.0/16, 'fd00:9::9'], from: [h0], path: clear, via: 192.0.2.1, via6: 'fe80::1', grant: { rate: 40gbit, mode: mark, mark: 30 }, accept: none, classes: { nvme-tcp: { rate: 40gbit }, other: { rate: 100mbit, volume: 50gb } } }\n"
	"  - { name: dry, addresses: [10.8.0.1], path: clear, via: 192.0.2.1, grant: { rate: 1kbit, volume: 5gb, mode: monitor } }\n"
	"  - { name: bare, addresses: [10.8.0.2], path: clear, via: 192.0.2.1 }\n"
	"  - { name: self, addresses: [192.0.2.0/24], grant: { rate: 10mbit } }\n";

static struct bwl_policy *parse(const char *yaml)
{
	struct bwl_policy *pol = NULL;
	struct bwl_err e = { 0 };

	if (bwl_policy_parse("test", yaml, strlen(yaml), rig_now(), 1700000000, &pol, &e))
		fail_msg("line %u: %s", e.line, e.text);
	return pol;
}

static char *dump(const struct bwl_policy *pol)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);

	assert_non_null(f);
	assert_int_equal(bwl_policy_dump(pol, rig_now(), 1700000000, f), 0);
	fclose(f);
	return text;
}

static struct bwl_policy *read_back(struct bwl_pins *p)
{
	struct bwl_policy *pol = NULL;
	struct bwl_err e = { 0 };

	if (bwl_policy_read(p, &pol, &e))
		fail_msg("%s", e.text);
	return pol;
}

static void what_is_read_back_is_what_was_written(void **state)
{
	struct bwl_policy *a = parse(full), *b, *c;
	uint8_t da[32], db[32];
	char *ta, *tb;

	(void)state;
	rig_policy(rig, full);
	b = read_back(rig->pins);
	ta = dump(a);
	tb = dump(b);
	assert_string_equal(ta, tb);
	assert_int_equal(bwl_policy_digest(a, da), 0);
	assert_int_equal(bwl_policy_digest(b, db), 0);
	assert_memory_equal(da, db, 32);
	/* It can be applied again. */
	rig_policy(rig, tb);
	c = read_back(rig->pins);
	free(tb);
	tb = dump(c);
	assert_string_equal(ta, tb);
	free(ta);
	free(tb);
	bwl_policy_free(a);
	bwl_policy_free(b);
	bwl_policy_free(c);
}

/* Also of a name that is no longer in the policy, as long as it keeps its id. */
static uint32_t kept_id(const char *name)
{
	uint32_t i;

	for (i = 1; i < rig->pins->schema.max_peers; i++)
		if (!strcmp(rig->pins->name[i].name, name))
			return i;
	return 0;
}

static void names_keep_their_ids(void **state)
{
	struct bwl_publish_report rep;
	struct bwl_err e = { 0 };
	uint32_t a, b;

	(void)state;
	apply(HEAD "peers:\n" DEST("a", 1) "grant: { rate: 1gbit, volume: 1gb } }\n" DEST(
		"b", 2) "grant: { rate: 1gbit } }\n");
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO(1) "udp"), "pass");
	a = kept_id("a");
	b = kept_id("b");
	apply(HEAD "peers:\n" DEST("c", 3) "grant: { rate: 1gbit } }\n" DEST(
		"b",
		2) "grant: { rate: 1gbit } }\n" DEST("a",
						     1) "grant: { rate: 1gbit, volume: 1gb } }\n");
	assert_int_equal(kept_id("a"), a);
	assert_int_equal(kept_id("b"), b);
	assert_true(kept_id("c") != a && kept_id("c") != b);
	/* `a` left with volume spent: no other name gets its id; `b`'s is free. */
	apply(HEAD "peers:\n" DEST("c", 3) "grant: { rate: 1gbit } }\n");
	assert_int_equal(kept_id("a"), a);
	assert_int_equal(kept_id("b"), 0);
	/* A new name with its prefix takes over the account. */
	assert_int_equal(rig_try_policy(rig,
					HEAD "peers:\n" DEST(
						"d", 1) "grant: { rate: 1gbit, volume: 1gb } }\n",
					NULL, &rep, &e),
			 0);
	assert_int_equal(rep.inherited, 1);
	assert_int_equal(kept_id("d"), a);
	assert_true(rig->pins->state[2 * a].used_bytes > 0);
}

/* n peers; each with `extra` in its text, where %u is the peer's number. */
static char *many(unsigned n, const char *extra)
{
	size_t size = 400 + (size_t)n * 200;
	char *text = malloc(size), *at = text;
	unsigned i;

	assert_non_null(text);
	at += sprintf(at, "%speers:\n", HEAD);
	for (i = 0; i < n; i++)
		at += sprintf(
			at,
			"  - { name: n%u, addresses: [10.%u.%u.%u], path: clear, via: 192.0.2.1, grant: { rate: 1gbit }%s }\n",
			i, 16 + (i >> 16), i >> 8 & 255, i & 255, extra);
	return text;
}

static void too_much_is_refused_and_changes_nothing(void **state)
{
	static const struct {
		unsigned n;
		const char *extra, *tail;
		int code;
	} x[] = {
		{ 256, "", "", -ENOSPC }, /* ids 1 .. 255 */
		{ 100,
		  ", classes: { ssh: { rate: 1mbit }, https: { rate: 1mbit }, other: { rate: 1mbit } }",
		  "", -ENOSPC },
		{ 100, ", classes: { ssh: { volume: 1mb per 1h } }", "", -ENOSPC },
		{ 100, "", "count_classes: all\n", -ENOSPC }, /* 1000 of 256 */
	};
	struct bwl_err e;
	char *text;
	size_t i;

	(void)state;
	apply(HEAD "peers:\n" DEST("old", 1) "grant: { rate: 1gbit } }\n");
	rig_advance(RIG_SECOND);
	for (i = 0; i < sizeof(x) / sizeof(*x); i++) {
		text = many(x[i].n, x[i].extra);
		strcat(text, x[i].tail); /* many() leaves room */
		memset(&e, 0, sizeof(e));
		assert_int_equal(rig_try_policy(rig, text, NULL, NULL, &e), x[i].code);
		assert_true(strlen(e.text) > 20 && strlen(e.hint) > 5);
		free(text);
		assert_string_equal(host(TO(1) "udp"), "pass");
		assert_string_equal(host("eth ip4 src=10.0.7.2 dst=10.16.0.1 udp"), "no-peer");
		/* It leaves nothing behind that would be in the next one's way. */
		apply(HEAD
		      "peers:\n" DEST("old", 1) "grant: { rate: 1gbit }, classes: { ssh: { rate: 1mbit }, https: { rate: 1mbit } } }\n" DEST(
			      "new", 2) "grant: { rate: 1gbit }, floor: { rate: 1mbit } }\n");
		apply(HEAD "peers:\n" DEST("old", 1) "grant: { rate: 1gbit } }\n");
		rig_advance(RIG_SECOND);
	}
	text = many(254, ""); /* all except the one that is in force meanwhile */
	rig_policy(rig, text);
	free(text);
}

/* Applies two policies in turn, which may be the same. */
static void child_publishes(const char *even, const char *odd, unsigned times)
{
	struct bwl_policy *pol[2] = { parse(even), parse(odd) };
	struct bwl_pins *p = rig_pins(rig);
	struct bwl_err e = { 0 };
	unsigned i;

	for (i = 0; i < times; i++)
		if (bwl_publish(p, pol[i % 2], NULL, NULL, &e)) {
			fprintf(stderr, "# child: %s\n", e.text);
			_exit(1);
		}
	_exit(0);
}

/* Every destination answers according to one of the two policies, all to the same one. */
static void check_whole(unsigned n)
{
	struct bwl_policy *pol = read_back(rig->pins);
	const char *first;
	char spec[100];
	unsigned i;

	assert_int_equal(pol->npeers, n);
	first = pol->peers[0].zone[0] ? "zone-rate" : "pass";
	for (i = 0; i < n; i++) {
		assert_int_equal(!pol->peers[i].zone[0], !pol->peers[0].zone[0]);
		snprintf(spec, sizeof(spec), "eth ip4 src=10.0.7.2 dst=10.16.0.%u udp fill=1000",
			 i);
		assert_string_equal(host(spec), first);
	}
	bwl_policy_free(pol);
}

/* The same peers, in one of the policies within a zone that lets nothing pass. */
static char *variant(bool zone)
{
	char *peers = many(50, zone ? ", zone: z" : ""), *text = NULL;

	assert_true(asprintf(&text, "%s%s", peers,
			     zone ? "zones: { z: { rate: 1kbit, burst: 1518b } }\n" : "") > 0);
	free(peers);
	return text;
}

static void two_writers_take_turns(void **state)
{
	char *text[2] = { variant(false), variant(true) };
	pid_t pid[2];
	int status, i;

	(void)state;
	for (i = 0; i < 2; i++) {
		pid[i] = fork();
		if (!pid[i])
			child_publishes(text[i], text[i], 4);
	}
	for (i = 0; i < 2; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
	rig_advance(RIG_SECOND);
	/* one before each switch, and one after it */
	assert_int_equal(rig->pins->ctl->generation, 2 * 8);
	check_whole(50);
	free(text[0]);
	free(text[1]);
}

static void a_kill_at_any_moment_leaves_the_old_policy_or_the_new(void **state)
{
	char *text[2] = { variant(false), variant(true) };
	struct timespec nap = { 0 };
	int status, i;
	pid_t pid;

	(void)state;
	srandom(1);
	for (i = 0; i < (bwl_long() ? 25 : 8); i++) {
		uint32_t was = rig->pins->ctl->generation;

		pid = fork();
		if (!pid)
			child_publishes(text[0], text[1], 1000);
		/* At least once, on any machine: the zone's bucket would refill in 12 s. */
		for (nap.tv_nsec = 1000000; rig->pins->ctl->generation < was + 3;
		     nanosleep(&nap, NULL))
			assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
		nap.tv_nsec = random() % 60000000;
		nanosleep(&nap, NULL);
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		rig_advance(RIG_SECOND);
		check_whole(50);
	}
	rig_policy(rig, text[0]);
	rig_advance(RIG_SECOND);
	check_whole(50);
	/* 64 bytes at half of 1 Gbit/s: each of them passes. */
	for (i = 0; i < 1000; i++) {
		assert_string_equal(host("eth ip4 src=10.0.7.2 dst=10.16.0.7 udp"), "pass");
		rig_advance(1024);
	}
	free(text[0]);
	free(text[1]);
}

static unsigned asked_to_wait;

static void asks(void)
{
	asked_to_wait++;
}

/* The rig leaves that wait out where nobody else sends, so it is counted here that it is there. */
static void a_writer_waits_for_packets_in_flight(void **state)
{
	struct bwl_err e = { 0 };
	unsigned before;

	(void)state;
	rig_policy(rig, HEAD "peers:\n" DEST("a", 1) "grant: { rate: 1mbit } }\n");
	rig_on_grace = asks;
	asked_to_wait = 0;
	before = rig_graces;
	assert_int_equal(bwl_grace(rig->pins, &e), 0);
	assert_int_equal(asked_to_wait, 1);
	assert_int_equal(rig_graces, before); /* control: nobody else sends */
	rig_others_send = true;
	assert_int_equal(bwl_grace(rig->pins, &e), 0);
	assert_int_equal(asked_to_wait, 2);
	assert_int_equal(rig_graces, before + 1);
	before = rig_graces;
	rig_policy(rig, HEAD "peers:\n" DEST("a", 1) "grant: { rate: 2mbit } }\n");
	assert_true(rig_graces > before);
	rig_others_send = false;
	rig_on_grace = NULL;
}

static void pins_of_another_schema_are_refused(void **state)
{
	struct bwl_pins *p = NULL;
	struct bwl_schema was = rig->pins->schema, s = was;
	struct bwl_err e = { 0 };
	uint32_t zero = 0;
	int fd = rig->pins->fd[BWL_PIN_schema];

	(void)state;
	s.abi++;
	assert_int_equal(bpf_map_update_elem(fd, &zero, &s, 0), 0);
	assert_int_equal(bwl_pins_open(rig->dir, false, &p, &e), -EPROTO);
	s = was;
	s.layout ^= 1;
	assert_int_equal(bpf_map_update_elem(fd, &zero, &s, 0), 0);
	assert_int_equal(bwl_pins_open(rig->dir, false, &p, &e), -EPROTO);
	s = was;
	s.max_peers *= 2;
	assert_int_equal(bpf_map_update_elem(fd, &zero, &s, 0), 0);
	assert_int_equal(bwl_pins_open(rig->dir, false, &p, &e), -EPROTO);
	assert_int_equal(bwl_pins_open("/sys/fs/bpf/bwl-nothing-here", false, &p, &e), -ENOENT);
	assert_int_equal(bpf_map_update_elem(fd, &zero, &was, 0), 0);
	assert_int_equal(bwl_pins_open(rig->dir, false, &p, &e), 0);
	bwl_pins_close(p);
}

/* Parts of one process share the mappings; the last one to close them unmaps them. */
static void what_is_open_twice_is_mapped_once(void **state)
{
	struct bwl_pins *a, *b, *reader;
	struct bwl_err e = { 0 };
	uint32_t was = rig->pins->ctl->edits;

	(void)state;
	assert_int_equal(bwl_pins_open(rig->dir, true, &a, &e), 0);
	assert_int_equal(bwl_pins_open(rig->dir, true, &b, &e), 0);
	assert_int_equal(bwl_pins_open(rig->dir, false, &reader, &e), 0);
	assert_ptr_equal(a->ctl, rig->pins->ctl);
	assert_ptr_equal(a->state, b->state);
	assert_ptr_not_equal(reader->ctl, a->ctl); /* cannot write */
	bwl_pins_close(a);
	b->ctl->edits = was + 1;
	assert_int_equal(reader->ctl->edits, was + 1);
	bwl_pins_close(b);
	assert_int_equal(rig->pins->ctl->edits, was + 1);
	rig->pins->ctl->edits = was;
	bwl_pins_close(reader);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#ifdef __SANITIZE_ADDRESS__
#define LARGE 10000U /* libcyaml grows its list by one, and a sanitized realloc() always moves */
#else
#define LARGE 100000U
#endif

static void a_hundred_thousand_peers_come_in_at_once(void **state)
{
	char *text = many(LARGE, ""), last[100];
	struct bwl_publish_report rep = { 0 };
	struct bwl_policy *pol;
	struct bwl_err e = { 0 };
	double t0, t1, t2, t3;

	(void)state;
	t0 = seconds();
	pol = parse(text);
	t1 = seconds();
	assert_int_equal(bwl_publish(rig->pins, pol, NULL, &rep, &e), 0);
	t2 = seconds();
	assert_int_equal(bwl_publish(rig->pins, pol, NULL, &rep, &e), 0);
	t3 = seconds();
	assert_int_equal(rep.peers, LARGE);
	assert_int_equal(rep.added, 0);
	printf("# %u peers: read and checked in %.2f s, published in %.2f s, over itself in %.2f s, %llu MiB for both generations\n",
	       LARGE, t1 - t0, t2 - t1, t3 - t2, (unsigned long long)rep.map_bytes >> 20);
	rig_advance(RIG_SECOND);
	assert_string_equal(host("eth ip4 src=10.0.7.2 dst=10.16.0.0 udp"), "pass");
	snprintf(last, sizeof(last), "eth ip4 src=10.0.7.2 dst=10.%u.%u.%u udp",
		 16 + (LARGE - 1) / 65536, (LARGE - 1) / 256 % 256, (LARGE - 1) % 256);
	assert_string_equal(host(last), "pass");
	assert_string_equal(host("eth ip4 src=10.0.7.2 dst=10.17.134.160 udp"), "no-peer");
	bwl_policy_free(pol);
	free(text);
}

/* Every one has an account that another name takes over. */
static void a_hundred_thousand_renames_come_in_at_once(void **state)
{
	char *text = many(LARGE, ", classes: { other: { volume: 1gb } }"), *at;
	struct bwl_publish_report rep = { 0 };
	struct bwl_policy *pol = parse(text);
	struct bwl_err e = { 0 };
	double t0, t1;

	(void)state;
	assert_int_equal(bwl_publish(rig->pins, pol, NULL, &rep, &e), 0);
	bwl_policy_free(pol);
	for (at = text; (at = strstr(at, "name: n")); at += 6)
		at[6] = 'm';
	pol = parse(text);
	t0 = seconds();
	assert_int_equal(bwl_publish(rig->pins, pol, NULL, &rep, &e), 0);
	t1 = seconds();
	assert_int_equal(rep.inherited, LARGE);
	printf("# %u peers: renamed in %.2f s\n", LARGE, t1 - t0);
	assert_int_equal(bwl_publish(rig->pins, pol, NULL, &rep, &e), 0);
	assert_int_equal(rep.inherited, 0);
	bwl_policy_free(pol);
	free(text);
}

static int setup_large(void **state)
{
	(void)state;
	rig = rig_open(&(struct rig_opts){
		.host_only = true, .max_peers = LARGE + 1, .max_extras = LARGE + 100 });
	runs = 0;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(what_is_read_back_is_what_was_written),
		RIG_TEST(names_keep_their_ids),
		RIG_TEST(too_much_is_refused_and_changes_nothing),
		RIG_TEST(two_writers_take_turns),
		RIG_TEST(a_kill_at_any_moment_leaves_the_old_policy_or_the_new),
		RIG_TEST(a_writer_waits_for_packets_in_flight),
		RIG_TEST(pins_of_another_schema_are_refused),
		RIG_TEST(what_is_open_twice_is_mapped_once),
		cmocka_unit_test_setup_teardown(a_hundred_thousand_peers_come_in_at_once,
						setup_large, rig_teardown),
		cmocka_unit_test_setup_teardown(a_hundred_thousand_renames_come_in_at_once,
						setup_large, rig_teardown),
	};

	return cmocka_run_group_tests_name("tables", tests, NULL, NULL);
}
