// SPDX-License-Identifier: GPL-2.0-or-later
/* See conf.h. */
#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bwl/bytes.h"
#include "conf.h"
#include "fleet/store/layout.h"

#define CONF_MAX 65536

static char *trim(char *s)
{
	char *end = s + strlen(s);

	while (end > s && isspace((unsigned char)end[-1]))
		*--end = '\0';
	while (isspace((unsigned char)*s))
		s++;
	return s;
}

struct place {
	const char *key;
	const char **value;
};

static int take_line(struct ctl *c, struct fleet_conf *x, char *line)
{
	const struct place places[] = {
		{ "servers", &x->servers }, { "ca", &x->ca },
		{ "cert", &x->cert },       { "key", &x->cert_key },
		{ "prefix", &x->prefix },   { "root", &x->root },
		{ "fleet", &x->fleet },     { "controller", &x->controller },
	};
	char *eq = strchr(line, '='), *key, *value;

	if (!eq)
		return bwl_fail(&c->err, EINVAL, "a line must be KEY = VALUE, or begin with #");
	*eq = '\0';
	key = trim(line);
	value = trim(eq + 1);
	if (!*value)
		return bwl_fail(&c->err, EINVAL, "'%.32s' has no value", key);
	if (!strcmp(key, "accept-etcd-holes") && !strcmp(value, "yes")) {
		x->accept_holes = true;
		return 0;
	}
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		if (strcmp(places[i].key, key))
			continue;
		if (!*places[i].value)
			*places[i].value = value;
		return 0;
	}
	bwl_fail(&c->err, EINVAL, "unknown key '%.32s'", key);
	return bwl_hint(
		&c->err,
		"servers, ca, cert, key, prefix, fleet, root, controller, or accept-etcd-holes = yes");
}

/* The default file need not exist. */
static int read_file(struct ctl *c, struct fleet_conf *x)
{
	const char *file = x->file ? x->file : FLEET_CONF;
	BWL_AUTO_CLOSE int fd = open(file, O_RDONLY | O_CLOEXEC);
	unsigned number = 0;
	char *at, *line;
	size_t len;
	int r;

	if (fd < 0 && errno == ENOENT && !x->file)
		return 0;
	if (fd < 0)
		return bwl_fail(&c->err, errno, "cannot read %s: %s", file, strerror(errno));
	r = bwl_bytes_read(fd, CONF_MAX, &x->text, &len, &c->err);
	at = x->text;
	while (!r && (line = strsep(&at, "\n"))) {
		number++;
		line = trim(line);
		if (*line && *line != '#')
			r = take_line(c, x, line);
	}
	if (r) {
		snprintf(c->err.file, sizeof(c->err.file), "%s", file);
		c->err.line = number;
	}
	return r;
}

int fleet_conf_settle(struct ctl *c, struct fleet_conf *x)
{
	int r = read_file(c, x);

	if (r)
		return r;
	x->prefix = x->prefix ? x->prefix : "/bwl/v1";
	x->tls = (struct bwl_grpc_tls){ x->ca, x->cert, x->cert_key };
	if (!x->ca || !x->cert || !x->cert_key) {
		bwl_fail(&c->err, EINVAL, "no certificate is configured: ca, cert and key");
		return bwl_hint(&c->err, "in " FLEET_CONF ", or --ca, --cert and --cert-key");
	}
	r = bwl_store_prefix_ok(x->prefix, &c->err);
	if (r || !x->servers)
		return r;
	x->list = bwl_must(strdup(x->servers));
	return bwl_etcd_servers(x->list, x->server, &x->nservers, &c->err);
}

void fleet_conf_done(struct fleet_conf *x)
{
	free(x->text);
	free(x->list);
}
