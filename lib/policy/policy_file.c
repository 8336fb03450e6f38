/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A policy file as bytes. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "policy_text.h"

static int read_all(int fd, size_t guess, char **ret, size_t *ret_len, struct bwl_err *e)
{
	size_t size = guess, len = 0;
	char *buf = malloc(size);

	while (buf) {
		ssize_t n = read(fd, buf + len, size - len);
		char *grown;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			n = errno;
			free(buf);
			return bwl_fail(e, n, "cannot read: %s", strerror(n));
		}
		if (n == 0) {
			*ret = buf;
			*ret_len = len;
			return 0;
		}
		len += n;
		if (len > BWL_MAX_POLICY_BYTES) {
			free(buf);
			return bwl_fail(e, EFBIG, "larger than any policy: at most 512 MiB");
		}
		if (len < size)
			continue;
		size *= 2;
		grown = realloc(buf, size);
		if (!grown)
			free(buf);
		buf = grown;
	}
	return bwl_fail(e, ENOMEM, "out of memory");
}

int bwl_policy_load(const char *path, uint64_t now_boot_ns, int64_t now_wall_s,
		    struct bwl_policy **ret, struct bwl_err *e)
{
	bool std = !strcmp(path, "-");
	const char *name = std ? "standard input" : path;
	int fd = std ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	char *text = NULL;
	struct stat st;
	size_t len = 0;
	int r;

	if (fd < 0 || fstat(fd, &st))
		r = bwl_fail(e, errno, "cannot open: %s", strerror(errno));
	else if (S_ISREG(st.st_mode) && st.st_size > (off_t)BWL_MAX_POLICY_BYTES)
		r = bwl_fail(e, EFBIG, "larger than any policy: at most 512 MiB");
	else
		r = read_all(fd, S_ISREG(st.st_mode) ? st.st_size + 4096 : 65536, &text, &len, e);
	if (fd >= 0 && !std)
		close(fd);
	if (r) {
		if (e)
			strncpy(e->file, name, sizeof(e->file) - 1);
		return r;
	}
	r = bwl_policy_parse(name, text, len, now_boot_ns, now_wall_s, ret, e);
	free(text);
	return r;
}
