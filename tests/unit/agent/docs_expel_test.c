// SPDX-License-Identifier: GPL-2.0-or-later
/* Expulsions: what they close, when keys are destroyed, and what an enrolment opens again. */
#include <unistd.h>
#include "agent.h"
#include "bwl/desired.h"
#include "documents/part.h"
#include "journal/journal.h"
#include "docs_rig.h"

static json_t *expulsion(const char *who)
{
	json_t *o = terms(who, 30 * DAY);

	json_object_set_new(o, "tray", json_string(who));
	json_object_set_new(o, "reason", json_string("stolen"));
	return o;
}

static const struct bwl_ctl *maps;
static unsigned destroyed, destroyed_open, spared;

/* Replaces the thread's function (--wrap), and counts calls before the maps are closed. */
void __wrap_agent_destroy_keys(enum key_order_why why);
void __wrap_agent_destroy_keys(enum key_order_why why)
{
	assert_int_equal(why, KEYS_EXPELLED);
	destroyed++;
	destroyed_open += !maps->seq || maps->revoked_all != maps->seq;
}

void __wrap_agent_spare_keys(void);
void __wrap_agent_spare_keys(void)
{
	spared++;
}

static void close_by(struct documents *v, json_t *body, unsigned who)
{
	BWL_AUTO_FREE char *doc = rig_sign(BWL_SIGNED_EXPULSION, "hall-3", "all", body, who);
	struct docs_verdict d;
	struct bwl_err e = { 0 };

	if (docs_judge(&v->docs, doc, strlen(doc), &at, &d, &e) || docs_close(v, &d.d, &e))
		fail_msg("%s", e.text);
	if (docs_take(&v->docs, &d, doc, strlen(doc), &at, &e))
		fail_msg("%s", e.text);
	docs_verdict_free(&d);
}

static void keys_are_destroyed_after_the_maps_are_closed_and_again_at_the_next_start(void **state)
{
	struct bwl_ctl ctl = { 0 };
	struct bwl_pins pins = { .ctl = &ctl };
	struct documents v = { .pins = &pins };

	(void)state;
	enrol();
	assert_int_equal(setenv("BWLIMIT_JOURNAL_DIR", "", 1), 0);
	for (unsigned i = 0; i < _BWL_PIN_MAX; i++)
		pins.fd[i] = -1;
	maps = &ctl;
	destroyed = destroyed_open = 0;
	v.docs = s;
	pass(1);
	docs_destroy_again(&v);
	close_by(&v, expulsion("tray-7"), ONE);
	docs_destroy_again(&v);
	assert_int_equal(destroyed, 0); /* one person can close, but not destroy keys */
	assert_true(ctl.seq && ctl.revoked_all == ctl.seq);
	ctl = (struct bwl_ctl){ 0 };
	close_by(&v, expulsion("tray-7"), TWO);
	assert_int_equal(destroyed, 1);
	assert_int_equal(destroyed_open, 0);
	docs_destroy_again(&v); /* after a kill it is done at the next start */
	assert_int_equal(destroyed, 2);
	docs_spare_keys(&v); /* the tray is still expelled */
	assert_int_equal(spared, 0);
	s = v.docs;
	pass(10); /* enrolled again: a waiting attempt must not destroy the new key */
	assert_string_equal(give(BWL_SIGNED_ENROLMENT, enrolment_of("tray-7"), TWO), "taken");
	v.docs = s;
	docs_spare_keys(&v);
	assert_int_equal(spared, 1);
	docs_destroy_again(&v);
	assert_int_equal(destroyed, 2);
	s = v.docs;
	unsetenv("BWLIMIT_JOURNAL_DIR");
}

#define FAR(name, n, id)                                                                           \
	"  - { name: " name ", addresses: [10." #n ".0.0/24], via: 192.0.2.9,\n"                   \
	"      grant: { rate: 1mbit }, ipsec: { remote: 192.0.2." #n ", id: " id " } }\n"

