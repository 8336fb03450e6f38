// SPDX-License-Identifier: GPL-2.0-or-later
/* Any text as output of the vendor's tools (tests/recordings/): texts end and can be shown. */
#include "loader/tool_words.h"
#include "fuzz.h"

static void shown(const char *text, size_t size)
{
	const char *c;

	must(memchr(text, '\0', size) != NULL, "a text ends");
	for (c = text; *c; c++)
		must(*c >= ' ' && *c <= '~', "a terminal shows it as it is");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char first[8] = "", unit[8] = "", *text = malloc(size + 1);
	struct card_config c = { 0 };
	struct host_rights h;
	unsigned i;

	must(text != NULL, "memory");
	memcpy(text, data, size);
	text[size] = '\0';
	host_rights_read(text, &h);
	must(h.level <= RIGHT_HELD && h.rshim <= RIGHT_HELD && h.port_owner <= RIGHT_HELD,
	     "a right that is known");
	must(h.level != RIGHT_TAKEN || strstr(text, "RESTRICTED"), "taken is said in full");
	must(h.rshim != RIGHT_TAKEN || strstr(text, "TRUE"), "the same");
	card_config_read(text, &c);
	shown(c.type, sizeof(c.type));
	shown(c.description, sizeof(c.description));
	for (i = 0; i < 2; i++) {
		shown(c.model[i], sizeof(c.model[i]));
		shown(c.engine[i], sizeof(c.engine[i]));
	}
	must(ovs_bridges(text, first, sizeof(first)) || !*first, "a name only where one is");
	shown(first, sizeof(first));
	must(ovs_flows(text) <= size, "a flow is a line");
	unit_limit(text, unit, sizeof(unit));
	shown(unit, sizeof(unit));
	free(text);
	return 0;
}
