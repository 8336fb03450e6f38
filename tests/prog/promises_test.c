// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Promises 2, 3 and 9 in random sequences of what an operator, or an incident, can do: policies
 * applied and tried, confirmed or not, names and prefixes that move, split and merge, windows that
 * shrink and grow, revocations and grants; under a flood at every destination, also while a writer
 * waits for packets in flight. The reference knows the promises only, not how they are kept. It
 * looks at destinations, whatever name they have:
 *
 *   rate     in every interval of length T at most rate * T + burst
 *   volume   when a byte passes under a window, that window's length of the past holds at most the
 *            volume
 *   closed   nothing after a revocation by any name that has the destination, in the policy in
 *            force or in the one that a trial returns to, until a grant; nothing after a trial's
 * end
 *
 * MODEL_SEED=N: one sequence. MODEL_ROUNDS=N: so many.
 */
#define RIG_HOST_ONLY
#include "prog.h"

#define NDESTS 4
#define NNAMES 6
#define RATE 10000000ULL /* bit/s */
#define BURST 30000ULL
#define VOLUME 60000ULL
#define FRAME 1000
#define MOST 4000 /* frames that pass in a sequence */
#define STEPS 14

static const char *const name[NNAMES] = { "a", "b", "c", "d", "e", "f" };
/* Peers cover destinations 10.1.0.2 to .5: one, a pair, or all. */
static const struct {
	const char *v4, *v6;
	unsigned first, last;
} places[] = {
	{ "10.1.0.2", "'fd00:1::2'", 0, 0 },        { "10.1.0.3", "'fd00:1::3'", 1, 1 },
	{ "10.1.0.4", "'fd00:1::4'", 2, 2 },        { "10.1.0.5", "'fd00:1::5'", 3, 3 },
	{ "10.1.0.2/31", "'fd00:1::2/127'", 0, 1 }, { "10.1.0.4/31", "'fd00:1::4/127'", 2, 3 },
	{ "10.1.0.0/29", "'fd00:1::/125'", 0, 3 },
};
#define NPLACES (sizeof(places) / sizeof(places[0]))
static const struct {
	const char *text;
	uint64_t ns;
} window[] = {
	{ "", 0 },
	{ " per 11s", 11 * RIG_SECOND },
	{ " per 1h", 3600 * RIG_SECOND },
	{ " per 1d", 86400 * RIG_SECOND },
};

struct policy {
	bool any;
	int name[NDESTS]; /* -1: nobody has it */
	bool exact[NPLACES];
	int of_place[NPLACES]; /* -1: not in it */
	unsigned window;
	bool zone;
	int zone_name;
};

/* What the reference knows. */
static struct {
	struct policy now, before;
	uint64_t trial_ns; /* 0: no trial */
	bool closed[NDESTS];
	/*
	 * The longest window that each destination has had, since when, and the longest one before:
	 * no promise was given for more than that.
	 */
	uint64_t longest[NDESTS], longest_at[NDESTS], longest_before[NDESTS];
	unsigned windows[2]; /* that policies of this sequence have */
	bool zones;          /* in this sequence a zone has the limit, not each grant */
	struct {
		uint64_t at;
		unsigned dest;
	} sent[MOST];
	unsigned nsent;
} ref;

static uint64_t seed, state;
static char told[8000]; /* what was done, for whoever reads a failure */

