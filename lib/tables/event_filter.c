// SPDX-License-Identifier: GPL-2.0-or-later
/* Which events somebody wants: see bwl/events.h. */
#include <stdio.h>
#include <string.h>
#include "bwl/events.h"
#include "bwl/policy.h"

enum word { EVENT, REASON, PORT, PEER, CLASS, NWORDS };
const char *const bwl_filter_words[] = {
	[EVENT] = "event", [REASON] = "reason", [PORT] = "port",
	[PEER] = "peer",   [CLASS] = "class",   [NWORDS] = NULL,
};
/* Words that stand for bits of an enumeration. */
static const struct domain {
	const char *(*name)(unsigned);
	unsigned n;
	const char *where; /* where they are listed, if they are too many for an error */
} domains[NWORDS] = {
	[EVENT] = { bwl_event_name, _BWL_EVENT_MAX, NULL },
	[REASON] = { bwl_reason_name, _BWL_REASON_MAX, "`bwlimit-ctl reasons --all` lists them" },
	[CLASS] = { bwl_class_name, _BWL_CLASS_MAX, NULL },
};
_Static_assert(_BWL_EVENT_MAX <= 32 && _BWL_REASON_MAX <= 64 && _BWL_CLASS_MAX <= 32, "bits");

static uint64_t bits_of(const struct bwl_event_filter *f, enum word w)
{
	return w == EVENT ? f->kinds : w == REASON ? f->reasons : f->classes;
}

static void set_bit(struct bwl_event_filter *f, enum word w, unsigned i)
{
	if (w == EVENT)
		f->kinds |= 1U << i;
	else if (w == REASON)
		f->reasons |= 1ULL << i;
	else
		f->classes |= 1U << i;
}

static int add_bit(struct bwl_event_filter *f, enum word w, const char *name, struct bwl_err *e)
{
	const struct domain *d = &domains[w];
	char all[600] = "";

	for (unsigned i = 0; i < d->n; i++) {
		if (!strcmp(d->name(i), name)) {
			set_bit(f, w, i);
			return 0;
		}
		if (!d->where)
			snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s",
				 i ? ", " : "one of: ", d->name(i));
	}
	return bwl_fail(e, EINVAL, "%s: unknown value '%.40s'; %s", bwl_filter_words[w], name,
			d->where ? d->where : all);
}

static int add_name(struct bwl_event_filter *f, enum word w, const char *name, struct bwl_err *e)
{
	char(*list)[BWL_NAME_LEN] = w == PEER ? f->peer : f->port;
	unsigned *n = w == PEER ? &f->npeers : &f->nports;

	if (!*name || strlen(name) >= BWL_NAME_LEN)
		return bwl_fail(e, EINVAL, "%s: a name has 1 to %d bytes", bwl_filter_words[w],
				BWL_NAME_LEN - 1);
	for (unsigned i = 0; i < *n; i++)
		if (!strcmp(list[i], name))
			return 0;
	if (*n == BWL_FILTER_NAMES)
		return bwl_fail(e, E2BIG, "%s: at most %d names", bwl_filter_words[w],
				BWL_FILTER_NAMES);
	strcpy(list[(*n)++], name);
	return 0;
}

static int find_word(const char *key, struct bwl_err *e)
{
	for (int w = 0; w < NWORDS; w++)
		if (!strcmp(bwl_filter_words[w], key))
			return w;
	return bwl_fail(e, EINVAL,
			"unknown field '%.40s': it must be one of event, reason, port, peer, class",
			key);
}

int bwl_filter_add(struct bwl_event_filter *f, const char *word, const char *name,
		   struct bwl_err *e)
{
	int w = find_word(word, e);

	if (w < 0)
		return w;
	return domains[w].n ? add_bit(f, w, name, e) : add_name(f, w, name, e);
}

static int add_list(struct bwl_event_filter *f, const char *word, const json_t *list,
		    struct bwl_err *e)
{
	const json_t *v;
	size_t i;
	int r = find_word(word, e);

