// SPDX-License-Identifier: GPL-2.0-or-later
/* The policy's `ipsec` keys, and the connections made from them. */
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ipsec/conn.h"

#define HEAD                                                                                       \
	"version: 1\nnode: tray-7\nuplinks: [p0]\nheartbeat: none\n"                               \
	"host_ports: [{ dev: h0, sources: [10.0.7.0/24, \"fd00:7::/64\"] }]\n"

static struct bwl_policy *parse(const char *text, struct bwl_err *e)
{
	struct bwl_policy *p = NULL;

	return bwl_policy_parse("test", text, strlen(text), 1, 1800000000, &p, e) ? NULL : p;
}

static struct bwl_policy *must_parse(const char *text)
{
	struct bwl_err e = { 0 };
	struct bwl_policy *p = parse(text, &e);

	if (!p)
		print_error("%u:%u %s\n", e.line, e.column, e.text);
	assert_non_null(p);
	return p;
}

static json_t *any_tree_of(const char *text, const struct bwl_ipsec_caps *caps, bool by_mark)
{
	struct bwl_policy *p = must_parse(text);
	uint32_t *if_id = calloc(p->npeers + 1, sizeof(*if_id));
	struct bwl_err e = { 0 };
	json_t *tree = NULL;

	for (size_t i = 0; i < p->npeers; i++)
		if_id[i] = (uint32_t)(4711 + i);
	assert_int_equal(bwl_ipsec_tree(p, if_id, by_mark, caps, "/etc/swanctl", &tree, &e), 0);
	free(if_id);
	bwl_policy_free(p);
	return tree;
}

static json_t *tree_of(const char *text, const struct bwl_ipsec_caps *caps)
{
	return any_tree_of(text, caps, false);
}

static json_t *conn_of(json_t *tree, const char *name)
{
	return json_object_get(json_object_get(tree, "connections"), name);
}

static json_t *child_of(json_t *tree, const char *name)
{
	return json_object_get(json_object_get(conn_of(tree, name), "children"), name);
}

static const struct bwl_ipsec_caps bookworm, newest = {
	.version = "6.1.0",
	.mlkem = true,
	.packet = true,
	.prefer_childless = true,
};

#define PEER                                                                                       \
	"  - { name: tray.3, addresses: [10.0.3.0/24, \"fd00:3::/64\"], ipsec: { remote: 192.0.2.3 } }\n"

static const char golden[] = "connections {\n"
			     "    bwl-tray~3 {\n"
			     "        version = 2\n"
			     "        local_addrs = %any\n"
			     "        remote_addrs = 192.0.2.3\n"
			     "        proposals = aes256gcm16-prfsha384-ecp384\n"
			     "        childless = allow\n"
			     "        mobike = no\n"
			     "        unique = replace\n"
			     "        keyingtries = 0\n"
			     "        send_cert = always\n"
			     "        rekey_time = 7200s\n"
			     "        over_time = 720s\n"
			     "        reauth_time = 0s\n"
			     "        dpd_delay = 10s\n"
			     "        local {\n"
			     "            auth = pubkey\n"
			     "            id = fqdn:tray-7\n"
			     "        }\n"
			     "        remote {\n"
			     "            auth = pubkey\n"
			     "            id = fqdn:tray.3\n"
			     "            revocation = strict\n"
			     "        }\n"
			     "        children {\n"
			     "            bwl-tray~3 {\n"
			     "                esp_proposals = aes256gcm16-ecp384\n"
			     "                local_ts = 10.0.7.0/24, fd00:7::/64\n"
			     "                remote_ts = 10.0.3.0/24, fd00:3::/64\n"
			     "                mode = tunnel\n"
			     "                policies = yes\n"
			     "                if_id_in = 4711\n"
			     "                if_id_out = 4711\n"
			     "                rekey_time = 3000s\n"
			     "                life_time = 3600s\n"
			     "                rekey_packets = 3000000000\n"
			     "                life_packets = 4200000000\n"
			     "                start_action = trap|start\n"
			     "                close_action = trap|start\n"
			     "                dpd_action = trap|start\n"
			     "                replay_window = 256\n"
			     "                hw_offload = auto\n"
			     "                copy_df = no\n"
			     "                copy_dscp = no\n"
			     "                copy_ecn = no\n"
			     "            }\n"
			     "        }\n"
			     "    }\n"
			     "}\n";

