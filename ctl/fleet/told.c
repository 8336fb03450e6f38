// SPDX-License-Identifier: GPL-2.0-or-later
/* See told.h. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "believe.h"
#include "bwl/encode.h"
#include "ends.h"
#include "signed/payload.h"
#include "told.h"

static const char *const words[] = {
	[FLEET_SILENT] = "silent",
	[FLEET_REFUSED] = "refused",
	[FLEET_ACKNOWLEDGED] = "acknowledged",
};

static void count(struct fleet *f, const struct fleet_put *p, size_t ret[static 3])
{
	const struct status_refused *why;

	memset(ret, 0, 3 * sizeof(*ret));
	for (size_t i = 0; i < f->n; i++)
		if (f->tray[i].chosen)
			ret[fleet_says(f->tray[i].status, &p->d, &why)]++;
}

static json_t *name_of(const struct bwl_signed *d)
{
	return json_sprintf("%s/%s", bwl_signed_word(d->type), d->terms.name);
}

static void set_counts(json_t *o, size_t trays, const size_t *n)
{
	json_object_set_new(o, "tray_count", bwl_json_u64(trays));
	json_object_set_new(o, "acknowledged_count",
			    n ? bwl_json_u64(n[FLEET_ACKNOWLEDGED]) : json_null());
	json_object_set_new(o, "refused_count", n ? bwl_json_u64(n[FLEET_REFUSED]) : json_null());
	json_object_set_new(o, "silent_count", n ? bwl_json_u64(n[FLEET_SILENT]) : json_null());
}

void fleet_tell_progress(struct fleet *f, const struct fleet_put *p, struct fleet_told *t)
{
	size_t n[3];
	char now[BWL_TIME_BUF];
	json_t *o;

	count(f, p, n);
	if (t->any && !memcmp(n, t->count, sizeof(n)))
		return;
	t->any = true;
	memcpy(t->count, n, sizeof(n));
	if (f->c->json) {
		o = bwl_doc("fleet-wait");
		json_object_set_new(o, "time", json_string(bwl_utc_now(now)));
		json_object_set_new(o, "document", name_of(&p->d));
		set_counts(o, p->ntrays, n);
		bwl_doc_line(o);
		fflush(stdout);
	} else if (isatty(STDERR_FILENO)) {
		t->line = true;
		fprintf(stderr, "\r\033[K%zu of %zu tray%s it, %zu refused it",
			n[FLEET_ACKNOWLEDGED], p->ntrays, p->ntrays == 1 ? " has" : "s have",
			n[FLEET_REFUSED]);
		fflush(stderr);
	}
}

void fleet_tell_no_more(struct fleet_told *t)
{
	if (t->line)
		fputs("\r\033[K", stderr);
	t->line = false;
}

#define NOT_IN_FORCE "it accepted it, but reports that something is not in force"

/* e: used for the text */
static const char *why_silent(const struct fleet_tray *t, struct bwl_err *e)
{
	const struct status_now now = { 0 };

	/* Its status is not verified, including its refusal of this document. */
	if (*t->last.refused && status_doubt(&t->by, &t->last, &now, e))
		return e->text;
	if (!t->alive && !t->has_status)
		return "it has never been seen";
	return t->alive ? "its bwlimit-sync is connected, but bwlimitd has not confirmed it"
			: "it is offline: its bwlimit-sync has no lease in the store";
}

static const char *told(const struct status_refused *r)
{
	return r && *r->text ? r->text : NULL;
}

static json_t *row(const struct fleet *f, const struct fleet_tray *t, const struct fleet_put *p,
		   const struct fleet_ends *ends)
{
	const struct status_refused *refusal;
	enum fleet_word word = fleet_says(t->status, &p->d, &refusal);
	const char *id = refusal && *refusal->id ? refusal->id : NULL, *text = told(refusal);
	json_t *o = json_object();
	struct bwl_err e;

	(void)f;
	json_object_set_new(o, "tray", json_string(t->name));
	json_object_set_new(o, "state", json_string(words[word]));
	json_object_set_new(o, "alive", json_boolean(t->alive));
	json_object_set_new(o, "error_id", bwl_json_text(id));
	json_object_set_new(o, "why",
			    bwl_json_text(word == FLEET_REFUSED           ? text
					  : word == FLEET_SILENT          ? why_silent(t, &e)
					  : fleet_not_in_force(t->status) ? NOT_IN_FORCE
									  : NULL));
	fleet_ends_json(o, word == FLEET_ACKNOWLEDGED ? NULL : ends);
	return o;
}

