/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of the kernel below /proc/sys, by their whole path. */
#ifndef BWL_SYSCTL_H
#define BWL_SYSCTL_H

/* -1 when it is not there. */
int bwl_sysctl_value(const char *path);
/* 0 or -errno; -ENOENT: the kernel has none of that name. */
int bwl_sysctl_set(const char *path, int value);

#endif
