// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The memory as a file: "# bwlimit signed 1 SHA256" (of everything after that line), and one JSON
 * object. The digest detects torn or corrupt files. Whoever can write the file can write a digest,
 * too.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <bwl/bytes.h>
#include <bwl/encode.h>
#include "signed/checked_file.h"
#include "signed/closing.h"
#include "signed/memory_parts.h"
#include "signed/payload.h"
#include "signed/text.h"

#define WORD "signed"
#define BYTES_MAX (16UL << 20)

void bwl_memory_free(struct bwl_memory *m)
{
	bwl_root_free(m->root);
	free(m->root_text);
	json_decref(m->tray_labels);
	free(m->labels);
	free(m->label_since_s);
	free(m->log_key);
	free(m->item);
	free(m->revoked);
	free(m->expelled);
	json_decref(m->due);
	free(m);
}

static int64_t label_since(const struct bwl_memory *m, const char *label, int64_t else_s)
{
	for (size_t i = 0; i < m->tray.nlabels; i++)
		if (!strcmp(m->labels[i], label) && m->label_since_s[i] < else_s)
			return m->label_since_s[i];
	return else_s;
}

void memory_take_labels(struct bwl_memory *m, const json_t *labels, int64_t since_s)
{
	json_t *copy = labels ? json_deep_copy(labels) : json_array();
	int64_t *since = bwl_must(calloc(json_array_size(copy) + 1, sizeof(*since)));
	const json_t *v;
	size_t i;

	json_array_foreach(copy, i, v) since[i] = label_since(m, json_string_value(v), since_s);
	free(m->label_since_s);
	m->label_since_s = since;
	json_decref(m->tray_labels);
	m->tray_labels = bwl_must(copy);
	m->labels = bwl_must(
		reallocarray(m->labels, json_array_size(copy) + 1, sizeof(*m->labels)));
	json_array_foreach(copy, i, v) m->labels[i] = json_string_value(v);
	m->tray.labels = m->labels;
	m->tray.nlabels = json_array_size(copy);
}

void memory_take_log_key(struct bwl_memory *m, const char *key)
{
	free(m->log_key);
	m->log_key = key ? bwl_must(strdup(key)) : NULL;
}

static bool take_word(const json_t *o, const char *key, char ret[static BWL_NAME_LEN])
{
	const char *s = bwl_payload_text(o, key);

	if (!s || !bwl_is_name(s, strlen(s)))
		return false;
	strcpy(ret, s);
	return true;
}

static bool take_number(const json_t *o, const char *key, uint64_t *ret)
{
	const json_t *v = json_object_get(o, key);

	*ret = (uint64_t)json_integer_value(v);
	return json_is_integer(v) && json_integer_value(v) >= 0;
}

/* A missing digest is 0. */
static bool take_digest(const json_t *o, const char *key, struct bwl_digest *ret)
{
	const char *hex = bwl_payload_text(o, key);

	*ret = (struct bwl_digest){ 0 };
	return !json_object_get(o, key) || (hex && bwl_hex_decode(hex, ret->b, sizeof(ret->b)));
}

static bool take_item(const json_t *o, struct bwl_memory_item *ret)
{
	const char *type = bwl_payload_text(o, "type"), *digest = bwl_payload_text(o, "digest");
	uint64_t not_after, issued;

	for (ret->type = 0; type && ret->type < _BWL_SIGNED_MAX; ret->type++)
		if (!strcmp(type, bwl_signed_word(ret->type)))
			break;
	if (!type || ret->type == _BWL_SIGNED_MAX || !digest ||
	    !bwl_hex_decode(digest, ret->digest.b, sizeof(ret->digest.b)) ||
	    !take_word(o, "name", ret->name) || !take_number(o, "epoch", &ret->epoch) ||
	    !take_number(o, "version", &ret->version) || !take_number(o, "seq", &ret->seq) ||
	    !take_number(o, "not_after", &not_after))
		return false;
	ret->not_after_s = (int64_t)not_after;
	ret->other = bwl_payload_yes(o, "other");
	if (!take_digest(o, "what", &ret->what) || !take_digest(o, "before", &ret->before))
		return false;
	/* bwlimit 0.2.0 did not write it: it counts as signed last, and is never forgotten */
	ret->issued_s = take_number(o, "issued", &issued) ? (int64_t)issued : INT64_MAX;
	return true;
}

static bool take_digests(const json_t *list, struct bwl_digest *ret, size_t *ret_n)
{
	const json_t *v;
	size_t i;

	json_array_foreach(list, i, v) if (!json_is_string(v) ||
					   !bwl_hex_decode(json_string_value(v), ret[(*ret_n)++].b,
							   32)) return false;
	return true;
}

/* Earlier versions did not write it: then it is that of the policy's entry, if it is still there.
 */
