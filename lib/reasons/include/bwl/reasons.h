/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of reasons (maps/reason.h) and events (maps/event.h), for people. */
#ifndef BWL_REASONS_H
#define BWL_REASONS_H

const char *bwl_reason_name(unsigned reason); /* "peer-rate" */
const char *bwl_reason_text(unsigned reason);
const char *bwl_reason_todo(unsigned reason); /* "" when there is nothing to do */
const char *bwl_event_name(unsigned kind);

#endif
