// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The store by hand, for tests: bwl-store SERVER CA CERT KEY PREFIX VERB…
 *
 *	status [twice]		version and leader, and whether the version is accepted; asked over
 *				one connection
 *	publish TRAY KIND NAME	standard input; TRAY -: all trays. Prints the revision
 *	fetch TRAY KIND NAME	to standard output
 *	fetch-big TRAY KIND NAME
 *	lead NAME	runs for leader with a lease of 3 s that it does not renew; once it leads,
 *		each line of standard input is put at PREFIX/all/led, with its fence
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bwl/bytes.h"
#include "fleet/store/election.h"
#include "fleet/store/publish.h"

static int status(struct bwl_grpc *g, struct bwl_err *e)
{
	struct bwl_etcd_status s;
	struct bwl_err why = { 0 };
	int r = bwl_etcd_status(g, &s, e);

	if (r)
		return r;
	bwl_etcd_version_ok(s.version, &why);
	printf("etcd %s, %s leader, %s\n", s.version, s.leader ? "a" : "no",
	       why.code ? why.text : "taken");
	return 0;
}

static int publish(struct bwl_grpc *g, struct bwl_doc *d, struct bwl_err *e)
{
	int64_t revision;
	char *bytes;
	size_t len;
	int r = bwl_bytes_read(STDIN_FILENO, BWL_DOC_MAX + 1, &bytes, &len, e);

	if (r)
		return r;
	d->at = bytes;
	d->len = len;
	r = bwl_doc_publish(g, d, BWL_ETCD_ANY, &revision, e);
	if (!r)
		printf("%lld\n", (long long)revision);
	free(bytes);
	return r;
}

static int fetch(struct bwl_grpc *g, const struct bwl_doc *d, bool big, struct bwl_err *e)
{
	char key[BWL_ETCD_KEY_MAX];
	uint8_t *bytes;
	int64_t mod;
	size_t len;
	int r = bwl_doc_key(key, d->prefix, d->tray, d->kind, d->name, big);

	r = r ? bwl_fail(e, -r, "that name is too long")
	      : bwl_doc_fetch(g, d->prefix, key, big, &bytes, &len, &mod, e);
	if (r)
		return r;
	r = bwl_bytes_write(STDOUT_FILENO, bytes, len);
	free(bytes);
	return r;
}

static int lead(struct bwl_grpc *g, const char *prefix, const char *name, struct bwl_err *e)
{
	char at[BWL_ETCD_KEY_MAX], key[BWL_ETCD_KEY_MAX], leader[BWL_ELECTION_NAME], line[80];
	struct bwl_election el;
	int64_t revision;
	int r = 0;

	snprintf(at, sizeof(at), "%s/controller/leader/", prefix);
	snprintf(key, sizeof(key), "%s/all/led", prefix);
	/* A call on a busy machine may take longer than the lease: then it runs again. */
	for (unsigned tries = 0; tries < 100 && (!tries || r); tries++) {
		r = bwl_election_run(g, at, name, 3, &el, e);
		while (!r && !el.leads) {
			bwl_etcd_lease_keep(g, el.lease, NULL);
			usleep(50000);
			r = bwl_election_look(g, at, &el, leader, e);
		}
	}
	if (!r)
		puts("leads");
	fflush(stdout);
	while (!r && fgets(line, sizeof(line), stdin)) {
		struct bwl_etcd_put put[2] = {
			bwl_election_fence(&el),
			{ .key = key, .value = line, .len = strlen(line), .was = BWL_ETCD_ANY }
		};
		int done = bwl_etcd_txn(g, put, 2, &revision, e);

		puts(done == -EEXIST ? "fenced" : done ? e->text : "put");
		fflush(stdout);
	}
	return r;
}

static int verb(struct bwl_grpc *g, char **argv, int argc, struct bwl_err *e)
{
	const char *what = argv[6];
	struct bwl_doc d = { .prefix = argv[5] };

	if (argc == 8 && !strcmp(what, "status") && !strcmp(argv[7], "twice"))
		return status(g, e) ? -e->code : status(g, e);
	if (argc == 7 && !strcmp(what, "status"))
		return status(g, e);
	if (argc == 8 && !strcmp(what, "lead"))
		return lead(g, argv[5], argv[7], e);
	if (argc == 10) {
		d.tray = strcmp(argv[7], "-") ? argv[7] : NULL;
		d.kind = bwl_doc_kind_of(argv[8], strlen(argv[8]));
		d.name = argv[9];
		if (d.kind == BWL_DOC_KIND_COUNT)
			return bwl_fail(e, EINVAL, "'%s' is no kind", argv[8]);
		if (!strcmp(what, "publish"))
			return publish(g, &d, e);
		if (!strncmp(what, "fetch", 5))
			return fetch(g, &d, !strcmp(what, "fetch-big"), e);
	}
	return bwl_fail(e, EINVAL, "wrong use: see tests/harness/store.c");
}

int main(int argc, char **argv)
{
	struct bwl_err e = { 0 };
	struct bwl_grpc *g;
	int r;

	if (argc < 7)
		return 2;
	r = bwl_grpc_open(argv[1],
			  &(struct bwl_grpc_tls){ .ca = argv[2], .cert = argv[3], .key = argv[4] },
			  &g, &e);
	r = r ? r : verb(g, argv, argc, &e);
	bwl_grpc_close(g);
	if (r)
		bwl_err_print(&e, "bwl-store", false);
	return r ? 1 : 0;
}
