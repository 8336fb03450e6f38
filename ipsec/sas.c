// SPDX-License-Identifier: GPL-2.0-or-later
/* SAs by VICI's list-sas. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "ipsec/sas.h"
#include "maps/tunnel.h"

struct collect {
	struct bwl_ipsec_sa *sas;
	size_t n;
};

static void copy(char *to, size_t size, const char *from)
{
	snprintf(to, size, "%s", from);
}

static uint32_t hex(const json_t *o, const char *key)
{
	return (uint32_t)strtoul(bwl_vici_text(o, key), NULL, 16);
}

uint32_t bwl_ipsec_child_spi(const json_t *child, const char *key)
{
	return hex(child, key);
}

uint32_t bwl_ipsec_child_peer(const json_t *child)
{
	uint32_t if_id = hex(child, "if-id-out");

	return if_id == BWL_TUN_IF_ID ? hex(child, "mark-out") & BWL_MARK_ID : if_id;
}

static void fill_child(struct bwl_ipsec_child *x, const json_t *o)
{
	copy(x->state, sizeof(x->state), bwl_vici_text(o, "state"));
	x->spi_in = bwl_ipsec_child_spi(o, "spi-in");
	x->spi_out = bwl_ipsec_child_spi(o, "spi-out");
	x->if_id = hex(o, "if-id-out");
	x->peer_id = bwl_ipsec_child_peer(o);
	x->unique = bwl_vici_number(o, "uniqueid");
	x->age_s = bwl_vici_number(o, "install-time");
	x->rekey_s = bwl_vici_number(o, "rekey-time");
	x->hard_s = bwl_vici_number(o, "life-time");
	x->bytes_in = bwl_vici_number(o, "bytes-in");
	x->bytes_out = bwl_vici_number(o, "bytes-out");
}

/* The additional exchanges (RFC 9370) are ake1 to ake7, since charon 6.0. */
static void fill_ke(struct bwl_ipsec_sa *x, const json_t *o)
{
	char more[8];

	copy(x->ke, sizeof(x->ke), bwl_vici_text(o, "dh-group"));
	for (unsigned i = 1; i < 8; i++) {
		snprintf(more, sizeof(more), "ake%u", i);
		if (*bwl_vici_text(o, more))
			snprintf(x->ke + strlen(x->ke), sizeof(x->ke) - strlen(x->ke), "/%s",
				 bwl_vici_text(o, more));
	}
}

static int on_sa(void *arg, json_t *msg)
{
	struct collect *c = arg;
	struct bwl_ipsec_sa *grown, *x;
	json_t *o, *children, *child;
	char peer[BWL_NAME_LEN];
	const char *name, *key;

	json_object_foreach(msg, name, o)
	{
		if (!bwl_ipsec_peer_name(name, peer))
			continue;
		grown = reallocarray(c->sas, c->n + 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		c->sas = grown;
		x = &c->sas[c->n++];
		memset(x, 0, sizeof(*x));
		strcpy(x->peer, peer);
		copy(x->state, sizeof(x->state), bwl_vici_text(o, "state"));
		copy(x->remote, sizeof(x->remote), bwl_vici_text(o, "remote-host"));
		copy(x->remote_id, sizeof(x->remote_id), bwl_vici_text(o, "remote-id"));
		x->unique = bwl_vici_number(o, "uniqueid");
		x->age_s = bwl_vici_number(o, "established");
		x->rekey_s = bwl_vici_number(o, "rekey-time");
		x->ppk = !strcmp(bwl_vici_text(o, "ppk"), "yes");
		fill_ke(x, o);
		children = json_object_get(o, "child-sas");
		x->children = calloc(json_object_size(children) + 1, sizeof(*x->children));
		if (!x->children)
			return -ENOMEM;
		json_object_foreach(children, key, child)
			fill_child(&x->children[x->nchildren++], child);
	}
	return 0;
}

static int by_peer(const void *pa, const void *pb)
{
	const struct bwl_ipsec_sa *a = pa, *b = pb;
	int r = strcmp(a->peer, b->peer);

	if (!r)
		r = a->unique < b->unique ? -1 : a->unique > b->unique;
	return r;
}

int bwl_ipsec_sas(struct bwl_vici *v, const char *peer, struct bwl_ipsec_sa **ret, size_t *ret_n,
		  struct bwl_err *e)
{
	char name[BWL_IPSEC_NAME];
	struct collect c = { 0 };
	json_t *args = NULL;
	int r;

	if (peer)
		args = json_pack("{s:s}", "ike", bwl_ipsec_conn_name(peer, name));
	r = bwl_vici_stream(v, "list-sas", "list-sa", args, on_sa, &c, e);
	json_decref(args);
	if (r == -ENOMEM)
		bwl_fail(e, ENOMEM, "out of memory");
	if (r) {
		bwl_ipsec_sas_free(c.sas, c.n);
		return r;
	}
	if (c.n)
		qsort(c.sas, c.n, sizeof(*c.sas), by_peer);
	*ret = c.sas;
	*ret_n = c.n;
	return 0;
}

void bwl_ipsec_sas_free(struct bwl_ipsec_sa *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(x[i].children);
	free(x);
}

int bwl_ipsec_initiate(struct bwl_vici *v, const char *peer, struct bwl_err *e)
{
	char name[BWL_IPSEC_NAME];
	json_t *args;
	int r;

	bwl_ipsec_conn_name(peer, name);
	args = json_pack("{s:s,s:s,s:s}", "ike", name, "child", name, "timeout", "-1");
	r = bwl_vici_call(v, "initiate", args, NULL, e);
	json_decref(args);
	return r;
}

int bwl_ipsec_rekey(struct bwl_vici *v, const char *peer, bool ike, unsigned *ret,
		    struct bwl_err *e)
{
	char name[BWL_IPSEC_NAME];
	json_t *args = json_pack("{s:s}", ike ? "ike" : "child", bwl_ipsec_conn_name(peer, name));
	json_t *o = NULL;
	int r = bwl_vici_call(v, "rekey", args, &o, e);

	json_decref(args);
	if (!r)
		*ret = (unsigned)bwl_vici_number(o, "matches");
	json_decref(o);
	if (r == -EREMOTEIO) {
		bwl_fail(e, ENOENT, "peer %s has no %s to rekey", peer,
			 ike ? "IKE_SA" : "CHILD_SA");
		bwl_hint(e, "bwlimit-ctl ipsec status %s", peer);
		r = -ENOENT;
	}
	return r;
}
