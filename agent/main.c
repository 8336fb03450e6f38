// SPDX-License-Identifier: GPL-2.0-or-later
/* bwlimitd: options, the loop, and what hangs on the pins coming and going. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>
#include <bpf/libbpf.h>
#include <systemd/sd-daemon.h>
#include "agent.h"
#include "tpm/tpm.h"
#include "audit/act.h"
#include "bwl/units.h"

#define SECOND_US 1000000ULL
#define HISTORY_BYTES (512ULL << 20)
#define HISTORY_LEAST (8ULL << 20)
#define HISTORY_MOST (1ULL << 40)
#define TPM_EVERY_NS (3600 * 1000000000ULL)
#define RECONCILE_US (60 * SECOND_US)

static const char usage_text[] =
	"usage: bwlimitd [OPTIONS]\n"
	"\n"
	"Keeps the desired policy in force, renews the heartbeat, logs what the data plane reports,\n"
	"and tells it of the kernel's SAs. Enforcement does not need it: while it is gone nothing\n"
	"changes until the heartbeat's deadline, then every grant falls to its floor.\n"
	"\n"
	"options:\n"
	"  --policy FILE     what is desired (" AGENT_POLICY ")\n"
	"  --state-dir DIR   what must survive a restart (" AGENT_STATE_DIR ")\n"
	"  --pin-dir DIR     the pinned maps (BWLIMIT_PIN_DIR, or " BWL_PIN_DIR ")\n"
	"  --tpm WORD        is the ledger bound to a TPM's counter, so that an old copy of it is found\n"
	"                    out: auto (where one answers), required or none (auto)\n"
	"  --tpm-every TIME  how often that counter is raised at most, but for bursts (1h)\n"
	"  --history-size SIZE  how much history may be on disk (512mb); 0b: none is kept\n"
	"  --totals TIME     a record of what every port passed and dropped: every 1s or more (1h), or none\n"
	"  --once            reconcile, renew the heartbeat and end; 1 when something kept it from it\n"
	"  --json            one JSON object a line on standard output instead of log lines\n"
	"  --help, --version\n"
	"\n"
	"BWLIMIT_TPM_TCTI: where the TPM is, as tpm2-tss says it (" TPM_TCTI ")\n"
	"\n"
	"examples:\n"
	"  bwlimitd --once                    put the file in force if it changed, and look\n"
	"  journalctl -u bwlimitd -p notice   what it said\n";

struct daemon {
	struct agent a;
	struct stat maps;	/* what the pins were when they were opened */
	sd_event_source *beat;
	uint64_t totals_us;	/* 0: none */
	bool told_detached;
};

static int stat_maps(const struct agent *a, struct stat *st)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/maps/%s", bwl_pin_dir(a->pin_dir), bwl_pin_name(BWL_PIN_ctl));
	return stat(path, st);
}

static void leave_pins(struct daemon *d)
{
	agent_tamper_stop(&d->a);
	agent_watch_stop(&d->a);
	agent_closures_stop(&d->a);
	agent_tracking_stop(&d->a);
	agent_ledger_stop(&d->a);
	agent_history_stop(&d->a);
	agent_events_stop(&d->a);
	reconcile_forget(d->a.reconcile);
	bwl_pins_close(d->a.pins);
	d->a.pins = NULL;
}

static int find_pins(struct daemon *d)
{
	struct bwl_err e = { 0 };
	int r;

	r = stat_maps(&d->a, &d->maps) ? bwl_fail(&e, errno, "nothing is attached at %s: %s",
						  bwl_pin_dir(d->a.pin_dir), strerror(errno))
				       : bwl_pins_open(d->a.pin_dir, true, &d->a.pins, &e);
	if (r) {
		if (!d->told_detached)
			agent_log_err(LOG_WARNING, "detached", &e);
		d->told_detached = true;
		return r;
	}
	d->told_detached = false;
	sd_notify(0, "STATUS=attached");
	return 0;
}

/* Every second: have the maps come, gone, or been replaced? */
static bool look_for_pins(struct daemon *d)
{
	struct stat st;

	if (d->a.pins && (stat_maps(&d->a, &st) || st.st_ino != d->maps.st_ino ||
			  st.st_dev != d->maps.st_dev)) {
		agent_log(LOG_WARNING, "detached", "the maps were detached or replaced");
		sd_notify(0, "STATUS=detached: waiting for bwlimit-load attach");
		leave_pins(d);
		d->told_detached = true;
	}
	return d->a.pins || !find_pins(d);
}

static int again(sd_event_source *s, uint64_t us)
{
	sd_event_source_set_time_relative(s, us);
	return sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
}

static void look(struct daemon *d)
{
	bool had = d->a.pins;

	if (!look_for_pins(d))
		return;
	agent_watch_start(&d->a);
	agent_closures_start(&d->a);
	agent_tamper_start(&d->a);
	agent_events_start(&d->a);
	agent_ledger_start(&d->a);
	agent_ledger_watch(&d->a);
	agent_history_start(&d->a);
	if (had)
		return;
	reconcile_run(d->a.reconcile);
	again(d->beat, 0);
}

