// SPDX-License-Identifier: GPL-2.0-or-later
/* See orphans.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ipsec/conn.h"
#include "ipsec/orphans.h"
#include "ipsec/sas.h"

#define KEY (BWL_XFRM_ADDR_BUF + 24)

struct bwl_orphans {
	json_t *last, *now; /* SAs that charon did not know, at the last look and at this one */
	uint64_t next_ns;
};

int bwl_orphans_new(struct bwl_orphans **ret, struct bwl_err *e)
{
	struct bwl_orphans *o = calloc(1, sizeof(*o));

	if (!o)
		return bwl_fail(e, ENOMEM, "out of memory");
	o->last = json_object();
	*ret = o;
	return 0;
}

void bwl_orphans_free(struct bwl_orphans *o)
{
	if (!o)
		return;
	json_decref(o->last);
	json_decref(o->now);
	free(o);
}

static const char *text_of(uint32_t n, char buf[static 12])
{
	snprintf(buf, 12, "%u", n);
	return buf;
}

static void know_child(struct bwl_orphans_known *known, json_t *child, bool ours)
{
	char buf[12];

	json_object_set_new(known->spis, text_of(bwl_ipsec_child_spi(child, "spi-in"), buf),
			    json_true());
	json_object_set_new(known->spis, text_of(bwl_ipsec_child_spi(child, "spi-out"), buf),
			    json_true());
	if (ours && !strcmp(bwl_vici_text(child, "state"), "INSTALLED"))
		json_object_set_new(known->peers, text_of(bwl_ipsec_child_peer(child), buf),
				    json_true());
}

void bwl_orphans_know(struct bwl_orphans_known *known, json_t *list_sa)
{
	char peer[BWL_NAME_LEN];
	const char *name, *key;
	json_t *sa, *child;

	json_object_foreach(list_sa, name, sa)
		json_object_foreach(json_object_get(sa, "child-sas"), key, child)
			know_child(known, child, bwl_ipsec_peer_name(name, peer));
}

void bwl_orphans_begin(struct bwl_orphans *o)
{
	json_decref(o->now);
	o->now = json_object();
}

void bwl_orphans_end(struct bwl_orphans *o)
{
	json_decref(o->last);
	o->last = o->now;
	o->now = NULL;
}

bool bwl_orphans_is(struct bwl_orphans *o, const struct bwl_orphans_known *known,
		    const struct bwl_xfrm_sa *sa)
{
	char addr[BWL_XFRM_ADDR_BUF], key[KEY], buf[12];

	/* a larval SA has an SPI that charon has reserved but not reported yet */
	if (!sa->keyed || !sa->peer || json_object_get(known->spis, text_of(ntohl(sa->spi), buf)))
		return false;
	snprintf(key, sizeof(key), "%s %u %u", bwl_xfrm_addr_text(&sa->dst, addr), sa->proto,
		 ntohl(sa->spi));
	json_object_set_new(o->now, key, json_true());
	return json_object_get(o->last, key) &&
	       json_object_get(known->peers, text_of(sa->peer, buf));
}

struct look {
	struct bwl_xfrm_sa *sas; /* the peers' SAs */
	size_t n, room;
};

static int on_kernel(const struct bwl_xfrm_msg *m, void *arg)
{
	struct look *l = arg;
	struct bwl_xfrm_sa *grown;

	if (m->kind != BWL_XFRM_SA || !m->sa.peer)
		return 0;
	if (l->n == l->room) {
		grown = reallocarray(l->sas, 2 * l->room + 16, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		l->sas = grown;
		l->room = 2 * l->room + 16;
	}
	l->sas[l->n++] = m->sa;
	return 0;
}

static int on_charon(void *arg, json_t *msg)
{
	bwl_orphans_know(arg, msg);
	return 0;
}

/* Keeps only those that must be removed. */
static void pick(struct bwl_orphans *o, const struct bwl_orphans_known *known, struct look *l)
{
	size_t i, n = 0;

	bwl_orphans_begin(o);
	for (i = 0; i < l->n; i++)
		if (bwl_orphans_is(o, known, &l->sas[i]))
			l->sas[n++] = l->sas[i];
	bwl_orphans_end(o);
	l->n = n;
}

int bwl_orphans_remove(struct bwl_orphans *o, struct bwl_vici *v, uint64_t now_ns,
		       void (*removed)(const struct bwl_xfrm_sa *sa, void *arg), void *arg,
		       struct bwl_err *e)
{
	struct bwl_orphans_known known = { 0 };
	struct look l = { 0 };
	int r;

	if (now_ns < o->next_ns)
		return 0;
	o->next_ns = now_ns + BWL_ORPHANS_NS;
	/* the kernel first: SAs that charon makes meanwhile are not in this list */
	r = bwl_xfrm_dump_sas(on_kernel, &l, e);
	if (r == -ENOMEM)
		bwl_fail(e, ENOMEM, "out of memory");
	if (!r && l.n) {
		known = (struct bwl_orphans_known){ json_object(), json_object() };
		r = bwl_vici_stream(v, "list-sas", "list-sa", NULL, on_charon, &known, e);
	}
	if (!r)
		pick(o, &known, &l);
	if (!r && l.n)
		r = bwl_xfrm_remove(l.sas, l.n, e);
	for (size_t i = 0; !r && removed && i < l.n; i++)
		removed(&l.sas[i], arg);
	json_decref(known.spis);
	json_decref(known.peers);
	free(l.sas);
	return r == -EPROTONOSUPPORT || r == -EAFNOSUPPORT ? 0 : r;
}
