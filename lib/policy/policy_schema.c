/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The schema of policy files for libcyaml, and messages for its errors. Every scalar is read as a
 * string; its meaning is checked where a message can name the accepted domain.
 */
#include <cyaml/cyaml.h>
#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "policy_conv.h"

#define OPT (CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL)
#define TEXT(S, key, member, T, fields)                                                            \
	CYAML_FIELD_STRING_PTR(key, OPT, struct S, member, 0, CYAML_UNLIMITED),
#define KEY(S, key, member, T, fields) TEXT(S, key, member, , )
#define LIST(S, key, member, least)                                                                \
	CYAML_FIELD_SEQUENCE(key, OPT, struct S, member, &text_value, least, CYAML_UNLIMITED),
#define TEXTS(S, key, member, T, fields) LIST(S, key, member, 0)
#define SOME(S, key, member, T, fields) LIST(S, key, member, 1)
#define MAP(S, key, member, T, fields)                                                             \
	CYAML_FIELD_MAPPING_PTR(key, OPT, struct S, member, fields##_fields),
#define MAPS(S, key, member, T, fields)                                                            \
	CYAML_FIELD_SEQUENCE(key, OPT, struct S, member, &fields##_value, 0, CYAML_UNLIMITED),
#define FIELD(S, kind, key, member, T, fields) kind(S, key, member, T, fields)

static const cyaml_schema_value_t text_value = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, CYAML_UNLIMITED),
};

/* clang-format off */
#define FIELDS(name, keys)                                                                         \
	static const cyaml_schema_field_t name##_fields[] = { keys CYAML_FIELD_END, }
#define VALUE(name)                                                                                \
	static const cyaml_schema_value_t name##_value = {                                         \
		CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct bwl_text_##name, name##_fields),    \
	}
#define CLASS(e, name) MAP(bwl_text_classes, name, limit[BWL_C_##e], , limit)
#define IPSEC(k) TEXT(bwl_text_node_ipsec, #k, value[BWL_IPSEC_##k], , )
#define TAMPER(k) TEXT(bwl_text_tamper, #k, value[BWL_TAMPER_##k], , )

FIELDS(limit, BWL_LIMIT_KEYS(FIELD, bwl_text_limit));
FIELDS(grant, BWL_LIMIT_KEYS(FIELD, bwl_text_limit) BWL_GRANT_KEYS(FIELD, bwl_text_limit));
FIELDS(zone, BWL_LIMIT_KEYS(FIELD, bwl_text_limit) BWL_ZONE_KEYS(FIELD, bwl_text_limit));
FIELDS(class, BWL_CLASSES(CLASS));
FIELDS(ipsec, BWL_PEER_IPSEC_KEYS(FIELD, bwl_text_ipsec));
FIELDS(node_ipsec, BWL_IPSEC_KEYS(IPSEC));
FIELDS(tamper, BWL_TAMPER_KEYS(TAMPER));
FIELDS(port, BWL_PORT_KEYS(FIELD, bwl_text_port));
VALUE(port);
FIELDS(service, BWL_SERVICE_KEYS(FIELD, bwl_text_service));
VALUE(service);
#define no_fields NULL
FIELDS(peer, BWL_PEER_KEYS(FIELD, bwl_text_peer));
VALUE(peer);
FIELDS(policy, BWL_TOP_KEYS(FIELD, bwl_text_policy));
/* clang-format on */
#define POLICY_FIELDS (sizeof(policy_fields) / sizeof(*policy_fields))
#define PEER_FIELDS (sizeof(peer_fields) / sizeof(*peer_fields))

/*
 * libcyaml has no mapping with free keys, so each file gets its own schema, with its zones and with
 * the host ports that its peers name.
 */
struct schema {
	cyaml_schema_field_t zones[BWL_MAX_ZONES];
	cyaml_schema_field_t tenants[BWL_MAX_PORTS + 1];
	cyaml_schema_field_t peer_fields[PEER_FIELDS];
	cyaml_schema_value_t peer;
	cyaml_schema_field_t fields[POLICY_FIELDS];
	cyaml_schema_value_t value;
};

static cyaml_schema_field_t *field_of(cyaml_schema_field_t *f, const char *key)
{
	while (strcmp(f->key, key))
		f++;
	return f;
}

