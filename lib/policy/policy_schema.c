// SPDX-License-Identifier: GPL-2.0-or-later
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
#include "policy_schema.h"

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
FIELDS(zones, MAP(bwl_text_zones, "*", limit[0], , zone));
FIELDS(tenants, MAP(bwl_text_tenants, "*", limit[0], , limit));
FIELDS(peer, BWL_PEER_KEYS(FIELD, bwl_text_peer));
VALUE(peer);
FIELDS(policy, BWL_TOP_KEYS(FIELD, bwl_text_policy));
/* clang-format on */
const cyaml_schema_value_t bwl_policy_schema = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct bwl_text_policy, policy_fields),
};
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

/* n fields like the field "*" */
static void name_fields(cyaml_schema_field_t *to, const cyaml_schema_field_t *any,
			const char *names, size_t size, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		to[i] = *any;
		to[i].key = names + i * size;
		to[i].data_offset = i * sizeof(struct bwl_text_limit *);
	}
	memset(&to[n], 0, sizeof(*to));
}

static void make_schema(struct schema *s, const struct bwl_prescan *scan)
{
	name_fields(s->zones, zones_fields, *scan->zones, sizeof(*scan->zones), scan->nzones);
	name_fields(s->tenants, tenants_fields, *scan->ports, sizeof(*scan->ports), scan->nports);
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

static cyaml_config_t config(struct complaint *c)
{
	return (cyaml_config_t){
		.log_fn = on_log,
		.log_ctx = c,
		.log_level = CYAML_LOG_WARNING,
		.mem_fn = doubling,
		.flags = CYAML_CFG_NO_ALIAS,
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

int bwl_schema_bad_key(const cyaml_schema_value_t *v, const char *key, bool twice,
		       struct bwl_err *e)
{
	char keys[256] = "";
	size_t n = 0;

	if (twice)
		return bwl_fail(e, EINVAL, "'%s' is given twice", key);
	if (v && v->type == CYAML_MAPPING)
		for (const cyaml_schema_field_t *f = v->mapping.fields; f->key && n < sizeof(keys);
		     f++)
			n += snprintf(keys + n, sizeof(keys) - n, "%s%s", n ? ", " : "", f->key);
	return bwl_fail(e, EINVAL, "unknown key '%s': the keys here are %s", key, keys);
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
	int r;

	/* libcyaml may report the field before it as the place */
	if (w->n && w->step[w->n - 1].key && twice)
		w->n--;
	r = bwl_schema_bad_key(value_at(s, w->step, w->n), key, twice, e);
	bwl_place_key(w, key);
	bwl_scan_locate(text, len, w, twice ? BWL_AT_SECOND_KEY : BWL_AT_KEY, e);
	return r;
}

int bwl_schema_bad_kind(const char *key, const char *want, const char *got, struct bwl_err *e)
{
	return bwl_fail(e, EINVAL, "%s%s%s is expected here, not %s%s", key ? key : "",
			key ? ": " : "", kind(want), kind(got),
			key && !strcmp(key, "accept") ? " (or the word none)" : "");
}

int bwl_schema_empty(const char *key, struct bwl_err *e)
{
	return bwl_fail(e, EINVAL, "%s is empty: give a value, or remove it", key);
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
		r = bwl_schema_empty(key ? key : "the list", e);
	} else if (sscanf(c->text, "Expecting %31[A-Z_], got event: %31[A-Z_]", want, got) == 2) {
		r = bwl_schema_bad_kind(key, want, got, e);
	} else {
		r = bwl_fail(e, EINVAL, "%s (%s)", c->text, cyaml_strerror(err));
	}
	bwl_scan_locate(text, len, &w, BWL_AT_VALUE, e);
	return r;
}

int bwl_text_load(const char *text, size_t len, const struct bwl_prescan *scan,
		  struct bwl_text_policy **ret, struct bwl_err *e)
{
	struct complaint c = { 0 };
	cyaml_config_t cfg = config(&c);
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
	return r;
}

void bwl_text_free(struct bwl_text_policy *t, const struct bwl_prescan *scan)
{
	struct complaint c = { 0 };
	cyaml_config_t cfg = config(&c);
	struct schema s;

	make_schema(&s, scan);
	cyaml_free(&cfg, &s.value, t, 0);
}
