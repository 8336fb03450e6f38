// SPDX-License-Identifier: GPL-2.0-or-later
/* Admission by TLS, and reloading of the certificate, the authority and its CRL. See web.h. */
#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <stdlib.h>
#include "bwl/clock.h"
#include "certificate.h"
#include "keeper.h"
#include "options.h"
#include "web.h"

/* The guest knows what the session began with; the session has a pointer to the server. */
static struct guest *guest_of(struct web *w, gnutls_session_t session)
{
	for (unsigned i = 0; i < GUESTS_ROOM; i++)
		if (w->guests.guest[i].session == session)
			return &w->guests.guest[i];
	return NULL;
}

static int judge(struct web *w, const struct guest *x)
{
	char name[BWL_WHO_NAME];

	return bwl_tls_who(w->tls, x->began, x->session, w->conf->client_names, name);
}

/*
 * Called during the handshake, as soon as the client's certificate has arrived. MHD does not use
 * the session database's pointer.
 */
static int verify(gnutls_session_t session)
{
	struct web *w = gnutls_db_get_ptr(session);
	struct guest *x = guest_of(w, session);

	if (!x || judge(w, x))
		return GNUTLS_E_CERTIFICATE_ERROR;
	guests_known(&w->guests, x, bwl_now_ns());
	return 0;
}

void tls_begin(struct web *w, struct MHD_Connection *conn, struct guest *x)
{
	gnutls_session_t session =
		MHD_get_connection_info(conn, MHD_CONNECTION_INFO_GNUTLS_SESSION)->tls_session;

	gnutls_db_set_ptr(session, w);
	gnutls_session_set_verify_function(session, verify);
	if (!x)
		return; /* it was shut down, and gets no certificate to talk with */
	x->session = session;
	x->began = bwl_tls_hold(w->tls);
	bwl_tls_begin(x->began, session);
}

static int take(struct web *w, const struct bwl_tls_pem *p, struct bwl_err *e)
{
	struct bwl_tls *t;
	char *metrics = NULL;
	int r = bwl_tls_new(p, &t, e);

	if (r)
		return r;
	r = certificate_metrics(p->text[BWL_TLS_CERT], &metrics, e);
	if (r) {
		bwl_tls_drop(t);
		return r;
	}
	bwl_tls_drop(w->tls);
	free(w->metrics);
	w->tls = t;
	w->metrics = metrics;
	return 0;
}

int tls_open(struct web *w, struct bwl_err *e)
{
	struct bwl_tls_pem p;
	int r = bwl_tls_read(w->conf->tls, &p, e);

	if (r)
		return r;
	w->guests.strangers = true;
	r = take(w, &p, e);
	bwl_tls_pem_done(&p);
	return r;
}

void tls_close(struct web *w)
{
	bwl_tls_drop(w->tls);
	free(w->metrics);
}

void tls_anew(struct web *w)
{
	if (!w->keeper)
		fputs(PROGRAM ": there is no certificate to reread\n", stderr);
	else if (w->keeper->busy)
		w->again = true;
	else if (keeper_ask(w->keeper))
		fputs(PROGRAM ": the process that reads the certificate has ended: restart it\n",
		      stderr);
}

/*
 * Disconnects clients that would be refused now. One that has not presented a certificate yet is
 * judged later.
 */
static unsigned hang_up(struct web *w)
{
	unsigned n = 0;

	for (unsigned i = 0; i < GUESTS_ROOM; i++) {
		struct guest *x = &w->guests.guest[i];

		if (!x->session || x->does == GUEST_GOES || !bwl_tls_has_shown(x->session) ||
		    !judge(w, x))
			continue;
		guests_shut(x);
		n++;
	}
	return n;
}

void tls_step(struct web *w)
{
	struct bwl_tls_pem p;
	struct bwl_err e = { 0 };
	int r = w->keeper ? keeper_take(w->keeper, &p, &e) : 0;

	if (!r)
		return;
	if (r > 0) {
		r = take(w, &p, &e);
		bwl_tls_pem_done(&p);
	}
	if (r)
		fprintf(stderr, PROGRAM ": %s; what was read before stays in use\n", e.text);
	else
		fprintf(stderr,
			PROGRAM
			": reread certificate, key and authority; clients disconnected: %u\n",
			hang_up(w));
	if (w->again) {
		w->again = false;
		tls_anew(w);
	}
}
