// SPDX-License-Identifier: GPL-2.0-or-later
/* See model.h. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include "answer.h"
#include "bwl/clock.h"
#include "bwl/doc.h"
#include "fleet/store/etcd.h"
#include "list.h"
#include "metrics.h"
#include "model.h"
#include "pull.h"

#define LIST_NS (10 * PULL_S) /* the largest age of the list of trays */
#define WAIT_MS 500
#define CONNECTIONS 64
#define JSON "application/json"

struct bwl_model {
	struct bwl_model_conf conf;
	pthread_t thread;
	atomic_bool stopped;
	pthread_mutex_t lock; /* for set: one thread writes it, the other reads it */
	struct model_set set;
	struct bwl_grpc *g; /* NULL: not connected */
	unsigned server;
	char told[256];
	struct bwl_https *https;
};

static uint32_t chance(void)
{
	uint32_t n = 0;

	(void)!getrandom(&n, sizeof(n), 0);
	return n;
}

static int reach(struct bwl_model *m, struct bwl_err *e)
{
	const char *server = m->conf.servers[m->server];
	struct bwl_etcd_status s;
	int r = 0;

	if (m->g)
		return 0;
	r = bwl_grpc_open(server, &m->conf.tls, &m->g, e);
	if (!r)
		r = bwl_etcd_status(m->g, &s, e);
	if (!r && !s.leader)
		r = bwl_fail(e, EHOSTUNREACH, "%s has no leader", server);
	if (!r && !m->conf.accept_holes)
		r = bwl_etcd_version_ok(s.version, e);
	return r;
}

/* While the store is away the trays stay as they were listed. */
static void list(struct bwl_model *m)
{
	struct bwl_err e = { 0 };
	int r = reach(m, &e);

	if (!r)
		r = model_list(m->g, m->conf.prefix, m->conf.signers, &m->set, &m->lock, &e);
	if (!r) {
		*m->told = '\0';
		return;
	}
	bwl_grpc_close(m->g);
	m->g = NULL;
	m->server = (m->server + 1) % m->conf.nservers;
	if (strncmp(m->told, e.text, sizeof(m->told) - 1)) {
		snprintf(m->told, sizeof(m->told), "%.255s", e.text);
		m->conf.say(m->conf.arg, "numbers", "the list of trays", &e);
	}
}

static void *run(void *arg)
{
	struct bwl_model *m = arg;
	struct pull_https *https = pull_https_new(&m->conf.tls);
	struct pull pull = {
		.set = &m->set, .transport = &pull_https_ops, .arg = https, .chance = chance
	};
	uint64_t list_ns = 0;

	while (!m->stopped) {
		uint64_t now_ns = bwl_now_ns(), next_ns;

		if (now_ns >= list_ns) {
			list(m);
			list_ns = bwl_now_ns() + LIST_NS;
		}
		now_ns = bwl_now_ns();
		pthread_mutex_lock(&m->lock);
		next_ns = pull_step(&pull, now_ns, time(NULL));
		pthread_mutex_unlock(&m->lock);
		next_ns = next_ns > now_ns ? (next_ns - now_ns) / 1000000 : 0;
		pull_https_wait(https, next_ns < WAIT_MS ? (unsigned)next_ns + 1 : WAIT_MS);
	}
	pull_https_free(https);
	bwl_grpc_close(m->g);
	return NULL;
}

static json_t *document(const struct model_asked *a, const struct bwl_https_ask *ask,
			struct bwl_err *e)
{
	static const struct {
		const char *path;
		json_t *(*make)(const struct model_asked *a);
	} documents[] = {
		{ "/v1/status", model_status },   { "/v1/top", model_top },
		{ "/v1/usage", model_usage },     { "/v1/reasons", model_reasons },
		{ "/v1/history", model_history }, { "/v1/closures", model_closures },
	};

