// SPDX-License-Identifier: GPL-2.0-or-later
/* Small files in the state directory: one line, followed by its SHA-256. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <openssl/evp.h>
#include "agent.h"
#include "bwl/bytes.h"
#include "bwl/cleanup.h"

static void sum(const char *text, size_t len, char hex[static 65])
{
	unsigned char d[32] = { 0 };
	unsigned i;

	EVP_Digest(text, len, d, NULL, EVP_sha256(), NULL);
	for (i = 0; i < sizeof(d); i++)
		snprintf(hex + 2 * i, 3, "%02x", d[i]);
}

int agent_state_read(const char *state_dir, const char *name, char *buf, size_t size)
{
	BWL_AUTO_CLOSE int fd = -1;
	char path[512], hex[65], *end;
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", state_dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -ENOENT;
	n = read(fd, buf, size - 1);
	if (n < 0)
		return -ENOENT;
	buf[n] = '\0';
	end = strchr(buf, '\n');
	if (!end)
		return -ENOENT;
	sum(buf, (size_t)(end - buf), hex);
	if (strncmp(end + 1, hex, 64))
		return -ENOENT;
	*end = '\0';
	return 0;
}

int agent_state_write(const char *state_dir, const char *name, const char *text, struct bwl_err *e)
{
	char hex[66] = "";
	struct bwl_bytes part[] = { { text, strlen(text) }, { "\n", 1 }, { hex, 65 } };

	sum(text, strlen(text), hex);
	hex[64] = '\n';
	return bwl_bytes_replace(state_dir, name, part, sizeof(part) / sizeof(part[0]), e);
}
