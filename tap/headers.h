/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the headers of an Ethernet frame end. */
#ifndef BWL_TAP_HEADERS_H
#define BWL_TAP_HEADERS_H

#include <stddef.h>
#include <stdint.h>

#define TAP_SNAP 192 /* bytes: no more of a frame is ever captured */

/*
 * Bytes from the start: Ethernet, two VLAN tags, IP with options or extension headers, TCP with
 * options, UDP (RoCE: and its BTH), ICMP, ESP. What follows is payload; unknown protocols have no
 * headers. Never more than len.
 */
size_t tap_headers(const uint8_t *at, size_t len);

#endif
