// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Signs a status with an audit log's key:
 *
 *	bwl-said KEYFILE FLEET TRAY	payload on standard input, envelope on standard output
 */
#include <stdio.h>
#include <string.h>
#include "audit/signed_note.h"
#include "signed/said/said.h"

static size_t input(FILE *f, char *to, size_t most)
{
	size_t n = f ? fread(to, 1, most - 1, f) : 0;

	to[n] = '\0';
	return n;
}

int main(int argc, char **argv)
{
	char text[BWL_NOTE_KEY_TEXT], payload[4096], *said;
	FILE *f = argc == 4 ? fopen(argv[1], "re") : NULL;
	struct bwl_note_key note;
	struct bwl_key *k;
	struct bwl_err e = { 0 };
	size_t n;

	if (!f || !input(f, text, sizeof(text)) || bwl_note_key_parse(text, &note, &e) ||
	    !note.can_sign)
		return 2;
	fclose(f);
	n = input(stdin, payload, sizeof(payload));
	k = bwl_key_of_seed(note.seed);
	said = bwl_said_sign(k, argv[2], argv[3], payload, n, &e);
	if (!said)
		return 1;
	puts(said);
	return 0;
}
