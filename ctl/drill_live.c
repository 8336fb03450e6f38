// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `drill live`: the program attached to a host port judges frames that no host sent, by
 * BPF_PROG_TEST_RUN: the same program, maps and clock as for traffic, charged to a peer made for
 * it. A test run sends nothing. The report is signed with the audit log's key.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/pkt_cls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <bwl/netdev.h>
#include <bwl/units.h>
#include "audit_args.h"
#include "drill_frames.h"

#define DEFAULT_NS 5000000000ULL
#define MIN_NS 1000000000ULL
#define MAX_NS 60000000000ULL
#define BYTES_MAX (1ULL << 30) /* the most that may be charged */
#define MARK "drill"           /* beginning of its peer's name */
#define TITLE "bwlimit drill report, version 1\n"
#define TRIES 3U /* of each evasion */
#define SMALL 200U
#define LARGE 1400U
#define STEP_NS 1000000ULL

struct drill {
	struct ctl *c;
	const char *port_name, *peer_name, *file;
	uint64_t for_ns;
	struct bwl_view v;
	struct bwl_policy *pol;
	const struct bwl_pol_peer *peer;
	struct drill_ends ends;
	uint32_t id, ifindex, port;
	int prog, lock;
	struct bwl_reason_count *cpus;
	uint64_t frames, bytes; /* given to the program */
	uint64_t allowed;       /* bytes that the grant allows in the time that it took */
	struct bwl_peer_count first, last;
	json_t *list;
	unsigned held, failed, skipped;
	char began[BWL_TIME_BUF];
	struct bwl_table *table;
};

static void found(struct drill *d, const char *name, unsigned reason, const char *verdict,
		  const char *fmt, ...) __attribute__((format(printf, 5, 6)));
static void found(struct drill *d, const char *name, unsigned reason, const char *verdict,
		  const char *fmt, ...)
{
	const char *why = reason ? bwl_reason_name(reason) : NULL;
	char text[200];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_array_append_new(d->list, json_pack("{s:s, s:s?, s:s, s:s}", "evasion", name, "reason",
						 why, "verdict", verdict, "text", text));
	d->held += !strcmp(verdict, "held");
	d->failed += !strcmp(verdict, "failed");
	d->skipped += !strcmp(verdict, "skipped");
	bwl_cell(d->table, "%s", verdict);
	bwl_cell(d->table, "%s", name);
	bwl_cell(d->table, "%s", text);
}

static void judge(struct drill *d, const char *name, unsigned reason, bool good, const char *text)
{
	found(d, name, reason, good ? "held" : "failed", "%s", text);
}

static int count(struct drill *d, struct bwl_peer_count *ret)
{
	struct bwl_peer_count *all = bwl_must(calloc(d->id + 1, sizeof(*all)));
	int r = bwl_peercnt_read_first(d->v.pins, d->id + 1, all, &d->c->err);

	*ret = all[d->id];
	free(all);
	return r;
}

static uint64_t counted(struct drill *d, unsigned reason)
{
	struct bwl_reason_count n;

	bwl_reason_at(d->v.pins, d->port * BWL_REASON_COLUMNS + reason, d->cpus, &n);
	return n.frames;
}

/* Runs the frame n times; returns the program's last action, or negative. */
static int run(struct drill *d, const uint8_t *frame, size_t len, unsigned n)
{
	struct __sk_buff skb = { .ifindex = d->ifindex, .ingress_ifindex = d->ifindex };
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = frame, .data_size_in = (uint32_t)len,
		    .repeat = (int)n, .ctx_in = &skb, .ctx_size_in = sizeof(skb));

	if (bpf_prog_test_run_opts(d->prog, &o)) {
		skb.ingress_ifindex = 0; /* older kernels accept none in a test run */
		if (errno != EINVAL || bpf_prog_test_run_opts(d->prog, &o))
			return bwl_fail(&d->c->err, errno, "cannot test-run the program: %s",
					strerror(errno));
	}
	d->frames += n;
	d->bytes += n * len;
	return (int)o.retval;
}

