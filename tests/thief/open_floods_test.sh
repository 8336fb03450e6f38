#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# open_test.sh for the scripts that fill the neighbour table, which the whole machine shares.
exec "$(dirname "${BASH_SOURCE[0]}")/open_test.sh" --floods
