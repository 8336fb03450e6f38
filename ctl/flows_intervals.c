// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `flows intervals`: the newest intervals of flow records, with what is missing and whether they
 * balance.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/cleanup.h>
#include "ctl.h"
#include "bwl/desired.h"
#include "flows/store.h"

#define INTERVALS_MAX 360 /* one hour, at ten seconds each */
#define SHOWN_MAX 20

/* An interval: its head, and the line of the peer asked for. */
struct interval {
	json_t *head, *peer; /* peer NULL: not asked for, or nothing of it came */
};

static const json_t *sum_of(const struct interval *x, const char *key)
{
	return json_object_get(x->peer, key);
}

static uint64_t count(const json_t *sum, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(sum, key));

	return n > 0 ? (uint64_t)n : 0;
}

/* As in stats; minus b, if b is given. */
static struct bwl_value sum(const json_t *a, const json_t *b)
{
	uint64_t bytes = count(a, "bytes") - count(b, "bytes"),
		 refused = count(a, "dropped_bytes") - count(b, "dropped_bytes");
	char t[BWL_UNIT_BUF], u[BWL_UNIT_BUF];

	if (!a)
		return bwl_v_both(json_null(), "-");
	return bwl_v_both(
		json_pack("{s:o, s:o, s:o, s:o}", "passed_frames",
			  bwl_json_u64(count(a, "frames") - count(b, "frames")), "passed_bytes",
			  bwl_json_u64(bytes), "dropped_frames",
			  bwl_json_u64(count(a, "dropped_frames") - count(b, "dropped_frames")),
			  "dropped_bytes", bwl_json_u64(refused)),
		"%s + %s", bwl_human_size((double)bytes, t), bwl_human_size((double)refused, u));
}

static struct bwl_value get_grew(const void *row)
{
	return sum(sum_of(row, "after"), sum_of(row, "before"));
}

static struct bwl_value get_flows(const void *row)
{
	return sum(sum_of(row, "flows"), NULL);
}

static struct bwl_value get_remainder(const void *row)
{
	return sum(sum_of(row, "remainder"), NULL);
}

static struct bwl_value get_none(const void *row)
{
	return sum(sum_of(row, "unclassed"), NULL);
}

/* From the head; a value of the wrong type is ignored. */
static const char *text_of(const void *row, const char *key)
{
	return json_string_value(json_object_get(((const struct interval *)row)->head, key));
}

static bool flag_of(const void *row, const char *key)
{
	return json_is_true(json_object_get(((const struct interval *)row)->head, key));
}

static struct bwl_value get_number(const void *row)
{
	return bwl_v_count(count(((const struct interval *)row)->head, "interval"));
}

static struct bwl_value get_sequence(const void *row)
{
	return bwl_v_count(count(((const struct interval *)row)->head, "sequence"));
}

static struct bwl_value get_begun(const void *row)
{
	return bwl_v_text(text_of(row, "begin"));
}

static struct bwl_value get_ended(const void *row)
{
	return bwl_v_text(text_of(row, "end"));
}

static struct bwl_value get_gap(const void *row)
{
	return bwl_v_text(text_of(row, "gap"));
}

static struct bwl_value get_balanced(const void *row)
{
	bool yes = flag_of(row, "balanced");

	return bwl_v_both(json_boolean(yes), yes ? "yes" : "NO");
}

static struct bwl_value get_thinned(const void *row)
{
	return bwl_v_yes(flag_of(row, "thinned"));
}

static struct bwl_value get_peer_balanced(const void *row)
{
	const struct interval *x = row;
	bool yes = json_is_true(json_object_get(x->peer, "balanced"));

	return x->peer ? bwl_v_both(json_boolean(yes), yes ? "yes" : "NO")
		       : bwl_v_both(json_null(), "-");
}

static struct bwl_value get_why(const void *row)
{
	return bwl_v_text(json_string_value(sum_of(row, "why")));
}

static const struct bwl_field fields[] = {
	{ "interval", ">INTERVAL", get_number },
	{ "begun_at", NULL, get_begun },
	{ "ended_at", "ENDED", get_ended },
	{ "balanced", "BALANCED", get_balanced },
	{ "thinned", "?THINNED", get_thinned },
	{ "peer_balanced", "PEER", get_peer_balanced },
	{ "grew", ">GREW BY", get_grew },
	{ "in_flows", "?>FLOWS", get_flows },
	{ "in_remainder", "?>REMAINDER", get_remainder },
	{ "in_none", "?>NONE", get_none },
	{ "why", "~WHY", get_why },
	{ "gap", "GAP BEFORE", get_gap },
	{ "sequence", NULL, get_sequence },
};

