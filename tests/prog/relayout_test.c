// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pinned maps of an earlier layout become this one's (loader/relayout.h): what is taken over, what
 * is refused, and the state after each step and each kill. The layouts are invented (invented.h).
 * With maps of a released version: recorded_maps_test.c; with its tools:
 * tests/netns/upgrade_test.sh.
 */
#include <signal.h>
#include <sys/wait.h>
#include "relayout_rig.h"

/* Calls that change what others see, through the linker's --wrap: the one before which to die. */
static unsigned kill_at;

static void maybe_die(void)
{
	if (kill_at && !--kill_at)
		raise(SIGKILL);
}

#define WRAPPED(name, params, args)                                                                \
	int __real_##name params;                                                                  \
	int __wrap_##name params;                                                                  \
	int __wrap_##name params                                                                   \
	{                                                                                          \
		maybe_die();                                                                       \
		return __real_##name args;                                                         \
	}

WRAPPED(rename, (const char *from, const char *to), (from, to))
WRAPPED(unlink, (const char *path), (path))
WRAPPED(bpf_obj_pin, (int fd, const char *path), (fd, path))
WRAPPED(bpf_map_update_elem, (int fd, const void *key, const void *v, __u64 flags),
	(fd, key, v, flags))

static bool is_refused(void)
{
	struct bwl_pins *p;
	bool r = bwl_pins_open(rig->dir, true, &p, NULL);

	if (!r)
		bwl_pins_close(p);
	return r;
}

static uint32_t stop_is(void)
{
	return rig->pins->ctl->stop;
}

static void maps_of_layout_1_are_taken_over(void **state)
{
	struct bwl_relayout x;
	struct bwlimit_test *s;
	struct bwl_pins *p;
	uint64_t lost, total;

	(void)state;
	begin();
	assert_string_equal(host("eth " P1 "udp"), "pass");
	become_layout_1();
	assert_true(is_refused());
	look(&x);
	assert_int_equal(x.layout, 1);
	assert_true(x.whole && x.changes);
	assert_int_equal(x.fate[BWL_PIN_evcnt], BWL_CHANGES);
	assert_int_equal(x.fate[BWL_PIN_lease], BWL_CHANGES);
	assert_int_equal(x.fate[BWL_PIN_ctl], BWL_STAYS);
	assert_int_equal(x.fate[BWL_PIN_base], BWL_STAYS);
	s = load_on(&x);
	assert_int_equal(stop_is(), BWL_RUN); /* nothing is changed until the programs are loaded */
	assert_string_equal(host("eth " P1 "udp"), "pass");
	assert_int_equal(bwl_relayout_replace(&x, rig->dir, s->obj, NULL), 0);
	assert_int_equal(stop_is(), BWL_UPGRADING);
	assert_string_equal(host("eth " P1 "udp"), "upgrade");
	assert_true(is_refused()); /* of neither layout until the programs are replaced */
	assert_int_equal(bwl_pins_open_as(rig->dir, LAYOUT_1, &p, NULL), 0);
	assert_int_equal(bwl_relayout_finish(&x, NULL), 0);
	assert_false(is_refused());
	assert_string_equal(host("eth " P1 "udp"), "upgrade");
	bwl_relayout_release(&x, p, BWL_RUN);
	assert_string_equal(host("eth " P1 "udp"), "pass");
	rig_event_sums(p, &lost, &total);
	assert_int_equal(lost, LOST);
	assert_int_equal(total, TOTAL);
	assert_int_equal(p->lease->renewed_ns, RENEWED_NS);
	assert_int_equal(p->lease->acted_ns, 0);
	assert_int_equal(p->state[2 * id_of("a")].used_bytes, 3 * 64);
	bwl_pins_close(p);
	bwl_relayout_end(&x);
	bwlimit_test__destroy(s);
}

