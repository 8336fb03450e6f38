// SPDX-License-Identifier: GPL-2.0-or-later
/* `ipsec status`: the SAs of charon, and what the data plane knows of them. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ipsec.h"
#include "ipsec/number.h"
#include "ipsec/sas.h"

/* What the data plane knows of the peer's SAs; NULL without pins. */
static const struct bwl_tunnel *tunnel_of(const struct bwl_pins *pins,
					  const struct bwl_ipsec_child *x)
{
	return pins && x->peer_id && x->peer_id < pins->schema.max_peers ? &pins->tunnel[x->peer_id]
									 : NULL;
}

/* An IKE_SA and one of its CHILD_SAs. */
struct sa_row {
	const struct bwl_pins *pins; /* NULL: there are none */
	const char *peer;
	const struct bwl_ipsec_sa *sa;     /* NULL: the peer has none */
	const struct bwl_ipsec_child *kid; /* NULL: none */
};

static struct bwl_value v_seconds(uint64_t s)
{
	char buf[BWL_UNIT_BUF];

	return bwl_v_both(bwl_json_u64(s), "%s", bwl_human_time((double)s, buf));
}

static struct bwl_value v_spi(uint32_t spi)
{
	return bwl_v_both(bwl_json_spi(htonl(spi)), "%08x", spi);
}

/* Of the IKE_SA or CHILD_SA x; how: a value made of it. Without one "-". */
#define GET(name, member, how)                                                                     \
	static struct bwl_value get_##name(const void *row)                                        \
	{                                                                                          \
		const struct sa_row *r = row;                                                      \
                                                                                                   \
		return r->member ? how : bwl_v_json(json_null());                                  \
	}
GET(peer, peer, bwl_v_text(r->peer))
GET(remote, sa, bwl_v_text(r->sa->remote))
GET(remote_id, sa, bwl_v_text(r->sa->remote_id))
GET(sa_age, sa, v_seconds(r->sa->age_s))
GET(sa_rekey, sa, v_seconds(r->sa->rekey_s))
GET(ke, sa, bwl_v_text(r->sa->ke))
GET(ppk, sa, bwl_v_yes(r->sa->ppk))
GET(if_id, kid, bwl_v_count(r->kid->if_id))
GET(spi_in, kid, v_spi(r->kid->spi_in))
GET(spi_out, kid, v_spi(r->kid->spi_out))
GET(age, kid, v_seconds(r->kid->age_s))
GET(rekey, kid, v_seconds(r->kid->rekey_s))
GET(hard, kid, v_seconds(r->kid->hard_s))
GET(arrived, kid, bwl_v_bytes(r->kid->bytes_in))
GET(sent, kid, bwl_v_bytes(r->kid->bytes_out))
GET(offload, kid, bwl_v_text(bwl_offload_name(tunnel_of(r->pins, r->kid))))

static struct bwl_value get_ike(const void *row)
{
	const struct sa_row *r = row;

	return bwl_v_text(r->sa ? r->sa->state : "none");
}

static struct bwl_value get_child(const void *row)
{
	const struct sa_row *r = row;

	return bwl_v_text(r->kid ? r->kid->state : r->sa ? "none" : NULL);
}

static struct bwl_value get_open(const void *row)
{
	const struct sa_row *r = row;
	const struct bwl_tunnel *t = tunnel_of(r->pins, r->kid);

	return bwl_v_json(t ? json_boolean(t->flags & BWL_TUN_SA) : json_null());
}

/* For people one table; for programs IKE_SAs and, in each, its CHILD_SAs. */
#define IKE_PROGRAMS(X)                                                                            \
	X(remote_id, "remote_id", NULL)                                                            \
	X(sa_age, "age_s", NULL)                                                                   \
	X(sa_rekey, "rekey_in_s", NULL)                                                            \
	X(ke, "ke", NULL)                                                                          \
	X(ppk, "ppk", NULL)
#define IKE_BOTH(X)                                                                                \
	X(peer, "peer", "~PEER")                                                                   \
	X(remote, "remote", "~REMOTE")                                                             \
	X(ike, "state", "IKE")
#define CHILD_BOTH(X)                                                                              \
	X(child, "state", "CHILD")                                                                 \
	X(spi_in, "spi_in", "?SPI IN")                                                             \
	X(spi_out, "spi_out", "?SPI OUT")                                                          \
	X(age, "age_s", "?>AGE")                                                                   \
	X(rekey, "rekey_in_s", "?>REKEY IN")                                                       \
	X(hard, "hard_in_s", "?>HARD IN")                                                          \
	X(arrived, "arrived_bytes", ">IN")                                                         \
	X(sent, "sent_bytes", ">OUT")                                                              \
	X(offload, "offload", "OFFLOAD")
#define CHILD_PROGRAMS(X)                                                                          \
	X(if_id, "if_id", NULL)                                                                    \
	X(open, "data_plane_open", NULL)

