// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * corpus_merge OUT <NAMES: writes all Ethernet frames of the captures named on standard input (pcap
 * and pcapng, either byte order) to one pcap file. Captures that are broken on purpose are read as
 * far as possible. A frame that was truncated by the snap length of its capture is written twice:
 * as it was on the wire (filled with zeros), and as captured, with lengths that do not match.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LINK_ETHERNET 1
#define FRAME_MAX 65535
#define MAX_IFS 64

struct in {
	FILE *f;
	bool swap;
	unsigned links[MAX_IFS], nlinks;
};

struct out {
	FILE *f;
	unsigned long files, frames, cut, other;
};

static uint32_t u32(const struct in *in, uint32_t v)
{
	return in->swap ? __builtin_bswap32(v) : v;
}

static uint16_t u16(const struct in *in, uint16_t v)
{
	return in->swap ? __builtin_bswap16(v) : v;
}

static void put_frame(struct out *out, const uint8_t *data, uint32_t len)
{
	/* One second apart: the time is not used. */
	const uint32_t head[4] = { (uint32_t)out->frames++, 0, len, len };

	fwrite(head, sizeof(head), 1, out->f);
	fwrite(data, len, 1, out->f);
}

static void frame(struct out *out, uint8_t *data, uint32_t caplen, uint32_t len)
{
	if (len > caplen && len <= FRAME_MAX) {
		memset(data + caplen, 0, len - caplen);
		put_frame(out, data, len);
		out->cut++;
	}
	put_frame(out, data, caplen);
}

static void read_pcap(struct in *in, struct out *out)
{
	static uint8_t data[FRAME_MAX + 1];
	uint32_t head[6], rec[4], caplen;

	if (fread(head, sizeof(head), 1, in->f) != 1)
		return;
	if ((u32(in, head[5]) & 0xffff) != LINK_ETHERNET) {
		out->other++;
		return;
	}
	while (fread(rec, sizeof(rec), 1, in->f) == 1) {
		caplen = u32(in, rec[2]);
		if (caplen > FRAME_MAX || fread(data, 1, caplen, in->f) != caplen)
			return;
		frame(out, data, caplen, u32(in, rec[3]));
	}
}

/* One pcapng block's body: interface description, enhanced or simple packet. */
static void ng_block(struct in *in, struct out *out, uint32_t type, uint8_t *body, uint32_t size)
{
	static uint8_t data[FRAME_MAX + 1];
	uint32_t iface = 0, caplen, len, at, w[5];

	if (type == 1 && size >= 8) {
		uint16_t link;

		memcpy(&link, body, 2);
		if (in->nlinks < MAX_IFS)
			in->links[in->nlinks++] = u16(in, link);
		return;
	}
	if (type == 6 && size >= 20) {
		memcpy(w, body, 20);
		iface = u32(in, w[0]);
		caplen = u32(in, w[3]);
		len = u32(in, w[4]);
		at = 20;
	} else if (type == 3 && size >= 4) {
		memcpy(w, body, 4);
		len = u32(in, w[0]);
		caplen = len < size - 4 ? len : size - 4;
		at = 4;
	} else {
		return;
	}
	if (iface >= in->nlinks || in->links[iface] != LINK_ETHERNET) {
		out->other++;
		return;
	}
	if (caplen > FRAME_MAX || caplen > size - at)
		return;
	memcpy(data, body + at, caplen);
	frame(out, data, caplen, len);
}

static void read_pcapng(struct in *in, struct out *out)
{
	static uint8_t body[1 << 20];
	uint32_t head[2], magic, size;
	bool section = true;

	while (fread(head, sizeof(head), 1, in->f) == 1) {
		if (head[0] == 0x0a0d0d0a) {
			if (fread(&magic, 4, 1, in->f) != 1)
				return;
			in->swap = magic == 0x4d3c2b1a;
			in->nlinks = 0;
			fseek(in->f, -4, SEEK_CUR);
			section = true;
		}
		size = u32(in, head[1]);
		if (!section || size < 12 || size % 4 || size - 12 > sizeof(body) ||
		    fread(body, 1, size - 8, in->f) != size - 8)
			return;
		ng_block(in, out, u32(in, head[0]), body, size - 12);
	}
}

static void read_file(const char *path, struct out *out)
{
	struct in in = { .f = fopen(path, "re") };
	uint32_t magic;

	if (!in.f || fread(&magic, 4, 1, in.f) != 1) {
		if (in.f)
			fclose(in.f);
		return;
	}
	rewind(in.f);
	out->files++;
	switch (magic) {
	case 0xa1b2c3d4: /* microseconds */
	case 0xa1b23c4d: /* nanoseconds */
		read_pcap(&in, out);
		break;
	case 0xd4c3b2a1:
	case 0x4d3cb2a1:
		in.swap = true;
		read_pcap(&in, out);
		break;
	case 0x0a0d0d0a:
		read_pcapng(&in, out);
		break;
	default:
		out->files--;
	}
	fclose(in.f);
}

int main(int argc, char **argv)
{
	const uint32_t head[6] = { 0xa1b2c3d4, 4 << 16 | 2, 0, 0, FRAME_MAX, LINK_ETHERNET };
	struct out out = { 0 };
	char name[4096];

	if (argc != 2) {
		fprintf(stderr, "usage: corpus_merge OUT <NAMES\n");
		return 2;
	}
	out.f = fopen(argv[1], "we");
	if (!out.f) {
		perror(argv[1]);
		return 1;
	}
	fwrite(head, sizeof(head), 1, out.f);
	while (fgets(name, sizeof(name), stdin)) {
		name[strcspn(name, "\n")] = '\0';
		read_file(name, &out);
	}
	printf("%lu frames of %lu captures; %lu were cut; %lu captures or frames are not Ethernet\n",
	       out.frames, out.files, out.cut, out.other);
	return fclose(out.f) ? 1 : 0;
}
