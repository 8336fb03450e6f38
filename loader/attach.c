// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * attach: host ports down, maps and programs, uplinks (last gate first), host ports' programs, the
 * tunnel device if there are encrypted peers, policy, a check of what the kernel has, host ports
 * up. After a kill anywhere before the last step the host ports are down; after it everything is in
 * place. Running it again repairs. Ports of the policy that are absent are awaited: await.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bwl/sysctl.h>
#include <bwl/desired.h>
#include <bwl/publish.h>
#include <bwl/text.h>
#include "bwlimit.skel.h"
#include "attach.h"
#include "await.h"
#include "enrolled/gate.h"
#include "hidden.h"
#include "journal/journal.h"
#include "journal_check.h"
#include "hook/iif_rules.h"
#include "hook/port_sysctl.h"
#include "management.h"
#include "fallback.h"
#include "probe.h"
#include "find_programs.h"
#include "spent.h"
#include "suspend.h"
#include "tunnel.h"

/*
 * Modes shape and mark need a kernel and a qdisc that keep departure times. Without them they
 * police.
 */
static void pace_uplinks(const struct bwl_attach *a, const struct bwl_policy *pol,
			 const struct bwl_netdev *up)
{
	struct bwl_err e = { 0 };
	bool wanted = a->pace, paced;
	unsigned i;

	for (i = 0; !wanted && pol && i < pol->npeers; i++)
		wanted = pol->peers[i].grant.present && bwl_mode_paces(pol->peers[i].mode);
	if (wanted && !bwl_kernel_keeps_times()) {
		bwl_warn(
			"the kernel forgets departure times (before Linux 5.18): mode shape polices, mode mark drops sooner");
		return;
	}
	for (i = 0; wanted && i < a->nuplink; i++)
		if ((bwl_netdev_is_paced(up[i].ifindex, &paced, NULL) || !paced) &&
		    bwl_netdev_pace(up[i].ifindex, &e))
			bwl_warn("%s: %s; mode shape polices, mode mark drops sooner", up[i].name,
				 e.text);
}

int bwl_attach_pin_progs(struct bwl_load *l, struct bwl_err *e)
{
	char path[300], fresh[300];
	struct bpf_program *p;

	bpf_object__for_each_program(p, l->skel->obj)
	{
		if (!bpf_program__autoload(p))
			continue;
		snprintf(path, sizeof(path), "%s/progs/%s", l->dir, bpf_program__name(p));
		snprintf(fresh, sizeof(fresh), "%s/progs/new_%s", l->dir, bpf_program__name(p));
		unlink(fresh);
		if (bpf_obj_pin(bpf_program__fd(p), fresh) || rename(fresh, path))
			return bwl_fail(e, errno, "cannot pin %s: %s", path, strerror(errno));
	}
	return 0;
}

/* The policy file's ports, if the command line names none. */
static void ports_from_policy(struct bwl_attach *a, const struct bwl_policy *pol)
{
	size_t i;

	for (i = 0; !a->nhost && i < pol->nports; i++)
		a->host[i] = pol->ports[i].name;
	if (!a->nhost)
		a->nhost = (unsigned)pol->nports;
	for (i = 0; !a->nuplink && i < pol->nuplinks; i++)
		a->uplink[i] = pol->uplinks[i];
	if (!a->nuplink)
		a->nuplink = (unsigned)pol->nuplinks;
}

int bwl_attach_policy(struct bwl_attach *a, struct bwl_policy **ret, struct bwl_err *e)
{
	int r;

	*ret = NULL;
	a->named_host = a->nhost;
	a->named_uplink = a->nuplink;
	if (!a->policy && (a->nhost || a->nuplink))
		return 0;
	r = bwl_desired_load(a->policy, ret, e);
	if (!r)
		ports_from_policy(a, *ret);
	return r;
}

static int check_names(const struct bwl_attach *a, struct bwl_err *e)
{
	unsigned i;

	for (i = 0; i < a->nhost; i++)
		if (bwl_is_listed(a->host, i, a->host[i]) ||
		    bwl_is_listed(a->uplink, a->nuplink, a->host[i]))
			return bwl_fail(e, EINVAL, "duplicate port %s among host ports and uplinks",
					a->host[i]);
	for (i = 0; i < a->nuplink; i++)
		if (bwl_is_listed(a->uplink, i, a->uplink[i]))
			return bwl_fail(e, EINVAL, "duplicate uplink %s", a->uplink[i]);
	if (a->nhost && a->nuplink)
		return 0;
	bwl_fail(e, EINVAL, "needs at least one host port and one uplink");
	return bwl_hint(e, "bwlimit-load attach --host pf0hpf --uplink p0");
}

