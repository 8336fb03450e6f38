// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Accepted documents are remembered over restarts, and nothing older is accepted. The wall time
 * only rises.
 */
#include <bwl/bytes.h>
#include <bwl/cleanup.h>
#include <fcntl.h>
#include <unistd.h>
#include "signed/enrolled.h"
#include "signed/memory.h"
#include "signed/memory_bound.h"
#include "rig.h"

static char dir[64];

static int make_dir(void **state)
{
	rig_keys(state);
	strcpy(dir, "/tmp/bwl-memory-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static int drop_dir(void **state)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/" BWL_MEMORY, dir);
	unlink(path);
	rmdir(dir);
	return rig_no_keys(state);
}

static char *enrolment_of(const char *name, unsigned version, unsigned who)
{
	BWL_AUTO(bwl_root_free) struct bwl_root *root = rig_root();
	json_t *o = rig_terms("tray-7", 1, version, NOW - 60, NOW + DAY);
	char hex[65];

	json_object_set_new(o, "tray", json_string(name));
	json_object_set_new(o, "root", json_string(bwl_hex_encode(bwl_root_digest(root), 32, hex)));
	json_object_set_new(o, "labels", json_pack("[s, s]", "rack=3", "zone=mesh"));
	return rig_sign(BWL_SIGNED_ENROLMENT, "hall-3", "tray:tray-7", o, who);
}

static struct bwl_memory *enrol(void)
{
	BWL_AUTO_FREE char *root = rig_root_text(&rig_root_1, PEOPLE);
	BWL_AUTO_FREE char *enrolment = enrolment_of("tray-7", 1, 1U << ALICE | 1U << BOB);
	struct bwl_memory *m = NULL;
	struct bwl_err e = { 0 };
	char path[128];

	snprintf(path, sizeof(path), "%s/" BWL_MEMORY, dir);
	unlink(path);
	if (bwl_memory_enrol(dir, root, strlen(root), enrolment, strlen(enrolment), NOW, &m, &e) ||
	    bwl_memory_keep(m, dir, &e))
		fail_msg("%s", e.text);
	return m;
}

/* Reads the memory again, as after a reboot. */
static void again(struct bwl_memory **m)
{
	struct bwl_err e = { 0 };

	bwl_memory_free(*m);
	*m = NULL;
	if (bwl_memory_open(dir, m, &e))
		fail_msg("%s", e.text);
}

/* Takes the reference. NULL: taken; otherwise "known", or the error's id. */
static const char *give(struct bwl_memory *m, enum bwl_signed_type type, json_t *body, unsigned who)
{
	BWL_AUTO_FREE char *text = rig_sign(type, "hall-3", "all", body, who);
	static struct bwl_err e;
	struct bwl_signed d;
	int r;

	e = (struct bwl_err){ 0 };
	r = bwl_signed_open(text, strlen(text), bwl_memory_root(m), bwl_memory_tray(m),
			    bwl_memory_now(m, NOW), &d, &e);
	if (!r)
		r = bwl_memory_accept(m, &d, &e);
	bwl_signed_free(&d);
	if (r >= 0)
		assert_int_equal(bwl_memory_keep(m, dir, &e), 0);
	return r < 0 ? e.id : r ? "known" : NULL;
}

static json_t *policy(const char *name, unsigned epoch, unsigned version, const char *text)
{
	json_t *o = rig_terms(name, epoch, version, NOW - 60, NOW + DAY);

	json_object_set_new(o, "text", json_string(text));
	return o;
}

static const char *give_policy(struct bwl_memory *m, const char *name, unsigned epoch,
			       unsigned version, const char *text)
{
	return give(m, BWL_SIGNED_POLICY, policy(name, epoch, version, text), PEOPLE);
}

static const char *give_time(struct bwl_memory *m, unsigned version, int64_t at)
{
	return give(m, BWL_SIGNED_TIMESTAMP, rig_terms("time", 1, version, at, at + DAY),
		    1U << CONTROLLER);
}

