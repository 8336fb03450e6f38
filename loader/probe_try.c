// SPDX-License-Identifier: GPL-2.0-or-later
/* See probe_try.h. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <bpf/libbpf.h>
#include "find_programs.h"
#include "hidden.h"
#include "probe_card.h"
#include "probe_thing.h"
#include "probe_try.h"

/* In the order of removal: a rule keeps SAs out, and a meter is part of a rule. */
static const struct probe_thing *const things[] = { &probe_rule, &probe_meter, &probe_block,
						    &probe_sa };
#define THINGS (sizeof(things) / sizeof(things[0]))

static struct {
	const struct probe_port *p;
	unsigned n;
	struct bwl_load lock; /* on the pin directory: attach waits for it */
	pid_t cleaner;        /* 0: not running */
	int alive;            /* our end of a pipe, which closes with this process */
} now = { .lock.dir_fd = -1, .alive = -1 };

static int refuse_programs(const struct bwl_attach *a, struct bwl_err *e)
{
	struct bwl_attach none = { 0 };
	struct bwl_found f[BWL_MAX_PORTS];
	struct bwl_load blind = { .dir_fd = -1 };
	unsigned n = 0;
	int r;

	snprintf(blind.dir, sizeof(blind.dir), "%s", bwl_pin_dir(a->dir));
	r = bwl_scan_ports(&blind, &none, f, &n, e);
	if (r)
		return r;
	if (!n && bwl_hidden_look(a->dir, NULL))
		return 0;
	bwl_fail(e, EBUSY, "--try-hardware changes the card, and bwlimit is attached%s%s",
		 n ? ": programs are on " : "", n ? f[0].dev.name : "");
	return bwl_hint(e, "bwlimit-load detach, then try again; without the option it only asks");
}

static int is_up(const struct bwl_netdev *d, struct bwl_err *e)
{
	bwl_fail(e, EBUSY, "--try-hardware changes the card, and its device %s is up", d->name);
	return bwl_hint(e, "ip link set %s down; without the option it only asks", d->name);
}

static bool is_of_card(const struct bwl_netdev *d)
{
	const struct bwl_devlink_port *port;
	unsigned i;

	for (i = 0; i < now.n; i++) {
		if (d->ifindex == now.p[i].dev->ifindex)
			return true;
		for (port = now.p[i].all; now.p[i].self && port < now.p[i].all + now.p[i].nall;
		     port++)
			if (port->ifindex == d->ifindex &&
			    probe_card_same(now.p[i].self->card, port->card))
				return true;
	}
	return false;
}

/* Refuses if a device of the card is up, also of its other functions: they share tables. */
static int refuse_up(struct bwl_err *e)
{
	struct bwl_netdev *d;
	size_t n, i;
	int r = bwl_netdev_list(&d, &n, e);

	if (r)
		return r;
	for (i = 0; !r && i < n; i++)
		if (d[i].up && is_of_card(&d[i]))
			r = is_up(&d[i], e);
	free(d);
	return r;
}

static struct bpf_tc_hook clsact(uint32_t ifindex)
{
	return (struct bpf_tc_hook){ .sz = sizeof(struct bpf_tc_hook),
				     .ifindex = (int)ifindex,
				     .attach_point = BPF_TC_INGRESS | BPF_TC_EGRESS };
}

/* Removes everything, whichever process made it. false: something is left. */
static bool clean(void)
{
	bool all = true;
	unsigned i, k;

	for (i = 0; i < THINGS; i++)
		for (k = 0; k < now.n; k++)
			if (!things[i]->on || things[i]->on == now.p[k].kind)
				all &= !things[i]->del(now.p[k].dev->ifindex);
	return all;
}

/* Removes the folders if they were made for the lock: those that are not empty stay. */
static void remove_folders(void)
{
	static const char *const folders[] = { "/links", "/progs", "/maps", "" };
	char path[240];
	unsigned i;

	for (i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s%s", now.lock.dir, folders[i]);
		rmdir(path);
	}
}

