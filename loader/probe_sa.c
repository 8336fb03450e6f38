// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An SA with packet offload and a policy that drops, in a card: added, read back and deleted by
 * XFRM's netlink (packet offload: kernel 6.2). Both expire after a minute, in case every process
 * that could delete them is dead.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/xfrm.h>
#include <string.h>
#include <sys/random.h>
#include "ipsec/xfrm.h"
#include "maps/tunnel.h"
#include "probe_thing.h"

#define OFFLOAD_PACKET 4 /* XFRM_OFFLOAD_PACKET; some of Debian 12's headers lack it */
#define LIFE_S 60
#define KEY_BYTES 36 /* AES-256 and a salt, RFC 4106 */

static xfrm_address_t address(const char *text)
{
	xfrm_address_t a = { 0 };

	inet_pton(AF_INET, text, &a);
	return a;
}

static struct xfrm_lifetime_cfg life(void)
{
	return (struct xfrm_lifetime_cfg){ .soft_byte_limit = XFRM_INF,
					   .hard_byte_limit = XFRM_INF,
					   .soft_packet_limit = XFRM_INF,
					   .hard_packet_limit = XFRM_INF,
					   .hard_add_expires_seconds = LIFE_S };
}

static void put_offload(struct nlmsghdr *h, uint32_t ifindex)
{
	struct xfrm_user_offload o = { .ifindex = (int)ifindex, .flags = OFFLOAD_PACKET };

	mnl_attr_put(h, XFRMA_OFFLOAD_DEV, sizeof(o), &o);
}

static int add_sa(uint32_t ifindex, char said[static BWL_NL_SAID])
{
	char buf[1024] = { 0 }, alg[sizeof(struct xfrm_algo_aead) + KEY_BYTES] = { 0 };
	struct xfrm_algo_aead *aead = (void *)alg;
	struct nlmsghdr *h = bwl_nl_request(buf, XFRM_MSG_NEWSA,
					    NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
	struct xfrm_usersa_info *u = mnl_nlmsg_put_extra_header(h, sizeof(*u));
	int r;

	u->id.daddr = address(PROBE_TO);
	u->saddr = address(PROBE_FROM);
	u->id.spi = htonl(PROBE_ID);
	u->id.proto = IPPROTO_ESP;
	u->family = AF_INET;
	u->mode = XFRM_MODE_TUNNEL;
	u->reqid = PROBE_ID;
	u->lft = life();
	strcpy(aead->alg_name, "rfc4106(gcm(aes))");
	aead->alg_key_len = KEY_BYTES * 8;
	aead->alg_icv_len = 128;
	if (getrandom(aead->alg_key, KEY_BYTES, 0) != KEY_BYTES)
		return -EIO;
	mnl_attr_put(h, XFRMA_ALG_AEAD, sizeof(alg), alg);
	put_offload(h, ifindex);
	r = bwl_nl_try(NETLINK_XFRM, h, NULL, NULL, said);
	explicit_bzero(alg, sizeof(alg));
	explicit_bzero(buf, sizeof(buf));
	return r;
}

static int decode(const struct nlmsghdr *h, void *arg)
{
	struct bwl_xfrm_msg m;

	if (!bwl_xfrm_decode(h, &m, NULL))
		*(struct bwl_xfrm_msg *)arg = m;
	return MNL_CB_OK;
}

static struct nlmsghdr *sa_request(char *buf, uint16_t type)
{
	struct nlmsghdr *h = bwl_nl_request(buf, type, NLM_F_ACK);
	struct xfrm_usersa_id *u = mnl_nlmsg_put_extra_header(h, sizeof(*u));

	u->daddr = address(PROBE_TO);
	u->spi = htonl(PROBE_ID);
	u->family = AF_INET;
	u->proto = IPPROTO_ESP;
	return h;
}

static bool held_sa(uint32_t ifindex)
{
	char buf[256];
	struct bwl_xfrm_msg m = { 0 };

	return !bwl_nl_talk(NETLINK_XFRM, sa_request(buf, XFRM_MSG_GETSA), decode, &m) &&
	       m.kind == BWL_XFRM_SA && m.sa.offload == BWL_OFFLOAD_PACKET &&
	       m.sa.offload_ifindex == ifindex;
}

static int del_sa(uint32_t ifindex)
{
	char buf[256];
	int r = bwl_nl_talk(NETLINK_XFRM, sa_request(buf, XFRM_MSG_DELSA), NULL, NULL);

	(void)ifindex;
	return r == -ESRCH || r == -EPROTONOSUPPORT ? 0 : r; /* the latter: a kernel without XFRM */
}

/*
 * The policy that docs/bluefield.md requires below the SAs: for all packets, only in the card. No
 * SA has this if_id, so the kernel itself never applies the policy, and it is recognisable. Mlx5
 * accepts neither priority 0xffffffff nor a policy for all addresses whose template has no reqid
 * (mlx5e_xfrm_validate_policy(), since 6.4).
 */
static int add_block(uint32_t ifindex, char said[static BWL_NL_SAID])
{
	struct xfrm_user_tmpl t = { .id.proto = IPPROTO_ESP,
				    .family = AF_INET,
				    .reqid = PROBE_ID,
				    .mode = XFRM_MODE_TUNNEL,
				    .aalgos = ~0U,
				    .ealgos = ~0U,
				    .calgos = ~0U };
	char buf[1024] = { 0 };
	struct nlmsghdr *h = bwl_nl_request(buf, XFRM_MSG_NEWPOLICY,
					    NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL);
	struct xfrm_userpolicy_info *u = mnl_nlmsg_put_extra_header(h, sizeof(*u));

	u->sel.family = AF_INET;
	u->lft = life();
	u->priority = 0xfffffffe;
	u->dir = XFRM_POLICY_OUT;
	u->action = XFRM_POLICY_BLOCK;
	mnl_attr_put(h, XFRMA_TMPL, sizeof(t), &t);
	mnl_attr_put_u32(h, XFRMA_IF_ID, PROBE_ID);
	put_offload(h, ifindex);
	return bwl_nl_try(NETLINK_XFRM, h, NULL, NULL, said);
}

static struct nlmsghdr *block_request(char *buf, uint16_t type)
{
	struct nlmsghdr *h = bwl_nl_request(buf, type, NLM_F_ACK);
	struct xfrm_userpolicy_id *u = mnl_nlmsg_put_extra_header(h, sizeof(*u));

	u->sel.family = AF_INET;
	u->dir = XFRM_POLICY_OUT;
	mnl_attr_put_u32(h, XFRMA_IF_ID, PROBE_ID);
	return h;
}

static bool held_block(uint32_t ifindex)
{
	char buf[256];
	struct bwl_xfrm_msg m = { 0 };

	return !bwl_nl_talk(NETLINK_XFRM, block_request(buf, XFRM_MSG_GETPOLICY), decode, &m) &&
	       m.kind == BWL_XFRM_POLICY && m.policy.block &&
	       m.policy.offload == BWL_OFFLOAD_PACKET && m.policy.offload_ifindex == ifindex;
}

static int del_block(uint32_t ifindex)
{
	char buf[256];
	int r = bwl_nl_talk(NETLINK_XFRM, block_request(buf, XFRM_MSG_DELPOLICY), NULL, NULL);

	(void)ifindex;
	return r == -ENOENT || r == -EPROTONOSUPPORT ? 0 : r;
}

const struct probe_thing probe_sa = { "the SA", PROBE_UPLINK, add_sa, held_sa, del_sa };
const struct probe_thing probe_block = { "the policy", PROBE_UPLINK, add_block, held_block,
					 del_block };
