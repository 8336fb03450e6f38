// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tells all keys and kinds of a text that do not fit the schema, and writes the text again without
 * them, so that the rest of it can be read and checked: libcyaml ends with the first one. An
 * unknown key, a second one and a value of a wrong kind are left out; where something must stand,
 * so that indices and names remain those of the file, an empty value does. It goes on when no more
 * errors are wanted, since the version of the file may be the only one to be told.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "policy_report.h"
#include "policy_schema.h"

/* A list or mapping that is being written. */
struct level {
	const cyaml_schema_value_t *v;
	uint64_t seen; /* fields of a mapping */
	bool any;      /* it is not empty */
	char *unknown; /* the path of a mapping with an unknown key */
};

struct shape {
	struct bwl_report *t;
	FILE *out;
	size_t told; /* what does not fit */
	struct level level[BWL_PLACE_STEPS];
	unsigned depth;
	unsigned skip;                           /* what is deeper belongs to a value left out */
	const cyaml_schema_field_t *field;       /* of the key that was read; NULL: leave it out */
	char key[BWL_NAME_LEN];                  /* if its field is "*" */
	char names[BWL_MAX_ZONES][BWL_NAME_LEN]; /* the keys of the mapping with "*" */
	size_t nnames;
	char list[BWL_PATH_BYTES]; /* the list that must not be empty, */
	unsigned line, column;     /* and where it is */
};

static void tell(struct shape *x, const struct bwl_node *n, bool twice, int r)
{
	char path[BWL_PATH_BYTES];

	x->t->e.line = n->line;
	x->t->e.column = n->column;
	bwl_path_of(n->path, n->depth, path);
	bwl_tell_path(x->t, path, twice, r);
	x->told++;
}

/* As YAML in quotes. libyaml gives UTF-8, but also characters that it does not read back. */
static void put_text(FILE *f, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	putc('"', f);
	for (; *s; s++) {
		if (*s >= 0x80) {
			unsigned n = *s >= 0xf0 ? 3 : *s >= 0xe0 ? 2 : 1;
			uint32_t c = *s & (0x3fU >> n);

			while (n-- && s[1])
				c = c << 6 | (*++s & 0x3f);
			fprintf(f, "\\U%08x", c);
		} else if (*s < ' ' || *s == '"' || *s == '\\' || *s == 0x7f) {
			fprintf(f, "\\x%02x", *s);
		} else {
			putc(*s, f);
		}
	}
	putc('"', f);
}

/* Begins a value of the innermost list or mapping. */
static void begin_value(struct shape *x)
{
	struct level *in = x->depth ? &x->level[x->depth - 1] : NULL;

	if (!in)
		return;
	if (in->any)
		putc(',', x->out);
	in->any = true;
	if (in->v->type != CYAML_MAPPING)
		return;
	put_text(x->out, *x->field->key == '*' ? x->key : x->field->key);
	putc(':', x->out);
}

static void open_level(struct shape *x, const struct bwl_node *n, const cyaml_schema_value_t *v)
{
	x->level[x->depth++] = (struct level){ .v = v };
	putc(v->type == CYAML_MAPPING ? '{' : '[', x->out);
	if (v->type == CYAML_MAPPING && *v->mapping.fields->key == '*')
		x->nnames = 0;
	if (v->type == CYAML_SEQUENCE && v->sequence.min) {
		bwl_path_of(n->path, n->depth, x->list);
		x->line = n->line;
		x->column = n->column;
	}
}

/* The unknown key may be any that is missing, misspelt. */
static void doubt_missing(struct shape *x, struct level *m)
{
	const cyaml_schema_field_t *f = m->v->mapping.fields;

	for (unsigned i = 0; f[i].key; i++)
		if (!(m->seen & 1ULL << i))
			bwl_doubt(x->t, "%s%s/", m->unknown, f[i].key);
	free(m->unknown);
}

static void close_level(struct shape *x)
{
	struct level *m = &x->level[--x->depth];
	bool is_map = m->v->type == CYAML_MAPPING;

	if (m->unknown)
		doubt_missing(x, m);
	if (!is_map && m->v->sequence.min && !m->any) {
		bwl_schema_empty("from", &x->t->e);
		x->t->e.line = x->line;
		x->t->e.column = x->column;
		bwl_tell_path(x->t, x->list, false, -EINVAL);
		x->told++;
		put_text(x->out, "");
	}
	putc(is_map ? '}' : ']', x->out);
}

