// SPDX-License-Identifier: GPL-2.0-or-later
/* See client.h. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/cleanup.h"
#include "client.h"

BWL_AUTO_DEFINE(json_decref, json_t *)

static size_t take(char *at, size_t size, size_t n, void *arg)
{
	struct bwl_https_got *got = arg;

	n *= size;
	if (n > got->most - got->len) {
		got->too_long = true;
		return 0;
	}
	got->text = bwl_must(realloc(got->text, got->len + n + 1));
	memcpy(got->text + got->len, at, n);
	got->len += n;
	got->text[got->len] = '\0';
	return n;
}

CURL *bwl_https_ask_new(const char *url, const struct bwl_grpc_tls *tls, unsigned timeout_s,
			struct bwl_https_got *got)
{
	CURL *h = curl_easy_init();

	if (!h)
		return NULL;
	curl_easy_setopt(h, CURLOPT_URL, url);
	curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, "https");
	curl_easy_setopt(h, CURLOPT_PROXY, "");
	curl_easy_setopt(h, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_3);
	curl_easy_setopt(h, CURLOPT_CAPATH, NULL);
	curl_easy_setopt(h, CURLOPT_CAINFO, tls->ca);
	curl_easy_setopt(h, CURLOPT_SSLCERT, tls->cert);
	curl_easy_setopt(h, CURLOPT_SSLKEY, tls->key);
	curl_easy_setopt(h, CURLOPT_TIMEOUT, (long)timeout_s);
	curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT, 5L);
	curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, take);
	curl_easy_setopt(h, CURLOPT_WRITEDATA, got);
	return h;
}

void bwl_https_got_done(struct bwl_https_got *got)
{
	free(got->text);
	*got = (struct bwl_https_got){ .most = got->most };
}

int bwl_https_judge(CURL *h, CURLcode code, const struct bwl_https_got *got, struct bwl_err *e)
{
	BWL_AUTO(json_decref) json_t *o = NULL;
	const char *text, *todo;
	char *url = NULL;
	long status = 0;

	curl_easy_getinfo(h, CURLINFO_EFFECTIVE_URL, &url);
	curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &status);
	if (got->too_long)
		return bwl_fail(e, EFBIG, "%.200s: more than %zu bytes", url, got->most);
	if (code)
		return bwl_fail(e, EHOSTUNREACH, "%.200s: %s", url, curl_easy_strerror(code));
	if (status == 200)
		return 0;
	o = got->text ? json_loadb(got->text, got->len, JSON_REJECT_DUPLICATES, NULL) : NULL;
	text = json_string_value(json_object_get(json_object_get(o, "error"), "text"));
	todo = json_string_value(json_object_get(json_object_get(o, "error"), "todo"));
	bwl_fail(e,
		 status == 404   ? ENOENT
		 : status == 429 ? EAGAIN
				 : EREMOTEIO,
		 "%.200s: %.300s", url, text ? text : "it answers with an error");
	return todo ? bwl_hint(e, "%.200s", todo) : -e->code;
}
