// SPDX-License-Identifier: GPL-2.0-or-later
/* See state.h: heartbeat, lease, clock, verify, volumes of node, zones and ports. */
#include <string.h>
#include <time.h>
#include "prometheus.h"
#include "state.h"
#include "verified.h"

#define LOAD(word) __atomic_load_n(&(word), __ATOMIC_SEQ_CST)
#define NS 1000000000.0

static const struct prom_labels none = { .label = { { NULL, NULL } } };

double metrics_wall(uint64_t boot_ns)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / NS +
	       ((double)boot_ns - (double)bwl_now_ns()) / NS;
}

static void one(FILE *f, const char *name, const char *help, double value)
{
	prom_family(f, name, PROM_GAUGE, help);
	prom_sample(f, name, &none, value);
}

/* A moment that never comes gets no sample. 0: it is expected, but never happened. */
static void moment(FILE *f, const char *name, const char *help, uint64_t boot_ns)
{
	prom_family(f, name, PROM_GAUGE, help);
	if (boot_ns != BWL_NEVER_NS)
		prom_sample(f, name, &none, boot_ns ? metrics_wall(boot_ns) : 0);
}

static void put_verified(FILE *f, const char *pin_dir)
{
	struct bwl_verified x;
	bool is = !bwl_verified(pin_dir, &x, NULL);

	prom_family(f, "verify_failed_checks", PROM_GAUGE,
		    "Checks that failed when verify last ran; none: not known here");
	if (is)
		prom_sample(f, "verify_failed_checks", &none, x.failed);
	prom_family(f, "verify_warned_checks", PROM_GAUGE,
		    "Checks that warned when verify last ran; none: not known here");
	if (is)
		prom_sample(f, "verify_warned_checks", &none, x.warned);
	prom_family(f, "verify_timestamp_seconds", PROM_GAUGE,
		    "When verify last ran; none: not known here");
	if (is)
		prom_sample(f, "verify_timestamp_seconds", &none, (double)x.at_s);
}

void metrics_machine(FILE *f, const struct bwl_view *v)
{
	const struct bwl_ctl *c = v->pins->ctl;
	const char *ledger = bwl_ledger_name(v->pins);
	uint64_t trial = bwl_trial_ns(v->pins);

	one(f, "time_seconds", "The DPU's clock when all of this was read",
	    metrics_wall(bwl_now_ns()));
	one(f, "clock_synchronised",
	    "0: the wall clock is not synchronised, or earlier than the build of bwlimit",
	    bwl_wall_state() == BWL_WALL_OK);
	prom_family(f, "ledger", PROM_GAUGE,
		    "1 for the current state of the protection of the ledger from an old copy");
	prom_sample(f, "ledger", &(struct prom_labels){ { { "state", ledger } } }, 1);
	one(f, "enrolled", "1: only signed documents may widen what is in force",
	    !!(LOAD(v->pins->lease->enrolled) & BWL_ENROLLED));
	moment(f, "sa_tracking_deadline_timestamp_seconds",
	       "Until when something is known to track the kernel's SAs; none: nothing does",
	       LOAD(c->tracked_until_s) ? LOAD(c->tracked_until_s) * 1000000000ULL : BWL_NEVER_NS);
	moment(f, "policy_trial_end_timestamp_seconds",
	       "When grants end, and the policy before returns, unless this one is confirmed; none: no trial",
	       trial ? trial : BWL_NEVER_NS);
	one(f, "break_glass", "1: an emergency policy (break-glass) is in force",
	    !!bwl_glass_until_ns(v->pins, v->now_ns));
	put_verified(f, v->pins->dir);
}

struct volumes {
	FILE *f;
	const struct bwl_view *v;
	const char *name;
	bool used;
};

/* Peers' volumes are in peers.c; those of their classes and floors are not shown. */
static void put_volume(const struct bwl_limit *l, uint32_t state, void *arg)
{
	const struct volumes *x = arg;
	const struct bwl_pins *p = x->v->pins;
	char level[BWL_LIMIT_KEY], *name;
	struct bwl_left left;

	if (l->volume.spendable_bytes == BWL_VOLUME_NONE ||
	    state >= BWL_STATES(p->schema.max_peers, p->schema.max_extras))
		return;
	bwl_limit_key(p, state, level);
	name = level + strcspn(level, " ");
	if (*name)
		*name++ = '\0';
	if (strcmp(level, "node") && strcmp(level, "zone") && strcmp(level, "port"))
		return;
	bwl_limit_left(p, &l->rate, &l->volume, state, x->v->now_ns, &left);
	prom_sample(x->f, x->name,
		    &(struct prom_labels){ { { "level", level }, { "name", name } } },
		    (double)(x->used ? left.used : left.volume));
}

static void put_volumes(FILE *f, const struct bwl_view *v, const char *name, const char *help,
			bool used)
{
	struct volumes x = { f, v, name, used };

	prom_family(f, name, PROM_GAUGE, help);
	bwl_limit_each(v->pins, &v->gen, put_volume, &x);
}

void metrics_policy(FILE *f, const struct bwl_view *v)
{
	const struct bwl_base *base = v->gen.base;
	uint64_t lease = base->lease_ns ? LOAD(v->pins->lease->until_ns) : BWL_NEVER_NS;

	moment(f, "heartbeat_deadline_timestamp_seconds",
	       "When grants fall to their floors; none: the policy has no heartbeat",
	       bwl_silent_at(v));
	prom_family(f, "heartbeat_seconds", PROM_GAUGE,
		    "Longest silence of bwlimitd that the policy allows; none: no limit");
	if (base->heartbeat_ns)
		prom_sample(f, "heartbeat_seconds", &none, (double)base->heartbeat_ns / NS);
	moment(f, "lease_end_timestamp_seconds",
	       "When the lease ends, and every grant with it; none: the policy asks for no lease",
	       lease);
	prom_family(f, "lease_seconds", PROM_GAUGE,
		    "Longest lease that the policy allows; none: it asks for no lease");
	if (base->lease_ns)
		prom_sample(f, "lease_seconds", &none, (double)base->lease_ns / NS);
	one(f, "clamped", "1: every grant is at its floor after a sign of tampering",
	    bwl_is_clamped(v->pins));
	put_volumes(f, v, "limit_volume_bytes", "Volumes of node, zones and ports", false);
	put_volumes(f, v, "limit_volume_used_bytes", "Spent part of these volumes", true);
}
