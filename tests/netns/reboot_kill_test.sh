#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The other half of reboot_test.sh: revoke, grant and attach are killed, and reboots at random moments.
REBOOT_PART=kills exec "$(dirname "${BASH_SOURCE[0]}")/reboot_test.sh"
