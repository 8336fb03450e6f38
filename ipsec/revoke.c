// SPDX-License-Identifier: GPL-2.0-or-later
/* Removes connections, SAs and secrets from charon, within a bounded time. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "ipsec/revoke.h"

#define ROUNDS 3 /* an IKE_SA may appear while its connection is being unloaded */

struct drop {
	struct bwl_vici *v;
	json_t *names; /* a set of connections' names */
	bool all;
	uint64_t deadline;
	struct bwl_ipsec_drop *ret;
	struct bwl_err *e;
};

static uint64_t mono_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

static uint64_t left(const struct drop *d)
{
	uint64_t now = mono_ns();

	return d->deadline > now ? d->deadline - now : 0;
}

/*
 * Runs one command within the remaining time. If charon refuses it, the object does not exist: no
 * error.
 */
static int order(struct drop *d, const char *command, json_t *args, unsigned *count)
{
	int r;

	bwl_vici_set_timeout(d->v, left(d));
	r = bwl_vici_call(d->v, command, args, NULL, d->e);
	json_decref(args);
	if (!r)
		++*count;
	return r == -EREMOTEIO ? 0 : r;
}

static json_t *unload_args(const char *name)
{
	return json_pack("{s:s}", "name", name);
}

/* Does not wait for the other side's answer: that may be the one that was taken over. */
static json_t *terminate_args(const char *name)
{
	return json_pack("{s:s,s:s,s:s}", "ike", name, "force", "yes", "timeout", "-1");
}

static int unload(struct drop *d)
{
	const char *name;
	json_t *x;
	int r = 0;

	json_object_foreach(d->names, name, x) if (!r)
		r = order(d, "unload-conn", unload_args(name), &d->ret->conns);
	return r;
}

static int terminate(struct drop *d)
{
	const char *name;
	json_t *x;
	int r = 0;

	json_object_foreach(d->names, name, x) if (!r)
		r = order(d, "terminate", terminate_args(name), &d->ret->sas);
	return r;
}

struct seen {
	struct drop *d;
	json_t *names;
};

static int on_sa(void *arg, json_t *msg)
{
	struct seen *s = arg;
	char peer[BWL_NAME_LEN];
	const char *name;
	json_t *x;

	json_object_foreach(msg, name, x) if (s->d->all
						      ? bwl_ipsec_peer_name(name, peer)
						      : json_object_get(s->d->names, name) != NULL)
		json_object_set_new(s->names, name, json_true());
	return 0;
}

/* Our names that have an IKE_SA now. */
static int look(struct drop *d, json_t **ret)
{
	struct seen s = { d, json_object() };
	int r;

	bwl_vici_set_timeout(d->v, left(d));
	r = bwl_vici_stream(d->v, "list-sas", "list-sa", NULL, on_sa, &s, d->e);
	*ret = s.names;
	return r;
}

static int verify(struct drop *d)
{
	json_t *names, *x;
	const char *name;
	size_t n = 1;
	int r = 0;

	for (unsigned i = 0; !r && n && i < ROUNDS; i++) {
		r = look(d, &names);
		n = json_object_size(names);
		json_object_foreach(names, name, x) if (!r)
			r = order(d, "terminate", terminate_args(name), &d->ret->sas);
		json_decref(names);
	}
	if (!r && n)
		r = bwl_fail(d->e, EBUSY, "charon still has %zu SAs after ending them %d times", n,
			     ROUNDS);
	return r;
}

static int on_conn(void *arg, json_t *msg)
{
	json_t *used = arg, *conn;
	const char *name;

	json_object_foreach(msg, name, conn) if (*bwl_vici_text(conn, "ppk_id"))
		json_object_set_new(used, bwl_vici_text(conn, "ppk_id"), json_true());
	return 0;
}

