// SPDX-License-Identifier: GPL-2.0-or-later
/* See peer.h. */
#include <bwl/encode.h>
#include <bwl/doc.h>
#include <bwl/text.h>
#include <stdlib.h>
#include <string.h>
#include "peer.h"

void ev_peer_free(struct ev_peer *p)
{
	free(p->part);
	free(p->cpu);
	p->part = NULL;
	p->cpu = NULL;
	p->nparts = p->ncpus = 0;
}

void ev_name_salt(const uint8_t master[32], uint64_t id, const char *name,
		  uint8_t ret[static EV_SALT])
{
	uint8_t said[8 + EV_NAME];
	size_t n = strnlen(name, EV_NAME);

	for (int i = 0; i < 8; i++)
		said[i] = (uint8_t)(id >> (56 - 8 * i));
	memcpy(said + 8, name, n);
	ev_secret(master, EV_OF_NAME, said, 8 + n, ret);
}

void ev_pseudonym(const uint8_t salt[static EV_SALT], uint64_t id, const char *name,
		  struct bwl_hash *ret)
{
	struct ev_hasher *h = ev_hash_begin(EV_PSEUDONYM);

	ev_hash_bytes(h, salt, EV_SALT);
	ev_hash_number(h, id);
	ev_hash_text(h, name, strnlen(name, EV_NAME));
	ev_hash_end(h, ret);
}

void ev_peer_hash(const struct ev_peer *p, struct bwl_hash *ret)
{
	struct ev_hasher *h = ev_hash_begin(EV_PEER);

	ev_hash_bytes(h, p->pseudonym.b, sizeof(p->pseudonym.b));
	ev_hash_number(h, p->balanced);
	ev_hash_text(h, p->why, strlen(p->why));
	ev_hash_sum(h, &p->flows);
	ev_hash_sum(h, &p->remainder);
	ev_hash_sum(h, &p->unclassed);
	ev_hash_number(h, p->nparts);
	for (size_t i = 0; i < p->nparts; i++) {
		ev_hash_text(h, p->part[i].way, strlen(p->part[i].way));
		ev_hash_text(h, p->part[i].class_, strlen(p->part[i].class_));
		ev_hash_sum(h, &p->part[i].sum);
	}
	ev_hash_number(h, p->ncpus);
	for (size_t i = 0; i < p->ncpus; i++) {
		ev_hash_number(h, p->cpu[i].cpu);
		ev_hash_sum(h, &p->cpu[i].before);
		ev_hash_sum(h, &p->cpu[i].after);
	}
	ev_hash_number(h, p->slots);
	ev_hash_bytes(h, p->root.b, sizeof(p->root.b));
	ev_hash_end(h, ret);
}

bool ev_peer_records(const struct ev_peer *p, struct ev_sum *ret)
{
	*ret = p->flows;
	return ev_sum_add(ret, &p->remainder);
}

bool ev_peer_counters(const struct ev_peer *p, struct ev_sum *before, struct ev_sum *after)
{
	*before = *after = (struct ev_sum){ { 0 } };
	for (size_t i = 0; i < p->ncpus; i++)
		if (!ev_sum_add(before, &p->cpu[i].before) || !ev_sum_add(after, &p->cpu[i].after))
			return false;
	return true;
}

const char *ev_peer_wrong(const struct ev_peer *p)
{
	struct ev_sum records, before, after, parts = { { 0 } };

	if (!ev_peer_records(p, &records) || !ev_peer_counters(p, &before, &after))
		return "its numbers are above 2^64";
	for (size_t i = 0; i < p->nparts; i++)
		if (!ev_sum_add(&parts, &p->part[i].sum))
			return "its numbers are above 2^64";
	if (!ev_sum_same(&parts, &records))
		return "its classes do not add up to its records";
	if (!ev_sum_less(&after, &before))
		return p->balanced ? "a counter went backwards" : NULL;
	if (!ev_sum_add(&records, &p->unclassed))
		return "its numbers are above 2^64";
	if (p->balanced && !ev_sum_same(&records, &after))
		return "records and remainders do not add up to what its counter grew by";
	return NULL;
}

