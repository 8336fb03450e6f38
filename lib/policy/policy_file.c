// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads a policy file as bytes. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bwl/bytes.h>
#include "policy_text.h"

int bwl_policy_bytes(const char *path, char **ret, size_t *ret_len, struct bwl_err *e)
{
	bool std = !strcmp(path, "-");
	BWL_AUTO_CLOSE int fd = std ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? bwl_fail(e, errno, "cannot open: %s", strerror(errno))
		       : bwl_bytes_read(fd, BWL_POLICY_BYTES_MAX, ret, ret_len, e);

	if (r == -EFBIG)
		bwl_fail(e, EFBIG, "too large for a policy: at most 512 MiB");
	if (r && e)
		strncpy(e->file, bwl_policy_file_name(path), sizeof(e->file) - 1);
	return r;
}

const char *bwl_policy_file_name(const char *path)
{
	return strcmp(path, "-") ? path : "standard input";
}

int bwl_policy_load(const char *path, uint64_t now_boot_ns, int64_t now_wall_s,
		    struct bwl_policy **ret, struct bwl_err *e)
{
	BWL_AUTO_FREE char *text = NULL;
	size_t len = 0;
	int r = bwl_policy_bytes(path, &text, &len, e);

	return r ? r
		 : bwl_policy_parse(bwl_policy_file_name(path), text, len, now_boot_ns, now_wall_s,
				    ret, e);
}
