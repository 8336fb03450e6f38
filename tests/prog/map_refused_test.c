// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel refuses to write, delete, read or make an entry of a map with an error that passes:
 * the first, a middle and the last one of each map that a policy needs, so often that a retry
 * helps, and more often. Then the error says which, of how many, and what is in force; and either
 * the whole old policy is in force or the whole new one. What was revoked stays revoked, and what
 * was spent stays spent.
 */
#include <bpf/bpf.h>
#include <bwl/map_io.h>
#define RIG_HOST_ONLY
#include "prog.h"

#define VIA ", path: clear, via: 192.0.2.1, via6: 'fe80::1', "
#define PEER(name, addr, more) "  - { name: " name ", addresses: [" addr "]" VIA more " }\n"
#define GRANT "grant: { rate: 1gbit }"
#define SPENT "grant: { rate: 1gbit, volume: 6400b }"
#define HEAD PORTS "heartbeat: none\npeers:\n"
#define OLD                                                                                        \
	HEAD PEER("old", "10.1.0.1, 10.3.0.0/24, 'fd00:1::1', 'fd00:3::/64'", GRANT)               \
		PEER("spent", "10.1.0.2, 'fd00:1::2'", SPENT)
#define FIRST OLD PEER("closed", "10.1.0.3, 'fd00:1::3'", GRANT) /* revoked, and it leaves */
#define NEW                                                                                        \
	HEAD PEER("new", "10.2.0.1, 10.2.0.4, 10.4.0.0/24, 10.5.0.0/24, 10.6.0.0/24",              \
		  GRANT) PEER("six", "'fd00:2::1', 'fd00:2::4', 'fd00:4::/64', 'fd00:5::/64'",     \
			      GRANT) PEER("heir", "10.1.0.2, 'fd00:1::2'", SPENT)                  \
		PEER("thief", "10.1.0.3, 'fd00:1::3'",                                             \
		     GRANT) "  - { name: tray, addresses: [10.7.0.1], grant: { rate: 1gbit },"     \
			    " ipsec: { remote: 192.0.2.7 } }\n"
#define TO4(to) "eth ip4 src=10.0.7.2 dst=" to " udp"
#define TO6(to) "eth ip6 src=fd00:7::2 dst=" to " udp"

enum op { PUT, DELETE, GET, NEXT_KEY, MAKE, PIN, OPS };
static const char *const op_name[] = { "put", "delete", "get", "next", "make", "pin" };

/* What a policy did to a map. */
struct seen {
	char map[BPF_OBJ_NAME_LEN];
	enum op op;
	unsigned n;
};
static struct seen seen[200];
static unsigned nseen;

/* What is refused now: from the at-th on, so many times. */
static struct {
	bool counts;
	const struct seen *what;
	unsigned at, times, err, done;
} refuse;

static void name_of(int fd, char name[static BPF_OBJ_NAME_LEN])
{
	struct bpf_map_info info = { 0 };
	__u32 len = sizeof(info);

	assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &len), 0);
	memcpy(name, info.name, BPF_OBJ_NAME_LEN);
}

static struct seen *find(enum op op, const char *map)
{
	for (unsigned i = 0; i < nseen; i++)
		if (seen[i].op == op && !strcmp(seen[i].map, map))
			return &seen[i];
	assert_true(nseen < sizeof(seen) / sizeof(seen[0]));
	seen[nseen].op = op;
	snprintf(seen[nseen].map, sizeof(seen[nseen].map), "%s", map);
	return &seen[nseen++];
}

/* So many of the next n entries are let through; *ret_refused: then one is refused. */
static unsigned let(enum op op, const char *map, unsigned n, bool *ret_refused)
{
	*ret_refused = false;
	if (refuse.counts)
		find(op, map)->n += n;
	if (!refuse.what || refuse.what->op != op || strcmp(refuse.what->map, map) != 0)
		return n;
	if (refuse.times && refuse.done <= refuse.at && refuse.at < refuse.done + n) {
		n = refuse.at - refuse.done;
		refuse.times--;
		*ret_refused = true;
	}
	refuse.done += n;
	return n;
}

static bool is_refused(enum op op, int fd, const char *made)
{
	char map[BPF_OBJ_NAME_LEN];
	bool refused;

	if (!refuse.counts && !refuse.what)
		return false;
	if (made)
		snprintf(map, sizeof(map), "%s", made);
	else
		name_of(fd, map);
	let(op, map, 1, &refused);
	if (refused)
		errno = (int)refuse.err;
	return refused;
}