json_t *ev_sum_json(const struct ev_sum *s)
{
	json_t *a = json_array();

	for (int i = 0; i < EV_NUMBERS; i++)
		json_array_append_new(a, bwl_json_u64(s->v[i]));
	return a;
}

bool ev_number_parse(const json_t *o, uint64_t most, uint64_t *ret)
{
	json_int_t n = json_integer_value(o);

	*ret = (uint64_t)n;
	return json_is_integer(o) && n >= 0 && (uint64_t)n <= most;
}

bool ev_sum_parse(const json_t *a, struct ev_sum *ret)
{
	if (!json_is_array(a) || json_array_size(a) != EV_NUMBERS)
		return false;
	for (size_t i = 0; i < EV_NUMBERS; i++)
		if (!ev_number_parse(json_array_get(a, i), INT64_MAX, &ret->v[i]))
			return false;
	return true;
}

json_t *ev_bytes_json(const uint8_t *at, size_t n)
{
	char text[2 * 64 + 1];

	bwl_hex_encode(at, n, text);
	return json_string(text);
}

bool ev_bytes_parse(const json_t *o, uint8_t *ret, size_t n)
{
	return json_is_string(o) && json_string_length(o) == 2 * n &&
	       bwl_hex_decode(json_string_value(o), ret, n);
}

bool ev_is_way(const char *way)
{
	return !strcmp(way, "out") || !strcmp(way, "in");
}

bool ev_text_parse(const json_t *o, char *ret, size_t size)
{
	size_t n = json_string_length(o);

	if (!json_is_string(o) || n >= size || strlen(json_string_value(o)) != n)
		return false;
	memcpy(ret, json_string_value(o), n + 1);
	return true;
}

json_t *ev_peer_json(const struct ev_peer *p)
{
	json_t *o = json_object(), *parts = json_array(), *cpus = json_array();

	json_object_set_new(o, "pseudonym", ev_bytes_json(p->pseudonym.b, 32));
	json_object_set_new(o, "balanced", json_boolean(p->balanced));
	json_object_set_new(o, "why", json_string(p->why) ?: json_string(""));
	json_object_set_new(o, "flows", ev_sum_json(&p->flows));
	json_object_set_new(o, "remainder", ev_sum_json(&p->remainder));
	json_object_set_new(o, "unclassed", ev_sum_json(&p->unclassed));
	for (size_t i = 0; i < p->nparts; i++)
		json_array_append_new(parts, json_pack("[s,s,o]", p->part[i].way, p->part[i].class_,
						       ev_sum_json(&p->part[i].sum)));
	json_object_set_new(o, "classes", parts);
	for (size_t i = 0; i < p->ncpus; i++)
		json_array_append_new(cpus, json_pack("[I,o,o]", (json_int_t)p->cpu[i].cpu,
						      ev_sum_json(&p->cpu[i].before),
						      ev_sum_json(&p->cpu[i].after)));
	json_object_set_new(o, "cpus", cpus);
	json_object_set_new(o, "slots", json_integer(p->slots));
	json_object_set_new(o, "root", ev_bytes_json(p->root.b, 32));
	return o;
}

static bool parse_parts(const json_t *a, struct ev_peer *p)
{
	size_t n = json_array_size(a);

	if (!json_is_array(a) || n > EV_PARTS)
		return false;
	p->part = bwl_must(calloc(n + 1, sizeof(*p->part)));
	for (size_t i = 0; i < n; i++) {
		const json_t *x = json_array_get(a, i);
		struct ev_part *to = &p->part[p->nparts++];

		if (!json_is_array(x) || json_array_size(x) != 3 ||
		    !ev_text_parse(json_array_get(x, 0), to->way, sizeof(to->way)) ||
		    !ev_is_way(to->way) ||
		    !ev_text_parse(json_array_get(x, 1), to->class_, sizeof(to->class_)) ||
		    !*to->class_ || !ev_sum_parse(json_array_get(x, 2), &to->sum))
			return false;
	}
	return true;
}