static void versions_only_rise_over_restarts_too(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();

	(void)state;
	assert_string_equal(bwl_memory_tray(m)->name, "tray-7");
	assert_null(give_policy(m, "base", 1, 5, "a"));
	for (unsigned round = 0; round < 2; round++, again(&m)) {
		assert_string_equal(give_policy(m, "base", 1, 4, "a"), "signed-old");
		assert_string_equal(give_policy(m, "base", 1, 5, "b"), "signed-conflict");
		assert_string_equal(give_policy(m, "base", 1, 5, "a"), "known");
	}
	assert_null(give_policy(m, "base", 1, 6, "b"));
	assert_null(give_policy(m, "other", 1, 1, "a")); /* each name has its own versions */
	assert_string_equal(give_policy(m, "base", 1, 5, "a"), "signed-old");
}

static void a_new_epoch_ends_all_that_was_signed_before(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();
	json_t *o = rig_terms("all", 1, 1, NOW - 60, NOW + DAY);

	(void)state;
	assert_null(give_policy(m, "base", 1, 5, "a"));
	json_object_set_new(o, "new_epoch", json_integer(2));
	json_object_set_new(o, "reason", json_string("a key was lost"));
	assert_null(give(m, BWL_SIGNED_REVOCATION, o, 1U << BOB)); /* one person may close */
	again(&m);
	assert_int_equal(bwl_memory_epoch(m), 2);
	assert_string_equal(give_policy(m, "base", 1, 6, "a"), "signed-old");
	assert_string_equal(give_policy(m, "new", 1, 1, "a"), "signed-old");
	assert_null(give_policy(m, "base", 2, 1, "a"));
	assert_string_equal(give_policy(m, "base", 2000, 1, "a"), "signed-malformed");
}

static void a_document_that_was_revoked_by_name_is_never_taken(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();
	json_t *p = policy("base", 1, 5, "a"), *o = rig_terms("it", 1, 1, NOW - 60, NOW + DAY);
	char *payload = json_dumps(p, JSON_COMPACT), hex[65];
	struct bwl_signed d;
	struct bwl_err e;
	char *text = rig_sign(BWL_SIGNED_POLICY, "hall-3", "all", p, 0);

	(void)state;
	assert_int_equal(bwl_signed_peek(text, strlen(text), &d, &e), 0);
	assert_int_equal(d.people, 0);
	json_object_set_new(o, "documents", json_pack("[s]", bwl_hex_encode(d.digest, 32, hex)));
	json_object_set_new(o, "reason", json_string("wrong"));
	assert_null(give(m, BWL_SIGNED_REVOCATION, o, 1U << CAROL));
	again(&m);
	assert_string_equal(give_policy(m, "base", 1, 5, "a"), "signed-revoked");
	assert_null(give_policy(m, "base", 1, 5, "b"));
	bwl_signed_free(&d);
	free(payload);
	free(text);
}

/*
 * This also holds for a document of the new epoch or a later one, and for the revocation that
 * begins the epoch.
 */
static void what_was_revoked_stays_so_in_the_epochs_that_follow(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();
	static const unsigned epoch[] = { 1, 2, 3 };
	json_t *list = json_array(), *o;
	char hex[65];

	(void)state;
	assert_null(give_policy(m, "base", 1, 5, "a"));
	for (unsigned i = 0; i < 3; i++) {
		BWL_AUTO_FREE char *text = rig_sign(BWL_SIGNED_POLICY, "hall-3", "all",
						    policy("base", epoch[i], 5, "a"), 0);
		struct bwl_signed d;

		assert_int_equal(bwl_signed_peek(text, strlen(text), &d, NULL), 0);
		json_array_append_new(list, json_string(bwl_hex_encode(d.digest, 32, hex)));
		bwl_signed_free(&d);
	}
	for (unsigned round = 1; round <= 2; round++) {
		o = rig_terms("it", round, 1, NOW - 60, NOW + DAY);
		if (round == 1)
			json_object_set(o, "documents", list);
		json_object_set_new(o, "new_epoch", json_integer(round + 1));
		json_object_set_new(o, "reason", json_string("wrong"));
		assert_null(give(m, BWL_SIGNED_REVOCATION, o, 1U << CAROL));
		again(&m);
		for (unsigned e = round + 1; e <= 3; e++)
			assert_string_equal(give_policy(m, "base", e, 5, "a"), "signed-revoked");
	}
	json_decref(list);
	assert_null(give_policy(m, "base", 3, 6, "a"));
}

/*
 * A document for an epoch that had not begun is revoked by digest. Then a root begins that epoch.
 */
