// SPDX-License-Identifier: GPL-2.0-or-later
/* Promise 3: whatever is done to a volume except granting, what is spent of it stays spent. */
#define RIG_HOST_ONLY
#include <bwl/past.h>
#include "dests.h"

static void nothing_an_operator_does_adds_volume(void **state)
{
	const char *const window[] = { "", " per 1h" };
	struct bwl_change authorise = { .set = BWL_SET_AUTHORISE };
	struct bwl_change c = { .set = BWL_SET_RATE };
	struct bwl_err e = { 0 };
	size_t i, w;

	(void)state;
	for (w = 0; w < 2; w++) {
		char text[3][600];
		const char *const names[] = { w ? "wa" : "ta", w ? "wb" : "tb" };

		for (i = 0; i < 2; i++)
			snprintf(
				text[i], sizeof(text[i]),
				HEAD
				"peers:\n"
				"  - { name: %s, addresses: [10.1.%zu.1], path: clear, via: 192.0.2.1, grant: { rate: 1gbit, volume: 6400b%s } }\n",
				names[i], w, window[w]);
		snprintf(text[2], sizeof(text[2]),
			 HEAD "peers:\n" DEST("far", 9) "grant: { rate: 1mbit } }\n");
#define SPEC (w ? "eth ip4 src=10.0.7.2 dst=10.1.1.1 udp" : "eth ip4 src=10.0.7.2 dst=10.1.0.1 udp")
		rig_policy(rig, text[0]);
		rig_advance(RIG_SECOND);
		assert_int_equal(drain(SPEC), 100);
		for (i = 0; i < 12; i++) {
			rig_policy(rig, text[(i * 5 / 2) % 3]); /* renamed, removed, back, … */
			rig_advance(RIG_SECOND);
			assert_int_equal(drain(SPEC), 0);
		}
		rig_policy(rig, text[0]);
		rig_advance(RIG_SECOND);
		assert_int_equal(bwl_revoke(rig->pins, names[0], &e), 0);
		assert_int_equal(bwl_peer_change(rig->pins, names[0], &authorise, &e), 0);
		c.lim.rate_bps = 2000000000;
		assert_int_equal(bwl_peer_change(rig->pins, names[0], &c, &e), 0);
		rig_advance(RIG_SECOND);
		assert_string_equal(host(SPEC), "peer-volume");
		/* Raised by 640, exactly that. */
		c = (struct bwl_change){ .set = BWL_ADD_VOLUME, .lim = { .volume = 640 } };
		assert_int_equal(bwl_peer_change(rig->pins, names[0], &c, &e), 0);
		assert_int_equal(drain(SPEC), 10);
		c.set = BWL_SET_RATE;
	}
}

static void another_kind_of_volume_keeps_what_is_spent(void **state)
{
	static const char *const volume[] = {
		"6400b", "6400b per 1h", "6400b", "6400b per 2h", "6400b per 1h", "6400b",
	};
	size_t i;

	(void)state;
	for (i = 0; i < 6; i++) {
		apply(HEAD "peers:\n" DEST("kind", 1) "grant: { rate: 1gbit, volume: %s } }\n",
		      volume[i]);
		rig_advance(RIG_SECOND);
		assert_int_equal(drain(TO(1) "udp"), i ? 0 : 100);
	}
}

static void another_kind_of_volume_after_a_time_away_keeps_what_is_spent(void **state)
{
	static const char *const volume[] = { "6400b", "6400b per 1h", "6400b" };
	size_t i, j;

	(void)state;
	for (j = 0; j < 2; j++) {
		for (i = j; i < j + 2; i++) {
			apply(HEAD
			      "peers:\n"
			      "  - { name: away%zu, addresses: [10.1.0.%zu], path: clear, via: 192.0.2.1, grant: { rate: 1gbit, volume: %s } }\n",
			      j, j + 1, volume[i]);
			rig_advance(RIG_SECOND);
			assert_int_equal(drain(j ? TO(2) "udp" : TO(1) "udp"), i == j ? 100 : 0);
			apply(HEAD "peers:\n" DEST("far", 9) "grant: { rate: 1mbit } }\n");
			rig_advance(RIG_SECOND);
		}
	}
}

