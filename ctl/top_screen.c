// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See top.h: `top` on a terminal. A picture is made in memory and written at once, over the one
 * before, so nothing flickers; keys are taken between two looks.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include "bwl/bytes.h"
#include "top.h"

#define HOME "\033[H"
#define LINE_END "\033[K\r\n" /* and erases what the previous picture had after it */
#define CLEAR_DOWN "\033[J"
#define SCREEN_ON "\033[?1049h\033[?25l" /* the terminal's other page, no cursor */
#define SCREEN_OFF "\033[?25h\033[?1049l"
#define HEAD_LINES 2 /* above the peers: sums, heads; below them one line of keys */
#define WIDE 120     /* columns for limits in full and ends */

struct screen {
	struct top_choice *t;
	struct top_look look;
	struct termios was;
	bool keys, paused, typing, done; /* keys: standard input is a terminal */
	size_t first, rows, columns;     /* the first peer that is shown; of the terminal */
};

static void measure(struct screen *s)
{
	struct winsize w;
	bool known = !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w);

	s->rows = known && w.ws_row >= 5 ? w.ws_row : 24;
	s->columns = known && w.ws_col >= 40 ? w.ws_col : 80;
}

static size_t room(const struct screen *s)
{
	return s->rows - HEAD_LINES - 1;
}

static void stay_within(struct screen *s)
{
	if (s->first + room(s) > s->look.n)
		s->first = s->look.n > room(s) ? s->look.n - room(s) : 0;
}

/* A line longer than the terminal ends with a mark. */
static void put_line(FILE *f, const char *text, size_t columns, const char *end)
{
	size_t n = strcspn(text, "\n");

	if (n > columns)
		fprintf(f, "%.*s>%s", (int)columns - 1, text, end);
	else
		fprintf(f, "%.*s%s", (int)n, text, end);
}

/* A column: its width at 80 and at 120 columns, 0: not there. NAME takes what is left. */
static const struct column {
	const struct bwl_field *field;
	const char *head;
	int narrow, wide; /* negative: to the left */
} columns[] = {
	{ &bwl_f_state_counted, "STATE", -8, -8 }, { &bwl_f_passes, "PASSES NOW", 11, 11 },
	{ &bwl_f_rate, "LIMIT", 9, 10 },           { &bwl_f_share, "OF", 4, 5 },
	{ &bwl_f_drops, "DROPS NOW", 11, 11 },     { NULL, "USED", 5, 0 },
	{ &bwl_f_left, "VOLUME USED", 0, 20 },     { &bwl_f_expires, "ENDS", 0, 10 },
};
#define NCOLUMNS (sizeof(columns) / sizeof(*columns))

static int width_of(const struct column *c, size_t terminal)
{
	return terminal >= WIDE ? c->wide : c->narrow;
}

static int name_width(size_t terminal)
{
	int left = (int)terminal;

	for (size_t i = 0; i < NCOLUMNS; i++)
		if (width_of(&columns[i], terminal))
			left -= abs(width_of(&columns[i], terminal)) + 2;
	return left < 8 ? 8 : left;
}

static void used_percent(const struct bwl_left *l, char buf[static 16])
{
	if (!l->has_volume)
		strcpy(buf, "-");
	else
		snprintf(buf, 16, "%.0f%%",
			 l->volume ? 100 * (double)l->used / (double)l->volume : 100.0);
}

/* A cell that is too long for its column ends with a mark. */
static void put_cell(FILE *f, const char *text, int width)
{
	int most = abs(width), n = (int)strlen(text);

	if (n > most)
		fprintf(f, "%.*s>", most - 1, text);
	else
		fprintf(f, "%*s", width, text);
}