static void what_was_revoked_stays_so_under_a_root_of_a_higher_epoch(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();
	struct rig_root w = rig_root_1;
	json_t *o = rig_terms("it", 1, 1, NOW - 60, NOW + DAY);
	struct bwl_err e = { 0 };
	struct bwl_signed d;
	char hex[65], *text;

	(void)state;
	text = rig_sign(BWL_SIGNED_POLICY, "hall-3", "all", policy("base", 2, 5, "a"), 0);
	assert_int_equal(bwl_signed_peek(text, strlen(text), &d, NULL), 0);
	json_object_set_new(o, "documents", json_pack("[s]", bwl_hex_encode(d.digest, 32, hex)));
	json_object_set_new(o, "reason", json_string("wrong"));
	bwl_signed_free(&d);
	free(text);
	assert_null(give(m, BWL_SIGNED_REVOCATION, o, 1U << CAROL));
	w.version = w.epoch = 2;
	text = rig_root_text(&w, PEOPLE);
	assert_int_equal(bwl_memory_next_root(m, text, strlen(text), &e), 0);
	assert_int_equal(bwl_memory_keep(m, dir, &e), 0);
	free(text);
	again(&m);
	assert_int_equal(bwl_memory_epoch(m), 2);
	assert_string_equal(give_policy(m, "base", 2, 5, "a"), "signed-revoked");
	assert_null(give_policy(m, "base", 2, 5, "b"));
}

static void the_newest_enrolment_counts_whatever_came_last(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();
	const struct {
		const char *name;
		unsigned version;
	} row[] = { { "b", 7 }, { "c", 3 } };
	BWL_AUTO(bwl_root_free) struct bwl_root *root = rig_root();
	char hex[65];

	(void)state;
	bwl_hex_encode(bwl_root_digest(root), 32, hex);
	for (unsigned i = 0; i < 2; i++) {
		json_t *o = rig_terms(row[i].name, 1, row[i].version, NOW - 60, NOW + DAY);

		json_object_set_new(o, "tray", json_string("tray-7"));
		json_object_set_new(o, "root", json_string(hex));
		assert_null(give(m, BWL_SIGNED_ENROLMENT, o, PEOPLE));
		assert_int_equal(bwl_memory_bound(m).version, 7);
	}
}

static void wall_time_is_never_below_the_newest_signed_time(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();

	(void)state;
	assert_int_equal(bwl_memory_whole(m), 0); /* no time was ever seen */
	assert_null(give_time(m, 1, NOW + 100));
	again(&m);
	assert_int_equal(bwl_memory_now(m, NOW), NOW + 100);
	assert_int_equal(bwl_memory_now(m, 0), NOW + 100); /* a clock without a battery */
	assert_int_equal(bwl_memory_now(m, NOW + 101), NOW + 101);
	assert_int_equal(bwl_memory_whole(m), 0);
	bwl_memory_set_whole(m);
	assert_int_equal(bwl_memory_keep(m, dir, &(struct bwl_err){ 0 }), 0);
	again(&m);
	assert_int_equal(bwl_memory_whole(m), NOW + 100);
	/* what has ended by that time is over, whatever the clock says */
	assert_null(give_time(m, 2, NOW + DAY));
	assert_string_equal(give_policy(m, "base", 1, 1, "a"), "signed-expired");
	/* an older time does not set it back */
	assert_string_equal(give_time(m, 1, NOW + 100), "signed-old");
	assert_int_equal(bwl_memory_newest(m), NOW + DAY);
	assert_int_equal(bwl_memory_whole(m), NOW + 100);
}