static int on_second(sd_event_source *s, uint64_t us, void *arg)
{
	struct daemon *d = arg;

	(void)us;
	look(d);
	if (d->a.pins && !d->a.once) {
		reconcile_held(d->a.reconcile);
		agent_keep_neighbours(&d->a);
		agent_tracking_update(&d->a);	/* also of a policy on trial */
		if (bwl_pace_refresh(d->a.pins))
			agent_log(LOG_WARNING, "pace", "%s", bwl_is_paced(d->a.pins)
				  ? "every uplink has fq: mode shape paces"
				  : "an uplink has no fq any more: mode shape polices");
	}
	return again(s, SECOND_US);
}

static int on_minute(sd_event_source *s, uint64_t us, void *arg)
{
	struct daemon *d = arg;

	(void)us;
	reconcile_run(d->a.reconcile);
	return again(s, RECONCILE_US);
}

static int on_beat(sd_event_source *s, uint64_t us, void *arg)
{
	struct daemon *d = arg;
	uint64_t at = agent_beat(&d->a), now = bwl_now_ns();

	(void)us;
	return again(s, at > now ? (at - now) / 1000 : 0);
}

static int on_totals(sd_event_source *s, uint64_t us, void *arg)
{
	struct daemon *d = arg;

	(void)us;
	agent_totals(&d->a);
	return again(s, d->totals_us);
}

static int on_source(sd_event_source *s, int fd, uint32_t revents, void *arg)
{
	struct daemon *d = arg;

	(void)s, (void)fd, (void)revents;
	d->a.source->ops->drain(d->a.source);
	reconcile_run(d->a.reconcile);
	again(d->beat, 0);	/* the new policy's heartbeat may be shorter */
	return 0;
}

static int add_timer(struct daemon *d, uint64_t us, sd_event_time_handler_t fn,
		     sd_event_source **ret)
{
	return sd_event_add_time_relative(d->a.loop, ret, CLOCK_BOOTTIME, us, 1000, fn, d);
}

static int set_up(struct daemon *d)
{
	sd_event *l;
	sigset_t set;
	int fd = d->a.source->ops->fd(d->a.source), r;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigprocmask(SIG_BLOCK, &set, NULL);
	r = sd_event_default(&d->a.loop);
	l = d->a.loop;
	if (r >= 0)
		r = sd_event_add_signal(l, NULL, SIGTERM, NULL, NULL);
	if (r >= 0)
		r = sd_event_add_signal(l, NULL, SIGINT, NULL, NULL);
	if (r >= 0)
		r = sd_event_set_watchdog(l, true);
	if (r >= 0)
		r = add_timer(d, SECOND_US, on_second, NULL);
	if (r >= 0)
		r = add_timer(d, RECONCILE_US, on_minute, NULL);
	if (r >= 0)
		r = add_timer(d, 0, on_beat, &d->beat);
	if (r >= 0 && d->totals_us)
		r = add_timer(d, d->totals_us, on_totals, NULL);
	if (r >= 0 && fd >= 0)
		r = sd_event_add_io(l, NULL, fd, EPOLLIN, on_source, d);
	return r;
}

static int run_daemon(struct daemon *d)
{
	int r = set_up(d);

	agent_record_start();
	agent_after_start();
	if (r >= 0) {
		agent_log(LOG_NOTICE, "start", "started: %s is desired", d->a.source->name);
		look(d);
		sd_notify(0, "READY=1");
		r = sd_event_loop(d->a.loop);
		sd_notify(0, "STOPPING=1");
	}
	if (d->totals_us)
		agent_totals(&d->a);
	leave_pins(d);
	agent_after_stop();
	sd_event_unref(d->a.loop);
	if (r < 0)
		agent_log(LOG_CRIT, "stop", "the loop failed: %s", strerror(-r));
	else
		agent_log(LOG_NOTICE, "stop", "stopped; the data plane goes on, grants until the heartbeat's deadline");
	agent_record_stop();
	return r;
}

static int run_once(struct daemon *d)
{
	int r = find_pins(d);

	if (!r)
		r = reconcile_run(d->a.reconcile);
	if (d->a.pins)
		agent_beat(&d->a);
	leave_pins(d);
	return r;
}

