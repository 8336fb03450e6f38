// SPDX-License-Identifier: GPL-2.0-or-later
/* See way.h. A collector that accepts nothing for PATIENCE_S is considered lost. */
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <linux/sockios.h>
#include <time.h>
#include <bwl/bytes.h>
#include <bwl/clock.h>
#include <bwl/cleanup.h>
#include "tls.h"

#define PATIENCE_S 10
#define LOOK_NS 5000000 /* how often it is checked whether everything is acknowledged */

struct way {
	const struct way_conf *c;
	int fd;
	struct tls *tls;
	uint64_t file_bytes;
	uint64_t file_inode;
};

static int parse_address(const char *s, struct way_conf *c, struct bwl_err *e)
{
	const char *colon = strrchr(s, ':');
	const char *end = colon;
	char *after;
	long port;

	if (!colon)
		return bwl_fail(e, EINVAL, "'%.200s' has no port: must be HOST:PORT", s);
	if (*s == '[') {
		s++;
		end = colon > s && colon[-1] == ']' ? colon - 1 : s;
	}
	port = strtol(colon + 1, &after, 10);
	if (*after || after == colon + 1 || port < 1 || port > 65535)
		return bwl_fail(e, EINVAL, "'%.20s' is not a port: must be 1 to 65535", colon + 1);
	if (end == s || (size_t)(end - s) >= sizeof(c->host) ||
	    (*colon && memchr(s, ':', (size_t)(end - s)) && end == colon))
		return bwl_fail(e, EINVAL,
				"no host in '%.200s': must be a name, 10.9.0.1 or [fd00::1]", s);
	snprintf(c->host, sizeof(c->host), "%.*s", (int)(end - s), s);
	snprintf(c->port, sizeof(c->port), "%ld", port);
	return 0;
}

int way_parse(const char *s, struct way_conf *ret, struct bwl_err *e)
{
	static const struct {
		const char *word;
		enum way_kind kind;
	} words[] = {
		{ "tcp:", WAY_TCP }, { "tls:", WAY_TLS }, { "udp:", WAY_UDP }, { "file:", WAY_FILE }
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		size_t n = strlen(words[i].word);

		if (strncmp(s, words[i].word, n))
			continue;
		ret->kind = words[i].kind;
		if (ret->kind != WAY_FILE)
			return parse_address(s + n, ret, e);
		if (!s[n] || strlen(s + n) >= sizeof(ret->path))
			return bwl_fail(e, EINVAL, "file: needs a path of 1 to %zu bytes",
					sizeof(ret->path) - 1);
		strcpy(ret->path, s + n);
		return 0;
	}
	return bwl_fail(
		e, EINVAL,
		"'%.200s' is not a destination: must be file:PATH, tcp:HOST:PORT, tls:HOST:PORT or udp:HOST:PORT",
		s);
}

static int open_file(struct way *w, uint64_t bytes, uint64_t inode, struct bwl_err *e)
{
	struct stat st;

	w->fd = open(w->c->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
	if (w->fd < 0 || fstat(w->fd, &st))
		return bwl_fail(e, errno, "cannot open %s: %s", w->c->path, strerror(errno));
	w->file_bytes = (uint64_t)st.st_size;
	w->file_inode = st.st_ino;
	/* Another file (ours was moved away) is not cut: its content is not ours. */
	if (S_ISREG(st.st_mode) && bytes && w->file_bytes > bytes && inode == w->file_inode) {
		if (ftruncate(w->fd, (off_t)bytes))
			return bwl_fail(e, errno, "cannot truncate %s to %llu bytes: %s",
					w->c->path, (unsigned long long)bytes, strerror(errno));
		w->file_bytes = bytes;
	}
	return 0;
}

/* Since Linux 5.7 an unprivileged process may bind a socket to a device if it has none yet. */
static int bind_to(int fd, const char *device, struct bwl_err *e)
{
	if (!device ||
	    !setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, (socklen_t)strlen(device) + 1))
		return 0;
	return bwl_fail(e, errno, "cannot use device %s: %s", device, strerror(errno));
}

static int reach(int fd, const struct addrinfo *a)
{
	const struct timeval patience = { .tv_sec = PATIENCE_S };

	/* connect() waits no longer than SO_SNDTIMEO */
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)))
		return -errno;
	return connect(fd, a->ai_addr, a->ai_addrlen) ? -errno : 0;
}

