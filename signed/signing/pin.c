// SPDX-License-Identifier: GPL-2.0-or-later
/* See pin.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>
#include <bwl/cleanup.h>
#include <bwl/encode.h>
#include "signed/signing/pin.h"

#define SOURCE "pin-source="

/* "%2f" means '/'; false: it is too long, or malformed. */
static bool decode(const char *s, size_t n, char ret[static BWL_PIN_PATH])
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++, k++) {
		char hex[3] = "";
		uint8_t byte = (uint8_t)s[i];

		if (s[i] == '%' && i + 2 < n) {
			memcpy(hex, s + i + 1, 2);
			i += 2;
			if (!bwl_hex_decode(hex, &byte, 1) || !byte)
				return false;
		}
		if (k == BWL_PIN_PATH - 1)
			return false;
		ret[k] = (char)byte;
	}
	ret[k] = '\0';
	return k;
}

int bwl_pin_source(char *uri, char path[static BWL_PIN_PATH], struct bwl_err *e)
{
	char *query = strchr(uri, '?'), *at, *end;
	const char *value;

	*path = '\0';
	if (strstr(uri, "pin-value=")) {
		bwl_fail(
			e, EINVAL,
			"'pin-value' puts the PIN on the command line, where every user here can read it");
		return bwl_hint(e, "leave it out to be asked, or use ?pin-source=file:/PATH");
	}
	at = query ? strstr(query, SOURCE) : NULL;
	if (!at)
		return 0;
	value = at + strlen(SOURCE);
	end = at + strcspn(at, "&");
	if (!strncmp(value, "file:", 5))
		value += 5;
	if (!decode(value, (size_t)(end - value), path))
		return bwl_fail(e, EINVAL,
				"'pin-source' must be the path of a file, of at most %d bytes",
				BWL_PIN_PATH - 1);
	if (*end)
		memmove(at, end + 1, strlen(end + 1) + 1);
	else
		at[-1] = '\0'; /* the '?' or '&' before it */
	return 0;
}

static int cut(char *line, const char *where, struct bwl_err *e)
{
	line[strcspn(line, "\r\n")] = '\0';
	return *line ? 0 : bwl_fail(e, EINVAL, "there is no PIN %s", where);
}

int bwl_pin_read(const char *path, char ret[static BWL_PIN_MAX], struct bwl_err *e)
{
	BWL_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char where[BWL_PIN_PATH + 8];
	ssize_t n;

	if (fd < 0 || fstat(fd, &st))
		return bwl_fail(e, errno, "cannot read the PIN in %s: %s", path, strerror(errno));
	if (st.st_mode & 077) {
		bwl_fail(e, EPERM, "%s: users other than its owner may read or write this PIN",
			 path);
		return bwl_hint(e, "chmod 600 %s, if nobody has read it", path);
	}
	n = read(fd, ret, BWL_PIN_MAX - 1);
	if (n < 0)
		return bwl_fail(e, errno, "cannot read the PIN in %s: %s", path, strerror(errno));
	ret[n] = '\0';
	snprintf(where, sizeof(where), "in %s", path);
	return cut(ret, where, e);
}

int bwl_pin_ask(const char *token, char ret[static BWL_PIN_MAX], struct bwl_err *e)
{
	BWL_AUTO_CLOSE int fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
	struct termios was, quiet;
	ssize_t n;

	if (fd < 0 || tcgetattr(fd, &was)) {
		bwl_fail(e, ENOTTY,
			 "the token %s needs its PIN, but there is no terminal to ask for it",
			 token);
		return bwl_hint(e, "name a file that has it: ?pin-source=file:/PATH, mode 0600");
	}
	quiet = was;
	quiet.c_lflag &= ~(tcflag_t)ECHO;
	tcsetattr(fd, TCSAFLUSH, &quiet);
	dprintf(fd, "PIN of the token %s: ", token);
	n = read(fd, ret, BWL_PIN_MAX - 1);
	tcsetattr(fd, TCSAFLUSH, &was);
	dprintf(fd, "\n");
	ret[n > 0 ? n : 0] = '\0';
	return cut(ret, "a token does not sign without it", e);
}