/* Two would write one ledger and disagree about what is desired. */
static int take_state_dir(const struct daemon *d, struct bwl_err *e)
{
	int fd;

	if (d->a.once)
		return 0;
	fd = open(d->a.state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return bwl_fail(e, errno, "cannot open %s: %s", d->a.state_dir, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		return bwl_fail(e, EBUSY, "another bwlimitd uses %s", d->a.state_dir);
	}
	return 0;	/* open as long as we live */
}

static int run(struct daemon *d)
{
	struct bwl_err e = { 0 };
	int r = 0;

	d->a.reconcile = reconcile_new(&d->a);
	if (!d->a.reconcile)
		r = bwl_fail(&e, ENOMEM, "out of memory");
	if (!r && mkdir(d->a.state_dir, 0700) && errno != EEXIST)
		agent_log(LOG_ERR, "state", "cannot make %s: %s", d->a.state_dir, strerror(errno));
	if (!r)
		r = take_state_dir(d, &e);
	if (!r)
		r = agent_source_file(d->a.policy, &d->a.source, &e);
	if (r)
		agent_log_err(LOG_CRIT, "start", &e);
	else
		r = d->a.once ? run_once(d) : run_daemon(d);
	if (d->a.source)
		d->a.source->ops->free(d->a.source);
	reconcile_free(d->a.reconcile);
	return r < 0;
}

static bool take_tpm(struct agent *a, const char *word)
{
	static const char *const words[] = { [ANCHOR_AUTO] = "auto", [ANCHOR_REQUIRED] = "required",
					     [ANCHOR_NONE] = "none" };

	for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i], word)) {
			a->tpm = (enum anchor_mode)i;
			return true;
		}
	fprintf(stderr, "bwlimitd: --tpm '%.64s': auto, required or none\n", word);
	return false;
}

static bool take_tpm_every(struct agent *a, const char *word)
{
	struct bwl_err e = { 0 };

	if (bwl_parse_time(word, &a->tpm_every_ns, &e)) {
		fprintf(stderr, "bwlimitd: --tpm-every: %s\n", e.text);
		return false;
	}
	if (a->tpm_every_ns)
		return true;
	fputs("bwlimitd: --tpm-every: more than 0\n", stderr);
	return false;
}

static bool take_history(struct agent *a, const char *word)
{
	struct bwl_err e = { 0 };
	uint64_t size = 0;
	int r = bwl_parse_size(word, &size, &e);

	if (!r && size && (size < HISTORY_LEAST || size > HISTORY_MOST))
		r = bwl_fail(&e, EINVAL, "%.32s is not 8mb to 1tb, nor 0b for none", word);
	if (r)
		fprintf(stderr, "bwlimitd: --history-size: %s\n", e.text);
	a->history_bytes = size;
	return !r;
}

static bool take_totals(struct daemon *d, const char *s)
{
	struct bwl_err e = { 0 };
	uint64_t ns = 0;

	if (strcmp(s, "none") && !bwl_parse_time(s, &ns, &e) && ns < 1000 * SECOND_US)
		bwl_fail(&e, ERANGE, "--totals '%.64s': a time of at least 1s, or none", s);
	if (e.code)
		bwl_err_print(&e, AGENT_PROGRAM, false);
	d->totals_us = ns / 1000;
	return !e.code;
}

int main(int argc, char **argv)
{
	static const struct option opts[] = {
		{ "policy", required_argument, NULL, 'p' }, { "state-dir", required_argument, NULL, 's' },
		{ "tpm", required_argument, NULL, 't' }, { "tpm-every", required_argument, NULL, 'e' },
		{ "history-size", required_argument, NULL, 'H' },
		{ "pin-dir", required_argument, NULL, 'd' }, { "once", no_argument, NULL, 'o' },
		{ "totals", required_argument, NULL, 'T' },
		{ "json", no_argument, NULL, 'j' }, { "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' }, { 0 },
	};
	struct daemon d = { .a = { .policy = AGENT_POLICY, .state_dir = AGENT_STATE_DIR,
				   .tpm_every_ns = TPM_EVERY_NS, .history_bytes = HISTORY_BYTES },
			    .totals_us = 3600 * SECOND_US };
	bool ok = true;
	int c;

	bwl_log_program(AGENT_PROGRAM);
	bwl_audit_tool();
	umask(077);
	tpm_quiet();
	libbpf_set_print(NULL);	/* it speaks of hooks that are looked at and empty */
	while ((c = getopt_long(argc, argv, "", opts, NULL)) != -1) {
		switch (c) {
		case 'p': d.a.policy = optarg; break;
		case 's': d.a.state_dir = optarg; break;
		case 'd': d.a.pin_dir = optarg; break;
		case 't': ok &= take_tpm(&d.a, optarg); break;
		case 'e': ok &= take_tpm_every(&d.a, optarg); break;
		case 'H': ok &= take_history(&d.a, optarg); break;
		case 'o': d.a.once = true; break;
		case 'T': ok &= take_totals(&d, optarg); break;
		case 'j': agent_log_json(true); break;
		case 'h': fputs(usage_text, stdout); return 0;
		case 'V':
			printf("bwlimitd %s\nTPM: %s\n", BWL_VERSION, tpm_is_built() ? "by tpm2-tss"
			       : "none, built without tpm2-tss");
			return 0;
		default: fputs("Try bwlimitd --help\n", stderr); return 2;
		}
	}
	if (!ok)
		return 2;
	if (optind < argc) {
		fprintf(stderr, "bwlimitd: unexpected '%.64s'\nTry bwlimitd --help\n", argv[optind]);
		return 2;
	}
	return run(&d);
}
