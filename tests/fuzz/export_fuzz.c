// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a file of flow records: the IPFIX output consists of whole messages with correct
 * lengths, within the limits of an interval; and it is the same again after the encoded part was
 * undone.
 */
#include "export/flows/interval.h"
#include "fuzz.h"

static uint32_t sequence_at(const uint8_t *at)
{
	return (uint32_t)at[8] << 24 | (uint32_t)at[9] << 16 | (uint32_t)at[10] << 8 | at[11];
}

static void look(const struct ipfix_out *out)
{
	uint32_t last = 0;
	size_t at, n;

	for (at = 0; at < out->len; at += n) {
		must(out->len - at >= 16, "a message has a header");
		must(out->at[at] == 0 && out->at[at + 1] == 10, "of IPFIX");
		n = (size_t)out->at[at + 2] << 8 | out->at[at + 3];
		must(n >= 16 && n <= out->len - at, "and a length");
		must(sequence_at(out->at + at) >= last, "in order");
		last = sequence_at(out->at + at);
	}
}

static void encode(const uint8_t *data, size_t size, uint64_t withheld)
{
	const struct ipfix_note note = { .withheld = withheld };
	const struct ipfix_losses none = { 0 };
	FILE *file = fmemopen((void *)(uintptr_t)data, size, "r");
	struct ipfix_out first = { 0 };
	struct interval v, again;
	struct bwl_err e = { 0 };
	struct ipfix *x;
	uint32_t sequence;

	must(!!file, "a file");
	must(!interval_encode(file, NULL, &note, &none, &v, &e), "JSON lines");
	must(v.out.len <= size + 1024, "as they are");
	interval_done(&v);
	must(!ipfix_open(1, 1200, 7, &x, &e), "a session");
	must(!ipfix_templates(x, &none, &first, &e), "templates");
	sequence = ipfix_sequence(x);
	must(!interval_encode(file, x, &note, &none, &v, &e), "messages");
	look(&v.out);
	ipfix_rewind(x, sequence);
	must(!interval_encode(file, x, &note, &none, &again, &e), "again");
	must(again.out.len == v.out.len && again.rows == v.rows, "the same");
	must(again.out.len < 12 || sequence_at(again.out.at) == sequence_at(v.out.at),
	     "with the same numbers");
	interval_done(&v);
	interval_done(&again);
	ipfix_close(x);
	free(first.at);
	fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!size)
		return 0;
	encode(data, size, 0);
	encode(data, size, 1);
	return 0;
}