static void a_stolen_online_key_is_got_over_by_the_next_root(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();
	struct rig_root w = rig_root_1;
	struct bwl_err e = { 0 };
	char *text;

	(void)state;
	assert_null(give_policy(m, "base", 1, 5, "a"));
	assert_null(give_time(m, 1000000, NOW + 100 * 365 * DAY));
	w.version = 2;
	text = rig_root_text(&w, PEOPLE); /* the same online key: nothing is forgotten */
	assert_int_equal(bwl_memory_next_root(m, text, strlen(text), &e), 0);
	assert_int_equal(bwl_memory_newest(m), NOW + 100 * 365 * DAY);
	free(text);
	w = (struct rig_root){ 3, 1, PEOPLE, 1U << MALLORY, 2, NOW + DAY };
	text = rig_root_text(&w, 1U << ALICE);
	assert_int_not_equal(bwl_memory_next_root(m, text, strlen(text), &e), 0);
	free(text);
	text = rig_root_text(&w, PEOPLE);
	assert_int_equal(bwl_memory_next_root(m, text, strlen(text), &e), 0);
	assert_int_equal(bwl_memory_keep(m, dir, &e), 0);
	free(text);
	again(&m);
	assert_int_equal(bwl_memory_newest(m), NOW - DAY);
	assert_string_equal(give_time(m, 2000000, NOW + 300), "signed-untrusted");
	assert_null(give(m, BWL_SIGNED_TIMESTAMP, rig_terms("time", 1, 1, NOW, NOW + DAY),
			 1U << MALLORY));
	assert_string_equal(give_policy(m, "base", 1, 4, "a"), "signed-old"); /* people's stay */
}

/* Another online key stays, but it is not known which of the two signed what. */
static void an_online_key_that_goes_takes_along_what_it_said(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();
	struct rig_root w = { 2, 1, PEOPLE, 1U << CONTROLLER | 1U << MALLORY, 2, NOW + DAY };
	struct bwl_err e = { 0 };
	char *text = rig_root_text(&w, PEOPLE);

	(void)state;
	assert_null(give_time(m, 1, NOW + 100));
	assert_int_equal(bwl_memory_next_root(m, text, strlen(text), &e), 0);
	assert_int_equal(bwl_memory_newest(m), NOW + 100); /* with one more key */
	free(text);
	assert_null(give(m, BWL_SIGNED_TIMESTAMP,
			 rig_terms("time", 1, 1000000, NOW + 3000 * DAY, NOW + 3001 * DAY),
			 1U << MALLORY));
	w = (struct rig_root){ 3, 1, PEOPLE, 1U << CONTROLLER, 2, NOW + DAY };
	text = rig_root_text(&w, PEOPLE);
	assert_int_equal(bwl_memory_next_root(m, text, strlen(text), &e), 0);
	free(text);
	assert_int_equal(bwl_memory_newest(m), NOW - DAY);
	assert_null(give_time(m, 2, NOW + 200));
}

static void who_enrols_brings_what_two_people_signed(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();
	BWL_AUTO_FREE char *root = rig_root_text(&rig_root_1, PEOPLE);
	const struct {
		const char *tray;
		unsigned who;
		bool ok;
	} row[] = { { "tray-7", 1U << ALICE, false }, { "tray-7", PEOPLE, true } };
	struct bwl_memory *fresh = NULL;
	struct bwl_err e = { 0 };
	char *text = enrolment_of("tray-7", 1, PEOPLE), path[128];

	(void)state;
	assert_int_equal(bwl_memory_enrol(dir, root, strlen(root), text, strlen(text), NOW, &fresh,
					  &e),
			 -EEXIST);
	free(text);
	snprintf(path, sizeof(path), "%s/" BWL_MEMORY, dir);
	unlink(path);
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		text = enrolment_of(row[i].tray, 1, row[i].who);
		assert_int_equal(!bwl_memory_enrol(dir, root, strlen(root), text, strlen(text), NOW,
						   &fresh, &e),
				 row[i].ok);
		free(text);
	}
	bwl_memory_free(fresh);
	/* another enrolment of this tray changes its labels; another tray's does not */
	text = enrolment_of("tray-8", 2, PEOPLE);
	{
		struct bwl_signed d;

		assert_int_equal(bwl_signed_open(text, strlen(text), bwl_memory_root(m), NULL, NOW,
						 &d, &e),
				 0);
		assert_int_not_equal(bwl_memory_accept(m, &d, &e), 0);
		bwl_signed_free(&d);
	}
	free(text);
}

