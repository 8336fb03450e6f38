// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Are the ports still protected? Checked when the kernel reports a change of a link, a qdisc, a
 * filter or an address, and every 100 ms for what it does not report (programs). First everything
 * is closed, then it is reported. On a separate thread, which waits for no disk and no policy.
 *
 * The rules by input device (bwl/iif_rules.h) are repaired at once on the kernel's notification,
 * and then it is reported: while they are wrong the programs still close every way, but the second
 * lock is open.
 *
 * So are the sysctls (hook/port_sysctl.h), which are read every second.
 *
 * Ports that nothing has opened yet (from boot until verify is clean, or after a failed attach) are
 * only set down: opening checks the same things, and nobody would have to switch anything on again.
 *
 * Pins that are gone without a detach (hook/attached.h) take the programs of links with them: then
 * the same happens, and the maps are kept until others come.
 *
 * Another tool that holds the pins' lock is changing the same things (attach, upgrade, detach): the
 * thread waits for it, but not for ever.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "journal/journal.h"
#include "hook/port_programs.h"
#include "hook/iif_rules.h"
#include "hook/port_sysctl.h"
#include "hook/attached.h"
#include "parts.h"
#include "thread.h"

#define EVERY_MS 100
#define PATIENCE_NS 15000000000ULL
#define RULES_NS 1000000000ULL
#define REPEAT_NS (600 * RULES_NS) /* a lasting fault is reported again */

struct watch {
	struct agent_thread thread;
	struct bwl_pins *pins; /* they outlive the thread */
	uint32_t ctl_id;
	int news, lock;
	uint64_t since_ns; /* since when something is wrong under another's lock; 0: not */
	bool closed;
	bool told;          /* it was reported that ports are not opened */
	bool news_of_rules; /* check the rules now, not at the next whole second */
	uint64_t rules_ns;  /* when they were last checked */
	uint64_t said_ns;   /* last report about the rules: somebody may keep changing them back */
	uint64_t sysctl_ns, told_ns; /* the same for sysctls, of which the kernel tells nothing */
};

static int open_news(void)
{
	struct sockaddr_nl at = { .nl_family = AF_NETLINK,
				  .nl_groups = RTMGRP_LINK | RTMGRP_TC | RTMGRP_IPV4_IFADDR |
					       RTMGRP_IPV6_IFADDR | 1U << (RTNLGRP_IPV4_RULE - 1) |
					       1U << (RTNLGRP_IPV6_RULE - 1) };
	BWL_AUTO_CLOSE int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
				       NETLINK_ROUTE);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)))
		return -1;
	return bwl_take_fd(&fd);
}

static bool is_of_rules(const char *buf, size_t n)
{
	const struct nlmsghdr *h = (const void *)buf;

	return n >= sizeof(*h) && (h->nlmsg_type == RTM_NEWRULE || h->nlmsg_type == RTM_DELRULE);
}

/* Any notification, or a lost one, leads to the same look. */
static void await_news(struct watch *w)
{
	struct pollfd p = { .fd = w->news, .events = POLLIN };
	_Alignas(struct nlmsghdr) char buf[16384];
	ssize_t n;

	if (poll(&p, w->news >= 0, EVERY_MS) <= 0)
		return;
	while ((n = recv(w->news, buf, sizeof(buf), 0)) > 0 || (n < 0 && errno == ENOBUFS))
		w->news_of_rules |= n < 0 || is_of_rules(buf, (size_t)n);
}

/* true: the lock is ours, or somebody else has held it for too long. */
static bool may_judge(struct watch *w)
{
	uint64_t now = bwl_now_ns();

	if (!flock(w->lock, LOCK_EX | LOCK_NB))
		return true;
	if (!w->since_ns)
		w->since_ns = now;
	return now - w->since_ns > PATIENCE_NS;
}

static unsigned ports_down(struct bwl_pins *p)
{
	struct bwl_netdev d;
	unsigned i, failed = 0;

	/* By interface index: another device may have the port's name now. */
	for (i = 0; i < BWL_MAX_PORTS; i++) {
		if (!p->dev[i].ifindex || p->dev[i].kind != BWL_PORT_HOST ||
		    bwl_port_device(&p->dev[i], &d, NULL))
			continue;
		bwl_port_shuts(p, i); /* so that it is no sign of tampering */
		failed += bwl_netdev_set_up(d.ifindex, false, NULL) != 0;
	}
	return failed;
}