static void maps_of_layout_2_are_only_told_apart(void **state)
{
	struct bwl_relayout x;
	struct bwlimit_test *s;

	(void)state;
	begin();
	set_layout(LAYOUT_2);
	look(&x);
	assert_int_equal(x.layout, 2);
	assert_true(x.whole && !x.changes);
	s = load_on(&x);
	assert_int_equal(bwl_relayout_replace(&x, rig->dir, s->obj, NULL), 0);
	assert_int_equal(stop_is(), BWL_RUN);
	assert_string_equal(host("eth " P1 "udp"), "pass");
	assert_int_equal(bwl_relayout_finish(&x, NULL), 0);
	assert_false(is_refused());
	bwl_relayout_end(&x);
	bwlimit_test__destroy(s);
}

#define ON_TRIAL                                                                                   \
	PORTS                                                                                      \
	"heartbeat: none\npeers:\n"                                                                \
	"  - { name: b, addresses: [10.1.0.2], path: clear, via: 192.0.2.1, grant: { rate: 1gbit } }\n"
#define TO_A "eth ip4 src=10.0.7.2 dst=10.1.0.1 udp"
#define TO_B "eth ip4 src=10.0.7.2 dst=10.1.0.2 udp"

/* Takes over the maps with a policy on trial, after this time. */
static struct bwl_pins *taken_over_with_a_trial(bool first, uint64_t after_ns, bool old)
{
	struct bwl_err e = { 0 };
	struct bwl_relayout x;
	struct bwlimit_test *s;
	struct bwl_pins *p;

	rig_teardown(NULL);
	rig_setup(NULL);
	if (!first)
		begin();
	assert_int_equal(rig_try_policy(rig, ON_TRIAL, &short_trial, NULL, &e), 0);
	if (old)
		become_layout_1();
	look(&x);
	s = load_on(&x);
	rig_advance(after_ns);
	assert_int_equal(bwl_relayout_replace(&x, rig->dir, s->obj, NULL), 0);
	assert_int_equal(bwl_relayout_finish(&x, NULL), 0);
	assert_int_equal(bwl_pins_open(rig->dir, true, &p, NULL), 0);
	bwl_relayout_release(&x, p, BWL_RUN);
	bwl_relayout_end(&x);
	bwlimit_test__destroy(s);
	return p;
}

/* Up to layout 7 the policy before was in force by itself from the end of a trial on. */
static void a_trial_that_had_ended_in_layout_7_has_ended(void **state)
{
	struct bwl_pins *p;

	(void)state;
	p = taken_over_with_a_trial(false, 10 * RIG_SECOND, true);
	assert_int_equal(bwl_trial_ns(p), 0);
	assert_string_equal(host(TO_A), "pass");
	assert_string_equal(host(TO_B), "no-peer");
	bwl_pins_close(p);

	p = taken_over_with_a_trial(true, 10 * RIG_SECOND, true);
	assert_int_equal(bwl_trial_ns(p), 0);
	assert_int_equal(bwl_active_slot(p), BWL_NO_SLOT);
	assert_string_equal(host(TO_B), "no-policy");
	bwl_pins_close(p);

	/* one that goes on ends by itself, and then waits for its way back, as any does now */
	p = taken_over_with_a_trial(false, 10 * RIG_SECOND - 1, true);
	assert_int_not_equal(bwl_trial_ns(p), 0);
	assert_string_equal(host(TO_A), "no-peer");
	assert_string_equal(host(TO_B), "pass");
	rig_advance(1);
	assert_string_equal(host(TO_B), "expired");
	assert_true(bwl_is_trial_over(p, rig_now()));
	bwl_pins_close(p);

	/* so does one that this version had begun */
	p = taken_over_with_a_trial(false, 10 * RIG_SECOND, false);
	assert_true(bwl_is_trial_over(p, rig_now()));
	assert_string_equal(host(TO_A), "no-peer");
	assert_string_equal(host(TO_B), "expired");
	bwl_pins_close(p);
}

static void gone(enum bwl_pin pin)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/maps/%s", rig->dir, bwl_pin_name(pin));
	assert_int_equal(unlink(path), 0);
}

