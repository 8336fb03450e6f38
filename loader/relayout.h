/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Converts pinned maps of an earlier layout (BWL_LAYOUTS in maps/list.h) to this program's layout,
 * while programs use them: docs/upgrade.md.
 *
 * - look: changes nothing; an unknown layout is refused.
 * - use: the object is loaded on the maps that stay, and with new ones for the rest.
 * - replace: if a map has another shape, everything is stopped, and the new map gets the old one's
 *   content; then the pins are replaced, one rename each.
 * - Here the programs are replaced and checked.
 * - reclose (reclose.h): closes again what was closed in maps while they were being replaced.
 * - finish: writes the layout; from here on tools of this version trust the maps.
 * - release: everything runs again, except what somebody has stopped.
 *
 * After a kill before replace nothing has changed. After a later kill nothing passes (if a map was
 * replaced), tools of both versions refuse the maps, and a new run continues: each pin's shape
 * shows whether it was replaced.
 */
#ifndef BWL_LOADER_RELAYOUT_H
#define BWL_LOADER_RELAYOUT_H

#include <bwl/pins.h>

#define BWL_FRESH "new_" /* before the name of a pin that will replace the pin of that name */

enum bwl_fate {
	BWL_STAYS,   /* reused */
	BWL_COMES,   /* new in a later layout: begins empty */
	BWL_CHANGES, /* made anew, with the old one's content */
};

struct bwl_relayout {
	struct bwl_schema was;      /* magic 0: there are no maps, or they are incomplete */
	unsigned layout;            /* its layout's number */
	bool whole;                 /* all maps of that layout exist */
	bool changes;               /* at least one map changes */
	int fd[_BWL_PIN_MAX];       /* of the pinned maps; -1: none */
	uint8_t fate[_BWL_PIN_MAX]; /* enum bwl_fate */
	bool unjudged;              /* replace closed maps that bwlimitd still has to judge */
};

/* Reads what is pinned below dir. -EPROTO: a layout that this program cannot take over. */
int bwl_relayout_look(const char *dir, struct bwl_relayout *ret, struct bwl_err *e);
void bwl_relayout_end(struct bwl_relayout *x);
/*
 * Reads an entry in this version's form; of an earlier version as much as there is. The rest of ret
 * is zero.
 */
bool bwl_relayout_entry(const struct bwl_relayout *x, enum bwl_pin pin, uint32_t key, void *ret,
			size_t size);

struct bpf_object;
int bwl_relayout_use(const struct bwl_relayout *x, struct bpf_object *obj);
int bwl_relayout_replace(struct bwl_relayout *x, const char *dir, struct bpf_object *obj,
			 struct bwl_err *e);
int bwl_relayout_finish(const struct bwl_relayout *x, struct bwl_err *e);
/* stop: the value that replaces BWL_UPGRADING. */
void bwl_relayout_release(const struct bwl_relayout *x, struct bwl_pins *p, __u32 stop);

/*
 * Copies every entry of one map to the entry with the same key in another, as far as map and entry
 * have room; the rest is zero. For arrays, per-CPU arrays, hashes and tries; of an array of maps it
 * copies the inner ones, which get the shape `inner` and are pinned below dir. The content of a
 * ring buffer is lost.
 */
int bwl_relayout_copy(const char *dir, int from, int to, const struct bwl_shape *inner);

#endif
