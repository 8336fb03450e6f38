// SPDX-License-Identifier: GPL-2.0-or-later
/* `top`: who sends how much now, against what is allowed; redrawn each second. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "stats.h"

#define HOME "\033[H"
#define CLEAR_DOWN "\033[J"
#define SCREEN_ON "\033[?1049h\033[?25l" /* the terminal's other page, no cursor */
#define SCREEN_OFF "\033[?25h\033[?1049l"

struct row {
	uint32_t id;
	struct bwl_speed speed;
};

static int by_speed(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	double p = x->speed.passed_bps + x->speed.dropped_bps,
	       q = y->speed.passed_bps + y->speed.dropped_bps;

	return p < q ? 1 : p > q ? -1 : x->id < y->id ? -1 : x->id > y->id;
}

static size_t terminal_rows(void)
{
	struct winsize w;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) || w.ws_row < 8 ? 24 : w.ws_row;
}

static const struct bwl_column columns[] = {
	{ &bwl_f_peer, BWL_BOTH }, { &bwl_f_state, BWL_BOTH }, { &bwl_f_passes, BWL_BOTH },
	{ &bwl_f_rate, BWL_BOTH }, { &bwl_f_share, BWL_BOTH }, { &bwl_f_drops, BWL_BOTH },
	{ &bwl_f_left, BWL_BOTH }, { NULL, BWL_BOTH },
};

/* Without an entry: it went away since it was counted. */
static bool add_row(struct bwl_list *l, const struct bwl_view *v, const struct row *row)
{
	struct bwl_peer_row r = {
		.v = v, .id = row->id, .body = ctl_view_peer(v, row->id), .speed = &row->speed
	};

	if (!r.body)
		return false;
	bwl_grant_left(v, r.id, r.body, &r.left);
	bwl_list_add(l, &r);
	return true;
}

static void head_line(const struct bwl_view *v, double pass, double drop, size_t peers)
{
	uint64_t heartbeat = bwl_silent_at(v);
	const char *todo, *why = bwl_why_silent(v->pins, v->gen.base, v->now_ns, &todo);
	char a[BWL_UNIT_BUF], b[BWL_UNIT_BUF], when[BWL_WHEN_BUF];
	const char *stop = bwl_is_stopped(v->pins)               ? "STOPPED, "
			   : v->pins->ctl->stop == BWL_UPGRADING ? "UPGRADING, "
			   : v->pins->ctl->stop == BWL_UNJUDGED  ? "NOT JUDGED, "
			   : v->pins->ctl->stop                  ? "NOT OPENED, "
								 : "";

	printf("%s: %s%zu peer%s, %s passes, %s is dropped, ", v->gen.base->node_name, stop, peers,
	       CTL_S(peers), bwl_human_rate(pass, a), bwl_human_rate(drop, b));
	if (heartbeat == BWL_NEVER_NS)
		puts("no heartbeat is asked for");
	else if (heartbeat <= v->now_ns && why)
		printf("%s: %s\n", why, todo);
	else if (!heartbeat)
		puts("heartbeat never renewed");
	else
		printf("heartbeat %s %s\n", heartbeat > v->now_ns ? "lapses" : "lapsed",
		       bwl_when(heartbeat, v->now_ns, when));
}

/* What is drawn: all peers by speed, and their sums. */
struct picture {
	const struct row *rows;
	size_t n, most; /* for programs: how many of them */
	uint64_t passed_bytes, dropped_bytes;
	bool screen;
};

static json_t *json_frame(const struct bwl_view *v, const struct picture *x, json_t *peers,
			  double pass, double drop)
{
	json_t *o = bwl_doc("top");
	char when[BWL_TIME_BUF];

	json_object_set_new(o, "time", json_string(bwl_utc_now(when)));
	json_object_set_new(o, "node", json_string(v->gen.base->node_name));
	json_object_set_new(o, "passed_bits_per_second", json_real(pass));
	json_object_set_new(o, "dropped_bits_per_second", json_real(drop));
	json_object_set_new(o, "passed_bytes", bwl_json_u64(x->passed_bytes));
	json_object_set_new(o, "dropped_bytes", bwl_json_u64(x->dropped_bytes));
	json_object_set_new(o, "stopped", json_boolean(v->pins->ctl->stop));
	json_object_set_new(o, "switch", json_string(bwl_switch_name(v->pins)));
	json_object_set_new(o, "peers", peers);
	return o;
}

