// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Checks that standard input is JSON, and reads a value from it:
 *
 *   bwl-json [--lines] [PATH]
 *
 * PATH is for example "peers.0.name"; the value is printed. Exit 1: not JSON, or no such value.
 * --lines: one object per line; PATH is then looked up in each, and printed if it exists.
 */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *look_up(json_t *o, char *path)
{
	char *save, *step;

	for (step = strtok_r(path, ".", &save); o && step; step = strtok_r(NULL, ".", &save))
		o = json_is_array(o) ? json_array_get(o, strtoul(step, NULL, 10))
				     : json_object_get(o, step);
	return o;
}

static bool tell(json_t *root, const char *path)
{
	char copy[256];
	json_t *o;

	snprintf(copy, sizeof(copy), "%s", path);
	o = look_up(root, copy);
	if (json_is_string(o)) {
		puts(json_string_value(o));
	} else if (o) {
		json_dumpf(o, stdout, JSON_ENCODE_ANY | JSON_COMPACT);
		putchar('\n');
	}
	return o;
}

int main(int argc, char **argv)
{
	bool lines = argc > 1 && !strcmp(argv[1], "--lines"), found = false;
	const char *path = argc > 1 + lines ? argv[1 + lines] : "";
	json_error_t e;
	json_t *o;

	do {
		o = json_loadf(stdin, lines ? JSON_DISABLE_EOF_CHECK : 0, &e);
		if (!o && lines && json_error_code(&e) == json_error_premature_end_of_input)
			break;
		if (!o) {
			fprintf(stderr, "not JSON: %s at line %d\n", e.text, e.line);
			return 1;
		}
		found |= !*path || tell(o, path);
		json_decref(o);
	} while (lines);
	return found ? 0 : 1;
}
