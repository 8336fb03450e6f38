// SPDX-License-Identifier: GPL-2.0-or-later
/* See bwl/identity.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <bwl/identity.h>

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define DIGITS "0123456789"
#define NAME_CHARACTERS LETTERS DIGITS "._-"
#define RDNS_MAX 20 /* charon takes a text with more for a key id */

#define NO_KEY "a key id or other bytes cannot be compared with the name of a tray"
#define NO_BYTES "charon takes what is behind this prefix as bytes: leave it out"
#define NO_SEVERAL "it matches more than one tray"

#define FQDN "fqdn:"
#define MAIL "rfc822:"

/* charon's prefixes, in any case. refused NULL: what follows is of the type. */
static const struct prefix {
	const char *text;
	enum bwl_identity_type type;
	const char *refused;
} prefixes[] = {
	{ FQDN, BWL_IDENTITY_FQDN, NULL },
	{ "dns:", BWL_IDENTITY_FQDN, NULL },
	{ MAIL, BWL_IDENTITY_MAIL, NULL },
	{ "email:", BWL_IDENTITY_MAIL, NULL },
	{ "userfqdn:", BWL_IDENTITY_MAIL, NULL },
	{ "ipv4:", BWL_IDENTITY_ADDRESS, NO_BYTES },
	{ "ipv6:", BWL_IDENTITY_ADDRESS, NO_BYTES },
	{ "asn1dn:", BWL_IDENTITY_DN, NO_BYTES },
	{ "ipv4net:", BWL_IDENTITY_ADDRESS, NO_SEVERAL },
	{ "ipv6net:", BWL_IDENTITY_ADDRESS, NO_SEVERAL },
	{ "ipv4range:", BWL_IDENTITY_ADDRESS, NO_SEVERAL },
	{ "ipv6range:", BWL_IDENTITY_ADDRESS, NO_SEVERAL },
	{ "asn1gn:", BWL_IDENTITY_DN, NO_KEY },
	{ "xmppaddr:", BWL_IDENTITY_DN, NO_KEY },
	{ "keyid:", BWL_IDENTITY_DN, NO_KEY },
	{ "uri:", BWL_IDENTITY_DN, NO_KEY }, /* only newer charons know it */
	{ "{", BWL_IDENTITY_DN, NO_KEY },    /* {TYPE}:… */
};

/*
 * charon's attributes. shown: as charon prints it, if it has several names. Letters' case: `fold`
 * ignores it in any value; the others ignore it in values of PrintableString's characters, except
 * `exact`.
 */