static json_t *rows(const struct interval *x, size_t n, bool json, bool of_peer)
{
	enum bwl_where w = of_peer ? BWL_BOTH : BWL_FOR_PROGRAMS;
	const struct bwl_column columns[] = {
		{ &fields[12], BWL_FOR_PROGRAMS },
		{ &fields[0], BWL_BOTH },
		{ &fields[1], BWL_FOR_PROGRAMS },
		{ &fields[2], BWL_BOTH },
		{ &fields[3], BWL_BOTH },
		{ &fields[4], BWL_BOTH },
		{ &fields[5], w },
		{ &fields[6], w },
		{ &fields[7], w },
		{ &fields[8], w },
		{ &fields[9], w },
		{ &fields[10], w },
		{ &fields[11], BWL_BOTH },
		{ NULL, BWL_BOTH },
	};
	struct bwl_list *l = bwl_list_new(columns, json);

	while (n--)
		bwl_list_add(l, x++);
	return bwl_list_end(l);
}

static bool is_kind(const json_t *line, const char *kind)
{
	const char *s = json_string_value(json_object_get(line, "kind"));

	return s && !strcmp(s, kind);
}

/* Certainly another peer's, without parsing all of it: a host decides how many there are. */
static bool others(const char *text, const char *peer)
{
	char wanted[BWL_NAME_LEN + 16];

	if (!peer || strpbrk(peer, "\"\\") || strncmp(text, FLOWS_PEER, strlen(FLOWS_PEER)) ||
	    (size_t)snprintf(wanted, sizeof(wanted), "\"peer\":\"%s\"", peer) >= sizeof(wanted))
		return false;
	return !strstr(text, wanted);
}

/* Peers are between the head and the flows: what follows them is not read. */
static bool take(FILE *f, const char *peer, struct interval *ret)
{
	BWL_AUTO_FREE char *text = NULL;
	const char *name;
	size_t room = 0;
	json_t *line;

	*ret = (struct interval){ NULL, NULL };
	while (!ret->peer && getline(&text, &room, f) > 0) {
		if (ret->head && others(text, peer))
			continue;
		line = json_loads(text, 0, NULL);
		name = json_string_value(json_object_get(line, "peer"));
		if (!ret->head && is_kind(line, "flow-interval")) {
			ret->head = json_incref(line);
		} else if (!is_kind(line, "flow-peer")) {
			json_decref(line);
			break;
		} else if (peer && name && !strcmp(name, peer)) {
			ret->peer = json_incref(line);
		}
		json_decref(line);
		if (!peer)
			break;
	}
	if (!ret->head)
		json_decref(ret->peer);
	return ret->head;
}

/* The newest first. If one is deleted meanwhile it is the oldest. */
static int take_all(struct ctl *c, const char *dir, const char *peer, size_t most,
		    struct interval *ret, size_t *ret_n)
{
	BWL_AUTO_FREE uint64_t *number = NULL;
	char folder[450], path[500], name[FLOWS_NAME];
	size_t n = 0;
	FILE *f;
	int r;

	snprintf(folder, sizeof(folder), "%s/" FLOWS_DIR, dir);
	r = flows_store_list(folder, &number, &n, &c->err);
	if (r == -ENOENT)
		bwl_hint(
			&c->err,
			"bwlimit-load upgrade --record on, and bwlimitd writes them; --state-dir says where");
	for (; !r && n && *ret_n < most; n--) {
		snprintf(path, sizeof(path), "%s/%s", folder,
			 flows_store_name(number[n - 1], name));
		f = fopen(path, "re");
		if (!f && errno == ENOENT)
			break;
		if (!f)
			return bwl_fail(&c->err, errno, "cannot read %s: %s", path,
					strerror(errno));
		*ret_n += take(f, peer, &ret[*ret_n]);
		fclose(f);
	}
	return r;
}

static void print(const struct interval *x, size_t n, bool json, const char *peer)
{
	json_t *doc, *list = rows(x, n, json, peer);

	if (!list) {
		if (peer)
			bwl_say(0,
				"\nPassed as charged + refused (on arrival as charged, else as seen): flows, remainder and none are what the counter grew by");
		return;
	}
	doc = bwl_doc("flow-intervals");
	json_object_set_new(doc, "peer", bwl_json_text(peer));
	json_object_set_new(doc, "intervals", list);
	bwl_doc_print(doc);
}

int ctl_flows_intervals(struct ctl *c, int argc, char **argv)
{
	const char *peer = NULL, *most_text = NULL, *dir = bwl_state_dir();
	const struct ctl_opt opts[] = {
		{ "--peer", NULL, &peer },
		{ "--most", NULL, &most_text },
		{ "--state-dir", NULL, &dir },
		{ NULL, NULL, NULL },
	};
	BWL_AUTO_FREE struct interval *x = bwl_must(calloc(INTERVALS_MAX, sizeof(*x)));
	uint64_t most = SHOWN_MAX;
	size_t n = 0;
	int r = ctl_only_opts(c, argc, argv, opts);

	if (!r && most_text)
		r = ctl_number(c, "--most", most_text, INTERVALS_MAX, &most);
	if (!r)
		r = take_all(c, dir, peer, most, x, &n);
	if (!r)
		print(x, n, c->json, peer);
	while (n--) {
		json_decref(x[n].head);
		json_decref(x[n].peer);
	}
	return r;
}
