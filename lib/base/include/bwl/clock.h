/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Boot time (as in the data plane), the boot's id, and whether the wall clock can be trusted. */
#ifndef BWL_CLOCK_H
#define BWL_CLOCK_H

#include <stdint.h>

uint64_t bwl_now_ns(void); /* CLOCK_BOOTTIME */
enum bwl_wall { BWL_WALL_OK, BWL_WALL_UNSYNC, BWL_WALL_OLD };
enum bwl_wall bwl_wall_state(void);

#define BWL_BOOT_ID 40
/* boot_id.c: the kernel's id of this boot, hexadecimal with dashes; "?" if it cannot be read. */
char *bwl_boot_id(char buf[static BWL_BOOT_ID]);

#endif
