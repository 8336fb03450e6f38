#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The kernel types that the programs are fitted to (CO-RE) are in each kernel's own BTF.

For a type that is not there libbpf looks through the BTF of all modules, which takes CAP_SYS_ADMIN:
bwlimit.service has none, and would put nothing in force. What not every kernel has, user space asks
for and tells the programs (lib/net/kernel_has.c).

core_types_test.py OBJECT...: BPF objects; *_plain.bpf.o must do without types of modules, too.
"""
import struct
import sys

EVERYWHERE = {
    "bpf_func_id": "enum of helpers: as old as BTF",
    "spinlock": "kernel/locking: as old as the kernel",
    "sk_buff": "linux/skbuff.h: as old as the network stack",
    "skb_shared_info": "linux/skbuff.h: likewise",
}
OF_MODULES = {"bpf_xfrm_info": "of xfrm_interface, with its kfuncs: the object that is not plain"}
# Bytes behind a type of each kind (uapi/linux/btf.h): in all, and for each member.
BEHIND = {1: (4, 0), 3: (12, 0), 4: (0, 12), 5: (0, 12), 6: (0, 8), 13: (0, 8), 14: (4, 0), 15: (0, 12), 17: (4, 0), 19: (0, 12)}


def text(strings, at):
    return strings[at:strings.index(b"\0", at)].decode()


def sections(elf):
    start, = struct.unpack_from("<Q", elf, 0x28)
    size, count, names_at = struct.unpack_from("<HHH", elf, 0x3a)
    heads = [struct.unpack_from("<IIQQQQIIQQ", elf, start + i * size) for i in range(count)]
    _, _, _, _, at, length = heads[names_at][:6]
    return {text(elf[at:at + length], h[0]): elf[h[4]:h[4] + h[5]] for h in heads if h[1] != 8}


def roots(elf):
    """Names of the types that relocations begin with."""
    found = sections(elf)
    btf, ext = found[".BTF"], found[".BTF.ext"]
    head, types_at, types_len, strings_at, strings_len = struct.unpack_from("<IIIII", btf, 4)
    strings = btf[head + strings_at:head + strings_at + strings_len]
    types = btf[head + types_at:head + types_at + types_len]
    names, at = [""], 0
    while at < len(types):
        name, info = struct.unpack_from("<II", types, at)
        once, each = BEHIND.get(info >> 24 & 31, (0, 0))
        at += 12 + once + each * (info & 0xffff)
        names.append(text(strings, name))
    head, = struct.unpack_from("<I", ext, 4)
    relo_at, relo_len = struct.unpack_from("<II", ext, 24)
    relo = ext[head + relo_at:head + relo_at + relo_len]
    size, = struct.unpack_from("<I", relo, 0)
    ret, at = set(), 4
    while at < len(relo):
        _, count = struct.unpack_from("<II", relo, at)
        at += 8
        for _ in range(count):
            ret.add(names[struct.unpack_from("<I", relo, at + 4)[0]])
            at += size
    return ret


bad = 0
for number, path in enumerate(sys.argv[1:], 1):
    with open(path, "rb") as f:
        asked = roots(f.read())
    plain = path.endswith("_plain.bpf.o")
    allowed = set(EVERYWHERE) | (set() if plain else set(OF_MODULES))
    good = "bpf_func_id" in asked and asked <= allowed  # one that is surely there: relocations were found
    bad += not good
    print("ok" if good else "not ok", number, "-", path.rsplit("/", 1)[-1], "asks for no type that a kernel may lack")
    for name in sorted(asked - allowed):
        print(f"# struct {name}: user space must ask for it (lib/net/kernel_has.c)")
print(f"1..{len(sys.argv) - 1}")
sys.exit(1 if bad else 0)
