// SPDX-License-Identifier: GPL-2.0-or-later
/* See certificate.h. */
#include <errno.h>
#include <gnutls/x509.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/cleanup.h"
#include "certificate.h"
#include "export/prometheus.h"

#define NAME "web_certificate_expiry_timestamp_seconds"

static int end_of(const char *pem, time_t *ret)
{
	const gnutls_datum_t data = { (unsigned char *)(uintptr_t)pem, (unsigned)strlen(pem) };
	gnutls_x509_crt_t crt;
	int r = gnutls_x509_crt_init(&crt);

	if (r)
		return r;
	r = gnutls_x509_crt_import(crt, &data, GNUTLS_X509_FMT_PEM);
	if (!r)
		*ret = gnutls_x509_crt_get_expiration_time(crt);
	gnutls_x509_crt_deinit(crt);
	return r;
}

int certificate_metrics(const char *pem, char **ret, struct bwl_err *e)
{
	const struct prom_labels none = { 0 };
	time_t end = -1;
	size_t len;
	FILE *f;
	int r = end_of(pem, &end);

	if (r || end == -1)
		return bwl_fail(e, EINVAL, "--cert is not a certificate in PEM: %s",
				r ? gnutls_strerror(r) : "it has no end");
	f = bwl_must(open_memstream(ret, &len));
	prom_family(f, NAME, PROM_GAUGE, "When the certificate that bwlimit-web read last ends.");
	prom_sample(f, NAME, &none, (double)end);
	fclose(f);
	return 0;
}
