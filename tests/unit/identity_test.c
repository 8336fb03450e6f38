// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * IKE identities: which texts are one, and which are the same. libstrongswan itself is the judge:
 * it is loaded, asked about the same texts, and what it says has to hold here.
 */
#include "test.h"
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "bwl/identity.h"

/* Of strongSwan 5.9.8, utils/identification.h, utils/chunk.h and library.h: not in the package. */
struct chunk {
	unsigned char *ptr;
	size_t len;
};
struct charon_id {
	struct chunk (*encoding)(struct charon_id *x);
	int (*type)(struct charon_id *x);
	unsigned (*hash)(struct charon_id *x, unsigned inc);
	bool (*equals)(struct charon_id *x, struct charon_id *other);
	int (*matches)(struct charon_id *x, struct charon_id *other);
	bool (*has_wildcards)(struct charon_id *x);
	void *(*parts)(struct charon_id *x);
	struct charon_id *(*clone)(struct charon_id *x);
	void (*destroy)(struct charon_id *x);
};
enum { ID_ANY = 0, ID_IPV4 = 1, ID_FQDN = 2, ID_RFC822 = 3, ID_IPV6 = 5, ID_DN = 9 };

static struct charon_id *(*of_text)(char *text);
static struct charon_id *(*of_bytes)(int type, struct chunk bytes);
static unsigned spellings = 30000, accepted, same_pairs;

static void *symbol(void *lib, const char *name)
{
	void *x = dlsym(lib, name);

	if (!x)
		fail_msg("libstrongswan has no %s", name);
	return x;
}

static int load(void **state)
{
	bool (*init)(char *settings, const char *name); /* "": no file, but the defaults */
	void *lib = dlopen(BWL_LIBSTRONGSWAN, RTLD_NOW);
	const char *runs = getenv("IDENTITY_RUNS");

	(void)state;
	if (!lib) {
		print_error("this test needs strongSwan (packaging/install-deps): %s\n", dlerror());
		return -1;
	}
	if (runs)
		spellings = (unsigned)strtoul(runs, NULL, 10);
	*(void **)&init = symbol(lib, "library_init");
	*(void **)&of_text = symbol(lib, "identification_create_from_string");
	*(void **)&of_bytes = symbol(lib, "identification_create_from_encoding");
	return init("", "bwl-test") ? 0 : -1;
}

static struct charon_id *charons(const char *text)
{
	char copy[512];

	snprintf(copy, sizeof(copy), "%s", text);
	return of_text(copy);
}

static bool same_bytes(struct chunk a, struct chunk b, bool fold)
{
	return a.len == b.len && !(fold ? strncasecmp((char *)a.ptr, (char *)b.ptr, a.len)
					: memcmp(a.ptr, b.ptr, a.len));
}

/* The subject "CN=name" as a certificate may have it: PrintableString, or UTF8String. */
static struct charon_id *subject(const char *name, bool utf8)
{
	unsigned char der[64] = { 0x30, 0, 0x31, 0, 0x30, 0, 0x06, 3, 0x55, 0x04, 0x03 };
	size_t n = strlen(name);

	der[1] = (unsigned char)(11 + n);
	der[3] = (unsigned char)(9 + n);
	der[5] = (unsigned char)(7 + n);
	der[11] = utf8 ? 0x0c : 0x13;
	der[12] = (unsigned char)n;
	memcpy(der + 13, name, n);
	return of_bytes(ID_DN, (struct chunk){ der, 13 + n });
}

/* Would charon accept a certificate of that tray for this identity? As has_subject() looks. */
static bool takes_certificate(struct charon_id *id, const char *tray)
{
	struct charon_id *of[] = {
		of_bytes(ID_FQDN, (struct chunk){ (unsigned char *)(uintptr_t)tray, strlen(tray) }),
		subject(tray, true), subject(tray, false)
	};
	bool ret = false;

	for (unsigned i = 0; i < 3; i++) {
		ret = ret || of[i]->matches(of[i], id);
		of[i]->destroy(of[i]);
	}
	return ret;
}

static void as_charon_prints(const struct bwl_identity *x, struct charon_id *id)
{
	char(*print)[512] = calloc(1, sizeof(*print));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
	int n = snprintf(*print, sizeof(*print), "%Y", id); /* charon's own conversion */
#pragma GCC diagnostic pop

	assert_true(n > 0);
	if (!bwl_identity_is_shown(x, *print))
		fail_msg("'%s' is not shown as '%s'", x->text, *print);
	free(print);
}