/* A key of `zones`, or of a peer's `ports`. */
static void on_name(struct shape *x, const struct level *m, const struct bwl_node *n)
{
	bool zone = n->depth == 2, twice = false;
	int r;

	for (size_t i = 0; i < x->nnames; i++)
		twice |= !strcmp(x->names[i], n->scalar);
	r = twice ? bwl_schema_bad_key(m->v, n->scalar, true, &x->t->e)
		  : bwl_prescan_name(zone, n->scalar, x->nnames, &x->t->e);
	if (r) {
		tell(x, n, twice, r);
		if (zone && !twice)
			bwl_doubt(x->t, "zones//");
		return;
	}
	strcpy(x->names[x->nnames++], n->scalar);
	strcpy(x->key, n->scalar);
	x->field = m->v->mapping.fields;
}

static void on_key(struct shape *x, const struct bwl_node *n)
{
	struct level *m = &x->level[x->depth - 1];
	const cyaml_schema_field_t *f = m->v->mapping.fields;
	char path[BWL_PATH_BYTES];
	unsigned i = 0;
	bool twice;

	x->field = NULL;
	if (*f->key == '*') {
		on_name(x, m, n);
		return;
	}
	while (f[i].key && strcmp(f[i].key, n->scalar))
		i++;
	twice = f[i].key && m->seen & 1ULL << i;
	if (f[i].key && !twice) {
		m->seen |= 1ULL << i;
		x->field = &f[i];
		return;
	}
	tell(x, n, twice, bwl_schema_bad_key(m->v, n->scalar, twice, &x->t->e));
	if (twice || m->unknown)
		return;
	bwl_path_of(n->path, n->depth - 1, path);
	m->unknown = bwl_must(strdup(path));
}

static bool is_none(const struct shape *x, const struct bwl_node *n)
{
	return n->depth == 3 && n->plain && !strcmp(n->scalar, "none") &&
	       !strcmp(x->field->key, "accept");
}

/* A value of a wrong kind: writes what stands for it. */
static void mend(struct shape *x, const cyaml_schema_value_t *v)
{
	if (v->type == CYAML_MAPPING) {
		begin_value(x);
		fputs("{}", x->out);
	} else if (x->level[x->depth - 1].v->type == CYAML_SEQUENCE) {
		begin_value(x);
		put_text(x->out, "");
	}
}

static int on_value(struct shape *x, const struct bwl_node *n)
{
	const struct level *in = x->depth ? &x->level[x->depth - 1] : NULL;
	const cyaml_schema_value_t *v = &bwl_policy_schema;
	const char *got = n->scalar ? "SCALAR" : n->is_map ? "MAPPING" : "SEQUENCE", *want;

	if (in && in->v->type == CYAML_SEQUENCE)
		v = in->v->sequence.entry;
	else if (in)
		v = x->field ? &x->field->value : NULL;
	if (!v) {
		x->skip = n->depth;
		return 0;
	}
	want = v->type == CYAML_MAPPING    ? "MAPPING"
	       : v->type == CYAML_SEQUENCE ? "SEQUENCE"
					   : "SCALAR";
	if (!strcmp(want, got) ||
	    (n->scalar && in && in->v->type == CYAML_MAPPING && is_none(x, n))) {
		begin_value(x);
		if (!n->scalar)
			open_level(x, n, v);
		else if (v->type == CYAML_MAPPING)
			fputs("none", x->out); /* bwl_prescan() wants it without quotes */
		else
			put_text(x->out, n->scalar);
		return 0;
	}
	tell(x, n, false,
	     bwl_schema_bad_kind(n->depth ? n->path[n->depth - 1].key : NULL, want, got, &x->t->e));
	if (!n->depth)
		return 1; /* nothing of it is a policy */
	mend(x, v);
	x->skip = n->depth;
	return 0;
}

static int on_node(void *arg, const struct bwl_node *n)
{
	struct shape *x = arg;

	if (n->depth > x->skip)
		return 0;
	x->skip = UINT_MAX;
	while (x->depth > n->depth)
		close_level(x);
	if (!n->is_key)
		return on_value(x, n);
	on_key(x, n);
	return 0;
}

int bwl_shape_check(struct bwl_report *t, char **ret, size_t *ret_len)
{
	struct shape *x = bwl_must(calloc(1, sizeof(*x)));
	char *text = NULL;
	size_t len;
	int r;

	x->t = t;
	x->skip = UINT_MAX;
	x->out = bwl_must(open_memstream(&text, &len));
	r = bwl_scan(t->text, t->len, on_node, x, &t->e);
	while (x->depth && !r)
		close_level(x);
	while (x->depth)
		free(x->level[--x->depth].unknown);
	fclose(x->out);
	if (!r && x->told) {
		*ret = bwl_must(text);
		*ret_len = len;
	} else {
		free(text);
	}
	free(x);
	return r;
}
