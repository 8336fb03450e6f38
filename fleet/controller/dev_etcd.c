// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The etcd of --dev: Debian's binary as a child process, which ends with us; and its permissions,
 * set through etcd's Auth service (api/etcdserverpb/rpc.proto, api/authpb/auth.proto).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "bwl/bytes.h"
#include "bwl/cleanup.h"
#include "dev.h"
#include "fleet/store/publish.h"

#define WAIT_MS 100
#define WAITS 200 /* 20 s: its first start creates a database */

static void run_etcd(const struct dev *d, pid_t parent)
{
	char client[96], peer[96], cluster[112], path[4][DEV_PATH];
	int log;

	dev_path(d, path[0], "etcd", "");
	dev_path(d, path[1], "pki", "ca.pem");
	dev_path(d, path[2], "pki", "etcd.pem");
	dev_path(d, path[3], "pki", "etcd.key");
	snprintf(client, sizeof(client), "https://%s:%u", d->host, d->port);
	snprintf(peer, sizeof(peer), "https://%s:%u", d->host, d->port + 1);
	snprintf(cluster, sizeof(cluster), "dev=%s", peer);
	char *const argv[] = { "etcd",
			       "--name",
			       "dev",
			       "--data-dir",
			       path[0],
			       "--listen-client-urls",
			       client,
			       "--advertise-client-urls",
			       client,
			       "--listen-peer-urls",
			       peer,
			       "--initial-advertise-peer-urls",
			       peer,
			       "--initial-cluster",
			       cluster,
			       "--client-cert-auth",
			       "--trusted-ca-file",
			       path[1],
			       "--cert-file",
			       path[2],
			       "--key-file",
			       path[3],
			       "--peer-client-cert-auth",
			       "--peer-trusted-ca-file",
			       path[1],
			       "--peer-cert-file",
			       path[2],
			       "--peer-key-file",
			       path[3],
			       "--logger",
			       "zap",
			       "--log-level",
			       "warn",
			       NULL };
	char log_path[DEV_PATH];

	dev_path(d, log_path, "etcd.log", "");
	log = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (log >= 0) {
		dup2(log, STDOUT_FILENO);
		dup2(log, STDERR_FILENO);
	}
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent) /* the parent ended before prctl() took effect */
		_exit(127);
	execvp("etcd", argv);
	_exit(127);
}

/* Connects as etcd's own user root, which may do everything. */
static int open_as_root(const struct dev *d, char file[static 3][DEV_PATH], struct bwl_grpc **ret,
			struct bwl_err *e)
{
	struct bwl_grpc_tls tls = { file[0], file[1], file[2] };

	dev_path(d, file[0], "pki", "ca.pem");
	dev_path(d, file[1], "pki", "root.pem");
	dev_path(d, file[2], "pki", "root.key");
	return bwl_grpc_open(d->server, &tls, ret, e);
}

static int wait_for_etcd(const struct dev *d, struct bwl_grpc *g, struct bwl_err *e)
{
	struct timespec pause = { .tv_nsec = WAIT_MS * 1000000L };
	struct bwl_etcd_status s = { 0 };

	for (unsigned i = 0; i < WAITS; i++) {
		int state;

		if (waitpid(d->etcd, &state, WNOHANG) == d->etcd) {
			if (WIFEXITED(state) && WEXITSTATUS(state) == 127)
				return bwl_fail(e, ENOENT,
						"there is no etcd: apt-get install etcd-server");
			return bwl_fail(e, EIO, "etcd has ended: see %s/etcd.log", d->dir);
		}
		if (!bwl_etcd_status(g, &s, e) && s.leader) {
			*e = (struct bwl_err){ 0 };
			return 0;
		}
		nanosleep(&pause, NULL);
	}
	return bwl_fail(e, ETIMEDOUT, "etcd does not answer at %s: see %s/etcd.log", d->server,
			d->dir);
}

