/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Network cards on the PCI bus, from sysfs, whether or not a driver has made devices of them. */
#ifndef BWL_PCI_H
#define BWL_PCI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <bwl/err.h>

struct bwl_pci_nic {
	char address[24]; /* "0000:03:00.0" */
	uint16_t vendor, device;
	bool virtual;    /* a virtual function: its card is a separate entry */
	const char *dpu; /* "BlueField-3"; NULL: not a known DPU */
};
/* Every function of class network, sorted by address; free with free(). None without a PCI bus. */
int bwl_pci_nics(struct bwl_pci_nic **ret, size_t *ret_n, struct bwl_err *e);
/* Does that network device belong to this function? */
bool bwl_pci_has_dev(const struct bwl_pci_nic *nic, const char *dev);

/* Functions that belong to no DPU, and none of whose devices is named. */
struct bwl_pci_named {
	const char *const *dev;
	size_t n;
};
size_t bwl_pci_unseen(const struct bwl_pci_nic *nic, size_t n, const struct bwl_pci_named *named,
		      size_t nnamed, const char **ret_first);

#endif
