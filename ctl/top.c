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
#define SCREEN_ON "\033[?1049h\033[?25l"	/* the terminal's other page, no cursor */
#define SCREEN_OFF "\033[?25h\033[?1049l"

struct row {
	uint32_t id;
	struct ctl_speed speed;
};

static int by_speed(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	double p = x->speed.pass_bps + x->speed.drop_bps, q = y->speed.pass_bps + y->speed.drop_bps;

	return p < q ? 1 : p > q ? -1 : x->id < y->id ? -1 : x->id > y->id;
}

static size_t terminal_rows(void)
{
	struct winsize w;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) || w.ws_row < 8 ? 24 : w.ws_row;
}

static void put_row(struct ctl_table *t, const struct ctl_view *v, const struct row *row,
		    const struct bwl_peer *p)
{
	char rate[BWL_UNIT_BUF], max[BWL_UNIT_BUF], drop[BWL_UNIT_BUF], vol[CTL_LIM_BUF];
	uint64_t bps = bwl_rate_decode(&p->grant.rate);
	struct bwl_left l;

	bwl_limit_left(v->pins, &p->grant.rate, &p->grant.volume, BWL_GRANT_STATE(row->id), v->now_ns, &l);
	ctl_cell(t, "%s", v->pins->name[row->id].name);
	ctl_cell(t, "%s", ctl_grant_name(ctl_grant_state(v, row->id, p)));
	ctl_cell(t, "%s", bwl_human_rate(row->speed.pass_bps, rate));
	ctl_cell(t, "%s", bps ? bwl_human_rate((double)bps, max) : "unlimited");
	if (bps)
		ctl_cell(t, "%.0f%%", row->speed.pass_bps * 100 / (double)bps);
	else
		ctl_cell(t, "-");
	ctl_cell(t, "%s", bwl_human_rate(row->speed.drop_bps, drop));
	ctl_cell(t, "%s", ctl_left_volume(&l, vol));
}

static void head_line(const struct ctl_view *v, double pass, double drop, size_t peers)
{
	uint64_t heartbeat = ctl_silent_at(v);
	const char *todo, *why = bwl_why_silent(v->pins, v->gen.base, v->now_ns, &todo);
	char a[BWL_UNIT_BUF], b[BWL_UNIT_BUF], when[BWL_UNIT_BUF + 8];
	const char *stop = v->pins->ctl->stop == BWL_STOPPED ? "STOPPED, " :
			   v->pins->ctl->stop == BWL_UPGRADING ? "UPGRADING, " :
			   v->pins->ctl->stop == BWL_CLOSED ? "NOT OPENED, " : "";

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
		       ctl_when(heartbeat, v->now_ns, when));
}

static json_t *json_frame(const struct ctl_view *v, const struct row *rows, size_t n, double pass,
			  double drop)
{
	json_t *o = json_object(), *a = json_array();

	json_object_set_new(o, "node", json_string(v->gen.base->node_name));
	json_object_set_new(o, "passed_bps", json_real(pass));
	json_object_set_new(o, "dropped_bps", json_real(drop));
	json_object_set_new(o, "stop", json_integer(v->pins->ctl->stop));
	for (size_t i = 0; i < n; i++) {
		const struct bwl_peer *p = ctl_view_peer(v, rows[i].id);
		uint64_t bps = p ? bwl_rate_decode(&p->grant.rate) : 0;
		json_t *x = json_object();

		json_object_set_new(x, "name", json_string(v->pins->name[rows[i].id].name));
		json_object_set_new(x, "state", p ? json_string(ctl_grant_name(
				    ctl_grant_state(v, rows[i].id, p))) : json_null());
		json_object_set_new(x, "passed_bps", json_real(rows[i].speed.pass_bps));
		json_object_set_new(x, "dropped_bps", json_real(rows[i].speed.drop_bps));
		json_object_set_new(x, "rate_bps", bps ? json_integer((json_int_t)bps) : json_null());
		json_array_append_new(a, x);
	}
	json_object_set_new(o, "peers", a);
	return o;
}

static void draw(struct ctl *c, const struct ctl_view *v, const struct row *rows, size_t n, bool screen)
{
	static const char *const heads[] = {
		"NAME", "GRANT", ">PASSES", ">OF", ">", ">DROPS", ">VOLUME USED", NULL,
	};
	size_t room = screen ? terminal_rows() - 3 : n;
	double pass = 0, drop = 0;
	struct ctl_table *t;

	for (size_t i = 0; i < n; i++) {
		pass += rows[i].speed.pass_bps;
		drop += rows[i].speed.drop_bps;
	}
	if (c->json) {
		ctl_json_line(json_frame(v, rows, n, pass, drop));
		return;
	}
	if (screen)
		fputs(HOME CLEAR_DOWN, stdout);
	head_line(v, pass, drop, n);
	t = ctl_table_new(heads);
	for (size_t i = 0; i < n && i < room; i++) {
		const struct bwl_peer *p = ctl_view_peer(v, rows[i].id);

		if (p)
			put_row(t, v, &rows[i], p);
	}
	ctl_table_print(t, stdout);
	ctl_table_free(t);
	fflush(stdout);
}

/* One frame: the generation may have changed since the last. */
static int frame(struct ctl *c, const struct ctl_sample *before, struct ctl_sample *now, bool screen)
{
	struct ctl_view v;
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
			}
			if (rows) {
				qsort(rows, n, sizeof(*rows), by_speed);
				draw(c, &v, rows, n, screen);
			} else {
				r = bwl_fail(&c->err, ENOMEM, "out of memory");
			}
			free(rows);
			free(ids);
		}
	}
	ctl_view_close(&v);
	return r;
}

static int top(struct ctl *c, int argc, char **argv)
{
	const char *interval = "1s";
	bool once = false, screen;
	const struct ctl_opt opts[] = {
		{ "--once", &once, NULL }, { "--interval", NULL, &interval }, { NULL, NULL, NULL },
	};
	struct ctl_sample a = { 0 }, b = { 0 };
	uint64_t ns;
	int r;

	r = ctl_only_opts(c, argc, argv, opts);
	if (r)
		return r;
	if (bwl_parse_time(interval, &ns, &c->err))
		return CTL_USAGE;
	if (ns < 10000000ULL || ns > 3600000000000ULL)
		return ctl_usage(c, "--interval %.32s: 10ms to 1h", interval);
	ctl_catch_signals();
	r = frame(c, &(struct ctl_sample){ 0 }, &a, false);
	screen = !r && !once && !c->json && isatty(STDOUT_FILENO);
	if (screen)
		fputs(SCREEN_ON, stdout);
	while (!r && ctl_sleep(ns)) {
		r = frame(c, &a, &b, screen);
		ctl_sample_free(&a);
		a = b;
		b = (struct ctl_sample){ 0 };
		if (once || ferror(stdout))
			break;
	}
	if (screen)
		fputs(SCREEN_OFF, stdout);
	ctl_sample_free(&a);
	ctl_sample_free(&b);
	return r;
}

const struct ctl_cmd ctl_top_cmds[] = {
	{ "top", NULL, "[--once] [--interval TIME]", "Who sends how much now, busiest first",
	  "Ctrl-C ends it. With --json one object a line. --once: one frame, for scripts.\n", top },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