/* Any changed byte, and any truncation, is damage. */
static void a_memory_that_was_changed_is_not_believed(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol(), *other = NULL;
	BWL_AUTO_FREE char *bytes = NULL;
	struct bwl_err e;
	char path[128];
	size_t len;
	int fd;

	(void)state;
	assert_null(give_policy(m, "base", 1, 5, "a"));
	snprintf(path, sizeof(path), "%s/" BWL_MEMORY, dir);
	fd = open(path, O_RDONLY);
	assert_int_equal(bwl_bytes_read(fd, 1 << 20, &bytes, &len, &e), 0);
	close(fd);
	assert_int_equal(bwl_memory_parse(bytes, len, &other, &e), 0);
	for (size_t i = 0; i < len; i++) {
		bytes[i] ^= 1;
		assert_int_equal(bwl_memory_parse(bytes, len, &(struct bwl_memory *){ NULL }, &e),
				 -EUCLEAN);
		bytes[i] ^= 1;
	}
	for (size_t cut = 0; cut < len; cut += 7)
		assert_int_equal(bwl_memory_parse(bytes, cut, &(struct bwl_memory *){ NULL }, &e),
				 -EUCLEAN);
}

static void what_holds_and_what_is_due_are_kept_over_restarts(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();
	const struct bwl_digest held[] = { { "one" }, { "two" } }, *h;
	const struct bwl_memory_item *item;
	json_t *o = rig_terms("all", 1, 1, NOW - 60, NOW + DAY);
	size_t n;

	(void)state;
	assert_int_equal(bwl_memory_closed(m), 0);
	json_object_set_new(o, "all", json_true());
	json_object_set_new(o, "reason", json_string("drill"));
	assert_null(give(m, BWL_SIGNED_REVOCATION, o, 1U << BOB));
	assert_null(give_policy(m, "base", 1, 5, "a"));
	bwl_memory_hold(m, held, 2);
	bwl_memory_set_done(m, held[1].b);
	bwl_memory_set_due(m, json_pack("{s:b}", "raise", 1));
	for (unsigned round = 0; round < 2; round++) {
		struct bwl_err e = { 0 };

		h = bwl_memory_held(m, &n);
		assert_int_equal(n, 2);
		assert_memory_equal(h, held, sizeof(held));
		assert_true(bwl_memory_is_done(m, held[1].b));
		assert_false(bwl_memory_is_done(m, held[0].b));
		assert_true(json_is_true(json_object_get(bwl_memory_due(m), "raise")));
		assert_int_equal(bwl_memory_closed(m), NOW - 60);
		item = bwl_memory_items(m, &n);
		assert_int_equal(n, 3); /* with the enrolment */
		assert_int_equal(item[n - 1].type, BWL_SIGNED_POLICY);
		assert_int_equal(item[n - 1].seq, bwl_memory_seq(m));
		assert_int_equal(bwl_memory_keep(m, dir, &e), 0);
		again(&m);
	}
	bwl_memory_hold(m, held, 1); /* "done" is forgotten with the policy */
	assert_false(bwl_memory_is_done(m, held[1].b));
}

static void what_cannot_be_looked_at_counts_as_enrolled(void **state)
{
	char path[128];
	int fd;

	(void)state;
	snprintf(path, sizeof(path), "%s/" BWL_MEMORY, dir);
	unlink(path);
	assert_false(bwl_is_enrolled(dir));
	fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600); /* an empty file */
	assert_true(fd >= 0);
	close(fd);
	assert_true(bwl_is_enrolled(dir));
}

/* Adds documents of a type, with different names, until one is refused. Returns how many. */
static unsigned fill(struct bwl_memory *m, enum bwl_signed_type type, const char *first,
		     int64_t end_s)
{
	struct bwl_signed d = { .type = type,
				.terms = { .epoch = bwl_memory_epoch(m),
					   .version = 1,
					   .issued_s = NOW - 50,
					   .not_after_s = end_s } };
	struct bwl_err e = { 0 };
	unsigned i = 0;
	int r;

	d.body = json_pack("{s:s}", "tray", "tray-9"); /* for types that have one */
	do {
		snprintf(d.terms.name, sizeof(d.terms.name), "%s%u", first, i);
		r = bwl_memory_accept(m, &d, &e);
	} while (!r && ++i < 10000);
	json_decref(d.body);
	assert_int_equal(r, -ENOSPC);
	return i;
}

static bool has(const struct bwl_memory *m, enum bwl_signed_type type, const char *name)
{
	size_t n;
	const struct bwl_memory_item *item = bwl_memory_items(m, &n);

	for (size_t i = 0; i < n; i++)
		if (item[i].type == type && !strcmp(item[i].name, name))
			return true;
	return false;
}

