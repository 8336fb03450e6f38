// SPDX-License-Identifier: GPL-2.0-or-later
/* See stale.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/identity.h>
#include "ipsec/sas.h"
#include "ipsec/stale.h"

uint32_t bwl_ipsec_peer_id(json_t *conn)
{
	const char *name, *mark;
	json_t *child;

	json_object_foreach(json_object_get(conn, "children"), name, child)
	{
		mark = bwl_vici_text(child, "mark_out"); /* "7/0x3fffff" */
		return *mark ? (uint32_t)strtoul(mark, NULL, 10)
			     : (uint32_t)bwl_vici_number(child, "if_id_out");
	}
	return 0;
}

static bool is_address(const char *a, const char *b)
{
	unsigned char x[16], y[16];

	if (inet_pton(AF_INET, a, x) == 1)
		return inet_pton(AF_INET, b, y) == 1 && !memcmp(x, y, 4);
	return inet_pton(AF_INET6, a, x) == 1 && inet_pton(AF_INET6, b, y) == 1 &&
	       !memcmp(x, y, 16);
}

static bool is_identity(const char *wanted, const char *has)
{
	struct bwl_identity x;

	return !bwl_identity_parse(wanted, &x, NULL) && bwl_identity_is_shown(&x, has);
}

/* An incomplete SA has fewer fields: it is checked the next time. */
static bool is_stale(const struct bwl_ipsec_sa *x, json_t *conn)
{
	const char *remote = json_string_value(
		json_array_get(json_object_get(conn, "remote_addrs"), 0));
	const char *id = bwl_vici_text(json_object_get(conn, "remote"), "id");
	size_t i;

	if (strcmp(x->state, "ESTABLISHED"))
		return false;
	if ((remote && !is_address(remote, x->remote)) || !is_identity(id, x->remote_id))
		return true;
	for (i = 0; i < x->nchildren; i++)
		if (x->children[i].peer_id && x->children[i].peer_id != bwl_ipsec_peer_id(conn))
			return true;
	return false;
}

static int end(struct bwl_vici *v, uint64_t unique, struct bwl_err *e)
{
	char id[24];
	json_t *args;
	int r;

	snprintf(id, sizeof(id), "%llu", (unsigned long long)unique);
	args = json_pack("{s:s,s:s,s:s}", "ike-id", id, "force", "yes", "timeout", "-1");
	r = bwl_vici_call(v, "terminate", args, NULL, e);
	json_decref(args);
	return r == -EREMOTEIO ? 0 : r; /* it is gone meanwhile */
}

int bwl_ipsec_end_stale(struct bwl_vici *v, json_t *tree, unsigned *ret, struct bwl_err *e)
{
	json_t *conns = json_object_get(tree, "connections"), *conn;
	struct bwl_ipsec_sa *sas = NULL;
	char name[BWL_IPSEC_NAME];
	size_t n = 0, i;
	int r = bwl_ipsec_sas(v, NULL, &sas, &n, e);

	*ret = 0;
	for (i = 0; !r && i < n; i++) {
		conn = json_object_get(conns, bwl_ipsec_conn_name(sas[i].peer, name));
		if (!conn || !is_stale(&sas[i], conn))
			continue;
		r = end(v, sas[i].unique, e);
		++*ret;
	}
	bwl_ipsec_sas_free(sas, n);
	return r;
}
