// SPDX-License-Identifier: GPL-2.0-or-later
/* Frames from words (frame.h): the start of layers, payload, and the words of a line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "frame_build.h"

static const char *const kind_names[_K_MAX] = {
	"vnet", "eth", "vlan", "ip4", "ip6",  "ext", "frag6",
	"udp",  "tcp", "icmp", "nd",  "igmp", "arp",
};

int frame_bad(struct build *b, const char *what, const char *word)
{
	snprintf(b->why, 160, "%s: %s", what, word);
	return -1;
}

void frame_fill(const struct build *b, uint8_t *p, size_t n)
{
	size_t i;

	if (!b->env->marker)
		memset(p, 'x', n);
	for (i = 0; b->env->marker && i < n; i++)
		p[i] = b->env->marker[i % FRAME_MARKER];
}

int frame_parse_hex(const char *s, uint8_t *out, size_t room, size_t *n)
{
	unsigned byte;

	for (*n = 0; s[0] && s[1]; s += 2, (*n)++)
		if (*n >= room || sscanf(s, "%2x", &byte) != 1)
			return -1;
		else
			out[*n] = byte;
	return *s ? -1 : 0;
}

static int open_layer(struct build *b, enum kind kind)
{
	static const size_t size[_K_MAX] = {
		[K_ETH] = 14, [K_VLAN] = 4, [K_IP4] = 20, [K_IP6] = 40, [K_EXT] = 8,  [K_FRAG6] = 8,
		[K_UDP] = 8,  [K_TCP] = 20, [K_ICMP] = 8, [K_ND] = 24,  [K_IGMP] = 8, [K_ARP] = 28,
	};
	struct layer *l = &b->layer[b->n];
	struct frame *f = b->f;
	uint8_t *p = f->data + f->len;

	if (b->n == MAX_LAYERS || f->len + size[kind] > FRAME_MAX)
		return frame_bad(b, "too long", kind_names[kind]);
	*l = (struct layer){ .kind = kind, .off = f->len, .size = size[kind], .tpid = 0x8100 };
	b->n++;
	memset(p, 0, size[kind]);
	f->len += size[kind];
	switch (kind) {
	case K_VNET:
		f->has_vnet = true;
		break;
	case K_ETH:
		memcpy(p, b->env->gateway, 6);
		memcpy(p + 6, b->env->own, 6);
		break;
	case K_IP4:
		p[0] = 0x45;
		p[8] = 64;
		break;
	case K_IP6:
		p[0] = 0x60;
		p[7] = 64;
		break;
	case K_UDP:
	case K_TCP:
		frame_put16(p, 40000);
		frame_put16(p + 2, 9);
		if (kind == K_TCP)
			p[12] = 0x50;
		break;
	case K_ICMP:
		p[0] = 8;
		break;
	case K_ND:
		p[0] = 135;
		break;
	case K_IGMP:
		p[0] = 0x16; /* a report of version 2 */
		break;
	case K_ARP:
		frame_put16(p, 1);
		frame_put16(p + 2, 0x0800);
		p[4] = 6;
		p[5] = 4;
		frame_put16(p + 6, 1);
		memcpy(p + 8, b->env->own, 6);
		break;
	default:
		break;
	}
	return 0;
}

/* A word that is not a layer's field: payload. Returns 1 if it is none. */
static int payload(struct build *b, const char *word)
{
	struct frame *f = b->f;
	size_t n;

	if (!strncmp(word, "fill=", 5)) {
		n = strtoul(word + 5, NULL, 0);
		if (n > FRAME_MAX - f->len)
			return frame_bad(b, "too long", word);
		frame_fill(b, f->data + f->len, n);
		f->len += n;
		return 0;
	}
	if (strncmp(word, "hex=", 4) || (b->n && b->layer[b->n - 1].kind == K_EXT))
		return 1;
	if (frame_parse_hex(word + 4, f->data + f->len, FRAME_MAX - f->len, &n))
		return frame_bad(b, "bad hex", word);
	f->len += n;
	return 0;
}

int frame_build(const char *spec, const struct frame_env *env, struct frame *f, char why[160])
{
	struct build b = { .f = f, .env = env, .why = why };
	char text[4096], *save = NULL, *word, *eq;
	const char *part = NULL;
	size_t cut = FRAME_MAX;
	int k, r;

	f->len = 0;
	f->has_vnet = false;
	memset(f->vnet, 0, sizeof(f->vnet));
	if (snprintf(text, sizeof(text), "%s", spec) >= (int)sizeof(text))
		return frame_bad(&b, "too long", "line");
	for (word = strtok_r(text, " \t\n", &save); word; word = strtok_r(NULL, " \t\n", &save)) {
		if (!strncmp(word, "cut=", 4)) {
			cut = strtoul(word + 4, NULL, 0);
			continue;
		}
		if (!strncmp(word, "slice=", 6)) {
			part = word + 6;
			continue;
		}
		r = payload(&b, word);
		if (r < 0)
			return r;
		if (r == 0)
			continue;
		eq = strchr(word, '=');
		if (eq && b.n) {
			*eq = 0;
			if (frame_set(&b, &b.layer[b.n - 1], word, eq + 1))
				return -1;
			continue;
		}
		for (k = 0; k < _K_MAX && strcmp(word, kind_names[k]); k++)
			;
		if (k == _K_MAX)
			return frame_bad(&b, "unknown layer", word);
		if (open_layer(&b, k))
			return -1;
	}
	frame_finish(&b);
	if (part && frame_slice(&b, part))
		return -1;
	if (cut < f->len)
		f->len = cut;
	return 0;
}
