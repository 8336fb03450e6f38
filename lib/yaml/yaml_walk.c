// SPDX-License-Identifier: GPL-2.0-or-later
/* A walk over libyaml's events: bwl/yaml_walk.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>
#include "bwl/yaml_walk.h"

#define MAX_DEPTH (BWL_PLACE_STEPS - 1)
#define KEY_BYTES 64 /* longer keys are unknown anyway */

struct level {
	bool is_map, want_key;
	char key[KEY_BYTES];
};

struct walk {
	struct level level[MAX_DEPTH];
	struct bwl_step path[MAX_DEPTH];
	unsigned depth; /* open lists and mappings */
	unsigned documents;
};

static int fail_at(struct bwl_err *e, const yaml_mark_t *mark, const char *text)
{
	int r = bwl_fail(e, EINVAL, "%s", text);

	if (e) {
		e->line = mark->line + 1;
		e->column = mark->column + 1;
	}
	return r;
}

static int syntax_error(const yaml_parser_t *y, const char *text, size_t len, struct bwl_err *e)
{
	const char *problem = y->problem ? y->problem : "cannot be read";
	int r;

	if (y->error == YAML_MEMORY_ERROR)
		return bwl_fail(e, ENOMEM, "out of memory");
	if (y->error != YAML_READER_ERROR) {
		r = bwl_fail(e, EINVAL, "not YAML: %s%s%s", problem, y->context ? " " : "",
			     y->context ? y->context : "");
		if (e) {
			e->line = y->problem_mark.line + 1;
			e->column = y->problem_mark.column + 1;
		}
		return r;
	}
	/* a byte that is not text: libyaml only gives its offset */
	r = bwl_fail(e, EINVAL, "not YAML: %s (policy files are UTF-8)", problem);
	if (e) {
		size_t end = y->problem_offset < len ? y->problem_offset : len;

		e->line = 1;
		for (size_t i = 0; i < end; i++)
			e->line += text[i] == '\n';
	}
	return r;
}

static int open_level(struct walk *w, bool is_map, const yaml_event_t *ev, struct bwl_err *e)
{
	if (w->depth == MAX_DEPTH)
		return fail_at(e, &ev->start_mark, "nested too deeply for a policy");
	w->path[w->depth] = (struct bwl_step){ 0 };
	w->level[w->depth] = (struct level){ .is_map = is_map, .want_key = is_map };
	w->depth++;
	return 0;
}

/* The node just read was a value: move on to the next. */
static void next_value(struct walk *w)
{
	if (!w->depth)
		return;
	if (w->level[w->depth - 1].is_map)
		w->level[w->depth - 1].want_key = true;
	else
		w->path[w->depth - 1].index++;
}

static int on_node(struct walk *w, const yaml_event_t *ev,
		   int (*fn)(void *arg, const struct bwl_node *n), void *arg, struct bwl_err *e)
{
	struct level *top = w->depth ? &w->level[w->depth - 1] : NULL;
	bool is_scalar = ev->type == YAML_SCALAR_EVENT;
	struct bwl_node n = {
		.path = w->path,
		.depth = w->depth,
		.line = ev->start_mark.line + 1,
		.column = ev->start_mark.column + 1,
		.offset = ev->start_mark.index,
	};
	int r;

	n.is_map = ev->type == YAML_MAPPING_START_EVENT;
	if (is_scalar) {
		n.scalar = (const char *)ev->data.scalar.value;
		n.plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	}
	if (top && top->is_map && top->want_key) {
		if (!is_scalar)
			return fail_at(e, &ev->start_mark,
				       "a key must be a word, not a list or a mapping");
		strncpy(top->key, n.scalar, KEY_BYTES - 1);
		w->path[w->depth - 1].key = top->key;
		top->want_key = false;
		n.is_key = true;
		return fn(arg, &n);
	}
	r = fn(arg, &n);
	if (r)
		return r;
	if (is_scalar) {
		next_value(w);
		return 0;
	}
	return open_level(w, ev->type == YAML_MAPPING_START_EVENT, ev, e);
}

static int on_event(struct walk *w, const yaml_event_t *ev,
		    int (*fn)(void *arg, const struct bwl_node *n), void *arg, struct bwl_err *e)
{
	switch (ev->type) {
	case YAML_ALIAS_EVENT:
		return fail_at(e, &ev->start_mark,
			       "aliases (*name) are not accepted: write it out");
	case YAML_DOCUMENT_START_EVENT:
		if (w->documents++)
			return fail_at(e, &ev->start_mark,
				       "a second YAML document: a policy is a single one");
		return 0;
	case YAML_SCALAR_EVENT:
	case YAML_SEQUENCE_START_EVENT:
	case YAML_MAPPING_START_EVENT:
		return on_node(w, ev, fn, arg, e);
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		w->depth--;
		next_value(w);
		return 0;
	default:
		return 0;
	}
}

int bwl_scan(const char *text, size_t len, int (*fn)(void *arg, const struct bwl_node *n),
	     void *arg, struct bwl_err *e)
{
	struct walk w = { 0 };
	yaml_parser_t y;
	int r = 0;

	if (!yaml_parser_initialize(&y))
		return bwl_fail(e, ENOMEM, "out of memory");
	yaml_parser_set_encoding(&y, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&y, (const unsigned char *)text, len);
	for (bool end = false; !r && !end;) {
		yaml_event_t ev;

		if (!yaml_parser_parse(&y, &ev)) {
			r = syntax_error(&y, text, len, e);
			break;
		}
		end = ev.type == YAML_STREAM_END_EVENT;
		r = on_event(&w, &ev, fn, arg, e);
		yaml_event_delete(&ev);
	}
	yaml_parser_delete(&y);
	return r;
}

struct target {
	const struct bwl_place *w;
	enum bwl_locate what;
	unsigned best; /* steps of the nearest ancestor found */
	unsigned line, column;
	unsigned keys; /* how often the key was seen */
};

static bool same_step(const struct bwl_step *a, const struct bwl_step *b)
{
	if (!a->key || !b->key)
		return !a->key && !b->key && a->index == b->index;
	return !strncmp(a->key, b->key, KEY_BYTES - 1);
}

static int on_locate(void *arg, const struct bwl_node *n)
{
	struct target *t = arg;
	bool last = n->depth == t->w->n;

	if (n->depth > t->w->n || n->depth < t->best)
		return 0;
	for (unsigned i = 0; i < n->depth; i++)
		if (!same_step(&n->path[i], &t->w->step[i]))
			return 0;
	if (n->is_key && !(last && t->what != BWL_AT_VALUE))
		return 0;
	if (!n->is_key && last && t->what != BWL_AT_VALUE)
		return 0;
	t->best = n->depth;
	t->line = n->line;
	t->column = n->column;
	if (!last)
		return 0;
	return t->what != BWL_AT_SECOND_KEY || ++t->keys == 2;
}

void bwl_scan_locate(const char *text, size_t len, const struct bwl_place *w, enum bwl_locate what,
		     struct bwl_err *e)
{
	struct target t = { .w = w, .what = what };

	if (!e)
		return;
	bwl_scan(text, len, on_locate, &t, NULL);
	e->line = t.line;
	e->column = t.column;
}