static void make_schema(struct schema *s, const struct bwl_prescan *scan)
{
	const cyaml_schema_field_t zone = CYAML_FIELD_MAPPING_PTR("", OPT, struct bwl_text_zones,
								  limit[0], zone_fields);

	memset(s->zones, 0, sizeof(s->zones));
	for (size_t i = 0; i < scan->nzones; i++) {
		s->zones[i] = zone;
		s->zones[i].key = scan->zones[i];
		s->zones[i].data_offset = i * sizeof(struct bwl_text_limit *);
	}
	memset(s->tenants, 0, sizeof(s->tenants));
	for (size_t i = 0; i < scan->nports; i++) {
		s->tenants[i] = zone;
		s->tenants[i].key = scan->ports[i];
		s->tenants[i].data_offset = i * sizeof(struct bwl_text_limit *);
	}
	memcpy(s->peer_fields, peer_fields, sizeof(peer_fields));
	field_of(s->peer_fields, "ports")->value.mapping.fields = s->tenants;
	s->peer = peer_value;
	s->peer.mapping.fields = s->peer_fields;
	memcpy(s->fields, policy_fields, sizeof(policy_fields));
	s->fields[0].value.mapping.fields = s->zones;
	field_of(s->fields, "peers")->value.sequence.entry = &s->peer;
	s->value = (cyaml_schema_value_t){
		CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct bwl_text_policy, s->fields),
	};
}

/* What libcyaml logs about its first error. */
struct complaint {
	char text[128];
	struct bwl_step step[BWL_PLACE_STEPS]; /* from the innermost outwards */
	char key[BWL_PLACE_STEPS][64];
	unsigned n;
};

static void on_log(cyaml_log_t level, void *arg, const char *fmt, va_list args)
{
	struct complaint *c = arg;
	char line[256];
	unsigned long i;

	(void)level;
	vsnprintf(line, sizeof(line), fmt, args);
	line[strcspn(line, "\n")] = '\0';
	if (!strncmp(line, "Load: Backtrace", 15))
		return;
	if (!*c->text) {
		snprintf(c->text, sizeof(c->text), "%.*s", (int)sizeof(c->text) - 1,
			 !strncmp(line, "Load: ", 6) ? line + 6 : line);
	} else if (c->n < BWL_PLACE_STEPS) {
		if (sscanf(line, "  in mapping field '%63[^']'", c->key[c->n]) == 1) {
			c->step[c->n].key = c->key[c->n];
			c->n++;
		} else if (sscanf(line, "  in sequence entry '%lu'", &i) == 1 && i) {
			c->step[c->n++].index = i - 1;
		}
	}
}

/*
 * As cyaml_mem(), but room doubles: libcyaml makes a list longer by one entry at a time, and where
 * memory does not grow in place 20 000 peers would be copied 20 000 times.
 */
static void *doubling(void *ctx, void *at, size_t size)
{
	if (size && at && malloc_usable_size(at) >= size)
		return at;
	return cyaml_mem(ctx, at,
			 size && size < SIZE_MAX / 2 ? 2ULL << (63 - __builtin_clzll(size)) : size);
}

static cyaml_config_t config(struct complaint *c, unsigned flags)
{
	return (cyaml_config_t){
		.log_fn = on_log,
		.log_ctx = c,
		.log_level = CYAML_LOG_WARNING,
		.mem_fn = doubling,
		.flags = CYAML_CFG_NO_ALIAS | flags,
	};
}

/* The schema at a path; NULL: a policy has no such key. */
static const cyaml_schema_value_t *value_at(const struct schema *s, const struct bwl_step *step,
					    unsigned n)
{
	const cyaml_schema_value_t *v = &s->value;

	for (unsigned i = 0; i < n; i++) {
		if (v->type == CYAML_SEQUENCE && !step[i].key) {
			v = v->sequence.entry;
		} else if (v->type == CYAML_MAPPING && step[i].key) {
			const cyaml_schema_field_t *f = v->mapping.fields;

			while (f->key && strcmp(f->key, step[i].key))
				f++;
			if (!f->key)
				return NULL;
			v = &f->value;
		} else {
			return NULL;
		}
	}
	return v;
}

