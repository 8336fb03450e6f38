// SPDX-License-Identifier: GPL-2.0-or-later
/* `audit tiles`: the log as files that any client of c2sp.org/tlog-tiles reads. */
#include <stdio.h>
#include "audit/tiles.h"
#include "audit_args.h"

static void show_tiles(const struct ctl *c, const struct bwl_audit_tiles *t, const char *to)
{
	json_t *o;

	if (c->json) {
		o = bwl_doc("audit-tiles");
		json_object_set_new(o, "dir", json_string(to));
		json_object_set_new(o, "record_count", bwl_json_u64(t->c.size));
		json_object_set_new(o, "old_record_count", bwl_json_u64(t->was));
		json_object_set_new(o, "written_count", bwl_json_u64(t->written));
		json_object_set_new(o, "minimum_record", bwl_json_u64(t->least));
		json_object_set_new(o, "missing_bundle_count", bwl_json_u64(t->lacking));
		bwl_doc_print(o);
		return;
	}
	bwl_put(stdout, "%llu record%s, %llu new; %llu file%s written\n",
		(unsigned long long)t->c.size, BWL_S(t->c.size),
		(unsigned long long)(t->c.size - t->was), (unsigned long long)t->written,
		BWL_S(t->written));
	if (t->least)
		bwl_put(stdout,
			"minimum index %llu: %llu bundle%s of records before it %s missing, because records in %s were pruned\n",
			(unsigned long long)t->least, (unsigned long long)t->lacking,
			BWL_S(t->lacking), t->lacking == 1 ? "is" : "are",
			t->lacking == 1 ? "it" : "them");
}

static int audit_tiles(struct ctl *c, int argc, char **argv)
{
	const char *dir = NULL, *key = NULL, *witnessed = NULL;
	const struct ctl_opt opts[] = { { "--dir", NULL, &dir },
					{ "--key", NULL, &key },
					{ "--witnessed", NULL, &witnessed },
					{ NULL, NULL, NULL } };
	static char note[BWL_NOTE_MAX];
	struct bwl_audit_tiles t;
	struct bwl_note_key k;
	size_t len = 0;
	int r = ctl_opts(c, &argc, argv, opts);

	if (!r && argc != 1)
		return ctl_usage(c, "audit tiles needs a folder");
	if (!r)
		r = audit_folder(c, dir, &dir);
	if (!r)
		r = audit_take_key(c, dir, key, &k);
	if (!r && witnessed)
		r = audit_read(c, witnessed, note, sizeof(note), &len);
	if (!r)
		r = bwl_audit_write_tiles(dir, &k, witnessed ? note : NULL, len, argv[0], &t,
					  &c->err);
	if (!r)
		show_tiles(c, &t, argv[0]);
	return r;
}

const struct ctl_cmd ctl_audit_tiles_cmds[] = {
	{ "audit", "tiles", "FOLDER [--witnessed FILE] [--key PUB] [--dir DIR]",
	  "Write the log, or its new part, as static files (c2sp.org/tlog-tiles)",
	  "Anyone who can read FOLDER can read every record. Run this from a timer, before the log is\n"
	  "pruned: records pruned earlier are left out, and named in the file `retention`.\n\n"
	  "  --witnessed FILE   up to this checkpoint, with its cosignatures, instead of the newest one\n" AUDIT_KEY_HELP
		  AUDIT_DIR_HELP "\nExamples:\n  bwlimit-ctl audit tiles /srv/tray-7\n",
	  audit_tiles },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