	for (size_t i = 0; i < sizeof(documents) / sizeof(*documents); i++)
		if (!strcmp(documents[i].path, ask->path))
			return documents[i].make(a);
	if (!strcmp(ask->path, "/v1/exfil"))
		return model_exfil(a, bwl_https_query(ask, "size"),
				   bwl_https_query(ask, "compression"), e);
	bwl_fail(e, ENOENT, "there is no such document");
	bwl_hint(e,
		 "/metrics, or /v1/ and status, top, usage, reasons, history, closures or exfil");
	return NULL;
}

static void say_metrics(const struct model_asked *a, struct bwl_https_answer *ret)
{
	FILE *f;

	*ret = (struct bwl_https_answer){ .status = 200,
					  .type = "text/plain; version=0.0.4; charset=utf-8" };
	f = bwl_must(open_memstream(&ret->text, &ret->len));
	model_metrics(f, a);
	fclose(f);
}

static void answer(void *arg, const struct bwl_https_ask *ask, struct bwl_https_answer *ret)
{
	struct bwl_model *m = arg;
	struct model_asked a = { .set = &m->set,
				 .fleet = m->conf.fleet,
				 .choice = { bwl_https_query(ask, "tray"),
					     bwl_https_query(ask, "label") },
				 .now_ns = bwl_now_ns(),
				 .wall_s = time(NULL) };
	struct bwl_err e = { 0 };
	json_t *o = NULL;

	if (model_page_parse(bwl_https_query(ask, "offset"), bwl_https_query(ask, "limit"),
			     bwl_https_query(ask, "sort"), &a.page, &e)) {
		bwl_https_refuse(ret, 400, &e);
		return;
	}
	pthread_mutex_lock(&m->lock);
	if (!strcmp(ask->path, "/metrics"))
		say_metrics(&a, ret);
	else
		o = document(&a, ask, &e);
	pthread_mutex_unlock(&m->lock);
	if (o) {
		*ret = (struct bwl_https_answer){ .status = 200, .type = JSON };
		ret->text = bwl_must(json_dumps(o, JSON_COMPACT));
		ret->len = strlen(ret->text);
		json_decref(o);
	} else if (e.code) {
		bwl_https_refuse(ret, e.code == ENOENT ? 404 : 400, &e);
	}
}

int bwl_model_start(const struct bwl_model_conf *c, struct bwl_model **ret, struct bwl_err *e)
{
	struct bwl_model *m = bwl_must(calloc(1, sizeof(*m)));
	struct bwl_https_conf https = {
		.at = c->serve,
		.tls = { [BWL_TLS_CA] = c->tls.ca,
			 [BWL_TLS_CERT] = c->tls.cert,
			 [BWL_TLS_KEY] = c->tls.key,
			 [BWL_TLS_CRL] = c->crl },
		.connections = CONNECTIONS,
		.asks = { .at_once = 100, .a_second = 20 },
		.bytes = { .at_once = 256U << 20, .a_second = 16U << 20 },
		.answer = answer,
		.arg = m,
	};
	int r;

	m->conf = *c;
	memcpy(https.names, c->names, sizeof(https.names));
	pthread_mutex_init(&m->lock, NULL);
	r = bwl_https_open(&https, &m->https, e);
	if (!r && pthread_create(&m->thread, NULL, run, m)) {
		bwl_https_close(m->https);
		r = bwl_fail(e, EAGAIN, "cannot start a thread");
	}
	if (r)
		free(m);
	else
		*ret = m;
	return r;
}

int bwl_model_anew(struct bwl_model *m, struct bwl_err *e)
{
	return bwl_https_anew(m->https, e);
}

struct bwl_tls_facts bwl_model_tls(struct bwl_model *m)
{
	return bwl_https_facts(m->https);
}

void bwl_model_stop(struct bwl_model *m)
{
	if (!m)
		return;
	m->stopped = true;
	pthread_join(m->thread, NULL);
	bwl_https_close(m->https);
	model_set_done(&m->set);
	pthread_mutex_destroy(&m->lock);
	free(m);
}