static int try_evasion(struct drill *d, const struct drill_evasion *x)
{
	uint8_t frame[DRILL_FRAME_MAX];
	struct bwl_peer_count was, is;
	size_t len = SMALL;
	uint64_t before;
	int act = 0, r;

	drill_frame(&d->ends, len, frame);
	if (!x->make(&d->ends, frame, &len)) {
		found(d, x->name, x->reason, "skipped", "not possible with this policy");
		return 0;
	}
	r = count(d, &was);
	before = counted(d, x->reason);
	for (unsigned i = 0; !r && i < TRIES && act >= 0; i++)
		act = run(d, frame, len, 1);
	if (r || act < 0)
		return r ? r : act;
	r = count(d, &is);
	if (r)
		return r;
	if (act != TC_ACT_SHOT && !(act == TC_ACT_REDIRECT && d->pol->reject))
		judge(d, x->name, x->reason, false, "it was not dropped");
	else if (is.frames != was.frames)
		judge(d, x->name, x->reason, false, "it was charged and let through");
	else if (counted(d, x->reason) - before < TRIES)
		judge(d, x->name, x->reason, false,
		      "it was dropped, but not counted under this reason");
	else
		judge(d, x->name, x->reason, true, "dropped, and counted under this reason");
	return 0;
}

/*
 * One frame within the grant passes and is charged; a fragment may be refused, but is not free. A
 * bucket that an earlier drill has emptied gets time to refill.
 */
static int try_one(struct drill *d, const char *name, bool fragment)
{
	uint8_t frame[DRILL_FRAME_MAX];
	struct bwl_peer_count was, is;
	int act = TC_ACT_SHOT, r = count(d, &was);
	uint64_t frames, bytes, refused;
	char text[160];
	unsigned n;

	drill_frame(&d->ends, SMALL, frame);
	if (fragment)
		drill_fragment(frame);
	for (n = 0; !r && n < 100 && act == TC_ACT_SHOT; n++) {
		if (n)
			nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
		act = run(d, frame, SMALL, 1);
	}
	if (act < 0)
		return act;
	if (!r)
		r = count(d, &is);
	if (r)
		return r;
	frames = is.frames - was.frames;
	bytes = is.bytes - was.bytes;
	refused = is.drop_frames - was.drop_frames;
	snprintf(text, sizeof(text), "%llu of %u passed, charged %llu bytes",
		 (unsigned long long)frames, n, (unsigned long long)bytes);
	judge(d, name, 0,
	      frames + refused == n && frames == (act == TC_ACT_REDIRECT) && (frames || fragment) &&
		      bytes >= frames * SMALL,
	      text);
	return 0;
}

/* Offers twice what the grant allows, for the time asked for. */
static int try_limit(struct drill *d)
{
	uint64_t rate = d->peer->grant.rate_bps, begin = bwl_now_ns(), now, sent = 0, due;
	const uint64_t burst = d->peer->grant.burst ? d->peer->grant.burst
						    : bwl_default_burst(rate);
	struct bwl_peer_count was, is;
	uint8_t frame[DRILL_FRAME_MAX];
	int act, r = count(d, &was);
	char text[200];

	drill_frame(&d->ends, LARGE, frame);
	while (!r && (now = bwl_now_ns()) < begin + d->for_ns && !ctl_stopped) {
		due = burst + (uint64_t)((double)rate / 4e9 * (double)(now - begin));
		if (sent < due) {
			unsigned n = (unsigned)((due - sent) / LARGE % 1000 + 1);

			act = run(d, frame, LARGE, n);
			if (act < 0)
				return act;
			sent += (uint64_t)n * LARGE;
		}
		nanosleep(&(struct timespec){ .tv_nsec = STEP_NS }, NULL);
	}
	if (!r)
		r = count(d, &is);
	if (r)
		return r;
	now = bwl_now_ns();
	d->allowed = burst + (uint64_t)((double)rate / 8e9 * (double)(now - begin));
	snprintf(text, sizeof(text), "%llu bytes offered, %llu passed, %llu allowed in this time",
		 (unsigned long long)sent, (unsigned long long)(is.bytes - was.bytes),
		 (unsigned long long)d->allowed);
	judge(d, "more than the grant", BWL_R_PEER_RATE,
	      is.bytes - was.bytes <= d->allowed && is.drop_frames > was.drop_frames &&
		      is.frames > was.frames,
	      text);
	snprintf(text, sizeof(text), "%llu frames tried, %llu counted at the peer",
		 (unsigned long long)(sent / LARGE),
		 (unsigned long long)(is.frames - was.frames + is.drop_frames - was.drop_frames));
	judge(d, "a frame counted twice, or not at all", 0,
	      is.frames - was.frames + is.drop_frames - was.drop_frames == sent / LARGE, text);
	return 0;
}