#define WRAPPED(op, made, name, params, args)                                                      \
	int __real_##name params;                                                                  \
	int __wrap_##name params;                                                                  \
	int __wrap_##name params                                                                   \
	{                                                                                          \
		return is_refused(op, fd, made) ? -errno : __real_##name args;                     \
	}

WRAPPED(PUT, NULL, bpf_map_update_elem, (int fd, const void *key, const void *v, __u64 flags),
	(fd, key, v, flags))
WRAPPED(DELETE, NULL, bpf_map_delete_elem, (int fd, const void *key), (fd, key))
WRAPPED(GET, NULL, bpf_map_lookup_elem, (int fd, const void *key, void *v), (fd, key, v))
WRAPPED(GET, NULL, bpf_map_lookup_batch,
	(int fd, void *in, void *out, void *keys, void *values, __u32 *n,
	 const struct bpf_map_batch_opts *o),
	(fd, in, out, keys, values, n, o))
WRAPPED(NEXT_KEY, NULL, bpf_map_get_next_key, (int fd, const void *key, void *next),
	(fd, key, next))
WRAPPED(PIN, NULL, bpf_obj_pin, (int fd, const char *path), (fd, path))

int __real_bpf_map_create(enum bpf_map_type type, const char *name, __u32 key, __u32 value, __u32 n,
			  const struct bpf_map_create_opts *o);
int __wrap_bpf_map_create(enum bpf_map_type type, const char *name, __u32 key, __u32 value, __u32 n,
			  const struct bpf_map_create_opts *o);
int __wrap_bpf_map_create(enum bpf_map_type type, const char *name, __u32 key, __u32 value, __u32 n,
			  const struct bpf_map_create_opts *o)
{
	return is_refused(MAKE, -1, name) ? -errno
					  : __real_bpf_map_create(type, name, key, value, n, o);
}

int __real_bpf_map_update_batch(int fd, const void *keys, const void *values, __u32 *n,
				const struct bpf_map_batch_opts *o);
int __wrap_bpf_map_update_batch(int fd, const void *keys, const void *values, __u32 *n,
				const struct bpf_map_batch_opts *o);
/* Before the first entry the number stays as it was, as in kernels up to 6.8. */
int __wrap_bpf_map_update_batch(int fd, const void *keys, const void *values, __u32 *n,
				const struct bpf_map_batch_opts *o)
{
	char map[BPF_OBJ_NAME_LEN];
	bool refused = false;
	uint32_t some = *n;
	int r = 0;

	name_of(fd, map);
	if (refuse.counts || refuse.what)
		some = let(PUT, map, *n, &refused);
	if (some || !refused)
		r = __real_bpf_map_update_batch(fd, keys, values, &some, o);
	if (some)
		*n = some;
	if (!r && refused) {
		errno = (int)refuse.err;
		r = -errno;
	}
	return r;
}

static void expect_old(void)
{
	EXPECT(host, { TO4("10.1.0.1"), "pass" }, { TO6("fd00:1::1"), "pass" },
	       { TO4("10.3.0.9"), "pass" }, { TO6("fd00:3::9"), "pass" },
	       { TO4("10.2.0.1"), "no-peer" }, { TO4("10.4.0.9"), "no-peer" },
	       { TO6("fd00:2::1"), "no-peer" }, { TO6("fd00:4::9"), "no-peer" },
	       { TO4("10.1.0.2"), "peer-volume" }, { TO6("fd00:1::2"), "peer-volume" },
	       { TO4("10.1.0.3"), "no-peer" }, { TO6("fd00:1::3"), "no-peer" });
}

static void expect_new(void)
{
	EXPECT(host, { TO4("10.2.0.1"), "pass" }, { TO4("10.2.0.4"), "pass" },
	       { TO4("10.4.0.9"), "pass" }, { TO4("10.5.0.9"), "pass" },
	       { TO4("10.6.0.9"), "pass" }, { TO6("fd00:2::1"), "pass" },
	       { TO6("fd00:2::4"), "pass" }, { TO6("fd00:4::9"), "pass" },
	       { TO6("fd00:5::9"), "pass" }, { TO4("10.1.0.1"), "no-peer" },
	       { TO6("fd00:1::1"), "no-peer" }, { TO4("10.3.0.9"), "no-peer" },
	       { TO6("fd00:3::9"), "no-peer" }, { TO4("10.1.0.2"), "peer-volume" },
	       { TO6("fd00:1::2"), "peer-volume" }, { TO4("10.1.0.3"), "revoked" },
	       { TO6("fd00:1::3"), "revoked" });
}

