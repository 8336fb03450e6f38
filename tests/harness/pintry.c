// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tries what its user can do to a pinned map: one line per way, "WAY done" or "WAY ERRNO". It
 * writes what it has read, so that only the permission to write is tested.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <bwl/reader.h>

static void say(const char *way, bool failed)
{
	printf("%s %s\n", way, failed ? strerrorname_np(errno) : "done");
}

/*
 * Writes the first entry back unchanged; a map without entries is skipped, because zeros would be a
 * change.
 */
static void try_entry(int fd, const struct bpf_map_info *m)
{
	size_t cpus = (size_t)libbpf_num_possible_cpus();
	uint8_t key[64] = { 0 };
	void *value = calloc(cpus, m->value_size + 8);

	bpf_map_get_next_key(fd, NULL, key);
	bpf_map_lookup_elem(fd, key, value);
	say("update", bpf_map_update_elem(fd, key, value, BPF_EXIST));
	memset(key, 0xff, sizeof(key)); /* no such key: ENOENT if permitted */
	say("delete", bpf_map_delete_elem(fd, key));
	free(value);
}

static void try_fd(int fd, const char *path)
{
	struct bpf_map_info m = {};
	__u32 len = sizeof(m);
	char beside[400];
	void *at;

	if (bpf_obj_get_info_by_fd(fd, &m, &len))
		return say("info", true);
	say("info", false);
	try_entry(fd, &m);
	at = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	say("mmap", at == MAP_FAILED);
	at = mmap(NULL, 1, PROT_READ, MAP_SHARED, fd, 0);
	if (at != MAP_FAILED)
		say("mprotect", mprotect(at, 1, PROT_READ | PROT_WRITE));
	snprintf(beside, sizeof(beside), "%s_again", path);
	say("pin", bpf_obj_pin(fd, beside));
	unlink(beside);
}

int main(int argc, char **argv)
{
	char beside[400];
	int fd;

	if (argc != 2 && argc != 3) {
		fprintf(stderr, "usage: bwl-pintry PIN [destroy]\n");
		return 2;
	}
	fd = bwl_pin_get(argv[1], false);
	say("open", fd < 0);
	if (fd < 0) {
		fd = bwl_pin_get(argv[1], true);
		say("open-read", fd < 0);
	}
	if (fd >= 0)
		try_fd(fd, argv[1]);
	if (argc == 2)
		return 0;
	/* Ways that would leave a trace if they succeeded. */
	if (fd >= 0)
		say("freeze", bpf_map_freeze(fd));
	snprintf(beside, sizeof(beside), "%s_moved", argv[1]);
	say("chmod", chmod(argv[1], 0666));
	say("chown", chown(argv[1], getuid(), getgid()));
	say("rename", rename(argv[1], beside));
	say("unlink", unlink(argv[1]));
	return 0;
}
