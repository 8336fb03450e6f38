// SPDX-License-Identifier: GPL-2.0-or-later
/* See audit_args.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "bwl/bytes.h"
#include "audit/item.h"
#include "audit_args.h"

int audit_folder(struct ctl *c, const char *dir, const char **ret)
{
	*ret = bwl_audit_dir(dir);
	if (*ret)
		return 0;
	bwl_fail(&c->err, ENOENT, "the audit log is off: BWLIMIT_AUDIT_DIR is empty");
	return bwl_hint(&c->err, "--dir DIR names a log");
}

int audit_read(struct ctl *c, const char *path, char *buf, size_t size, size_t *ret)
{
	FILE *f = !strcmp(path, "-") ? stdin : fopen(path, "re");
	bool failed;

	if (!f)
		return bwl_fail(&c->err, errno, "cannot read %.256s: %s", path, strerror(errno));
	*ret = fread(buf, 1, size, f);
	failed = ferror(f);
	if (f != stdin)
		fclose(f);
	if (failed)
		return bwl_fail(&c->err, EIO, "cannot read %.256s", path);
	if (*ret == size)
		return bwl_fail(&c->err, EMSGSIZE, "%.256s: must have at most %zu bytes", path,
				size - 1);
	buf[*ret] = '\0';
	return 0;
}

int audit_write(struct ctl *c, const char *path, mode_t mode, const char *text)
{
	const struct bwl_replace how = { .mode = mode };

	if (!strcmp(path, "-"))
		return fputs(text, stdout) < 0 || fflush(stdout)
			       ? bwl_fail(&c->err, EIO, "cannot write to standard output")
			       : 0;
	return bwl_bytes_replace_path(path, &how, text, strlen(text), &c->err);
}

int audit_take_key(struct ctl *c, const char *dir, const char *key, struct bwl_note_key *ret)
{
	char buf[BWL_NOTE_KEY_TEXT + 2], path[BWL_AUDIT_PATH];
	size_t n;
	int r;

	if (key && !bwl_note_key_parse(key, ret, &c->err))
		return 0;
	if (!key) {
		r = bwl_audit_path(path, dir, "key.pub", &c->err);
		if (r)
			return r;
		key = path;
	}
	r = audit_read(c, key, buf, sizeof(buf), &n);
	if (!r)
		r = bwl_note_key_parse(buf, ret, &c->err);
	if (r)
		bwl_hint(&c->err,
			 "--key must be the key that `audit init` printed, or a file with it");
	return r;
}

int audit_take_all(struct ctl *c, int *argc, char **argv, const char *name, const char **ret,
		   size_t most, size_t *ret_n)
{
	int out = 0;

	for (int i = 0; i < *argc; i++) {
		if (strcmp(argv[i], name))
			argv[out++] = argv[i];
		else if (++i == *argc || *ret_n == most)
			return ctl_usage(c, "%s needs a value, and may be given at most %zu times",
					 name, most);
		else
			ret[(*ret_n)++] = argv[i];
	}
	*argc = out;
	return 0;
}

int audit_take_witnesses(struct ctl *c, int *argc, char **argv, struct audit_witness_args *ret)
{
	return audit_take_all(c, argc, argv, "--witness", ret->key, BWL_WITNESSES_MAX, &ret->n);
}

int audit_know_witnesses(struct ctl *c, const struct audit_witness_args *a,
			 struct bwl_witnesses *ret)
{
	char buf[BWL_NOTE_KEY_TEXT + 2];
	uint64_t k = a->n;
	int r = 0;

	memset(ret, 0, sizeof(*ret));
	if (a->k && !a->n)
		return ctl_usage(c, "--witnesses needs the witnesses: --witness KEY for each");
	if (a->k)
		r = ctl_number(c, "a number of --witnesses", a->k, a->n, &k);
	ret->k = (unsigned)k;
	for (size_t i = 0; !r && i < a->n; i++) {
		struct bwl_note_key key;
		size_t n;

		r = bwl_witness_key_parse(a->key[i], &key, &c->err);
		if (r && !access(a->key[i], F_OK)) {
			r = audit_read(c, a->key[i], buf, sizeof(buf), &n);
			if (!r)
				r = bwl_witness_key_parse(buf, &key, &c->err);
		}
		if (!r)
			r = bwl_witnesses_add(ret, &key, &c->err);
	}
	return r;
}