static void many_changes_of_a_window_without_a_packet_refill_nothing(void **state)
{
	struct bwl_change c = { .set = BWL_SET_VOLUME,
				.lim = { .has_volume = true, .volume = 6400 } };
	struct bwl_err e = { 0 };
	unsigned i;

	(void)state;
	rig_set_clock(1000000 * RIG_SECOND);
	apply(HEAD "peers:\n" DEST("long", 1) "grant: { rate: 1gbit, volume: 6400b per 1h } }\n");
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO(1) "udp"), 100);
	/* The epoch has 7 bits: after 128 changes it is the same again. */
	for (i = 1; i <= 128; i++) {
		c.lim.window_ns = (3600 - i) * RIG_SECOND / (i == 128 ? 2 : 1);
		assert_int_equal(bwl_peer_change(rig->pins, "long", &c, &e), 0);
	}
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO(1) "udp"), 0);
}

static uint64_t give(uint64_t bytes)
{
	uint64_t given = 0;
	const struct bwl_change c = { .set = BWL_ADD_ONCE,
				      .lim = { .volume = bytes },
				      .given = &given };
	struct bwl_err e = { 0 };

	if (bwl_peer_change(rig->pins, "a", &c, &e))
		fail_msg("%s", e.text);
	return given;
}

static void what_is_given_once_is_of_the_present_window(void **state)
{
	struct bwl_change lower = {
		.set = BWL_SET_VOLUME,
		.lim = { .has_volume = true, .volume = 3200, .window_ns = 110 * RIG_SECOND }
	};
	struct bwl_err e = { 0 };
	unsigned i;

	(void)state;
	apply(HEAD "peers:\n" DEST("a", 1) "grant: { rate: 1gbit, volume: 6400b per 110s } }\n");
	rig_advance(RIG_SECOND);
	assert_int_equal(give(640), 0); /* nothing is spent */
	assert_int_equal(drain(TO(1) "udp"), 100);
	for (i = 0; i < 3; i++) {
		assert_int_equal(give(640), 640);
		assert_int_equal(drain(TO(1) "udp"), 10);
		assert_int_equal(drain(TO(1) "udp"), 0);
	}
	/* The volume is what it was, in each later window. */
	for (i = 0; i < 3; i++) {
		rig_advance(140 * RIG_SECOND);
		assert_int_equal(drain(TO(1) "udp"), 100);
	}
	/* Of what is spent, the newest: what leaves the window first leaves as a whole. */
	rig_advance(140 * RIG_SECOND);
	for (i = 0; i < 50; i++)
		assert_string_equal(host(TO(1) "udp"), "pass");
	rig_advance(60 * RIG_SECOND);
	assert_int_equal(drain(TO(1) "udp"), 50);
	assert_int_equal(give(640), 640);
	assert_int_equal(drain(TO(1) "udp"), 10);
	rig_advance(60 * RIG_SECOND);
	assert_int_equal(drain(TO(1) "udp"), 50);
	/* No more than is spent, and none of what the window has forgotten without a packet. */
	rig_advance(140 * RIG_SECOND);
	assert_int_equal(give(640), 0);
	assert_string_equal(host(TO(1) "udp"), "pass");
	assert_int_equal(give(640), 64);
	assert_int_equal(drain(TO(1) "udp"), 100);
	/* Above a volume that was lowered it is room for that much all the same. */
	assert_int_equal(bwl_peer_change(rig->pins, "a", &lower, &e), 0);
	assert_int_equal(drain(TO(1) "udp"), 0);
	assert_int_equal(give(640), 640);
	assert_int_equal(drain(TO(1) "udp"), 10);
	rig_advance(140 * RIG_SECOND);
	assert_int_equal(drain(TO(1) "udp"), 50);
	/* Neither a policy nor a revocation gives it once more. */
	give(640);
	apply(HEAD "peers:\n" DEST("a", 1) "grant: { rate: 1gbit, volume: 3200b per 110s } }\n");
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO(1) "udp"), 10);
	apply(HEAD "peers:\n" DEST("b", 1) "grant: { rate: 1gbit, volume: 3200b per 110s } }\n");
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO(1) "udp"), 0);
}

#define GRANT(name, window)                                                                        \
	HEAD "peers:\n" DEST(name, 1) "grant: { rate: 1gbit, volume: 6400b per " window " } }\n"
#define IN_ZONE(name, window)                                                                      \
	HEAD "zones: { " name ": { volume: 6400b per " window                                      \
	     " } }\npeers:\n" DEST("a", 1) "zone: " name ", grant: { rate: 1gbit } }\n"