static const char *const trays[] = { "tray-3", "TRAY-3", "tray-3.", "tray", "t.3", "192.0.2.3" };

static void judge(const char *text)
{
	struct charon_id *id = charons(text), *again;
	struct bwl_identity x;
	struct bwl_err e = { 0 };
	int type = id->type(id);
	bool fold;

	if (bwl_identity_parse(text, &x, &e)) {
		assert_true(*e.text && *e.hint);
		id->destroy(id);
		return;
	}
	accepted++;
	if (id->has_wildcards(id) || type == ID_ANY)
		fail_msg("'%s' matches several", text);
	if (type != (x.type == BWL_IDENTITY_FQDN   ? ID_FQDN
		     : x.type == BWL_IDENTITY_MAIL ? ID_RFC822
		     : x.type == BWL_IDENTITY_DN   ? ID_DN
		     : strchr(x.text, ':')         ? ID_IPV6
						   : ID_IPV4))
		fail_msg("'%s' is of type %d, and not as '%s'", text, type, x.text);
	fold = type == ID_FQDN || type == ID_RFC822;
	again = charons(x.text);
	if (!id->equals(id, again) || !again->equals(again, id) ||
	    !same_bytes(id->encoding(id), again->encoding(again), fold))
		fail_msg("'%s' is not '%s'", text, x.text);
	as_charon_prints(&x, id);
	for (unsigned i = 0; i < sizeof(trays) / sizeof(trays[0]); i++) {
		bool is = bwl_identity_is_tray(&x, trays[i]);

		if (is != bwl_identity_is_peer(trays[i], "another", text))
			fail_msg("'%s' and %s", text, trays[i]);
		if (!is && takes_certificate(id, trays[i]))
			fail_msg("'%s' is open to %s", text, trays[i]);
		if (is && type == ID_FQDN && !takes_certificate(id, trays[i]))
			fail_msg("'%s' is not %s", text, trays[i]);
	}
	again->destroy(again);
	id->destroy(id);
}

static void compare(const char *a, const char *b)
{
	struct charon_id *x, *y;
	struct bwl_identity is, other;
	bool equal;

	if (bwl_identity_parse(a, &is, NULL) || bwl_identity_parse(b, &other, NULL))
		return;
	x = charons(a);
	y = charons(b);
	equal = x->equals(x, y);
	same_pairs += equal && strcmp(a, b);
	if (equal != bwl_identity_equals(&is, &other))
		fail_msg("'%s' and '%s': charon says %d", a, b, equal);
	if (!strcmp(is.text, other.text) && !equal)
		fail_msg("'%s' and '%s' are both '%s'", a, b, is.text);
	if (equal && is.type != BWL_IDENTITY_DN && strcmp(is.text, other.text) != 0)
		fail_msg("'%s' and '%s' differ", is.text, other.text);
	x->destroy(x);
	y->destroy(y);
}

/* Parts of texts: joined at random they are often identities, and often the same ones. */
static const char *const part[] = { "fqdn:",
				    "dns:",
				    "DNS:",
				    "@",
				    "@@",
				    "@#",
				    "rfc822:",
				    "email:",
				    "userfqdn:",
				    "ipv4:",
				    "ipv6:",
				    "ipv4net:",
				    "ipv4range:",
				    "keyid:",
				    "asn1dn:",
				    "asn1gn:",
				    "xmppaddr:",
				    "uri:",
				    "{2}:",
				    "{9}:",
				    "{0}:",
				    "tray-3",
				    "TRAY-3",
				    "Tray-3",
				    "tray",
				    "-3",
				    "t.3",
				    "tray-3.",
				    "a@b.c",
				    "A@b.C",
				    "a+b@c",
				    "192.0.2.3",
				    "10.0.0.0",
				    "192.0.2.9",
				    "/8",
				    "-",
				    "::1",
				    "2001:db8::3",
				    "2001:DB8:0::3",
				    "0.0.0.0",
				    "::",
				    "0::0",
				    "%any",
				    "*",
				    "#7472",
				    "#",
				    "CN=tray-3",
				    "CN=TRAY-3",
				    "cn = tray-3",
				    "CN tray-3",
				    "C=CH",
				    "c=ch",
				    "O=a_b",
				    "O=A_b",
				    "E=a@b",
				    "Email=A@b",
				    "emailAddress=a@B",
				    "UN=x",
				    "unstructuredName=X",
				    "EN=3",
				    "employeeNumber=3",
				    "OU=",
				    "ZZ=1",
				    "SN=tray-3",
				    "serialNumber=1",
				    "UID=tray-3",
				    "=",
				    ",",
				    ", ",
				    "/",
				    " ",
				    ":",
				    "..",
				    "_",
				    "a,b",
				    "CN=*",
				    "1.2.3",
				    "O=Site Ltd",
				    "DC=tray-3",
				    "\t",
				    "\xc3\xa9",
				    "\\",
				    "\"",
				    "fd00::1%eth0",
				    "::ffff:192.0.2.3",
				    "UA=r",
				    "unstructuredAddress=R" };