static bool take_held_seq(struct bwl_memory *m, const json_t *list)
{
	if (list && json_array_size(list) != m->nheld)
		return false;
	for (size_t i = 0; i < m->nheld; i++) {
		const json_t *v = json_array_get(list, i);
		json_int_t seq = json_integer_value(v);

		if (list && (!json_is_integer(v) || seq < 0 || (uint64_t)seq > m->seq))
			return false;
		m->held_seq[i] = (uint64_t)seq;
		for (size_t k = 0; !list && k < m->nitems; k++)
			if (!memcmp(m->item[k].digest.b, m->held[i].b, sizeof(m->held[i].b)))
				m->held_seq[i] = m->item[k].seq;
	}
	return true;
}

/* The policies that hold. A list that is too long is not ours. */
static bool take_held(struct bwl_memory *m, const json_t *o)
{
	const json_t *held = json_object_get(o, "held"), *done = json_object_get(o, "done");

	m->due = json_incref(json_object_get(o, "due"));
	return json_is_array(held) && json_array_size(held) <= BWL_MEMORY_HELD &&
	       json_array_size(done) <= BWL_MEMORY_HELD && take_digests(held, m->held, &m->nheld) &&
	       take_held_seq(m, json_object_get(o, "held_seq")) &&
	       take_digests(done, m->done, &m->ndone) && json_is_object(m->due);
}

/* bwlimit 0.2.0 did not write it: the journal had closed the trays that were expelled. */
static bool take_expelled(struct bwl_memory *m, const json_t *list)
{
	const json_t *v;
	size_t i;

	if (json_array_size(list) > MEMORY_MAX)
		return false;
	m->expelled = bwl_must(calloc(json_array_size(list) + 1, sizeof(*m->expelled)));
	json_array_foreach(list, i, v)
	{
		struct memory_expelled *x = &m->expelled[m->nexpelled++];
		uint64_t issued;

		if (!take_word(v, "tray", x->tray) || !take_number(v, "epoch", &x->epoch) ||
		    !take_number(v, "issued", &issued))
			return false;
		x->issued_s = (int64_t)issued;
		x->enough = bwl_payload_yes(v, "enough");
	}
	return true;
}

static bool take_lists(struct bwl_memory *m, const json_t *o)
{
	const json_t *items = json_object_get(o, "accepted"), *v,
		     *revoked = json_object_get(o, "revoked");
	size_t i;

	if (!json_is_array(items) || !json_is_array(revoked) ||
	    json_array_size(items) > MEMORY_MAX || json_array_size(revoked) > MEMORY_MAX)
		return false;
	m->items_room = json_array_size(items) + 1;
	m->item = bwl_must(calloc(m->items_room, sizeof(*m->item)));
	m->revoked = bwl_must(calloc(json_array_size(revoked) + 1, sizeof(*m->revoked)));
	json_array_foreach(items, i, v) if (!take_item(v, &m->item[m->nitems++])) return false;
	return take_digests(revoked, m->revoked, &m->nrevoked) &&
	       take_expelled(m, json_object_get(o, "expelled"));
}

static bool take_labels(struct bwl_memory *m, const json_t *labels)
{
	const json_t *v;
	size_t i;

	if (!json_is_array(labels))
		return false;
	json_array_foreach(labels, i, v) if (!json_is_string(v) ||
					     !bwl_is_label(json_string_value(v),
							   json_string_length(v))) return false;
	memory_take_labels(m, labels, 0);
	return true;
}

/* Earlier versions did not write it: a label then counts as the newest enrolment's. */
static bool take_label_since(struct bwl_memory *m, const json_t *list)
{
	const struct bwl_memory_item *it = memory_enrolment(m);

	if (list && json_array_size(list) != m->tray.nlabels)
		return false;
	for (size_t i = 0; i < m->tray.nlabels; i++) {
		const json_t *v = json_array_get(list, i);

		if (list && !json_is_integer(v))
			return false;
		m->label_since_s[i] = list ? json_integer_value(v) : it ? it->issued_s : 0;
	}
	return true;
}

/* The root was judged when it came: here it only has to be a root. */
static bool take(struct bwl_memory *m, const json_t *o)
{
	const char *root = bwl_payload_text(o, "root");
	uint64_t newest, whole, closed;

	if (!root || bwl_root_first(root, strlen(root), &m->root, NULL))
		return false;
	m->root_text = bwl_must(strdup(root));
	strcpy(m->tray.fleet, bwl_root_fleet(m->root));
	if (!take_word(o, "tray", m->tray.name) || !take_labels(m, json_object_get(o, "labels")) ||
	    !take_number(o, "epoch", &m->epoch) || !take_number(o, "seq", &m->seq) ||
	    !take_number(o, "newest", &newest) || !take_number(o, "closed", &closed))
		return false;
	m->newest_s = (int64_t)newest;
	/* bwlimit 0.2.0 did not write it: then no signed time named any document */
	m->whole_s = take_number(o, "whole", &whole) ? (int64_t)whole : m->newest_s;
	m->closed_s = (int64_t)closed;
	memory_take_log_key(m, bwl_payload_text(o, "log_key"));
	return take_lists(m, o) && take_label_since(m, json_object_get(o, "label_since")) &&
	       take_held(m, o);
}