/* There is no signed policy yet: the accepted policy file says which peers are that tray. */
static void who_is_expelled_under_another_name_is_closed_before_the_first_policy(void **state)
{
	static const char text[] =
		"version: 1\nnode: tray-7\nuplinks: [p0]\nheartbeat: 60s\n"
		"ipsec: { id: tray-7, local: 192.0.2.7, ca: site.pem }\n"
		"host_ports:\n  - { dev: pf0hpf, sources: [10.7.0.0/24] }\npeers:\n"
		"  - { name: old-rack, addresses: [10.1.0.0/24], via: 192.0.2.9, grant: { rate: 1mbit }, ipsec: { remote: 192.0.2.3, id: tray-9 } }\n" FAR(
			"far-1", 11,
			"fqdn:tray-9") FAR("far-2", 12,
					   "'@tray-9'") FAR("far-3", 13,
							    "TRAY-9") FAR("far-4", 14,
									  "dns:tray-9") FAR("far-5",
											    15,
											    "CN=tray-9")
			FAR("Tray-9", 16, "fqdn:x") FAR("far-6", 17, "tray-9.") FAR(
				"far-7", 18,
				"'C=CH, CN=tray-99'") "  - { name: b, addresses: [10.2.0.0/24], via: 192.0.2.9, grant: { rate: 1mbit }, ipsec: { remote: 192.0.2.4, id: tray-4 } }\n";
	static const char *const closed[] = { "tray-9", "old-rack", "far-1", "far-2",
					      "far-3",  "far-4",    "far-5", "Tray-9" };
	static const char *const open_[] = { "b", "far-6", "far-7" };
	static const char *const file[] = { "log", "end", BWL_ACCEPTED };
	char dir[] = "/tmp/bwl-docs-XXXXXX";
	BWL_AUTO_FREE char *doc = NULL;
	struct bwl_ctl ctl = { 0 };
	struct bwl_pins pins = { .ctl = &ctl };
	struct agent a = { .state_dir = dir };
	struct documents v = { .a = &a, .pins = &pins };
	enum bwl_journal_state was;
	struct bwl_err e = { 0 };
	struct bwl_signed d;
	struct bwl_journal j;

	(void)state;
	enrol();
	assert_non_null(mkdtemp(dir));
	assert_int_equal(setenv("BWLIMIT_JOURNAL_DIR", dir, 1), 0);
	assert_int_equal(bwl_journal_make(dir, NULL, 0, &was, NULL), 0);
	if (bwl_accepted_keep(dir, "file", text, strlen(text), &e))
		fail_msg("%s", e.text);
	for (unsigned i = 0; i < _BWL_PIN_MAX; i++)
		pins.fd[i] = -1;
	v.docs = s;
	doc = rig_sign(BWL_SIGNED_EXPULSION, "hall-3", "all", expulsion("tray-9"), ONE);
	assert_int_equal(bwl_signed_peek(doc, strlen(doc), &d, &e), 0);
	if (docs_close(&v, &d, &e))
		fail_msg("%s", e.text);
	bwl_journal_look(dir, &j);
	for (unsigned i = 0; i < sizeof(closed) / sizeof(closed[0]); i++)
		if (!bwl_closed_name_is(&j.closed, closed[i]))
			fail_msg("%s is not closed", closed[i]);
	for (unsigned i = 0; i < sizeof(open_) / sizeof(open_[0]); i++)
		if (bwl_closed_name_is(&j.closed, open_[i]))
			fail_msg("%s is closed", open_[i]);
	/* closed as of the moment of signing, so that a document signed later can open it */
	assert_int_equal(j.closed.name[0].wall_s, at.wall_s);
	bwl_journal_free(&j);
	bwl_signed_free(&d);
	unsetenv("BWLIMIT_JOURNAL_DIR");
	for (unsigned i = 0; i < 3; i++) {
		char path[64];

		snprintf(path, sizeof(path), "%s/%s", dir, file[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(dir), 0);
}

static bool is_due(const char *name)
{
	const json_t *list = json_object_get(bwl_memory_due(s.m), "opens"), *v;
	size_t i;

	json_array_foreach(list, i, v) if (!strcmp(json_string_value(v), name)) return true;
	return false;
}

static void who_is_expelled_has_nothing_until_it_is_enrolled_again(void **state)
{
	BWL_AUTO_FREE char *before = NULL;

	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, 2 * DAY), TWO), "taken");
	before = rig_sign(BWL_SIGNED_ENROLMENT, "hall-3", "all", enrolment_of("a"), TWO);
	pass(1);
	assert_string_equal(give(BWL_SIGNED_EXPULSION, expulsion("a"), ONE), "taken");
	assert_int_equal(kbit("a"), 0);
	assert_false(peer("a")->floor.present);
	assert_int_equal(kbit("b"), 100);
	pass(1);
	/* neither a later policy nor a grant opens a; and widening for a is still noticed */
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(101, 100, DAY), ONE), "signed-widens");
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(90, 100, DAY), ONE), "taken");
	assert_int_equal(kbit("a"), 0);
	assert_string_equal(give(BWL_SIGNED_GRANT, grant("g", "a", 300, 3600), TWO), "taken");
	assert_int_equal(kbit("a"), 0);
	/* nor does an enrolment that is older, one person's, or another tray's */
	assert_string_equal(give_text(before), "taken");
	assert_string_equal(give(BWL_SIGNED_ENROLMENT, enrolment_of("a"), ONE), "signed-untrusted");
	assert_string_equal(give(BWL_SIGNED_ENROLMENT, enrolment_of("b"), TWO), "taken");
	assert_int_equal(kbit("a"), 0);
	assert_false(is_due("a"));
	pass(1);
	assert_string_equal(give(BWL_SIGNED_ENROLMENT, enrolment_of("a"), TWO), "taken");
	assert_int_equal(kbit("a"), 300);
	assert_true(is_due("a")); /* still to be opened in the maps and the journal */
	assert_false(is_due("b"));
}