/* An existing setting is not an error. Frees the message. */
static int auth(struct bwl_grpc *g, const char *method, struct bwl_pb_out *say, struct bwl_err *e)
{
	char path[80];
	uint8_t *msg = NULL;
	size_t len;
	int r;

	snprintf(path, sizeof(path), "/etcdserverpb.Auth/%s", method);
	r = bwl_grpc_call(g, path, say->at, say->len, BWL_ETCD_STATUS_MS, &msg, &len, e);
	free(say->at);
	free(msg);
	if (!r || !strstr(e->text, "already"))
		return r;
	*e = (struct bwl_err){ 0 };
	return 0;
}

static int add_user(struct bwl_grpc *g, const char *user, const char *role, struct bwl_err *e)
{
	struct bwl_pb_out say = { 0 };
	size_t at;
	int r;

	bwl_pb_put_text(&say, 1, user);
	at = bwl_pb_begin(&say, 3);
	bwl_pb_put_int(&say, 1, 1); /* no password: users have certificates */
	bwl_pb_end(&say, at);
	r = auth(g, "UserAdd", &say, e);
	say = (struct bwl_pb_out){ 0 };
	bwl_pb_put_text(&say, 1, role);
	r = r ? r : auth(g, "RoleAdd", &say, e);
	say = (struct bwl_pb_out){ 0 };
	bwl_pb_put_text(&say, 1, user);
	bwl_pb_put_text(&say, 2, role);
	return r ? r : auth(g, "UserGrantRole", &say, e);
}

enum { READ = 0, WRITE = 1, READ_WRITE = 2 };

/* A key; if it ends with '/', all keys below it. */
static int allow(struct bwl_grpc *g, const char *role, int what, const char *key, struct bwl_err *e)
{
	struct bwl_pb_out say = { 0 };
	char end[BWL_ETCD_KEY_MAX] = "";
	size_t at;

	if (key[strlen(key) - 1] == '/')
		bwl_etcd_prefix_end(key, end);
	bwl_pb_put_text(&say, 1, role);
	at = bwl_pb_begin(&say, 2);
	bwl_pb_put_int(&say, 1, what);
	bwl_pb_put_text(&say, 2, key);
	bwl_pb_put_text(&say, 3, end);
	bwl_pb_end(&say, at);
	return auth(g, "RoleGrantPermission", &say, e);
}

/* A tray reads what is for all trays and for itself, and writes only its own status keys. */
static int allow_tray(struct bwl_grpc *g, const char *prefix, const char *tray, struct bwl_err *e)
{
	static const char *const says[] = { "alive", "at", "status" };
	char key[BWL_ETCD_KEY_MAX];
	int r = add_user(g, tray, tray, e);

	snprintf(key, sizeof(key), "%s/all/", prefix);
	r = r ? r : allow(g, tray, READ, key, e);
	snprintf(key, sizeof(key), "%s/part/", prefix);
	r = r ? r : allow(g, tray, READ, key, e);
	snprintf(key, sizeof(key), "%s/node/%s/in/", prefix, tray);
	r = r ? r : allow(g, tray, READ, key, e);
	for (unsigned i = 0; !r && i < sizeof(says) / sizeof(*says); i++) {
		snprintf(key, sizeof(key), "%s/node/%s/out/%s", prefix, tray, says[i]);
		r = allow(g, tray, WRITE, key, e);
	}
	return r;
}

/* People publish documents, and read what trays report. */
static int allow_people(struct bwl_grpc *g, const char *prefix, struct bwl_err *e)
{
	static const char *const writes[] = { "all", "part", "node", "pending" };
	char key[BWL_ETCD_KEY_MAX];
	int r = add_user(g, "people", "people", e);

	for (unsigned i = 0; !r && i < sizeof(writes) / sizeof(*writes); i++) {
		snprintf(key, sizeof(key), "%s/%s/", prefix, writes[i]);
		r = allow(g, "people", READ_WRITE, key, e);
	}
	snprintf(key, sizeof(key), "%s/controller/", prefix);
	return r ? r : allow(g, "people", READ, key, e);
}