static bool parse_cpus(const json_t *a, struct ev_peer *p)
{
	size_t n = json_array_size(a);
	uint64_t cpu;

	if (!json_is_array(a) || n > EV_CPUS)
		return false;
	p->cpu = bwl_must(calloc(n + 1, sizeof(*p->cpu)));
	for (size_t i = 0; i < n; i++) {
		const json_t *x = json_array_get(a, i);
		struct ev_cpu *to = &p->cpu[p->ncpus++];

		if (!json_is_array(x) || json_array_size(x) != 3 ||
		    !ev_number_parse(json_array_get(x, 0), UINT32_MAX, &cpu) ||
		    !ev_sum_parse(json_array_get(x, 1), &to->before) ||
		    !ev_sum_parse(json_array_get(x, 2), &to->after))
			return false;
		to->cpu = (uint32_t)cpu;
		if (i && to[-1].cpu >= to->cpu) /* a CPU would be counted twice */
			return false;
	}
	return true;
}

int ev_only_known(const json_t *o, const char *const *known, struct bwl_err *e)
{
	char shown[41];
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)o, key, value)
	{
		size_t i = 0;

		while (known[i] && strcmp(known[i], key))
			i++;
		if (known[i])
			continue;
		bwl_text_ascii(shown, sizeof(shown), key);
		return bwl_fail(e, EV_NEWER, "field `%s` is not known to this version", shown);
	}
	return 0;
}

/* NULL: it is read; otherwise the name of what cannot be, and in *must what it must be. */
static const char *parse_fields(const json_t *o, struct ev_peer *ret, const char **must)
{
	const json_t *balanced = json_object_get(o, "balanced");
	const struct {
		const char *name;
		struct ev_sum *to;
	} sum[] = { { "flows", &ret->flows },
		    { "remainder", &ret->remainder },
		    { "unclassed", &ret->unclassed } };
	uint64_t slots;

	*must = EV_DOMAIN_HASH;
	if (!ev_bytes_parse(json_object_get(o, "pseudonym"), ret->pseudonym.b, 32))
		return "pseudonym";
	if (!ev_bytes_parse(json_object_get(o, "root"), ret->root.b, 32))
		return "root";
	*must = "true or false";
	if (!json_is_boolean(balanced))
		return "balanced";
	ret->balanced = json_is_true(balanced);
	*must = "text of at most 159 bytes, \"\" if and only if the peer balances";
	if (!ev_text_parse(json_object_get(o, "why"), ret->why, sizeof(ret->why)) ||
	    ret->balanced == (*ret->why != '\0'))
		return "why";
	*must = EV_DOMAIN_SUM;
	for (size_t i = 0; i < sizeof(sum) / sizeof(sum[0]); i++)
		if (!ev_sum_parse(json_object_get(o, sum[i].name), sum[i].to))
			return sum[i].name;
	*must = "at most 64 of [\"out\" or \"in\", class, four numbers]";
	if (!parse_parts(json_object_get(o, "classes"), ret))
		return "classes";
	*must = "at most 4096 of [CPU, four numbers, four numbers], by ascending CPU";
	if (!parse_cpus(json_object_get(o, "cpus"), ret))
		return "cpus";
	*must = "a power of two up to 2^20";
	if (!ev_number_parse(json_object_get(o, "slots"), EV_SLOTS_MAX, &slots) ||
	    !ev_is_slots(slots))
		return "slots";
	ret->slots = (uint32_t)slots;
	return NULL;
}

int ev_peer_parse(const json_t *o, struct ev_peer *ret, struct bwl_err *e)
{
	static const char *const known[] = { "pseudonym", "balanced",  "why",     "flows",
					     "remainder", "unclassed", "classes", "cpus",
					     "slots",     "root",      NULL };
	const char *what, *must;

	memset(ret, 0, sizeof(*ret));
	if (!json_is_object(o))
		return bwl_fail(e, EBADMSG, "it is no line of JSON about a peer");
	what = parse_fields(o, ret, &must);
	if (what)
		return bwl_fail(e, EBADMSG, "`%s` %s: must be %s", what,
				json_object_get(o, what) ? "cannot be read" : "is missing", must);
	return ev_only_known(o, known, e);
}
