// SPDX-License-Identifier: GPL-2.0-or-later
/* `history`: what passed and when, as written by bwlimitd. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "ctl.h"
#include "bwl/desired.h"
#include "history/db.h"

#define SECOND 1000000000ULL
#define STEPS_MAX 100000
#define STEPS 60 /* by default, at most */

struct ask {
	const char *peer, *class_, *dir;
	int64_t now_s, from_s, to_s, step_s;
	size_t n;
	bool all; /* also steps in which nothing passed */
};

static const int64_t nice_steps[] = {
	1, 5, 10, 30, 60, 300, 600, 1800, 3600, 10800, 21600, 86400, 0
};

/* Converts a time ago to whole seconds. */
static int ago(struct ctl *c, const char *option, const char *s, uint64_t most_s, int64_t *ret)
{
	uint64_t ns;

	if (bwl_parse_time(s, &ns, &c->err))
		return CTL_USAGE;
	if (ns > most_s * SECOND)
		return ctl_usage(c, "%s %.32s: at most %" PRIu64 " days", option, s,
				 most_s / 86400);
	*ret = (int64_t)(ns / SECOND);
	return 0;
}

static int settle_times(struct ctl *c, const char *since, const char *until, const char *step,
			struct ask *a)
{
	int64_t from = 3600, to = 0;
	unsigned i;
	int r = 0;

	a->now_s = time(NULL);
	if (since)
		r = ago(c, "--since", since, 366 * 86400, &from);
	if (!r && until)
		r = ago(c, "--until", until, 366 * 86400, &to);
	if (!r && from <= to)
		r = ctl_usage(
			c,
			"--since must be longer ago than --until (both count back from now, which is 0s)");
	if (!r && step)
		r = ago(c, "--step", step, 366 * 86400, &a->step_s);
	if (r)
		return r;
	if (step && !a->step_s)
		return ctl_usage(c, "--step %.32s: 1s at least", step);
	for (i = 0; !step && nice_steps[i]; i++) {
		a->step_s = nice_steps[i];
		if ((from - to) / a->step_s <= STEPS)
			break;
	}
	a->from_s = (a->now_s - from) / a->step_s * a->step_s;
	a->n = (size_t)((a->now_s - to - a->from_s + a->step_s - 1) / a->step_s);
	a->to_s = a->from_s + (int64_t)a->n * a->step_s;
	if (a->n > STEPS_MAX)
		return ctl_usage(
			c,
			"%zu steps are too many, at most %d: use a longer --step or a later --since",
			a->n, STEPS_MAX);
	return 0;
}

static char *local(int64_t s, const char *format, char buf[static 32])
{
	time_t t = s;
	struct tm tm;

	localtime_r(&t, &tm);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	strftime(buf, 32, format, &tm);
#pragma GCC diagnostic pop
	return buf;
}

/* As short as distinguishes the steps: the table must fit 80 columns. */
static const char *format_of(int64_t step_s)
{
	return step_s % 86400 == 0 ? "%Y-%m-%d"
	       : step_s % 60 == 0  ? "%m-%d %H:%M"
				   : "%m-%d %H:%M:%S";
}

/* Seconds of the step for which there is data. */
static double seconds_of(const struct ask *a, const struct hist_state *st, size_t i)
{
	int64_t from = a->from_s + (int64_t)i * a->step_s, to = from + a->step_s;

	if (to > st->wall_s && st->wall_s > from)
		to = st->wall_s;
	return (double)(to - from);
}

/* A step of the time asked for, or the sum of all. */
struct point {
	const struct hist_values *x;
	int64_t from_s, step_s; /* -1: all */
	double seconds;
	size_t empty; /* number of steps in which nothing passed; 0: it is one step */
};

static struct bwl_value get_time(const void *row)
{
	const struct point *p = row;
	char utc[BWL_TIME_BUF], here[32];

	if (p->from_s < 0)
		return bwl_v_both(json_null(), "in all");
	if (p->empty)
		return bwl_v_both(json_null(), "… %zu empty", p->empty);
	return bwl_v_both(json_string(bwl_utc(p->from_s, -1, utc)), "%s",
			  local(p->from_s, format_of(p->step_s), here));
}