static const struct {
	const char *what, *day, *brief;
} windows[] = {
	{ "grant", GRANT("a", "1d"), GRANT("a", "11s") },
	{ "zone", IN_ZONE("z", "1d"), IN_ZONE("z", "11s") },
	{ "grant of another name", GRANT("a", "1d"), GRANT("b", "11s") },
	{ "zone of another name", IN_ZONE("z", "1d"), IN_ZONE("y", "11s") },
};

enum way { APPLY, TRIAL, EDIT, GONE_BETWEEN, _WAY_MAX };

static void edit(uint64_t window_ns)
{
	struct bwl_change c = {
		.set = BWL_SET_VOLUME,
		.lim = { .has_volume = true, .volume = 6400, .window_ns = window_ns }
	};
	struct bwl_err e = { 0 };

	assert_int_equal(bwl_peer_change(rig->pins, "a", &c, &e), 0);
}

/* To the brief window, or back. */
static void change(unsigned k, enum way way, bool back)
{
	const struct bwl_publish_opts trial = { .confirm_ns = 3600 * RIG_SECOND };
	struct bwl_err e = { 0 };

	if (way == TRIAL && back)
		assert_int_equal(bwl_rollback(rig->pins, &e), 0);
	else if (way == TRIAL)
		assert_int_equal(rig_try_policy(rig, windows[k].brief, &trial, NULL, &e), 0);
	else if (way == EDIT)
		edit((back ? 86400 : 11) * RIG_SECOND);
	else
		rig_policy(rig, back ? windows[k].day : windows[k].brief);
	if (way != GONE_BETWEEN || back)
		return;
	rig_advance(RIG_SECOND);
	drain(TO(1) "udp");
	rig_policy(rig, HEAD "peers:\n" DEST("far", 9) "grant: { rate: 1mbit } }\n");
}

static void a_shorter_window_in_between_gives_nothing_back(void **state)
{
	unsigned k, way, i, brief;

	(void)state;
	for (k = 0; k < 4; k++) {
		for (way = 0; way < _WAY_MAX; way++) {
			if (way == EDIT && k)
				continue;
			print_message("%s, %u\n", windows[k].what, way);
			rig_teardown(NULL);
			rig_setup(NULL);
			rig_set_clock(1000000 * RIG_SECOND);
			rig->pins->ctl->fresh_volume = 1;
			rig_policy(rig, windows[k].day);
			rig_advance(RIG_SECOND);
			assert_int_equal(drain(TO(1) "udp"), 100);
			change(k, way, false);
			for (i = 0, brief = 0; i < 26; i++) {
				rig_advance(RIG_SECOND);
				brief += drain(TO(1) "udp");
			}
			if (way != GONE_BETWEEN)
				assert_true(brief >= 100); /* control: it forgets */
			change(k, way, true);
			for (i = 0; i < 24; i++) {
				rig_advance(3600 * RIG_SECOND - RIG_SECOND);
				assert_int_equal(drain(TO(1) "udp"), 0);
			}
			/* Then the day is over: twice, because what is counted late ends late. */
			rig_advance(2 * 86400 * RIG_SECOND);
			assert_int_equal(drain(TO(1) "udp"), 100);
		}
	}
}

static void nor_do_edits_with_none_in_between(void **state)
{
	struct bwl_change none = { .set = BWL_SET_VOLUME };
	struct bwl_err e = { 0 };

	(void)state;
	rig_set_clock(1000000 * RIG_SECOND);
	rig->pins->ctl->fresh_volume = 1;
	rig_policy(rig, GRANT("a", "1d"));
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO(1) "udp"), 100);
	edit(11 * RIG_SECOND);
	host(TO(1) "udp");
	rig_advance(26 * RIG_SECOND);
	assert_string_equal(host(TO(1) "udp"), "pass");
	assert_int_equal(bwl_peer_change(rig->pins, "a", &none, &e), 0);
	edit(86400 * RIG_SECOND);
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO(1) "udp"), "peer-volume");
}

/* Nobody remembers where zones were: what one forgot goes with the account. */
static void nor_do_several_short_ones_of_other_names(void **state)
{
	static const char *const brief[] = { IN_ZONE("y", "11s"), IN_ZONE("x", "11s"),
					     IN_ZONE("v", "11s") };
	unsigned k, i;

	(void)state;
	rig_set_clock(1000000 * RIG_SECOND);
	rig->pins->ctl->fresh_volume = 1;
	rig_policy(rig, IN_ZONE("z", "1d"));
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO(1) "udp"), 100);
	for (k = 0; k < 3; k++) {
		rig_policy(rig, brief[k]);
		for (i = 0; i < 2; i++) {
			rig_advance(15 * RIG_SECOND);
			host(TO(1) "udp");
		}
	}
	rig_policy(rig, IN_ZONE("u", "1d"));
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO(1) "udp"), "zone-volume");
}