static void a_peer_becomes_exactly_this(void **state)
{
	json_t *tree = tree_of(HEAD "peers:\n" PEER, &bookworm);
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	bwl_ipsec_write(tree, f);
	fclose(f);
	assert_string_equal(text, golden);
	free(text);
	json_decref(tree);
}

static const char *first(json_t *section, const char *list)
{
	return json_string_value(json_array_get(json_object_get(section, list), 0));
}

static void a_newer_charon_gets_more(void **state)
{
	json_t *tree = tree_of(HEAD "peers:\n" PEER, &newest), *conn = conn_of(tree, "bwl-tray~3");

	(void)state;
	assert_string_equal(first(conn, "proposals"), "aes256gcm16-prfsha384-ecp384-ke1_mlkem768");
	assert_int_equal(json_array_size(json_object_get(conn, "proposals")), 2);
	assert_string_equal(bwl_vici_text(conn, "childless"), "prefer");
	assert_string_equal(first(child_of(tree, "bwl-tray~3"), "esp_proposals"),
			    "aes256gcm16-ecp384-ke1_mlkem768-esn-noesn");
	json_decref(tree);
}

static void packet_offload_is_asked_for_where_the_path_needs_it_and_charon_knows_it(void **state)
{
	static const char text[] = HEAD
		"peers:\n"
		"  - { name: a, addresses: [10.1.0.0/16], path: offload, ipsec: { remote: 192.0.2.3 } }\n"
		"  - { name: b, addresses: [10.2.0.0/16], ipsec: { remote: 192.0.2.4 } }\n";
	json_t *tree = tree_of(text, &newest);

	(void)state;
	assert_string_equal(bwl_vici_text(child_of(tree, "bwl-a"), "hw_offload"), "packet");
	assert_string_equal(bwl_vici_text(child_of(tree, "bwl-b"), "hw_offload"), "no");
	json_decref(tree);
	tree = tree_of(text, &bookworm);
	assert_string_equal(bwl_vici_text(child_of(tree, "bwl-a"), "hw_offload"), "auto");
	json_decref(tree);
}

static void long_sequence_numbers_are_offered_only_in_software(void **state)
{
	json_t *tree = tree_of(HEAD "ipsec: { hw_offload: no }\npeers:\n" PEER, &bookworm);

	(void)state;
	assert_string_equal(first(child_of(tree, "bwl-tray~3"), "esp_proposals"),
			    "aes256gcm16-ecp384-esn-noesn");
	json_decref(tree);
	tree = tree_of(HEAD "ipsec: { hw_offload: crypto }\npeers:\n" PEER, &bookworm);
	assert_string_equal(first(child_of(tree, "bwl-tray~3"), "esp_proposals"),
			    "aes256gcm16-ecp384");
	json_decref(tree);
}

static void one_side_asks_and_the_other_answers(void **state)
{
	/* '-' sorts before '.', so tray-7 comes before tray.3 */
	json_t *here = tree_of(HEAD "peers:\n" PEER, &bookworm);
	json_t *there = tree_of(
		"version: 1\nnode: tray.3\nuplinks: [p0]\nheartbeat: none\n"
		"host_ports: [{ dev: h0, sources: [10.0.3.0/24] }]\npeers:\n"
		"  - { name: tray-7, addresses: [10.0.7.0/24], ipsec: { remote: 192.0.2.7 } }\n",
		&bookworm);

	(void)state;
	assert_string_equal(bwl_vici_text(child_of(here, "bwl-tray~3"), "start_action"),
			    "trap|start");
	assert_string_equal(bwl_vici_text(child_of(there, "bwl-tray-7"), "start_action"), "trap");
	json_decref(here);
	json_decref(there);
}

