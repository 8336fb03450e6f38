// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * bwl-inline NETNS IN OUT IFINDEX: a device on the cable beyond an uplink that behaves like
 * hardware with packet offload. A packet that leaves the uplink (IN) is matched with the policies
 * and SAs that the kernel has for device IFINDEX at that moment, is encrypted, dropped or let
 * through, and is sent out (OUT). The device uses nothing else, keeps no SAs of its own and knows
 * nothing of bwlimit. An arriving packet for which it has an inbound SA is decrypted and goes to
 * the uplink with the SPI in front; from that our netdevsim makes the SA that a driver attaches to
 * such a packet. Other packets go on unchanged.
 *
 * Runs in the network namespace of the DPU, whose XFRM it reads; its own devices are in NETNS.
 * Prints "# ready" and every cleartext packet that it lets out, and on SIGTERM its counters as
 * JSON. IPv4 outside.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/xfrm.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <openssl/evp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include "ipsec/xfrm.h"
#include <bwl/nl.h>

#define MAX_OF 256
#define FRAME 4096
#define ICV 16

struct sa {
	struct bwl_xfrm_sa sa;
	uint8_t mac[6];  /* of the other end, as resolved by the DPU */
	uint8_t key[36]; /* the cipher's, then 4 bytes of salt */
	unsigned key_len;
};

static struct sa sas[MAX_OF];
static struct bwl_xfrm_policy policies[MAX_OF];
static unsigned nsas, npolicies, ifindex;
static uint8_t own_mac[6];
static int inet; /* a socket in the DPU's network namespace */
static struct {
	uint32_t spi, seq;
} sent[4096]; /* sequence numbers outlive an SA's absence */
static struct {
	unsigned long in, neighbour, encrypted, blocked, no_sa, no_policy, clear, looks, back,
		decrypted, refused;
} n;
static volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

static int read_sa(const struct nlmsghdr *h, void *arg)
{
	const struct nlattr *a;
	struct bwl_xfrm_msg m;
	struct bwl_err e = { 0 };

	(void)arg;
	if (bwl_xfrm_decode(h, &m, &e) || m.kind != BWL_XFRM_SA || nsas == MAX_OF ||
	    m.sa.offload != BWL_OFFLOAD_PACKET || m.sa.offload_ifindex != ifindex)
		return MNL_CB_OK;
	sas[nsas].sa = m.sa;
	mnl_attr_for_each(a, h, sizeof(struct xfrm_usersa_info))
	{
		const struct xfrm_algo_aead *k = mnl_attr_get_payload(a);

		if (mnl_attr_get_type(a) != XFRMA_ALG_AEAD || k->alg_key_len / 8 > sizeof(sas->key))
			continue;
		sas[nsas].key_len = k->alg_key_len / 8;
		memcpy(sas[nsas].key, k->alg_key, sas[nsas].key_len);
	}
	nsas++;
	return MNL_CB_OK;
}

/*
 * Frames that TC sends have no Ethernet header yet: with tunnels of packet offload the kernel
 * leaves it to the device, which asks the kernel for the neighbour (mlx5 does so).
 */
static void resolve(struct sa *s)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct arpreq req = { .arp_flags = 0 };

	memcpy(&to.sin_addr, s->sa.dst.a, 4);
	memcpy(&req.arp_pa, &to, sizeof(to));
	if_indextoname(ifindex, req.arp_dev);
	memset(s->mac, 0, sizeof(s->mac));
	if (!ioctl(inet, SIOCGARP, &req) && req.arp_flags & ATF_COM)
		memcpy(s->mac, req.arp_ha.sa_data, 6);
}

static int read_policy(const struct bwl_xfrm_msg *m, void *arg)
{
	(void)arg;
	if (m->kind == BWL_XFRM_POLICY && npolicies < MAX_OF && m->policy.dir == BWL_XFRM_OUT &&
	    m->policy.offload == BWL_OFFLOAD_PACKET && m->policy.offload_ifindex == ifindex)
		policies[npolicies++] = m->policy;
	return 0;
}

static void look(void)
{
	char buf[MNL_NLMSG_HDRLEN];
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	struct bwl_err e = { 0 };

	n.looks++;
	do {
		nsas = npolicies = 0;
		h->nlmsg_type = XFRM_MSG_GETSA;
		h->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	} while (bwl_nl_talk(NETLINK_XFRM, h, read_sa, NULL) == -EINTR);
	while (bwl_xfrm_dump_policies(read_policy, NULL, &e) == -EINTR)
		npolicies = 0;
	for (unsigned i = 0; i < nsas; i++)
		resolve(&sas[i]);
}

