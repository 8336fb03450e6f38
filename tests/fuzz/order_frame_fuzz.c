// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes in any pieces, with any number of descriptors, on the socket of bwlimitd: whatever
 * happens to them, no descriptor stays open.
 *
 * A piece is one byte for the number of its descriptors (the low two bits; with the third bit the
 * sender hangs up after it), one byte for its length, and that many bytes.
 */
#include <dirent.h>
#include <sys/socket.h>
#include <unistd.h>
#include "agent/order_socket.h"
#include "bwl/fds.h"
#include "fuzz.h"

static json_t *do_run(void *arg, const json_t *ask)
{
	(void)arg;
	must(json_is_object(ask), "a request is an object");
	return json_pack("{s:b}", "did", 1);
}

static json_t *do_take(void *arg, const json_t *ask, int doc, int conn)
{
	(void)arg;
	must(json_is_object(ask), "a request is an object");
	must(doc >= 0 && conn >= 0, "it has a document and a connection");
	line_say(conn, json_pack("{s:b}", "taken", 1));
	close(doc);
	close(conn);
	return NULL;
}

static const struct order_verb verbs[] = { { .name = "tamper", .closes = true, .run = do_run },
					   { .name = "policy", .take = do_take },
					   { .name = NULL } };

static unsigned open_now(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned n = 0;

	must(d != NULL, "descriptors can be counted");
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void piece(int fd, const uint8_t *data, size_t len, unsigned docs)
{
	int std[3] = { 0, 0, 0 };

	(void)!bwl_send_fds(fd, data, len, std, docs, MSG_DONTWAIT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	unsigned before = open_now();
	struct bwl_err e = { 0 };
	struct orders *orders;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/tmp/bwl-frame-%d.sock", (int)getpid());
	must(!orders_open(path, verbs, NULL, &orders, &e), "it listens");
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	strcpy(at.sun_path, path);
	must(!connect(fd, (struct sockaddr *)&at, sizeof(at)), "it listens");
	while (size > 2 && fd >= 0) {
		size_t len = data[1] < size - 2 ? data[1] : size - 2;

		if (len)
			piece(fd, data + 2, len, data[0] & 3);
		if (data[0] & 4) {
			close(fd);
			fd = -1;
		}
		orders_run(orders, 1);
		data += 2 + len;
		size -= 2 + len;
	}
	orders_run(orders, 2);
	orders_run(orders, 3 + LINE_NS);
	if (fd >= 0)
		close(fd);
	orders_close(orders);
	must(open_now() == before, "no descriptor stays open");
	return 0;
}