static void every_key_of_the_policy_arrives(void **state)
{
	json_t *tree = tree_of(
		HEAD
		"ipsec: { id: \"C=CH, CN=t7\", local: 192.0.2.7, ca: site.pem, ppk: site, start: trap,\n"
		"         revocation: relaxed, hw_offload: no, rekey: 20s, hard: 30s, ike_rekey: 1m, reauth: 1d,\n"
		"         dpd: 3s, replay_window: 64, copy_ecn: true }\n"
		"peers:\n"
		"  - { name: a, addresses: [10.1.0.0/16], ipsec: { remote: \"2001:db8::3\", id: \"CN=a\" } }\n"
		"  - { name: B, addresses: [10.2.0.0/16], ipsec: { remote: 192.0.2.4, ppk: none } }\n"
		"  - { name: c, addresses: [10.3.0.0/16], ipsec: { remote: 192.0.2.5, ppk: p.c } }\n"
		"  - { name: d, addresses: [10.4.0.0/16], path: clear, via: 192.0.2.254 }\n",
		&newest);
	json_t *a = conn_of(tree, "bwl-a"), *child = child_of(tree, "bwl-a"), *secrets, *side;

	(void)state;
	assert_int_equal(json_object_size(json_object_get(tree, "connections")), 3);
	assert_string_equal(first(a, "local_addrs"), "192.0.2.7");
	assert_string_equal(first(a, "remote_addrs"), "2001:db8::3");
	side = json_object_get(a, "local");
	assert_string_equal(bwl_vici_text(side, "id"), "C=CH, CN=t7");
	side = json_object_get(a, "remote");
	assert_string_equal(bwl_vici_text(side, "id"), "CN=a");
	assert_string_equal(bwl_vici_text(side, "revocation"), "relaxed");
	assert_string_equal(first(side, "cacerts"), "site.pem");
	assert_string_equal(bwl_vici_text(a, "rekey_time"), "60s");
	assert_string_equal(bwl_vici_text(a, "over_time"), "30s");
	assert_string_equal(bwl_vici_text(a, "reauth_time"), "86400s");
	assert_string_equal(bwl_vici_text(a, "dpd_delay"), "3s");
	assert_string_equal(bwl_vici_text(child, "start_action"), "trap");
	assert_string_equal(bwl_vici_text(child, "rekey_time"), "20s");
	assert_string_equal(bwl_vici_text(child, "life_time"), "30s");
	assert_string_equal(bwl_vici_text(child, "replay_window"), "64");
	assert_string_equal(bwl_vici_text(child, "copy_ecn"), "yes");
	assert_string_equal(bwl_vici_text(child, "hw_offload"), "no");
	/* PPKs: required if there is one; the secret itself is never in it */
	assert_string_equal(bwl_vici_text(a, "ppk_id"), "site");
	assert_string_equal(bwl_vici_text(a, "ppk_required"), "yes");
	assert_string_equal(bwl_vici_text(conn_of(tree, "bwl-B"), "ppk_id"), "");
	side = json_object_get(conn_of(tree, "bwl-B"), "remote");
	assert_string_equal(bwl_vici_text(side, "id"), "fqdn:b");
	assert_string_equal(bwl_vici_text(conn_of(tree, "bwl-c"), "ppk_id"), "p.c");
	secrets = json_object_get(tree, "secrets");
	assert_int_equal(json_object_size(secrets), 2);
	side = json_object_get(secrets, "ppk-p~c");
	assert_string_equal(bwl_vici_text(side, "include"), "/etc/swanctl/ppk/p.c.conf");
	json_decref(tree);
}

static void refused(const char *peers, const char *says)
{
	uint32_t if_id[] = { 1, 2 };
	struct bwl_err e = { 0 };
	struct bwl_policy *p = must_parse(peers);
	json_t *tree = NULL;

	assert_true(bwl_ipsec_tree(p, if_id, false, &bookworm, "/etc/swanctl", &tree, &e) < 0);
	assert_null(tree);
	assert_non_null(strstr(e.text, says));
	assert_true(*e.hint);
	bwl_policy_free(p);
}

