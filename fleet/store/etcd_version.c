// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Versions of etcd whose authorisation has holes. etcd's roles keep somebody with a tray's stolen
 * certificate away from other trays' names. What may be believed is decided by signatures on the
 * DPU, whatever etcd does.
 */
#include <stdio.h>
#include "etcd.h"

/*
 * The first patch of each minor version that is fixed, according to etcd's change logs of August
 * 2026.
 */
struct mended {
	unsigned minor, patch;
};
/*
 * CVE-2026-73499: a watch without an end sees every key. Minor versions before 3.5 were not fixed.
 */
static const struct mended watch[] = { { 5, 33 }, { 6, 14 }, { 7, 1 } };
/*
 * CVE-2026-33413: leases and compaction without a user. CVE-2026-33343: a transaction inside a
 * transaction reads and writes every key.
 */
static const struct mended txn[] = { { 4, 42 }, { 5, 28 }, { 6, 9 } };
#define COUNT(a) (sizeof(a) / sizeof(*(a)))

/* Minor versions above the table never had it; those below it keep it. */
static bool is_open(const struct mended *m, size_t n, unsigned minor, unsigned patch)
{
	for (size_t i = 0; i < n; i++)
		if (m[i].minor == minor)
			return patch < m[i].patch;
	return minor < m[0].minor;
}

int bwl_etcd_version_ok(const char *version, struct bwl_err *e)
{
	unsigned major, minor, patch;
	char more;
	int n = sscanf(version, "%u.%u.%u%c", &major, &minor, &patch, &more);

	if (n < 3 || major != 3) {
		bwl_fail(e, EPERM, "the server is etcd '%.31s', an unknown version", version);
		return bwl_hint(e, "accepted: 3.5.33, 3.6.14, 3.7.1 and newer ones of etcd 3");
	}
	if (n == 4 && patch) /* 3.5.33-rc.0 is older than 3.5.33 */
		patch--;
	if (!is_open(watch, COUNT(watch), minor, patch))
		return 0;
	bwl_fail(
		e, EPERM,
		"the server is etcd %.31s, whose authorisation has known holes (CVE-2026-73499%s): with one tray's stolen certificate one can do more than its role says",
		version,
		is_open(txn, COUNT(txn), minor, patch) ? ", CVE-2026-33413, CVE-2026-33343" : "");
	return bwl_hint(e, "run 3.5.33, 3.6.14, 3.7.1 or newer; for a trial: --accept-etcd-holes");
}