/* Maps of a later layout are missing in an earlier set. */
static void maps_that_are_new_come_under_traffic_and_empty(void **state)
{
	static const enum bwl_pin new[] = LAYOUT_3_MAPS;
	struct bwl_latency *v = calloc((size_t)rig->cpus, sizeof(*v));
	uint32_t zero = 0, on;
	struct bwl_relayout x;
	struct bwlimit_test *s;
	struct bwl_pins *p;
	size_t i;

	(void)state;
	assert_non_null(v);
	begin();
	set_layout(LAYOUT_2);
	for (i = 0; i < sizeof(new) / sizeof(*new); i++)
		gone(new[i]);
	look(&x);
	assert_int_equal(x.layout, 2);
	assert_true(x.whole && !x.changes);
	for (i = 0; i < sizeof(new) / sizeof(*new); i++)
		assert_int_equal(x.fate[new[i]], BWL_COMES);
	s = load_on(&x);
	assert_int_equal(bwl_relayout_replace(&x, rig->dir, s->obj, NULL), 0);
	assert_int_equal(stop_is(), BWL_RUN);
	assert_string_equal(host("eth " P1 "udp"), "pass");
	assert_int_equal(bwl_relayout_finish(&x, NULL), 0);
	assert_int_equal(bwl_pins_open(rig->dir, true, &p, NULL), 0);
	assert_int_equal(bpf_map_lookup_elem(p->fd[BWL_PIN_latof], &zero, &on), -ENOENT);
	assert_int_equal(bpf_map_lookup_elem(p->fd[BWL_PIN_latency], &zero, v), 0);
	assert_int_equal(v[0].unmatched, 0);
	/* The next policy fills the table of names, and until then names have no id. */
	assert_int_equal(bwl_name_id(p, "a"), 0);
	bwl_names_note_all(p);
	assert_int_equal(bwl_name_id(p, "a"), id_of("a"));
	bwl_pins_close(p);
	bwl_relayout_end(&x);
	bwlimit_test__destroy(s);
	free(v);
}

static void what_was_killed_is_gone_on_with(void **state)
{
	struct bwl_relayout x;
	struct bwlimit_test *s;
	struct bwl_pins *p;
	uint64_t lost, total;

	(void)state;
	begin();
	become_layout_1();
	look(&x);
	s = load_on(&x);
	assert_int_equal(bwl_relayout_replace(&x, rig->dir, s->obj, NULL), 0);
	bwl_relayout_end(&x);
	bwlimit_test__destroy(s);

	look(&x); /* another run: the map has been replaced, the layout's word has not */
	assert_int_equal(x.layout, 1);
	assert_true(x.whole && !x.changes);
	assert_int_equal(x.fate[BWL_PIN_evcnt], BWL_STAYS);
	s = load_on(&x);
	assert_int_equal(bwl_relayout_replace(&x, rig->dir, s->obj, NULL), 0);
	assert_int_equal(stop_is(), BWL_UPGRADING);
	assert_int_equal(bwl_relayout_finish(&x, NULL), 0);
	assert_int_equal(bwl_pins_open(rig->dir, true, &p, NULL), 0);
	rig_event_sums(p, &lost, &total);
	assert_int_equal(lost, LOST);
	bwl_pins_close(p);
	bwl_relayout_end(&x);
	bwlimit_test__destroy(s);
}

/* All of it, as bwlimit-load does, without programs. */
static void convert(void)
{
	struct bwl_relayout x;
	struct bwlimit_test *s;
	struct bwl_pins *p;

	look(&x);
	s = load_on(&x);
	assert_int_equal(bwl_relayout_replace(&x, rig->dir, s->obj, NULL), 0);
	assert_int_equal(bwl_relayout_finish(&x, NULL), 0);
	assert_int_equal(bwl_pins_open(rig->dir, true, &p, NULL), 0);
	bwl_relayout_release(&x, p, BWL_RUN);
	bwl_pins_close(p);
	bwl_relayout_end(&x);
	bwlimit_test__destroy(s);
}

static bool killed(unsigned at)
{
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		kill_at = at;
		convert();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFSIGNALED(status))
		assert_int_equal(status, 0);
	return WIFSIGNALED(status);
}