static void reopen(void)
{
	bwl_pins_close(rig->pins);
	rig->pins = rig_pins(rig);
}

/* Not only the first frame: at half of the rate nothing is refused, by IPv4 and IPv6. */
static void all_pass(const char *four, const char *six)
{
	for (unsigned i = 0; i < 1000; i++) {
		assert_string_equal(host(i % 2 ? six : four), "pass");
		rig_advance(2 * 64 * 8); /* 64 bytes at 1 Gbit/s take 512 ns */
	}
}

/* One peer has spent its volume; one was revoked, and left. */
static void spend_and_revoke(void)
{
	struct bwl_err e = { 0 };
	unsigned n = 0;

	rig_policy(rig, FIRST);
	rig_advance(RIG_SECOND);
	EXPECT(host, { TO4("10.1.0.3"), "pass" }, { TO6("fd00:1::3"), "pass" });
	while (!strcmp(host(TO4("10.1.0.2")), "pass"))
		n++;
	assert_int_equal(n, 100);
	assert_int_equal(bwl_revoke(rig->pins, "closed", &e), 0);
	EXPECT(host, { TO4("10.1.0.3"), "revoked" }, { TO6("fd00:1::3"), "revoked" });
	rig_policy(rig, OLD);
	rig_advance(RIG_SECOND);
	expect_old();
}

static void begin(void)
{
	spend_and_revoke();
	/* Both ways once, so that every name has its id. */
	rig_policy(rig, NEW);
	rig_advance(RIG_SECOND);
	expect_new();
	rig_policy(rig, OLD);
	rig_advance(RIG_SECOND);
	expect_old();
}

static void count(void)
{
	struct bwl_err e = { 0 };

	nseen = 0;
	refuse.counts = true;
	assert_int_equal(rig_try_policy(rig, NEW, NULL, NULL, &e), 0);
	refuse.counts = false;
	rig_advance(RIG_SECOND);
	expect_new();
}

static int try_with(const struct seen *what, unsigned at, unsigned times, int err,
		    struct bwl_err *e)
{
	int r;

	*e = (struct bwl_err){ 0 };
	reopen(); /* the last writer's lock is gone, and so is what it had mapped */
	memset(&refuse, 0, sizeof(refuse));
	refuse.what = what;
	refuse.at = at;
	refuse.times = times;
	refuse.err = (unsigned)err;
	r = rig_try_policy(rig, NEW, NULL, NULL, e);
	refuse.what = NULL;
	rig_advance(RIG_SECOND);
	return r;
}

static bool says(const struct bwl_err *e, const char *what)
{
	if (strstr(e->text, what))
		return true;
	print_error("\"%s\" does not say \"%s\"\n", e->text, what);
	return false;
}

/* A map of this policy alone: the error says which of its entries it was. */
static bool is_counted(const struct seen *s)
{
	return s->op == PUT && !strstr(s->map, "_v1");
}

static void one_is_refused(const struct seen *s, unsigned at, unsigned times)
{
	char entry[64];
	struct bwl_err e;
	bool is_new;
	int r;

	rig_policy(rig, OLD);
	rig_advance(RIG_SECOND);
	r = try_with(s, at, times, ENOMEM, &e);
	if (times <= BWL_RETRIES && r)
		fail_msg("%s %s %u, %u times: %s", op_name[s->op], s->map, at, times, e.text);
	if (!r) {
		expect_new();
		return;
	}
	assert_int_equal(r, -ENOMEM);
	is_new = !strcmp(host(TO4("10.1.0.1")), "no-peer");
	if (!is_new) {
		expect_old();
		assert_true(says(&e, "the policy before stays"));
	} else {
		EXPECT(host, { TO6("fd00:1::1"), "no-peer" }, { TO6("fd00:3::9"), "no-peer" },
		       { TO4("10.1.0.3"), "revoked" }, { TO6("fd00:1::3"), "revoked" },
		       { TO4("10.1.0.2"), "peer-volume" });
		assert_true(says(&e, "the new policy is in force"));
	}
	assert_true(says(&e, "tried 6 times"));
	assert_non_null(e.id);
	assert_string_equal(e.id, BWL_MAP_REFUSED);
	assert_non_null(strstr(e.hint, "do it again"));
	if (is_counted(s)) {
		snprintf(entry, sizeof(entry), "entry %u of %u of map %s", at + 1, s->n, s->map);
		assert_true(says(&e, entry));
	}
	/* What the hint says helps. */
	reopen();
	rig_policy(rig, NEW);
	rig_advance(RIG_SECOND);
	expect_new();
}