static int one_news(const struct bwl_xfrm_msg *m, void *arg)
{
	(void)m;
	*(bool *)arg = true;
	return 0;
}

/*
 * The kernel reports a change before the change's call returns, so this state is never older than a
 * frame.
 */
static void be_current(struct bwl_xfrm_news *news)
{
	struct bwl_err e = { 0 };
	bool changed = false;
	int r;

	do
		r = bwl_xfrm_news_read(news, one_news, &changed, &e);
	while (r != -EAGAIN && (changed = changed || r));
	if (changed)
		look();
}

static bool in_prefix(const struct bwl_xfrm_addr *p, unsigned len, const uint8_t *a)
{
	unsigned whole = len / 8, rest = len % 8;

	return !memcmp(p->a, a, whole) &&
	       (!rest || !((((const uint8_t *)p->a)[whole] ^ a[whole]) >> (8 - rest)));
}

static const struct bwl_xfrm_policy *policy_for(uint16_t family, const uint8_t *src,
						const uint8_t *dst)
{
	const struct bwl_xfrm_policy *best = NULL, *p;

	for (p = policies; p < policies + npolicies; p++)
		if (p->sel_src.family == family && in_prefix(&p->sel_src, p->sel_src_len, src) &&
		    in_prefix(&p->sel_dst, p->sel_dst_len, dst) &&
		    (!best || p->priority < best->priority))
			best = p;
	return best;
}

static struct sa *sa_for(const struct bwl_xfrm_policy *p)
{
	for (unsigned i = 0; i < nsas; i++)
		if (sas[i].sa.keyed && sas[i].key_len > 4 && sas[i].sa.dir == BWL_XFRM_OUT &&
		    sas[i].sa.reqid == p->tmpl.reqid &&
		    bwl_xfrm_addr_is(&sas[i].sa.dst, &p->tmpl.dst))
			return &sas[i];
	return NULL;
}

static uint32_t next_seq(uint32_t spi)
{
	unsigned i;

	for (i = 0; i < 4095 && sent[i].spi && sent[i].spi != spi; i++)
		;
	sent[i].spi = spi;
	return ++sent[i].seq;
}

static uint16_t ip_checksum(const uint8_t *b)
{
	uint32_t sum = 0;

	for (int i = 0; i < 20; i += 2)
		sum += (uint32_t)(b[i] << 8 | b[i + 1]);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* RFC 4303 in tunnel mode with RFC 4106; without ESN. Returns the length of the frame. */
static size_t encrypt(struct sa *s, const uint8_t *f, size_t len, uint8_t *out)
{
	uint8_t plain[FRAME], nonce[12], *ip = out + ETH_HLEN, *esp = ip + 20;
	size_t inner = len - ETH_HLEN, padded = (inner + 2 + 3) / 4 * 4, i, total;
	uint32_t seq = htonl(next_seq(s->sa.spi));
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	int done;

	if (!memcmp(s->mac, "\0\0\0\0\0", 6))
		resolve(s); /* not known so far */
	memcpy(plain, f + ETH_HLEN, inner);
	for (i = inner; i < padded - 2; i++)
		plain[i] = (uint8_t)(i - inner + 1);
	plain[padded - 2] = (uint8_t)(padded - 2 - inner);
	plain[padded - 1] = f[12] == 0x08 ? IPPROTO_IPIP : IPPROTO_IPV6;
	memcpy(esp, &s->sa.spi, 4);
	memcpy(esp + 4, &seq, 4);
	memset(esp + 8, 0, 4);
	memcpy(esp + 12, &seq, 4);
	memcpy(nonce, s->key + s->key_len - 4, 4);
	memcpy(nonce + 4, esp + 8, 8);
	EVP_EncryptInit_ex(c, s->key_len == 20 ? EVP_aes_128_gcm() : EVP_aes_256_gcm(), NULL,
			   s->key, nonce);
	EVP_EncryptUpdate(c, NULL, &done, esp, 8);
	EVP_EncryptUpdate(c, esp + 16, &done, plain, (int)padded);
	EVP_EncryptFinal_ex(c, esp + 16 + done, &done);
	EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, ICV, esp + 16 + padded);
	EVP_CIPHER_CTX_free(c);
	total = 20 + 16 + padded + ICV;
	memcpy(out, s->mac, 6);
	memcpy(out + 6, own_mac, 6);
	memcpy(out + 12, "\x08\x00", 2);
	memcpy(ip,
	       (uint8_t[20]){ 0x45, 0, (uint8_t)(total >> 8),
			      (uint8_t)total, [6] = 0x40, [8] = 64, [9] = IPPROTO_ESP },
	       20);
	memcpy(ip + 12, s->sa.src.a, 4);
	memcpy(ip + 16, s->sa.dst.a, 4);
	*(uint16_t *)(ip + 10) = htons(ip_checksum(ip));
	return ETH_HLEN + total;
}

