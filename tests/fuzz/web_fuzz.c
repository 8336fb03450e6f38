// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a request may contain for bwlimit-web, selected by its first byte: Host, Accept, a list of
 * documents, a time, a question as the asker gets it, or metrics for OpenMetrics; and as its path,
 * whatever its first byte. Nothing that is accepted has a word that could be an option.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include "export/prometheus.h"
#include "fleet/http/strict.h"
#include "fuzz.h"
#include "web/documents.h"
#include "web/head.h"

static const char *const names[] = { "localhost", NULL };

static void host(const char *text)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(9650) };
	struct sockaddr_in6 at6 = { .sin6_family = AF_INET6, .sin6_port = htons(9650) };

	inet_pton(AF_INET, "127.0.0.1", &at.sin_addr);
	inet_pton(AF_INET6, "fd00::7", &at6.sin6_addr);
	if (head_is_our_host(text, (struct sockaddr *)&at, names))
		must(strlen(text) < 20 &&
			     (strstr(text, "127.0.0.1") || strcasestr(text, "localhost")),
		     "it is ours");
	head_is_our_host(text, (struct sockaddr *)&at6, names);
}

static bool word(void *arg, const char *text)
{
	(void)arg;
	must(*text && !strchr(text, ','), "a word");
	return true;
}

static void question(const char *text)
{
	struct bwl_err e = { 0 };
	json_t *o = asking_words_of(web_node.asking, text, &e), *one;
	unsigned dashes = 0;
	size_t i;

	must(o || (e.code && *e.text), "refused, and said why");
	json_array_foreach(json_object_get(o, "argv"), i, one)
	{
		const char *s = json_string_value(one);

		must(!!s && !strpbrk(s, " /\n\t;|&$`"), "words that are values");
		dashes += *s == '-' && !strchr(s, '=') && strcmp(s, "--json") &&
			  strcmp(s, "--curve");
	}
	must(!dashes, "no option of its own");
	json_decref(o);
}

static void metrics(const char *text, size_t size)
{
	size_t len;
	char *open = prom_openmetrics(text, size, &len);

	must(len <= size + 6 && len >= 6 && !memcmp(open + len - 6, "# EOF\n", 6), "ends");
	free(open);
}

/* As libmicrohttpd decodes it: nothing that is accepted is cut. */
static void target(const char *text)
{
	if (bwl_strict_target(text))
		return;
	for (; *text; text++) {
		must(*text > ' ' && *text < 0x7f, "printable");
		if (*text == '%')
			must(isxdigit((unsigned char)text[1]) && isxdigit((unsigned char)text[2]) &&
				     (text[1] >= '2') && strncasecmp(text, "%7f", 3),
			     "a whole escape, and no control");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text;

	if (!size)
		return 0;
	text = malloc(size);
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	target(text);
	switch (*data % 6) {
	case 0:
		host(text);
		break;
	case 1:
		head_wants_openmetrics(text);
		break;
	case 2:
		head_each_word(text, word, NULL);
		break;
	case 3:
		head_every_ns(text);
		break;
	case 4:
		question(text);
		break;
	default:
		metrics(text, size - 1);
	}
	free(text);
	return 0;
}
