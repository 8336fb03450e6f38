/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tray's memory of accepted documents, and documents that are given to it. */
#ifndef BWL_TEST_SIGNED_MEMORY_RIG_H
#define BWL_TEST_SIGNED_MEMORY_RIG_H

#include <bwl/cleanup.h>
#include <unistd.h>
#include "signed/memory.h"
#include "rig.h"

static char dir[64];

static inline int make_dir(void **state)
{
	rig_keys(state);
	strcpy(dir, "/tmp/bwl-memory-XXXXXX");
	return mkdtemp(dir) ? 0 : -1;
}

static inline int drop_dir(void **state)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/" BWL_MEMORY, dir);
	unlink(path);
	rmdir(dir);
	return rig_no_keys(state);
}

static inline char *enrolment_of(const char *name, unsigned version, unsigned who)
{
	BWL_AUTO(bwl_root_free) struct bwl_root *root = rig_root();
	json_t *o = rig_terms("tray-7", 1, version, NOW - 60, NOW + DAY);
	char hex[65];

	json_object_set_new(o, "tray", json_string(name));
	json_object_set_new(o, "root", json_string(bwl_hex_encode(bwl_root_digest(root), 32, hex)));
	json_object_set_new(o, "labels", json_pack("[s, s]", "rack=3", "zone=mesh"));
	return rig_sign(BWL_SIGNED_ENROLMENT, "hall-3", "tray:tray-7", o, who);
}

static inline struct bwl_memory *enrol(void)
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
static inline void again(struct bwl_memory **m)
{
	struct bwl_err e = { 0 };

	bwl_memory_free(*m);
	*m = NULL;
	if (bwl_memory_open(dir, m, &e))
		fail_msg("%s", e.text);
}

/* Takes the reference. NULL: taken; otherwise "known", or the error's id. */
static inline const char *give(struct bwl_memory *m, enum bwl_signed_type type, json_t *body,
			       unsigned who)
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

static inline json_t *policy(const char *name, unsigned epoch, uint64_t version, const char *text)
{
	json_t *o = rig_terms(name, epoch, version, NOW - 60, NOW + DAY);

	json_object_set_new(o, "text", json_string(text));
	return o;
}

static inline const char *give_policy(struct bwl_memory *m, const char *name, unsigned epoch,
				      uint64_t version, const char *text)
{
	return give(m, BWL_SIGNED_POLICY, policy(name, epoch, version, text), PEOPLE);
}

static inline const char *give_time(struct bwl_memory *m, unsigned version, int64_t at)
{
	return give(m, BWL_SIGNED_TIMESTAMP, rig_terms("time", 1, version, at, at + DAY),
		    1U << CONTROLLER);
}

#endif
