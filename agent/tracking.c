/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ipsec/track.h on a thread of its own, while the policy in force has encrypted peers. One tracker a
 * pin directory: a lock on its links/ decides between this and `bwlimit-ctl ipsec watch`. Who comes
 * second waits, and takes over when the first one goes.
 */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include "agent.h"
#include "ipsec/track.h"

#define STEP_MS 200
#define AGAIN_MS 2000

struct agent_tracking {
	pthread_t thread;
	const char *pin_dir;
	struct bwl_pins *pins;
	atomic_bool stop;
};

static void on_change(uint32_t id, const struct bwl_track_verdict *v, void *arg)
{
	const struct agent_tracking *t = arg;
	char name[BWL_NAME_LEN];

	snprintf(name, sizeof(name), "%.*s", BWL_NAME_LEN - 1, t->pins->name[id].name);
	if (v->flags & BWL_TUN_SA)
		agent_log(LOG_INFO, "sa-open", "%s: leaves by SA %08x", name, ntohl(v->spi_out));
	else
		agent_log(LOG_NOTICE, "sa-closed", "%s: closed, %s", name, bwl_track_why_text(v->why));
	if (v->alarm)
		agent_log(LOG_ALERT, "sa-alarm", "%s: %s", name, bwl_track_why_text(v->alarm));
}

static void nap(struct agent_tracking *t, int ms)
{
	struct timespec step = { .tv_nsec = 100000000 };

	for (; ms > 0 && !atomic_load(&t->stop); ms -= 100)
		nanosleep(&step, NULL);
}

/* Until it fails or is told to stop. */
static int follow(struct agent_tracking *t, struct bwl_err *e)
{
	struct bwl_tracker *r = NULL;
	int err = bwl_pins_open(t->pin_dir, true, &t->pins, e);

	if (err)
		return err;
	err = bwl_tracker_open(t->pins, false, on_change, t, &r, e);
	if (!err)
		agent_log(LOG_INFO, "tracking", "the kernel's SAs are tracked");
	while (!err && !atomic_load(&t->stop))
		err = bwl_tracker_step(r, STEP_MS, e);
	if (r)
		bwl_tracker_leave(r);
	bwl_tracker_close(r);
	bwl_pins_close(t->pins);
	t->pins = NULL;
	return err;
}

static void *run(void *arg)
{
	struct agent_tracking *t = arg;
	char told[sizeof(((struct bwl_err *)0)->text)] = "";

	while (!atomic_load(&t->stop)) {
		struct bwl_err e = { 0 };
		int err = follow(t, &e);

		if (!err)
			continue;
		if (strcmp(told, e.text))
			agent_log_err(err == -EBUSY ? LOG_INFO : LOG_ERR, "tracking", &e);
		snprintf(told, sizeof(told), "%s", e.text);
		nap(t, AGAIN_MS);
	}
	return NULL;
}

static bool is_wanted(struct agent *a)
{
	struct bwl_gen g;
	bool found = false;
	uint32_t i, at;

	if (!a->pins || a->once || bwl_gen_open(a->pins, bwl_active_slot(a->pins, bwl_now_ns()), &g, NULL))
		return false;
	for (i = 1; !found && i < a->pins->schema.max_peers; i++) {
		at = a->pins->gate[i].slot[g.slot];
		found = at && at < g.npeers && g.peer[at].meta.path != BWL_PATH_CLEAR;
	}
	bwl_gen_close(&g);
	return found;
}

void agent_tracking_stop(struct agent *a)
{
	struct agent_tracking *t = a->tracking;

	if (!t)
		return;
	atomic_store(&t->stop, true);
	pthread_join(t->thread, NULL);
	free(t);
	a->tracking = NULL;
}

void agent_tracking_update(struct agent *a)
{
	bool wanted = is_wanted(a);

	if (!wanted)
		agent_tracking_stop(a);
	if (!wanted || a->tracking)
		return;
	a->tracking = calloc(1, sizeof(*a->tracking));
	if (!a->tracking)
		return;
	a->tracking->pin_dir = a->pin_dir;
	if (pthread_create(&a->tracking->thread, NULL, run, a->tracking)) {
		agent_log(LOG_ERR, "tracking", "cannot start a thread");
		free(a->tracking);
		a->tracking = NULL;
	}
}
