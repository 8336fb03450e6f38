// SPDX-License-Identifier: GPL-2.0-or-later
/* `tap`: the headers of a peer's packets, for a limited time; only for root. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bwl/prefix.h>
#include <bwl/units.h>
#include "ctl.h"
#include "tap/capture.h"
#include "tap/headers.h"

#define MAX_NS 3600000000000ULL
#define BYTES_MAX (100ULL << 20)

struct order {
	const char *peer, *file; /* file NULL: standard output */
	uint64_t for_ns, most_bytes;
	char *filter;
	const char *device[BWL_MAX_PORTS];
	size_t ndevices;
};

/* Everything to or from its prefixes; the caller frees it. NULL: there is no such peer. */
static char *filter_of(const struct bwl_policy *p, const char *name)
{
	const struct bwl_pol_peer *peer = NULL;
	char *text = NULL, prefix[64];
	size_t len = 0;
	FILE *f;

	for (size_t i = 0; i < p->npeers; i++)
		if (!strcmp(p->peers[i].name, name))
			peer = &p->peers[i];
	if (!peer || !peer->naddresses)
		return NULL;
	f = bwl_must(open_memstream(&text, &len));
	fputs("(ip or ip6) and (", f);
	for (size_t i = 0; i < peer->naddresses; i++)
		fprintf(f, "%snet %s", i ? " or " : "",
			bwl_pfx_format(&peer->addresses[i], prefix, sizeof(prefix)));
	fputc(')', f);
	fclose(f);
	return text;
}

static int look_up(struct ctl *c, struct order *o)
{
	struct bwl_policy *p = NULL;
	struct bwl_view v;
	int r = ctl_view_open(c, false, &v);

	if (r)
		return r;
	r = bwl_policy_read(v.pins, &p, &c->err);
	if (!r) {
		o->filter = filter_of(p, o->peer);
		if (!o->filter)
			r = ctl_view_no_peer(c, &v, o->peer);
	}
	for (unsigned i = 0; !r && i < BWL_MAX_PORTS; i++)
		if (v.pins->dev[i].ifindex && v.pins->dev[i].kind == BWL_PORT_HOST)
			o->device[o->ndevices++] = bwl_must(strdup(v.pins->dev[i].name));
	bwl_policy_free(p);
	bwl_view_close(&v);
	return r;
}

static int settle(struct ctl *c, struct order *o, int argc, char **argv, const char *for_text,
		  const char *most)
{
	if (argc != 1)
		return ctl_usage(c, "give a peer");
	o->peer = argv[0];
	if (!for_text)
		return ctl_usage(c, "--for is missing: how long, 1h at most");
	if (bwl_parse_time(for_text, &o->for_ns, &c->err) ||
	    (most && bwl_parse_size(most, &o->most_bytes, &c->err)))
		return CTL_USAGE;
	if (!o->for_ns || o->for_ns > MAX_NS)
		return ctl_usage(c, "--for %.32s: must be greater than 0, and at most 1h",
				 for_text);
	if (c->json)
		return ctl_usage(c, "a capture is pcapng, not JSON; for flows: bwlimit-ctl flows");
	if (!o->file && isatty(STDOUT_FILENO))
		return ctl_usage(c, "--write FILE is missing: pcapng is not for a terminal");
	return 0;
}

/* A new file, readable only by its owner: never overwrites one. */
static int open_out(struct ctl *c, const struct order *o, FILE **ret)
{
	int fd = o->file ? open(o->file, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
			 : dup(STDOUT_FILENO);

	*ret = fd < 0 ? NULL : fdopen(fd, "w");
	if (*ret)
		return 0;
	bwl_fail(&c->err, errno, "cannot write %s: %s", o->file ? o->file : "standard output",
		 strerror(errno));
	return o->file && errno == EEXIST ? bwl_hint(&c->err, "give a file that does not exist yet")
					  : -c->err.code;
}

static void say_began(void *arg)
{
	const struct order *o = arg;
	char t[BWL_UNIT_BUF];

	bwl_info("headers of %s, for %s; what XDP refuses or sends by itself is not seen here",
		 o->peer, bwl_format_time(o->for_ns, t));
}

static int capture(struct ctl *c, struct order *o, FILE *f)
{
	char text[300], t[BWL_UNIT_BUF];
	struct tap tap = { .device = o->device,
			   .ndevices = o->ndevices,
			   .filter = o->filter,
			   .comment = text,
			   .program = CTL_PROGRAM " " BWL_VERSION,
			   .most_bytes = o->most_bytes,
			   .stopped = &ctl_stopped };
	int r;

	snprintf(text, sizeof(text),
		 "tap of peer %.64s for %s: headers alone, at most %d bytes a frame", o->peer,
		 bwl_format_time(o->for_ns, t), TAP_SNAP);
	r = bwl_audit_intent(&c->err, "%s", text);
	if (r)
		return r;
	ctl_catch_signals();
	tap.end_ns = bwl_now_ns() + o->for_ns;
	r = tap_run(&tap, f, say_began, o, &c->err);
	bwl_audit("tap of peer %.64s ended: %llu frame%s, %llu lost%s", o->peer,
		  (unsigned long long)tap.frames, BWL_S(tap.frames), (unsigned long long)tap.lost,
		  r             ? ", it failed"
		  : tap.is_full ? ", the file is full"
		  : ctl_stopped ? ", interrupted"
				: "");
	if (!r && tap.is_full)
		bwl_warn("ended early: --most %s bytes are full",
			 bwl_format_size(o->most_bytes, t));
	return r;
}

static int tap(struct ctl *c, int argc, char **argv)
{
	const char *for_text = NULL, *most = NULL;
	struct order o = { .most_bytes = BYTES_MAX };
	const struct ctl_opt opts[] = {
		{ "--for", NULL, &for_text },
		{ "--write", NULL, &o.file },
		{ "--most", NULL, &most },
		{ NULL, NULL, NULL },
	};
	FILE *f = NULL;
	int r = ctl_opts(c, &argc, argv, opts);

	if (!r)
		r = settle(c, &o, argc, argv, for_text, most);
	if (!r)
		r = look_up(c, &o);
	if (!r)
		r = open_out(c, &o, &f);
	if (!r)
		r = capture(c, &o, f);
	if (f && fclose(f) && !r)
		r = bwl_fail(&c->err, errno, "cannot write %s: %s",
			     o.file ? o.file : "standard output", strerror(errno));
	for (size_t i = 0; i < o.ndevices; i++)
		free((void *)(uintptr_t)o.device[i]);
	free(o.filter);
	return r;
}

const struct ctl_cmd ctl_tap_cmds[] = {
	{ "tap", NULL, "NAME --for TIME [--write FILE] [--most SIZE]",
	  "The headers of a peer's packets, as pcapng, for a limited time",
	  "Both directions, on the host ports: what hosts send before limits, what they receive after them. No payload\n"
	  "is captured, and at most 192 bytes of a frame. Needs root, on the DPU; recorded in the audit log.\n\n"
	  "  --for TIME     at most 1h; it ends by itself, and with this process\n"
	  "  --write FILE   a new file (default: standard output)\n"
	  "  --most SIZE    ends when the file has this size (100mb)\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl tap log-collector --for 5m --write /tmp/log-collector.pcapng\n"
	  "  ssh tray-7 bwlimit-ctl tap log-collector --for 1m | wireshark -k -i -\n",
	  tap },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
