/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What was known at a moment, into the log of a dm-log-writes device. */
#ifndef BWL_TEST_MARK_H
#define BWL_TEST_MARK_H

#include <errno.h>
#include <fcntl.h>
#include <linux/dm-ioctl.h>
#include <stdio.h>
#include <sys/ioctl.h>

#define MARK_TEXT 400 /* a mark and its head fit a sector */

static inline int mark_open(void)
{
	return open("/dev/mapper/control", O_RDWR | O_CLOEXEC);
}

/* As dmsetup(8) would, without a process for each. */
static inline int mark_say(int control, const char *device, const char *text)
{
	_Alignas(8) char
		buf[sizeof(struct dm_ioctl) + sizeof(struct dm_target_msg) + MARK_TEXT + 8] = "";
	struct dm_ioctl *head = (struct dm_ioctl *)buf;
	struct dm_target_msg *msg = (struct dm_target_msg *)(buf + sizeof(*head));

	*head = (struct dm_ioctl){ .version = { 4, 0, 0 },
				   .data_size = sizeof(buf),
				   .data_start = sizeof(*head) };
	snprintf(head->name, sizeof(head->name), "%s", device);
	snprintf(msg->message, MARK_TEXT + 8, "mark %s", text);
	return ioctl(control, DM_TARGET_MSG, buf) ? -errno : 0;
}

#endif