/* What the shorter one forgot, and no more: not what was before that, nor twice. */
static void a_longer_window_counts_what_the_shorter_one_forgot(void **state)
{
	struct bwl_change c = {
		.set = BWL_SET_VOLUME,
		.lim = { .has_volume = true, .volume = 64000, .window_ns = 86400 * RIG_SECOND }
	};
	struct bwl_err e = { 0 };
	unsigned i;

	(void)state;
	rig_set_clock(1000000 * RIG_SECOND);
	apply(HEAD "peers:\n" DEST("a", 1) "grant: { rate: 1gbit, volume: 64000b per 1d } }\n");
	rig_advance(RIG_SECOND);
	edit(11 * RIG_SECOND);
	for (i = 0; i < 4; i++) {
		rig_advance(15 * RIG_SECOND);
		assert_int_equal(drain(TO(1) "udp"), 100);
	}
	rig_advance(15 * RIG_SECOND);
	assert_int_equal(bwl_peer_change(rig->pins, "a", &c, &e), 0);
	rig_advance(RIG_SECOND);
	assert_int_equal(drain(TO(1) "udp"), 600);
	/* More than a day later nothing of it counts any more, because bwlimitd marks the count. */
	edit(11 * RIG_SECOND);
	for (i = 0; i < 3; i++) {
		host(TO(1) "udp");
		rig_advance(15 * RIG_SECOND);
	}
	bwl_past_mark(rig->pins);
	rig_advance(95000 * RIG_SECOND);
	bwl_past_mark(rig->pins);
	assert_string_equal(host(TO(1) "udp"), "pass");
	assert_int_equal(bwl_peer_change(rig->pins, "a", &c, &e), 0);
	rig_advance(RIG_SECOND);
	i = drain(TO(1) "udp");
	assert_in_range(i, 995, 999);
}

/* A window that has passed is out of the way; a spent total stays for ever. */
static void what_left_with_a_window_is_forgotten_once_it_has_passed(void **state)
{
	const char *empty = HEAD "peers:\n" DEST("far", 99) "grant: { rate: 1mbit } }\n";
	unsigned i, n;

	(void)state;
	for (i = 0; i < 8; i++) {
		char *text = calloc(1, 30000), *at = text + sprintf(text, HEAD "peers:\n");

		for (n = 0; n < 60; n++) /* of 64 windows and 255 ids */
			at += sprintf(
				at,
				"  - { name: w%u-%u, addresses: [10.%u.0.%u], path: clear, via: 192.0.2.1, grant: { rate: 1gbit, volume: 1mb per 1h } }\n",
				i, n, i + 2, n + 1);
		rig_policy(rig, text);
		rig_advance(RIG_SECOND);
		for (n = 0; n < 60; n++) {
			snprintf(text, 100, "eth ip4 src=10.0.7.2 dst=10.%u.0.%u udp", i + 2,
				 n + 1);
			assert_string_equal(host(text), "pass");
		}
		free(text);
		rig_policy(rig, empty);
		rig_advance(3600 * RIG_SECOND);
		rig_policy(rig, empty);
		assert_string_not_equal(rig->pins->name[1].name, "");
		rig_advance(3600 * RIG_SECOND / 11 + 12); /* 12 slices, each rounded up */
		rig_policy(rig, empty);
		assert_string_equal(rig->pins->name[1].name, "");
	}
}

static int setup_spent(void **state)
{
	(void)state;
	rig = rig_open(&(struct rig_opts){ .host_only = true, .old_volume = true });
	runs = 0;
	return 0;
}

/* clang-format off */
#define VOLUMES \
	DEST("total", 1) \
	"grant: { rate: 1gbit, volume: 6400b } }\n" DEST("window", 2) "grant: { rate: 1gbit, volume: 6400b per 11s } }\n" DEST( \
		"class", \
		3) "grant: { rate: 1gbit }, classes: { other: { volume: 6400b } } }\n" DEST("zone", \
											    4) "grant: { rate: 1gbit }, zone: z }\n"
/* clang-format on */
#define ZONE "zones: { z: { volume: 6400b } }\n"