/* Unloads preshared keys that `ipsec load` loaded (ppk-ID) and that no connection uses any more. */
static int credentials(struct drop *d)
{
	json_t *used = json_object(), *have = NULL, *id;
	unsigned ignored = 0;
	size_t i;
	int r;

	bwl_vici_set_timeout(d->v, left(d));
	r = bwl_vici_stream(d->v, "list-conns", "list-conn", NULL, on_conn, used, d->e);
	if (!r) {
		bwl_vici_set_timeout(d->v, left(d));
		r = bwl_vici_call(d->v, "get-shared", NULL, &have, d->e);
	}
	json_array_foreach(json_object_get(have, "keys"), i, id)
	{
		char ppk[128];

		if (r || strncmp(json_string_value(id), "ppk-", 4))
			continue;
		snprintf(ppk, sizeof(ppk), "%s", json_string_value(id) + 4);
		for (char *s = ppk; *s; s++)
			if (*s == '~')
				*s = '.';
		if (!json_object_get(used, ppk))
			r = order(d, "unload-shared", json_pack("{s:O}", "id", id),
				  &d->ret->secrets);
	}
	if (!r)
		r = order(d, "flush-certs", json_pack("{s:s}", "type", "X509"), &ignored);
	json_decref(have);
	json_decref(used);
	return r;
}

/* Names everything of ours: what is loaded, and SAs of what no longer is. */
static int name_all(struct drop *d)
{
	json_t *conns = NULL, *sas = NULL, *name;
	char peer[BWL_NAME_LEN];
	size_t i;
	int r;

	bwl_vici_set_timeout(d->v, left(d));
	r = bwl_vici_call(d->v, "get-conns", NULL, &conns, d->e);
	json_array_foreach(json_object_get(conns, "conns"), i,
			   name) if (bwl_ipsec_peer_name(json_string_value(name), peer))
		json_object_set_new(d->names, json_string_value(name), json_true());
	json_decref(conns);
	if (!r) {
		r = look(d, &sas);
		json_object_update(d->names, sas);
		json_decref(sas);
	}
	return r;
}

/*
 * charon hangs. When it continues it performs what is written into its socket now, even long after
 * we are gone: it must not go on with what was revoked.
 */
static void post(struct drop *d)
{
	const char *name;
	json_t *x, *args;
	bool ok = true;

	if (!json_object_size(d->names))
		return;
	json_object_foreach(d->names, name, x)
	{
		args = unload_args(name);
		ok = ok && !bwl_vici_add(d->v, "unload-conn", args);
		json_decref(args);
	}
	json_object_foreach(d->names, name, x)
	{
		args = terminate_args(name);
		ok = ok && !bwl_vici_add(d->v, "terminate", args);
		json_decref(args);
	}
	d->ret->posted = ok && !bwl_vici_post(d->v);
}

static int timed(int (*step)(struct drop *d), struct drop *d, uint64_t *ret_ns)
{
	uint64_t from = mono_ns();
	int r = step(d);

	*ret_ns = mono_ns() - from;
	return r;
}

int bwl_ipsec_drop_peers(const char *socket, const char *const *peers, size_t npeers, bool all,
			 uint64_t timeout_ns, struct bwl_ipsec_drop *ret, struct bwl_err *e)
{
	uint64_t from = mono_ns();
	struct drop d = { .names = json_object(), .all = all, .ret = ret, .e = e };
	char name[BWL_IPSEC_NAME];
	int r;

	memset(ret, 0, sizeof(*ret));
	d.deadline = from + timeout_ns;
	for (size_t i = 0; i < npeers; i++)
		json_object_set_new(d.names, bwl_ipsec_conn_name(peers[i], name), json_true());
	r = bwl_vici_open(socket, timeout_ns, &d.v, e);
	if (!r && d.all)
		r = name_all(&d);
	ret->connect_ns = mono_ns() - from;
	if (!r)
		r = timed(unload, &d, &ret->unload_ns);
	if (!r)
		r = timed(terminate, &d, &ret->terminate_ns);
	if (!r)
		r = timed(verify, &d, &ret->verify_ns);
	if (!r)
		r = timed(credentials, &d, &ret->credentials_ns);
	if (r == -ETIMEDOUT && d.v)
		post(&d);
	bwl_vici_close(d.v);
	json_decref(d.names);
	return r;
}