static void put_peer(FILE *f, const struct screen *s, const struct top_row *row)
{
	char line[1024] = "", used[16];
	struct bwl_peer_row p;
	struct bwl_value x;
	FILE *l = fmemopen(line, sizeof(line) - 1, "w");

	if (!l || !top_peer(&s->look, row, &p)) {
		if (l)
			fclose(l);
		fputs(LINE_END, f);
		return;
	}
	x = bwl_f_peer.get(&p);
	put_cell(l, x.text, -name_width(s->columns));
	json_decref(x.json);
	used_percent(&p.left, used);
	for (size_t i = 0; i < NCOLUMNS; i++) {
		if (!width_of(&columns[i], s->columns))
			continue;
		fputs("  ", l);
		if (!columns[i].field) {
			put_cell(l, used, width_of(&columns[i], s->columns));
			continue;
		}
		x = columns[i].field->get(&p);
		put_cell(l, x.text, width_of(&columns[i], s->columns));
		json_decref(x.json);
	}
	fclose(l);
	put_line(f, line, s->columns, LINE_END);
}

static void put_heads(FILE *f, const struct screen *s)
{
	fputs("\033[7m", f);
	put_cell(f, "NAME", -name_width(s->columns));
	for (size_t i = 0; i < NCOLUMNS; i++) {
		if (!width_of(&columns[i], s->columns))
			continue;
		fputs("  ", f);
		put_cell(f, columns[i].head, width_of(&columns[i], s->columns));
	}
	fputs("\033[0m" LINE_END, f);
}

static void put_keys(FILE *f, const struct screen *s)
{
	char line[300];

	if (s->typing)
		snprintf(line, sizeof(line), "filter: %s_   Enter keeps it, Esc shows all",
			 s->t->filter);
	else
		snprintf(line, sizeof(line), "%s%zu to %zu of %zu, by %s%s%s%s%s",
			 s->paused ? "PAUSED  " : "", s->look.n ? s->first + 1 : 0,
			 s->first + room(s) < s->look.n ? s->first + room(s) : s->look.n, s->look.n,
			 top_sort_words[s->t->sort], *s->t->filter ? ", with '" : "", s->t->filter,
			 *s->t->filter ? "'" : "",
			 s->keys ? "   s sort  / filter  p pause  q quit  arrows" : "");
	put_line(f, line, s->columns, "\033[K");
}

static void draw(struct screen *s)
{
	size_t last, size, len = 0;
	char *text = NULL, *head = NULL;
	FILE *f = bwl_must(open_memstream(&text, &len)),
	     *h = bwl_must(open_memstream(&head, &size));

	measure(s);
	stay_within(s);
	last = s->first + room(s) < s->look.n ? s->first + room(s) : s->look.n;
	top_head(&s->look, h);
	fclose(h);
	fputs(HOME, f);
	put_line(f, head, s->columns, LINE_END);
	put_heads(f, s);
	for (size_t i = s->first; i < last; i++)
		put_peer(f, s, &s->look.rows[i]);
	for (size_t i = last - s->first; i < room(s); i++)
		fputs(LINE_END, f);
	put_keys(f, s);
	fputs(CLEAR_DOWN, f);
	fclose(f);
	if (bwl_bytes_write(STDOUT_FILENO, text, len))
		s->done = true;
	free(text);
	free(head);
}

static void choose(struct screen *s)
{
	if (s->look.rows)
		top_choose(&s->look, s->t);
}

static void type(struct screen *s, char key)
{
	size_t n = strlen(s->t->filter);

	if (key == '\r' || key == '\n') {
		s->typing = false;
	} else if (key == '\033') {
		*s->t->filter = '\0';
		s->typing = false;
	} else if ((key == 0x7f || key == '\b') && n) {
		s->t->filter[n - 1] = '\0';
	} else if (key > ' ' && key <= '~' && n + 1 < TOP_FILTER) {
		s->t->filter[n] = key;
		s->t->filter[n + 1] = '\0';
	}
	s->first = 0;
}

/* Arrows and pages: the sequences that begin with ESC [. */
static void move(struct screen *s, const char *sequence)
{
	size_t page = room(s);

	if (*sequence == 'A')
		s->first -= s->first > 0;
	else if (*sequence == 'B')
		s->first++;
	else if (*sequence == '5')
		s->first -= s->first < page ? s->first : page;
	else if (*sequence == '6')
		s->first += page;
	else if (*sequence == 'H')
		s->first = 0;
	else if (*sequence == 'F')
		s->first = s->look.n;
	stay_within(s);
}