/* The keys of the mapping at w, for people; empty if w is not a mapping. */
static void list_keys(const struct schema *s, const struct bwl_place *w, char *buf, size_t size)
{
	const cyaml_schema_value_t *v = value_at(s, w->step, w->n);
	size_t n = 0;

	if (!v || v->type != CYAML_MAPPING)
		return;
	for (const cyaml_schema_field_t *f = v->mapping.fields; f->key && n < size; f++)
		n += snprintf(buf + n, size - n, "%s%s", n ? ", " : "", f->key);
}

static const char *kind(const char *s)
{
	if (!strncmp(s, "MAPPING", 7))
		return "a mapping (key: value)";
	if (!strncmp(s, "SEQUENCE", 8))
		return "a list";
	return "a single value";
}

static int nothing(void *arg, const struct bwl_node *n)
{
	(void)arg;
	(void)n;
	return 0;
}

static int explain_key(const struct schema *s, struct bwl_place *w, const char *key, bool twice,
		       const char *text, size_t len, struct bwl_err *e)
{
	char keys[256] = "";
	int r;

	/* libcyaml may report the field before it as the place */
	if (w->n && w->step[w->n - 1].key && twice)
		w->n--;
	list_keys(s, w, keys, sizeof(keys));
	bwl_place_key(w, key);
	if (twice)
		r = bwl_fail(e, EINVAL, "'%s' is given twice", key);
	else
		r = bwl_fail(e, EINVAL, "unknown key '%s': the keys here are %s", key, keys);
	bwl_scan_locate(text, len, w, twice ? BWL_AT_SECOND_KEY : BWL_AT_KEY, e);
	return r;
}

static int explain_kind(const char *key, const char *want, const char *got, struct bwl_err *e)
{
	return bwl_fail(e, EINVAL, "%s%s%s is expected here, not %s%s", key ? key : "",
			key ? ": " : "", kind(want), kind(got),
			key && !strcmp(key, "accept") ? " (or the word none)" : "");
}

static int explain(const struct schema *s, cyaml_err_t err, const struct complaint *c,
		   const char *text, size_t len, struct bwl_err *e)
{
	struct bwl_place w = { 0 };
	char want[32], got[32];
	const char *key;
	int r;

	if (err == CYAML_ERR_OOM)
		return bwl_fail(e, ENOMEM, "out of memory");
	/* syntax, aliases, nesting, a second document: the scan finds the place */
	r = bwl_scan(text, len, nothing, NULL, e);
	if (r)
		return r;
	for (unsigned i = c->n; i-- > 0;)
		w.step[w.n++] = c->step[i];
	if (err == CYAML_ERR_INVALID_KEY && !strncmp(c->text, "Unexpected key: ", 16))
		return explain_key(s, &w, c->text + 16, false, text, len, e);
	if (!strncmp(c->text, "Mapping field already seen: ", 28))
		return explain_key(s, &w, c->text + 28, true, text, len, e);
	key = w.n ? w.step[w.n - 1].key : NULL;
	if (err == CYAML_ERR_SEQUENCE_ENTRIES_MIN) {
		r = bwl_fail(e, EINVAL, "%s is empty: give a value, or remove it",
			     key ? key : "the list");
	} else if (sscanf(c->text, "Expecting %31[A-Z_], got event: %31[A-Z_]", want, got) == 2) {
		r = explain_kind(key, want, got, e);
	} else {
		r = bwl_fail(e, EINVAL, "%s (%s)", c->text, cyaml_strerror(err));
	}
	bwl_scan_locate(text, len, &w, BWL_AT_VALUE, e);
	return r;
}

/* Looks for all wrong keys and kinds in a text that libcyaml refused. */
struct shape {
	const struct schema *s;
	struct bwl_errors *all;
	const char *text;
	size_t len;
	bool only_unknown; /* only unknown keys are wrong: the rest can be read without them */
	uint64_t seen[BWL_PLACE_STEPS + 1]
		     [BWL_MAX_ZONES / 64]; /* by depth: fields of the mapping */
};

static int wrong_shape(struct shape *x, const struct bwl_node *n, struct bwl_err *e)
{
	struct bwl_place w = { .n = n->depth };

	memcpy(w.step, n->path, n->depth * sizeof(*w.step));
	e->line = n->line;
	e->column = n->column;
	return bwl_errors_add(x->all, &w, -EINVAL, e);
}

