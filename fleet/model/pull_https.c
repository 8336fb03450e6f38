// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See pull.h. A tray says where it listens; its certificate has its name and proves that it is that
 * tray. So the address may be false, but another tray's numbers never count as its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/cleanup.h"
#include "fleet/http/client.h"
#include "pull.h"

#define TIMEOUT_S 20
#define KEPT 512L /* connections that stay open for the next round */

struct asked {
	char tray[BWL_DOC_NAME_MAX];
	struct curl_slist *to;
	struct bwl_https_got got;
	CURL *h; /* NULL: free */
};

struct pull_https {
	struct bwl_grpc_tls tls;
	CURLM *multi;
	struct asked asked[PULL_AT_ONCE], *told; /* told: the one whose answer is being read */
	struct bwl_err why;
};

struct pull_https *pull_https_new(const struct bwl_grpc_tls *tls)
{
	struct pull_https *h = bwl_must(calloc(1, sizeof(*h)));

	h->tls = *tls;
	h->multi = bwl_must(curl_multi_init());
	curl_multi_setopt(h->multi, CURLMOPT_MAXCONNECTS, KEPT);
	return h;
}

static void end(struct pull_https *h, struct asked *a)
{
	curl_multi_remove_handle(h->multi, a->h);
	curl_easy_cleanup(a->h);
	curl_slist_free_all(a->to);
	bwl_https_got_done(&a->got);
	*a = (struct asked){ .h = NULL };
}

void pull_https_free(struct pull_https *h)
{
	if (!h)
		return;
	for (unsigned i = 0; i < PULL_AT_ONCE; i++)
		if (h->asked[i].h)
			end(h, &h->asked[i]);
	curl_multi_cleanup(h->multi);
	free(h);
}

static int begin(void *arg, const char *tray, const char *at, const char *path, struct bwl_err *e)
{
	struct pull_https *h = arg;
	const char *port = strrchr(at, ':');
	char url[256], to[256];
	struct asked *a = NULL;

	for (unsigned i = 0; !a && i < PULL_AT_ONCE; i++)
		if (!h->asked[i].h)
			a = &h->asked[i];
	if (!a || !port)
		return bwl_fail(e, EINVAL, "'%.60s': not an address of a tray", at);
	snprintf(url, sizeof(url), "https://%s%s%s", tray, port, path);
	snprintf(to, sizeof(to), "%s%s:%s", tray, port, at);
	snprintf(a->tray, sizeof(a->tray), "%s", tray);
	a->got.most = PULL_BYTES_MAX;
	a->h = bwl_https_ask_new(url, &h->tls, TIMEOUT_S, &a->got);
	a->to = curl_slist_append(NULL, to);
	if (!a->h || !a->to)
		abort();
	curl_easy_setopt(a->h, CURLOPT_CONNECT_TO, a->to);
	curl_easy_setopt(a->h, CURLOPT_PRIVATE, a);
	curl_easy_setopt(a->h, CURLOPT_CERTINFO, 1L);
	curl_multi_add_handle(h->multi, a->h);
	return 0;
}

/*
 * When the certificate shown on this connection expires; 0: the connection is older than this call.
 */
static int64_t cert_end_s(CURL *h)
{
	static const char key[] = "Expire date:";
	struct curl_certinfo *x = NULL;

	if (curl_easy_getinfo(h, CURLINFO_CERTINFO, &x) || !x || x->num_of_certs < 1)
		return 0;
	for (const struct curl_slist *l = x->certinfo[0]; l; l = l->next)
		if (!strncmp(l->data, key, sizeof(key) - 1)) {
			time_t end = curl_getdate(l->data + sizeof(key) - 1, NULL);

			return end > 0 ? end : 0;
		}
	return 0;
}

static bool next(void *arg, struct pull_got *got)
{
	struct pull_https *h = arg;
	CURLMsg *m;
	int left;

	if (h->told)
		end(h, h->told);
	h->told = NULL;
	curl_multi_perform(h->multi, &left);
	do
		m = curl_multi_info_read(h->multi, &left);
	while (m && m->msg != CURLMSG_DONE);
	if (!m)
		return false;
	curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, (char **)&h->told);
	h->why = (struct bwl_err){ 0 };
	*got = (struct pull_got){ .tray = h->told->tray, .why = &h->why };
	if (bwl_https_judge(m->easy_handle, m->data.result, &h->told->got, &h->why))
		return true;
	got->text = h->told->got.text ? h->told->got.text : "";
	got->len = h->told->got.len;
	got->cert_end_s = cert_end_s(m->easy_handle);
	return true;
}

void pull_https_wait(struct pull_https *h, unsigned timeout_ms)
{
	curl_multi_poll(h->multi, NULL, 0, (int)timeout_ms, NULL);
}

const struct pull_transport pull_https_ops = { .begin = begin, .next = next };
