// SPDX-License-Identifier: GPL-2.0-or-later
/* Compares charon's state with the policy. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "conn_up.h"
#include "ipsec/keep.h"
#include "ipsec/sas.h"
#include "ipsec/stale.h"

struct bwl_keep {
	json_t *wait[2]; /* by connection, ns: { next, wait }; without an SA, with charon's only */
};

int bwl_keep_new(struct bwl_keep **ret, struct bwl_err *e)
{
	struct bwl_keep *k = calloc(1, sizeof(*k));

	if (!k)
		return bwl_fail(e, ENOMEM, "out of memory");
	k->wait[false] = json_object();
	k->wait[true] = json_object();
	*ret = k;
	return 0;
}

void bwl_keep_free(struct bwl_keep *k)
{
	if (!k)
		return;
	json_decref(k->wait[false]);
	json_decref(k->wait[true]);
	free(k);
}

int bwl_keep_differs(struct bwl_vici *v, json_t *tree, bool *ret, struct bwl_err *e)
{
	json_t *conns = json_object_get(tree, "connections"), *have = NULL, *name;
	char peer[BWL_NAME_LEN];
	size_t i, ours = 0;
	int r = bwl_vici_call(v, "get-conns", NULL, &have, e);

	*ret = false;
	json_array_foreach(json_object_get(have, "conns"), i, name)
	{
		if (!bwl_ipsec_peer_name(json_string_value(name), peer))
			continue;
		ours++;
		*ret |= !json_object_get(conns, json_string_value(name));
	}
	*ret |= ours != json_object_size(conns);
	json_decref(have);
	return r;
}

static uint64_t ns_of(json_t *wait, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(wait, key));
}

/* Is it due? For the first time after first_ns, then at growing intervals. */
static bool is_due(json_t *waits, const char *name, uint64_t now, uint64_t first_ns)
{
	json_t *w = json_object_get(waits, name);
	uint64_t wait = w ? ns_of(w, "wait") : first_ns,
		 next = w ? ns_of(w, "next") : now + first_ns;
	bool due = now >= next;

	if (w && !due)
		return false;
	if (due) {
		wait = 2 * wait < BWL_KEEP_LAST_NS ? 2 * wait : BWL_KEEP_LAST_NS;
		next = now + wait;
	}
	json_object_set_new(waits, name,
			    json_pack("{s:I,s:I}", "next", (json_int_t)next, "wait",
				      (json_int_t)wait));
	return due;
}

/* If it is gone meanwhile (revoked, or rekeyed by the other side) that is no error. */
static int do_one(struct bwl_vici *v, const char *peer, bool rekey, struct bwl_err *e)
{
	unsigned n = 0;
	int r = rekey ? bwl_ipsec_rekey(v, peer, false, &n, e) : bwl_ipsec_initiate(v, peer, e);

	return r == -EREMOTEIO || r == -ENOENT ? 0 : r;
}

static int one(struct bwl_keep *k, struct bwl_vici *v, const struct bwl_idle_look *l,
	       const char *name, json_t *conn, uint64_t now, const struct bwl_keep_seen *seen,
	       struct bwl_err *e)
{
	bool up = json_object_get(l->up, name), due;
	char peer[BWL_NAME_LEN];
	int r;

	json_object_del(k->wait[!up], name);
	if (up && (!seen->has_sa || seen->has_sa(bwl_ipsec_peer_id(conn), seen->arg))) {
		json_object_del(k->wait[up], name);
		return 0;
	}
	if (!up && !bwl_idle_is(l, name, conn))
		return 0; /* the wait so far still counts */
	due = is_due(k->wait[up], name, now,
		     up                    ? BWL_KEEP_STALE_NS
		     : bwl_idle_asks(conn) ? BWL_KEEP_FIRST_NS
					   : BWL_IPSEC_PATIENCE_NS);
	if (!due || !bwl_ipsec_peer_name(name, peer))
		return 0;
	r = do_one(v, peer, up, e);
	if (!r && seen->did)
		seen->did(peer, up, seen->arg);
	return r;
}

int bwl_keep_nudge(struct bwl_keep *k, struct bwl_vici *v, json_t *tree, uint64_t now_ns,
		   const struct bwl_keep_seen *seen, struct bwl_err *e)
{
	json_t *conns = json_object_get(tree, "connections"), *conn;
	struct bwl_idle_look l;
	const char *name;
	void *next;
	int r;

	for (unsigned i = 0; i < 2; i++) /* of connections that no longer exist */
		json_object_foreach_safe(k->wait[i], next, name,
					 conn) if (!json_object_get(conns, name))
			json_object_del(k->wait[i], name);
	r = bwl_idle_look(v, &l, e);
	if (r)
		return r;
	json_object_foreach(conns, name, conn) if (!r)
		r = one(k, v, &l, name, conn, now_ns, seen, e);
	bwl_idle_done(&l);
	return r;
}