/*
 * A separate process that outlives this one, however this one ends: the pipe tells it when. It also
 * gives host ports the hook that a rule needs, and removes the hooks it made.
 */
static void run_cleaner(int ready, int alive)
{
	bool made[2 * BWL_MAX_PORTS] = { 0 }, all = true;
	struct bpf_tc_hook h;
	char byte = 0;
	unsigned i;

	setsid();
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	clean(); /* what is left if the machine lost both processes before */
	for (i = 0; i < now.n; i++) {
		h = clsact(now.p[i].dev->ifindex);
		made[i] = now.p[i].kind == PROBE_HOST && !bpf_tc_hook_create(&h);
	}
	if (write(ready, &byte, 1) == 1)
		while (read(alive, &byte, 1) < 0 && errno == EINTR)
			;
	all = clean();
	for (i = 0; i < now.n; i++) {
		h = clsact(now.p[i].dev->ifindex);
		all &= !made[i] || !bpf_tc_hook_destroy(&h);
	}
	remove_folders(); /* the lock is still held, also by us */
	_exit(!all);
}

static int start_cleaner(struct bwl_err *e)
{
	int ready[2] = { -1, -1 }, alive[2] = { -1, -1 };
	char byte;

	if (pipe(ready) || pipe(alive))
		return bwl_fail(e, errno, "cannot make a pipe: %s", strerror(errno));
	fflush(NULL);
	now.cleaner = fork();
	if (!now.cleaner) {
		close(ready[0]);
		close(alive[1]);
		run_cleaner(ready[1], alive[0]);
	}
	close(ready[1]);
	close(alive[0]);
	now.alive = alive[1];
	if (now.cleaner < 0 || read(ready[0], &byte, 1) != 1) {
		now.cleaner = now.cleaner < 0 ? 0 : now.cleaner;
		close(ready[0]);
		return bwl_fail(
			e, EAGAIN,
			"cannot start the process that removes the trial objects: nothing is tried");
	}
	close(ready[0]);
	return 0;
}

int probe_try_begin(const struct bwl_attach *a, const struct probe_port *p, unsigned n,
		    struct bwl_err *e)
{
	int r = refuse_programs(a, e);

	if (r)
		return r;
	now.p = p;
	now.n = n;
	r = bwl_load_begin(a->dir, true, &now.lock, e);
	if (!r)
		r = refuse_programs(a, e); /* an attach that ran before we had the lock */
	if (!r)
		r = refuse_up(e);
	return r ? r : start_cleaner(e);
}

int probe_try_end(struct bwl_err *e)
{
	int status = 0, r = 0;

	if (now.alive >= 0)
		close(now.alive);
	now.alive = -1;
	if (now.cleaner && (waitpid(now.cleaner, &status, 0) < 0 || status)) {
		bwl_fail(e, EBUSY, "not all trial objects could be removed from the card");
		r = bwl_hint(
			e,
			"ip xfrm state; ip xfrm policy; tc filter show dev PORT ingress; tc actions list action police: what names " PROBE_TO
			" or index %u; else restart the DPU",
			PROBE_ID);
	}
	if (!now.cleaner && now.lock.dir_fd >= 0)
		remove_folders();
	now.cleaner = 0;
	if (now.lock.dir_fd >= 0)
		close(now.lock.dir_fd);
	now.lock.dir_fd = -1;
	return r;
}

static uint32_t device_for(const struct probe_thing *t, const struct probe_port *p)
{
	const struct probe_port *other = NULL;
	unsigned i;

	if (!t->on || !p)
		return 0;
	if (t->on == p->kind)
		return p->dev->ifindex;
	for (i = 0; i < now.n; i++) { /* preferably of the same card */
		const struct probe_port *x = &now.p[i];

		if (x->kind != t->on)
			continue;
		if (!other || (p->self && x->self && probe_card_same(p->self->card, x->self->card)))
			other = x;
	}
	return other ? other->dev->ifindex : 0;
}

static void answer(struct probe_answer *ret, const char *word, const char *error)
{
	snprintf(ret->answer, sizeof(ret->answer), "%s", word);
	snprintf(ret->error, sizeof(ret->error), "%s", error);
}