static void what_has_ended_makes_room(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();

	(void)state;
	assert_int_equal(fill(m, BWL_SIGNED_GRANT, "g", NOW), 3071); /* plus the enrolment */
	assert_null(give_time(m, 1, NOW + 1));
	assert_int_equal(fill(m, BWL_SIGNED_GRANT, "h", NOW + 3 * DAY), 3071);
	assert_false(has(m, BWL_SIGNED_GRANT, "g0"));
	assert_int_equal(bwl_memory_keep(m, dir, &(struct bwl_err){ 0 }), 0);
	again(&m);
}

static void the_online_key_alone_takes_room_from_nobody_else(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();

	(void)state;
	assert_string_equal(give(m, BWL_SIGNED_TIMESTAMP, rig_terms("t2", 1, 1, NOW, NOW + DAY),
				 1U << CONTROLLER),
			    "signed-malformed");
	assert_int_equal(fill(m, BWL_SIGNED_LEASE, "l", NOW), 256);
	assert_null(give_policy(m, "base", 1, 5, "a"));
	assert_null(give_time(m, 1, NOW + 1)); /* takes the place of one that has ended */
	assert_false(has(m, BWL_SIGNED_LEASE, "l0"));
	assert_true(has(m, BWL_SIGNED_LEASE, "l1"));
}

static void what_closes_has_room_where_one_person_filled_all_others(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();
	json_t *o = rig_terms("all", 1, 1, NOW - 60, NOW + DAY);

	(void)state;
	fill(m, BWL_SIGNED_GRANT, "g", NOW);
	fill(m, BWL_SIGNED_EXPULSION, "e", NOW);
	json_object_set_new(o, "new_epoch", json_integer(2));
	json_object_set_new(o, "reason", json_string("somebody fills it"));
	assert_null(give(m, BWL_SIGNED_REVOCATION, o, 1U << BOB));
	assert_null(give_policy(m, "base", 2, 1, "a"));
	again(&m);
	assert_true(has(m, BWL_SIGNED_ENROLMENT, "tray-7"));
}

static void what_holds_is_not_forgotten_for_what_comes(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();
	struct bwl_signed d = { .type = BWL_SIGNED_GRANT,
				.terms = { .name = "old",
					   .epoch = 1,
					   .version = 1,
					   .issued_s = NOW - 61,
					   .not_after_s = NOW } };
	const struct bwl_memory_item *item;
	struct bwl_err e = { 0 };
	struct bwl_digest held;
	size_t n;

	(void)state;
	assert_null(give_policy(m, "base", 1, 5, "a")); /* signed at NOW - 60 */
	item = bwl_memory_items(m, &n);
	held = item[n - 1].digest;
	bwl_memory_hold(m, &held, 1);
	assert_int_equal(bwl_memory_accept(m, &d, &e), 0);
	strcpy(d.terms.name, "tighter");
	d.terms.issued_s = NOW - 60;
	assert_int_equal(bwl_memory_accept(m, &d, &e), 0);
	assert_int_equal(bwl_memory_keep(m, dir, &e), 0);
	again(&m);
	fill(m, BWL_SIGNED_POLICY, "p", NOW);
	assert_null(give_time(m, 1, NOW + 2 * DAY)); /* all have ended, the enrolment, too */
	fill(m, BWL_SIGNED_POLICY, "q", NOW + 3 * DAY);
	assert_true(has(m, BWL_SIGNED_ENROLMENT, "tray-7"));
	assert_true(has(m, BWL_SIGNED_POLICY, "base"));
	assert_true(has(m, BWL_SIGNED_GRANT, "tighter"));
	assert_false(has(m, BWL_SIGNED_GRANT, "old"));
	assert_false(has(m, BWL_SIGNED_POLICY, "p0"));
}

static const char *expel(struct bwl_memory *m, const char *name, unsigned version, int64_t at,
			 unsigned who)
{
	json_t *o = rig_terms(name, 1, version, at, NOW + DAY);

	json_object_set_new(o, "tray", json_string(name));
	json_object_set_new(o, "reason", json_string("stolen"));
	return give(m, BWL_SIGNED_EXPULSION, o, who);
}

static const char *readmit(struct bwl_memory *m, const char *name, unsigned version, int64_t at,
			   unsigned who)
{
	BWL_AUTO(bwl_root_free) struct bwl_root *root = rig_root();
	json_t *o = rig_terms(name, 1, version, at, NOW + DAY);
	char hex[65];

	json_object_set_new(o, "tray", json_string(name));
	json_object_set_new(o, "root", json_string(bwl_hex_encode(bwl_root_digest(root), 32, hex)));
	return give(m, BWL_SIGNED_ENROLMENT, o, who);
}