/* To charon these are one identity, so an expulsion of either closes, and each one's enrolment ends
 * its own. */
static void a_like_name_is_expelled_too(void **state)
{
	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, 2 * DAY), TWO), "taken");
	pass(1);
	assert_string_equal(give(BWL_SIGNED_EXPULSION, expulsion("A"), ONE), "taken");
	assert_int_equal(kbit("a"), 0);
	assert_int_equal(kbit("b"), 100);
	assert_string_equal(give(BWL_SIGNED_EXPULSION, expulsion("a"), ONE), "taken");
	pass(1);
	assert_string_equal(give(BWL_SIGNED_ENROLMENT, enrolment_of("a"), TWO), "taken");
	assert_int_equal(kbit("a"), 0);
	assert_false(is_due("a")); /* it is A still */
	pass(1);
	assert_string_equal(give(BWL_SIGNED_ENROLMENT, enrolment_of("A"), TWO), "taken");
	assert_int_equal(kbit("a"), 100);
	assert_true(is_due("a"));
	/* this tray: its peers take it for the other */
	assert_string_equal(give(BWL_SIGNED_EXPULSION, expulsion("Tray-7"), ONE), "taken");
	assert_null(docs_policy(&s));
	pass(1);
	assert_string_equal(give(BWL_SIGNED_ENROLMENT, enrolment_of("Tray-7"), TWO), "taken");
	assert_int_equal(kbit("a"), 100);
}

static void a_tray_that_is_expelled_has_nothing_itself(void **state)
{
	(void)state;
	enrol();
	assert_string_equal(give(BWL_SIGNED_POLICY, policy(100, 100, DAY), TWO), "taken");
	assert_string_equal(give_time(), "taken");
	assert_int_equal(left(), 900);
	pass(1);
	assert_string_equal(give(BWL_SIGNED_EXPULSION, expulsion("tray-7"), ONE), "taken");
	assert_null(docs_policy(&s));
	assert_int_equal(left(), 0);
	pass(1);
	assert_string_equal(give(BWL_SIGNED_ENROLMENT, enrolment_of("tray-7"), TWO), "taken");
	assert_int_equal(kbit("a"), 100);
	assert_int_equal(left(), 898);
}

/* One person's signature closes; the second signature on the same document destroys the keys. */
static void the_second_signature_of_an_expulsion_is_acted_on_once(void **state)
{
	json_t *o;

	(void)state;
	enrol();
	pass(1);
	o = expulsion("tray-7");
	assert_string_equal(give(BWL_SIGNED_EXPULSION, json_deep_copy(o), ONE), "taken");
	assert_string_equal(give(BWL_SIGNED_EXPULSION, json_deep_copy(o), ONE), "known");
	assert_string_equal(give(BWL_SIGNED_EXPULSION, json_deep_copy(o), TWO), "taken");
	assert_string_equal(give(BWL_SIGNED_EXPULSION, o, TWO), "known");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			who_is_expelled_under_another_name_is_closed_before_the_first_policy),
		cmocka_unit_test(
			keys_are_destroyed_after_the_maps_are_closed_and_again_at_the_next_start),
		cmocka_unit_test(who_is_expelled_has_nothing_until_it_is_enrolled_again),
		cmocka_unit_test(a_like_name_is_expelled_too),
		cmocka_unit_test(a_tray_that_is_expelled_has_nothing_itself),
		cmocka_unit_test(the_second_signature_of_an_expulsion_is_acted_on_once),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
