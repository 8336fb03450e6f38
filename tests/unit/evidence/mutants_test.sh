#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Some hundred changed exports of evidence; with BWL_LONG=1, or MUTANTS=11000, more than 10 000. SEED=N: others.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
exec python3 "$here/mutants.py" "${BWL_BUILD:-${here%/*/*/*}/build/dev}" "${MUTANTS:-$((${BWL_LONG:-0} ? 11000 : 600))}" "${SEED:-1}"
