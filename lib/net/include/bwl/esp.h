/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What encryption needs of the kernel: ESP and AES-GCM, found by asking for an SA that the kernel
 * refuses last of all. And why they are missing: the usual mitigation of the holes of ESP's family
 * (CVE-2026-43284) keeps its modules from being loaded, and then every encrypted peer is `no-sa`.
 */
#ifndef BWL_ESP_H
#define BWL_ESP_H

#include <stdbool.h>
#include <stddef.h>

enum bwl_esp_state {
	BWL_ESP_THERE,
	BWL_ESP_BLOCKED, /* something keeps the module from being loaded */
	BWL_ESP_MISSING, /* the kernel has none, or not the cipher */
	BWL_ESP_UNTOLD,  /* no right to ask */
};

struct bwl_esp {
	enum bwl_esp_state state;
	char why[256];  /* a sentence if it is not there */
	char todo[192]; /* and the next step */
};

/* family: AF_INET or AF_INET6. As with a real SA, the kernel loads what it needs and finds. */
void bwl_esp_ask(int family, struct bwl_esp *ret);
const char *bwl_esp_word(enum bwl_esp_state state); /* "there", "blocked", … */

/*
 * Does a file of modprobe.d(5), the kernel's command line or kernel.modules_disabled below `root`
 * ("" is this machine's) keep the module, or the alias by which the kernel asks for it, from being
 * loaded? where: "/etc/modprobe.d/esp.conf: install esp4 /bin/false".
 */
bool bwl_module_is_blocked(const char *root, const char *module, const char *alias, char *where,
			   size_t size);

/*
 * Is CVE-2026-43284 mended in a kernel of that release and version (uname -r, uname -v)? false: it
 * cannot be told, because distributions mend under older numbers.
 */
bool bwl_esp_is_mended(const char *release, const char *version);
#define BWL_ESP_MENDED "5.10.255, 5.15.205, 6.1.171, 6.6.138, 6.12.87, 6.18.28, 7.0.5 and 7.1"

#endif
