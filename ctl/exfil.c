// SPDX-License-Identifier: GPL-2.0-or-later
/* `exfil`: the shortest time in which a large amount could leave under a policy. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <bwl/bytes.h>
#include <bwl/group.h>
#include <bwl/pci.h>
#include "ctl.h"

#define BUDGET_MAX 4096 /* bytes of budget.json */

/*
 * Network cards of this machine that are not a DPU's and have no device that is a port or
 * management.
 */
static size_t unseen_nics(const struct bwl_pins *pins)
{
	const char *dev[BWL_MAX_PORTS], *first;
	struct bwl_pci_named named = { dev, 0 };
	struct bwl_pci_nic *nic;
	size_t n, unseen;

	for (unsigned i = 0; i < BWL_MAX_PORTS; i++)
		if (*pins->dev[i].name)
			dev[named.n++] = pins->dev[i].name;
	if (bwl_pci_nics(&nic, &n, NULL))
		return 0;
	unseen = bwl_pci_unseen(nic, n, &named, 1, &first);
	free(nic);
	return unseen;
}

/* The policy of --policy, or the one in force together with this machine's other ways out. */
static int get_policy(struct ctl *c, const char *file, struct bwl_policy **ret, size_t *ret_unseen)
{
	struct bwl_pins *pins;
	int r;

	if (file)
		return bwl_policy_load(file, bwl_now_ns(), time(NULL), ret, &c->err);
	r = bwl_pins_open(c->pin_dir, false, &pins, &c->err);
	if (r)
		return r;
	if (bwl_active_slot(pins) == BWL_NO_SLOT) {
		bwl_fail(&c->err, ENOENT, "no policy has been applied: nothing can leave");
		r = bwl_hint(&c->err, "for a policy file: bwlimit-ctl exfil --policy FILE");
	} else {
		r = bwl_policy_read(pins, ret, &c->err);
	}
	*ret_unseen = unseen_nics(pins);
	bwl_pins_close(pins);
	return r;
}

static json_t *warnings(const struct bwl_policy *p, const struct bwl_exfil_result *x, bool one_tray,
			size_t unseen)
{
	json_t *a = json_array();
	size_t shape = 0;

	for (size_t i = 0; i < p->npeers; i++)
		shape += bwl_mode_paces(p->peers[i].mode) && p->peers[i].grant.present;
	if (one_tray)
		json_array_append_new(
			a,
			json_string(
				"one tray is not the site: give --trays N for all trays with this policy"));
	if (unseen)
		json_array_append_new(
			a,
			json_sprintf(
				"this machine has %zu port%s that bwlimit does not see: what leaves by %s has no limit (bwlimit-load probe)",
				unseen, BWL_S(unseen), unseen == 1 ? "it" : "them"));
	if (x->unlimited)
		json_array_append_new(
			a,
			json_sprintf(
				"exits without a limit of their own (mode monitor, or no rate): %zu",
				x->unlimited));
	if (shape)
		json_array_append_new(
			a,
			json_sprintf(
				"mode shape or mark may be late by the horizon, which counts as burst (%zu peer%s)",
				shape, BWL_S(shape)));
	if (x->contained)
		json_array_append_new(
			a,
			json_sprintf(
				"contained peers are not counted, their own DPUs must limit them: %zu",
				x->contained));
	return a;
}

/* The directory is bwlimit-export's, which may be compromised: no link, no FIFO, no long text. */
static json_t *read_budget(const char *path)
{
	BWL_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	BWL_AUTO_FREE char *text = NULL;
	struct stat st;
	size_t len;

	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) ||
	    bwl_bytes_read(fd, BUDGET_MAX, &text, &len, NULL))
		return NULL;
	return json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
}

/*
 * Flow records that bwlimit-export sends: the option, otherwise its state, if it was ever started
 * here. If that cannot be read, no time is reported without it.
 */
static int get_records(struct ctl *c, const char *volume, const char *dir, bool here,
		       struct bwl_lim *ret)
{
	json_int_t most, window;
	char path[PATH_MAX];
	json_t *o;
	int r;

	*ret = (struct bwl_lim){ .rate_bps = BWL_NO_RATE, .has_volume = true };
	if (volume) {
		r = bwl_parse_volume(volume, &ret->volume, &ret->window_ns, &c->err);
		ret->present = !r && ret->volume;
		return r ? CTL_USAGE : 0;
	}
	snprintf(path, sizeof(path), "%s/budget.json", dir);
	if (!here || (access(path, F_OK) && errno == ENOENT))
		return 0;
	o = read_budget(path);
	most = json_integer_value(json_object_get(o, "budget_bytes"));
	window = json_integer_value(json_object_get(o, "budget_window_ns"));
	json_decref(o);
	ret->volume = (uint64_t)most;
	ret->window_ns = (uint64_t)window;
	if (most <= 0 || window <= 0) {
		bwl_fail(&c->err, EACCES,
			 "cannot read from %s how many bytes of flow records may leave", path);
		return bwl_hint(&c->err, "as a member of " BWL_GROUP_READ
					 ", or give it: --records \"100mb per 1d\"");
	}
	ret->present = ret->volume;
	return 0;
}

static json_t *curve(const double *at)
{
	json_t *a = json_array();

	for (unsigned i = 0; i < BWL_EXFIL_POINTS; i++)
		json_array_append_new(a, bwl_json_real(at[i]));
	return a;
}

