// SPDX-License-Identifier: GPL-2.0-or-later
/* `--fleet status|top|usage|reasons|history|closures|exfil`: the controller is asked, by HTTPS. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/cleanup.h"
#include "cmds.h"
#include "conf.h"
#include "fleet/http/client.h"

#define ANSWER_MAX (64U << 20) /* bytes of an answer: 10 000 trays have 5 MB of status */
#define TIMEOUT_S 30

BWL_AUTO_DEFINE(json_decref, json_t *)

struct asking {
	struct ctl *c;
	struct fleet_conf conf;
	const char *tray, *label, *size, *compression, *offset, *limit, *sort;
};

static int add_query(CURL *h, char *url, size_t size, const char *key, const char *value)
{
	char *text = value ? curl_easy_escape(h, value, 0) : NULL;
	size_t n = strlen(url);

	if (!value)
		return 0;
	n = n + (size_t)snprintf(url + n, size - n, "%c%s=%s", strchr(url, '?') ? '&' : '?', key,
				 text ? text : "");
	curl_free(text);
	return n < size ? 0 : -1;
}

static int get(struct asking *a, const char *what, json_t **ret)
{
	struct bwl_https_got got = { .most = ANSWER_MAX };
	struct ctl *c = a->c;
	json_error_t why;
	char url[2048];
	CURL *h;
	int r;

	snprintf(url, sizeof(url), "%s/v1/%s", a->conf.controller, what);
	h = bwl_https_ask_new(url, &a->conf.tls, TIMEOUT_S, &got);
	if (!h)
		return bwl_fail(&c->err, ENOMEM, "out of memory");
	r = add_query(h, url, sizeof(url), "tray", a->tray) |
	    add_query(h, url, sizeof(url), "label", a->label) |
	    add_query(h, url, sizeof(url), "size", a->size) |
	    add_query(h, url, sizeof(url), "compression", a->compression) |
	    add_query(h, url, sizeof(url), "offset", a->offset) |
	    add_query(h, url, sizeof(url), "limit", a->limit) |
	    add_query(h, url, sizeof(url), "sort", a->sort);
	curl_easy_setopt(h, CURLOPT_URL, url);
	r = r ? ctl_usage(c, "the query is too long")
	      : bwl_https_judge(h, curl_easy_perform(h), &got, &c->err);
	if (!r) {
		*ret = json_loadb(got.text ? got.text : "", got.len, JSON_REJECT_DUPLICATES, &why);
		if (!json_is_object(*ret))
			r = bwl_fail(&c->err, EBADMSG, "%s: its answer is not a document", url);
	}
	curl_easy_cleanup(h);
	bwl_https_got_done(&got);
	return r;
}

#define COLUMNS 12

static bool ends_in(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}

static void put_cell(struct bwl_table *t, const char *key, const json_t *v)
{
	char buf[BWL_UNIT_BUF];

	if (json_is_string(v))
		bwl_cell(t, "%s", json_string_value(v));
	else if (json_is_boolean(v))
		bwl_cell(t, "%s", json_is_true(v) ? "yes" : "-");
	else if (!json_is_number(v))
		bwl_cell(t, "-");
	else if (ends_in(key, "_bits_per_second"))
		bwl_cell(t, "%s", bwl_human_rate(json_number_value(v), buf));
	else if (ends_in(key, "_bytes"))
		bwl_cell(t, "%s", bwl_human_size(json_number_value(v), buf));
	else if (ends_in(key, "_s"))
		bwl_cell(t, "%s", bwl_human_time(json_number_value(v), buf));
	else
		bwl_cell(t, "%.0f", json_number_value(v));
}

void fleet_rows_print(const json_t *rows, const struct fleet_column *columns)
{
	const char *heads[COLUMNS + 1] = { NULL };
	struct bwl_table *t;
	const json_t *row;
	size_t i;

	for (unsigned k = 0; columns[k].key; k++)
		heads[k] = columns[k].head;
	t = bwl_table_new(heads);
	json_array_foreach(rows, i, row) for (unsigned k = 0; columns[k].key; k++)
		put_cell(t, columns[k].key, json_object_get(row, columns[k].key));
	bwl_table_print(t, stdout);
	bwl_table_free(t);
}

