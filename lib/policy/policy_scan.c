/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where things stand in a policy file: a walk over libyaml's events. It runs before libcyaml
 * only when the text may hold what a fixed schema cannot say (names of zones, `accept: none`),
 * and again when there is an error or a warning to place.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>
#include "policy_text.h"

#define MAX_DEPTH (BWL_PATH_STEPS - 1)
#define KEY_BYTES 64 /* longer keys are unknown ones anyway */

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
	/* a byte that is no text: libyaml only has its offset */
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
		return fail_at(e, &ev->start_mark, "nested deeper than any policy");
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

	if (is_scalar) {
		n.scalar = (const char *)ev->data.scalar.value;
		n.plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
	}
	if (top && top->is_map && top->want_key) {
		if (!is_scalar)
			return fail_at(e, &ev->start_mark,
				       "a key is a word, not a list or a mapping");
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
			return fail_at(e, &ev->start_mark, "a second document: a policy is one");
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
	const struct bwl_where *w;
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

void bwl_scan_locate(const char *text, size_t len, const struct bwl_where *w, enum bwl_locate what,
		     struct bwl_err *e)
{
	struct target t = { .w = w, .what = what };

	if (!e)
		return;
	bwl_scan(text, len, on_locate, &t, NULL);
	e->line = t.line;
	e->column = t.column;
}

static int on_line(void *arg, const struct bwl_node *n)
{
	struct bwl_policy *p = arg;

	if (n->depth != 2 || !n->path[0].key)
		return 0;
	if (n->is_key) {
		if (!strcmp(n->path[0].key, "zones"))
			for (size_t i = 0; i < p->nzones; i++)
				if (!strcmp(p->zones[i].name, n->scalar))
					p->zones[i].line = n->line;
	} else if (!n->path[1].key && !strcmp(n->path[0].key, "peers")) {
		if (n->path[1].index < p->npeers)
			p->peers[n->path[1].index].line = n->line;
	} else if (!n->path[1].key && !strcmp(n->path[0].key, "host_ports")) {
		if (n->path[1].index < p->nports)
			p->ports[n->path[1].index].line = n->line;
	}
	return 0;
}

void bwl_scan_lines(const char *text, size_t len, struct bwl_policy *p)
{
	bwl_scan(text, len, on_line, p, NULL);
}

struct collect {
	struct bwl_prescan *s;
	const char *text; /* byte and character positions that belong together */
	size_t len, byte, character;
	char *copy;
	struct bwl_err *e;
};

static int fail_node(struct bwl_err *e, const struct bwl_node *n, const char *text)
{
	return fail_at(e, &(yaml_mark_t){ .line = n->line - 1, .column = n->column - 1 }, text);
}

static int add_zone(struct collect *c, const struct bwl_node *n)
{
	char(*z)[BWL_NAME_LEN];

	if (c->s->nzones == BWL_MAX_ZONES - 1)
		return fail_node(c->e, n, "more than 255 zones");
	if (strlen(n->scalar) >= BWL_NAME_LEN)
		return fail_node(c->e, n, "the name of a zone has at most 31 characters");
	z = realloc(c->s->zones, (c->s->nzones + 1) * sizeof(*z));
	if (!z)
		return bwl_fail(c->e, ENOMEM, "out of memory");
	c->s->zones = z;
	strcpy(z[c->s->nzones++], n->scalar);
	return 0;
}

/* libyaml counts characters. Rising offsets make all calls together one pass over the text. */
static size_t byte_of(struct collect *c, size_t character)
{
	while (c->byte < c->len && c->character < character) {
		c->byte++;
		while (c->byte < c->len && ((unsigned char)c->text[c->byte] & 0xc0) == 0x80)
			c->byte++;
		c->character++;
	}
	return c->byte;
}

static int add_silent(struct collect *c, const struct bwl_node *n)
{
	size_t i = c->s->nsilent, at = byte_of(c, n->offset), *grown;

	if (!(i & (i - 1))) {
		grown = realloc(c->s->silent, (i ? 2 * i : 1) * sizeof(*grown));
		if (!grown)
			return bwl_fail(c->e, ENOMEM, "out of memory");
		c->s->silent = grown;
	}
	if (!c->copy) {
		c->copy = malloc(c->len + 1);
		if (!c->copy)
			return bwl_fail(c->e, ENOMEM, "out of memory");
		memcpy(c->copy, c->text, c->len);
		c->copy[c->len] = '\0';
	}
	if (at + 4 > c->len || memcmp(c->copy + at, "none", 4))
		return 0; /* not where it was thought to be: libcyaml will refuse the word */
	memcpy(c->copy + at, "{}  ", 4);
	c->s->silent[c->s->nsilent++] = n->path[1].index;
	return 0;
}

static int on_collect(void *arg, const struct bwl_node *n)
{
	struct collect *c = arg;

	if (n->depth < 2 || !n->path[0].key)
		return 0;
	if (n->is_key && n->depth == 2 && !strcmp(n->path[0].key, "zones"))
		return add_zone(c, n);
	if (!n->is_key && n->depth == 3 && n->plain && n->scalar && !strcmp(n->scalar, "none") &&
	    !strcmp(n->path[0].key, "peers") && !n->path[1].key && n->path[2].key &&
	    !strcmp(n->path[2].key, "accept"))
		return add_silent(c, n);
	return 0;
}

/*
 * Cheap guess whether `accept: none` occurs. Too timid for odd spellings (escapes in quoted
 * keys), which libcyaml then refuses: the guess costs a message, never a meaning.
 */
static bool may_say_accept_none(const char *text, size_t len)
{
	const char *p = text, *end = text + len;

	while ((p = memmem(p, end - p, "accept", 6))) {
		p += 6;
		while (p < end && strchr(" \t\r\n\"'?:", *p) && *p)
			p++;
		if (end - p >= 4 && !memcmp(p, "none", 4))
			return true;
	}
	return false;
}

/* Stops the walk after the mapping of zones when nothing else is looked for. */
static int on_zones_only(void *arg, const struct bwl_node *n)
{
	struct collect *c = arg;
	int r = on_collect(arg, n);

	if (!r && c->s->nzones && n->is_key && n->depth == 1)
		return 1;
	return r;
}

int bwl_prescan(const char **text, size_t len, char **copy, struct bwl_prescan *ret,
		struct bwl_err *e)
{
	struct collect c = { .s = ret, .text = *text, .len = len, .e = e };
	bool none = may_say_accept_none(*text, len);
	int r = 0;

	*copy = NULL;
	if (none || memmem(*text, len, "zones", 5))
		r = bwl_scan(*text, len, none ? on_collect : on_zones_only, &c, e);
	*copy = c.copy;
	if (c.copy)
		*text = c.copy;
	return r < 0 ? r : 0;
}

void bwl_prescan_done(struct bwl_prescan *s)
{
	free(s->zones);
	free(s->silent);
	memset(s, 0, sizeof(*s));
}
