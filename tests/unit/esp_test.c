// SPDX-License-Identifier: GPL-2.0-or-later
/* What keeps the kernel from loading ESP, below a folder in place of /; and which kernels are
 * mended. */
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bwl/esp.h>

static char root[] = "/tmp/bwl-esp-XXXXXX";

static void path_of(const char *name, char path[static 300])
{
	snprintf(path, 300, "%s/%s", root, name);
}

static void put(const char *name, const char *text)
{
	char path[300];
	FILE *f;

	path_of(name, path);
	for (char *s = path + strlen(root) + 1; (s = strchr(s, '/')); s++) {
		*s = '\0';
		mkdir(path, 0700);
		*s = '/';
	}
	f = fopen(path, "we");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void drop(const char *name)
{
	char path[300];

	path_of(name, path);
	assert_int_equal(unlink(path), 0);
}

static bool is_blocked(char where[static 200])
{
	*where = '\0';
	return bwl_module_is_blocked(root, "esp4", "xfrm-type-2-50", where, 200);
}

static void each_way_to_block_is_found(void **state)
{
	static const struct {
		const char *file, *text, *where;
	} blocks[] = {
		{ "etc/modprobe.d/a.conf", "install esp4 /bin/false\n",
		  "/etc/modprobe.d/a.conf: install esp4 /bin/false" },
		{ "etc/modprobe.d/a.conf", "# why\n  install  esp4\t/bin/true\n",
		  "/etc/modprobe.d/a.conf: install  esp4\t/bin/true" },
		{ "run/modprobe.d/b.conf", "options x y=1\nblacklist esp4",
		  "/run/modprobe.d/b.conf: blacklist esp4" },
		{ "usr/lib/modprobe.d/c.conf", "blacklist xfrm_type_2_50\n",
		  "/usr/lib/modprobe.d/c.conf: blacklist xfrm_type_2_50" },
		{ "lib/modprobe.d/d.conf", "alias xfrm-type-2-50 off\n",
		  "/lib/modprobe.d/d.conf: alias xfrm-type-2-50 off" },
		{ "proc/cmdline", "ro module_blacklist=rxrpc,esp4 quiet\n",
		  "the kernel's command line: module_blacklist=esp4" },
		{ "proc/cmdline", "ro modprobe.blacklist=esp4\n",
		  "the kernel's command line: modprobe.blacklist=esp4" },
		{ "proc/sys/kernel/modules_disabled", "1\n",
		  "sysctl kernel.modules_disabled=1, until the next boot" },
	};
	char where[200];

	(void)state;
	for (size_t i = 0; i < sizeof(blocks) / sizeof(*blocks); i++) {
		assert_false(is_blocked(where));
		put(blocks[i].file, blocks[i].text);
		assert_true(is_blocked(where));
		assert_string_equal(where, blocks[i].where);
		drop(blocks[i].file);
	}
}

static void what_blocks_something_else_does_not(void **state)
{
	static const struct {
		const char *file, *text;
	} others[] = {
		{ "etc/modprobe.d/a.conf", "# install esp4 /bin/false\n#blacklist esp4\n" },
		{ "etc/modprobe.d/a.conf", "install esp6 /bin/false\nblacklist esp4_offload\n" },
		{ "etc/modprobe.d/a.conf",
		  "install esp4 echo esp4; modprobe --ignore-install esp4\n" },
		{ "etc/modprobe.d/a.conf", "install esp4 /sbin/modprobe -i esp4 && true\n" },
		{ "etc/modprobe.d/a.conf", "alias xfrm-type-2-50 esp4\noptions esp4 x=1\n" },
		{ "etc/modprobe.d/a.txt", "install esp4 /bin/false\n" },
		{ "proc/cmdline", "module_blacklist=esp4_offload blacklist=esp4\n" },
		{ "proc/sys/kernel/modules_disabled", "0\n" },
	};
	char where[200];

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		put(others[i].file, others[i].text);
		assert_false(is_blocked(where));
		drop(others[i].file);
	}
}

static void the_mending_is_told_only_by_numbers_that_tell(void **state)
{
	static const struct {
		const char *release, *version;
		bool mended;
	} kernels[] = {
		{ "6.18.44-fc-v657", "#1 SMP", true },
		{ "6.18.28", "#1", true },
		{ "6.18.27", "#1", false },
		{ "6.12.87+deb13-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.12.87-1 (2026-05-09)",
		  true },
		{ "6.1.0-50-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.171-1 (2026-05-10)", true },
		{ "6.1.0-44-amd64", "#1 SMP PREEMPT_DYNAMIC Debian 6.1.164-1 (2026-03-09)", false },
		{ "6.8.0-1020-bluefield-64k", "#22-Ubuntu SMP", false },
		{ "5.15.0-1060-bluefield", "#62-Ubuntu SMP", false },
		{ "5.15.205", "#1", true },
		{ "7.0.4", "#1", false },
		{ "7.0.5", "#1", true },
		{ "7.1.0", "#1", true },
		{ "8.0.0", "#1", true },
		{ "6.19.9", "#1", false },
		{ "nonsense", "", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++)
		assert_int_equal(bwl_esp_is_mended(kernels[i].release, kernels[i].version),
				 kernels[i].mended);
}

static int make_root(void **state)
{
	(void)state;
	return !mkdtemp(root);
}

static int remove_root(void **state)
{
	static const char *const made[] = { "etc/modprobe.d",
					    "etc",
					    "run/modprobe.d",
					    "run",
					    "usr/lib/modprobe.d",
					    "usr/lib",
					    "usr",
					    "lib/modprobe.d",
					    "lib",
					    "proc/sys/kernel",
					    "proc/sys",
					    "proc",
					    "" };
	char path[300];

	(void)state;
	for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++) {
		path_of(made[i], path);
		rmdir(path);
	}
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_way_to_block_is_found),
		cmocka_unit_test(what_blocks_something_else_does_not),
		cmocka_unit_test(the_mending_is_told_only_by_numbers_that_tell),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}
