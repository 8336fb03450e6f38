/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside lib: which maps are arrays in user space, and how they are mapped there. */
#ifndef BWL_LIB_MAPPED_H
#define BWL_LIB_MAPPED_H

#include <bwl/pins.h>

/* Maps all arrays of the open pins; with p->few, those with an entry per peer are only reserved. */
int bwl_mapped_open(struct bwl_pins *p, struct bwl_err *e);
void bwl_mapped_close(struct bwl_pins *p);

/* Addresses that fault until bwl_map_entry() has mapped an entry's pages there; or MAP_FAILED. */
void *bwl_reserve(size_t bytes);
int bwl_map_entry(void *array, size_t entry_bytes, uint32_t i, int prot, int fd);

#endif