/* Is the pinned program the one that the port's packets run through? */
static bool is_attached(struct drill *d)
{
	struct bpf_prog_info prog = { 0 };
	struct bpf_link_info link = { 0 };
	struct bwl_filter first = { 0 };
	__u32 len = sizeof(prog);
	char path[512];
	bool yes = false;
	int fd;

	if (bpf_obj_get_info_by_fd(d->prog, &prog, &len))
		return false;
	snprintf(path, sizeof(path), "%s/links/bwl_tc_host_%s", d->v.pins->dir, d->port_name);
	fd = bpf_obj_get(path);
	len = sizeof(link);
	if (fd >= 0) /* also for tcx the device comes first */
		yes = !bpf_obj_get_info_by_fd(fd, &link, &len) && link.prog_id == prog.id &&
		      link.xdp.ifindex == d->ifindex;
	if (fd >= 0)
		close(fd);
	return yes || (!bwl_netdev_first_filter(d->ifindex, true, &first, NULL) &&
		       first.prog_id == prog.id);
}

static int try_all(struct drill *d)
{
	enum bwl_standing s = bwl_standing(&d->v, d->id, ctl_view_peer(&d->v, d->id));
	bool attached = is_attached(d);
	int r = 0;

	judge(d, "a port without its program", 0, attached,
	      attached ? "it is attached"
		       : "it is not attached: its verdicts here apply to no traffic");
	judge(d, "a grant that drops nothing", 0, bwl_mode_enforces(d->peer->mode),
	      bwl_mode_enforces(d->peer->mode) ? "it drops" : "the grant's mode is monitor");
	if (s != BWL_STAND_LIVE) {
		found(d, "more than the grant", BWL_R_PEER_RATE, "failed", "the grant is %s",
		      bwl_standing_name(s));
		return 0;
	}
	r = try_one(d, "a permitted frame", false);
	if (!r)
		r = try_one(d, "a fragment free of charge", true);
	for (const struct drill_evasion *x = drill_evasions; !r && x->name; x++)
		r = try_evasion(d, x);
	return r ? r : try_limit(d);
}

static json_t *report(struct drill *d)
{
	json_t *o = bwl_doc("drill-live");
	char ended[BWL_TIME_BUF], hex[65];

	for (unsigned i = 0; i < 32; i++)
		snprintf(hex + 2 * i, 3, "%02x", d->v.gen.base->digest[i]);
	json_object_set_new(o, "ok", json_boolean(!d->failed));
	json_object_set_new(o, "node", json_string(d->pol->node));
	json_object_set_new(o, "port", json_string(d->port_name));
	json_object_set_new(o, "peer", json_string(d->peer_name));
	json_object_set_new(o, "digest", json_string(hex));
	json_object_set_new(o, "begun_at", json_string(d->began));
	json_object_set_new(o, "ended_at", json_string(bwl_utc_now(ended)));
	json_object_set_new(o, "frames", bwl_json_u64(d->frames));
	json_object_set_new(o, "bytes", bwl_json_u64(d->bytes));
	json_object_set_new(o, "charged_bytes", bwl_json_u64(d->last.bytes - d->first.bytes));
	json_object_set_new(o, "allowed_bytes", bwl_json_u64(d->allowed));
	json_object_set_new(o, "held_count", json_integer(d->held));
	json_object_set_new(o, "failed_count", json_integer(d->failed));
	json_object_set_new(o, "skipped_count", json_integer(d->skipped));
	json_object_set(o, "evasions", d->list);
	return o;
}