static void tell_json(struct fleet *f, const struct fleet_put *p, const size_t *n, uint64_t took_ns)
{
	json_t *o = bwl_doc("fleet-order"), *rows = json_array();
	char hex[65];

	for (size_t i = 0; i < f->n && n; i++) {
		struct fleet_tray *t = &f->tray[i];
		const struct status_refused *why;
		struct fleet_ends ends = { 0 };

		if (!t->chosen)
			continue;
		if (fleet_says(t->status, &p->d, &why) != FLEET_ACKNOWLEDGED)
			fleet_ends_of(f, t, &ends);
		json_array_append_new(rows, row(f, t, p, &ends));
	}
	json_object_set_new(o, "document", name_of(&p->d));
	json_object_set_new(o, "document_version", bwl_json_u64(p->d.terms.version));
	json_object_set_new(o, "epoch", bwl_json_u64(p->d.terms.epoch));
	json_object_set_new(o, "fleet", json_string(p->d.fleet));
	json_object_set_new(o, "audience", json_string(p->d.audience));
	json_object_set_new(o, "digest", json_string(bwl_hex_encode(p->d.digest, 32, hex)));
	json_object_set_new(o, "people_count", p->judged ? json_integer(p->d.people) : json_null());
	json_object_set_new(o, "may_widen", p->judged ? json_boolean(p->d.enough) : json_null());
	json_object_set_new(o, "pending", json_boolean(p->pending));
	json_object_set_new(o, "took_s", bwl_json_span(took_ns));
	json_object_set_new(o, "store_user", bwl_json_text(p->store_user));
	set_counts(o, p->ntrays, n);
	json_object_set_new(o, "not_revoked",
			    p->unknown ? json_deep_copy(p->unknown) : json_array());
	json_object_set_new(o, "trays", rows);
	json_object_set_new(o, "tampering", fleet_tampering(f));
	bwl_doc_line(o);
}

#define ROWS 20 /* of trays that have not confirmed, for people */

static void tell_rest(struct fleet *f, const struct fleet_put *p)
{
	struct fleet_ends worst = { 0 }, one;
	bool silent = false;
	size_t shown = 0;

	for (size_t i = 0; i < f->n; i++) {
		struct fleet_tray *t = &f->tray[i];
		const struct status_refused *refusal;
		enum fleet_word word = fleet_says(t->status, &p->d, &refusal);
		const char *text = told(refusal);
		struct bwl_err e;

		if (t->chosen && word == FLEET_ACKNOWLEDGED && fleet_not_in_force(t->status))
			bwl_put(stdout, "  %-20s %s\n", t->name, NOT_IN_FORCE);
		if (!t->chosen || word == FLEET_ACKNOWLEDGED)
			continue;
		silent = true;
		one = (struct fleet_ends){ 0 };
		fleet_ends_of(f, t, &one);
		fleet_ends_worse(&worst, &one);
		if (shown++ < ROWS)
			bwl_put(stdout, "  %-20s %-8s %s\n", t->name, words[word],
				text ? text : why_silent(t, &e));
	}
	if (shown > ROWS)
		printf("  and %zu more (--json has all)\n", shown - ROWS);
	if (silent)
		fleet_ends_text(&worst);
}

static bool all_in_force(const struct fleet *f)
{
	for (size_t i = 0; i < f->n; i++)
		if (f->tray[i].chosen && fleet_not_in_force(f->tray[i].status))
			return false;
	return true;
}

/* If this desk may not delete it, prints the command for somebody who may. */
static void tell_user(const struct fleet_put *p)
{
	const char *tray = bwl_payload_text(p->d.body, "tray");

	if (!strcmp(p->store_user, "kept"))
		bwl_put(stdout,
			"its certificate still opens the store: root of etcd types `etcdctl user delete %s`\n",
			tray);
	else
		bwl_put(stdout, "user %s of the store %s\n", tray,
			*p->store_user == 'd' ? "is deleted" : "does not exist");
}

int fleet_tell(struct fleet *f, const struct fleet_put *p, bool waited, uint64_t took_ns)
{
	char time[BWL_UNIT_BUF];
	size_t n[3];

	count(f, p, n);
	if (f->c->json)
		tell_json(f, p, waited ? n : NULL, took_ns);
	else
		bwl_put(stdout, "%s/%s, version %llu of epoch %llu, for %s: %s\n",
			bwl_signed_word(p->d.type), p->d.terms.name,
			(unsigned long long)p->d.terms.version,
			(unsigned long long)p->d.terms.epoch, p->d.audience,
			p->pending ? "waits for more signatures: bwlimit-ctl --fleet approve"
				   : "published");
	if (p->store_user && !f->c->json)
		tell_user(p);
	if (!waited)
		return 0;
	if (!f->c->json)
		bwl_put(stdout, "%zu of %zu tray%s it, after %s\n", n[FLEET_ACKNOWLEDGED],
			p->ntrays, p->ntrays == 1 ? " has" : "s have",
			bwl_human_time((double)took_ns / 1e9, time));
	if (n[FLEET_ACKNOWLEDGED] == p->ntrays && all_in_force(f))
		return 0;
	if (!f->c->json)
		tell_rest(f, p);
	return CTL_SILENT;
}
