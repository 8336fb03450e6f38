/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the commands for whole policies. */
#ifndef BWL_CTL_POLICY_H
#define BWL_CTL_POLICY_H

#include "ctl.h"

/* policy_document.c */
/* A policy and the bytes that it was read from, which the caller frees. */
struct ctl_document {
	struct bwl_policy *pol;
	char *bytes;
	size_t len;
};
int ctl_document_load(struct ctl *c, const char *file, struct ctl_document *ret);
void ctl_document_free(struct ctl_document *d);

void ctl_policy_warn(const struct bwl_policy *pol);
json_t *ctl_policy_warnings(const struct bwl_policy *pol);
void ctl_policy_hex(const struct bwl_policy *pol, char hex[static 65]);

/* policy_check.c: the command */
int ctl_policy_check(struct ctl *c, int argc, char **argv);
/* policy_apply.c: the command */
int ctl_policy_apply(struct ctl *c, int argc, char **argv);

#endif