static uint64_t rnd(void)
{
	uint64_t z = (state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static unsigned below(unsigned n)
{
	return (unsigned)(rnd() % n);
}

static void tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void tell(const char *fmt, ...)
{
	size_t n = strlen(told);
	va_list args;

	va_start(args, fmt);
	vsnprintf(told + n, sizeof(told) - n, fmt, args);
	va_end(args);
}

static void __attribute__((format(printf, 1, 2))) broken(const char *fmt, ...)
{
	char text[300];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	fputs(told, stderr);
	fail_msg("MODEL_SEED=%llu: %s", (unsigned long long)seed, text);
}

/* Every interval that ends with this frame. */
static void check_rate(unsigned dest)
{
	uint64_t now = rig_now(), sum = 0;
	unsigned i;

	for (i = ref.nsent; i-- > 0;) {
		if (ref.sent[i].dest != dest)
			continue;
		sum += FRAME;
		if ((double)sum >
		    (double)RATE * (double)(now - ref.sent[i].at) / 8e9 + (double)BURST)
			broken("%u: %llu bytes in %llu us", dest, (unsigned long long)sum,
			       (unsigned long long)(now - ref.sent[i].at) / 1000);
	}
}

static void check_volume(unsigned dest)
{
	uint64_t now = rig_now(), of = window[ref.now.window].ns, sum = 0;
	uint64_t known = ref.longest_at[dest] - ref.longest_before[dest];
	unsigned i;

	for (i = 0; of && i < ref.nsent; i++)
		sum += ref.sent[i].dest == dest && now - ref.sent[i].at < of &&
				       ref.sent[i].at > known
			       ? FRAME
			       : 0;
	if (sum > VOLUME)
		broken("%u: %llu bytes%s", dest, (unsigned long long)sum,
		       window[ref.now.window].text);
}

static void passed(unsigned dest)
{
	if (ref.nsent == MOST)
		broken("more than %u frames", MOST);
	ref.sent[ref.nsent].dest = dest;
	ref.sent[ref.nsent++].at = rig_now();
	if (ref.closed[dest])
		broken("%u was revoked", dest);
	if (ref.trial_ns && rig_now() >= ref.trial_ns)
		broken("%u passes after the trial's end", dest);
	check_rate(dest);
	check_volume(dest);
}

/* As much as passes, to all of them; by IPv6 every other time. */
static unsigned flood(void)
{
	static bool six;
	unsigned d, n = 0;
	char spec[100];

	six = !six;
	for (d = 0; d < NDESTS; d++) {
		if (six)
			snprintf(spec, sizeof(spec),
				 "eth ip6 src=fd00:7::2 dst=fd00:1::%u udp fill=938", d + 2);
		else
			snprintf(spec, sizeof(spec),
				 "eth ip4 src=10.0.7.2 dst=10.1.0.%u udp fill=958", d + 2);
		while (!strcmp(host(spec), "pass")) {
			passed(d);
			n++;
		}
	}
	return n;
}

static void flood_meanwhile(void)
{
	flood();
	rig_advance(1 + below(3) * 4000000);
	flood();
}

/* Who has which destination: the narrowest place decides. */
static void name_dests(struct policy *p)
{
	unsigned i, d;

	for (d = 0; d < NDESTS; d++)
		p->name[d] = -1;
	for (i = NPLACES; i-- > 0;)
		for (d = places[i].first; p->of_place[i] >= 0 && d <= places[i].last; d++)
			p->name[d] = p->of_place[i];
}

static void make(struct policy *p)
{
	bool used[NNAMES] = { false };
	unsigned i, n = 0;

	*p = (struct policy){ .any = true,
			      .window = ref.windows[below(2)],
			      .zone = ref.zones,
			      .zone_name = (int)below(3) };
	for (i = 0; i < NPLACES; i++) {
		unsigned k = below(NNAMES);

		p->of_place[i] = -1;
		if (below(3) || used[k])
			continue;
		used[k] = true;
		p->of_place[i] = (int)k;
		n++;
	}
	if (!n)
		make(p);
	name_dests(p);
}

/* Often little changes: the window, the zone's name, or one peer's name. */
static void change(const struct policy *from, struct policy *ret)
{
	unsigned i, at = below(NPLACES);
	int to = (int)below(NNAMES);

	if (!from->any || !below(2)) {
		make(ret);
		return;
	}
	*ret = *from;
	if (below(2))
		ret->window = ref.windows[below(2)];
	if (below(2))
		ret->zone_name = (int)below(3);
	for (i = 0; i < NPLACES && ret->of_place[i] != to; i++)
		;
	if (i == NPLACES && ret->of_place[at] >= 0)
		ret->of_place[at] = to;
	name_dests(ret);
}

static bool has(const struct policy *p, int k)
{
	for (unsigned i = 0; p->any && i < NPLACES; i++)
		if (p->of_place[i] == k)
			return true;
	return false;
}

/* Is the name, or one that is it renamed (it has exactly a prefix of that one), in both? */
static bool goes_on(const struct policy *from, const struct policy *to, int k)
{
	for (unsigned i = 0; i < NPLACES; i++)
		if (to->of_place[i] == k && from->of_place[i] >= 0 && !has(to, from->of_place[i]))
			return true;
	return has(from, k);
}

/*
 * A destination that goes to a grant that was there before, and has not been used up, gets what
 * that one still may: two grants are merged, and neither passes more than its own. Not asked here.
 */
static bool merges(const struct policy *from, const struct policy *to)
{
	for (unsigned d = 0; from->any && d < NDESTS; d++) {
		int x = from->name[d], y = to->name[d];

		if (x != y && y >= 0 && x >= 0 && goes_on(from, to, y))
			return true;
	}
	return false;
}

static const char *text_of(const struct policy *p)
{
	static char text[4000];
	const char *w = window[p->window].text;
	size_t n;

	n = (size_t)snprintf(text, sizeof(text), PORTS "heartbeat: none\n");
	if (p->zone)
		n += (size_t)snprintf(
			text + n, sizeof(text) - n,
			"zones: { z%d: { rate: 10mbit, burst: 30000b, volume: 60000b%s } }\n",
			p->zone_name, w);
	n += (size_t)snprintf(text + n, sizeof(text) - n, "peers:\n");
	for (unsigned i = 0; i < NPLACES; i++) {
		if (p->of_place[i] < 0)
			continue;
		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "  - { name: %s, addresses: [%s, %s], path: clear,"
				      " via: 192.0.2.1, via6: 'fe80::1', ",
				      name[p->of_place[i]], places[i].v4, places[i].v6);
		n += p->zone ? (size_t)snprintf(text + n, sizeof(text) - n,
						"zone: z%d, grant: { rate: 1tbit, burst: 1mb } }\n",
						p->zone_name)
			     : (size_t)snprintf(text + n, sizeof(text) - n,
						"grant: { rate: 10mbit, burst: 30000b,"
						" volume: 60000b%s } }\n",
						w);
	}
	return text;
}

/* Until the call returns either may be in force, so the shorter window counts. */
static void shorter_counts(const struct policy *p)
{
	if (p->window && (!ref.now.window || window[p->window].ns < window[ref.now.window].ns))
		ref.now.window = p->window;
	if (!p->any || !p->window) /* a total: by no window */
		ref.now.window = 0;
}

static void note_longest(const struct policy *p)
{
	for (unsigned d = 0; d < NDESTS; d++) {
		if (p->name[d] < 0 || window[p->window].ns <= ref.longest[d])
			continue;
		ref.longest_before[d] = ref.longest[d];
		ref.longest_at[d] = rig_now();
		ref.longest[d] = window[p->window].ns;
	}
}

static void put_in_force(const struct policy *p, const struct bwl_publish_opts *o)
{
	const struct policy was = ref.now;
	struct bwl_err e = { 0 };

	ref.trial_ns = 0;
	shorter_counts(p);
	note_longest(p);
	rig->pins->ctl->fresh_volume = !was.any;
	if (rig_try_policy(rig, text_of(p), o, NULL, &e))
		fail_msg("%s", e.text);
	ref.before = was;
	ref.now = *p;
	ref.trial_ns = o->confirm_ns ? rig_now() + o->confirm_ns : 0;
}

static void apply_one(bool trial)
{
	struct bwl_publish_opts o = { .confirm_ns = trial ? (1 + below(30)) * RIG_SECOND : 0 };
	struct bwl_err e = { 0 };
	struct policy next;
	unsigned tries = 0;

	do
		change(&ref.now, &next);
	while (merges(&ref.now, &next) && ++tries < 100);
	if (tries == 100 || (trial && merges(&next, &ref.now)))
		return;
	tell("%s%s", trial ? "TRIAL " : "APPLY ", strstr(text_of(&next), "heartbeat: none\n") + 16);
	if (ref.trial_ns) { /* before its end and after it */
		assert_int_equal(rig_try_policy(rig, text_of(&next), &o, NULL, &e), -EBUSY);
		return;
	}
	put_in_force(&next, &o);
}

static void return_one(void)
{
	struct bwl_err e = { 0 };
	struct policy before = ref.before;

	if (!ref.trial_ns)
		return;
	tell("ROLLBACK\n");
	shorter_counts(&before);
	ref.trial_ns = 0;
	if (bwl_rollback(rig->pins, &e))
		fail_msg("%s", e.text);
	ref.now = before;
}

static void confirm_one(void)
{
	struct bwl_err e = { 0 };

	if (!ref.trial_ns)
		return;
	tell("CONFIRM\n");
	if (rig_now() >= ref.trial_ns) {
		assert_int_equal(bwl_confirm(rig->pins, &e), -EBUSY);
		return;
	}
	assert_int_equal(bwl_confirm(rig->pins, &e), 0);
	ref.trial_ns = 0;
}

static void revoke_one(void)
{
	struct bwl_err e = { 0 };
	int k = (int)below(NNAMES);
	unsigned d;

	tell("REVOKE %s\n", name[k]);
	if (bwl_revoke(rig->pins, name[k], &e)) {
		if (e.code != ENOENT || has(&ref.now, k) || (ref.trial_ns && has(&ref.before, k)))
			broken("revoke %s: %s", name[k], e.text);
		return;
	}
	for (d = 0; d < NDESTS; d++)
		if ((ref.now.any && ref.now.name[d] == k) ||
		    (ref.trial_ns && ref.before.any && ref.before.name[d] == k))
			ref.closed[d] = true;
}

static void grant_one(void)
{
	const struct bwl_change c = { .set = BWL_SET_AUTHORISE };
	struct bwl_err e = { 0 };
	int k = (int)below(NNAMES), r;
	unsigned d;

	tell("GRANT %s\n", name[k]);
	for (d = 0; d < NDESTS; d++) /* before: what it opens may pass at once */
		if (ref.now.any && ref.now.name[d] == k && !ref.trial_ns)
			ref.closed[d] = false;
	r = bwl_peer_change(rig->pins, name[k], &c, &e);
	assert_int_equal(r, ref.trial_ns ? -EBUSY : has(&ref.now, k) ? 0 : -ENOENT);
}

static void some_time(void)
{
	/* twice what empties the shortest window */
	static const uint64_t ns[] = { 1000,
				       1000000,
				       30000000,
				       RIG_SECOND,
				       12 * RIG_SECOND,
				       40 * RIG_SECOND,
				       3700 * RIG_SECOND,
				       50000 * RIG_SECOND };
	uint64_t by = ns[below(8)];

	tell("WAIT %llu us\n", (unsigned long long)by / 1000);
	rig_advance(by);
}

static void step(void)
{
	switch (below(12)) {
	case 0 ... 2:
		apply_one(false);
		break;
	case 3 ... 4:
		apply_one(true);
		break;
	case 5:
		return_one();
		break;
	case 6:
		confirm_one();
		break;
	case 7:
		revoke_one();
		break;
	case 8:
		grant_one();
		break;
	default:
		some_time();
	}
	flood();
}

/* Control: after all that, whoever is granted gets through. */
static void all_is_open_again(void)
{
	const struct bwl_change c = { .set = BWL_SET_AUTHORISE };
	const struct bwl_publish_opts o = { 0 };
	struct bwl_err e = { 0 };
	struct policy p;
	unsigned i;

	if (ref.trial_ns)
		return_one();
	ref.windows[0] = ref.windows[1] = 1 + below(3);
	do
		make(&p);
	while (merges(&ref.now, &p));
	tell("END\n");
	tell("%s", text_of(&p));
	put_in_force(&p, &o);
	memset(ref.closed, 0, sizeof(ref.closed)); /* from here on: what it opens passes at once */
	for (i = 0; i < NPLACES; i++)
		if (p.of_place[i] >= 0)
			assert_int_equal(bwl_peer_change(rig->pins, name[p.of_place[i]], &c, &e),
					 0);
	/* The first packet after a change of a window's length begins its slices: once more. */
	rig_advance(3 * 86400 * RIG_SECOND);
	flood();
	rig_advance(3 * 86400 * RIG_SECOND);
	if (!flood())
		broken("nothing passes at the end");
}

static void sequence(uint64_t n)
{
	unsigned i;

	seed = state = n;
	*told = '\0';
	memset(&ref, 0, sizeof(ref));
	ref.zones = !below(4);
	ref.windows[0] = below(4);
	ref.windows[1] = below(4);
	rig_teardown(NULL);
	rig_setup(NULL);
	rig_set_clock(1000000 * RIG_SECOND);
	rig_on_grace = flood_meanwhile;
	for (i = 0; i < STEPS; i++)
		step();
	all_is_open_again();
	rig_on_grace = NULL;
}

static void whatever_is_done_the_promises_hold(void **st)
{
	const char *one = getenv("MODEL_SEED"), *many = getenv("MODEL_ROUNDS");
	unsigned long i, n = many ? strtoul(many, NULL, 10) : bwl_long() ? 2000 : 100;

	(void)st;
	if (one) {
		sequence(strtoull(one, NULL, 10));
		return;
	}
	for (i = 1; i <= n; i++)
		sequence(i);
}

int main(void)
{
	const struct CMUnitTest tests[] = { RIG_TEST(whatever_is_done_the_promises_hold) };

	return cmocka_run_group_tests_name("promises", tests, NULL, NULL);
}