/* The inbound SA of this ESP frame; NULL: none. */
static const struct sa *sa_of(const uint8_t *f, size_t len)
{
	size_t total = len < ETH_HLEN + 20 ? 0 : (size_t)(f[16] << 8 | f[17]);

	if (total < 20 + 16 + ICV + 2 || ETH_HLEN + total > len || f[12] != 0x08 || f[13] ||
	    f[14] != 0x45 || f[23] != IPPROTO_ESP)
		return NULL;
	for (unsigned i = 0; i < nsas; i++)
		if (sas[i].sa.dir == BWL_XFRM_IN && sas[i].key_len > 4 &&
		    !memcmp(&sas[i].sa.spi, f + 34, 4) && !memcmp(sas[i].sa.dst.a, f + 30, 4))
			return &sas[i];
	return NULL;
}

/* RFC 4303 and 4106 in reverse, without a replay window. 0: authentication failed, drop it. */
static size_t decrypt(const struct sa *s, const uint8_t *f, uint8_t *out)
{
	size_t total = (size_t)(f[16] << 8 | f[17]), padded = total - 20 - 16 - ICV, inner;
	const uint8_t *esp = f + ETH_HLEN + 20;
	uint8_t nonce[12], *plain = out + 20;
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	int done, ok;

	memcpy(nonce, s->key + s->key_len - 4, 4);
	memcpy(nonce + 4, esp + 8, 8);
	EVP_DecryptInit_ex(c, s->key_len == 20 ? EVP_aes_128_gcm() : EVP_aes_256_gcm(), NULL,
			   s->key, nonce);
	EVP_DecryptUpdate(c, NULL, &done, esp, 8);
	EVP_DecryptUpdate(c, plain, &done, esp + 16, (int)padded);
	EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_SET_TAG, ICV, (void *)(uintptr_t)(esp + 16 + padded));
	ok = EVP_DecryptFinal_ex(c, plain + done, &done) > 0 && plain[padded - 2] + 2u <= padded;
	EVP_CIPHER_CTX_free(c);
	if (!ok)
		return 0;
	inner = padded - 2 - plain[padded - 2];
	memcpy(out, f, 12);
	memcpy(out + 12, "\x88\xb5", 2);
	memcpy(out + 14, &s->sa.spi, 4);
	memcpy(out + 18, plain[padded - 1] == IPPROTO_IPIP ? "\x08\x00" : "\x86\xdd", 2);
	return 20 + inner;
}

/*
 * What the uplink gets for a frame from the wire; 0: nothing. A frame from the wire cannot imitate
 * it.
 */
static size_t device_in(const uint8_t *f, size_t len, uint8_t *out)
{
	const struct sa *s = sa_of(f, len);
	size_t r;

	memcpy(out, f, len);
	if (!s)
		return f[12] == 0x88 && f[13] == 0xb5 ? 0 : len;
	r = decrypt(s, f, out);
	n.decrypted += r > 0;
	n.refused += !r;
	return r;
}

static bool is_neighbour(const uint8_t *f, size_t len)
{
	return (f[12] == 0x08 && f[13] == 0x06) ||
	       (f[12] == 0x86 && f[13] == 0xdd && len >= 55 && f[20] == IPPROTO_ICMPV6 &&
		f[54] >= 133 && f[54] <= 136);
}

