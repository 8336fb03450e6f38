/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared arguments of the commands about the audit log: its folder, keys, witnesses, files. */
#ifndef BWL_CTL_AUDIT_ARGS_H
#define BWL_CTL_AUDIT_ARGS_H

#include <sys/types.h>
#include "audit/log.h"
#include "audit/witness.h"
#include "ctl.h"

#define AUDIT_DIR_HELP                                                                             \
	"  --dir DIR          the log's folder (BWLIMIT_AUDIT_DIR; " BWL_AUDIT_DIR ")\n"
#define AUDIT_KEY_HELP                                                                             \
	"  --key PUB          the public key that `audit init` printed, or a file with it\n"
#define AUDIT_WITNESS_HELP                                                                         \
	"  --witness KEY      a known witness: NAME+ID+BASE64, or a file with it; repeat\n"        \
	"                     it for each of them\n"                                               \
	"  --witnesses K      how many of them must have cosigned (all)\n"

int audit_folder(struct ctl *c, const char *dir, const char **ret);
/* "-": standard input. Ends with a NUL; -EMSGSIZE: more than size - 1 bytes. */
int audit_read(struct ctl *c, const char *path, char *buf, size_t size, size_t *ret);
/* Whole under its name, or unchanged; "-": standard output. */
int audit_write(struct ctl *c, const char *path, mode_t mode, const char *text);
/* From a file, or the key itself; without either the key in the log's folder, which proves less. */
int audit_take_key(struct ctl *c, const char *dir, const char *key, struct bwl_note_key *ret);
/* An option that may be repeated: takes its values out of argv. */
int audit_take_all(struct ctl *c, int *argc, char **argv, const char *name, const char **ret,
		   size_t most, size_t *ret_n);

struct audit_witness_args {
	const char *key[BWL_WITNESSES_MAX];
	size_t n;
	const char *k; /* --witnesses */
};
/* --witness, as often as it is given; --witnesses is an ordinary option. */
int audit_take_witnesses(struct ctl *c, int *argc, char **argv, struct audit_witness_args *ret);
int audit_know_witnesses(struct ctl *c, const struct audit_witness_args *a,
			 struct bwl_witnesses *ret);

#endif