static void an_error_that_passes_fails_no_policy_and_one_that_stays_leaves_a_whole_one(void **state)
{
	static const unsigned times[] = { 1, BWL_RETRIES, BWL_RETRIES + 1, 1000 };
	unsigned puts = 0, counted = 0;

	(void)state;
	begin();
	count();
	for (unsigned i = 0; i < nseen; i++) {
		const struct seen *s = &seen[i];
		unsigned last = s->n - 1, at[] = { 0, last / 2, last };

		puts += s->op == PUT;
		counted += is_counted(s) && s->n > 1;
		for (unsigned k = 0; k < 3; k++)
			for (unsigned t = 0; t < sizeof(times) / sizeof(times[0]); t++)
				if (!k || at[k] != at[k - 1])
					one_is_refused(s, at[k], times[t]);
	}
	/* Each map of a policy was written, and five of them entry by entry. */
	assert_true(puts >= 9);
	assert_int_equal(counted, 5);
	all_pass(TO4("10.2.0.1"), TO6("fd00:2::1"));
	all_pass(TO4("10.6.0.9"), TO6("fd00:5::9"));
}

/* Also a reading in the middle: the generations are read again before each wait for packets. */
static void whichever_reading_of_the_generations_is_refused_the_error_says_what_stays(void **state)
{
	const struct seen *s;

	(void)state;
	begin();
	count();
	s = find(GET, "bwl_base_v1");
	assert_true(s->n > 2);
	for (unsigned k = 0; k < s->n; k++)
		one_is_refused(s, k, 1000);
}

/*
 * Who takes the prefixes of a peer that was revoked, or has spent its volume, is found by walks
 * over maps: a walk that an error ends is not one that has come to its end.
 */
static void what_could_not_be_read_is_not_taken_for_nothing(void **state)
{
	static const enum op ops[] = { NEXT_KEY, GET };
	static const char *const maps[] = { "bwl_retired_v1", "bwl_lpm4", "bwl_lpm6", "bwl_dst4",
					    "bwl_dst6" };
	static const unsigned times[] = { BWL_RETRIES + 1, 1000 };
	unsigned o, m, t, k, tried = 0;
	struct bwl_err e;

	(void)state;
	for (o = 0; o < 2; o++)
		for (m = 0; m < sizeof(maps) / sizeof(maps[0]); m++)
			for (t = 0; t < 2; t++)
				for (k = 0; k < (m ? 1 : 8); k++) {
					rig_teardown(NULL);
					rig_setup(NULL);
					spend_and_revoke();
					if (try_with(find(ops[o], maps[m]), k, times[t], ENOMEM,
						     &e)) {
						expect_old();
						tried++;
						reopen();
						rig_policy(rig, NEW);
						rig_advance(RIG_SECOND);
					}
					expect_new();
				}
	assert_true(tried > 20);
}

static void try_noting(const char *policy, const struct bwl_publish_opts *o)
{
	static const struct seen note = { .map = "bwl_given_v1", .op = PUT };
	struct bwl_err e = { 0 };

	reopen();
	memset(&refuse, 0, sizeof(refuse));
	refuse.what = &note;
	refuse.times = 1000;
	refuse.err = ENOMEM;
	if (policy)
		assert_int_equal(rig_try_policy(rig, policy, o, NULL, &e), 0);
	else
		assert_int_equal(bwl_rollback(rig->pins, &e), 0);
	assert_true(refuse.times < 1000);
	refuse.what = NULL;
	reopen();
	rig_advance(RIG_SECOND);
}