static int write_report(struct drill *d, const json_t *o)
{
	char *said = bwl_must(json_dumps(o, JSON_COMPACT)), *text, *note;
	size_t size = strlen(said) + sizeof(TITLE) + 1, len;
	int r;

	text = bwl_must(malloc(size));
	note = bwl_must(malloc(BWL_NOTE_MAX));
	snprintf(text, size, TITLE "%s\n", said);
	r = bwl_audit_sign(NULL, text, note, BWL_NOTE_MAX, &len, &d->c->err);
	if (!r)
		r = audit_write(d->c, d->file, 0644, note);
	free(said);
	free(text);
	free(note);
	return r;
}

/* Announced in the log before it begins and after it has ended, however it ends. */
static int drill(struct drill *d)
{
	char t[BWL_UNIT_BUF];
	json_t *o;
	int r = bwl_audit_intent(&d->c->err, "drill at host port %s, for %s, charged to peer %s",
				 d->port_name, bwl_format_time(d->for_ns, t), d->peer_name);

	if (r)
		return r;
	bwl_info(
		"drill at host port %s: frames that no host sent are counted there, and charged to peer %s",
		d->port_name, d->peer_name);
	bwl_utc_now(d->began);
	ctl_catch_signals();
	r = count(d, &d->first);
	if (!r)
		r = try_all(d);
	if (!r)
		r = count(d, &d->last);
	bwl_audit(
		"drill at host port %s ended: %llu frame%s, %llu byte%s, charged to peer %s: %u held, %u failed, %u skipped%s",
		d->port_name, (unsigned long long)d->frames, BWL_S(d->frames),
		(unsigned long long)d->bytes, BWL_S(d->bytes), d->peer_name, d->held, d->failed,
		d->skipped,
		r             ? "; it failed before its end"
		: ctl_stopped ? "; it was interrupted"
			      : "");
	if (r)
		return r;
	o = report(d);
	if (d->file)
		r = write_report(d, o);
	if (!r && d->c->json)
		bwl_doc_print(json_incref(o));
	else if (!r)
		bwl_table_print(d->table, stdout);
	if (!r && !d->c->json)
		printf("%u held, %u failed, %u skipped\n", d->held, d->failed, d->skipped);
	json_decref(o);
	return r ? r : d->failed ? CTL_EXIT + 1 : 0;
}

static int find_peer(struct drill *d)
{
	const struct bwl_lim *l;
	char t[BWL_UNIT_BUF];

	d->id = bwl_peer_id(d->v.pins, &d->v.gen, d->peer_name);
	d->peer = bwl_policy_peer(d->pol, d->peer_name);
	if (!d->id || !d->peer) {
		ctl_view_no_peer(d->c, &d->v, d->peer_name);
		return bwl_hint(
			&d->c->err,
			"add a peer for drills to the policy: name: drill, an unused address and a small grant");
	}
	l = &d->peer->grant;
	if (!l->present || l->rate_bps == BWL_NO_RATE)
		return bwl_fail(&d->c->err, EINVAL, "peer %s: its grant needs a rate",
				d->peer_name);
	if ((double)l->rate_bps / 8e9 * (double)d->for_ns + (double)(l->burst ? l->burst : 0) >
	    (double)BYTES_MAX)
		return bwl_fail(
			&d->c->err, E2BIG,
			"peer %s: at %s a drill of this length would be charged more than 1gb",
			d->peer_name, bwl_format_rate(l->rate_bps, t));
	return 0;
}

