/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The schema of policy files for libcyaml, and its complaints in words. Every scalar is read as
 * a string: what it means is checked where a message can name the accepted domain.
 */
#include <cyaml/cyaml.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "policy_text.h"

#define OPT (CYAML_FLAG_POINTER | CYAML_FLAG_OPTIONAL)
#define TEXT(key, type, member)                                                                    \
	CYAML_FIELD_STRING_PTR(key, OPT, struct type, member, 0, CYAML_UNLIMITED)
#define TEXTS(key, type, member)                                                                   \
	CYAML_FIELD_SEQUENCE(key, OPT, struct type, member, &text_value, 0, CYAML_UNLIMITED)
#define MAP(key, type, member, fields)                                                             \
	CYAML_FIELD_MAPPING_PTR(key, OPT, struct type, member, fields)
#define MAPS(key, type, member, value)                                                             \
	CYAML_FIELD_SEQUENCE(key, OPT, struct type, member, &(value), 0, CYAML_UNLIMITED)

static const cyaml_schema_value_t text_value = {
	CYAML_VALUE_STRING(CYAML_FLAG_POINTER, char, 0, CYAML_UNLIMITED),
};

static const cyaml_schema_field_t limit_fields[] = {
	TEXT("rate", bwl_text_limit, rate),
	TEXT("burst", bwl_text_limit, burst),
	TEXT("volume", bwl_text_limit, volume),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t accept_fields[] = {
	TEXT("rate", bwl_text_limit, rate),
	TEXT("burst", bwl_text_limit, burst),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t grant_fields[] = {
	TEXT("rate", bwl_text_limit, rate),
	TEXT("burst", bwl_text_limit, burst),
	TEXT("volume", bwl_text_limit, volume),
	TEXT("mode", bwl_text_limit, mode),
	TEXT("mark", bwl_text_limit, mark),
	TEXT("until", bwl_text_limit, until),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t class_fields[] = {
#define X(e, name) MAP(name, bwl_text_classes, limit[BWL_C_##e], limit_fields),
	BWL_CLASSES(X)
#undef X
		CYAML_FIELD_END,
};

static const cyaml_schema_field_t ipsec_fields[] = {
	TEXT("remote", bwl_text_ipsec, remote),
	TEXT("id", bwl_text_ipsec, id),
	TEXT("ppk", bwl_text_ipsec, ppk),
	CYAML_FIELD_END,
};

static const cyaml_schema_field_t node_ipsec_fields[] = {
#define X(k) TEXT(#k, bwl_text_node_ipsec, value[BWL_IPSEC_##k]),
	BWL_IPSEC_KEYS(X)
#undef X
		CYAML_FIELD_END,
};

static const cyaml_schema_field_t tamper_fields[] = {
#define X(k) TEXT(#k, bwl_text_tamper, value[BWL_TAMPER_##k]),
	BWL_TAMPER_KEYS(X)
#undef X
		CYAML_FIELD_END,
};

static const cyaml_schema_field_t port_fields[] = {
	TEXT("dev", bwl_text_port, dev),
	TEXTS("sources", bwl_text_port, sources),
	TEXTS("vlans", bwl_text_port, vlans),
	TEXT("mac", bwl_text_port, mac),
	MAP("limit", bwl_text_port, limit, limit_fields),
	CYAML_FIELD_END,
};
static const cyaml_schema_value_t port_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct bwl_text_port, port_fields),
};

static const cyaml_schema_field_t service_fields[] = {
	TEXT("class", bwl_text_service, class_),
	TEXT("proto", bwl_text_service, proto),
	TEXT("port", bwl_text_service, port),
	CYAML_FIELD_END,
};
static const cyaml_schema_value_t service_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct bwl_text_service, service_fields),
};

static const cyaml_schema_field_t peer_fields[] = {
	TEXT("name", bwl_text_peer, name),
	TEXTS("addresses", bwl_text_peer, addresses),
	TEXT("zone", bwl_text_peer, zone),
	TEXT("contained", bwl_text_peer, contained),
	MAP("grant", bwl_text_peer, grant, grant_fields),
	MAP("accept", bwl_text_peer, accept, accept_fields),
	MAP("floor", bwl_text_peer, floor, limit_fields),
	MAP("classes", bwl_text_peer, classes, class_fields),
	TEXT("path", bwl_text_peer, path),
	TEXT("via", bwl_text_peer, via),
	TEXT("via6", bwl_text_peer, via6),
	TEXT("uplink", bwl_text_peer, uplink),
	/* an empty list would read as "from nowhere" and mean "from everywhere" */
	CYAML_FIELD_SEQUENCE("from", OPT, struct bwl_text_peer, from, &text_value, 1,
			     CYAML_UNLIMITED),
	MAP("ipsec", bwl_text_peer, ipsec, ipsec_fields),
	CYAML_FIELD_END,
};
static const cyaml_schema_value_t peer_value = {
	CYAML_VALUE_MAPPING(CYAML_FLAG_DEFAULT, struct bwl_text_peer, peer_fields),
};