/* What goes out instead; 0: nothing. */
static size_t device(const uint8_t *f, size_t len, uint8_t *out)
{
	bool v4 = f[12] == 0x08 && f[13] == 0x00, v6 = f[12] == 0x86 && f[13] == 0xdd;
	const struct bwl_xfrm_policy *p = NULL;
	struct sa *s;

	memcpy(out, f, len);
	if (is_neighbour(f, len)) {
		n.neighbour++;
		return len;
	}
	n.in++;
	if (v4 && len >= 34)
		p = policy_for(AF_INET, f + 26, f + 30);
	else if (v6 && len >= 54)
		p = policy_for(AF_INET6, f + 22, f + 38);
	if (p && p->block) {
		n.blocked++;
		return 0;
	}
	if (p && p->ntmpl) {
		s = sa_for(p);
		n.encrypted += s != NULL;
		n.no_sa += !s;
		return s ? encrypt(s, f, len, out) : 0;
	}
	n.no_policy += !p;
	n.clear++;
	printf("clear: %zu bytes, EtherType %02x%02x\n", len, f[12], f[13]);
	return len;
}

static int open_dev(const char *name)
{
	struct sockaddr_ll a = { .sll_family = AF_PACKET,
				 .sll_protocol = htons(ETH_P_ALL),
				 .sll_ifindex = (int)if_nametoindex(name) };
	int s = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0), room = 8 << 20;
	int yes = 1;

	if (s < 0 || !a.sll_ifindex || bind(s, (struct sockaddr *)&a, sizeof(a)) ||
	    setsockopt(s, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof(yes))) {
		fprintf(stderr, "bwl-inline: %s: %s\n", name, strerror(errno));
		exit(1);
	}
	setsockopt(s, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	return s;
}

/*
 * Frames for which this socket had no room: they were on the cable, but were neither judged nor
 * sent.
 */
static unsigned lost_at(int s)
{
	struct tpacket_stats st = { 0 };
	socklen_t len = sizeof(st);

	return getsockopt(s, SOL_PACKET, PACKET_STATISTICS, &st, &len) ? ~0u : st.tp_drops;
}

int main(int argc, char **argv)
{
	static uint8_t f[FRAME], out[FRAME];
	struct bwl_xfrm_news *news;
	struct bwl_err e = { 0 };
	struct ifreq own = { 0 };
	struct pollfd p[2];
	size_t len;
	ssize_t r;
	int ns, i;

	if (argc != 5)
		return 2;
	ifindex = (unsigned)strtoul(argv[4], NULL, 10);
	if (bwl_xfrm_news_open(&news, &e)) {
		fprintf(stderr, "bwl-inline: %s\n", e.text);
		return 1;
	}
	signal(SIGTERM, on_signal);
	setvbuf(stdout, NULL, _IOLBF, 0);
	ns = open(argv[1], O_RDONLY | O_CLOEXEC);
	i = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (setns(ns, CLONE_NEWNET))
		return 1;
	p[0] = (struct pollfd){ open_dev(argv[2]), POLLIN, 0 };
	p[1] = (struct pollfd){ open_dev(argv[3]), POLLIN, 0 };
	if (setns(i, CLONE_NEWNET)) /* for dumps of the DPU's XFRM */
		return 1;
	inet = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if_indextoname(ifindex, own.ifr_name);
	if (inet < 0 || ioctl(inet, SIOCGIFHWADDR, &own))
		return 1;
	memcpy(own_mac, own.ifr_hwaddr.sa_data, 6);
	look();
	puts("# ready");
	while (!stopped) {
		if (poll(p, 2, 1000) <= 0)
			continue;
		while ((r = recv(p[0].fd, f, sizeof(f) - 128, MSG_DONTWAIT)) >= ETH_HLEN) {
			be_current(news);
			len = device(f, (size_t)r, out);
			if (len && send(p[1].fd, out, len, 0) < 0)
				perror("bwl-inline: send");
		}
		while ((r = recv(p[1].fd, f, sizeof(f), MSG_DONTWAIT)) >= ETH_HLEN) {
			n.back++;
			be_current(news);
			len = device_in(f, (size_t)r, out);
			if (len)
				send(p[0].fd, out, len, 0);
		}
	}
	printf("{\"in\":%lu,\"lost\":%u,\"neighbour\":%lu,\"encrypted\":%lu,\"blocked\":%lu,\"no_sa\":%lu,\"no_policy\":%lu,\"clear\":%lu,\"looks\":%lu,\"back\":%lu,\"decrypted\":%lu,\"refused\":%lu}\n",
	       n.in, lost_at(p[0].fd), n.neighbour, n.encrypted, n.blocked, n.no_sa, n.no_policy,
	       n.clear, n.looks, n.back, n.decrypted, n.refused);
	bwl_xfrm_news_close(news);
	return 0;
}