static void draw(struct ctl *c, const struct bwl_view *v, const struct picture *x)
{
	size_t room = x->screen ? terminal_rows() - 3 : x->most;
	double pass = 0, drop = 0;
	struct bwl_list *l;
	json_t *peers;
	size_t shown = 0;

	for (size_t i = 0; i < x->n; i++) {
		pass += x->rows[i].speed.passed_bps;
		drop += x->rows[i].speed.dropped_bps;
	}
	if (x->screen)
		fputs(HOME CLEAR_DOWN, stdout);
	if (!c->json)
		head_line(v, pass, drop, x->n);
	l = bwl_list_new(columns, c->json);
	for (size_t i = 0; i < x->n && shown < room; i++)
		shown += add_row(l, v, &x->rows[i]);
	peers = bwl_list_end(l);
	if (peers)
		bwl_doc_line(json_frame(v, x, peers, pass, drop));
	fflush(stdout);
}

/* One frame: the generation may have changed since the last. */
static int frame(struct ctl *c, const struct ctl_sample *before, struct ctl_sample *now,
		 struct picture x)
{
	struct bwl_view v;
	struct row *rows;
	uint32_t *ids;
	size_t n;
	int r;

	r = ctl_view_open(c, false, &v);
	if (r)
		return r;
	r = ctl_sample(c, v.pins, now);
	if (!r && before->count) {
		r = ctl_view_ids(c, &v, 0, NULL, &ids, &n);
		if (!r) {
			rows = calloc(n + 1, sizeof(*rows));
			for (size_t i = 0; rows && i < n; i++) {
				rows[i].id = ids[i];
				rows[i].speed = ctl_speed(before, now, ids[i]);
				x.passed_bytes += now->count[ids[i]].bytes;
				x.dropped_bytes += now->count[ids[i]].drop_bytes;
			}
			if (rows) {
				qsort(rows, n, sizeof(*rows), by_speed);
				x.rows = rows;
				x.n = n;
				draw(c, &v, &x);
			} else {
				r = bwl_fail(&c->err, ENOMEM, "out of memory");
			}
			free(rows);
			free(ids);
		}
	}
	bwl_view_close(&v);
	return r;
}

static int top(struct ctl *c, int argc, char **argv)
{
	const char *interval = "1s", *most = NULL;
	struct picture x = { .most = SIZE_MAX };
	bool once = false;
	const struct ctl_opt opts[] = {
		{ "--once", &once, NULL },
		{ "--most", NULL, &most },
		{ "--interval", NULL, &interval },
		{ NULL, NULL, NULL },
	};
	struct ctl_sample a = { 0 }, b = { 0 };
	uint64_t ns, n;
	int r;

	r = ctl_only_opts(c, argc, argv, opts);
	if (r)
		return r;
	if (most) {
		if (ctl_number(c, "--most", most, UINT32_MAX, &n))
			return CTL_USAGE;
		x.most = n;
	}
	if (bwl_parse_time(interval, &ns, &c->err))
		return CTL_USAGE;
	if (ns < 10000000ULL || ns > 3600000000000ULL)
		return ctl_usage(c, "--interval %.32s: 10ms to 1h", interval);
	ctl_catch_signals();
	r = frame(c, &(struct ctl_sample){ 0 }, &a, x);
	x.screen = !r && !once && !c->json && isatty(STDOUT_FILENO);
	if (x.screen)
		fputs(SCREEN_ON, stdout);
	while (!r && ctl_sleep(ns)) {
		r = frame(c, &a, &b, x);
		ctl_sample_free(&a);
		a = b;
		b = (struct ctl_sample){ 0 };
		if (once || ferror(stdout))
			break;
	}
	if (x.screen)
		fputs(SCREEN_OFF, stdout);
	ctl_sample_free(&a);
	ctl_sample_free(&b);
	return r;
}

const struct ctl_cmd ctl_top_cmds[] = {
	{ "top", NULL, "[--once] [--interval TIME] [--most N]",
	  "Who sends how much now, busiest first",
	  "Ctrl-C ends it. With --json one object a line. --once: one frame, for scripts.\n"
	  "--most N: of the busiest so many.\n",
	  top },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