static void check_spent(void)
{
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO(1) "udp"), "peer-volume");
	assert_string_equal(host(TO(2) "udp"), "peer-volume");
	assert_string_equal(host(TO(3) "udp"), "class-volume");
	assert_string_equal(host(TO(4) "udp"), "zone-volume");
	rig_advance(12 * RIG_SECOND);
	assert_string_equal(host(TO(1) "udp"), "peer-volume");
	assert_int_equal(drain(TO(2) "udp"), 100); /* its window has turned */
}

static void the_first_policys_volumes_start_spent(void **state)
{
	struct bwl_change c = { .set = BWL_ADD_VOLUME, .lim = { .volume = 640 } };
	struct bwl_err e = { 0 };

	(void)state;
	apply(HEAD ZONE "peers:\n" VOLUMES);
	check_spent();
	apply(HEAD ZONE "peers:\n" VOLUMES);
	assert_string_equal(host(TO(1) "udp"), "peer-volume");
	assert_int_equal(bwl_peer_change(rig->pins, "total", &c, &e), 0);
	assert_int_equal(drain(TO(1) "udp"), 10);
}

static void they_start_spent_after_a_first_policy_that_failed_half_way(void **state)
{
	char *text = calloc(1, 40000), *at = text;
	struct bwl_err e = { 0 };
	int i;

	(void)state;
	at += sprintf(at, "%s", HEAD ZONE "peers:\n" VOLUMES);
	for (i = 0; i < 260; i++) /* more than 256, for which there is room */
		at += sprintf(
			at,
			"  - { name: x%d, addresses: [10.2.%d.%d], path: clear, via: 192.0.2.1 }\n",
			i, i / 200, i % 200 + 1);
	assert_int_equal(rig_try_policy(rig, text, NULL, NULL, &e), -ENOSPC);
	free(text);
	assert_string_equal(host(TO(1) "udp"), "no-policy");
	apply(HEAD ZONE "peers:\n" VOLUMES);
	check_spent();
}

/* Bytes of a class that are counted as passed; ~0: not counted. */
static uint64_t counted(const char *peer, uint8_t class_)
{
	const struct bwl_schema *s = &rig->pins->schema;
	uint32_t id = id_of(peer), i;

	for (i = 0; i < s->max_extras; i++) {
		const struct bwl_extra *x = &rig->pins->extra[i];

		if (x->kind == BWL_X_CLASS && x->peer == id && x->class == class_)
			return rig->pins->state[BWL_EXTRA_STATE(s->max_peers, i) | 1].used_bytes;
	}
	return ~0ULL;
}

static void passes_three_classes(int n)
{
	char spec[128];

	snprintf(spec, sizeof(spec), "eth ip4 src=10.0.7.2 dst=10.1.0.%d tcp dport=22 fill=946", n);
	assert_string_equal(host(spec), "pass");
	snprintf(spec, sizeof(spec), "eth ip4 src=10.0.7.2 dst=10.1.0.%d tcp dport=443 fill=446",
		 n);
	assert_string_equal(host(spec), "pass");
	snprintf(spec, sizeof(spec), "eth ip4 src=10.0.7.2 dst=10.1.0.%d udp fill=458", n);
	assert_string_equal(host(spec), "pass");
}

static void check_in_force(bool all, unsigned classes_of_free)
{
	struct bwl_policy *pol = NULL;
	struct bwl_err e = { 0 };
	uint8_t digest[32];
	struct bwl_gen g;

	if (bwl_policy_read(rig->pins, &pol, &e))
		fail_msg("%s", e.text);
	assert_int_equal(pol->count_all, all);
	for (size_t k = 0; k < _BWL_CLASS_MAX; k++) /* counted but not limited */
		assert_false(bwl_policy_peer(pol, "free")->class_[k].present);
	assert_true(bwl_policy_peer(pol, "some")->class_[BWL_C_SSH].present);
	assert_int_equal(bwl_policy_digest(pol, digest), 0);
	bwl_policy_free(pol);
	assert_int_equal(bwl_gen_open(rig->pins, bwl_active_slot(rig->pins), &g, NULL), 0);
	assert_memory_equal(digest, g.base->digest, 32);
	assert_int_equal(__builtin_popcount(
				 bwl_body(rig->pins, &g, id_of("free"))->meta.class_mask),
			 classes_of_free);
	bwl_gen_close(&g);
}