/* Whatever changes anything comes after the switch. */
static void killed_anywhere_it_is_closed_and_goes_on(void **state)
{
	unsigned n;
	uint64_t lost, total;
	struct bwl_pins *p;
	bool dead;

	(void)state;
	begin();
	for (n = 1, dead = true; dead; n++) {
		become_layout_1();
		dead = killed(n);
		if (dead) {
			assert_int_equal(stop_is(), BWL_UPGRADING);
			assert_string_equal(host("eth " P1 "udp"), "upgrade");
			assert_true(is_refused());
			convert();
		}
		assert_string_equal(host("eth " P1 "udp"), "pass");
		assert_int_equal(bwl_pins_open(rig->dir, true, &p, NULL), 0);
		rig_event_sums(p, &lost, &total);
		assert_int_equal(lost, LOST);
		assert_int_equal(total, TOTAL);
		assert_int_equal(p->lease->renewed_ns, RENEWED_NS);
		bwl_pins_close(p);
	}
	print_message("%u kills\n", n - 2);
	assert_true(n > 10);
}

static void what_a_hand_stopped_stays_stopped(void **state)
{
	struct bwl_relayout x;
	struct bwlimit_test *s;

	(void)state;
	begin();
	become_layout_1();
	rig->pins->ctl->stop = BWL_STOPPED;
	look(&x);
	s = load_on(&x);
	assert_int_equal(bwl_relayout_replace(&x, rig->dir, s->obj, NULL), 0);
	assert_int_equal(stop_is(), BWL_STOPPED);
	assert_int_equal(bwl_relayout_finish(&x, NULL), 0);
	bwl_relayout_release(&x, rig->pins, BWL_RUN);
	assert_int_equal(stop_is(), BWL_STOPPED);
	assert_string_equal(host("eth " P1 "udp"), "stop");
	bwl_relayout_end(&x);
	bwlimit_test__destroy(s);
}

/* bwlimitd may judge at any moment, without knowing whether a map is being copied. */
static void judged_now(void)
{
	uint32_t *stop = &rig->pins->ctl->stop;

	*stop = *stop == BWL_CLOSED_UNJUDGED    ? BWL_CLOSED
		: *stop == BWL_UNJUDGED         ? BWL_RUN
		: *stop == BWL_STOPPED_UNJUDGED ? BWL_STOPPED
						: *stop;
}

static const struct {
	uint32_t before, judged_during, judged_after;
} unjudged[] = {
	{ BWL_UNJUDGED, BWL_RUN, BWL_UNJUDGED },
	{ BWL_CLOSED_UNJUDGED, BWL_CLOSED, BWL_CLOSED_UNJUDGED },
	{ BWL_STOPPED_UNJUDGED, BWL_STOPPED, BWL_STOPPED_UNJUDGED },
};

static void what_is_judged_during_the_copy_passes_after_the_release_and_not_before(void **state)
{
	struct bwl_relayout x;
	struct bwlimit_test *s;
	unsigned i, during;

	(void)state;
	begin();
	for (i = 0; i < sizeof(unjudged) / sizeof(*unjudged); i++)
		for (during = 0; during < 2; during++) {
			become_layout_1();
			rig->pins->ctl->stop = unjudged[i].before;
			look(&x);
			s = load_on(&x);
			assert_int_equal(bwl_relayout_replace(&x, rig->dir, s->obj, NULL), 0);
			if (during)
				judged_now();
			assert_int_not_equal(stop_is(), BWL_RUN);
			assert_string_equal(host("eth " P1 "udp"), "stop");
			assert_int_equal(bwl_relayout_finish(&x, NULL), 0);
			bwl_relayout_release(&x, rig->pins, BWL_RUN);
			assert_int_equal(stop_is(), during ? unjudged[i].judged_during
							   : unjudged[i].judged_after);
			bwl_relayout_end(&x);
			bwlimit_test__destroy(s);
		}
}