int bwl_memory_parse(const char *bytes, size_t len, struct bwl_memory **ret, struct bwl_err *e)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *m = bwl_must(calloc(1, sizeof(*m)));
	json_t *o = bwl_checked_parse(WORD, bytes, len);
	bool ok = o && take(m, o);

	json_decref(o);
	if (ok) {
		*ret = bwl_take_ptr(&m);
		return 0;
	}
	bwl_fail(e, EUCLEAN, BWL_MEMORY ": the record of accepted signed documents is damaged");
	return bwl_hint(
		e, "move it away, and enrol this tray again: bwlimit-ctl enrol ROOT ENROLMENT");
}

int bwl_memory_open(const char *dir, struct bwl_memory **ret, struct bwl_err *e)
{
	BWL_AUTO_CLOSE int fd = -1;
	BWL_AUTO_FREE char *bytes = NULL;
	char path[512];
	size_t len;
	int r;

	snprintf(path, sizeof(path), "%s/" BWL_MEMORY, dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return bwl_fail(e, ENOENT, "no root is enrolled here");
	if (fd < 0)
		return bwl_fail(e, errno, "cannot read %s: %s", path, strerror(errno));
	r = bwl_bytes_read(fd, BYTES_MAX, &bytes, &len, e);
	return r ? r : bwl_memory_parse(bytes, len, ret, e);
}

static json_t *item_json(const struct bwl_memory_item *i)
{
	bool closes = bwl_closes(i->type);
	char hex[65], what[65], before[65];

	return json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:s, s:b, s:s*, s:s*}", "type",
			 bwl_signed_word(i->type), "name", i->name, "epoch", (json_int_t)i->epoch,
			 "version", (json_int_t)i->version, "seq", (json_int_t)i->seq, "issued",
			 (json_int_t)i->issued_s, "not_after", (json_int_t)i->not_after_s, "digest",
			 bwl_hex_encode(i->digest.b, sizeof(i->digest.b), hex), "other", i->other,
			 "what", closes ? bwl_hex_encode(i->what.b, 32, what) : NULL, "before",
			 closes ? bwl_hex_encode(i->before.b, 32, before) : NULL);
}

static json_t *digests_json(const struct bwl_digest *d, size_t n)
{
	json_t *list = json_array();
	char hex[65];

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list,
				      json_string(bwl_hex_encode(d[i].b, sizeof(d[i].b), hex)));
	return list;
}

static json_t *expelled_json(const struct bwl_memory *m)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->nexpelled; i++) {
		const struct memory_expelled *x = &m->expelled[i];

		json_array_append_new(list,
				      json_pack("{s:s, s:I, s:I, s:b}", "tray", x->tray, "epoch",
						(json_int_t)x->epoch, "issued",
						(json_int_t)x->issued_s, "enough", x->enough));
	}
	return list;
}

static json_t *held_seq_json(const struct bwl_memory *m)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->nheld; i++)
		json_array_append_new(list, json_integer((json_int_t)m->held_seq[i]));
	return list;
}

static json_t *label_since_json(const struct bwl_memory *m)
{
	json_t *list = json_array();

	for (size_t i = 0; i < m->tray.nlabels; i++)
		json_array_append_new(list, json_integer(m->label_since_s[i]));
	return list;
}

/* Whoever cannot read it takes this tray for one that is not enrolled. */
static bool reads_back(const struct bwl_memory *m, const json_t *o)
{
	BWL_AUTO(bwl_memory_free) struct bwl_memory *is = bwl_must(calloc(1, sizeof(*is)));

	return take(is, o) && is->seq == m->seq && is->epoch == m->epoch &&
	       is->closed_s == m->closed_s && is->nitems == m->nitems && is->nheld == m->nheld &&
	       is->nrevoked == m->nrevoked && is->nexpelled == m->nexpelled &&
	       is->ndone == m->ndone;
}

int bwl_memory_keep(struct bwl_memory *m, const char *dir, struct bwl_err *e)
{
	json_t *items = json_array(), *o;
	int r;

	for (size_t i = 0; i < m->nitems; i++)
		json_array_append_new(items, item_json(&m->item[i]));
	o = json_pack(
		"{s:s, s:s, s:O, s:o, s:I, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:O, s:s*}",
		"root", m->root_text, "tray", m->tray.name, "labels", m->tray_labels, "label_since",
		label_since_json(m), "epoch", (json_int_t)m->epoch, "seq", (json_int_t)m->seq,
		"newest", (json_int_t)m->newest_s, "whole", (json_int_t)m->whole_s, "closed",
		(json_int_t)m->closed_s, "accepted", items, "revoked",
		digests_json(m->revoked, m->nrevoked), "expelled", expelled_json(m), "held",
		digests_json(m->held, m->nheld), "held_seq", held_seq_json(m), "done",
		digests_json(m->done, m->ndone), "due", m->due, "log_key", m->log_key);
	if (reads_back(m, bwl_must(o)))
		r = bwl_checked_keep(WORD, dir, BWL_MEMORY, o, BYTES_MAX, e);
	else
		r = bwl_fail(e, EBADMSG,
			     BWL_MEMORY
			     ": it could not be read back with this document: it stays as it was");
	json_decref(o);
	return r;
}
