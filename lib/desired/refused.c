// SPDX-License-Identifier: GPL-2.0-or-later
/* The source's content that was last refused: a small JSON file, for `status`. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <bwl/bytes.h>
#include <bwl/desired.h>

#define REFUSED "refused.json"

int bwl_refused_keep(const char *dir, const char *source, const struct bwl_err *why,
		     struct bwl_err *e)
{
	char when[BWL_TIME_BUF], *text;
	struct bwl_bytes part;
	json_t *o = json_object();
	struct bwl_err name, file; /* make them printable: a path may contain anything */
	int r;

	bwl_err_fill(&name, EIO, "%s", source);
	bwl_err_fill(&file, EIO, "%s", why->file);
	json_object_set_new(o, "source_name", json_string(name.text));
	json_object_set_new(o, "since", json_string(bwl_utc_now(when)));
	json_object_set_new(o, "file", bwl_json_text(*file.text ? file.text : NULL));
	json_object_set_new(o, "line", why->line ? json_integer(why->line) : json_null());
	json_object_set_new(o, "column", why->column ? json_integer(why->column) : json_null());
	json_object_set_new(o, "why", json_string(why->text));
	text = bwl_must(json_dumps(o, JSON_COMPACT | JSON_ENSURE_ASCII));
	part = (struct bwl_bytes){ text, strlen(text) };
	r = bwl_bytes_replace(dir, REFUSED, &part, 1, e);
	free(text);
	json_decref(o);
	return r;
}

void bwl_refused_forget(const char *dir)
{
	char path[BWL_DESIRED_PATH];

	snprintf(path, sizeof(path), "%s/" REFUSED, dir);
	unlink(path);
}

json_t *bwl_refused_json(const char *dir)
{
	static const char *const keys[] = {
		"source_name", "since", "file", "line", "column", "why"
	};
	char path[BWL_DESIRED_PATH];
	json_t *was, *o;

	snprintf(path, sizeof(path), "%s/" REFUSED, dir);
	was = json_load_file(path, 0, NULL);
	if (!was)
		return json_null();
	o = json_object(); /* only these keys, whatever the file has */
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		json_t *v = json_object_get(was, keys[i]);

		json_object_set(o, keys[i], v ? v : json_null());
	}
	json_decref(was);
	return o;
}
