/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * VICI, the language of charon's control socket (src/libcharon/plugins/vici/README.md in
 * strongSwan's source). Our own implementation, because no header of libvici is packaged.
 *
 * A message is a tree, represented as JSON: a section is an object, a list an array of strings, a
 * value a string. Bytes that are not UTF-8 text (certificates in DER) are read as "0x…", in
 * hexadecimal; what is written is text, certificates and keys in PEM. Order is kept. If a section
 * has a name twice, the first one counts, as in libvici.
 */
#ifndef BWL_VICI_H
#define BWL_VICI_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>
#include "bwl/err.h"

#define BWL_VICI_SOCKET "/run/charon.vici" /* Debian's; --vici elsewhere */
#define BWL_VICI_MAX (512U << 10)          /* bytes of a packet: charon's own limit */

enum bwl_vici_op {
	BWL_VICI_REQUEST,
	BWL_VICI_RESPONSE,
	BWL_VICI_UNKNOWN_COMMAND,
	BWL_VICI_REGISTER,
	BWL_VICI_UNREGISTER,
	BWL_VICI_CONFIRM,
	BWL_VICI_UNKNOWN_EVENT,
	BWL_VICI_EVENT,
	_BWL_VICI_OP_MAX
};

/* vici_msg.c: no I/O. A packet is what follows the four bytes of length. */
struct bwl_vici_packet {
	enum bwl_vici_op op;
	char name[256]; /* of requests, registrations and events */
	json_t *msg;    /* an object, also when there is no message: then empty */
};
/* name and msg may be NULL. Returns the packet preceded by its length; the caller frees. */
int bwl_vici_encode(enum bwl_vici_op op, const char *name, json_t *msg, uint8_t **ret,
		    size_t *ret_len, struct bwl_err *e);
/* The caller drops ret->msg with json_decref(). -EBADMSG: not a packet. */
int bwl_vici_decode(const uint8_t *data, size_t len, struct bwl_vici_packet *ret,
		    struct bwl_err *e);
/* The string under key, or "" (also for a NULL object). */
const char *bwl_vici_text(const json_t *section, const char *key);
/* The decimal number under key; 0 if there is none. */
uint64_t bwl_vici_number(const json_t *section, const char *key);

/*
 * vici.c: the socket. Every call ends within the timeout that the connection was opened with,
 * whatever charon does: -ETIMEDOUT if it does not answer. After that, and after any error of the
 * socket, the connection is unusable: later calls fail with -ENOTCONN.
 */
struct bwl_vici;
/* socket NULL: BWL_VICI_SOCKET. -ENOENT or -ECONNREFUSED: no charon there. */
int bwl_vici_open(const char *socket, uint64_t timeout_ns, struct bwl_vici **ret,
		  struct bwl_err *e);
void bwl_vici_close(struct bwl_vici *v); /* NULL-safe */

/*
 * Runs one command. args is only read; it and ret may be NULL. A reply of `success = no` is an
 * error (-EREMOTEIO) with charon's own words, as is an unknown command (-EOPNOTSUPP).
 */
int bwl_vici_call(struct bwl_vici *v, const char *command, json_t *args, json_t **ret,
		  struct bwl_err *e);
/*
 * Runs a command whose answer comes as events (list-sas: list-sa); fn is called with each. A
 * non-zero result of fn is returned once the command has ended.
 */
int bwl_vici_stream(struct bwl_vici *v, const char *command, const char *event, json_t *args,
		    int (*fn)(void *arg, json_t *msg), void *arg, struct bwl_err *e);

/* For the following calls. */
void bwl_vici_set_timeout(struct bwl_vici *v, uint64_t timeout_ns);
/*
 * For a charon that hangs: commands are added, then all are written, also after a timeout, without
 * waiting: -EAGAIN if charon's socket does not take them all. A separate process stays to read the
 * answers, without which charon would not continue to the next command. No call can follow.
 */
int bwl_vici_add(struct bwl_vici *v, const char *command, json_t *args);
int bwl_vici_post(struct bwl_vici *v);

/*
 * Events, on a separate connection: it cannot be used for commands afterwards. Events before the
 * registration is confirmed are lost: register first, then query the state (on another connection).
 */
int bwl_vici_register(struct bwl_vici *v, const char *event, struct bwl_err *e);
/* The next event, or -ETIMEDOUT without harm when there is none within timeout_ns. */
int bwl_vici_wait(struct bwl_vici *v, uint64_t timeout_ns, char name[static 256], json_t **ret,
		  struct bwl_err *e);

#endif
