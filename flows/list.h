/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The folder of intervals, for readers: no map and no libbpf is needed. */
#ifndef BWL_FLOWS_LIST_H
#define BWL_FLOWS_LIST_H

#include <stddef.h>
#include <stdint.h>
#include <bwl/err.h>

#define FLOWS_DIR "flows" /* below the state directory */

/* Numbers of the files, the oldest first; the caller frees *ret. */
int flows_store_list(const char *dir, uint64_t **ret, size_t *ret_n, struct bwl_err *e);
#define FLOWS_NAME 32
const char *flows_store_name(uint64_t number, char buf[static FLOWS_NAME]);

#endif
