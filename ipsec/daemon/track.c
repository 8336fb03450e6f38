// SPDX-License-Identifier: GPL-2.0-or-later
/* Tracks the kernel's SAs in the pinned maps continuously, by ipsec/track.h, like bwlimitd. */
#include <arpa/inet.h>
#include <stdio.h>
#include "ipsec/track_row.h"
#include "ipsecd.h"

/* Whether or not anybody reads what it prints: what it tracks opens and closes peers. */
static bool goes_on(void *arg)
{
	const struct ipsecd *d = arg;

	return !*d->stopped;
}

static void on_begin(void *arg)
{
	(void)arg;
}

static void say_json(const struct bwl_track_row *row, const char *when)
{
	json_t *o = bwl_doc("ipsec-watch");

	json_object_set_new(o, "time", json_string(when));
	json_object_update_new(o, bwl_row_json(bwl_track_columns, row));
	bwl_doc_line(o);
}

static void on_change(const struct bwl_pins *p, uint32_t id, const struct bwl_track_verdict *v,
		      void *arg)
{
	const struct ipsecd *d = arg;
	char buf[BWL_NAME_LEN], when[BWL_TIME_BUF];
	const char *name = bwl_peer_name(p, id, buf);

	if (v->alarm)
		bwl_track_warn(p, id, v);
	bwl_utc_now(when);
	if (d->json)
		say_json(&(struct bwl_track_row){ p, id, v }, when);
	else if (v->flags & BWL_TUN_SA)
		bwl_put(stdout, "%s %s open: SA out 0x%08x, in 0x%08x, offload %s\n", when,
			name ? name : "-", ntohl(v->spi_out), ntohl(v->spi_in),
			bwl_track_offload_name(v->offload));
	else
		bwl_put(stdout, "%s %s closed: %s (%s)\n", when, name ? name : "-",
			bwl_track_why_name(v->why), bwl_track_why_text(v->why));
	fflush(stdout);
}

static void on_failure(const struct bwl_err *e, void *arg)
{
	(void)arg;
	bwl_warn("%s", e->text);
}

int ipsecd_track(const struct ipsecd *d, struct bwl_err *e)
{
	const struct bwl_track_user user = { goes_on, on_begin, on_change, on_failure, (void *)d };

	return bwl_track_follow(d->pin_dir, &user, e);
}
