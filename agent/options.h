/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef BWL_AGENT_OPTIONS_H
#define BWL_AGENT_OPTIONS_H

#include "agent.h"

/* -1: go on; else the process has said all, and ends with this. */
int agent_options(int argc, char **argv, struct agent *a);

#endif
