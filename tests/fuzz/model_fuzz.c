// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a document that a tray serves, and as its status: accepted within bounds, or
 * refused; either way the fleet's documents are JSON and its metrics are valid.
 */
#include <math.h>
#include <string.h>
#include "fleet/model/answer.h"
#include "fleet/model/metrics.h"
#include "fuzz.h"

static void tell(const struct model_set *s)
{
	const struct model_asked a = {
		.set = s, .fleet = "f", .now_ns = 1000000000000, .wall_s = 1795372260
	};
	json_t *o[] = { model_status(&a),  model_top(&a),     model_usage(&a),
			model_reasons(&a), model_history(&a), model_exfil(&a, "1tb", NULL, NULL),
			model_closures(&a) };
	char *text;
	size_t len;
	FILE *f;

	for (size_t i = 0; i < sizeof(o) / sizeof(*o); i++) {
		text = json_dumps(o[i], 0);
		must(!!text, "can be told");
		free(text);
		json_decref(o[i]);
	}
	f = open_memstream(&text, &len);
	model_metrics(f, &a);
	fclose(f);
	must(!strstr(text, "nan") && len < 200000, "metrics are numbers, and bounded");
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct model_set s = { 0 };
	struct model_tray *t = model_tray_add(&s, "a", 1);
	json_t *o = json_loadb((const char *)data, size, JSON_REJECT_DUPLICATES, NULL);

	/* nothing changes if none of it was a document */
	model_take_status(&s, t, &(struct status_now){ 1, 1795372260 }, (const char *)data, size);
	model_take_top(&s, t, o, 1795372260);
	model_take_top(&s, t, o, 1795372261);
	model_take_usage(&s, t, o);
	model_take_reasons(t, o);
	model_take_exfil(&s, t, o);
	must(t->npeers <= MODEL_PEERS && t->nvolumes <= MODEL_VOLUMES, "bounded");
	must(s.names.n <= MODEL_NAMES_A_TRAY + 1, "names are, too");
	t->seen = true;
	tell(&s);
	json_decref(o);
	model_set_done(&s);
	return 0;
}
