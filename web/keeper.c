// SPDX-License-Identifier: GPL-2.0-or-later
/* See keeper.h. The answer is the texts in a row, each ending with a NUL; empty: there is none. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "bwl/cleanup.h"
#include "keeper.h"

enum { READ = 200, UNREAD = 500 };

static int answer(const char *const file[_BWL_TLS_FILES], int fd)
{
	struct bwl_tls_pem p;
	struct bwl_err e = { 0 };
	char *text = NULL;
	size_t len = 0;
	FILE *f;
	int r;

	if (bwl_tls_read(file, &p, &e))
		return asker_answer(fd, UNREAD, e.text, strlen(e.text) + 1, 0);
	f = bwl_must(open_memstream(&text, &len));
	for (unsigned i = 0; i < _BWL_TLS_FILES; i++) {
		fputs(p.text[i] ? p.text[i] : "", f);
		fputc('\0', f);
	}
	fclose(f);
	bwl_tls_pem_done(&p);
	r = asker_answer(fd, READ, text, len, 0);
	explicit_bzero(text, len);
	free(text);
	return r;
}

static void serve(const void *about, int fd)
{
	char question[8];
	ssize_t n;

	do {
		n = recv(fd, question, sizeof(question), 0);
	} while ((n < 0 && errno == EINTR) || (n > 0 && !answer(about, fd)));
}

int keeper_start(const char *const file[_BWL_TLS_FILES], struct asker *ret, struct bwl_err *e)
{
	return asker_fork(serve, file, ret, e);
}

int keeper_ask(struct asker *keeper)
{
	return asker_ask(keeper, "anew");
}

static void take_apart(const char *text, size_t len, struct bwl_tls_pem *ret)
{
	const char *end = text + len;

	*ret = (struct bwl_tls_pem){ 0 };
	for (unsigned i = 0; i < _BWL_TLS_FILES && text < end; i++) {
		if (*text)
			ret->text[i] = bwl_must(strdup(text));
		text += strlen(text) + 1;
	}
}

int keeper_take(struct asker *keeper, struct bwl_tls_pem *ret, struct bwl_err *e)
{
	struct asker_head head;
	char *text;
	int r = keeper->busy ? asker_take(keeper, &head, &text) : 0;

	if (r < 0)
		return bwl_fail(e, EPIPE, "the process that reads the certificate has ended");
	if (!r)
		return 0;
	if (head.status == READ) {
		take_apart(text, head.len, ret);
		if (!ret->text[BWL_TLS_CA] || !ret->text[BWL_TLS_CERT] || !ret->text[BWL_TLS_KEY]) {
			bwl_tls_pem_done(ret);
			r = bwl_fail(e, EINVAL, "a file of the certificate is empty");
		}
	} else {
		r = bwl_fail(e, EINVAL, "%s", text);
	}
	explicit_bzero(text, head.len);
	free(text);
	return r;
}
