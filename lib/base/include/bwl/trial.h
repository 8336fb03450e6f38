/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A policy that holds for a time only: on trial (`policy apply --confirm`), or an emergency's. All
 * doors by which one comes bound its time here.
 *
 * Nothing else comes into force meanwhile: not the desired policy, not what people signed to
 * tighten, not an edit. So the time is at most that of an emergency, which two people sign: enough
 * for somebody to look after a shift, and below the day that a signed policy usually holds without
 * a signed time (`offline_for`). Who wants longer applies the policy without --confirm.
 */
#ifndef BWL_TRIAL_H
#define BWL_TRIAL_H

#include <stdint.h>
#include <bwl/err.h>

#define BWL_TRIAL_MIN_NS 1000000000ULL
#define BWL_TRIAL_MAX_NS (4 * 3600 * 1000000000ULL)

/* The argument of --confirm, as bwl_parse_time(). */
int bwl_parse_trial(const char *s, uint64_t *ret_ns, struct bwl_err *e);
/* The same bound, for a time that is a number already; what: its name in the error. */
int bwl_trial_check(const char *what, uint64_t ns, struct bwl_err *e);
/*
 * Is a policy on trial until then (bwl_pending_ns(); 0: none)? -EBUSY, and what waits until when,
 * for everything that cannot come into force before that.
 */
int bwl_trial_wait(uint64_t until_ns, uint64_t now_ns, struct bwl_err *e);

#endif