/* If it works it stays until take_away(). */
static bool put(const struct probe_thing *t, const struct probe_port *p, struct probe_answer *ret)
{
	char said[BWL_NL_SAID];
	uint32_t ifindex = device_for(t, p);
	bool unknown;
	int r;

	if (t->on && !ifindex) {
		answer(ret, "not tried", "no host port was named: --host DEV");
		return false;
	}
	r = t->add(ifindex, said);
	unknown = r == -EOPNOTSUPP || r == -EINVAL || r == -EPROTONOSUPPORT || r == -ENOENT;

	ret->works = !r && t->held(ifindex);
	if (ret->works)
		answer(ret, "taken and read back", "");
	else if (!r)
		answer(ret, "not in hardware", "the kernel kept it in software");
	else
		answer(ret, unknown && !*said ? "not offered" : "refused",
		       *said ? said : strerror(-r));
	return ret->works;
}

static void take_away(const struct probe_thing *t, const struct probe_port *p,
		      struct probe_answer *ret)
{
	uint32_t ifindex = device_for(t, p);
	int r = t->on && !ifindex ? 0 : t->del(ifindex);

	if (!r)
		return;
	ret->works = false;
	answer(ret, "not removed", strerror(-r));
}

/* One thing alone, or a second one beside the first. */
struct trial {
	const struct probe_thing *first, *second;
};

static void try_one(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	const struct trial *t = with;

	put(t->first, p, ret);
	take_away(t->first, p, ret);
}

static void try_both(const struct probe_port *p, const void *with, struct probe_answer *ret)
{
	const struct trial *t = with;
	char why[BWL_NL_SAID];

	if (put(t->first, p, ret)) {
		put(t->second, p, ret);
		take_away(t->second, p, ret);
	} else if (strcmp(ret->answer, "not tried")) {
		snprintf(why, sizeof(why), "%s by itself failed: it was %s", t->first->name,
			 ret->answer);
		answer(ret, "not tried", why);
	}
	take_away(t->first, p, ret);
}

#define NO_PACKET "no packet offload: TC and the kernel's IPsec carry peers with `path: offload`"
#define FIRMWARE                                                                                   \
	"see the error; switchdev, dmfs and encap-mode none as above; driver (Linux 6.6) "         \
	"and firmware"
#define NO_FENCE "no second limit in hardware; bwlimit does not need one"

/* clang-format off */
#define ONE(thing) .ask = try_one, .with = &(const struct trial){ &probe_##thing, NULL }
#define BOTH(one, two) .ask = try_both, .with = &(const struct trial){ &probe_##one, &probe_##two }

const struct probe_question probe_try_kernel_questions[] = {
	{ "try-meter", "the card accepts a meter", NO_FENCE, "nothing to do", ONE(meter) },
	{ 0 }
};

const struct probe_question probe_try_questions[] = {
	{ "try-sa", "the card accepts an SA of packet offload in tunnel mode", NO_PACKET, FIRMWARE,
	  ONE(sa), .of = PROBE_UPLINK },
	{ "try-drop-policy", "the card accepts a drop policy beneath the SAs", NO_PACKET, FIRMWARE,
	  ONE(block), .of = PROBE_UPLINK },
	{ "try-rule", "the card accepts a flower rule with a meter", NO_FENCE, "nothing to do",
	  ONE(rule), .of = PROBE_HOST },
	{ "try-rule-after-sa", "the card accepts a flower rule of a host port after an SA",
	  "such a rule is refused once there are SAs", "nothing to do: bwlimit sets none",
	  BOTH(sa, rule), .of = PROBE_UPLINK },
	{ "try-sa-after-rule", "the card accepts an SA after a flower rule of a host port",
	  "one such rule, for example of OVS, makes the card refuse every SA",
	  "remove rules in hardware before the SAs come: tc filter show dev PORT ingress, ovs-vsctl show",
	  BOTH(rule, sa), .of = PROBE_UPLINK },
	{ 0 }
};
/* clang-format on */
