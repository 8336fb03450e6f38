// SPDX-License-Identifier: GPL-2.0-or-later
/* `flows`: flow records, as bwlimitd has written them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include "ctl.h"
#include "ordered.h"
#include "bwl/desired.h"
#include "flows/store.h"

#define SECOND 1000000000ULL
#define SINCE_S_MAX (366 * 86400)
/* Root reads the files for users, who may ask as often as they like. */
#define ORDERED_SINCE_S 3600
#define SHOWN_MAX 20   /* shown to people by default */
#define KEPT_MAX 20000 /* kept in memory; twice as many while files are read */

/* A flow over all intervals asked for, or a remainder: one of its lines, and the sums. */
struct flow {
	char *name, *text;  /* what it is, and the line */
	const json_t *line; /* the same, while it is shown */
	bool is_flow;
	uint64_t frames, bytes, charged;
	uint32_t tcp_flags;
	char first[BWL_TIME_BUF], last[BWL_TIME_BUF]; /* in UTC: can be compared as text */
};

struct ask {
	const char *peer, *dir;
	bool by_port;
	uint64_t port;
	int64_t from_s;
};

struct found {
	json_t *at; /* what identifies a flow, as text: its index */
	struct flow *flow;
	size_t n, room, intervals, gaps, unbalanced, thinned;
	struct flow left; /* sums of flows that are not listed */
	size_t nleft;
};

static const char *text_of(const json_t *line, const char *key)
{
	return json_string_value(json_object_get(line, key));
}

static uint64_t number_of(const json_t *line, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(line, key));

	return n > 0 ? (uint64_t)n : 0;
}

static bool is_flow(const json_t *line)
{
	const char *kind = text_of(line, "kind");

	return kind && !strcmp(kind, "flow");
}

static bool is_asked_for(const struct ask *a, const json_t *line)
{
	const char *kind = text_of(line, "kind"), *peer = text_of(line, "peer");

	if (!kind || (strcmp(kind, "flow") && strcmp(kind, "flow-remainder")))
		return false;
	if (a->peer && (!peer || strcmp(peer, a->peer)))
		return false;
	/* a remainder has no ports: what is asked for may be in it */
	return !a->by_port || !is_flow(line) || number_of(line, "source_port") == a->port ||
	       number_of(line, "destination_port") == a->port;
}

/* What distinguishes flows; the caller frees it. */
static char *name_of(const json_t *line)
{
	static const char *const keys[] = {
		"kind",        "peer",        "direction",        "port",
		"class",       "reason",      "ip_protocol",      "source",
		"source_port", "destination", "destination_port", "queue_pair"
	};
	json_t *a = json_array();
	char *text;
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		json_array_append(a, json_object_get(line, keys[i]) ?: json_null());
	text = bwl_must(json_dumps(a, JSON_COMPACT));
	json_decref(a);
	return text;
}

static int most_bytes_first(const void *a, const void *b)
{
	const struct flow *x = a, *y = b;
	uint64_t p = x->charged ? x->charged : x->bytes, q = y->charged ? y->charged : y->bytes;

	return p < q ? 1 : p > q ? -1 : strcmp(x->first, y->first);
}

static void leave_out(struct found *f, const struct flow *x)
{
	f->left.frames += x->frames;
	f->left.bytes += x->bytes;
	f->left.charged += x->charged;
	f->nleft++;
}

/* Drops those with the fewest bytes. If one of them comes again later it counts as another. */
static void prune(struct found *f)
{
	size_t i;

	if (f->n)
		qsort(f->flow, f->n, sizeof(*f->flow), most_bytes_first);
	json_object_clear(f->at);
	for (i = 0; i < f->n; i++) {
		struct flow *x = &f->flow[i];

		if (i < KEPT_MAX) {
			json_object_set_new(f->at, x->name, json_integer((json_int_t)i));
			continue;
		}
		leave_out(f, x);
		free(x->name);
		free(x->text);
	}
	f->n = f->n < KEPT_MAX ? f->n : KEPT_MAX;
}

static struct flow *flow_of(struct found *f, const json_t *line)
{
	char *name = name_of(line);
	const json_t *i = json_object_get(f->at, name);
	struct flow *x;

