/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ledger.seq: the number of the last commit on disk. Two records, written in turn, each in its own
 * sector: if one is torn, the other remains.
 */
#ifndef BWL_AGENT_LEDGER_SEQ_H
#define BWL_AGENT_LEDGER_SEQ_H

#include <stdbool.h>
#include <stdint.h>
#include "bwl/err.h"

/* -EUCLEAN: it exists, but neither record is readable. is_new: created anew, at 0. */
int ledger_seq_open(const char *dir, bool is_new, int *ret_fd, uint64_t *ret_last,
		    struct bwl_err *e);
/* The number on disk, for reports only. 0: there is none, or it is unreadable. */
uint64_t ledger_seq_read(const char *dir);
int ledger_seq_write(int fd, uint64_t seq, struct bwl_err *e);

#endif