/* Something else may have set them up. */
static void keep_down(struct watch *w, const struct bwl_err *e)
{
	ports_down(w->pins);
	if (!w->told)
		agent_later(LOG_WARNING, "gate",
			    "%s; the host ports were not opened yet and stay down", e->text);
	w->told = true;
}

static void close_maps(struct watch *w, const struct bwl_err *e)
{
	unsigned failed;

	bwl_journal_stop(w->pins);
	failed = ports_down(w->pins);
	w->closed = true;
	agent_tamper(w->pins, &(struct agent_sign){ .input = BWL_TAMPER_program, .what = e->text },
		     false);
	agent_later(
		LOG_ALERT, "gate",
		"%s; everything is stopped, and the host ports are down%s; once the cause is removed: bwlimit-load attach, then bwlimit-ctl stop --off",
		e->text, failed ? " (not all could be set down)" : "");
}

static bool is_upgrading(const struct watch *w)
{
	return *(const volatile __u32 *)&w->pins->ctl->stop == BWL_UPGRADING;
}

static bool is_stopped(const struct watch *w)
{
	return *(const volatile __u32 *)&w->pins->ctl->stop == BWL_STOPPED;
}

static bool is_not_opened(const struct watch *w)
{
	uint32_t is = *(const volatile __u32 *)&w->pins->ctl->stop;

	return is == BWL_CLOSED || is == BWL_CLOSED_UNJUDGED;
}

/* The first fault, if these maps are still to be guarded. */
static bool is_wrong(const struct watch *w, enum bwl_pins_end *end, struct bwl_err *e)
{
	bool wrong = bwl_programs_look(w->pins, w->ctl_id, e);

	/* Later than the programs: a detach removes them first. */
	*end = bwl_pins_end(w->pins, e);
	return *end == BWL_PINS_REMOVED || (*end == BWL_PINS_THERE && wrong && !is_upgrading(w));
}

/*
 * An upgrade explains what is seen only while a tool is at it, which holds the lock. If it was
 * killed, the programs drop everything until it is run again, those of the version before and of
 * this one alike; but they have to be there.
 */
static void look_at_upgrade(struct watch *w)
{
	struct bwl_err e = { 0 };

	if (w->closed || flock(w->lock, LOCK_EX | LOCK_NB))
		return;
	if (bwl_pins_are_there(w->pins) && is_upgrading(w) &&
	    bwl_programs_look(w->pins, BWL_ANY_MAPS, &e)) {
		ports_down(w->pins);
		w->closed = true;
		agent_tamper(w->pins,
			     &(struct agent_sign){ .input = BWL_TAMPER_program, .what = e.text },
			     false);
		agent_later(
			LOG_ALERT, "gate",
			"%s, after an upgrade that was not finished; the host ports are down; once the cause is removed: bwlimit-load upgrade, then bwlimit-load up",
			e.text);
	}
	flock(w->lock, LOCK_UN);
}

static void look(struct watch *w)
{
	struct bwl_err e = { 0 };
	enum bwl_pins_end end;
	/* It may end, or begin, while the programs are looked at. */
	bool upgrading = is_upgrading(w);

	if (!is_wrong(w, &end, &e)) {
		if (upgrading)
			look_at_upgrade(w);
		if (end != BWL_PINS_THERE || upgrading || is_upgrading(w))
			return;
		if (w->closed)
			agent_later(
				LOG_NOTICE, "gate", "the ports are protected again%s",
				is_stopped(w)
					? "; the stop switch stays on until bwlimit-ctl stop --off"
					: "");
		w->closed = w->told = false;
		w->since_ns = 0;
		return;
	}
	if (w->closed || !may_judge(w))
		return;
	/*
	 * Check again: a device may have gone, or a tool have finished, meanwhile. A detach has set
	 * the ports down and removed the maps.
	 */
	e = (struct bwl_err){ 0 };
	if (is_wrong(w, &end, &e)) {
		if (is_not_opened(w) && end == BWL_PINS_THERE)
			keep_down(w, &e);
		else
			close_maps(w, &e);
	}
	flock(w->lock, LOCK_UN);
	w->since_ns = 0;
}

static void say_rules(struct watch *w, const struct bwl_err *wrong, int r, const struct bwl_err *e)
{
	uint64_t now = bwl_now_ns();

	if (w->said_ns && now - w->said_ns < RULES_NS)
		return;
	w->said_ns = now;
	if (r)
		agent_later(LOG_ALERT, "rules",
			    "%s; it cannot be repaired: %s; bwlimit-load attach", wrong->text,
			    e->text);
	else
		agent_later(LOG_ALERT, "rules", "%s; it was repaired", wrong->text);
}

