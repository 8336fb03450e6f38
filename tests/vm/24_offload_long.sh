#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# 23_offload, with a thousand removals.
# vm-cost: 900
# vm-once: yes
# vm-needs: netdevsim iproute2
REMOVALS=1000 exec bash "${BWL_SOURCE:?}/tests/vm/23_offload.sh"