#define COUNTED                                                                                    \
	"peers:\n" DEST("free", 1) "grant: { rate: 1gbit } }\n" DEST(                              \
		"some",                                                                            \
		2) "grant: { rate: 1gbit }, classes: { ssh: { rate: 1gbit } } }\n" DEST("none",    \
											3) "contained: true }\n"

static void every_class_is_counted_where_the_policy_says_so(void **state)
{
	(void)state;
	apply(HEAD COUNTED);
	rig_advance(RIG_SECOND);
	passes_three_classes(1);
	passes_three_classes(2);
	/* packets do not look up a class at all */
	assert_true(counted("free", BWL_C_SSH) == ~0ULL);
	check_in_force(false, 0);
	assert_int_equal(counted("some", BWL_C_SSH), 1000);

	apply(HEAD "count_classes: all\n" COUNTED);
	rig_advance(RIG_SECOND);
	check_in_force(true, _BWL_CLASS_MAX);
	passes_three_classes(1);
	passes_three_classes(2);
	assert_int_equal(counted("free", BWL_C_SSH), 1000);
	assert_int_equal(counted("free", BWL_C_HTTPS), 500);
	assert_int_equal(counted("free", BWL_C_OTHER), 500);
	assert_int_equal(counted("free", BWL_C_NFS), 0);
	assert_int_equal(counted("some", BWL_C_SSH), 2000);
	assert_int_equal(counted("some", BWL_C_OTHER), 500);
	assert_true(counted("none", BWL_C_OTHER) == ~0ULL); /* nothing of it passes */

	apply(HEAD COUNTED);
	rig_advance(RIG_SECOND);
	check_in_force(false, 0);
	passes_three_classes(1);
	assert_int_equal(counted("some", BWL_C_SSH), 2000);
}

/* A volume that returns after the class was only counted finds what it had spent. */
static void a_class_that_is_counted_alone_keeps_what_its_volume_had_spent(void **state)
{
	static const char *const window[] = { "", " per 1h" };

	(void)state;
	for (int w = 0; w < 2; w++) {
		const char *spec = w ? TO(2) "udp" : TO(1) "udp";
		char limited[600];

		snprintf(
			limited, sizeof(limited),
			HEAD
			"count_classes: all\npeers:\n"
			"  - { name: v%d, addresses: [10.1.0.%d], path: clear, via: 192.0.2.1, grant: { rate: 1gbit }, classes: { other: { volume: 6400b%s } } }\n",
			w, w + 1, window[w]);
		rig_policy(rig, limited);
		rig_advance(RIG_SECOND);
		assert_int_equal(drain(spec), 100);
		apply(HEAD
		      "count_classes: all\npeers:\n"
		      "  - { name: v%d, addresses: [10.1.0.%d], path: clear, via: 192.0.2.1, grant: { rate: 1gbit } }\n",
		      w, w + 1);
		rig_advance(RIG_SECOND);
		assert_string_equal(host(spec), "pass");
		rig_policy(rig, limited);
		rig_advance(RIG_SECOND);
		assert_int_equal(drain(spec), 0);
		apply(HEAD "peers: []\n");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(every_class_is_counted_where_the_policy_says_so),
		RIG_TEST(a_class_that_is_counted_alone_keeps_what_its_volume_had_spent),
		RIG_TEST(nothing_an_operator_does_adds_volume),
		RIG_TEST(another_kind_of_volume_keeps_what_is_spent),
		RIG_TEST(another_kind_of_volume_after_a_time_away_keeps_what_is_spent),
		RIG_TEST(what_is_given_once_is_of_the_present_window),
		RIG_TEST(many_changes_of_a_window_without_a_packet_refill_nothing),
		RIG_TEST(a_shorter_window_in_between_gives_nothing_back),
		RIG_TEST(nor_do_edits_with_none_in_between),
		RIG_TEST(nor_do_several_short_ones_of_other_names),
		RIG_TEST(a_longer_window_counts_what_the_shorter_one_forgot),
		RIG_TEST(what_left_with_a_window_is_forgotten_once_it_has_passed),
		cmocka_unit_test_setup_teardown(the_first_policys_volumes_start_spent, setup_spent,
						rig_teardown),
		cmocka_unit_test_setup_teardown(
			they_start_spent_after_a_first_policy_that_failed_half_way, setup_spent,
			rig_teardown),
	};

	return cmocka_run_group_tests_name("volumes", tests, NULL, NULL);
}
