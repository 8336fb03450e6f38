// SPDX-License-Identifier: GPL-2.0-or-later
/* A controller's answers in a terminal of 80 columns, with names of maximum length. */
#include "test.h"
#include <jansson.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fleet/cmds.h"

#define LONG "abcdefghijklmnopqrstuvwxyz01234" /* 31 characters, for a tray and a peer */
#define RATE "\"passed_bits_per_second\":123456789012,\"dropped_bits_per_second\":98765432109,"

static const struct {
	const char *what, *rows, *row;
} docs[] = {
	{ "status", "trays",
	  "{" RATE "\"tray\":\"" LONG "\",\"policy_name\":\"" LONG
	  "\",\"alive\":true,\"fresh\":true,\"closed_count\":65536,\"why\":\"its status is refused: it is older than what the tray said before, or a copy\"}" },
	{ "top", "peers",
	  "{" RATE "\"peer\":\"" LONG
	  "\",\"state\":\"past-unknown\",\"rate_bits_per_second\":1e12}" },
	{ "usage", "volumes",
	  "{\"limit_key\":\"peer " LONG " class " LONG
	  "\",\"used_bytes\":1234567890123456,\"volume_bytes\":1234567890123456,\"window_s\":31622400,\"ledger_state\":\"past-unknown\"}" },
	{ "reasons", "reasons",
	  "{\"reason\":\"not-encrypted\",\"hook\":\"uplink-in\",\"passes\":false,\"frames\":1234567890123456,\"bytes\":1234567890123456789}" },
	{ "closures", "closures",
	  "{\"tray\":\"" LONG "\",\"closure\":\"expelled\",\"peer\":\"" LONG
	  "\",\"closed_at\":\"2026-11-23T22:50:00Z\",\"todo\":\"bwlimit-ctl policy sign " LONG
	  ".yaml --key YOUR.pem --fleet hall --audience tray:" LONG " --name base --number 7\"}" },
	{ "history", "points",
	  "{\"time\":\"2026-11-23T22:50:00Z\",\"sent_bytes\":1234567890123456,\"sent_bits_per_second\":123456789012,\"sent_dropped_bytes\":1234567890123456,\"tray_count\":10000}" },
};

/* got: what a document of one row prints on a terminal. */
static void on_a_terminal(const char *what, const char *rows, const char *row, char *got,
			  size_t size)
{
	struct winsize w = { .ws_row = 24, .ws_col = 80 };
	json_t *o = json_pack("{s:[o]}", rows, json_loads(row, 0, NULL));
	int master, slave, out = dup(STDOUT_FILENO);
	size_t n = 0;
	ssize_t r;

	assert_non_null(o);
	assert_int_equal(openpty(&master, &slave, NULL, NULL, &w), 0);
	fflush(stdout);
	dup2(slave, STDOUT_FILENO);
	fleet_document_print(what, o);
	fflush(stdout);
	dup2(out, STDOUT_FILENO);
	close(slave);
	close(out);
	while (n < size - 1 && (r = read(master, got + n, size - 1 - n)) > 0)
		n += (size_t)r;
	got[n] = '\0';
	close(master);
	json_decref(o);
}

static void no_line_is_longer_than_80_columns(void **state)
{
	char got[4096], *line, *rest;

	(void)state;
	unsetenv("COLUMNS");
	for (size_t i = 0; i < sizeof(docs) / sizeof(*docs); i++) {
		size_t lines = 0;

		on_a_terminal(docs[i].what, docs[i].rows, docs[i].row, got, sizeof(got));
		for (line = strtok_r(got, "\r\n", &rest); line;
		     line = strtok_r(NULL, "\r\n", &rest)) {
			size_t columns = 0;

			lines++;
			for (const char *s = line; *s; s++)
				columns += (*s & 0xc0) !=
					   0x80; /* the first byte of a UTF-8 character */
			if (columns > 80)
				fail_msg("%s: %zu columns: %s", docs[i].what, columns, line);
		}
		assert_in_range(lines, 2, 99); /* the head and the row */
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_line_is_longer_than_80_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