static void print_json(const struct bwl_exfil_args *a, const struct bwl_exfil_result *x,
		       json_t *warn)
{
	json_t *o = bwl_doc("exfil");

	json_object_set_new(o, "size_bytes", bwl_json_u64(a->size));
	json_object_set_new(o, "compression", json_real(a->compression));
	json_object_set_new(o, "tray_count", bwl_json_u64(a->trays));
	json_object_set_new(o, "least_s", bwl_json_real(x->seconds));
	json_object_set_new(o, "never", json_boolean(isinf(x->seconds)));
	json_object_set_new(o, "long_run_bits_per_second", bwl_json_real(x->rate_bps));
	json_object_set_new(o, "at_once_bytes", bwl_json_real(x->at_once));
	json_object_set_new(o, "binding", bwl_json_text(*x->binding ? x->binding : NULL));
	json_object_set_new(o, "exit_count", bwl_json_u64(x->exits));
	json_object_set_new(o, "contained_count", bwl_json_u64(x->contained));
	json_object_set_new(o, "unlimited_count", bwl_json_u64(x->unlimited));
	json_object_set_new(o, "records_bytes",
			    a->records.present ? bwl_json_u64(a->records.volume) : json_null());
	json_object_set_new(o, "curve_bytes", a->curve ? curve(a->curve) : json_null());
	json_object_set_new(o, "warnings", json_incref(warn));
	bwl_doc_print(o);
}

static void print_human(const struct bwl_exfil_args *a, const struct bwl_exfil_result *x)
{
	char size[BWL_UNIT_BUF], text[BWL_UNIT_BUF];

	bwl_human_size((double)a->size, size);
	bwl_put(stdout, "%s", size);
	if (a->compression > 1)
		printf(", compressed %g times,", a->compression);
	bwl_put(stdout, " through %llu tray%s: %s%s\n", (unsigned long long)a->trays,
		BWL_S(a->trays), isinf(x->seconds) ? "" : "at least ",
		bwl_human_time(x->seconds, text));
	puts("");
	bwl_put(stdout, "  binds      %s\n", *x->binding ? x->binding : "-");
	bwl_put(stdout, "  long run   %s a tray\n", bwl_human_rate(x->rate_bps, text));
	bwl_put(stdout, "  at once    %s a tray\n", bwl_human_size(x->at_once, text));
	printf("  exits      %zu, and %zu contained that are not counted\n", x->exits,
	       x->contained);
	if (a->records.present)
		bwl_put(stdout, "  records    %s per %s, of flows, by bwlimit-export\n",
			bwl_format_size(a->records.volume, size),
			a->records.window_ns ? bwl_format_time(a->records.window_ns, text)
					     : "ever");
}

static int exfil(struct ctl *c, int argc, char **argv)
{
	const char *size = NULL, *compression = NULL, *trays = NULL, *file = NULL;
	const char *records = NULL, *export_dir = "/var/lib/bwlimit-export";
	bool points = false;
	size_t unseen = 0;
	const struct ctl_opt opts[] = {
		{ "--size", NULL, &size },
		{ "--compression", NULL, &compression },
		{ "--trays", NULL, &trays },
		{ "--policy", NULL, &file },
		{ "--curve", &points, NULL },
		{ "--records", NULL, &records },
		{ "--export-state", NULL, &export_dir },
		{ NULL, NULL, NULL },
	};
	struct bwl_exfil_args a = { .compression = 1, .trays = 1 };
	double amounts[BWL_EXFIL_POINTS];
	struct bwl_exfil_result x = { 0 };
	struct bwl_policy *pol = NULL;
	json_t *warn;
	char *end;
	int r;

	r = ctl_only_opts(c, argc, argv, opts);
	if (r)
		return r;
	if (!size)
		return ctl_usage(c, "--size is missing: how many bytes must not leave");
	if (bwl_parse_size(size, &a.size, &c->err))
		return CTL_USAGE;
	if (!a.size)
		return ctl_usage(c, "--size must be at least one byte");
	if (compression) {
		a.compression = strtod(compression, &end);
		if (end == compression || *end || !(a.compression >= 1 && a.compression <= 1e6))
			return ctl_usage(c,
					 "'%.64s' is not a compression: a number from 1 to 1000000",
					 compression);
	}
	if (trays && ctl_number(c, "a number of trays", trays, 100000000, &a.trays))
		return CTL_USAGE;
	r = get_records(c, records, export_dir, !file, &a.records);
	if (r)
		return r;
	r = get_policy(c, file, &pol, &unseen);
	if (r)
		return r;
	a.curve = points ? amounts : NULL;
	r = bwl_exfil(pol, &a, &x, &c->err);
	if (!r) {
		warn = warnings(pol, &x, !trays, unseen);
		if (c->json)
			print_json(&a, &x, warn);
		else
			print_human(&a, &x);
		for (size_t i = 0; !c->json && i < json_array_size(warn); i++)
			bwl_warn("%s", json_string_value(json_array_get(warn, i)));
		json_decref(warn);
	}
	bwl_policy_free(pol);
	return r;
}

const struct ctl_cmd ctl_exfil_cmds[] = {
	{ "exfil", NULL,
	  "--size SIZE [--compression N] [--trays N] [--policy FILE] [--records VOLUME] [--export-state DIR] [--curve]",
	  "The least time in which that much could leave, and which limit binds",
	  "Counts every peer that is not `contained`, with bursts, volumes, zone, port and node limits,\n"
	  "under the policy in force or the one in FILE.\n\n"
	  "  --records VOLUME    flow records that leave, as \"100mb per 1d\": a host chooses what is in them. Default\n"
	  "                      for the policy in force: what bwlimit-export on this machine may send\n"
	  "  --export-state DIR  state folder of bwlimit-export (/var/lib/bwlimit-export)\n"
	  "  --curve             with --json, curve_bytes: what could have left after 2^(i/8) seconds, i from 0\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl exfil --size 1tb --compression 16 --trays 512\n"
	  "  bwlimit-ctl exfil --size 1tb --policy tray-7.yaml --json\n",
	  exfil },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