	if (i) {
		free(name);
		return &f->flow[json_integer_value(i)];
	}
	if (f->n == (size_t)2 * KEPT_MAX)
		prune(f);
	if (f->n == f->room)
		f->flow = bwl_must(
			reallocarray(f->flow, f->room = 2 * f->room + 64, sizeof(*f->flow)));
	x = &f->flow[f->n];
	*x = (struct flow){ .name = name,
			    .text = bwl_must(json_dumps(line, JSON_COMPACT)),
			    .is_flow = is_flow(line) };
	json_object_set_new(f->at, name, json_integer((json_int_t)f->n++));
	return x;
}

static void add(struct found *f, const json_t *line)
{
	const char *first = text_of(line, "first"), *last = text_of(line, "last");
	struct flow *x = flow_of(f, line);

	x->frames += number_of(line, "frames");
	x->bytes += number_of(line, "bytes");
	x->charged += number_of(line, "charged_bytes");
	x->tcp_flags |= (uint32_t)number_of(line, "tcp_flags");
	if (first && (!*x->first || strcmp(first, x->first) < 0))
		snprintf(x->first, sizeof(x->first), "%s", first);
	if (last && strcmp(last, x->last) > 0)
		snprintf(x->last, sizeof(x->last), "%s", last);
}

static void take_line(struct found *f, const struct ask *a, const json_t *line)
{
	const char *kind = text_of(line, "kind");

	if (kind && !strcmp(kind, "flow-interval")) {
		f->intervals++;
		f->gaps += json_is_string(json_object_get(line, "gap"));
		f->unbalanced += json_is_false(json_object_get(line, "balanced"));
		f->thinned += json_is_true(json_object_get(line, "thinned"));
	} else if (is_asked_for(a, line)) {
		add(f, line);
	}
}

/* Opens a file, with the time when it was written; the oldest may be deleted meanwhile. */
static int open_file(const char *folder, uint64_t number, FILE **ret, int64_t *ret_s)
{
	char path[500], name[FLOWS_NAME];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", folder, flows_store_name(number, name));
	*ret = fopen(path, "re");
	if (!*ret || fstat(fileno(*ret), &st)) {
		if (*ret)
			fclose(*ret);
		return -errno;
	}
	*ret_s = st.st_mtime;
	return 0;
}

static void take_file(struct found *f, const struct ask *a, FILE *file)
{
	char *text = NULL;
	size_t room = 0;
	json_t *line;

	while (getline(&text, &room, file) > 0) {
		line = json_loads(text, 0, NULL);
		if (line)
			take_line(f, a, line);
		json_decref(line);
	}
	free(text);
}

/* The newest first, until one was written before the start. */
static int take_all(struct ctl *c, const struct ask *a, struct found *f)
{
	uint64_t *number = NULL;
	char folder[450];
	int64_t when = 0;
	size_t n = 0;
	FILE *file;
	int r;

	snprintf(folder, sizeof(folder), "%s/" FLOWS_DIR, a->dir);
	r = flows_store_list(folder, &number, &n, &c->err);
	if (r == -ENOENT)
		bwl_hint(
			&c->err,
			"bwlimit-load upgrade --record on, and bwlimitd writes them; --state-dir says where");
	while (!r && n--) {
		r = open_file(folder, number[n], &file, &when);
		if (r == -ENOENT) {
			r = 0;
			break;
		}
		if (r) {
			bwl_fail(&c->err, -r, "cannot read %s: %s", folder, strerror(-r));
			break;
		}
		if (when >= a->from_s)
			take_file(f, a, file);
		fclose(file); /* an older file may have a later time: clocks are set */
	}
	free(number);
	return r;
}

static struct bwl_value word(const void *row, const char *key)
{
	return bwl_v_text(text_of(((const struct flow *)row)->line, key));
}

static struct bwl_value number(const void *row, const char *key)
{
	return bwl_v_json(bwl_json_u64(number_of(((const struct flow *)row)->line, key)));
}

