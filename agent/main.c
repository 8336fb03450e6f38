// SPDX-License-Identifier: GPL-2.0-or-later
/* bwlimitd: the loop, and what depends on whether the pins are there. parts.c lists its parts. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>
#include <bpf/libbpf.h>
#include <bwl/netdev.h>
#include <systemd/sd-daemon.h>
#include "bwl/output.h"
#include "documents/desired.h"
#include "enrolled/gate.h"
#include "options.h"
#include "parts.h"
#include "tpm/tpm.h"
#include "audit/tool_log.h"
#include "hook/attached.h"

#define SECOND_US 1000000ULL

struct daemon {
	struct agent a;
	struct stat maps;             /* identifies the pins that were opened */
	struct bwl_attached attached; /* as recorded */
	bool told_detached, told_removed;
	bool swapped; /* the next maps replace some that nobody has detached */
};

static int stat_maps(const struct agent *a, struct stat *st)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/maps/%s", bwl_pin_dir(a->pin_dir),
		 bwl_pin_name(BWL_PIN_ctl));
	return stat(path, st);
}

static void leave_pins(struct daemon *d, bool replaced)
{
	agent_parts_stop(&d->a, replaced);
	bwl_pins_close(d->a.pins);
	d->a.pins = NULL;
}

/* For the time when this process does not run: then nobody sees that a detach was none. */
static void note_attached(struct daemon *d)
{
	struct bwl_attached now;
	struct bwl_err e = { 0 };

	bwl_attached_of(d->a.pins, &now);
	if (d->a.once || !bwl_attached_differ(&now, &d->attached))
		return;
	if (bwl_attached_keep(d->a.pin_dir, &now, &e))
		agent_log_err(LOG_WARNING, "attached", &e);
	d->attached = now;
}

/* There are no pins, but a detach would have removed the record: these host ports are closed. */
static void close_removed(struct daemon *d)
{
	struct bwl_attached was;
	struct bwl_netdev dev;
	unsigned failed = 0;

	if (d->a.once || bwl_attached_read(d->a.pin_dir, &was))
		return;
	for (unsigned i = 0; i < was.n; i++)
		if (!bwl_netdev_get(was.host[i].name, &dev, NULL) &&
		    dev.ifindex == was.host[i].ifindex && dev.up)
			failed += bwl_netdev_set_up(dev.ifindex, false, NULL) != 0;
	if (!d->told_removed)
		agent_log(
			LOG_ALERT, "gate",
			"the pins in %s were removed while bwlimitd did not run, and nobody has detached; the host ports are down%s; bwlimit-load attach makes new maps, volumes start spent",
			bwl_pin_dir(d->a.pin_dir), failed ? " (not all could be set down)" : "");
	d->told_removed = true;
}

static void say_swapped(struct daemon *d)
{
	agent_tamper(
		d->a.pins,
		&(struct agent_sign){
			.input = BWL_TAMPER_program,
			.what = "the maps were replaced by others, and nobody has detached them" },
		false);
	d->swapped = false;
}

static int find_pins(struct daemon *d)
{
	struct bwl_err e = { 0 };
	int r;

	r = stat_maps(&d->a, &d->maps) ? bwl_fail(&e, errno, "nothing is attached at %s: %s",
						  bwl_pin_dir(d->a.pin_dir), strerror(errno))
				       : bwl_pins_open(d->a.pin_dir, true, &d->a.pins, &e);
	if (r && !d->told_detached)
		agent_log_err(LOG_WARNING, "detached", &e);
	d->told_detached = r;
	if (r == -ENOENT)
		close_removed(d);
	if (r)
		return r;
	sd_notify(0, "STATUS=attached");
	d->told_removed = false;
	memset(&d->attached, 0, sizeof(d->attached));
	if (d->swapped)
		say_swapped(d);
	return 0;
}

/* From here on local tools can only tighten these maps, whichever state directory they look at. */
static void note_enrolled(const struct daemon *d)
{
	if (bwl_is_enrolled_here() && !(bwl_enrolled(d->a.pins) & BWL_ENROLLED))
		bwl_enrolled_set(d->a.pins, BWL_ENROLLED);
}

/* Have other pins taken the place of these? Pins that are only gone are watch.c's, which closes. */
static bool are_left(struct daemon *d)
{
	enum bwl_pins_end end;
	struct stat st;

	if (!stat_maps(&d->a, &st) && st.st_ino == d->maps.st_ino && st.st_dev == d->maps.st_dev)
		return false;
	end = bwl_pins_end(d->a.pins, NULL);
	if (end == BWL_PINS_THERE) /* the same map, pinned again */
		return stat_maps(&d->a, &d->maps);
	if (end == BWL_PINS_REMOVED) {
		if (!d->told_removed)
			sd_notify(0, "STATUS=the pins were removed: bwlimit-load attach");
		d->told_removed = true;
		return false;
	}
	d->swapped = end == BWL_PINS_OTHER && !d->told_removed;
	return true;
}