static int publish(const struct dev *d, struct bwl_grpc *g, struct bwl_doc *doc, const char *folder,
		   const char *file, struct bwl_err *e)
{
	BWL_AUTO_CLOSE int fd = -1;
	BWL_AUTO_FREE char *bytes = NULL;
	char path[DEV_PATH];
	int64_t revision;
	int r;

	dev_path(d, path, folder, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return bwl_fail(e, errno, "cannot read '%s': %m", path);
	r = bwl_bytes_read(fd, BWL_DOC_MAX, &bytes, &doc->len, e);
	doc->at = bytes;
	return r ? r : bwl_doc_publish(g, doc, BWL_ETCD_ANY, &revision, e);
}

static int set_up(const struct dev *d, struct bwl_grpc *g, const char *prefix, struct bwl_err *e)
{
	struct bwl_doc root = { .prefix = prefix, .kind = BWL_DOC_root, .name = "1" };
	struct bwl_pb_out say = { 0 };
	char key[BWL_ETCD_KEY_MAX];
	int r = add_user(g, "root", "root", e);

	snprintf(key, sizeof(key), "%s/", prefix);
	r = r ? r : add_user(g, "controller", "controller", e);
	r = r ? r : allow(g, "controller", READ_WRITE, key, e);
	r = r ? r : allow_people(g, prefix, e);
	for (unsigned i = 0; !r && i < d->ntrays; i++)
		r = allow_tray(g, prefix, d->tray[i], e);
	r = r ? r : auth(g, "AuthEnable", &say, e);
	r = r ? r : publish(d, g, &root, "root", "", e);
	for (unsigned i = 0; !r && i < d->ntrays; i++) {
		struct bwl_doc doc = { .prefix = prefix,
				       .tray = d->tray[i],
				       .kind = BWL_DOC_enrolment,
				       .name = d->tray[i] };

		r = publish(d, g, &doc, "enrolments", d->tray[i], e);
	}
	return r;
}

/*
 * Only one etcd per folder: each holds DIR/etcd.lock until it has ended. After a controller was
 * killed its etcd keeps the address for a while. Returns a descriptor that etcd inherits, or a
 * negative errno.
 */
static int only_etcd(const struct dev *d, struct bwl_err *e)
{
	struct timespec pause = { .tv_nsec = WAIT_MS * 1000000L };
	char path[DEV_PATH];
	int fd, r, err = 0;

	dev_path(d, path, "etcd.lock", "");
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0)
		return bwl_fail(e, errno, "%s: %m", path);
	for (unsigned i = 0; i < WAITS; i++) {
		if (!flock(fd, LOCK_EX | LOCK_NB))
			return fd;
		err = errno; /* nanosleep() may set another */
		if (err != EWOULDBLOCK)
			break;
		nanosleep(&pause, NULL);
	}
	r = err == EWOULDBLOCK
		    ? bwl_fail(e, EBUSY, "an etcd of %s still runs: fuser -v %s tells which",
			       d->dir, path)
		    : bwl_fail(e, err, "cannot lock %s: %s", path, strerror(err));
	close(fd);
	return r;
}

int dev_etcd(struct dev *d, const struct options *o, struct bwl_err *e)
{
	char file[3][DEV_PATH];
	struct bwl_grpc *g = NULL;
	int lock = only_etcd(d, e), r;
	const pid_t self = getpid();

	if (lock < 0)
		return lock;
	d->etcd = fork();
	if (!d->etcd)
		run_etcd(d, self);
	close(lock);
	if (d->etcd < 0)
		return bwl_fail(e, errno, "cannot start etcd: %m");
	r = open_as_root(d, file, &g, e);
	r = r ? r : wait_for_etcd(d, g, e);
	r = r ? r : set_up(d, g, o->prefix, e);
	bwl_grpc_close(g);
	return r;
}
