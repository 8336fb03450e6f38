// SPDX-License-Identifier: GPL-2.0-or-later
/* The beginning of a memory: a root that people have compared, and an enrolment under it. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <bwl/encode.h>
#include "signed/memory_parts.h"
#include "signed/payload.h"

int bwl_memory_enrol(const char *dir, const char *root, size_t root_len, const char *enrolment,
		     size_t enrolment_len, int64_t wall_s, struct bwl_memory **ret,
		     struct bwl_err *e)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = bwl_must(calloc(1, sizeof(*m)));
	char path[512], hex[65];
	struct bwl_signed d;
	int r;

	snprintf(path, sizeof(path), "%s/" BWL_MEMORY, dir);
	if (!access(path, F_OK)) {
		bwl_fail(e, EEXIST, "a root is already enrolled here");
		return bwl_hint(e, "the next root needs no enrolment: bwlimit-ctl enrol ROOT");
	}
	r = bwl_root_first(root, root_len, &m->root, e);
	if (!r)
		r = bwl_signed_open(enrolment, enrolment_len, m->root, NULL, wall_s, &d, e);
	if (r)
		return r;
	m->root_text = bwl_must(strndup(root, root_len));
	bwl_hex_encode(bwl_root_digest(m->root), 32, hex);
	if (d.type != BWL_SIGNED_ENROLMENT || strcmp(bwl_payload_text(d.body, "root"), hex)) {
		bwl_fail(e, EBADMSG, "this is not an enrolment under the root %.16s…", hex);
		if (e)
			e->id = "signed-malformed";
		r = -EBADMSG;
	} else {
		strcpy(m->tray.fleet, d.fleet);
		strcpy(m->tray.name, bwl_payload_text(d.body, "tray"));
		m->epoch = bwl_root_terms(m->root)->epoch;
		if (d.terms.epoch > m->epoch)
			m->epoch = d.terms.epoch;
		m->newest_s = 0;
		memory_take_labels(m, NULL, 0);
		m->due = bwl_must(json_object());
		r = bwl_memory_accept(m, &d, e);
	}
	bwl_signed_free(&d);
	if (!r)
		*ret = bwl_take_ptr(&m);
	return r;
}

int bwl_memory_begin(const char *dir, const char *root, const char *enrolment, const char *sha256,
		     int64_t wall_s, struct bwl_memory **ret, struct bwl_err *e)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = NULL;
	uint8_t said[32];
	char hex[65];
	int r;

	if (!sha256 || !bwl_hex_decode(sha256, said, sizeof(said)))
		return bwl_fail(
			e, EINVAL,
			"the SHA-256 of the root must be 64 hex digits, as written down in the key ceremony");
	r = bwl_memory_enrol(dir, root, strlen(root), enrolment, strlen(enrolment), wall_s, &m, e);
	if (r)
		return r;
	if (memcmp(said, bwl_root_digest(m->root), sizeof(said))) {
		bwl_fail(e, EKEYREJECTED, "this root has SHA-256 %s, not the one given",
			 bwl_hex_encode(bwl_root_digest(m->root), 32, hex));
		if (e)
			e->id = "signed-untrusted";
		return bwl_hint(e, "compare it with the one written down in the key ceremony");
	}
	r = bwl_memory_keep(m, dir, e);
	if (!r)
		*ret = bwl_take_ptr(&m);
	return r;
}
