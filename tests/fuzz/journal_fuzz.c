// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as the journal's files; in half of the cases as `log`, with an `end` that names the
 * first record, if there is one. It reads them or truncates them; whole records are written again
 * as the same bytes.
 */
#include "journal/journal.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t zero[BWL_JOURNAL_DIGEST];
	uint8_t digest[BWL_JOURNAL_DIGEST], again[BWL_JOURNAL_DIGEST], *copy;
	struct bwl_journal_rec r;
	struct bwl_journal j;
	struct bwl_pfx *pfx;
	size_t n;

	if (bwl_journal_decode(data, size, zero, &r, &pfx, &n, digest) == BWL_JR_WHOLE) {
		must(n <= size, "a whole record is within the bytes");
		copy = malloc(n);
		if (copy && r.kind != BWL_J_BEGIN)
			must(bwl_journal_encode(&r, zero, copy, again) == n,
			     "and as long when written again");
		free(copy);
	}
	free(pfx);
	for (size_t cut = 0; cut <= size; cut += size / 3 + 1) {
		bwl_journal_parse(data, cut, data + cut, size - cut, &j);
		must(j.state == BWL_JOURNAL_OK || j.state == BWL_JOURNAL_CUT,
		     "it reads, or is cut");
		must(j.end <= cut, "and ends within the bytes");
		if (j.state == BWL_JOURNAL_CUT)
			must(!j.closed.nnames && !j.closed.live.n, "a cut one says nothing");
		bwl_journal_free(&j);
	}
	return 0;
}
