// SPDX-License-Identifier: GPL-2.0-or-later
/* See listen.h. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/bytes.h"
#include "bwl/cleanup.h"
#include "listen.h"

#define PEM_MAX (1U << 20)

int bwl_listen_address(const char *at, struct sockaddr_storage *ret, struct bwl_err *e)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)ret;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;
	const char *colon = strrchr(at, ':');
	char host[INET6_ADDRSTRLEN + 2];
	size_t n = colon ? (size_t)(colon - at) : sizeof(host);
	char *end = NULL;
	unsigned long port = colon ? strtoul(colon + 1, &end, 10) : 0;
	bool is_v6 = n > 2 && *at == '[' && at[n - 1] == ']';

	*ret = (struct sockaddr_storage){ 0 };
	if (n < sizeof(host) && port && port < 65536 && !*end && colon[1] != '+') {
		snprintf(host, sizeof(host), "%.*s", (int)(is_v6 ? n - 2 : n), is_v6 ? at + 1 : at);
		if (is_v6 && inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
			v6->sin6_family = AF_INET6;
			v6->sin6_port = htons((uint16_t)port);
			return 0;
		}
		if (!is_v6 && inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
			v4->sin_family = AF_INET;
			v4->sin_port = htons((uint16_t)port);
			return 0;
		}
	}
	return bwl_fail(
		e, EINVAL,
		"'%.80s': must be ADDRESS:PORT, for example 10.9.0.7:7443 or [fd00::7]:7443", at);
}

int bwl_listen_pem(const char *file, char **ret, struct bwl_err *e)
{
	BWL_AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC);
	size_t len;
	int r;

	if (fd < 0)
		return bwl_fail(e, errno, "cannot read '%s': %m", file);
	r = bwl_bytes_read(fd, PEM_MAX, ret, &len, e);
	if (r || (len && strlen(*ret) == len))
		return r;
	/* An empty CRL would admit revoked certificates. */
	free(*ret);
	*ret = NULL;
	return bwl_fail(e, EINVAL,
			len ? "'%s' has a NUL byte: it must be PEM"
			    : "'%s' is empty: it must be PEM",
			file);
}