#define FIELD(name, key, head) static const struct bwl_field f_##name = { key, head, get_##name };
IKE_BOTH(FIELD)
IKE_PROGRAMS(FIELD)
CHILD_BOTH(FIELD)
CHILD_PROGRAMS(FIELD)

#define COLUMN(name, key, head) { &f_##name, BWL_BOTH },
static const struct bwl_column ike_columns[] = {
	IKE_BOTH(COLUMN) IKE_PROGRAMS(COLUMN){ NULL, BWL_BOTH },
};
static const struct bwl_column child_columns[] = {
	CHILD_BOTH(COLUMN) CHILD_PROGRAMS(COLUMN){ NULL, BWL_BOTH },
};
static const struct bwl_column table_columns[] = {
	IKE_BOTH(COLUMN) CHILD_BOTH(COLUMN){ NULL, BWL_BOTH },
};

static json_t *json_sa(const struct bwl_pins *pins, const struct bwl_ipsec_sa *x)
{
	struct sa_row r = { .pins = pins, .peer = x->peer, .sa = x };
	json_t *o = bwl_row_json(ike_columns, &r), *a = json_array();

	for (size_t i = 0; i < x->nchildren; i++) {
		r.kid = &x->children[i];
		json_array_append_new(a, bwl_row_json(child_columns, &r));
	}
	json_object_set_new(o, "child_sas", a);
	return o;
}

static void add_rows(struct bwl_list *l, const struct bwl_pins *pins, const struct bwl_ipsec_sa *x)
{
	struct sa_row r = { .pins = pins, .peer = x->peer, .sa = x };

	for (size_t i = 0; i == 0 || i < x->nchildren; i++) {
		r.kid = x->nchildren ? &x->children[i] : NULL;
		bwl_list_add(l, &r);
	}
}

/* Connections without any SA: loaded, but without an answer. */
static int idle_peers(struct bwl_vici *v, const struct bwl_ipsec_sa *sas, size_t n, int argc,
		      char **argv, json_t **ret, struct bwl_err *e)
{
	json_t *conns = NULL, *idle = json_array(), *name;
	char peer[BWL_NAME_LEN];
	size_t i;
	int r = bwl_vici_call(v, "get-conns", NULL, &conns, e);

	json_array_foreach(json_object_get(conns, "conns"), i, name)
	{
		bool has = false;

		if (!bwl_ipsec_peer_name(json_string_value(name), peer) ||
		    !bwl_ipsec_is_named(peer, argc, argv))
			continue;
		for (size_t k = 0; k < n; k++)
			has |= !strcmp(sas[k].peer, peer);
		if (!has)
			json_array_append_new(idle, json_string(peer));
	}
	json_decref(conns);
	*ret = idle;
	return r;
}

static void print_status(struct ctl *c, const struct bwl_pins *pins, const struct bwl_ipsec_sa *sas,
			 size_t n, json_t *idle, int argc, char **argv)
{
	struct bwl_list *l = c->json ? NULL : bwl_list_new(table_columns, false);
	json_t *a = json_array(), *name, *o;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!bwl_ipsec_is_named(sas[i].peer, argc, argv))
			continue;
		if (l)
			add_rows(l, pins, &sas[i]);
		else
			json_array_append_new(a, json_sa(pins, &sas[i]));
	}
	if (l) {
		json_array_foreach(idle, i, name)
			bwl_list_add(l, &(struct sa_row){ .peer = json_string_value(name) });
		bwl_list_end(l);
		json_decref(a);
		return;
	}
	o = bwl_doc("ipsec-status");
	json_object_set_new(o, "ike_sas", a);
	json_object_set(o, "without_sa", idle);
	bwl_doc_print(o);
}

int ctl_ipsec_status(struct ctl *c, int argc, char **argv)
{
	struct ipsec_place p = { 0 };
	const struct ctl_opt opts[] = { IPSEC_PLACE_OPTS(p), { NULL, NULL, NULL } };
	struct bwl_ipsec_sa *sas = NULL;
	struct bwl_pins *pins = NULL;
	struct bwl_vici *v = NULL;
	json_t *idle = NULL;
	size_t n = 0;
	int r;

	r = ctl_opts(c, &argc, argv, opts);
	if (!r)
		r = ctl_ipsec_place(c, &p);
	if (!r)
		r = bwl_vici_open(p.vici, p.timeout_ns, &v, &c->err);
	if (!r)
		r = bwl_ipsec_sas(v, NULL, &sas, &n, &c->err);
	if (!r)
		r = idle_peers(v, sas, n, argc, argv, &idle, &c->err);
	/* without pins there is no data plane to ask */
	if (!r && bwl_pins_open(c->pin_dir, false, &pins, NULL))
		pins = NULL;
	if (!r)
		print_status(c, pins, sas, n, idle, argc, argv);
	json_decref(idle);
	bwl_ipsec_sas_free(sas, n);
	bwl_pins_close(pins);
	bwl_vici_close(v);
	return r;
}