static void who_is_expelled_is_so_until_an_enrolment_that_was_signed_after_it(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();

	(void)state;
	assert_null(readmit(m, "tray-9", 1, NOW - 50, PEOPLE)); /* it was enrolled once */
	assert_null(expel(m, "tray-9", 1, NOW - 40, 1U << BOB));
	again(&m);
	assert_true(bwl_memory_is_expelled(m, "tray-9", NULL));
	assert_true(bwl_memory_is_expelled(m, "east", "tray-9")); /* by its IKE identity */
	assert_false(bwl_memory_is_expelled(m, "tray-8", "tray-7"));
	/* an older enrolment, whatever its number, or one person's, admits nobody */
	assert_null(readmit(m, "tray-9", 2, NOW - 45, PEOPLE));
	assert_null(readmit(m, "tray-9", 3, NOW - 40, PEOPLE));
	assert_string_equal(readmit(m, "tray-9", 4, NOW - 30, 1U << BOB), "signed-untrusted");
	assert_true(bwl_memory_is_expelled(m, "tray-9", NULL));
	assert_null(readmit(m, "tray-9", 4, NOW - 30, PEOPLE));
	again(&m);
	assert_false(bwl_memory_is_expelled(m, "tray-9", NULL));
	/* a withheld older expulsion with a higher number */
	assert_null(expel(m, "tray-9", 2, NOW - 35, 1U << BOB));
	assert_false(bwl_memory_is_expelled(m, "tray-9", NULL));
	assert_null(expel(m, "tray-9", 3, NOW - 20, 1U << BOB));
	assert_true(bwl_memory_is_expelled(m, "tray-9", NULL));
	/* and in the other order: an older expulsion that is still in the store */
	assert_null(readmit(m, "tray-8", 1, NOW - 10, PEOPLE));
	assert_null(expel(m, "tray-8", 1, NOW - 20, 1U << BOB));
	assert_false(bwl_memory_is_expelled(m, "tray-8", NULL));
	assert_int_equal(bwl_memory_bound(m).version,
			 1); /* none of it is an enrolment of this tray */
}

static void who_was_replaced_is_not_expelled_by_what_the_store_still_has(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol(); /* at NOW - 60 */

	(void)state;
	assert_null(expel(m, "tray-7", 1, NOW - 61, PEOPLE));
	assert_false(bwl_memory_is_expelled(m, "tray-7", NULL));
	assert_null(expel(m, "tray-7", 2, NOW - 50, 1U << ALICE));
	assert_true(bwl_memory_is_expelled(m, "tray-7", NULL));
}

static void keys_go_for_two_people_until_this_tray_is_enrolled_again(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol(); /* at NOW - 60 */

	(void)state;
	assert_null(expel(m, "tray-9", 1, NOW - 50, PEOPLE));
	assert_null(expel(m, "tray-7", 1, NOW - 50, 1U << ALICE));
	assert_false(bwl_memory_destroys(m)); /* another tray's, and one person's */
	assert_null(expel(m, "tray-7", 2, NOW - 40, PEOPLE));
	assert_true(bwl_memory_destroys(m));
	again(&m);
	assert_true(bwl_memory_destroys(m)); /* after a restart, too */
	assert_null(readmit(m, "tray-7", 2, NOW - 30, PEOPLE));
	again(&m);
	assert_false(bwl_memory_destroys(m)); /* a tray that is enrolled again keeps its new keys */
}

static void enrol_with(struct bwl_memory *m, unsigned version, int64_t issued_s, const char *a,
		       const char *b)
{
	json_t *o = rig_terms("tray-7", 1, version, issued_s, NOW + DAY);
	char hex[65];

	json_object_set_new(o, "tray", json_string("tray-7"));
	json_object_set_new(o, "root",
			    json_string(
				    bwl_hex_encode(bwl_root_digest(bwl_memory_root(m)), 32, hex)));
	json_object_set_new(o, "labels", json_pack("[s, s]", a, b));
	assert_null(give(m, BWL_SIGNED_ENROLMENT, o, PEOPLE));
}