static void what_strongswan_cannot_do_is_refused_with_a_way_out(void **state)
{
	char text[16384] = HEAD "peers:\n  - { name: a, ipsec: { remote: 192.0.2.3 }, addresses: [",
	     one[32];

	(void)state;
	for (unsigned i = 0; i < 256; i++) {
		snprintf(one, sizeof(one), "%s10.%u.0.0/16", i ? ", " : "", i);
		if (i != 0) /* 10.0/16 contains the host's own source */
			strcat(text, one + (i == 1 ? 2 : 0));
	}
	strcat(text, ", 172.16.0.0/16] }\n");
	refused(text, "2 prefixes here, 256 there");
}

static void names_of_connections_go_both_ways(void **state)
{
	char conn[BWL_IPSEC_NAME], peer[BWL_NAME_LEN];

	(void)state;
	assert_string_equal(bwl_ipsec_conn_name("a.b_c-d", conn), "bwl-a~b_c-d");
	assert_true(bwl_ipsec_peer_name(conn, peer));
	assert_string_equal(peer, "a.b_c-d");
	assert_false(bwl_ipsec_peer_name("bwl-", peer));
	assert_false(bwl_ipsec_peer_name("other", peer));
	assert_false(bwl_ipsec_peer_name("bwl-a-name-of-more-than-thirty-one-bytes", peer));
}

/* What a policy keeps, and what charon and `policy show` are given. */
static void an_identity_is_kept_in_its_canonical_form(void **state)
{
	static const char *const spelt[] = { "fqdn:tray-3", "@tray-3", "TRAY-3", "dns:tray-3" };
	char policy[1024], *text = NULL;
	struct bwl_policy *p;
	size_t len;
	FILE *f;

	(void)state;
	for (unsigned i = 0; i < sizeof(spelt) / sizeof(*spelt); i++) {
		snprintf(policy, sizeof(policy),
			 HEAD "ipsec: { id: '%s' }\npeers:\n"
			      "  - { name: a, addresses: [10.1.0.0/16],\n"
			      "      ipsec: { remote: 192.0.2.3, id: '%s' } }\n",
			 spelt[i], spelt[i]);
		p = must_parse(policy);
		assert_string_equal(p->ipsec.id, "fqdn:tray-3");
		assert_string_equal(p->peers[0].ipsec_id, "fqdn:tray-3");
		f = open_memstream(&text, &len);
		bwl_policy_dump(p, 1, 1800000000, f);
		fclose(f);
		assert_non_null(strstr(text, "ipsec:\n  id: \"fqdn:tray-3\"\n"));
		assert_non_null(strstr(text, "remote: \"192.0.2.3\", id: \"fqdn:tray-3\" }"));
		free(text);
		bwl_policy_free(p);
	}
}

static void the_keys_read_back_and_are_not_in_the_digest(void **state)
{
	struct bwl_policy *p = must_parse(
		HEAD
		"ipsec: { rekey: 20s, hard: 30s, reauth: 1d, ppk: x, copy_ecn: true,\n"
		"  start: trap, replay_window: 64 }\npeers:\n"
		"  - { name: a, addresses: [10.1.0.0/16], ipsec: { remote: 192.0.2.3, id: \"CN=a\", ppk: none } }\n");
	struct bwl_policy *
		plain = must_parse(
		       HEAD
		       "peers:\n"
		       "  - { name: a, addresses: [10.1.0.0/16], ipsec: { remote: 192.0.2.3 } }\n"),
	       *again;
	uint8_t d[2][32];
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	(void)state;
	bwl_policy_dump(p, 1, 1800000000, f);
	fclose(f);
	assert_non_null(
		strstr(text, "ipsec:\n  ppk: \"x\"\n  start: \"trap\"\n  rekey: 20s\n  hard: 30s\n"
			     "  reauth: 1d\n  replay_window: 64\n  copy_ecn: true\n"));
	assert_non_null(strstr(
		text, "    ipsec: { remote: \"192.0.2.3\", id: \"CN=a\", ppk: \"none\" }\n"));
	again = must_parse(text);
	assert_memory_equal(&again->ipsec, &p->ipsec, sizeof(p->ipsec));
	assert_int_equal(bwl_policy_digest(p, d[0]), 0);
	assert_int_equal(bwl_policy_digest(plain, d[1]), 0);
	assert_memory_equal(d[0], d[1], 32);
	free(text);
	bwl_policy_free(p);
	bwl_policy_free(again);
	bwl_policy_free(plain);
}

