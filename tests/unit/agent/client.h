/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A client of one of bwlimitd's sockets. It never waits. */
#ifndef BWL_TEST_CLIENT_H
#define BWL_TEST_CLIENT_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static char path[64]; /* the socket's */

static inline int dial(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	strcpy(at.sun_path, path);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	return fd;
}

static inline void tell(int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
}

/* Everything that has arrived. "": the other side hung up; NULL: nothing yet. */
static inline const char *heard(int fd)
{
	static char buf[1 << 20];
	size_t n = 0;
	ssize_t r;

	while ((r = recv(fd, buf + n, sizeof(buf) - 1 - n, MSG_DONTWAIT)) > 0)
		n += (size_t)r;
	buf[n] = '\0';
	return n || !r ? buf : NULL;
}

#endif