static double number(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

static void text_exfil(const json_t *o)
{
	const json_t *list = json_object_get(o, "warnings"), *v;
	const char *most = json_string_value(json_object_get(o, "binding"));
	char a[BWL_UNIT_BUF], b[BWL_UNIT_BUF];
	bool never = json_is_true(json_object_get(o, "never")),
	     known = never || json_is_number(json_object_get(o, "least_s"));
	size_t i;

	bwl_put(stdout, "%s through all doors of %.0f trays: %s%s\n",
		bwl_human_size(number(o, "size_bytes"), a), number(o, "tray_count"),
		never || !known ? "" : "at least ",
		known ? bwl_human_time(never ? INFINITY : number(o, "least_s"), b) : "not known");
	bwl_put(stdout, "  most by    %s\n", most ? most : "-");
	bwl_put(stdout, "  long run   %s in all\n",
		bwl_human_rate(number(o, "long_run_bits_per_second"), a));
	bwl_put(stdout, "  at once    %s in all\n", bwl_human_size(number(o, "at_once_bytes"), a));
	printf("  exits      %.0f, and %.0f contained that are not counted\n",
	       number(o, "exit_count"), number(o, "contained_count"));
	json_array_foreach(list, i, v) bwl_warn("%s", json_string_value(v));
}

/* Above the table: trays that lack a closing document that they should have. */
static void text_unacknowledged(const json_t *o)
{
	const json_t *list = json_object_get(o, "unacknowledged"), *l, *v;
	size_t i, k;

	json_array_foreach(list, i, l)
	{
		const json_t *names = json_object_get(l, "tray_names");
		double more = number(l, "tray_count") - (double)json_array_size(names);

		bwl_put(stdout, "%s is %s on %.0f tray%s:",
			json_string_value(json_object_get(l, "document")),
			json_string_value(json_object_get(l, "lack")), number(l, "tray_count"),
			BWL_S(number(l, "tray_count")));
		json_array_foreach(names, k, v)
			bwl_put(stdout, "%s %s", k ? "," : "", json_string_value(v));
		if (more > 0)
			printf(" and %.0f more", more);
		puts("");
	}
	if (json_array_size(list))
		puts("");
}

static const struct shown {
	const char *what, *rows; /* the document, and its list */
	struct fleet_column columns[COLUMNS + 1];
} shown[] = {
	{ "status",
	  "trays",
	  { { "tray", "~TRAY" },
	    { "alive", "THERE" },
	    { "policy_name", "~POLICY" },
	    { "fresh", "FRESH" },
	    { "closed_count", ">CLOSED" },
	    { "passed_bits_per_second", ">PASSES" },
	    { "dropped_bits_per_second", ">DROPS" },
	    { "why", "WHY" } } },
	{ "top",
	  "peers",
	  { { "peer", "~PEER" },
	    { "state", "STATE" },
	    { "passed_bits_per_second", ">PASSES" },
	    { "rate_bits_per_second", ">RATE" },
	    { "dropped_bits_per_second", ">DROPS" } } },
	{ "usage",
	  "volumes",
	  { { "limit_key", "~LIMIT" },
	    { "used_bytes", ">USED" },
	    { "volume_bytes", ">VOLUME" },
	    { "window_s", "WINDOW" },
	    { "ledger_state", "LEDGER" } } },
	{ "reasons",
	  "reasons",
	  { { "reason", "REASON" },
	    { "hook", "HOOK" },
	    { "passes", "PASSES" },
	    { "frames", ">FRAMES" },
	    { "bytes", ">BYTES" } } },
	{ "closures",
	  "closures",
	  { { "tray", "~TRAY" },
	    { "closure", "CLOSED" },
	    { "peer", "~PEER" },
	    { "closed_at", "SINCE" },
	    { "todo", "OPENED BY" } } },
	{ "history",
	  "points",
	  { { "time", "FROM" },
	    { "sent_bytes", ">SENT" },
	    { "sent_bits_per_second", ">RATE" },
	    { "sent_dropped_bytes", ">DROPPED" },
	    { "tray_count", ">TRAYS" } } },
};

void fleet_document_print(const char *what, const json_t *o)
{
	if (!strcmp(what, "exfil"))
		text_exfil(o);
	if (!strcmp(what, "closures"))
		text_unacknowledged(o);
	for (size_t i = 0; i < sizeof(shown) / sizeof(*shown); i++)
		if (!strcmp(shown[i].what, what))
			fleet_rows_print(json_object_get(o, shown[i].rows), shown[i].columns);
}

static int ask(struct ctl *c, int argc, char **argv, const char *what)
{
	struct asking a = { .c = c };
	bool exfil = !strcmp(what, "exfil"), status = !strcmp(what, "status");
	const struct ctl_opt opts[] = {
		{ "--conf", NULL, &a.conf.file },
		{ "--controller", NULL, &a.conf.controller },
		{ "--ca", NULL, &a.conf.ca },
		{ "--cert", NULL, &a.conf.cert },
		{ "--cert-key", NULL, &a.conf.cert_key },
		{ "--tray", NULL, &a.tray },
		{ "--label", NULL, &a.label },
		{ exfil    ? "--size"
		  : status ? "--sort"
			   : NULL,
		  NULL, exfil ? &a.size : &a.sort },
		{ exfil ? "--compression" : "--offset", NULL, exfil ? &a.compression : &a.offset },
		{ exfil ? NULL : "--limit", NULL, &a.limit },
		{ NULL, NULL, NULL },
	};
	BWL_AUTO(json_decref) json_t *o = NULL;
	int r = ctl_only_opts(c, argc, argv, opts);

	if (!r && exfil && !a.size)
		r = ctl_usage(c, "--size is missing: how many bytes must not leave");
	if (!r)
		r = fleet_conf_settle(c, &a.conf);
	if (!r && !a.conf.controller) {
		bwl_fail(&c->err, EINVAL, "no controller is configured");
		r = bwl_hint(&c->err,
			     "controller = https://HOST:PORT in " FLEET_CONF ", or --controller");
	}
	if (!r)
		r = get(&a, what, &o);
	if (!r && c->json)
		bwl_doc_print(json_incref(o));
	else if (!r)
		fleet_document_print(what, o);
	fleet_conf_done(&a.conf);
	return r;
}

#define ASK(what)                                                                                  \
	static int ask_##what(struct ctl *c, int argc, char **argv)                                \
	{                                                                                          \
		return ask(c, argc, argv, #what);                                                  \
	}
ASK(status)
ASK(top)
ASK(usage)
ASK(reasons)
ASK(history)
ASK(closures)
ASK(exfil)

#define SELECT "[--tray T | --label K=V]"
#define HELP                                                                                       \
	"  --tray T, --label KEY=VALUE   only these trays\n"                                       \
	"  --controller URL  https://HOST:PORT of a bwlimit-controller\n"                          \
	"  --conf FILE       instead of /etc/bwlimit/fleet.conf; the options override it\n"        \
	"  --ca FILE, --cert FILE, --cert-key FILE  authority, our certificate and its key\n"

const struct ctl_cmd fleet_ask_cmds[] = {
	{ "status", NULL, SELECT " [--sort ORDER] [--offset N] [--limit N]",
	  "Every tray: is it alive, what is in force, what does it send",
	  "Asks the controller; if there is none, `trays --json` reads the store alone. Sums include every\n"
	  "selected tray, even if only some are listed.\n\n"
	  "  --sort ORDER      name (default); worst, dropped, passed: highest first\n"
	  "  --offset N, --limit N  skip N trays, then list at most N\n" HELP "\nExamples:\n"
	  "  bwlimit-ctl --fleet status\n"
	  "  bwlimit-ctl --fleet status --sort dropped --limit 20\n"
	  "  bwlimit-ctl --fleet status --label hall=3 --json\n",
	  ask_status },
	{ "top", NULL, SELECT, "Traffic per peer now, added up over trays, busiest first",
	  "Adds up the 16 busiest peers of each tray, by name.\n\n" HELP "\nExamples:\n"
	  "  bwlimit-ctl --fleet top\n"
	  "  bwlimit-ctl --fleet top --label hall=3\n",
	  ask_top },
	{ "usage", NULL, SELECT, "Volumes, added up over trays by limit",
	  "Adds up the 32 most spent volumes of each tray.\n\n" HELP "\nExamples:\n"
	  "  bwlimit-ctl --fleet usage --tray tray-7\n",
	  ask_usage },
	{ "reasons", NULL, SELECT, "Why packets passed or did not, added up over trays",
	  "Counters since each tray's attach.\n\n" HELP "\nExamples:\n"
	  "  bwlimit-ctl --fleet reasons --label hall=3\n",
	  ask_reasons },
	{ "history", NULL, SELECT, "The last hour, minute by minute",
	  "For longer periods use Prometheus, with /metrics of the controller.\n\n" HELP
	  "\nExamples:\n"
	  "  bwlimit-ctl --fleet history --tray tray-7\n",
	  ask_history },
	{ "closures", NULL, SELECT, "What is closed where, since when, and what opens it",
	  "The newest 256, whole trays first; then documents that trays lack or refuse. To open something, two people\n"
	  "sign a document later than what closed it: `policy publish --propose` shows it to a colleague.\n\n" HELP
	  "\nExamples:\n"
	  "  bwlimit-ctl --fleet closures\n",
	  ask_closures },
	{ "exfil", NULL, "--size SIZE [--compression N] [--tray T | --label K=V]",
	  "The least time in which that much could leave, through all trays at once",
	  "Adds up how much each tray's policy in force lets through over time. The result is less than the\n"
	  "true time, by a tenth at most.\n\n"
	  "  --size SIZE       bytes that must not leave\n"
	  "  --compression N   factor by which they are compressed\n" HELP "\nExamples:\n"
	  "  bwlimit-ctl --fleet exfil --size 1tb\n",
	  ask_exfil },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