static void values_out_of_their_domain_are_refused_where_they_stand(void **state)
{
	static const char *const bad[][2] = {
		{ "rekey: 1s", "10s to 1d" },
		{ "rekey: 1500ms", "whole seconds" },
		{ "hard: 50m", "longer than rekey" },
		{ "rekey: none", "rekey" },
		{ "replay_window: 7", "32 to 4096" },
		{ "start: or", "auto, trap|start, start or trap" },
		{ "revocation: ''", "strict, ifuri or relaxed" },
		{ "hw_offload: yes", "auto, no, crypto or packet" },
		{ "copy_ecn: no", "false or true" },
		{ "local: 10.0.0.0/8", "not an address" },
		{ "local: 224.0.0.1", "not an address" },
		{ "id: 'a*'", "not an identity" },
		{ "id: \"a\\\"b\"", "not an identity" },
		{ "id: 'keyid:tray-3'", "ipsec: 'keyid:tray-3' is not an identity: a key id" },
		{ "id: 10.0.0.0/8", "it matches more than one tray" },
		{ "id: CN=", "CN has no value" },
		{ "ca: ../x", "not a name" },
		{ "ppk: 'a b'", "not a name" },
		{ "cert: x", "unknown key 'cert'" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct bwl_err e = { 0 };
		char text[1024];

		snprintf(text, sizeof(text), HEAD "ipsec: { %s }\npeers:\n" PEER, bad[i][0]);
		assert_null(parse(text, &e));
		if (!strstr(e.text, bad[i][1]))
			print_error("%s: %s\n", bad[i][0], e.text);
		assert_non_null(strstr(e.text, bad[i][1]));
		assert_int_equal(e.line, 6);
	}
}

static void on_a_plain_interface_marks_tell_peers_apart(void **state)
{
	json_t *tree = any_tree_of(HEAD "peers:\n" PEER, &bookworm, true), *o;

	(void)state;
	o = child_of(tree, "bwl-tray~3");
	assert_string_equal(bwl_vici_text(o, "if_id_in"), "1651993600");
	assert_string_equal(bwl_vici_text(o, "if_id_out"), "1651993600");
	assert_string_equal(bwl_vici_text(o, "mark_in"), "4711/0x3fffff");
	assert_string_equal(bwl_vici_text(o, "mark_out"), "4711/0x3fffff");
	assert_string_equal(bwl_vici_text(o, "set_mark_in"), "4711/0x3fffff");
	json_decref(tree);
	tree = tree_of(HEAD "peers:\n" PEER, &bookworm);
	assert_string_equal(bwl_vici_text(child_of(tree, "bwl-tray~3"), "mark_out"), "");
	json_decref(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_peer_becomes_exactly_this),
		cmocka_unit_test(a_newer_charon_gets_more),
		cmocka_unit_test(
			packet_offload_is_asked_for_where_the_path_needs_it_and_charon_knows_it),
		cmocka_unit_test(long_sequence_numbers_are_offered_only_in_software),
		cmocka_unit_test(one_side_asks_and_the_other_answers),
		cmocka_unit_test(on_a_plain_interface_marks_tell_peers_apart),
		cmocka_unit_test(every_key_of_the_policy_arrives),
		cmocka_unit_test(what_strongswan_cannot_do_is_refused_with_a_way_out),
		cmocka_unit_test(names_of_connections_go_both_ways),
		cmocka_unit_test(an_identity_is_kept_in_its_canonical_form),
		cmocka_unit_test(the_keys_read_back_and_are_not_in_the_digest),
		cmocka_unit_test(values_out_of_their_domain_are_refused_where_they_stand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
