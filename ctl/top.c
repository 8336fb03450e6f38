// SPDX-License-Identifier: GPL-2.0-or-later
/* `top`: which peers send how much now, against which limit; a screen, tables, or JSON. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "ordered.h"
#include "top.h"

#define ORDERED_MIN_NS 1000000000ULL /* a reader's running `top` is root's process */

static const struct bwl_column columns[] = {
	{ &bwl_f_peer, BWL_BOTH },
	{ &bwl_f_state_counted, BWL_BOTH },
	{ &bwl_f_body_enforced, BWL_BOTH },
	{ &bwl_f_passes, BWL_BOTH },
	{ &bwl_f_rate, BWL_BOTH },
	{ &bwl_f_share, BWL_BOTH },
	{ &bwl_f_drops, BWL_BOTH },
	{ &bwl_f_left, BWL_BOTH },
	{ NULL, BWL_BOTH },
};

static void say_head(const struct top_look *k)
{
	BWL_AUTO_FREE char *head = NULL;
	size_t len;
	FILE *f = bwl_must(open_memstream(&head, &len));

	top_head(k, f);
	fclose(f);
	bwl_say(2, "%s", head);
}

static json_t *document(const struct top_look *k, json_t *peers)
{
	const struct bwl_view *v = &k->v;
	json_t *o = bwl_doc("top");
	char when[BWL_TIME_BUF];

	json_object_set_new(o, "time", json_string(bwl_utc_now(when)));
	json_object_set_new(o, "node", json_string(v->gen.base->node_name));
	json_object_set_new(o, "passed_bits_per_second", bwl_json_speed(k->pass_bps));
	json_object_set_new(o, "dropped_bits_per_second", bwl_json_speed(k->drop_bps));
	json_object_set_new(o, "passed_bytes", bwl_json_u64(k->passed_bytes));
	json_object_set_new(o, "dropped_bytes", bwl_json_u64(k->dropped_bytes));
	json_object_set_new(o, "stopped", json_boolean(v->pins->ctl->stop));
	json_object_set_new(o, "switch", json_string(bwl_switch_name(v->pins)));
	json_object_set_new(o, "peers", peers);
	return o;
}

static void show(struct ctl *c, const struct top_look *k, size_t most)
{
	struct bwl_list *l;
	size_t shown = 0;
	json_t *peers;

	if (!c->json)
		say_head(k);
	l = bwl_list_new(columns, c->json);
	for (size_t i = 0; i < k->n && shown < most; i++) {
		struct bwl_peer_row p;

		if (!top_peer(k, &k->rows[i], &p))
			continue;
		bwl_list_add(l, &p);
		shown++;
	}
	peers = bwl_list_end(l);
	if (peers)
		bwl_doc_line(document(k, peers));
	fflush(stdout);
}

/* For programs, and if standard output is not a terminal: one after the other. */
static int stream(struct ctl *c, uint64_t every_ns, size_t most, bool once,
		  const struct top_choice *t)
{
	struct ctl_sample before = { 0 }, now = { 0 };
	struct top_look k = { 0 };
	int r = top_look(c, &before, &now, &k);

	while (!r && ctl_sleep(every_ns)) {
		ctl_sample_free(&before);
		before = now;
		now = (struct ctl_sample){ 0 };
		r = top_look(c, &before, &now, &k);
		if (!r) {
			top_choose(&k, t);
			show(c, &k, most);
		}
		if (once || ferror(stdout))
			break;
	}
	top_look_free(&k);
	ctl_sample_free(&before);
	ctl_sample_free(&now);
	return r;
}

static int choose(struct ctl *c, const char *sort, const char *filter, struct top_choice *t)
{
	*t = (struct top_choice){ .sort = TOP_NOW };
	if (filter && strlen(filter) >= sizeof(t->filter))
		return ctl_usage(c, "--filter is longer than %zu characters",
				 sizeof(t->filter) - 1);
	if (filter)
		strcpy(t->filter, filter);
	for (unsigned i = 0; sort && i <= TOP_SORT_COUNT; i++) {
		if (i == TOP_SORT_COUNT)
			return ctl_usage(
				c,
				"--sort %.32s: now, name, state, passes, limit, of, drops or used",
				sort);
		if (!strcmp(sort, top_sort_words[i])) {
			t->sort = i;
			break;
		}
	}
	return 0;
}

static int top(struct ctl *c, int argc, char **argv)
{
	const char *interval = "1s", *most = NULL, *sort = NULL, *filter = NULL;
	bool once = false;
	const struct ctl_opt opts[] = {
		{ "--once", &once, NULL },         { "--most", NULL, &most },
		{ "--sort", NULL, &sort },         { "--filter", NULL, &filter },
		{ "--interval", NULL, &interval }, { NULL, NULL, NULL },
	};
	uint64_t ns, n = SIZE_MAX;
	struct top_choice t;
	int r;

	r = ctl_only_opts(c, argc, argv, opts);
	if (r)
		return r;
	if (most && ctl_number(c, "--most", most, UINT32_MAX, &n))
		return CTL_USAGE;
	if (bwl_parse_time(interval, &ns, &c->err))
		return CTL_USAGE;
	if (ns < 10000000ULL || ns > 3600000000000ULL)
		return ctl_usage(c, "--interval %.32s: 10ms to 1h", interval);
	if (!once && ns < ORDERED_MIN_NS && ctl_is_ordered())
		return ctl_usage(c, "--interval %.32s: 1s to 1h, where bwlimitd runs it", interval);
	r = choose(c, sort, filter, &t);
	if (r)
		return r;
	ctl_catch_signals();
	return once || c->json || most || !isatty(STDOUT_FILENO) ? stream(c, ns, n, once, &t)
								 : top_screen(c, ns, &t);
}

const struct ctl_cmd ctl_top_cmds[] = {
	{ "top", NULL, "[--once] [--interval TIME] [--most N] [--sort COLUMN] [--filter TEXT]",
	  "Traffic per peer now, busiest first",
	  "Keys on a terminal: s order, / filter, p pause, arrows and page keys scroll, q or Ctrl-C quits.\n"
	  "With --json one object per line. --once: one frame, for scripts. --most N: the first N peers.\n"
	  "STATE counted: a live grant in mode monitor, whose limits are counted, not enforced.\n\n"
	  "  --sort COLUMN   now (what passes and is dropped), name, state, passes, limit, of, drops, used\n"
	  "  --filter TEXT   peers whose name contains TEXT\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl top --sort of\n"
	  "  bwlimit-ctl top --once --filter tray- --json\n",
	  top },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