static int find_port(struct drill *d)
{
	const struct bwl_pol_port *port = NULL;
	int id = bwl_port_id(d->v.pins, d->port_name);
	char path[512];

	for (size_t i = 0; i < d->pol->nports; i++)
		if (!strcmp(d->pol->ports[i].name, d->port_name))
			port = &d->pol->ports[i];
	if (id < 0 || !port)
		return bwl_fail(&d->c->err, ENODEV, "%.64s is not a host port of the policy",
				d->port_name);
	d->port = (uint32_t)id;
	d->ifindex = d->v.pins->dev[id].ifindex;
	snprintf(path, sizeof(path), "%s/progs/bwl_tc_host_%s", d->v.pins->dir, d->port_name);
	d->prog = bpf_obj_get(path);
	if (d->prog < 0)
		return bwl_fail(&d->c->err, errno, "cannot open the program of %s: %s",
				d->port_name, strerror(errno));
	return drill_ends(port, d->pol, d->peer, &d->ends, &d->c->err);
}

/* One drill at a time for these pins, whoever runs it. */
static int take_turn(struct drill *d)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/progs", d->v.pins->dir);
	d->lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->lock >= 0 && !flock(d->lock, LOCK_EX | LOCK_NB))
		return 0;
	return errno == EWOULDBLOCK
		       ? bwl_fail(&d->c->err, EBUSY, "another drill is under way")
		       : bwl_fail(&d->c->err, errno, "cannot lock %s: %s", path, strerror(errno));
}

static int must_be_logged(struct ctl *c)
{
	struct bwl_audit_log *l;
	int r = bwl_audit_open(NULL, &l, &c->err);

	if (!r && !l) {
		bwl_fail(&c->err, ENOENT,
			 "a drill must be announced in the audit log, but there is none");
		r = bwl_hint(&c->err, "bwlimit-ctl audit init");
	}
	bwl_audit_close(l);
	return r;
}

static int live(struct ctl *c, int argc, char **argv)
{
	static const char *const heads[] = { "VERDICT", "TRIED", "FOUND", NULL };
	struct drill d = {
		.c = c, .peer_name = MARK, .for_ns = DEFAULT_NS, .prog = -1, .lock = -1
	};
	const char *for_text = NULL;
	const struct ctl_opt opts[] = { { "--to", NULL, &d.peer_name },
					{ "--for", NULL, &for_text },
					{ "--write", NULL, &d.file },
					{ NULL, NULL, NULL } };
	int r = ctl_opts(c, &argc, argv, opts);

	if (r)
		return r;
	if (argc != 1)
		return ctl_usage(c, "drill live needs a host port");
	d.port_name = argv[0];
	if (strncmp(d.peer_name, MARK, strlen(MARK)))
		return ctl_usage(
			c,
			"--to %.64s: a drill is charged to a peer whose name begins with '" MARK
			"'",
			d.peer_name);
	if (for_text && bwl_parse_time(for_text, &d.for_ns, &c->err))
		return CTL_USAGE;
	if (d.for_ns < MIN_NS || d.for_ns > MAX_NS)
		return ctl_usage(c, "--for %.32s: must be 1s to 60s", for_text);
	r = must_be_logged(c);
	if (!r)
		r = ctl_view_open(c, false, &d.v);
	if (r)
		return r;
	d.list = json_array();
	d.table = bwl_table_new(heads);
	d.cpus = bwl_must(calloc((size_t)libbpf_num_possible_cpus(), sizeof(*d.cpus)));
	r = bwl_policy_read(d.v.pins, &d.pol, &c->err);
	if (!r)
		r = find_peer(&d);
	if (!r)
		r = find_port(&d);
	if (!r)
		r = take_turn(&d);
	if (!r)
		r = drill(&d);
	if (d.prog >= 0)
		close(d.prog);
	if (d.lock >= 0)
		close(d.lock);
	free(d.cpus);
	bwl_table_free(d.table);
	json_decref(d.list);
	bwl_policy_free(d.pol);
	bwl_view_close(&d.v);
	return r;
}

