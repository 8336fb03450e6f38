/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BWL_AGENT_OPTIONS_H
#define BWL_AGENT_OPTIONS_H

#include "agent.h"

/* -1: continue; otherwise everything was printed, and the process ends with this code. */
int agent_options(int argc, char **argv, struct agent *a);

#endif
