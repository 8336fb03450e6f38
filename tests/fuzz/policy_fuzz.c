// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a policy file: read or refused, never a crash, a leak or an endless loop. What was
 * read is written and read back as the same text, and every question about it has an answer.
 */
#include "bwl/exfil.h"
#include "fuzz.h"

#define NOW_BOOT 1000000000000ULL
#define NOW_WALL 1800000000LL

static void must_e(int ok, const char *what, const struct bwl_err *e)
{
	if (!ok)
		fprintf(stderr, "%s: ", e->text);
	must(ok, what);
}

static char *text_of(const struct bwl_policy *p, size_t *len)
{
	char *s = NULL;
	FILE *f = open_memstream(&s, len);
	struct bwl_err none = { 0 };

	must_e(f && !bwl_policy_dump(p, NOW_BOOT, NOW_WALL, f), "dump", &none);
	fclose(f);
	return s;
}

static void use(const struct bwl_policy *p)
{
	const struct bwl_exfil_args a = { .size = 1ULL << 40, .compression = 2, .trays = 3 };
	static uint8_t proto[256], port[2][65536];
	struct bwl_exfil_result r;
	struct bwl_err e = { 0 };

	must_e(!bwl_exfil(p, &a, &r, &e), "exfil", &e);
	must_e(r.seconds >= 0, "time runs forwards", &e);
	bwl_class_table(p, proto, port);
}

/* All errors instead of the first: there are some exactly if there is a first. */
static void read_all(const uint8_t *data, size_t size, bool good)
{
	static struct bwl_errors all;
	struct bwl_policy *p = NULL;
	int r = bwl_policy_parse_all("fuzz", (const char *)data, size, NOW_BOOT, NOW_WALL, &p,
				     &all);

	must(!r == good && !all.n == good && !p == !good, "all errors, or none");
	for (size_t i = 0; i < all.n; i++)
		must_e(all.list[i].code && *all.list[i].text, "an error without a reason",
		       &all.list[i]);
	for (size_t i = 1; i < all.n; i++)
		must_e(all.list[i - 1].line < all.list[i].line ||
			       (all.list[i - 1].line == all.list[i].line &&
				(all.list[i - 1].column < all.list[i].column ||
				 (all.list[i - 1].column == all.list[i].column &&
				  strcmp(all.list[i - 1].text, all.list[i].text)))),
		       "errors by their place, each once", &all.list[i]);
	bwl_policy_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bwl_policy *p = NULL, *q = NULL;
	struct bwl_err e = { 0 };
	uint8_t da[32], db[32];
	char *a, *b;
	size_t na, nb;

	if (bwl_policy_parse("fuzz", (const char *)data, size, NOW_BOOT, NOW_WALL, &p, &e)) {
		must_e(!p && e.code && *e.text, "refused without a reason", &e);
		read_all(data, size, false);
		return 0;
	}
	read_all(data, size, true);
	use(p);
	a = text_of(p, &na);
	must_e(!bwl_policy_parse("dump", a, na, NOW_BOOT, NOW_WALL, &q, &e), "reading back", &e);
	b = text_of(q, &nb);
	must_e(na == nb && !memcmp(a, b, na), "another text", &e);
	must_e(!bwl_policy_digest(p, da) && !bwl_policy_digest(q, db) && !memcmp(da, db, 32),
	       "another digest", &e);
	free(a);
	free(b);
	bwl_policy_free(p);
	bwl_policy_free(q);
	return 0;
}