static const char *spelling(char text[static 200])
{
	size_t n = 0;
	unsigned parts = 1 + (unsigned)random() % 5;
	const char *sep = random() % 3 ? "" : random() % 2 ? ", " : "/";

	*text = '\0';
	for (unsigned i = 0; i < parts && n < 150; i++)
		n += (size_t)snprintf(text + n, 200 - n, "%s%s",
				      i             ? sep
				      : *sep == '/' ? "/"
						    : "",
				      part[(size_t)random() % (sizeof(part) / sizeof(part[0]))]);
	if (n && !(random() % 4))
		text[(size_t)random() % n] = (char)(0x20 + random() % 95);
	return text;
}

/* The same in other letters: often the same identity, except where charon minds their case. */
static void respell(const char *text)
{
	char other[200];
	size_t i = 0;

	for (; text[i]; i++)
		other[i] = (char)(strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
					 text[i]) &&
						  random() % 2
					  ? text[i] ^ 0x20
					  : text[i]);
	other[i] = '\0';
	judge(other);
	compare(text, other);
	compare(other, text);
}

static void charon_says_the_same_of_any_text(void **state)
{
	static char text[64][200];
	const char *seed = getenv("IDENTITY_SEED");

	(void)state;
	srandom(seed ? (unsigned)strtoul(seed, NULL, 10) : 1);
	for (unsigned i = 0; i < sizeof(part) / sizeof(part[0]); i++)
		for (unsigned k = 0; k < sizeof(part) / sizeof(part[0]); k++) {
			snprintf(text[0], sizeof(text[0]), "%s%s", part[i], part[k]);
			judge(part[i]);
			judge(text[0]);
			compare(part[i], part[k]);
			compare(part[k], text[0]);
		}
	for (unsigned i = 0; i < spellings; i++) {
		const char *s = spelling(text[i % 64]);
		struct bwl_identity x;

		judge(s);
		/* what is refused gives its place to the next one, so that pairs are of identities
		 */
		if (bwl_identity_parse(s, &x, NULL)) {
			strcpy(text[i % 64], part[i % 30]);
			continue;
		}
		respell(s);
		for (unsigned k = 0; k < 64; k++)
			compare(s, text[k]);
	}
	print_message("%u were identities, %u pairs the same\n", accepted, same_pairs);
	assert_true(accepted > spellings / 10 && same_pairs > spellings / 10);
}

struct row {
	const char *text, *canonical;
};

static void a_text_has_one_canonical_form(void **state)
{
	static const struct row row[] = {
		{ "tray-3", "fqdn:tray-3" },
		{ "TRAY-3", "fqdn:tray-3" },
		{ "@tray-3", "fqdn:tray-3" },
		{ "dns:Tray-3", "fqdn:tray-3" },
		{ "FQDN:tray-3", "fqdn:tray-3" },
		{ "tray-3.", "fqdn:tray-3." }, /* another one to charon */
		{ "fqdn:192.0.2.3", "fqdn:192.0.2.3" },
		{ "192.0.2.3", "192.0.2.3" },
		{ "2001:DB8:0::3", "2001:db8::3" },
		{ "Ops@Example.org", "rfc822:ops@example.org" },
		{ "@@a@b", "rfc822:a@b" },
		{ "userfqdn:a@b", "rfc822:a@b" },
		{ "cn = Tray 3 ,c=CH", "CN=Tray 3, C=CH" },
		{ "/C=CH/CN=tray-3", "C=CH, CN=tray-3" },
		{ "emailAddress=a@b", "E=a@b" },
	};
	struct bwl_identity x, again;
	struct bwl_err e = { 0 };

	(void)state;
	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		if (bwl_identity_parse(row[i].text, &x, &e))
			fail_msg("%s: %s", row[i].text, e.text);
		assert_string_equal(x.text, row[i].canonical);
		assert_int_equal(bwl_identity_parse(x.text, &again, &e), 0);
		assert_string_equal(again.text, x.text);
		assert_true(bwl_identity_equals(&x, &again));
	}
}

