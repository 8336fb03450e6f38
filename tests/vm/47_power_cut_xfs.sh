#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# 47_power_cut on XFS, whose journal is different: it loses other writes, and leaves other parts of a file.
# vm-cost: 1200
# vm-once: yes
# vm-env: BWL_CUT_STEP BWL_CUT_SECONDS
BWL_CUT_FS=xfs exec bash "${BWL_SOURCE:?}/tests/vm/47_power_cut.sh"