/* `zones` stands first: its keys are filled in for every file. */
static const cyaml_schema_field_t policy_fields[] = {
	MAP("zones", bwl_text_policy, zones, NULL),
	TEXT("version", bwl_text_policy, version),
	TEXT("node", bwl_text_policy, node),
	TEXTS("uplinks", bwl_text_policy, uplinks),
	TEXTS("uplink_control", bwl_text_policy, uplink_control),
	MAPS("host_ports", bwl_text_policy, host_ports, port_value),
	TEXT("heartbeat", bwl_text_policy, heartbeat),
	TEXT("lease", bwl_text_policy, lease),
	TEXT("default", bwl_text_policy, default_),
	MAP("node_limit", bwl_text_policy, node_limit, limit_fields),
	TEXT("min_charge", bwl_text_policy, min_charge),
	TEXT("horizon", bwl_text_policy, horizon),
	TEXT("ledger", bwl_text_policy, ledger),
	MAP("ipsec", bwl_text_policy, ipsec, node_ipsec_fields),
	MAP("tamper", bwl_text_policy, tamper, tamper_fields),
	MAPS("services", bwl_text_policy, services, service_value),
	MAPS("peers", bwl_text_policy, peers, peer_value),
	CYAML_FIELD_END,
};
#define POLICY_FIELDS (sizeof(policy_fields) / sizeof(*policy_fields))

/* libcyaml knows no mapping with free keys, so every file gets a schema with its zones in it. */
struct schema {
	cyaml_schema_field_t zones[BWL_MAX_ZONES];
	cyaml_schema_field_t fields[POLICY_FIELDS];
	cyaml_schema_value_t value;
};

static void make_schema(struct schema *s, const struct bwl_prescan *scan)
{
	const cyaml_schema_field_t zone = MAP("", bwl_text_zones, limit[0], limit_fields);

	memset(s->zones, 0, sizeof(s->zones));
	for (size_t i = 0; i < scan->nzones; i++) {
		s->zones[i] = zone;
		s->zones[i].key = scan->zones[i];
		s->zones[i].data_offset = i * sizeof(struct bwl_text_limit *);
	}
	memcpy(s->fields, policy_fields, sizeof(policy_fields));
	s->fields[0].value.mapping.fields = s->zones;
	s->value = (cyaml_schema_value_t){
		CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct bwl_text_policy, s->fields),
	};
}

/* What libcyaml logs about its first error. */
struct complaint {
	char text[128];
	struct bwl_step step[BWL_PATH_STEPS]; /* from the innermost outwards */
	char key[BWL_PATH_STEPS][64];
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
	} else if (c->n < BWL_PATH_STEPS) {
		if (sscanf(line, "  in mapping field '%63[^']'", c->key[c->n]) == 1) {
			c->step[c->n].key = c->key[c->n];
			c->n++;
		} else if (sscanf(line, "  in sequence entry '%lu'", &i) == 1 && i) {
			c->step[c->n++].index = i - 1;
		}
	}
}

static cyaml_config_t config(struct complaint *c)
{
	return (cyaml_config_t){
		.log_fn = on_log,
		.log_ctx = c,
		.log_level = CYAML_LOG_WARNING,
		.mem_fn = cyaml_mem,
		.flags = CYAML_CFG_NO_ALIAS,
	};
}

/* The keys of the mapping at w, for people; empty when w is none. */
static void list_keys(const struct schema *s, const struct bwl_where *w, char *buf, size_t size)
{
	const cyaml_schema_value_t *v = &s->value;
	size_t n = 0;

	for (unsigned i = 0; i < w->n; i++) {
		if (v->type == CYAML_SEQUENCE && !w->step[i].key) {
			v = v->sequence.entry;
		} else if (v->type == CYAML_MAPPING && w->step[i].key) {
			const cyaml_schema_field_t *f = v->mapping.fields;

			while (f->key && strcmp(f->key, w->step[i].key))
				f++;
			if (!f->key)
				return;
			v = &f->value;
		} else {
			return;
		}
	}
	if (v->type != CYAML_MAPPING)
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

static int explain_key(const struct schema *s, struct bwl_where *w, const char *key, bool twice,
		       const char *text, size_t len, struct bwl_err *e)
{
	char keys[256] = "";
	int r;

	/* libcyaml may name the field before as the place */
	if (w->n && w->step[w->n - 1].key && twice)
		w->n--;
	list_keys(s, w, keys, sizeof(keys));
	bwl_where_key(w, key);
	if (twice)
		r = bwl_fail(e, EINVAL, "'%s' is here for the second time", key);
	else
		r = bwl_fail(e, EINVAL, "unknown key '%s': the keys here are %s", key, keys);
	bwl_scan_locate(text, len, w, twice ? BWL_AT_SECOND_KEY : BWL_AT_KEY, e);
	return r;
}

static int explain(const struct schema *s, cyaml_err_t err, const struct complaint *c,
		   const char *text, size_t len, struct bwl_err *e)
{
	struct bwl_where w = { 0 };
	char want[32], got[32];
	const char *key;
	int r;

	if (err == CYAML_ERR_OOM)
		return bwl_fail(e, ENOMEM, "out of memory");
	/* syntax, aliases, nesting, a second document: the walk knows the place */
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
		r = bwl_fail(e, EINVAL, "%s is empty: leave it out", key ? key : "the list");
	} else if (sscanf(c->text, "Expecting %31[A-Z_], got event: %31[A-Z_]", want, got) == 2) {
		r = bwl_fail(e, EINVAL, "%s%s%s is expected here, not %s%s", key ? key : "",
			     key ? ": " : "", kind(want), kind(got),
			     key && !strcmp(key, "accept") ? " (or the word none)" : "");
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
