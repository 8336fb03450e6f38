// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes from a server that claims to be etcd: as a stream in pieces, as each message, as a
 * header, as a key and as the name of a document's parts. What is refused is refused whatever the
 * pieces, and nothing of it is kept.
 *
 * The first byte decides how the rest is cut into pieces.
 */
#include <errno.h>
#include "fleet/store/etcd_msg.h"
#include "fleet/store/grpc_wire.h"
#include "fleet/store/layout.h"
#include "fuzz.h"

#define INPUT_MAX 4096

static int see(void *arg, const struct bwl_etcd_kv *kv)
{
	struct bwl_pb_in *whole = arg;
	struct bwl_doc_at at;

	for (unsigned i = 0; i < 2; i++) {
		struct bwl_pb_in in = i ? kv->value : kv->key;

		must(!in.at || (in.at >= whole->at && in.end <= whole->end && in.at <= in.end),
		     "what is heard lies in the message");
	}
	if (kv->key.at &&
	    !bwl_doc_parse_key("/b/all/", (const char *)kv->key.at, bwl_pb_len(kv->key), &at))
		must(bwl_store_name_ok(at.name, strlen(at.name)), "a name of a document is one");
	return 0;
}

static void fine(int r)
{
	must(!r || r == -EBADMSG, "a message, or none");
}

static int hear(void *arg, const uint8_t *msg, size_t len)
{
	struct bwl_pb_in in = bwl_pb_in(msg, len);
	struct bwl_etcd_status status;
	struct bwl_etcd_watch watch;
	struct bwl_etcd_page page;
	struct bwl_doc_head head;
	int64_t a, b;
	bool done;

	++*(unsigned *)arg;
	must(len <= INPUT_MAX, "no message is larger than it may be");
	fine(bwl_etcd_hear_range(in, see, &in, &page));
	fine(bwl_etcd_hear_watch(in, see, &in, &watch));
	fine(bwl_etcd_hear_txn(in, &done, &a));
	fine(bwl_etcd_hear_lease(in, &a, &b));
	fine(bwl_etcd_hear_status(in, &status));
	if (!bwl_doc_parse_head((const char *)msg, len, &head))
		must(head.parts && strlen(head.sha) == BWL_DOC_SHA_HEX - 1, "parts and a digest");
	return 0;
}

static int feed(const uint8_t *data, size_t size, size_t piece, unsigned *ret_messages)
{
	struct bwl_grpc_frames f = { .most = INPUT_MAX };
	int r = 0;

	*ret_messages = 0;
	for (size_t at = 0; !r && at < size; at += piece)
		r = bwl_grpc_feed(&f, data + at, size - at < piece ? size - at : piece, hear,
				  ret_messages);
	bwl_grpc_frames_done(&f);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bwl_grpc_end end = { .code = -1 };
	unsigned whole, pieces;
	int r;

	if (!size)
		return 0;
	r = feed(data + 1, size - 1, size, &whole);
	must(feed(data + 1, size - 1, 1 + data[0] % 16, &pieces) == r && pieces == whole,
	     "pieces make no difference");
	must(!r || r == -EBADMSG || r == -EMSGSIZE, "taken, or refused");
	hear(&whole, data + 1, size - 1 < INPUT_MAX ? size - 1 : INPUT_MAX);
	bwl_grpc_header(&end, (const char *)data + 1, size - 1);
	must(end.code <= BWL_GRPC_CODE_MAX && strlen(end.text) < BWL_GRPC_TEXT, "a code we know");
	for (const char *c = end.text; *c; c++)
		must(*c >= ' ' && *c < 0x7f, "what a server says cannot disturb a terminal");
	return 0;
}
