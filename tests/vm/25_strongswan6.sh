#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# 20_strongswan with the newest strongSwan of Debian sid: ML-KEM and packet offload. In a boot of its
# own, because its libc replaces the guest's.
# vm-cost: 130
# vm-needs: strongswan6
exec bash "$(dirname "$0")/20_strongswan.sh"