static void what_is_judged_before_a_copy_that_fails_passes(void **state)
{
	struct bwl_relayout x;
	struct bwlimit_test *s;
	int own, wrong;

	(void)state;
	begin();
	become_layout_1();
	rig->pins->ctl->stop = BWL_UNJUDGED;
	look(&x);
	s = load_on(&x);
	own = x.fd[BWL_PIN_evcnt];
	wrong = x.fd[BWL_PIN_evcnt] = create(BPF_MAP_TYPE_HASH, 8, 8, 1, 0);
	assert_int_not_equal(bwl_relayout_replace(&x, rig->dir, s->obj, NULL), 0);
	assert_int_equal(stop_is(), BWL_UNJUDGED);
	judged_now();
	assert_string_equal(host("eth " P1 "udp"), "pass");
	x.fd[BWL_PIN_evcnt] = own;
	close(wrong);
	bwl_relayout_end(&x);
	bwlimit_test__destroy(s);
}

static void what_cannot_be_copied_goes_on_as_it_was(void **state)
{
	struct bwl_relayout x;
	struct bwlimit_test *s;
	int own, wrong;

	(void)state;
	begin();
	become_layout_1();
	look(&x);
	s = load_on(&x);
	own = x.fd[BWL_PIN_evcnt];
	wrong = x.fd[BWL_PIN_evcnt] = create(BPF_MAP_TYPE_HASH, 8, 8, 1, 0);
	assert_int_not_equal(bwl_relayout_replace(&x, rig->dir, s->obj, NULL), 0);
	assert_int_equal(stop_is(), BWL_RUN);
	assert_string_equal(host("eth " P1 "udp"), "pass");
	x.fd[BWL_PIN_evcnt] = own;
	close(wrong);
	bwl_relayout_end(&x);
	bwlimit_test__destroy(s);
}

static void refuses(const char *says)
{
	struct bwl_relayout x;
	struct bwl_err e = { 0 };
	int r = bwl_relayout_look(rig->dir, &x, &e);

	assert_int_equal(r, -EPROTO);
	if (!strstr(e.text, says))
		fail_msg("'%s' does not say '%s'", e.text, says);
	assert_string_not_equal(e.hint, "");
	bwl_relayout_end(&x);
}

static void other_layouts_are_refused(void **state)
{
	(void)state;
	set_layout(bwl_layout() + 1);
	refuses("which this program does not know");
	set_layout(0x1c269fe044163cf4ULL); /* before 0.3.0: a real one */
	refuses("which this program does not know");
	set_layout(LAYOUT_1);
	pin_over(BWL_PIN_evcnt, create(BPF_MAP_TYPE_PERCPU_ARRAY, 4, 32, 2, 0));
	refuses("bwl_evcnt_v1 is neither of layout 1 nor of ");
	set_layout(LAYOUT_2);
	refuses("bwl_evcnt_v1 is neither of layout 2 nor of ");
	pin_over(BWL_PIN_evcnt, create(BPF_MAP_TYPE_PERCPU_ARRAY, 4, 32, 1, 0));
	refuses("bwl_evcnt_v1 is neither of layout 2 nor of ");
}

static void a_set_that_is_not_whole_is_seen(void **state)
{
	struct bwl_relayout x;
	char path[300];

	(void)state;
	set_layout(LAYOUT_2);
	snprintf(path, sizeof(path), "%s/maps/%s", rig->dir, bwl_pin_name(BWL_PIN_state));
	unlink(path);
	look(&x);
	assert_int_equal(x.layout, 2);
	assert_false(x.whole);
	bwl_relayout_end(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(maps_of_layout_1_are_taken_over),
		RIG_TEST(maps_of_layout_2_are_only_told_apart),
		RIG_TEST(a_trial_that_had_ended_in_layout_7_has_ended),
		RIG_TEST(maps_that_are_new_come_under_traffic_and_empty),
		RIG_TEST(what_was_killed_is_gone_on_with),
		RIG_TEST(killed_anywhere_it_is_closed_and_goes_on),
		RIG_TEST(what_a_hand_stopped_stays_stopped),
		RIG_TEST(what_is_judged_during_the_copy_passes_after_the_release_and_not_before),
		RIG_TEST(what_is_judged_before_a_copy_that_fails_passes),
		RIG_TEST(what_cannot_be_copied_goes_on_as_it_was),
		RIG_TEST(other_layouts_are_refused),
		RIG_TEST(a_set_that_is_not_whole_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
