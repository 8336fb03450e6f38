// SPDX-License-Identifier: GPL-2.0-or-later
/* See pci.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bwl/pci.h>

#define BUS "/sys/bus/pci/devices"
#define CLASS_NETWORK 0x02U
#define VENDOR_MELLANOX 0x15b3

/* Physical functions, according to mlx5's table of devices (drivers/net/ethernet/mellanox/mlx5). */
static const struct {
	uint16_t device;
	const char *name;
} dpus[] = {
	{ 0xa2d2, "BlueField" },
	{ 0xa2d6, "BlueField-2" },
	{ 0xa2dc, "BlueField-3" },
	{ 0xa2df, "BlueField-4" },
};

/* A number in sysfs ("0x15b3"); 0 if there is none. */
static unsigned long number_of(const char *address, const char *file)
{
	char path[128], text[32] = "";
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), BUS "/%s/%s", address, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	return n > 0 ? strtoul(text, NULL, 16) : 0;
}

static bool has_file(const char *address, const char *file)
{
	char path[128];

	snprintf(path, sizeof(path), BUS "/%s/%s", address, file);
	return !access(path, F_OK);
}

static void read_nic(const char *address, struct bwl_pci_nic *ret)
{
	size_t i;

	*ret = (struct bwl_pci_nic){ .vendor = (uint16_t)number_of(address, "vendor"),
				     .device = (uint16_t)number_of(address, "device"),
				     .virtual = has_file(address, "physfn") };
	snprintf(ret->address, sizeof(ret->address), "%s", address);
	for (i = 0; ret->vendor == VENDOR_MELLANOX && i < sizeof(dpus) / sizeof(*dpus); i++)
		if (dpus[i].device == ret->device)
			ret->dpu = dpus[i].name;
}

static int by_address(const void *a, const void *b)
{
	return strcmp(((const struct bwl_pci_nic *)a)->address,
		      ((const struct bwl_pci_nic *)b)->address);
}

int bwl_pci_nics(struct bwl_pci_nic **ret, size_t *ret_n, struct bwl_err *e)
{
	struct bwl_pci_nic *all = NULL, *more;
	DIR *dir = opendir(BUS);
	struct dirent *d;
	size_t n = 0;

	*ret = NULL;
	*ret_n = 0;
	if (!dir)
		return errno == ENOENT
			       ? 0
			       : bwl_fail(e, errno, "cannot list " BUS ": %s", strerror(errno));
	while ((d = readdir(dir))) {
		if (*d->d_name == '.' || strlen(d->d_name) >= sizeof(all->address) ||
		    number_of(d->d_name, "class") >> 16 != CLASS_NETWORK)
			continue;
		more = reallocarray(all, n + 1, sizeof(*more));
		if (!more)
			break; /* the list is truncated: no machine has that many cards */
		all = more;
		read_nic(d->d_name, &all[n++]);
	}
	closedir(dir);
	if (n)
		qsort(all, n, sizeof(*all), by_address);
	*ret = all;
	*ret_n = n;
	return 0;
}

bool bwl_pci_has_dev(const struct bwl_pci_nic *nic, const char *dev)
{
	char file[64];
	DIR *dir;
	struct dirent *d;
	bool has = false;

	if (!*dev || strchr(dev, '/') || *dev == '.')
		return false;
	snprintf(file, sizeof(file), "net/%.31s", dev);
	if (has_file(nic->address, file))
		return true;
	/* virtio: there is a device between the function and its network device */
	snprintf(file, sizeof(file), BUS "/%s", nic->address);
	dir = opendir(file);
	while (!has && dir && (d = readdir(dir))) {
		if (strncmp(d->d_name, "virtio", 6))
			continue;
		snprintf(file, sizeof(file), "%.15s/net/%.31s", d->d_name, dev);
		has = has_file(nic->address, file);
	}
	if (dir)
		closedir(dir);
	return has;
}

size_t bwl_pci_unseen(const struct bwl_pci_nic *nic, size_t n, const struct bwl_pci_named *named,
		      size_t nnamed, const char **ret_first)
{
	size_t unseen = 0, i, k, j;

	*ret_first = NULL;
	for (i = 0; i < n; i++) {
		bool seen = nic[i].dpu || nic[i].virtual;

		for (k = 0; !seen && k < nnamed; k++)
			for (j = 0; !seen && j < named[k].n; j++)
				seen = bwl_pci_has_dev(&nic[i], named[k].dev[j]);
		if (!seen && !unseen++)
			*ret_first = nic[i].address;
	}
	return unseen;
}