static struct bwl_value bytes(const void *row, enum hist_col c)
{
	const struct point *p = row;

	return p->x->v[c] ? bwl_v_bytes(p->x->v[c]) : bwl_v_json(bwl_json_u64(0));
}

static struct bwl_value speed(const void *row, enum hist_col c)
{
	const struct point *p = row;
	double bps = (double)p->x->v[c] * 8 / p->seconds;

	return p->x->v[c] ? bwl_v_speed(&bps) : bwl_v_json(json_real(0));
}

#define GET(name, how, column)                                                                     \
	static struct bwl_value get_##name(const void *row)                                        \
	{                                                                                          \
		return how(row, column);                                                           \
	}
GET(sent, bytes, HIST_SENT)
GET(sent_rate, speed, HIST_SENT)
GET(sent_dropped, bytes, HIST_SENT_DROPPED)
GET(arrived, bytes, HIST_ARRIVED)
GET(arrived_rate, speed, HIST_ARRIVED)
GET(arrived_dropped, bytes, HIST_ARRIVED_DROPPED)

static const struct bwl_field f_time = { "time", "FROM", get_time };
static const struct bwl_field f_sent = { "sent_bytes", ">SENT", get_sent };
static const struct bwl_field f_sent_rate = { "sent_bits_per_second", ">RATE", get_sent_rate };
static const struct bwl_field f_sent_dropped = { "sent_dropped_bytes", ">DROPPED",
						 get_sent_dropped };
static const struct bwl_field f_arrived = { "arrived_bytes", ">ARRIVED", get_arrived };
static const struct bwl_field f_arrived_rate = { "arrived_bits_per_second", ">RATE",
						 get_arrived_rate };
static const struct bwl_field f_arrived_dropped = { "arrived_dropped_bytes", ">DROPPED",
						    get_arrived_dropped };

static const struct bwl_column point_columns[] = {
	{ &f_time, BWL_BOTH },
	{ &f_sent, BWL_BOTH },
	{ &f_sent_rate, BWL_BOTH },
	{ &f_sent_dropped, BWL_BOTH },
	{ &f_arrived, BWL_BOTH },
	{ &f_arrived_rate, BWL_BOTH },
	{ &f_arrived_dropped, BWL_BOTH },
	{ NULL, BWL_BOTH },
};
static const struct bwl_column total_columns[] = {
	{ &f_sent, BWL_BOTH },    { &f_sent_dropped, BWL_BOTH },
	{ &f_arrived, BWL_BOTH }, { &f_arrived_dropped, BWL_BOTH },
	{ NULL, BWL_BOTH },
};

/* The number of empty steps from here on. */
static size_t empty_steps(const struct hist_values *x, size_t n)
{
	size_t i = 0;

	while (i < n && hist_is_zero(&x[i]))
		i++;
	return i;
}

/* The points for programs; NULL: the table with its last row is on stdout. */
static json_t *list_points(const struct ask *a, const struct hist_state *st,
			   const struct hist_values *x, const struct point *all, bool json)
{
	struct bwl_list *l = bwl_list_new(point_columns, json);
	size_t i, empty;

	for (i = 0; i < a->n; i++) {
		struct point p = { .x = &x[i],
				   .from_s = a->from_s + (int64_t)i * a->step_s,
				   .step_s = a->step_s,
				   .seconds = seconds_of(a, st, i) };

		empty = json || a->all ? 0 : empty_steps(x + i, a->n - i);
		if (empty > 1) {
			p.empty = empty;
			i += empty - 1;
		}
		bwl_list_add(l, &p);
	}
	if (!json)
		bwl_list_add(l, all);
	return bwl_list_end(l);
}

static void print_foot(const struct ask *a, const struct hist_state *st, json_t *classes,
		       unsigned damaged)
{
	char buf[32], step[BWL_UNIT_BUF];
	const json_t *name;
	size_t i;

	puts("");
	bwl_put(stdout, "in steps of %s; written until %s",
		bwl_format_time((uint64_t)a->step_s * SECOND, step),
		local(st->wall_s, "%Y-%m-%d %H:%M:%S", buf));
	if (json_array_size(classes)) {
		printf("; --class:");
		json_array_foreach(classes, i, name)
			bwl_put(stdout, " %s", json_string_value(name));
	}
	puts("");
	if (damaged)
		bwl_warn("%u damaged row%s of the history left out", damaged, BWL_S(damaged));
}