int bwl_attach_set(const struct bwl_netdev *d, unsigned n, bool up, struct bwl_err *e)
{
	unsigned i;
	int r = 0;

	for (i = 0; !r && i < n; i++)
		r = bwl_netdev_set_up(d[i].ifindex, up, e);
	return r;
}

int bwl_attach_forwarding(struct bwl_err *e)
{
	static const char *const files[] = { "ipv4/ip_forward", "ipv6/conf/all/forwarding" };
	static const char *const keys[] = { "net.ipv4.ip_forward", "net.ipv6.conf.all.forwarding" };
	char path[80];
	unsigned i;

	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/proc/sys/net/%s", files[i]);
		if (bwl_sysctl_value(path) <= 0)
			continue;
		bwl_fail(e, EPERM, "the kernel forwards by itself: %s is on", keys[i]);
		return bwl_hint(e, "sysctl -w %s=0, then bwlimit-load attach", keys[i]);
	}
	return 0;
}

/* What was granted and edited since the file was applied exists only in the maps: it stays. */
static int publish(struct bwl_load *l, const struct bwl_attach *a, struct bwl_policy *pol,
		   const struct bwl_journal *j, struct bwl_err *e)
{
	struct bwl_publish_report rep = { 0 };
	int r = 0;

	if (l->reused && !a->republish && bwl_active_slot(l->pins) != BWL_NO_SLOT) {
		bwl_warn("%s is not applied: another policy is in force (--republish replaces it)",
			 bwl_desired_name(a->policy));
		return 0;
	}
	if (!a->trust_clock)
		r = bwl_policy_wall_ok(pol, e);
	if (r)
		return r;
	bwl_journal_into_policy(l->pins, j, pol, true, a->trust_clock);
	r = bwl_publish(l->pins, pol, NULL, &rep, e);
	if (!r && rep.exhausted)
		bwl_spent_say(l->pins);
	return r;
}

int bwl_attach_lock(struct bwl_load *l, const struct bwl_attach *a, struct bwl_err *e)
{
	int r = bwl_management_attach(l, a, e);

	if (!r)
		r = bwl_lock_apply(l->pins, e);
	if (!r)
		r = bwl_management_drop(l, a, e);
	return r ? r : bwl_lock_apply(l->pins, e);
}

static int attach_all(struct bwl_load *l, struct bwl_attach *a, struct bwl_policy *pol,
		      struct bwl_netdev *host, struct bwl_netdev *up, const struct bwl_journal *j,
		      struct bwl_err *e)
{
	unsigned i;
	int r = 0;

	/* Programs on maps that no longer have pins are closed, then replaced or removed. */
	if (!l->reused)
		r = bwl_scan_strays(l, a, e);
	if (!r)
		r = bwl_management_yield(l, a, e);
	if (!r)
		r = bwl_record_pin(l, e);
	if (!r)
		r = bwl_await_absent(l, a, e);
	pace_uplinks(a, pol, up);
	for (i = 0; !r && i < a->nuplink; i++)
		r = bwl_attach_port(l, a, &up[i], BWL_PORT_UPLINK, e);
	for (i = 0; !r && i < a->nhost; i++)
		r = bwl_attach_port(l, a, &host[i], BWL_PORT_HOST, e);
	if (!r && l->tunnel)
		r = bwl_tunnel_attach(l, a, e);
	if (!r)
		r = bwl_attach_lock(l, a, e);
	if (!r) {
		bwl_pace_refresh(l->pins);
		r = bwl_attach_pin_progs(l, e);
	}
	if (!r)
		r = bwl_record_whole(l, e);
	if (!r)
		r = bwl_latency_settle(l, e);
	if (!r)
		r = bwl_suspend_attach(l, e);
	if (!r)
		r = bwl_load_share(l->pins, e);
	return r || !pol ? r : publish(l, a, pol, j, e);
}

static int close_ports(const struct bwl_load *l, const struct bwl_netdev *host, unsigned n,
		       bool closed, struct bwl_err *e)
{
	unsigned i;
	int r = 0;

	for (i = 0; !r && i < n; i++)
		r = bwl_note_close(l->dir, &host[i], closed, e);
	return r;
}