static void what_is_not_one_tray_is_refused_with_the_reason(void **state)
{
	static const char several[] = "matches more than one", key[] = "compared with the name",
			  bytes[] = "as bytes", name[] = "a name is of", mail[] = "USER@HOST";
	static const struct row row[] = {
		{ "", "empty" },
		{ "%any", several },
		{ "*", several },
		{ "*.example.org", several },
		{ "CN=*", several },
		{ "0.0.0.0", several },
		{ "::", several },
		{ "0:0:0:0:0:0:0:0", several }, /* its canonical form would be `::`, any */
		{ "10.0.0.0/8", several },
		{ "10.0.0.1-10.0.0.9", several },
		{ "ipv4net:10.0.0.0/8", several },
		{ "keyid:tray-3", key },
		{ "@#747261792d33", key },
		{ "fqdn:#747261792d33", key },
		{ "fqdn:#2a", key }, /* `*` */
		{ "{2}:tray-3", key },
		{ "{0}:tray-3", key }, /* any */
		{ "xmppaddr:a@b", key },
		{ "a:b", key },
		{ "ipv4:192.0.2.3", bytes },
		{ "asn1dn:CN=tray-3", bytes },
		{ "192.0.2.256", "no address" },
		{ "tray 3", name },
		{ "fqdn:", name },
		{ "@", name },
		{ "fqdn:dns:tray-3", name },
		{ "fqdn:a@b", name },
		{ "@@tray-3", mail },
		{ "a@b@c", mail },
		{ "@CN=tray-3", "attribute '@CN'" },
		{ "CN=", "no value" },
		{ "CN==a", "no value" },
		{ "CN a, O=b", "'=' is missing" },
		{ "CN=a,", "attribute ''" },
		{ "/CN=a,b/O=c", "comma" },
		{ "tray-\xc3\xa9", "printable ASCII" },
		{ "tray-3\n", "printable ASCII" },
		{ " tray-3", "blank" },
	};
	struct bwl_identity x;
	char longer[300];

	(void)state;
	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		struct bwl_err e = { 0 };

		if (!bwl_identity_parse(row[i].text, &x, &e) || !strstr(e.text, row[i].canonical))
			fail_msg("'%s': %s", row[i].text, e.text);
		assert_non_null(strstr(e.hint, "give fqdn:NAME"));
	}
	memset(longer, 'a', sizeof(longer));
	for (size_t n = 1; n < sizeof(longer); n++) {
		longer[n - 1] = 'a';
		longer[n] = '\0';
		assert_int_equal(!bwl_identity_parse(longer, &x, NULL),
				 n + strlen("fqdn:") <= BWL_IDENTITY_MAX);
	}
}

static void a_tray_is_every_spelling_of_its_name(void **state)
{
	static const char *const is[] = { "fqdn:tray-3", "@tray-3",   "TRAY-3",        "dns:tray-3",
					  "tray-3",      "CN=tray-3", "O=x, CN=Tray-3" };
	static const char *const is_not[] = { "tray-4",          "tray-3.",  "tray-3.example.org",
					      "tray-3@site.org", "O=tray-3", "192.0.2.3",
					      "CN=tray-33" };

	(void)state;
	for (unsigned i = 0; i < sizeof(is) / sizeof(is[0]); i++)
		if (!bwl_identity_is_peer("tray-3", "rack", is[i]))
			fail_msg("%s", is[i]);
	for (unsigned i = 0; i < sizeof(is_not) / sizeof(is_not[0]); i++)
		if (bwl_identity_is_peer("tray-3", "rack", is_not[i]))
			fail_msg("%s", is_not[i]);
	assert_true(bwl_identity_is_peer("tray-3", "TRAY-3", NULL));
	assert_true(bwl_identity_is_peer("tray-3", "tray-3", "fqdn:other"));
	assert_false(bwl_identity_is_peer("tray-3", "tray-4", NULL));
	assert_true(bwl_identity_is_peer("192.0.2.3", NULL, "192.0.2.3"));
	assert_true(bwl_identity_is_peer("tray_3", NULL, "keyid:tray_3") == false);
	assert_true(bwl_identity_is_peer("-a", NULL, "-A")); /* as a file of before may have it */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_text_has_one_canonical_form),
		cmocka_unit_test(what_is_not_one_tray_is_refused_with_the_reason),
		cmocka_unit_test(a_tray_is_every_spelling_of_its_name),
		cmocka_unit_test(charon_says_the_same_of_any_text),
	};

	return cmocka_run_group_tests(tests, load, NULL);
}
