# SPDX-License-Identifier: GPL-2.0-or-later
"""Prints every data record of the IPFIX on standard input as a JSON line, read by python3-ipfix. Fails if a message's
sequence number is not the number of data records before it (RFC 7011, 3.1)."""

import ipaddress
import json
import sys

import ipfix.ie
import ipfix.message
import ipfix.types

# docs/export.md
OURS = """1 ChargedOctetDeltaCount unsigned64
2 PeerName string
3 ReasonName string
4 Direction unsigned8
5 PolicyGeneration unsigned32
6 QueuePair unsigned32
7 IntervalSequence unsigned64
8 BootId string
9 Tables unsigned64
10 Interval unsigned32
11 Balanced unsigned8
12 Gap string
13 Why string
14 SentAgain unsigned8
15 WithheldFlowCount unsigned64"""
# From IANA's list, newer than this reader's own list.
LATER = """352 layer2OctetDeltaCount unsigned64
424 droppedLayer2OctetDeltaCount unsigned64
426 ignoredLayer2OctetTotalCount unsigned64
427 notSentLayer2OctetTotalCount unsigned64"""

ipfix.ie.use_iana_default()
for number, name, kind in (line.split() for line in OURS.splitlines()):
    ipfix.ie.for_spec(f"bwlimit{name}(32473/{number})<{kind}>")
for number, name, kind in (line.split() for line in LATER.splitlines()):
    ipfix.ie.for_spec(f"{name}({number})<{kind}>")


def plain(value):
    if isinstance(value, (int, str, bool, float)):
        return value
    if isinstance(value, (ipaddress.IPv4Address, ipaddress.IPv6Address)):
        return str(value)
    if isinstance(value, bytes):
        return value.decode()
    return value.isoformat()


message, count, wrong = ipfix.message.MessageBuffer(), 0, 0
while True:
    try:
        message.read_message(sys.stdin.buffer)
    except EOFError:
        break
    wrong += message.sequence != count
    for record in message.namedict_iterator():
        count += 1
        print(json.dumps({key: plain(value) for key, value in record.items()}))
sys.exit(f"{wrong} messages have wrong sequence numbers" if wrong else 0)