static void say_ignored(const struct bwl_load *l, const struct bwl_attach *a)
{
	if (l->reused && a->make.fresh_volume)
		bwl_warn(
			"--fresh-volume has no effect: the maps already exist, with what was spent");
	if (l->reused && a->make.drill && !l->pins->ctl->drill)
		bwl_warn("--drill has no effect: the maps already exist");
}

/*
 * Something else on the machine may set up a port that must be down: then the programs drop all of
 * its frames. Maps that have had a policy are left as they are.
 */
static void shut(const struct bwl_load *l)
{
	__u32 run = BWL_RUN;

	if (!l->pins->ctl->generation)
		__atomic_compare_exchange_n(&l->pins->ctl->stop, &run, BWL_CLOSED, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

void bwl_attach_open(struct bwl_pins *p)
{
	__u32 was = BWL_CLOSED;

	/* bwlimitd may judge the journal in between. */
	while ((was == BWL_CLOSED || was == BWL_CLOSED_UNJUDGED) &&
	       !__atomic_compare_exchange_n(&p->ctl->stop, &was,
					    was == BWL_CLOSED ? BWL_RUN : BWL_UNJUDGED, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
}

static int close_and_attach(struct bwl_load *l, struct bwl_attach *a, struct bwl_policy *pol,
			    struct bwl_netdev *host, struct bwl_netdev *up, struct bwl_err *e)
{
	struct bwl_journal j = { 0 };
	int r;

	bwl_port_sysctl_set(host, a->nhost, BWL_PORT_HOST);
	bwl_port_sysctl_set(up, a->nuplink, BWL_PORT_UPLINK);
	bwl_port_sysctl_set_all();
	r = close_ports(l, host, a->nhost, true, e);
	bwl_attach_say_shut(l->dir, host, a->nhost);
	if (!r)
		r = bwl_attach_set(host, a->nhost, false, e);
	if (!r)
		r = bwl_tunnel_make(l, a, pol, e);
	l->records = bwl_record_wanted(l->dir, a->record);
	l->measures = bwl_latency_wanted(l->dir, a->latency);
	if (!r)
		r = bwl_load_object(l, &a->make, e);
	if (!r) {
		if (bwl_is_enrolled_here())
			bwl_enrolled_set(l->pins, BWL_ENROLLED);
		shut(l);
		say_ignored(l, a);
		bwl_judge_journal(l->pins, &j);
		r = attach_all(l, a, pol, host, up, &j, e);
	}
	if (!r) /* also the tunnel device's, which is new */
		bwl_port_sysctl_repair(l->pins);
	if (!r) /* before anything opens: closes what was closed before the reboot */
		bwl_journal_boot(l->pins, &j);
	if (!r) /* bwlimitd may have refused the journal meanwhile */
		bwl_judge_again(l->pins, &j);
	bwl_journal_free(&j);
	if (!r)
		r = bwl_attach_forwarding(e);
	if (!r)
		r = bwl_attach_look(l, e);
	if (!r)
		r = bwl_load_settle(l, a->keep_down ? BWL_CLOSED : BWL_RUN, e);
	if (r)
		bwl_warn("host ports stay down");
	if (!r && !a->keep_down)
		r = close_ports(l, host, a->nhost, false, e);
	if (r || a->keep_down)
		return r;
	bwl_attach_open(l->pins);
	r = bwl_attach_set(host, a->nhost, true, e);
	if (!r)
		bwl_attach_say_opened(l->pins, host, a->nhost);
	return r;
}

int bwl_attach(struct bwl_attach *a, struct bwl_err *e)
{
	struct bwl_netdev host[BWL_MAX_PORTS], up[BWL_MAX_PORTS];
	struct bwl_load l = { .dir_fd = -1 };
	struct bwl_policy *pol = NULL;
	int r;

	r = bwl_attach_policy(a, &pol, e);
	if (!r)
		r = check_names(a, e);
	if (!r)
		r = bwl_attach_find(a, host, up, e);
	if (!r)
		r = bwl_hidden_attach(a->dir, e);
	if (!r)
		r = bwl_load_begin(a->dir, true, &l, e);
	if (!r)
		r = close_and_attach(&l, a, pol, host, up, e);
	bwl_policy_free(pol);
	bwl_load_end(&l);
	return r;
}
