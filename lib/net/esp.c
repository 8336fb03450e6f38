// SPDX-License-Identifier: GPL-2.0-or-later
/* See bwl/esp.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <glob.h>
#include <linux/netlink.h>
#include <linux/udp.h>
#include <linux/xfrm.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <bwl/esp.h>
#include <bwl/nl.h>
#include <bwl/sysctl.h>

#define CIPHER "rfc4106(gcm(aes))"
#define KEY_BYTES 20
#define SPI 0x62776c01U
/* No kind of encapsulation: esp_init_state() refuses it, as the last thing. */
#define NO_ENCAP 255

static struct nlmsghdr *request(char *buf, uint16_t type, void **ret_body, size_t n)
{
	struct nlmsghdr *h = bwl_nl_request(
		buf, type, NLM_F_ACK | (type == XFRM_MSG_NEWSA ? NLM_F_CREATE | NLM_F_EXCL : 0));

	*ret_body = mnl_nlmsg_put_extra_header(h, n);
	return h;
}

static void loopback(int family, xfrm_address_t *a)
{
	inet_pton(family, family == AF_INET ? "127.0.0.1" : "::1", a);
}

static int try_sa(int family, char said[static BWL_NL_SAID])
{
	char buf[1024] = { 0 }, alg[sizeof(struct xfrm_algo_aead) + KEY_BYTES] = { 0 };
	struct xfrm_encap_tmpl encap = { .encap_type = NO_ENCAP };
	struct xfrm_algo_aead *aead = (void *)alg;
	struct xfrm_usersa_info *u;
	struct nlmsghdr *h = request(buf, XFRM_MSG_NEWSA, (void **)&u, sizeof(*u));

	loopback(family, &u->id.daddr);
	loopback(family, &u->saddr);
	u->id.spi = htonl(SPI);
	u->id.proto = IPPROTO_ESP;
	u->family = (uint16_t)family;
	u->mode = XFRM_MODE_TUNNEL;
	u->lft = (struct xfrm_lifetime_cfg){ .soft_byte_limit = XFRM_INF,
					     .hard_byte_limit = XFRM_INF,
					     .soft_packet_limit = XFRM_INF,
					     .hard_packet_limit = XFRM_INF,
					     .hard_add_expires_seconds = 1 };
	strcpy(aead->alg_name, CIPHER);
	aead->alg_key_len = KEY_BYTES * 8;
	aead->alg_icv_len = 128;
	mnl_attr_put(h, XFRMA_ALG_AEAD, sizeof(alg), alg);
	mnl_attr_put(h, XFRMA_ENCAP, sizeof(encap), &encap);
	return bwl_nl_try(NETLINK_XFRM, h, NULL, NULL, said);
}

/* A kernel that accepts such an SA after all must not keep it. */
static void drop_sa(int family)
{
	struct xfrm_usersa_id *u;
	char buf[256] = { 0 };
	struct nlmsghdr *h = request(buf, XFRM_MSG_DELSA, (void **)&u, sizeof(*u));

	loopback(family, &u->daddr);
	u->spi = htonl(SPI);
	u->family = (uint16_t)family;
	u->proto = IPPROTO_ESP;
	bwl_nl_talk(NETLINK_XFRM, h, NULL, NULL);
}

static bool has_xfrm(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_XFRM);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static const struct part {
	const char *module, *alias;
} esp4[] = { { "esp4", "xfrm-type-2-50" }, { 0 } },
  esp6[] = { { "esp6", "xfrm-type-10-50" }, { 0 } },
  cipher[] = { { "gcm", "crypto-" CIPHER }, { "seqiv", "crypto-seqiv" }, { 0 } },
  user[] = { { "xfrm_user", "net-pf-16-proto-6" }, { 0 } };

/* what: "ESP for IPv4 (esp4)" */
static bool blocked(const struct part *p, const char *what, struct bwl_esp *ret)
{
	char where[160];

	for (; p->module; p++) {
		if (!bwl_module_is_blocked("", p->module, p->alias, where, sizeof(where)))
			continue;
		ret->state = BWL_ESP_BLOCKED;
		snprintf(ret->why, sizeof(ret->why), "%s is kept from being loaded by %s", what,
			 where);
		snprintf(ret->todo, sizeof(ret->todo),
			 "where the kernel is mended, remove that line; then modprobe %s",
			 p->module);
		return true;
	}
	return false;
}

static void missing(const struct part *p, const char *what, const char *option, struct bwl_esp *ret)
{
	if (blocked(p, what, ret))
		return;
	ret->state = BWL_ESP_MISSING;
	snprintf(ret->why, sizeof(ret->why), "this kernel has no %s, or does not find it", what);
	snprintf(ret->todo, sizeof(ret->todo), "boot a kernel with %s", option);
}

void bwl_esp_ask(int family, struct bwl_esp *ret)
{
	bool is4 = family == AF_INET;
	const struct part *esp = is4 ? esp4 : esp6;
	const char *what = is4 ? "ESP for IPv4 (esp4)" : "ESP for IPv6 (esp6)";
	char said[BWL_NL_SAID] = "";
	int r = 0;

	*ret = (struct bwl_esp){ .state = BWL_ESP_THERE };
	if (!has_xfrm()) {
		missing(user, "IPsec (xfrm_user)", "CONFIG_XFRM_USER", ret);
		return;
	}
	r = try_sa(family, said);
	switch (r) {
	case 0:
		drop_sa(family);
		break;
	case -EPERM:
		ret->state = BWL_ESP_UNTOLD;
		snprintf(ret->why, sizeof(ret->why), "only root may ask whether the kernel has %s",
			 is4 ? "esp4" : "esp6");
		snprintf(ret->todo, sizeof(ret->todo), "run this as root");
		break;
	case -EPROTONOSUPPORT:
	case -EAFNOSUPPORT:
		missing(esp, what, is4 ? "CONFIG_INET_ESP" : "CONFIG_INET6_ESP", ret);
		break;
	/* The kernel looks for the cipher before ESP: what blocks ESP is no less so. */
	case -ENOSYS:
	case -ENOENT:
		if (!blocked(esp, what, ret))
			missing(cipher, CIPHER, "CONFIG_CRYPTO_GCM and CONFIG_CRYPTO_SEQIV", ret);
		break;
	}
}