static void print(const struct ask *a, const struct hist_state *st, const struct hist_values *x,
		  const struct hist_values *sum, json_t *classes, unsigned damaged, bool json)
{
	const struct point all = { .x = sum,
				   .from_s = -1,
				   .seconds = (double)(a->to_s - a->from_s) };
	json_t *points = list_points(a, st, x, &all, json), *o;
	char buf[BWL_TIME_BUF];

	if (!json) {
		print_foot(a, st, classes, damaged);
		return;
	}
	o = bwl_doc("history");
	json_object_set_new(o, "peer", json_string(a->peer));
	json_object_set_new(o, "class", bwl_json_text(*a->class_ ? a->class_ : NULL));
	json_object_set(o, "class_names", classes);
	json_object_set_new(o, "since", json_string(bwl_utc(a->from_s, -1, buf)));
	json_object_set_new(o, "until", json_string(bwl_utc(a->to_s, -1, buf)));
	json_object_set_new(o, "written_until", json_string(bwl_utc(st->wall_s, -1, buf)));
	json_object_set_new(o, "step_s", json_integer(a->step_s));
	json_object_set_new(o, "damaged_row_count", json_integer(damaged));
	json_object_set_new(o, "total", bwl_row_json(total_columns, &all));
	json_object_set_new(o, "points", points);
	bwl_doc_print(o);
}

/* The names that exist: all peers, or the classes of one. */
struct names {
	const char *peer; /* NULL: all */
	bool of_classes;
	json_t *list;
};

static void add_name(const char *peer, const char *class_, void *arg)
{
	struct names *n = arg;
	size_t last = json_array_size(n->list);

	if (!peer || !class_ || (n->peer && strcmp(n->peer, peer)) || (n->of_classes && !*class_))
		return;
	if (!n->of_classes) { /* they come in order */
		class_ = peer;
		if (last && !strcmp(json_string_value(json_array_get(n->list, last - 1)), peer))
			return;
	}
	json_array_append_new(n->list, json_string(class_));
}

static json_t *names(struct ctl *c, struct hist_reader *r, const char *peer)
{
	struct names n = { .peer = peer, .of_classes = peer, .list = json_array() };

	if (!hist_reader_names(r, add_name, &n, &c->err))
		return n.list;
	json_decref(n.list);
	return NULL;
}

/* No such name: lists the existing ones, the most similar first. */
static int none(struct ctl *c, const struct ask *a, struct hist_reader *r)
{
	json_t *list = names(c, r, *a->class_ ? a->peer : NULL);
	const char *what = *a->class_ ? a->class_ : a->peer, *near, **words;
	char all[200] = "";
	size_t i, n = json_array_size(list);

	if (!list)
		return -c->err.code;
	words = calloc(n + 1, sizeof(*words));
	for (i = 0; words && i < n; i++) {
		words[i] = json_string_value(json_array_get(list, i));
		if (strlen(all) + strlen(words[i]) + 20 < sizeof(all))
			snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s",
				 i ? ", " : "", words[i]);
		else
			break;
	}
	near = words ? ctl_nearest(what, words) : NULL;
	bwl_fail(&c->err, ENOENT,
		 *a->class_ ? "there is no history of class '%.32s' of %.64s"
			    : "there is no history of '%.64s'%.0s",
		 what, a->peer);
	if (!n)
		bwl_hint(
			&c->err,
			*a->class_
				? "%.64s has no history by class: only classes and ports with a limit in the policy have one"
				: "no peer has one yet%.0s: bwlimitd writes it once something passes",
			a->peer);
	else if (near)
		bwl_hint(&c->err, "did you mean '%s'? There is: %s%s", near, all,
			 i < n ? ", …" : "");
	else
		bwl_hint(&c->err, "there is: %s%s", all, i < n ? ", …" : "");
	free(words);
	json_decref(list);
	return -ENOENT;
}