/* Bytes of one sequence; what a terminal sends at once is read at once. */
static size_t one_key(struct screen *s, const char *key, size_t n)
{
	if (!s->typing && *key == '\033' && n >= 3 && (key[1] == '[' || key[1] == 'O')) {
		move(s, key + 2);
		return key[2] == '5' || key[2] == '6' ? 4 : 3;
	}
	if (s->typing)
		type(s, *key);
	else if (*key == 'q')
		s->done = true;
	else if (*key == 'p')
		s->paused = !s->paused;
	else if (*key == '/')
		s->typing = true;
	else if (*key == 's')
		s->t->sort = (s->t->sort + 1) % TOP_SORT_COUNT;
	return 1;
}

static void take_keys(struct screen *s)
{
	char key[64];
	ssize_t n = read(STDIN_FILENO, key, sizeof(key));

	if (n <= 0) { /* the terminal has gone */
		s->done = n == 0 || (errno != EINTR && errno != EAGAIN);
		return;
	}
	for (size_t at = 0; at < (size_t)n && !s->done;)
		at += one_key(s, key + at, (size_t)n - at);
	choose(s);
}

/* Waits until then, or for a key, or a new window size; what came is in the picture. */
static void wait_for(struct screen *s, uint64_t until_ns)
{
	struct pollfd p = { .fd = s->keys ? STDIN_FILENO : -1, .events = POLLIN };
	uint64_t now = bwl_now_ns();
	int ms = s->paused ? -1 : now < until_ns ? (int)((until_ns - now + 999999) / 1000000) : 0;

	if (poll(&p, 1, ms) > 0)
		take_keys(s);
	if (s->look.rows && !s->done)
		draw(s);
}

static void on_resize(int sig)
{
	(void)sig; /* its arrival ends poll() */
}

static void terminal(struct screen *s, bool on)
{
	struct sigaction a = { .sa_handler = on_resize };
	struct termios t;

	if (on) {
		s->keys = !tcgetattr(STDIN_FILENO, &s->was);
		t = s->was;
		t.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		t.c_cc[VSUSP] = _POSIX_VDISABLE; /* would leave the terminal as it is here */
		t.c_cc[VQUIT] = _POSIX_VDISABLE;
		t.c_cc[VMIN] = 1;
		t.c_cc[VTIME] = 0;
		if (s->keys)
			tcsetattr(STDIN_FILENO, TCSANOW, &t);
		sigaction(SIGWINCH, &a, NULL);
	} else if (s->keys) {
		tcsetattr(STDIN_FILENO, TCSANOW, &s->was);
	}
	bwl_bytes_write(STDOUT_FILENO, on ? SCREEN_ON : SCREEN_OFF,
			strlen(on ? SCREEN_ON : SCREEN_OFF));
}

int top_screen(struct ctl *c, uint64_t every_ns, struct top_choice *t)
{
	struct screen s = { .t = t };
	struct ctl_sample before = { 0 }, now = { 0 };
	uint64_t next_ns = bwl_now_ns() + every_ns;
	int r = top_look(c, &before, &now, &s.look);

	if (r)
		return r;
	terminal(&s, true);
	while (!r && !s.done && !ctl_stopped) {
		wait_for(&s, next_ns);
		if (s.done || ctl_stopped || s.paused || bwl_now_ns() < next_ns)
			continue;
		ctl_sample_free(&before);
		before = now;
		now = (struct ctl_sample){ 0 };
		r = top_look(c, &before, &now, &s.look);
		if (!r) {
			choose(&s);
			draw(&s);
		}
		next_ns = bwl_now_ns() + every_ns;
	}
	terminal(&s, false);
	top_look_free(&s.look);
	ctl_sample_free(&before);
	ctl_sample_free(&now);
	return r;
}
