// SPDX-License-Identifier: GPL-2.0-or-later
/* See dev.h. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "bwl/cleanup.h"
#include "bwl/bytes.h"
#include "dev.h"
#include "signed/text.h"

static int folder(const struct dev *d, const char *a, const char *b, struct bwl_err *e)
{
	char path[DEV_PATH];

	if (!dev_path(d, path, a, b))
		return bwl_fail(e, ENAMETOOLONG, "'%.80s…' is too long", d->dir);
	if (mkdir(path, 0700) && errno != EEXIST)
		return bwl_fail(e, errno, "cannot make the folder '%s': %m", path);
	return 0;
}

static int folders(const struct dev *d, struct bwl_err *e)
{
	static const char *const names[] = { "", "pki", "keys", "trays", "enrolments" };
	int r = 0;

	for (unsigned i = 0; !r && i < sizeof(names) / sizeof(*names); i++)
		r = folder(d, names[i], "", e);
	for (unsigned i = 0; !r && i < d->ntrays; i++)
		r = folder(d, "trays", d->tray[i], e);
	return r;
}

static int take_trays(struct dev *d, const char *list, struct bwl_err *e)
{
	BWL_AUTO_FREE char *copy = bwl_must(strdup(list));
	char *at;

	for (char *one = strtok_r(copy, ",", &at); one; one = strtok_r(NULL, ",", &at)) {
		if (!bwl_is_name(one, strlen(one)))
			return bwl_fail(
				e, EINVAL,
				"'%.80s': the name of a tray must be 1 to 31 of A-Z a-z 0-9 . _ -",
				one);
		if (d->ntrays == DEV_TRAYS_MAX)
			return bwl_fail(e, EINVAL, "--dev is for at most %u trays", DEV_TRAYS_MAX);
		snprintf(d->tray[d->ntrays++], BWL_DOC_NAME_MAX, "%s", one);
	}
	return d->ntrays ? 0 : bwl_fail(e, EINVAL, "the trays are missing: --trays NAME,…");
}

static int take_listen(struct dev *d, const char *text, struct bwl_err *e)
{
	char more;

	if (sscanf(text, "%63[0-9.]:%5u%c", d->host, &d->port, &more) != 2 || !d->port ||
	    d->port > 65534 || !strcmp(d->host, "0.0.0.0")) {
		bwl_fail(e, EINVAL, "'%.80s': must be ADDRESS:PORT, IPv4", text);
		return bwl_hint(
			e,
			"use an address that the trays can reach; etcd takes that port and the next");
	}
	snprintf(d->server, sizeof(d->server), "https://%s:%u", d->host, d->port);
	return 0;
}

static int point(struct dev *d, struct options *o, struct bwl_err *e)
{
	static const char *const where[][2] = {
		{ "pki", "ca.pem" }, { "pki", "controller.pem" }, { "pki", "controller.key" },
		{ "root", "" },      { "keys", "online.pem" },    { "keys", "witness.pem" },
	};
	const char **const what[] = { &o->tls.ca, &o->tls.cert,   &o->tls.key,
				      &o->root,   &o->online_key, &o->witness_key };

	for (unsigned i = 0; i < sizeof(what) / sizeof(*what); i++) {
		if (!dev_path(d, d->path[i], where[i][0], where[i][1]))
			return bwl_fail(e, ENAMETOOLONG, "'%.80s…' is too long", d->dir);
		*what[i] = d->path[i];
	}
	o->servers[0] = d->server;
	o->nservers = 1;
	o->accept_holes = true;
	o->trust_clock = true;
	return 0;
}

/* Writes a person's configuration: bwlimit-ctl --fleet … --conf DIR/fleet.conf. */
static int dev_desk(const struct dev *d, const struct options *o, struct bwl_err *e)
{
	char text[6 * DEV_PATH];
	int n = snprintf(text, sizeof(text),
			 "servers = %s\nca = %s/pki/ca.pem\ncert = %s/pki/people.pem\n"
			 "key = %s/pki/people.key\nroot = %s/root\naccept-etcd-holes = yes\n%s%s\n",
			 d->server, d->dir, d->dir, d->dir, d->dir,
			 o->serve ? "controller = https://" : "", o->serve ? o->serve : "");

	if (n >= (int)sizeof(text))
		return bwl_fail(e, ENAMETOOLONG, "'%.80s…' is too long", d->dir);
	return bwl_bytes_replace(d->dir, "fleet.conf", &(struct bwl_bytes){ text, (size_t)n }, 1,
				 e);
}

int dev_start(struct dev *d, struct options *o, struct bwl_err *e)
{
	int r;

	*d = (struct dev){ .dir = o->dev };
	r = take_trays(d, o->trays, e);
	r = r ? r : take_listen(d, o->listen, e);
	r = r ? r : folders(d, e);
	r = r ? r : dev_pki(d, e);
	r = r ? r : dev_people(d, e);
	r = r ? r : point(d, o, e);
	r = r ? r : dev_desk(d, o, e);
	r = r ? r : dev_etcd(d, o, e);
	if (r)
		dev_stop(d);
	return r;
}

void dev_say(const struct dev *d, const struct options *o)
{
	const char *t = d->tray[0];

	if (o->json)
		return;
	printf("A trial fleet, in %s. All keys are in one place, so do not use it for production.\n"
	       "Two people's keys: keys/alice.pem and keys/bob.pem. Next:\n"
	       "  bwlimit-sync --servers %s --tray %s --ca %s/trays/%s/ca.pem \\\n"
	       "    --cert %s/trays/%s/cert.pem --key %s/trays/%s/key.pem --accept-etcd-holes\n"
	       "  bwlimit-ctl policy sign POLICY.yaml --key %s/keys/alice.pem --fleet dev --audience all \\\n"
	       "    --name base --number 1 --for 30d --reason trial\n"
	       "  bwlimit-ctl approve POLICY.yaml.signed --root %s/root --against NOW.yaml --key %s/keys/bob.pem\n"
	       "  bwlimit-ctl policy publish POLICY.yaml.signed --conf %s/fleet.conf\n"
	       "  bwlimit-ctl --fleet revoke --all --key %s/keys/alice.pem --conf %s/fleet.conf\n",
	       d->dir, d->server, t, d->dir, t, d->dir, t, d->dir, t, d->dir, d->dir, d->dir,
	       d->dir, d->dir, d->dir);
	fflush(stdout);
}

void dev_stop(struct dev *d)
{
	if (d->etcd <= 0)
		return;
	kill(d->etcd, SIGTERM);
	waitpid(d->etcd, NULL, 0);
	d->etcd = 0;
}
