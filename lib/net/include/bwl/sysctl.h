/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numeric sysctls below /proc/sys, by their full path. */
#ifndef BWL_SYSCTL_H
#define BWL_SYSCTL_H

/* -1 if it does not exist. */
int bwl_sysctl_value(const char *path);
/* 0 or -errno; -ENOENT: the kernel has no such sysctl. */
int bwl_sysctl_set(const char *path, int value);

#endif
