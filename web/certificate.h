/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of our own certificate, as it was last read, for /metrics. */
#ifndef BWL_WEB_CERTIFICATE_H
#define BWL_WEB_CERTIFICATE_H

#include "bwl/err.h"

/* Lines of Prometheus' text about the first certificate of a PEM; the caller frees them. */
int certificate_metrics(const char *pem, char **ret, struct bwl_err *e);

#endif