#define WORD(key)                                                                                  \
	static struct bwl_value get_##key(const void *row)                                         \
	{                                                                                          \
		return word(row, #key);                                                            \
	}
#define NUMBER(key)                                                                                \
	static struct bwl_value get_##key(const void *row)                                         \
	{                                                                                          \
		return number(row, #key);                                                          \
	}
WORD(peer)
WORD(direction)
WORD(port)
WORD(class)
WORD(reason)
WORD(source)
WORD(destination)
NUMBER(source_port)
NUMBER(destination_port)
NUMBER(queue_pair)

static struct bwl_value get_protocol(const void *row)
{
	uint64_t n = number_of(((const struct flow *)row)->line, "ip_protocol");

	return n == 6    ? bwl_v_both(bwl_json_u64(n), "tcp")
	       : n == 17 ? bwl_v_both(bwl_json_u64(n), "udp")
			 : bwl_v_count(n);
}

/* "10.7.0.2:443"; for RoCE the queue pair instead of the port. */
static struct bwl_value end_of(const void *row, const char *address, const char *port)
{
	const json_t *l = ((const struct flow *)row)->line;
	const char *a = text_of(l, address);
	uint64_t n = number_of(l, port);

	if (!a)
		return bwl_v_both(json_null(), "(remainder)");
	return bwl_v_both(json_null(), strchr(a, ':') ? "[%s]:%llu" : "%s:%llu", a,
			  (unsigned long long)n);
}

static struct bwl_value get_from(const void *row)
{
	return end_of(row, "source", "source_port");
}

static struct bwl_value get_to(const void *row)
{
	uint64_t qp = number_of(((const struct flow *)row)->line, "queue_pair");
	struct bwl_value v = end_of(row, "destination", "destination_port");

	if (number_of(((const struct flow *)row)->line, "destination_port") == 4791)
		snprintf(v.text + strlen(v.text), sizeof(v.text) - strlen(v.text), " qp %llu",
			 (unsigned long long)qp);
	return v;
}

static struct bwl_value get_frames(const void *row)
{
	return bwl_v_count(((const struct flow *)row)->frames);
}

static struct bwl_value get_bytes(const void *row)
{
	return bwl_v_bytes(((const struct flow *)row)->bytes);
}

static struct bwl_value get_charged(const void *row)
{
	return bwl_v_bytes(((const struct flow *)row)->charged);
}

static struct bwl_value get_flags(const void *row)
{
	return bwl_v_json(bwl_json_u64(((const struct flow *)row)->tcp_flags));
}

static struct bwl_value get_first(const void *row)
{
	return bwl_v_text(((const struct flow *)row)->first);
}

static struct bwl_value get_last(const void *row)
{
	return bwl_v_text(((const struct flow *)row)->last);
}

enum {
	F_PEER,
	F_DIRECTION,
	F_PORT,
	F_CLASS,
	F_REASON,
	F_PROTOCOL,
	F_SOURCE,
	F_SOURCE_PORT,
	F_DESTINATION,
	F_DESTINATION_PORT,
	F_QUEUE_PAIR,
	F_FROM,
	F_TO,
	F_FRAMES,
	F_BYTES,
	F_CHARGED,
	F_FLAGS,
	F_FIRST,
	F_LAST,
};

static const struct bwl_field fields[] = {
	[F_PEER] = { "peer", "~PEER", get_peer },
	[F_DIRECTION] = { "direction", "", get_direction },
	[F_PORT] = { "port", "~PORT", get_port },
	[F_CLASS] = { "class", "?CLASS", get_class },
	[F_REASON] = { "reason", "REASON", get_reason },
	[F_PROTOCOL] = { "ip_protocol", "IP", get_protocol },
	[F_SOURCE] = { "source", NULL, get_source },
	[F_SOURCE_PORT] = { "source_port", NULL, get_source_port },
	[F_DESTINATION] = { "destination", NULL, get_destination },
	[F_DESTINATION_PORT] = { "destination_port", NULL, get_destination_port },
	[F_QUEUE_PAIR] = { "queue_pair", NULL, get_queue_pair },
	[F_FROM] = { NULL, "~FROM", get_from },
	[F_TO] = { NULL, "~TO", get_to },
	[F_FRAMES] = { "frames", "?>FRAMES", get_frames },
	[F_BYTES] = { "bytes", "?>SEEN", get_bytes },
	[F_CHARGED] = { "charged_bytes", ">CHARGED", get_charged },
	[F_FLAGS] = { "tcp_flags", NULL, get_flags },
	[F_FIRST] = { "since", "?FIRST", get_first },
	[F_LAST] = { "until", "?LAST", get_last },
};

static const struct bwl_column flow_columns[] = {
	{ &fields[F_PEER], BWL_BOTH },
	{ &fields[F_DIRECTION], BWL_BOTH },
	{ &fields[F_PORT], BWL_FOR_PROGRAMS },
	{ &fields[F_CLASS], BWL_BOTH },
	{ &fields[F_REASON], BWL_BOTH },
	{ &fields[F_PROTOCOL], BWL_BOTH },
	{ &fields[F_SOURCE], BWL_FOR_PROGRAMS },
	{ &fields[F_SOURCE_PORT], BWL_FOR_PROGRAMS },
	{ &fields[F_DESTINATION], BWL_FOR_PROGRAMS },
	{ &fields[F_DESTINATION_PORT], BWL_FOR_PROGRAMS },
	{ &fields[F_QUEUE_PAIR], BWL_FOR_PROGRAMS },
	{ &fields[F_FROM], BWL_FOR_PEOPLE },
	{ &fields[F_TO], BWL_FOR_PEOPLE },
	{ &fields[F_FRAMES], BWL_BOTH },
	{ &fields[F_BYTES], BWL_BOTH },
	{ &fields[F_CHARGED], BWL_BOTH },
	{ &fields[F_FLAGS], BWL_FOR_PROGRAMS },
	{ &fields[F_FIRST], BWL_FOR_PROGRAMS },
	{ &fields[F_LAST], BWL_BOTH },
	{ NULL, BWL_BOTH },
};

static const struct bwl_column rest_columns[] = {
	{ &fields[F_PEER], BWL_BOTH },
	{ &fields[F_DIRECTION], BWL_BOTH },
	{ &fields[F_PORT], BWL_BOTH },
	{ &fields[F_CLASS], BWL_BOTH },
	{ &fields[F_REASON], BWL_BOTH },
	{ &fields[F_FRAMES], BWL_BOTH },
	{ &fields[F_BYTES], BWL_BOTH },
	{ &fields[F_CHARGED], BWL_BOTH },
	{ &fields[F_FIRST], BWL_BOTH },
	{ &fields[F_LAST], BWL_BOTH },
	{ NULL, BWL_BOTH },
};

static json_t *rows(struct found *f, bool flows, uint64_t most, bool json)
{
	struct bwl_list *l = bwl_list_new(flows ? flow_columns : rest_columns, json);
	uint64_t n = 0;
	json_t *line;

	for (size_t i = 0; i < f->n; i++) {
		struct flow *x = &f->flow[i];

		if (x->is_flow != flows)
			continue;
		if (n++ >= most) {
			leave_out(f, x);
			continue;
		}
		x->line = line = bwl_must(json_loads(x->text, 0, NULL));
		bwl_list_add(l, x);
		x->line = NULL;
		json_decref(line);
	}
	return bwl_list_end(l);
}

static void print_left(const struct found *f)
{
	char seen[BWL_UNIT_BUF], charged[BWL_UNIT_BUF];

	if (f->nleft)
		bwl_say(0,
			"\nnot listed: %zu flows and remainders with fewer bytes: %llu frame%s, %s seen, %s charged",
			f->nleft, (unsigned long long)f->left.frames, BWL_S(f->left.frames),
			bwl_human_size((double)f->left.bytes, seen),
			bwl_human_size((double)f->left.charged, charged));
	bwl_say(0,
		"\n%zu interval%s; %zu of them not balanced, %zu say that something before them is missing, %zu have no flows any more (no room)",
		f->intervals, BWL_S(f->intervals), f->unbalanced, f->gaps, f->thinned);
}

static void print(struct found *f, const struct ask *a, uint64_t most, bool json)
{
	char since[BWL_TIME_BUF];
	json_t *doc, *flows, *remainders;

	prune(f);
	flows = rows(f, true, most, json);
	if (!json)
		puts("");
	remainders = rows(f, false, most, json);
	if (!json) {
		print_left(f);
		return;
	}
	doc = bwl_doc("flows");
	json_object_set_new(doc, "since", json_string(bwl_utc(a->from_s, -1, since)));
	json_object_set_new(doc, "interval_count", bwl_json_u64(f->intervals));
	json_object_set_new(doc, "unbalanced_count", bwl_json_u64(f->unbalanced));
	json_object_set_new(doc, "gap_count", bwl_json_u64(f->gaps));
	json_object_set_new(doc, "thinned_count", bwl_json_u64(f->thinned));
	json_object_set_new(doc, "flows", flows);
	json_object_set_new(doc, "remainders", remainders);
	json_object_set_new(doc, "left_out_count", bwl_json_u64(f->nleft));
	json_object_set_new(doc, "left_out_frames", bwl_json_u64(f->left.frames));
	json_object_set_new(doc, "left_out_bytes", bwl_json_u64(f->left.bytes));
	json_object_set_new(doc, "left_out_charged_bytes", bwl_json_u64(f->left.charged));
	bwl_doc_print(doc);
}

static int settle(struct ctl *c, struct ask *a, const char *since, const char *port)
{
	uint64_t ns = 600 * SECOND;

	if (since && bwl_parse_time(since, &ns, &c->err))
		return CTL_USAGE;
	if (ns > SINCE_S_MAX * SECOND)
		return ctl_usage(c, "--since %.32s: at most 366 days", since);
	if (ns > ORDERED_SINCE_S * SECOND && ctl_is_ordered())
		return ctl_usage(c, "--since %.32s: at most 1h, where bwlimitd runs it", since);
	a->from_s = (int64_t)time(NULL) - (int64_t)(ns / SECOND);
	a->by_port = port;
	return port ? ctl_number(c, "--port", port, 65535, &a->port) : 0;
}

static int flows(struct ctl *c, int argc, char **argv)
{
	const char *since = NULL, *port = NULL, *most = NULL;
	struct ask a = { .dir = bwl_state_dir() };
	const struct ctl_opt opts[] = {
		{ "--peer", NULL, &a.peer },     { "--port", NULL, &port },
		{ "--since", NULL, &since },     { "--most", NULL, &most },
		{ "--state-dir", NULL, &a.dir }, { NULL, NULL, NULL },
	};
	struct found f = { 0 };
	uint64_t n = c->json ? UINT32_MAX : SHOWN_MAX;
	int r = ctl_only_opts(c, argc, argv, opts);

	if (!r)
		r = settle(c, &a, since, port);
	if (!r && most && ctl_number(c, "--most", most, UINT32_MAX, &n))
		r = CTL_USAGE;
	if (r)
		return r;
	f.at = json_object();
	r = take_all(c, &a, &f);
	if (!r)
		print(&f, &a, n, c->json);
	json_decref(f.at);
	for (size_t i = 0; i < f.n; i++) {
		free(f.flow[i].name);
		free(f.flow[i].text);
	}
	free(f.flow);
	return r;
}

const struct ctl_cmd ctl_flows_cmds[] = {
	{ "flows", NULL, "[--peer NAME] [--port N] [--since TIME] [--most N] [--state-dir DIR]",
	  "Flow records: who sent what to whom, to the byte, as bwlimitd has written them",
	  "How to record them: docs/recorder.md. The same flow in several intervals is one line; most bytes first.\n"
	  "Then what was in no flow, by peer, class and reason.\n\n"
	  "  --peer NAME        only of this peer; --port N: only with this source or destination port\n"
	  "  --since TIME       only intervals that were written within this time (10m)\n"
	  "  --most N           list at most N (20; with --json 20000, which is the maximum): the others are added\n"
	  "                     up, and a flow that had fewer bytes than all that are kept may lack some\n"
	  "  --state-dir DIR    state folder of bwlimitd, which writes them\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl flows --peer log-collector --since 1h\n"
	  "  bwlimit-ctl flows --port 443 --json | jq '.flows[] | select(.reason == \"pass\")'\n",
	  flows },
	{ "flows", "intervals", "[--peer NAME] [--most N] [--state-dir DIR]",
	  "Intervals of flow records: what is missing, and whether they balance",
	  "Newest first. With --peer: how much the peer's counter grew, and how much of that is in flows, in\n"
	  "remainders of classes, and in the remainder without a class.\n\n"
	  "  --most N           list at most N (20; 360 is the maximum)\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl flows intervals --peer log-collector\n"
	  "  bwlimit-ctl flows intervals --most 360 --json | jq '.intervals[] | select(.gap or (.balanced | not))'\n",
	  ctl_flows_intervals },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
