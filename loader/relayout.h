/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pinned maps of an earlier layout (BWL_LAYOUTS in maps/list.h) become this program's, under the
 * programs that use them: docs/upgrade.md.
 *
 * - look: nothing is touched; what is not known is refused.
 * - use: the object is loaded on the maps that stay, and with new ones for the rest.
 * - replace: where one has another shape, everything is stopped, and the new one gets what the old
 *   one holds; then the pins are replaced, one rename each.
 * - Here the programs are replaced, and looked at.
 * - reclose (reclose.h): what was closed in maps that were being replaced.
 * - finish: the layout's word; from here on tools of this version believe the maps.
 * - release: everything runs again, but for what a hand has stopped.
 *
 * Killed before replace: as it was. Killed after: nothing passes (where anything was replaced),
 * tools of either version refuse the maps, and running it again goes on, as each pin tells by its
 * shape whether it was replaced.
 */
#ifndef BWL_LOADER_RELAYOUT_H
#define BWL_LOADER_RELAYOUT_H

#include <bwl/pins.h>

#define BWL_FRESH "new_" /* before the name of a pin that is to replace the one of that name */

enum bwl_fate {
	BWL_STAYS,   /* reused */
	BWL_COMES,   /* new in a later layout: empty */
	BWL_CHANGES, /* made anew, with what the old one holds */
};

struct bwl_relayout {
	struct bwl_schema was;      /* magic 0: no maps, or not complete */
	unsigned layout;            /* its number */
	bool whole;                 /* all maps of that layout are there */
	bool changes;               /* one of them at least */
	int fd[_BWL_PIN_MAX];       /* what is pinned; -1 nothing */
	uint8_t fate[_BWL_PIN_MAX]; /* enum bwl_fate */
	bool unjudged;              /* replace closed what bwlimitd has still to judge */
};

/*
 * What is pinned below dir. -EPROTO: of a layout that this program cannot take over. Not only_look:
 * maps of generations that an earlier version did not pin are pinned, which takes CAP_SYS_ADMIN.
 */
int bwl_relayout_look(const char *dir, bool only_look, struct bwl_relayout *ret, struct bwl_err *e);
void bwl_relayout_end(struct bwl_relayout *x);
/*
 * An entry as this version has it; of an earlier one what is there. ret is filled with zeros
 * before.
 */
bool bwl_relayout_entry(const struct bwl_relayout *x, enum bwl_pin pin, uint32_t key, void *ret,
			size_t size);

struct bpf_object;
int bwl_relayout_use(const struct bwl_relayout *x, struct bpf_object *obj);
int bwl_relayout_replace(struct bwl_relayout *x, const char *dir, struct bpf_object *obj,
			 struct bwl_err *e);
int bwl_relayout_finish(const struct bwl_relayout *x, struct bwl_err *e);
/* stop: what takes the place of BWL_UPGRADING. */
void bwl_relayout_release(const struct bwl_relayout *x, struct bwl_pins *p, __u32 stop);

/*
 * Every entry of one map into the entry of the same key of another, as many as it has and as much
 * of each as fits; the rest is zero. Arrays, per-CPU arrays, hashes, tries; of an array of maps the
 * inner ones, which become of the shape `inner` and are pinned below dir. What a ring buffer holds
 * is lost.
 */
int bwl_relayout_copy(const char *dir, int from, int to, const struct bwl_shape *inner);

#endif
