/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the verbs of `evidence`. */
#ifndef CTL_EVIDENCE_H
#define CTL_EVIDENCE_H

#include "audit_args.h"
#include "ctl.h"
#include "bwl/desired.h"
#include "evidence/chain.h"
#include "evidence/opening.h"
#include "evidence/proofs.h"

/* Options about the log, and the trusted keys. */
struct evidence_from {
	const char *state_dir, *audit_dir, *checkpoint;
	struct ev_log log;
};
/* Opens the log, with its newest checkpoint or the given one. */
int evidence_log(struct ctl *c, struct evidence_from *f);
/* An interval as it was entered, from its file. -ENOENT, -ESTALE: it can no longer be shown. */
int evidence_interval(const char *state_dir, const struct ev_found *x, struct ev_interval *ret,
		      struct bwl_err *e);
int evidence_trust(struct ctl *c, const char *key, const struct audit_witness_args *witnesses,
		   struct ev_trust *ret);
int evidence_read(const char *path, size_t most, char **ret, size_t *ret_len, struct bwl_err *e);
/* Reports the file once it is on disk. */
int evidence_write(const char *dir, const char *name, mode_t mode, const char *text, size_t len,
		   struct bwl_err *e);
#define EVIDENCE_FOR_ALL 0644 /* for files without names and records */
#define EVIDENCE_FOR_ONE 0600
/* Reads what `evidence export` wrote, one interval at a time; n: its record's number. */
#define EVIDENCE_ENTRY "%020llu.entry"
#define EVIDENCE_PROOF "%020llu.tlog-proof"
#define EVIDENCE_PEERS "%020llu.peers"
#define EVIDENCE_CHECKPOINT "checkpoint"
struct evidence_export {
	char dir[400];
	uint64_t *n; /* of the entries, ascending */
	size_t count;
	char stray[256]; /* the first file that is named like one of an entry, and is of none */
	size_t strays;
};
int evidence_export_list(const char *dir, struct evidence_export *ret, struct bwl_err *e);
struct evidence_part {
	char *line, *proof;
	size_t line_len, proof_len;
	struct ev_entry x;
	uint64_t n; /* of the record, as it says */
	struct ev_peer *peer;
	uint32_t npeers;
};
/* -EV_NEWER: line and proof are read; the entry, or its peers, are of a later version. */
int evidence_export_read(const struct evidence_export *d, size_t i, struct evidence_part *ret,
			 struct bwl_err *e);
void evidence_part_free(struct evidence_part *p);

/* Locates a drawn byte: evidence_draw.c */
struct evidence_bytes {
	struct interval_bytes {
		struct bwl_hash root;
		uint64_t n, sequence, total; /* n: of its record in the log */
		uint64_t *slot;              /* bytes in each */
		uint32_t nslots;
	} * interval;
	size_t n, room;
	uint64_t total;
};
/* false: more than 2^64 bytes */
bool evidence_bytes_add(struct evidence_bytes *b, uint64_t record, const struct ev_entry *x,
			const struct ev_peer *peer, uint32_t n);
struct evidence_place {
	size_t interval;
	uint32_t slot;
	uint64_t at; /* byte of the peer's records */
};
struct evidence_place evidence_place_of(const struct evidence_bytes *b, uint64_t byte);
void evidence_bytes_free(struct evidence_bytes *b);

/* Is the nonce valid, if there is one? */
int evidence_nonce(struct ctl *c, const char *nonce);

int evidence_open(struct ctl *c, int argc, char **argv);
int evidence_challenge(struct ctl *c, int argc, char **argv);
int evidence_verify(struct ctl *c, int argc, char **argv);
int evidence_reconcile(struct ctl *c, int argc, char **argv);

#endif