static int on_key(struct shape *x, const struct bwl_node *n)
{
	const cyaml_schema_value_t *v = value_at(x->s, n->path, n->depth - 1);
	const cyaml_schema_field_t *f;
	struct bwl_place w = { .n = n->depth - 1 };
	struct bwl_err e;
	bool twice;
	size_t i;

	if (!v || v->type != CYAML_MAPPING)
		return 0;
	for (f = v->mapping.fields; f->key && strcmp(f->key, n->scalar);)
		f++;
	i = f - v->mapping.fields;
	twice = f->key && x->seen[n->depth][i / 64] & 1ULL << i % 64;
	if (f->key)
		x->seen[n->depth][i / 64] |= 1ULL << i % 64;
	if (f->key && !twice)
		return 0;
	x->only_unknown &= !twice;
	memcpy(w.step, n->path, w.n * sizeof(*w.step));
	explain_key(x->s, &w, n->scalar, twice, x->text, x->len, &e);
	return wrong_shape(x, n, &e);
}

static int on_shape(void *arg, const struct bwl_node *n)
{
	struct shape *x = arg;
	const cyaml_schema_value_t *v;
	const char *got = n->scalar ? "SCALAR" : n->is_map ? "MAPPING" : "SEQUENCE", *want;
	struct bwl_err e;

	if (n->is_key)
		return on_key(x, n);
	v = value_at(x->s, n->path, n->depth);
	if (!n->scalar && n->depth < BWL_PLACE_STEPS)
		memset(x->seen[n->depth + 1], 0, sizeof(x->seen[0]));
	if (!v)
		return 0;
	want = v->type == CYAML_MAPPING    ? "MAPPING"
	       : v->type == CYAML_SEQUENCE ? "SEQUENCE"
					   : "SCALAR";
	if (!strcmp(want, got))
		return 0;
	x->only_unknown = false;
	explain_kind(n->depth ? n->path[n->depth - 1].key : NULL, want, got, &e);
	return wrong_shape(x, n, &e);
}

/* r: the first error, in *e. 0: all has every error, and *ret the policy without unknown keys. */
static int all_shapes(const struct schema *s, const char *text, size_t len, int r,
		      struct bwl_text_policy **ret, struct bwl_errors *all)
{
	struct shape x = { .s = s, .all = all, .text = text, .len = len, .only_unknown = true };
	struct complaint c = { 0 };
	cyaml_config_t cfg = config(&c, CYAML_CFG_IGNORE_UNKNOWN_KEYS);
	struct bwl_err ignored;

	if (r == -ENOMEM || bwl_scan(text, len, on_shape, &x, &ignored) || !all->n ||
	    !x.only_unknown)
		return r;
	all->nshape = all->n;
	if (cyaml_load_data((const uint8_t *)text, len, &cfg, &s->value, (cyaml_data_t **)ret,
			    NULL) == CYAML_OK &&
	    *ret)
		return 0;
	cyaml_free(&cfg, &s->value, *ret, 0);
	*ret = NULL;
	return r;
}

int bwl_text_load(const char *text, size_t len, const struct bwl_prescan *scan,
		  struct bwl_text_policy **ret, struct bwl_errors *all, struct bwl_err *e)
{
	struct complaint c = { 0 };
	cyaml_config_t cfg = config(&c, 0);
	struct bwl_text_policy *t = NULL;
	struct schema s;
	cyaml_err_t err;
	int r;

	make_schema(&s, scan);
	err = cyaml_load_data((const uint8_t *)text, len, &cfg, &s.value, (cyaml_data_t **)&t,
			      NULL);
	/* a warning (documents ignored) is an error here */
	if (err == CYAML_OK && !*c.text && t) {
		*ret = t;
		return 0;
	}
	if (err == CYAML_OK && !*c.text)
		return bwl_fail(e, EINVAL, "the policy is empty: it starts with `version: 1`");
	r = explain(&s, err, &c, text, len, e);
	cyaml_free(&cfg, &s.value, t, 0);
	return all ? all_shapes(&s, text, len, r, ret, all) : r;
}

void bwl_text_free(struct bwl_text_policy *t, const struct bwl_prescan *scan)
{
	struct complaint c = { 0 };
	cyaml_config_t cfg = config(&c, 0);
	struct schema s;

	make_schema(&s, scan);
	cyaml_free(&cfg, &s.value, t, 0);
}
