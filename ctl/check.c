// SPDX-License-Identifier: GPL-2.0-or-later
/* `check`: a line and an exit code for Nagios and compatible systems; see check.h. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"

#define DAY_NS 86400000000000ULL
#define MINUTE_NS 60000000000ULL

/* Without characters that end the text for Nagios, or the line. */
static void put_text(const char *s)
{
	for (size_t n; *s; s += n) {
		n = strcspn(s, "|\n");
		if (n)
			bwl_put(stdout, "%.*s", (int)n, s);
		else
			putchar(s[n++] == '|' ? '/' : ' ');
	}
}

static void put_findings(const struct check *k)
{
	const char *lead = ": ";
	const json_t *o;
	size_t i;

	fputs(check_words[k->worst].head, stdout);
	for (int r = CHECK_CRITICAL; r > CHECK_OK; r--)
		json_array_foreach(k->checks, i, o)
		{
			if (strcmp(json_string_value(json_object_get(o, "result")),
				   check_words[r].word))
				continue;
			fputs(lead, stdout);
			put_text(json_string_value(json_object_get(o, "text")));
			lead = "; ";
		}
	if (k->worst == CHECK_OK)
		bwl_put(stdout, ": %s, %u peer%s, %u check%s",
			k->v->has_gen ? k->v->gen.base->node_name : "", k->peers, BWL_S(k->peers),
			k->n, BWL_S(k->n));
}

/* NAME=VALUE[UNIT];WARNING;CRITICAL, as in Nagios' plugins; U: unknown. */
static void put_number(const char *name, double value, const char *unit, const char *ranges)
{
	if (value < 0)
		bwl_put(stdout, " %s=U", name);
	else
		bwl_put(stdout, " %s=%.*f%s%s", name, value == floor(value) ? 0 : 1, value, unit,
			ranges);
}

static void put_numbers(const struct check *k)
{
	char volumes[64], beat[64] = "";

	snprintf(volumes, sizeof(volumes), ";%llu;%llu;0;100",
		 (unsigned long long)k->at.volume_warning,
		 (unsigned long long)k->at.volume_critical);
	if (k->v->has_gen && k->v->gen.base->heartbeat_ns)
		snprintf(beat, sizeof(beat),
			 ";%.1f:;0:", (double)k->v->gen.base->heartbeat_ns / 2e9);
	fputs(" |", stdout);
	put_number("volume", k->volume_percent, "%", volumes);
	put_number("heartbeat", k->heartbeat_s, "s", beat);
	put_number("lease", k->lease_s, "s", "");
	put_number("verify_failed", k->verify_failed, "", ";;0");
	put_number("closed", k->closed, "", ";0");
	put_number("peers", k->peers, "", "");
	put_number("passed", (double)k->passed_bytes, "c", "");
	put_number("dropped", (double)k->dropped_bytes, "c", "");
	putchar('\n');
}

static void show(const struct check *k)
{
	json_t *o;

	if (!k->c->json) {
		put_findings(k);
		put_numbers(k);
		return;
	}
	o = bwl_doc("check");
	json_object_set_new(o, "result", json_string(check_words[k->worst].word));
	json_object_set_new(o, "exit_code", json_integer(check_words[k->worst].code));
	json_object_set(o, "checks", k->checks);
	bwl_doc_print(o);
}

static int judge(struct check *k)
{
	const struct bwl_view *v = k->v;
	int r = 0;

	check_switch(k);
	check_policy(k);
	check_agent(k);
	check_verify(k);
	check_clock(k);
	if (!v->has_gen)
		return 0;
	k->count = calloc(v->pins->schema.max_peers, sizeof(*k->count));
	if (!k->count)
		return bwl_fail(&k->c->err, ENOMEM, "out of memory");
	r = bwl_peercnt_read(v->pins, k->count, &k->c->err);
	if (r)
		return r;
	check_silence(k);
	check_peers(k);
	check_volumes(k);
	check_history(k);
	return 0;
}