static const struct attribute {
	const char *name, *shown;
	bool fold, exact;
} attributes[] = {
	{ .name = "ND" },
	{ .name = "UID" },
	{ .name = "DC" },
	{ .name = "CN" },
	{ .name = "SN" },
	{ .name = "serialNumber" },
	{ .name = "C" },
	{ .name = "L" },
	{ .name = "ST" },
	{ .name = "STREET" },
	{ .name = "O" },
	{ .name = "OU" },
	{ .name = "T" },
	{ .name = "D" },
	{ .name = "postalAddress" },
	{ .name = "postalCode" },
	{ .name = "N" },
	{ .name = "G" },
	{ .name = "I" },
	{ .name = "dnQualifier" },
	{ .name = "dmdName" },
	{ .name = "pseudonym" },
	{ .name = "ID" },
	{ .name = "employeeNumber" },
	{ .name = "EN", .shown = "employeeNumber" },
	{ .name = "E", .fold = true },
	{ .name = "Email", .shown = "E" },
	{ .name = "emailAddress", .shown = "E" },
	{ .name = "unstructuredName", .exact = true },
	{ .name = "UN", .shown = "unstructuredName" },
	{ .name = "unstructuredAddress" },
	{ .name = "UA", .shown = "unstructuredAddress" },
	{ .name = "TCGID" },
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* A part of a text. */
struct part {
	const char *s;
	size_t n;
};

static bool is_only(struct part x, const char *characters)
{
	for (size_t i = 0; i < x.n; i++)
		if (!strchr(characters, x.s[i]))
			return false;
	return x.n;
}

static bool is_same(struct part a, struct part b, bool fold)
{
	return a.n == b.n && !(fold ? strncasecmp(a.s, b.s, a.n) : strncmp(a.s, b.s, a.n));
}

static int add(struct bwl_identity *x, size_t *at, const char *prefix, struct part value,
	       struct bwl_err *e)
{
	size_t n = strlen(prefix);

	if (*at + n + value.n > BWL_IDENTITY_MAX)
		return bwl_fail(e, EINVAL, "it has more than %d characters", BWL_IDENTITY_MAX);
	memcpy(x->text + *at, prefix, n);
	memcpy(x->text + *at + n, value.s, value.n);
	*at += n + value.n;
	x->text[*at] = '\0';
	return 0;
}

/* Without the locale. */
static void lower(char *s)
{
	for (; *s; s++)
		if (*s >= 'A' && *s <= 'Z')
			*s = (char)(*s - 'A' + 'a');
}

static int take_text(const char *s, enum bwl_identity_type type, struct bwl_identity *ret,
		     struct bwl_err *e)
{
	struct part x = { s, strlen(s) }, host = x;
	bool mail = type == BWL_IDENTITY_MAIL;
	size_t at = 0;
	int r;

	if (*s == '#')
		return bwl_fail(e, EINVAL, NO_KEY);
	if (mail) {
		host.s = strchr(s, '@');
		host.s = host.s ? host.s + 1 : "";
		host.n = strlen(host.s);
		x.n = host.n ? (size_t)(host.s - s) - 1 : 0;
	}
	if (!is_only(host, NAME_CHARACTERS) ||
	    !is_only(x, mail ? NAME_CHARACTERS "+" : NAME_CHARACTERS))
		return bwl_fail(e, EINVAL,
				mail ? "an address of mail is USER@HOST, of A-Z a-z 0-9 . _ -"
				     : "a name is of A-Z a-z 0-9 . _ -");
	ret->type = type;
	r = add(ret, &at, mail ? MAIL : FQDN, (struct part){ s, strlen(s) }, e);
	if (!r)
		lower(ret->text);
	return r;
}

static bool is_address(const char *s, uint8_t bytes[static 16], int family)
{
	return inet_pton(family, s, bytes) == 1;
}

static int take_address(const uint8_t *bytes, int family, struct bwl_identity *ret,
			struct bwl_err *e)
{
	static const uint8_t none[16];

	if (!memcmp(bytes, none, family == AF_INET ? 4 : 16))
		return bwl_fail(e, EINVAL, NO_SEVERAL);
	ret->type = BWL_IDENTITY_ADDRESS;
	inet_ntop(family, bytes, ret->text, sizeof(ret->text));
	return 0;
}

/* charon reads "10.0.0.1-10.0.0.9" as a range. */
static bool begins_with_address(const char *s)
{
	char from[BWL_IDENTITY_SIZE];
	uint8_t bytes[16];

	snprintf(from, sizeof(from), "%.*s", (int)strcspn(s, "-"), s);
	return is_address(from, bytes, AF_INET);
}

/* Neither '=' nor '@' is in it. */
static int take_plain(const char *s, struct bwl_identity *ret, struct bwl_err *e)
{
	struct part all = { s, strlen(s) };
	uint8_t bytes[16];

	if (strchr(s, '/'))
		return bwl_fail(e, EINVAL, NO_SEVERAL);
	if (strchr(s, ':'))
		return is_address(s, bytes, AF_INET6) ? take_address(bytes, AF_INET6, ret, e)
						      : bwl_fail(e, EINVAL, NO_KEY);
	if (is_address(s, bytes, AF_INET))
		return take_address(bytes, AF_INET, ret, e);
	if (begins_with_address(s))
		return bwl_fail(e, EINVAL, NO_SEVERAL);
	if (is_only(all, DIGITS "."))
		return bwl_fail(e, EINVAL,
				"it is no address: if it is a name, write `fqdn:` before it");
	return take_text(s, BWL_IDENTITY_FQDN, ret, e);
}

static const struct attribute *attribute(struct part name)
{
	for (size_t i = 0; i < COUNT(attributes); i++)
		if (is_same(name, (struct part){ attributes[i].name, strlen(attributes[i].name) },
			    true))
			return &attributes[i];
	return NULL;
}

static struct part until(const char *s, const char *ends)
{
	return (struct part){ s, strcspn(s, ends) };
}

static const char *skip(const char *s)
{
	return s + strspn(s, " ");
}

/*
 * One "NAME=VALUE", and what follows it. charon also reads texts without `=`, with several, and
 * empty values: these are refused, since they are hardly meant.
 */
static int take_rdn(const char *s, char sep, struct bwl_identity *ret, size_t *at,
		    const char **ret_next, struct bwl_err *e)
{
	const char ends[] = { sep, '\0' };
	struct part name = until(skip(s), " ="), value;
	const struct attribute *a = attribute(name);
	char before[32];

	if (!a)
		return bwl_fail(e, EINVAL, "charon does not know the attribute '%.*s'",
				(int)(name.n < 32 ? name.n : 32), name.s);
	s = skip(name.s + name.n);
	if (*s != '=')
		return bwl_fail(e, EINVAL, "'=' is missing behind %s", a->name);
	value = until(skip(s + 1), ends);
	*ret_next = value.s + value.n;
	while (value.n && value.s[value.n - 1] == ' ')
		value.n--;
	if (!value.n || *value.s == '=')
		return bwl_fail(e, EINVAL, "%s has no value", a->name);
	if (memchr(value.s, ',', value.n))
		return bwl_fail(e, EINVAL, "%s has a comma in its value", a->name);
	snprintf(before, sizeof(before), "%s%s=", *at ? ", " : "", a->shown ? a->shown : a->name);
	return add(ret, at, before, value, e);
}

/* As LDAP writes it, or openssl: "C=CH, CN=tray-3", "/C=CH/CN=tray-3". */
static int take_dn(const char *s, struct bwl_identity *ret, struct bwl_err *e)
{
	char sep = *s == '/' ? '/' : ',';
	size_t at = 0;
	int r = 0;

	ret->type = BWL_IDENTITY_DN;
	s += *s == '/';
	for (unsigned n = 1; !r; n++, s++) {
		r = n > RDNS_MAX ? bwl_fail(e, EINVAL, "it has more than %d attributes", RDNS_MAX)
				 : take_rdn(s, sep, ret, &at, &s, e);
		if (!r && !*s)
			break;
	}
	return r;
}

static int check_characters(const char *s, struct bwl_err *e)
{
	size_t n = strlen(s);

	if (!n)
		return bwl_fail(e, EINVAL, "it is empty");
	if (n >= BWL_IDENTITY_SIZE)
		return bwl_fail(e, EINVAL, "it has more than %d characters", BWL_IDENTITY_MAX);
	if (*s == ' ' || s[n - 1] == ' ')
		return bwl_fail(e, EINVAL, "it begins or ends with a blank");
	if (strpbrk(s, "%*"))
		return bwl_fail(e, EINVAL, NO_SEVERAL);
	for (; *s; s++)
		if (*s < 0x20 || *s > 0x7e || *s == '"' || *s == '\\')
			return bwl_fail(e, EINVAL,
					"only printable ASCII without \" and \\ is accepted");
	return 0;
}

static int take(const char *s, struct bwl_identity *ret, struct bwl_err *e)
{
	for (size_t i = 0; i < COUNT(prefixes); i++) {
		const struct prefix *p = &prefixes[i];

		if (strncasecmp(s, p->text, strlen(p->text)) != 0)
			continue;
		return p->refused ? bwl_fail(e, EINVAL, "%s", p->refused)
				  : take_text(s + strlen(p->text), p->type, ret, e);
	}
	if (strchr(s, '='))
		return take_dn(s, ret, e);
	if (!strchr(s, '@'))
		return take_plain(s, ret, e);
	if (*s != '@')
		return take_text(s, BWL_IDENTITY_MAIL, ret, e);
	return s[1] == '@' ? take_text(s + 2, BWL_IDENTITY_MAIL, ret, e)
			   : take_text(s + 1, BWL_IDENTITY_FQDN, ret, e);
}

int bwl_identity_parse(const char *s, struct bwl_identity *ret, struct bwl_err *e)
{
	int r = check_characters(s, e);

	*ret = (struct bwl_identity){ 0 };
	if (!r)
		r = take(s, ret, e);
	return r ? bwl_hint(
			   e,
			   "give fqdn:NAME, rfc822:USER@HOST, an address, or a distinguished name such as \"C=CH, CN=tray-3\"")
		 : 0;
}

const char *bwl_identity_text(const char *id, const char *name, char buf[static BWL_IDENTITY_SIZE])
{
	struct bwl_identity x;

	if (id && *id) {
		snprintf(buf, BWL_IDENTITY_SIZE, "%s",
			 bwl_identity_parse(id, &x, NULL) ? id : x.text);
	} else {
		snprintf(buf, BWL_IDENTITY_SIZE, FQDN "%s", name);
		lower(buf);
	}
	return buf;
}

/* Walks over the canonical form: the next "NAME=VALUE". */
static bool next_rdn(const char **s, struct part *name, struct part *value)
{
	if (!**s)
		return false;
	*name = until(*s, "=");
	*value = until(*s + name->n + 1, ",");
	*s = value->s + value->n;
	*s += strspn(*s, ", ");
	return true;
}

/* As the type of the string decides, which charon gives it by its characters. */
static bool same_value(const struct attribute *a, struct part x, struct part y)
{
	static const char printable[] = LETTERS DIGITS " '()+,-./:=?";

	return is_same(x, y, a->fold || (!a->exact && is_only(x, printable)));
}

static bool same_dn(const char *a, const char *b)
{
	struct part an, av, bn, bv;
	bool more;

	while ((more = next_rdn(&a, &an, &av)) && next_rdn(&b, &bn, &bv))
		if (!is_same(an, bn, false) || !same_value(attribute(an), av, bv))
			return false;
	return !more && !*b;
}

bool bwl_identity_equals(const struct bwl_identity *a, const struct bwl_identity *b)
{
	if (a->type != b->type)
		return false;
	return a->type == BWL_IDENTITY_DN ? same_dn(a->text, b->text) : !strcmp(a->text, b->text);
}

bool bwl_identity_is_tray(const struct bwl_identity *x, const char *tray)
{
	const char *s = x->text;
	struct part name, value, wanted = { tray, strlen(tray) };

	switch (x->type) {
	case BWL_IDENTITY_FQDN:
		return !strcasecmp(s + strlen(FQDN), tray);
	case BWL_IDENTITY_ADDRESS:
		return !strcmp(s, tray);
	case BWL_IDENTITY_DN:
		while (next_rdn(&s, &name, &value))
			if (is_same(name, (struct part){ "CN", 2 }, false) &&
			    is_same(value, wanted, true))
				return true;
		return false;
	case BWL_IDENTITY_MAIL:
		break;
	}
	return false;
}

bool bwl_identity_is_peer(const char *tray, const char *name, const char *id)
{
	struct bwl_identity x;

	if (name && !strcasecmp(name, tray))
		return true;
	if (!id || !strcasestr(id, tray)) /* nearly always: policies may have a million peers */
		return false;
	return bwl_identity_parse(id, &x, NULL) ? !strcasecmp(id, tray)
						: bwl_identity_is_tray(&x, tray);
}

/* charon may be told to accept other orders, and subjects with more attributes (rdn_matching). */
static bool has_rdn(const char *shown, struct part rdn)
{
	for (; *shown; shown += strspn(shown, ", ")) {
		struct part one = until(shown, ",");

		if (is_same(one, rdn, true))
			return true;
		shown += one.n;
	}
	return false;
}

bool bwl_identity_is_shown(const struct bwl_identity *x, const char *shown)
{
	const char *s = x->text;
	struct part name, value;

	switch (x->type) {
	case BWL_IDENTITY_FQDN:
		return !strcasecmp(s + strlen(FQDN), shown);
	case BWL_IDENTITY_MAIL:
		return !strcasecmp(s + strlen(MAIL), shown);
	case BWL_IDENTITY_ADDRESS:
		return !strcmp(s, shown);
	case BWL_IDENTITY_DN:
		while (next_rdn(&s, &name, &value))
			if (!has_rdn(shown, (struct part){ name.s, name.n + 1 + value.n }))
				return false;
		return true;
	}
	return false;
}