/* The report's content, below its title. */
static json_t *read_report(struct ctl *c, const char *note, size_t len)
{
	size_t title = strlen(TITLE);
	json_t *o = NULL;

	if (len > title && !memcmp(note, TITLE, title))
		o = json_loadb(note + title, len - title, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(o) ||
	    strcmp("drill-live", json_string_value(json_object_get(o, "kind")) ?: "")) {
		json_decref(o);
		bwl_fail(&c->err, EBADMSG, "it is signed, but is not the report of a drill");
		return NULL;
	}
	return o;
}

static int verify(struct ctl *c, int argc, char **argv)
{
	static const char *const keys[] = { "node",       "port",         "peer",
					    "digest",     "begun_at",     "ended_at",
					    "held_count", "failed_count", "skipped_count" };
	const char *key = NULL;
	const struct ctl_opt opts[] = { { "--key", NULL, &key }, { NULL, NULL, NULL } };
	int r = ctl_opts(c, &argc, argv, opts);
	char note[BWL_NOTE_MAX];
	struct bwl_note_key k;
	json_t *o, *doc;
	size_t len;
	bool good;

	if (r)
		return r;
	if (argc != 1 || !key)
		return ctl_usage(
			c, "drill verify needs a report and --key, the audit log's public key");
	r = audit_take_key(c, NULL, key, &k);
	if (!r)
		r = audit_read(c, argv[0], note, sizeof(note), &len);
	if (!r)
		r = bwl_note_open(&k, note, len, &len, &c->err);
	o = r ? NULL : read_report(c, note, len);
	if (!o)
		return r ? r : -c->err.code;
	good = json_is_true(json_object_get(o, "ok"));
	doc = bwl_doc("drill-verify");
	json_object_set_new(doc, "ok", json_boolean(good));
	json_object_set_new(doc, "origin", json_string(k.name));
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		json_object_set(doc, keys[i], json_object_get(o, keys[i]) ?: json_null());
	if (c->json)
		bwl_doc_print(json_incref(doc));
	else
		bwl_put(stdout,
			"signed by %s: drill at host port %s of %s, %s to %s: %lld held, %lld failed, %lld skipped\n",
			k.name, json_string_value(json_object_get(o, "port")) ?: "?",
			json_string_value(json_object_get(o, "node")) ?: "?",
			json_string_value(json_object_get(o, "begun_at")) ?: "?",
			json_string_value(json_object_get(o, "ended_at")) ?: "?",
			(long long)json_integer_value(json_object_get(o, "held_count")),
			(long long)json_integer_value(json_object_get(o, "failed_count")),
			(long long)json_integer_value(json_object_get(o, "skipped_count")));
	json_decref(doc);
	json_decref(o);
	return good ? 0 : CTL_EXIT + 1;
}

const struct ctl_cmd ctl_drill_live_cmds[] = {
	{ "drill", "live", "PORT [--to PEER] [--for TIME] [--write FILE]",
	  "Try evasions on the program of a host port in use",
	  "The attached program judges frames that no host sent, with the maps, counters and clock of the port's\n"
	  "traffic. Frames that it lets pass are not sent. Everything is charged to PEER, whose name begins with\n"
	  "'drill': add one to the policy, with an unused address and a small grant. Needs root on the DPU and an\n"
	  "audit log, where the drill is announced; one drill at a time. Afterwards the port's counters include\n"
	  "frames that its device never received.\n"
	  "Exit code 0: all held.\n\n"
	  "  --to PEER     the peer to charge (drill)\n"
	  "  --for TIME    how long to offer twice the grant's rate: 1s to 60s (5s)\n"
	  "  --write FILE  write the report, signed with the audit log's key\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl drill live pf0hpf\n"
	  "  bwlimit-ctl drill live pf0hpf --for 30s --write /root/drill.report\n",
	  live },
	{ "drill", "verify", "REPORT --key PUB", "Check who signed the report of a drill",
	  "Exit code 0: signed by the key, and all held.\n\n"
	  "  --key PUB     the public key that `audit init` printed, or a file with it\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl drill verify drill.report --key tray-7.pub\n",
	  verify },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
