// SPDX-License-Identifier: GPL-2.0-or-later
/* verify: can the host own what the programs run on? See host_rights.h. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <bwl/cleanup.h>
#include "host_rights.h"

#define HEARD_FOR_S 900
#define TAKE                                                                                       \
	"mlxprivhost -d %s r --disable_rshim --disable_tracer --disable_counter_rd "               \
	"--disable_port_owner, then a power cycle"

bool host_rights_of(const struct bwl_pci_nic *nic)
{
	size_t n = strlen(nic->address);

	return nic->dpu && n > 2 && !strcmp(nic->address + n - 2, ".0");
}

enum tool_end host_rights_ask(const char *address, struct tool_answer *room,
			      struct host_rights *ret)
{
	/* --full shows every host. Old versions refuse it, and so does the tool on a host. */
	static const char *const tools[] = { "mlxprivhost", "mstprivhost" };
	enum tool_end end = TOOL_ABSENT;
	unsigned i;

	*ret = (struct host_rights){ 0 };
	for (i = 0; i < 4 && end != TOOL_SAID && end != TOOL_LATE; i++) {
		const char *argv[] = {
			tools[i / 2], "-d", address, "query", i % 2 ? NULL : "--full", NULL
		};

		tool_ask(argv, TOOL_PATIENCE_NS, room);
		if (room->end == TOOL_ABSENT)
			continue;
		end = room->end;
		if (end == TOOL_SAID)
			host_rights_read(room->text, ret);
		if (end == TOOL_SAID && ret->level == RIGHT_UNTOLD)
			end = TOOL_FAILED;
	}
	return end;
}

/*
 * What packaging/ask-host recently recorded outside the unit's sandbox. Only a file that root made
 * counts.
 */
static bool heard(const char *address, struct tool_answer *room, struct host_rights *ret)
{
	const char *dir = getenv("BWLIMIT_HOST_DIR");
	BWL_AUTO_CLOSE int fd = -1;
	struct stat st;
	char path[256];
	ssize_t n;

	snprintf(path, sizeof(path), "%s/%s", dir ? dir : "/run/bwlimit-host", address);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid || st.st_mode & 022 ||
	    labs(time(NULL) - st.st_mtime) > HEARD_FOR_S)
		return false;
	n = read(fd, room->text, sizeof(room->text) - 1);
	if (n < 0)
		return false;
	room->text[n] = '\0';
	host_rights_read(room->text, ret);
	return ret->level != RIGHT_UNTOLD;
}

/* "level PRIVILEGED, rshim, port owner": what the host holds; empty: nothing. */
static void held(const struct host_rights *h, char *ret, size_t room)
{
	const struct {
		enum host_right right;
		const char *name;
	} all[] = {
		{ h->level, "level PRIVILEGED" },
		{ h->rshim, "rshim" },
		{ h->port_owner, "port owner" },
	};
	size_t n = 0, i;

	*ret = '\0';
	for (i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i].right == RIGHT_HELD && n < room)
			n += (size_t)snprintf(ret + n, room - n, "%s%s", n ? ", " : "",
					      all[i].name);
}

static void check_one(struct bwl_report *r, const struct bwl_pci_nic *nic, struct tool_answer *room)
{
	static const char *const why[] = {
		[TOOL_SAID] = "", /* not without an answer */
		[TOOL_ABSENT] = "neither mlxprivhost nor mstprivhost is installed",
		[TOOL_FAILED] = "mlxprivhost does not answer",
		[TOOL_LATE] = "mlxprivhost has not answered in 10 s"
	};
	struct host_rights h;
	enum tool_end end = host_rights_ask(nic->address, room, &h);
	char what[64], next[192];

	if (end != TOOL_SAID && heard(nic->address, room, &h))
		end = TOOL_SAID;
	held(&h, what, sizeof(what));
	snprintf(next, sizeof(next), TAKE, nic->address);
	if (*what)
		bwl_check(r, "host-rights", BWL_FAIL, next,
			  "%s %s: the host has %s: whoever can write the DPU's image has no limits",
			  nic->dpu, nic->address, what);
	else if (end != TOOL_SAID)
		bwl_check(r, "host-rights", BWL_WARN,
			  "run bwlimit-load verify in a root shell, with MFT or mstflint installed",
			  "%s %s: cannot tell what the host may do with it: %s", nic->dpu,
			  nic->address, why[end]);
	else
		bwl_check(r, "host-rights", BWL_OK, "",
			  "%s %s: the host owns neither rshim nor the port", nic->dpu,
			  nic->address);
}

void bwl_verify_host(struct bwl_report *r)
{
	struct tool_answer *room = malloc(sizeof(*room));
	struct bwl_pci_nic *nic;
	struct bwl_err e = { 0 };
	size_t n, i;

	if (!room || bwl_pci_nics(&nic, &n, &e)) {
		bwl_check(r, "host-rights", BWL_WARN, "run bwlimit-load verify as root", "%s",
			  room ? e.text : "out of memory");
		free(room);
		return;
	}
	for (i = 0; i < n; i++)
		if (host_rights_of(&nic[i]))
			check_one(r, &nic[i], room);
	free(nic);
	free(room);
}
