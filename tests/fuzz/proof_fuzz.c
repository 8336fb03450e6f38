// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a c2sp.org/tlog-proof: refused, or a proof that is written again as the same bytes.
 * It holds for the one record of the log whose key made the seeds, and for no other; and it is not
 * cosigned by more witnesses than are known, each counted once.
 */
#include "audit/proof.h"
#include "fuzz.h"

/* The key of proof.seeds; its private half no longer exists. */
#define LOG_KEY "bwlimit/seed+7277001b+ASNWQ7tRCqjjaYQrNPBebw8kPlcjtsh/Embx+tLgOpoW"
#define RECORD                                                                                     \
	"{\"boot\":\"076f734b-1609-45bc-81e1-3c5db9a83870\",\"by\":{\"pid\":22566,\"program\":\"bwl-auditmix\",\"uid\":0},\"event\":\"lapsed\",\"host\":true,\"n\":4,\"text\":\"host 4\",\"time\":\"2026-11-24T02:34:47.552Z\",\"up_ms\":2772387}"

static const char *const witness[] = {
	"example.com/a+69426f58+BOvwKmQuuZaH3mEAnEQDRfvTHQ7J2J4vF9meHmlcqjTJ",
	"example.com/b+cd46bf1b+BHqbhv2iS/4L+BngW/YWutzz/6C4xDa9/4hxKGHSYp9l"
};
#define WITNESSES (sizeof(witness) / sizeof(*witness))

/* If the proof holds, it is the seed's, except for the parts that nobody signs. */
static void judge(const struct bwl_tlog_proof *p, const struct bwl_note_key *log,
		  struct bwl_witnesses *w)
{
	struct bwl_checkpoint c;
	struct bwl_hash leaf;
	unsigned have = 0;

	bwl_hash_leaf(RECORD, strlen(RECORD), &leaf);
	w->k = 0;
	if (bwl_tlog_proof_check(p, &leaf, log, w, &c, NULL))
		return;
	must(p->index == 4 && c.size == 11, "the log has signed nothing else");
	must(!bwl_witnesses_hold(w, log, p->note, p->note_len, &have, NULL), "none is demanded");
	must(have <= WITNESSES, "each counts once");
	w->k = have + 1;
	must(bwl_tlog_proof_check(p, &leaf, log, w, NULL, NULL), "more are not there");
	bwl_hash_leaf("x", 1, &leaf);
	must(bwl_tlog_proof_check(p, &leaf, log, NULL, NULL, NULL), "another record is not in it");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct bwl_witnesses w;
	struct bwl_note_key log, key;
	struct bwl_tlog_proof p;
	char *text, *again;

	must(!bwl_note_key_parse(LOG_KEY, &log, NULL), "the log's key is one");
	for (size_t i = 0; i < WITNESSES && w.n < WITNESSES; i++) {
		must(!bwl_witness_key_parse(witness[i], &key, NULL), "a witness's key is one");
		must(!bwl_witnesses_add(&w, &key, NULL), "and each is another");
	}
	/* exactly that length: a read beyond it is seen */
	text = malloc(size);
	if (!text && size)
		return 0;
	if (size)
		memcpy(text, data, size);
	if (!bwl_tlog_proof_parse(text, size, &p, NULL)) {
		must(p.count <= BWL_PROOF_MAX, "so many hashes and no more");
		again = bwl_tlog_proof_format(&p);
		must(strlen(again) == size && !memcmp(again, text, size), "one spelling");
		free(again);
		judge(&p, &log, &w);
	}
	free(text);
	return 0;
}