/* Until attach has come that far, the management devices may be unknown: nothing is touched. */
static void look_at_rules(struct watch *w)
{
	struct bwl_err wrong = { 0 }, e = { 0 };
	uint64_t now = bwl_now_ns();

	if (!w->news_of_rules && now - w->rules_ns < RULES_NS)
		return;
	w->rules_ns = now;
	w->news_of_rules = false;
	if (!bwl_lock_was_set(w->pins) || !bwl_lock_check(w->pins, &wrong))
		return;
	if (flock(w->lock, LOCK_EX | LOCK_NB)) {
		w->news_of_rules = true; /* a tool is changing them: look again */
		return;
	}
	/*
	 * After a detach the lock is free, too. Without this check the rules of the removed maps
	 * would be put back, and those that a new attach is setting would be removed as left over.
	 */
	wrong = (struct bwl_err){ 0 };
	if (bwl_pins_are_there(w->pins) && bwl_lock_was_set(w->pins) &&
	    bwl_lock_check(w->pins, &wrong))
		say_rules(w, &wrong, bwl_lock_apply(w->pins, &e), &e);
	flock(w->lock, LOCK_UN);
}

static void say_wrong(void *arg, const char *what, const char *todo)
{
	(void)arg;
	(void)todo;
	agent_later(LOG_ALERT, "sysctl", "%s", what);
}

/* Every second: the kernel tells of few of them. */
static void look_at_sysctls(struct watch *w)
{
	uint64_t now = bwl_now_ns();
	bool tell;
	int r;

	if (now - w->sysctl_ns < RULES_NS)
		return;
	w->sysctl_ns = now;
	if (!bwl_lock_was_set(w->pins) || !bwl_port_sysctl_look(w->pins, NULL, NULL))
		return;
	if (flock(w->lock, LOCK_EX | LOCK_NB))
		return; /* a tool sets them */
	if (bwl_pins_are_there(w->pins)) {
		/* What can be set right is told each time; a lasting fault once in ten minutes. */
		tell = !w->told_ns || now - w->told_ns > REPEAT_NS;
		if (tell)
			bwl_port_sysctl_look(w->pins, say_wrong, NULL);
		r = bwl_port_sysctl_repair(w->pins);
		if (tell && r)
			agent_later(LOG_ALERT, "sysctl", "cannot be set right: %s; %s",
				    strerror(-r), "bwlimit-load attach");
		else if (tell)
			agent_later(LOG_NOTICE, "sysctl", "set right");
		w->told_ns = !r ? 0 : tell ? now : w->told_ns;
	}
	flock(w->lock, LOCK_UN);
}

static void run(void *arg)
{
	struct watch *w = arg;

	while (agent_thread_goes_on(&w->thread)) {
		look(w);
		look_at_rules(w);
		look_at_sysctls(w);
		await_news(w);
	}
}

static void end(struct watch *w)
{
	if (w->news >= 0)
		close(w->news);
	if (w->lock >= 0)
		close(w->lock);
	free(w);
}
BWL_AUTO_DEFINE(end, struct watch *)

int agent_watch_start(struct agent *a, void **ret_part, struct bwl_err *e)
{
	BWL_AUTO(end) struct watch *w = calloc(1, sizeof(*w));
	struct bpf_map_info info = { 0 };
	__u32 len = sizeof(info);
	int r;

	if (!w)
		return bwl_fail(e, ENOMEM, "out of memory");
	w->pins = a->pins;
	w->news = -1;
	w->lock = open(w->pins->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (w->lock < 0 || bpf_obj_get_info_by_fd(w->pins->fd[BWL_PIN_ctl], &info, &len))
		return bwl_fail(e, errno, "cannot check %s: %s", w->pins->dir, strerror(errno));
	w->ctl_id = info.id;
	w->news = open_news();
	if (w->news < 0) /* then only every 100 ms */
		agent_log(LOG_WARNING, "gate", "cannot read the kernel's notifications: %s",
			  strerror(errno));
	r = agent_thread_start(&w->thread, run, w, e);
	if (!r)
		*ret_part = bwl_take_ptr(&w);
	return r;
}

void agent_watch_stop(struct agent *a, void *part)
{
	struct watch *w = part;

	(void)a;
	agent_thread_stop(&w->thread);
	end(w);
}