static int connect_to(struct way *w, struct bwl_err *e)
{
	const struct addrinfo want = { .ai_socktype = w->c->kind == WAY_UDP ? SOCK_DGRAM
									    : SOCK_STREAM };
	struct addrinfo *all = NULL;
	int r = getaddrinfo(w->c->host, w->c->port, &want, &all);

	if (r)
		return bwl_fail(e, EHOSTUNREACH, "%s: %s", w->c->host, gai_strerror(r));
	r = -EHOSTUNREACH;
	for (const struct addrinfo *a = all; a && r; a = a->ai_next) {
		BWL_AUTO_CLOSE int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC,
					       a->ai_protocol);

		r = fd < 0 ? -errno : bind_to(fd, w->c->device, e);
		if (r && fd >= 0)
			break;
		if (!r)
			r = reach(fd, a);
		if (!r)
			w->fd = bwl_take_fd(&fd);
		else
			bwl_fail(e, -r, "cannot reach %s port %s: %s", w->c->host, w->c->port,
				 strerror(-r));
	}
	freeaddrinfo(all);
	if (!r && w->c->kind == WAY_TLS)
		r = tls_open(w->c, w->fd, &w->tls, e);
	return r;
}

int way_open(const struct way_conf *c, uint64_t bytes, uint64_t inode, struct way **ret,
	     struct bwl_err *e)
{
	struct way *w = bwl_must(calloc(1, sizeof(*w)));
	int r;

	w->c = c;
	w->fd = -1;
	r = c->kind == WAY_FILE ? open_file(w, bytes, inode, e) : connect_to(w, e);
	if (r)
		way_close(w);
	else
		*ret = w;
	return r;
}

void way_close(struct way *w)
{
	if (w->tls)
		tls_close(w->tls);
	if (w->fd >= 0)
		close(w->fd);
	free(w);
}

int way_send(struct way *w, const void *at, size_t n, struct bwl_err *e)
{
	size_t sent = 0;
	int r;

	if (w->tls)
		return tls_send(w->tls, at, n, e);
	if (w->c->kind == WAY_FILE) {
		r = bwl_bytes_write(w->fd, at, n);
		w->file_bytes += r ? 0 : n;
		return r ? bwl_fail(e, -r, "cannot write %s: %s", w->c->path, strerror(-r)) : 0;
	}
	while (sent < n) {
		ssize_t k = send(w->fd, (const char *)at + sent, n - sent, MSG_NOSIGNAL);

		if (k <= 0)
			return bwl_fail(e, errno, "the collector is lost: %s", strerror(errno));
		sent += (size_t)k;
	}
	return 0;
}

static int look(struct way *w, struct bwl_err *e)
{
	char byte;
	ssize_t n;

	if (w->tls)
		return tls_look(w->tls, e);
	n = recv(w->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
	if (n > 0 || (n < 0 && errno == EAGAIN))
		return 0;
	return bwl_fail(e, n ? errno : EPIPE, "the collector is lost: %s",
			n ? strerror(errno) : "it hung up");
}

int way_settle(struct way *w, struct bwl_err *e)
{
	uint64_t until_ns = bwl_now_ns() + PATIENCE_S * 1000000000ULL;
	int left = 0, r;

	if (w->c->kind == WAY_FILE)
		return fdatasync(w->fd) && errno != EINVAL
			       ? bwl_fail(e, errno, "cannot write %s: %s", w->c->path,
					  strerror(errno))
			       : 0;
	if (w->c->kind == WAY_UDP)
		return 0;
	for (;;) {
		r = look(w, e);
		if (r)
			return r;
		if (ioctl(w->fd, SIOCOUTQ, &left) || !left)
			return 0;
		if (bwl_now_ns() > until_ns)
			return bwl_fail(e, ETIMEDOUT, "the collector takes nothing for %d s",
					PATIENCE_S);
		nanosleep(&(struct timespec){ .tv_nsec = LOOK_NS }, NULL);
	}
}

uint64_t way_file_inode(const struct way *w)
{
	return w->file_inode;
}

uint64_t way_file_bytes(const struct way *w)
{
	return w->file_bytes;
}