const char *bwl_esp_word(enum bwl_esp_state state)
{
	static const char *const words[] = { "there", "blocked", "missing", "cannot be told" };

	return words[state];
}

/* Modules' names have - and _ as one character. */
static bool is_name(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if (*a != *b && !((*a == '-' || *a == '_') && (*b == '-' || *b == '_')))
			return false;
	return !*a && !*b;
}

/*
 * `install` with a command that calls modprobe -i loads the module after all. A blacklisted module
 * is not found by its alias, and the kernel asks for ESP by that.
 */
static bool blocks(const char *line, const char *module, const char *alias)
{
	char word[16], name[80], rest[160] = "";
	int n = sscanf(line, " %15s %79s %159[^\n]", word, name, rest);

	if (n < 2 || (!is_name(name, module) && !is_name(name, alias)))
		return false;
	if (!strcmp(word, "blacklist"))
		return true;
	if (!strcmp(word, "alias"))
		return n == 3 && !strncmp(rest, "off", 3);
	return !strcmp(word, "install") && !strstr(rest, "--ignore-install") &&
	       !(strstr(rest, "modprobe") && strstr(rest, " -i"));
}

static bool file_blocks(const char *path, size_t skip, const char *module, const char *alias,
			char *where, size_t size)
{
	FILE *f = fopen(path, "re");
	char line[256], *text;
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		found = blocks(line, module, alias);
		text = line + strspn(line, " \t");
		text[strcspn(text, "\n")] = '\0';
		if (found)
			snprintf(where, size, "%s: %s", path + skip, text);
	}
	if (f)
		fclose(f);
	return found;
}

/* module_blacklist= is the kernel's, modprobe.blacklist= that of modprobe. */
static bool command_line_blocks(const char *root, const char *module, char *where, size_t size)
{
	static const char *const keys[] = { "module_blacklist=", "modprobe.blacklist=" };
	char path[256], text[4096] = "", *word, *name, *at, *in;
	FILE *f;
	size_t k;

	snprintf(path, sizeof(path), "%s/proc/cmdline", root);
	f = fopen(path, "re");
	if (!f || !fgets(text, sizeof(text), f))
		*text = '\0';
	if (f)
		fclose(f);
	for (word = strtok_r(text, " \n", &at); word; word = strtok_r(NULL, " \n", &at))
		for (k = 0; k < 2; k++) {
			if (strncmp(word, keys[k], strlen(keys[k])))
				continue;
			name = strtok_r(word + strlen(keys[k]), ",", &in);
			for (; name; name = strtok_r(NULL, ",", &in))
				if (is_name(name, module)) {
					snprintf(where, size, "the kernel's command line: %s%s",
						 keys[k], module);
					return true;
				}
			break;
		}
	return false;
}

static bool nothing_loads(const char *root)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/proc/sys/kernel/modules_disabled", root);
	return bwl_sysctl_value(path) == 1;
}

bool bwl_module_is_blocked(const char *root, const char *module, const char *alias, char *where,
			   size_t size)
{
	static const char *const folders[] = { "/etc", "/run", "/usr/local/lib", "/usr/lib",
					       "/lib" };
	char path[256];
	bool found = false;

	for (size_t i = 0; !found && i < sizeof(folders) / sizeof(folders[0]); i++) {
		glob_t g = { 0 };

		snprintf(path, sizeof(path), "%s%s/modprobe.d/*.conf", root, folders[i]);
		if (glob(path, 0, NULL, &g))
			continue;
		for (size_t k = 0; !found && k < g.gl_pathc; k++)
			found = file_blocks(g.gl_pathv[k], strlen(root), module, alias, where,
					    size);
		globfree(&g);
	}
	if (!found)
		found = command_line_blocks(root, module, where, size);
	if (!found && nothing_loads(root)) {
		snprintf(where, size, "sysctl kernel.modules_disabled=1, until the next boot");
		found = true;
	}
	return found;
}

bool bwl_esp_is_mended(const char *release, const char *version)
{
	/* The first number of each branch of kernel.org that has it; 7.1 and later have it. */
	static const unsigned since[][3] = { { 5, 10, 255 }, { 5, 15, 205 }, { 6, 1, 171 },
					     { 6, 6, 138 },  { 6, 12, 87 },  { 6, 18, 28 },
					     { 7, 0, 5 } };
	const char *debian = strstr(version, "Debian "); /* its release names no third number */
	unsigned a = 0, b = 0, c = 0;

	if (sscanf(debian ? debian + strlen("Debian ") : release, "%u.%u.%u", &a, &b, &c) < 2)
		return false;
	for (size_t i = 0; i < sizeof(since) / sizeof(since[0]); i++)
		if (a == since[i][0] && b == since[i][1])
			return c >= since[i][2];
	return a > 7 || (a == 7 && b > 0);
}
