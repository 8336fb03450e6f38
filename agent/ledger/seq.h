/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ledger.seq: the number of the last commit that is on disk. Two records, written in turn, each in
 * a sector of its own: one that is torn leaves the other.
 */
#ifndef BWL_AGENT_LEDGER_SEQ_H
#define BWL_AGENT_LEDGER_SEQ_H

#include <stdbool.h>
#include <stdint.h>
#include "bwl/err.h"

/* -EUCLEAN: there, and neither record reads. is_new: made anew, at 0. */
int ledger_seq_open(const char *dir, bool is_new, int *ret_fd, uint64_t *ret_last,
		    struct bwl_err *e);
/* As it is on disk, for who only tells of it. 0: there is none, or none that reads. */
uint64_t ledger_seq_read(const char *dir);
int ledger_seq_write(int fd, uint64_t seq, struct bwl_err *e);

#endif
