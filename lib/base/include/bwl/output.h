/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a program prints, from its first line to its exit code. Every main() begins and ends with
 * these: a full disk, a closed descriptor or a limit of file sizes must neither end a program in
 * the middle of what it changes, nor pass for success.
 */
#ifndef BWL_OUTPUT_H
#define BWL_OUTPUT_H

#include <signal.h>
#include <bwl/err.h>

/*
 * Before anything else. From then on SIGPIPE and SIGXFSZ are errors of write() (EPIPE, EFBIG), and
 * no file that is opened later becomes standard input, output or error because that was closed.
 * Also bwl_log_program().
 */
void bwl_output_begin(const char *program);

/* The signals that a program that is started is to have as usual again. */
void bwl_output_signals(sigset_t *ret);

/* A write to standard output or error that did not go through stdio failed with that errno. */
void bwl_output_lost(int error);

/* Has all that was printed arrived? 0, or -errno and *e; -EPIPE: its reader has left. */
int bwl_output_flush(struct bwl_err *e);

/* Something has been changed, which no loss of output undoes: bwl_output_end() says so. */
void bwl_output_done(void);

/*
 * The exit code: code, but 1 instead of 0 if something was lost, which is then said on standard
 * error. Nothing is said of a reader that has left (`| head`), unless something was changed.
 */
int bwl_output_end(int code);

#endif
