#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Runs a command with the rights that a systemd unit leaves it, without systemd: user, capabilities, groups, and
the system calls that its filters allow. The unit's settings for file system and cgroup are not applied:
vm-testbed/install starts the units themselves.

as_unit.py UNIT-FILE COMMAND [ARG...], as root.
"""
import errno
import grp
import os
import pwd
import re
import subprocess
import sys

import seccomp

CLONE_NEW = 0x7E020080
SUID_SGID = 0o6000
PROT_WRITE, PROT_EXEC = 2, 4
# Which argument has a file's mode, by system call.
MODES = {"chmod": 1, "fchmod": 1, "fchmodat": 2, "mkdir": 1, "mkdirat": 2, "mknod": 1, "mknodat": 2, "open": 2, "openat": 3, "creat": 1}
FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}
# What these settings refuse in addition to SystemCallFilter= (systemd.exec(5)).
REFUSES = {"ProtectClock": "@clock", "ProtectKernelModules": "@module", "ProtectKernelLogs": "syslog",
           "ProtectHostname": "sethostname setdomainname", "RestrictNamespaces": "setns unshare"}


def settings(path):
    """Names and values of [Service], in order."""
    with open(path, encoding="utf-8") as f:
        for line in f.read().replace("\\\n", " ").splitlines():
            if re.match(r"[A-Z]\w+=", line):
                yield line.split("=", 1)


def calls(words):
    """Names of the system calls that the words mean; groups as systemd-analyze lists them."""
    found = set()
    for word in words.split():
        if word.startswith("@"):
            said = subprocess.run(["systemd-analyze", "syscall-filter", word], capture_output=True, text=True, check=True)
            lines = [line.strip() for line in said.stdout.splitlines()[1:]]
            found |= calls(" ".join(line for line in lines if line and not line.startswith("#")))
        else:
            found.add(word)
    return found


def allowed(unit):
    ret = calls("@default")
    for name, value in unit:
        if name == "SystemCallFilter" and value.startswith("~"):
            ret -= calls(value[1:])
        elif name == "SystemCallFilter":
            ret |= calls(value)
    for name, value in unit:
        if value == "yes" and name in REFUSES:
            ret -= calls(REFUSES[name])
    return ret


def confine(unit):
    has = dict(unit)
    f = seccomp.SyscallFilter(defaction=seccomp.ERRNO(errno.EPERM))

    def when(call, arg, mask, value):
        f.add_rule(seccomp.ALLOW, call, seccomp.Arg(arg, seccomp.MASKED_EQ, mask, value))

    for call in sorted(allowed(unit)):
        try:
            if call in MODES and has.get("RestrictSUIDSGID") == "yes":
                when(call, MODES[call], SUID_SGID, 0)
            elif call == "clone" and has.get("RestrictNamespaces") == "yes":
                when(call, 0, CLONE_NEW, 0)
            elif call in ("mmap", "mprotect") and has.get("MemoryDenyWriteExecute") == "yes":
                when(call, 2, PROT_EXEC, 0)
                if call == "mmap":
                    when(call, 2, PROT_WRITE | PROT_EXEC, PROT_EXEC)
            elif call == "socket" and "RestrictAddressFamilies" in has:
                for family in has["RestrictAddressFamilies"].split():
                    f.add_rule(seccomp.ALLOW, call, seccomp.Arg(0, seccomp.EQ, FAMILIES[family]))
            else:
                f.add_rule(seccomp.ALLOW, call)
        except RuntimeError:
            pass  # unknown to libseccomp, or not a system call of this machine
    f.load()


inner = sys.argv[1] == "--inner"
path, *command = sys.argv[1 + inner:]
service = list(settings(path))
if inner:
    confine(service)
    os.execvp(command[0], command)
kept = [w[4:].lower() for n, v in service if n == "CapabilityBoundingSet" for w in v.split()]
groups = [str(grp.getgrnam(w).gr_gid) for n, v in service if n == "SupplementaryGroups" for w in v.split()]
who = []
for name, value in service:
    if name == "User":
        who = [f"--reuid={pwd.getpwnam(value).pw_uid}", f"--regid={pwd.getpwnam(value).pw_gid}"]
for name, value in service:
    if name == "Group":
        who[1] = f"--regid={grp.getgrnam(value).gr_gid}"
os.execvp("setpriv", ["setpriv", "--bounding-set=" + ",".join(["-all"] + ["+" + w for w in kept]), "--inh-caps=-all",
                      *(["--groups=" + ",".join(groups)] if groups else ["--clear-groups"]), "--no-new-privs", *who,
                      sys.executable, __file__, "--inner", path, *command])