/* Every second: have the maps appeared, gone, or been replaced? */
static void look(struct daemon *d)
{
	if (d->a.pins && are_left(d)) {
		agent_log(LOG_WARNING, "detached", "the maps were detached or replaced");
		sd_notify(0, "STATUS=detached: waiting for bwlimit-load attach");
		leave_pins(d, true);
		bwl_attached_forget(d->a.pin_dir);
		d->told_detached = true;
	}
	if (!d->a.pins && find_pins(d))
		return;
	note_attached(d);
	note_enrolled(d);
	agent_parts_run(&d->a);
}

static int on_second(sd_event_source *s, uint64_t us, void *arg)
{
	(void)us;
	look(arg);
	return agent_again(s, SECOND_US);
}

static int set_up(struct daemon *d)
{
	sigset_t set;
	int r;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	r = sd_event_default(&d->a.loop);
	if (r >= 0)
		r = sd_event_add_signal(d->a.loop, NULL, SIGTERM, NULL, NULL);
	if (r >= 0)
		r = sd_event_add_signal(d->a.loop, NULL, SIGINT, NULL, NULL);
	if (r >= 0)
		r = sd_event_set_watchdog(d->a.loop, true);
	if (r >= 0)
		r = agent_timer(&d->a, SECOND_US, on_second, d, NULL, NULL);
	return r;
}

/* All parts report through log_audit.c and deferred.c: these start first and stop last. */
static int run_daemon(struct daemon *d)
{
	int r = set_up(d);

	agent_record_start();
	agent_deferred_start();
	if (r >= 0) {
		agent_log(LOG_NOTICE, "start", "started: %s is desired", d->a.source->name);
		look(d);
		sd_notify(0, "READY=1");
		r = sd_event_loop(d->a.loop);
		sd_notify(0, "STOPPING=1");
	}
	d->a.ends = true;
	leave_pins(d, false);
	agent_deferred_stop();
	sd_event_unref(d->a.loop);
	if (r < 0)
		agent_log(LOG_CRIT, "stop", "the loop failed: %s", strerror(-r));
	else
		agent_log(
			LOG_NOTICE, "stop",
			"stopped; the data plane goes on; grants hold until the heartbeat's deadline");
	agent_record_stop();
	return r;
}

static int run_once(struct daemon *d)
{
	int r = find_pins(d);

	if (r)
		return r;
	note_enrolled(d);
	r = agent_reconcile_once(&d->a);
	agent_beat(&d->a);
	leave_pins(d, false);
	return r;
}

/* Two agents would write one ledger and disagree about the desired policy. */
static int take_state_dir(const struct daemon *d, struct bwl_err *e)
{
	BWL_AUTO_CLOSE int fd = -1;

	if (d->a.once)
		return 0;
	fd = open(d->a.state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return bwl_fail(e, errno, "cannot open %s: %s", d->a.state_dir, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB))
		return bwl_fail(e, EBUSY, "another bwlimitd uses %s", d->a.state_dir);
	bwl_take_fd(&fd); /* stays open as long as the process lives */
	return 0;
}

static int run(struct daemon *d)
{
	struct bwl_err e = { 0 };
	int r;

	/* Each file in it has its own mode; readers of the history must be able to pass. */
	if (mkdir(d->a.state_dir, 0700) ? errno != EEXIST : chmod(d->a.state_dir, 0711))
		agent_log(LOG_ERR, "state", "cannot make %s: %s", d->a.state_dir, strerror(errno));
	r = take_state_dir(d, &e);
	if (!r)
		r = agent_source_file(d->a.policy, &d->a.source, &e);
	if (!r)
		r = docs_source_new(d->a.source, d->a.state_dir, &d->a.source, &e);
	if (r) {
		agent_log_err(LOG_CRIT, "start", &e);
		return r;
	}
	r = d->a.once ? run_once(d) : run_daemon(d);
	d->a.source->ops->free(d->a.source);
	return r;
}

static int start(int argc, char **argv)
{
	struct daemon d = { 0 };
	int r;

	bwl_audit_tool();
	umask(077);
	tpm_quiet();
	libbpf_set_print(NULL); /* it complains about every hook that is queried and empty */
	r = agent_options(argc, argv, &d.a);
	bwl_enrolled_gate(d.a.state_dir);
	return r >= 0 ? r : run(&d) < 0;
}

int main(int argc, char **argv)
{
	bwl_output_begin(AGENT_PROGRAM);
	return bwl_output_end(start(argc, argv));
}
