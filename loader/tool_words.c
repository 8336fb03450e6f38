// SPDX-License-Identifier: GPL-2.0-or-later
/* See tool_words.h. No I/O. */
#include <stdio.h>
#include <string.h>
#include "tool_words.h"

struct words {
	const char *at, *end; /* the rest of a line */
};

static bool next_line(const char **at, struct words *ret)
{
	if (!**at)
		return false;
	*ret = (struct words){ *at, *at + strcspn(*at, "\n") };
	*at = *ret->end ? ret->end + 1 : ret->end;
	return true;
}

/* The next word of the line. Only printable ASCII: it is shown on a terminal. */
static bool next_word(struct words *w, char *ret, size_t room)
{
	size_t n = 0;

	while (w->at < w->end && (*w->at == ' ' || *w->at == '\t' || *w->at == '\r'))
		w->at++;
	for (; w->at < w->end && *w->at != ' ' && *w->at != '\t' && *w->at != '\r'; w->at++)
		if (n + 1 < room)
			ret[n++] = *w->at > ' ' && *w->at <= '~' ? *w->at : '?';
	ret[n] = '\0';
	return n;
}

/*
 * There is a column per host. If one holds the right, the answer is held; an unknown word makes the
 * line void.
 */
static void read_right(struct words w, const char *held, const char *taken, enum host_right *ret)
{
	enum host_right now = RIGHT_UNTOLD;
	char word[24];

	if (!next_word(&w, word, sizeof(word)) || strcmp(word, ":"))
		return;
	while (next_word(&w, word, sizeof(word))) {
		if (!strcmp(word, held))
			now = RIGHT_HELD;
		else if (strcmp(word, taken))
			return;
		else if (now == RIGHT_UNTOLD)
			now = RIGHT_TAKEN;
	}
	if (now > *ret)
		*ret = now;
}

void host_rights_read(const char *text, struct host_rights *ret)
{
	struct words w;
	char key[24];

	*ret = (struct host_rights){ 0 };
	while (next_line(&text, &w)) {
		if (!next_word(&w, key, sizeof(key)))
			continue;
		if (!strcmp(key, "level"))
			read_right(w, "PRIVILEGED", "RESTRICTED", &ret->level);
		else if (!strcmp(key, "disable_rshim"))
			read_right(w, "FALSE", "TRUE", &ret->rshim);
		else if (!strcmp(key, "disable_tracer"))
			read_right(w, "FALSE", "TRUE", &ret->tracer);
		else if (!strcmp(key, "disable_port_owner"))
			read_right(w, "FALSE", "TRUE", &ret->port_owner);
		else if (!strcmp(key, "disable_counter_rd"))
			read_right(w, "FALSE", "TRUE", &ret->counters);
	}
}

/* The rest of a line as one text. */
static void rest(struct words w, char *ret, size_t room)
{
	char word[64];
	size_t n = 0;

	*ret = '\0';
	while (n < room && next_word(&w, word, sizeof(word)))
		n += (size_t)snprintf(ret + n, room - n, "%s%s", n ? " " : "", word);
}

/* With -e: "Default Current Next Boot". Otherwise only "Next Boot", which then counts for both. */
static void read_values(struct words w, bool columns, char ret[2][24])
{
	char word[3][24] = { "", "", "" };

	next_word(&w, word[0], sizeof(word[0]));
	if (!columns) {
		memcpy(ret[0], word[0], sizeof(word[0]));
		memcpy(ret[1], word[0], sizeof(word[0]));
	} else if (next_word(&w, word[1], sizeof(word[1])) &&
		   next_word(&w, word[2], sizeof(word[2]))) {
		memcpy(ret[0], word[1], sizeof(word[1]));
		memcpy(ret[1], word[2], sizeof(word[2]));
	}
}

void card_config_read(const char *text, struct card_config *ret)
{
	bool columns = false;
	struct words w;
	char word[48], second[24];

	while (next_line(&text, &w)) {
		if (!next_word(&w, word, sizeof(word)))
			continue;
		if (!strcmp(word, "*") || !strcmp(word, "RO")) /* mlxconfig's own marks */
			next_word(&w, word, sizeof(word));
		if (!strcmp(word, "Configurations:")) {
			columns = next_word(&w, word, sizeof(word)) && !strcmp(word, "Default");
		} else if (!strcmp(word, "Description:")) {
			rest(w, ret->description, sizeof(ret->description));
		} else if (!strcmp(word, "INTERNAL_CPU_MODEL")) {
			read_values(w, columns, ret->model);
		} else if (!strcmp(word, "INTERNAL_CPU_OFFLOAD_ENGINE")) {
			read_values(w, columns, ret->engine);
		} else if (!strcmp(word, "Device") && next_word(&w, second, sizeof(second)) &&
			   !strcmp(second, "type:")) {
			next_word(&w, ret->type, sizeof(ret->type));
		}
	}
}

/* Older versions put names into quotes. */
static void unquote(char *name)
{
	size_t n = strlen(name);

	if (n < 2 || *name != '"' || name[n - 1] != '"')
		return;
	memmove(name, name + 1, n - 2);
	name[n - 2] = '\0';
}

size_t ovs_bridges(const char *text, char *first, size_t room)
{
	char word[16], name[64];
	struct words w;
	size_t n = 0;

	*first = '\0';
	while (next_line(&text, &w)) {
		if (!next_word(&w, word, sizeof(word)) || strcmp(word, "Bridge") ||
		    !next_word(&w, name, sizeof(name)))
			continue;
		unquote(name);
		if (!n++)
			snprintf(first, room, "%s", name);
	}
	return n;
}

size_t ovs_flows(const char *text)
{
	const char *at = text, *hit;
	struct words w;
	size_t n = 0;

	while (next_line(&at, &w)) {
		hit = strstr(w.at, "actions:");
		n += hit && hit < w.end;
	}
	return n;
}

bool unit_limit(const char *text, char *unit, size_t room)
{
	char word[96], id[64] = "";
	bool limited = false;
	struct words w;

	while (next_line(&text, &w)) {
		if (!next_word(&w, word, sizeof(word))) {
			if (limited && *id)
				break;
			limited = false; /* an empty line ends a unit */
			*id = '\0';
		} else if (!strncmp(word, "Id=", 3)) {
			snprintf(id, sizeof(id), "%.63s", word + 3);
		} else if (!strncmp(word, "MemoryMax=", 10)) {
			limited = word[10] && strcmp(word + 10, "infinity");
		}
	}
	if (limited && *id)
		snprintf(unit, room, "%s", id);
	return limited && *id;
}