/* A percentage, or a time. */
static int take(struct ctl *c, const char *name, const char *s, bool time, uint64_t *ret)
{
	if (!s)
		return 0;
	if (!time)
		return ctl_number(c, name, s, 1000, ret);
	if (bwl_parse_time(s, ret, &c->err))
		return CTL_USAGE;
	if (*ret < 1000000000ULL || *ret > 366 * DAY_NS)
		return ctl_usage(c, "%s %.32s: 1s to 366d", name, s);
	return 0;
}

static int settle(struct ctl *c, int argc, char **argv, struct check_limits *at)
{
	enum { OPTIONS = 7 };
	struct {
		const char *name;
		bool time;
		uint64_t *to;
		const char *said;
	} o[OPTIONS] = {
		{ "--volume-warning", false, &at->volume_warning, NULL },
		{ "--volume-critical", false, &at->volume_critical, NULL },
		{ "--limit", false, &at->limit, NULL },
		{ "--limit-for", true, &at->limit_ns, NULL },
		{ "--ends-within", true, &at->ends_ns, NULL },
		{ "--verify-age", true, &at->verify_ns, NULL },
		{ "--history-age", true, &at->history_ns, NULL },
	};
	struct ctl_opt opts[OPTIONS + 1] = { { NULL, NULL, NULL } };
	int r;

	for (unsigned i = 0; i < OPTIONS; i++)
		opts[i] = (struct ctl_opt){ o[i].name, NULL, &o[i].said };
	r = ctl_only_opts(c, argc, argv, opts);
	for (unsigned i = 0; !r && i < OPTIONS; i++)
		r = take(c, o[i].name, o[i].said, o[i].time, o[i].to);
	return r;
}

static int check(struct ctl *c, int argc, char **argv)
{
	struct bwl_view v;
	struct check k = {
		.c = c,
		.v = &v,
		.at = { 80, 95, 90, 30 * MINUTE_NS, DAY_NS, 30 * MINUTE_NS, 5 * MINUTE_NS },
		.volume_percent = -1,
		.heartbeat_s = -1,
		.lease_s = -1,
		.verify_failed = -1,
	};
	int r = settle(c, argc, argv, &k.at);

	if (r)
		return r;
	r = bwl_view_open(c->pin_dir, false, &v, &c->err);
	if (r)
		return r;
	k.checks = json_array();
	r = judge(&k);
	if (!r) {
		show(&k);
		r = CTL_EXIT + check_words[k.worst].code;
	}
	json_decref(k.checks);
	free(k.count);
	bwl_view_close(&v);
	return r;
}

int ctl_check_unknown(const struct ctl *c)
{
	if (c->json) {
		bwl_err_print(&c->err, CTL_PROGRAM, true);
	} else {
		fputs(check_words[CHECK_UNKNOWN].head, stdout);
		fputs(": ", stdout);
		put_text(c->err.text);
		if (*c->err.hint) {
			fputs("; ", stdout);
			put_text(c->err.hint);
		}
		putchar('\n');
	}
	fflush(stdout);
	return check_words[CHECK_UNKNOWN].code;
}

const struct ctl_cmd ctl_check_cmds[] = {
	{ "check", NULL,
	  "[--volume-warning P] [--volume-critical P] [--limit P] [--limit-for TIME] [--ends-within TIME] [--verify-age TIME] [--history-age TIME]",
	  "One line and an exit code for Nagios: is everything in force, does anything need attention",
	  "Exit codes: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN (also for wrong usage).\n\n"
	  "  --volume-warning P    warn when this percentage of a volume is used (80)\n"
	  "  --volume-critical P   the same, for CRITICAL (95)\n"
	  "  --limit P             an exit that uses this percentage of its rate for --limit-for is a theft (90)\n"
	  "  --limit-for TIME      for how long (30m)\n"
	  "  --ends-within TIME    warn of grants that end within this time (1d)\n"
	  "  --verify-age TIME     warn when the newest result of verify is older (30m)\n"
	  "  --history-age TIME    warn when bwlimitd has not written its history for this time (5m)\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl check\n"
	  "  bwlimit-ctl check --volume-warning 60 --json\n",
	  check },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