	if (r < 0)
		return r;
	if (!json_array_size(list))
		return bwl_fail(e, EINVAL, "%s: an array of names; without it: any", word);
	r = 0;
	json_array_foreach(list, i, v)
	{
		if (!r && !json_is_string(v))
			r = bwl_fail(e, EINVAL, "%s: an array of names", word);
		if (!r)
			r = bwl_filter_add(f, word, json_string_value(v), e);
	}
	return r;
}

int bwl_filter_parse(const char *text, size_t len, struct bwl_event_filter *ret, struct bwl_err *e)
{
	json_t *o = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL), *v;
	const char *key;
	int r = 0;

	*ret = (struct bwl_event_filter){ 0 };
	if (!json_is_object(o))
		r = bwl_fail(
			e, EINVAL,
			"a filter is an object in JSON, such as {\"event\": [\"gate\"]}; {}: all");
	json_object_foreach(o, key, v) if (!r) r = add_list(ret, key, v, e);
	json_decref(o);
	return r;
}

static json_t *names_json(const struct bwl_event_filter *f, enum word w)
{
	const char(*list)[BWL_NAME_LEN] = w == PEER ? f->peer : f->port;
	json_t *a = json_array();

	if (domains[w].n) {
		for (unsigned i = 0; i < domains[w].n; i++)
			if (bits_of(f, w) >> i & 1)
				json_array_append_new(a, json_string(domains[w].name(i)));
	} else {
		for (unsigned i = 0; i < (w == PEER ? f->npeers : f->nports); i++)
			json_array_append_new(a, json_string(list[i]));
	}
	return a;
}

json_t *bwl_filter_json(const struct bwl_event_filter *f)
{
	json_t *o = json_object(), *a;

	for (int w = 0; w < NWORDS; w++) {
		a = names_json(f, w);
		if (json_array_size(a))
			json_object_set(o, bwl_filter_words[w], a);
		json_decref(a);
	}
	return o;
}

static bool is_peer(const struct bwl_pins *p, const char *name)
{
	for (uint32_t id = 1; id < p->schema.max_peers; id++)
		if (!strncmp(p->name[id].name, name, BWL_NAME_LEN))
			return true;
	return false;
}

int bwl_filter_check(const struct bwl_event_filter *f, const struct bwl_pins *p, struct bwl_err *e)
{
	char all[500] = "";

	for (unsigned i = 0; i < f->npeers; i++)
		if (!is_peer(p, f->peer[i]))
			return bwl_fail(e, ENOENT,
					"no such peer: '%.40s'; `bwlimit-ctl peer list` lists them",
					f->peer[i]);
	for (unsigned id = 0; id < BWL_MAX_PORTS; id++)
		if (p->dev[id].ifindex)
			snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%.*s",
				 *all ? ", " : "", BWL_NAME_LEN - 1, p->dev[id].name);
	for (unsigned i = 0; i < f->nports; i++)
		if (bwl_port_id(p, f->port[i]) < 0)
			return bwl_fail(e, ENOENT, "no such port: '%.40s'; it must be one of: %s",
					f->port[i], *all ? all : "none is attached");
	return 0;
}

static bool has_name(const char (*list)[BWL_NAME_LEN], unsigned n, const char *name)
{
	for (unsigned i = 0; i < n; i++)
		if (!strncmp(list[i], name, BWL_NAME_LEN))
			return true;
	return !n;
}

bool bwl_filter_has(const struct bwl_event_filter *f, const struct bwl_pins *p, uint32_t kind,
		    uint32_t port)
{
	return (!f->kinds || (kind < _BWL_EVENT_MAX && f->kinds >> kind & 1)) &&
	       has_name(f->port, f->nports, p->dev[port % BWL_MAX_PORTS].name);
}

bool bwl_filter_matches(const struct bwl_event_filter *f, const struct bwl_pins *p,
			const struct bwl_event *e)
{
	const char *peer = e->peer < p->schema.max_peers ? p->name[e->peer].name : "";

	return bwl_filter_has(f, p, e->kind, e->port) &&
	       (!f->reasons || (e->reason < _BWL_REASON_MAX && f->reasons >> e->reason & 1)) &&
	       (!f->classes || (e->class < _BWL_CLASS_MAX && f->classes >> e->class & 1)) &&
	       has_name(f->peer, f->npeers, e->peer ? peer : "");
}
