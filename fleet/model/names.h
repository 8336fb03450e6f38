/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names that many trays have in common, each stored once. Bounded: a name without room becomes name
 * 0, "(other)".
 */
#ifndef BWL_FLEET_MODEL_NAMES_H
#define BWL_FLEET_MODEL_NAMES_H

#include <stdint.h>

typedef uint16_t model_name;
#define MODEL_NAMES_MAX 65535
#define MODEL_NAME_BYTES 80 /* maximum bytes, including the NUL; longer ones are cut */
#define MODEL_NAMES_A_TRAY 512

struct model_names {
	char **text;     /* by name; [0] is "(other)" */
	uint32_t n;      /* names */
	uint16_t *table; /* a hash table of 131072 places; 0: free */
};
/* left: how many new names this source may still add; counted down. */
model_name model_name_of(struct model_names *names, const char *text, uint32_t *left);
const char *model_name_text(const struct model_names *names, model_name name);
void model_names_done(struct model_names *names);

#endif