static int show(struct ctl *c, const struct ask *a, struct hist_reader *r)
{
	struct hist_values *x = calloc(a->n, sizeof(*x)), all = { 0 };
	unsigned damaged = 0;
	json_t *classes;
	size_t i;
	int err;

	if (!x)
		return bwl_fail(&c->err, ENOMEM, "out of memory");
	err = hist_reader_get(r, a->peer, a->class_, a->from_s, a->to_s, a->step_s, x, &damaged,
			      &c->err);
	if (err == -ENOENT)
		err = none(c, a, r);
	classes = err ? NULL : names(c, r, a->peer);
	if (classes) {
		for (i = 0; i < a->n; i++)
			hist_sum(&all, &x[i]);
		print(a, hist_reader_state(r), x, &all, classes, damaged, c->json);
		json_decref(classes);
	} else if (!err) {
		err = -c->err.code;
	}
	free(x);
	return err;
}

static int show_names(struct ctl *c, struct hist_reader *r)
{
	json_t *list = names(c, r, NULL);
	const json_t *name;
	size_t i;

	if (!list)
		return -c->err.code;
	if (c->json) {
		ctl_print_list("history-peers", "peer_names", list);
		return 0;
	}
	json_array_foreach(list, i, name) bwl_put(stdout, "%s\n", json_string_value(name));
	json_decref(list);
	return 0;
}

static int history(struct ctl *c, int argc, char **argv)
{
	const char *since = NULL, *until = NULL, *step = NULL;
	struct ask a = { .class_ = "", .dir = bwl_state_dir() };
	const struct ctl_opt opts[] = {
		{ "--class", NULL, &a.class_ },
		{ "--since", NULL, &since },
		{ "--until", NULL, &until },
		{ "--step", NULL, &step },
		{ "--state-dir", NULL, &a.dir },
		{ "--all", &a.all, NULL },
		{ NULL, NULL, NULL },
	};
	struct hist_reader *reader;
	uint8_t class_;
	int r;

	r = ctl_opts(c, &argc, argv, opts);
	if (r)
		return r;
	if (argc > 1)
		return ctl_usage(c, "unexpected '%.64s'", argv[1]);
	a.peer = argc ? argv[0] : NULL;
	if (!a.peer && (*a.class_ || since || until || step || a.all))
		return ctl_usage(c,
				 "the peer is missing; `history` alone lists those that have one");
	if (*a.class_ && strncmp(a.class_, "port/", 5) &&
	    bwl_class_parse(a.class_, &class_, &c->err))
		return CTL_USAGE;
	r = settle_times(c, since, until, step, &a);
	if (r)
		return r;
	r = hist_reader_open(a.dir, &reader, &c->err);
	if (r == -ENOENT)
		bwl_hint(&c->err,
			 "bwlimitd writes it: systemctl status bwlimitd; --state-dir says where");
	if (r)
		return r;
	r = a.peer ? show(c, &a, reader) : show_names(c, reader);
	hist_reader_close(reader);
	return r;
}

const struct ctl_cmd ctl_history_cmds[] = {
	{ "history", NULL,
	  "[NAME] [--class CLASS] [--since TIME] [--until TIME] [--step TIME] [--all] [--state-dir DIR]",
	  "What passed and when: bytes and rates of a peer, or of one of its classes or ports",
	  "TIME is how long ago: --since 24h (1h), --until 2h (0s: now). Seconds are kept for at least an hour,\n"
	  "minutes for a month; steps shorter than what is kept divide a minute evenly. Without NAME: lists the\n"
	  "peers that have a history. SENT and ARRIVED are as charged, DROPPED as seen, or\n"
	  "on arrival as charged to their sender; a class is counted on the\n"
	  "way out only. CLASS may be port/DEVICE: what that host port sent to the peer, if the policy limits that\n"
	  "(`ports`). Successive steps in which nothing passed are one row.\n\n"
	  "  --all              a row for each of them\n"
	  "  --state-dir DIR    state folder of bwlimitd, which writes it every 10 s (" HIST_DIR
	  ")\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl history log-collector --since 24h\n"
	  "  bwlimit-ctl history object-store --class nvme-tcp --since 10m --step 1s --json\n",
	  history },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