static void since_when_a_tray_has_a_label_is_kept_over_enrolments_and_restarts(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();

	(void)state;
	assert_int_equal(bwl_memory_label_since(m, 0), NOW - 60);
	enrol_with(m, 2, NOW - 30, "row=b", "zone=mesh");
	again(&m);
	assert_string_equal(bwl_memory_tray(m)->labels[0], "row=b");
	assert_int_equal(bwl_memory_label_since(m, 0), NOW - 30);
	assert_int_equal(bwl_memory_label_since(m, 1), NOW - 60);
	enrol_with(m, 3, NOW - 10, "rack=3", "zone=mesh"); /* it lacked rack=3 in between */
	again(&m);
	assert_int_equal(bwl_memory_label_since(m, 0), NOW - 10);
	assert_int_equal(bwl_memory_label_since(m, 1), NOW - 60);
}

static const char *close_peer(struct bwl_memory *m, unsigned version, const char *peer)
{
	json_t *o = rig_terms("it", 1, version, NOW - 60, NOW + DAY);
	char why[16];

	snprintf(why, sizeof(why), "drill %u", version);
	json_object_set_new(o, "reason", json_string(why));
	json_object_set_new(o, "peers", json_pack("[s]", peer));
	return give(m, BWL_SIGNED_REVOCATION, o, 1U << ALICE);
}

static void what_closes_something_else_has_versions_of_its_own_over_restarts_too(void **state)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = enrol();
	const struct bwl_memory_item *item;
	size_t n, before;

	(void)state;
	bwl_memory_items(m, &before);
	assert_null(close_peer(m, 5, "a"));
	for (unsigned i = 0; i < 2; i++) {
		assert_string_equal(close_peer(m, 4, "a"), "signed-old");
		assert_string_equal(close_peer(m, 5, "a"), "known");
		if (!i) {
			assert_null(close_peer(m, 4, "b")); /* another, not an older one */
			assert_null(close_peer(m, 6, "b"));
		}
		assert_string_equal(close_peer(m, 5, "b"), "signed-old");
		again(&m);
	}
	item = bwl_memory_items(m, &n);
	assert_int_equal(n, before + 2);
	assert_int_equal(item[n - 1].version, 6);
	assert_memory_not_equal(item[n - 1].before.b, item[n - 1].digest.b, 32);
	assert_memory_not_equal(item[n - 1].what.b, item[n - 2].what.b, 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_only_rise_over_restarts_too),
		cmocka_unit_test(a_new_epoch_ends_all_that_was_signed_before),
		cmocka_unit_test(a_document_that_was_revoked_by_name_is_never_taken),
		cmocka_unit_test(what_was_revoked_stays_so_in_the_epochs_that_follow),
		cmocka_unit_test(what_was_revoked_stays_so_under_a_root_of_a_higher_epoch),
		cmocka_unit_test(the_newest_enrolment_counts_whatever_came_last),
		cmocka_unit_test(wall_time_is_never_below_the_newest_signed_time),
		cmocka_unit_test(a_stolen_online_key_is_got_over_by_the_next_root),
		cmocka_unit_test(an_online_key_that_goes_takes_along_what_it_said),
		cmocka_unit_test(who_enrols_brings_what_two_people_signed),
		cmocka_unit_test(a_memory_that_was_changed_is_not_believed),
		cmocka_unit_test(what_has_ended_makes_room),
		cmocka_unit_test(the_online_key_alone_takes_room_from_nobody_else),
		cmocka_unit_test(what_closes_has_room_where_one_person_filled_all_others),
		cmocka_unit_test(what_holds_is_not_forgotten_for_what_comes),
		cmocka_unit_test(who_is_expelled_is_so_until_an_enrolment_that_was_signed_after_it),
		cmocka_unit_test(who_was_replaced_is_not_expelled_by_what_the_store_still_has),
		cmocka_unit_test(what_holds_and_what_is_due_are_kept_over_restarts),
		cmocka_unit_test(what_cannot_be_looked_at_counts_as_enrolled),
		cmocka_unit_test(keys_go_for_two_people_until_this_tray_is_enrolled_again),
		cmocka_unit_test(
			what_closes_something_else_has_versions_of_its_own_over_restarts_too),
		cmocka_unit_test(
			since_when_a_tray_has_a_label_is_kept_over_enrolments_and_restarts),
	};

	return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