/* What is owed where a peer gives a prefix up is noted after the switch. */
static void a_note_that_is_refused_fails_no_policy_and_no_way_back_and_is_made_later(void **state)
{
	static const char both[] = HEAD PEER("one", "10.1.0.2, 10.3.0.0/24, 'fd00:3::/64'", SPENT);
	static const char fewer[] = HEAD PEER("one", "10.1.0.2", SPENT);
	const struct bwl_publish_opts trial = { .confirm_ns = 100 * RIG_SECOND };
	struct bwl_err e = { 0 };
	unsigned n = 0;

	(void)state;
	rig_policy(rig, both);
	rig_advance(RIG_SECOND);
	while (n < 60 && !strcmp(host(n % 2 ? TO4("10.3.0.1") : TO6("fd00:3::1")), "pass"))
		n++;
	assert_int_equal(n, 60);
	try_noting(fewer, &trial);
	EXPECT(host, { TO4("10.3.0.1"), "no-peer" }, { TO6("fd00:3::1"), "no-peer" });
	try_noting(NULL, NULL);
	EXPECT(host, { TO4("10.3.0.1"), "pass" }, { TO6("fd00:3::1"), "pass" });
	/* As bwlimitd does it. */
	try_noting(fewer, NULL);
	assert_true(bwl_is_unsettled(rig->pins));
	assert_int_equal(bwl_settle_held(rig->dir, &e), 0);
	assert_false(bwl_is_unsettled(rig->pins));
	rig_policy(rig, HEAD PEER("one", "10.1.0.2", SPENT)
				PEER("two", "10.3.0.0/24, 'fd00:3::/64'", SPENT));
	rig_advance(RIG_SECOND);
	for (n = 0; n < 200 && !strcmp(host(TO4("10.3.0.1")), "pass"); n++)
		;
	assert_int_equal(n, 100 - 62);
}

static uint64_t rate_of(const char *name)
{
	struct bwl_gen g;
	uint64_t rate;

	assert_int_equal(bwl_gen_open(rig->pins, bwl_active_slot(rig->pins), &g, NULL), 0);
	rate = bwl_rate_decode(
		&bwl_body(rig->pins, &g, bwl_peer_id(rig->pins, &g, name))->grant.rate);
	bwl_gen_close(&g);
	return rate;
}

/* One grant is changed by one word; what follows it may be refused. */
static void a_change_that_is_in_force_is_called_that(void **state)
{
	const struct bwl_change c = { .set = BWL_SET_RATE, .lim.rate_bps = 1000000 };
	struct bwl_err e = { 0 };

	(void)state;
	rig_policy(rig, OLD);
	rig_advance(RIG_SECOND);
	memset(&refuse, 0, sizeof(refuse));
	refuse.times = BWL_RETRIES + 1;
	refuse.err = ENOMEM;
	refuse.what = find(PUT, "bwl_base_v1");
	assert_int_equal(bwl_peer_change(rig->pins, "old", &c, &e), -ENOMEM);
	refuse.what = NULL;
	assert_true(says(&e, "tried 6 times; the change is in force"));
	assert_int_equal(rate_of("old"), 1000000);
	refuse.times = BWL_RETRIES;
	refuse.done = 0;
	refuse.what = find(PUT, "bwl_base_v1");
	assert_int_equal(bwl_peer_change(rig->pins, "old", &c, &e), 0);
	refuse.what = NULL;
}

/* Which errors pass, and which are an answer. */
static void only_errors_that_pass_are_tried_again(void **state)
{
	static const int passing[] = { ENOMEM, EAGAIN, EBUSY, EDEADLK, ETIMEDOUT, EINTR },
			 final[] = { E2BIG, ENOSPC, EPERM, EINVAL };
	struct seen *s = find(PUT, "bwl_lpm4");
	struct bwl_err e;

	(void)state;
	begin();
	for (unsigned i = 0; i < sizeof(passing) / sizeof(passing[0]); i++) {
		rig_policy(rig, OLD);
		assert_int_equal(try_with(s, 1, BWL_RETRIES, passing[i], &e), 0);
		expect_new();
	}
	for (unsigned i = 0; i < sizeof(final) / sizeof(final[0]); i++) {
		rig_policy(rig, OLD);
		rig_advance(RIG_SECOND);
		assert_int_equal(try_with(s, 1, 1, final[i], &e), -final[i]);
		assert_int_equal(refuse.times, 0);
		assert_null(e.id);
		assert_true(says(&e, "entry 2 of 3 of map bwl_lpm4_v1 (10.5.0.0/24 of new)"));
		expect_old();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(
			an_error_that_passes_fails_no_policy_and_one_that_stays_leaves_a_whole_one),
		RIG_TEST(whichever_reading_of_the_generations_is_refused_the_error_says_what_stays),
		RIG_TEST(what_could_not_be_read_is_not_taken_for_nothing),
		RIG_TEST(a_note_that_is_refused_fails_no_policy_and_no_way_back_and_is_made_later),
		RIG_TEST(a_change_that_is_in_force_is_called_that),
		RIG_TEST(only_errors_that_pass_are_tried_again),
	};

	return cmocka_run_group_tests_name("map_refused", tests, NULL, NULL);
}
