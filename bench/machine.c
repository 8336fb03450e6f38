// SPDX-License-Identifier: GPL-2.0-or-later
/* See machine.h. */
#include <dirent.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "bench/machine.h"

#define VULNERABILITIES "/sys/devices/system/cpu/vulnerabilities"

static void first_line(const char *path, char *line, size_t size)
{
	FILE *f = fopen(path, "re");

	line[0] = 0;
	if (!f)
		return;
	if (!fgets(line, (int)size, f))
		line[0] = 0;
	line[strcspn(line, "\n")] = 0;
	fclose(f);
}

/* The value of the first line of /proc/cpuinfo with this name; Arm uses other names than x86. */
static bool cpuinfo(const char *name, char *value, size_t size)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[512], *at;
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f)) {
		at = strchr(line, ':');
		found = at && !strncmp(line, name, strlen(name)) &&
			strchr("\t :", line[strlen(name)]);
		if (found) {
			at += 1 + strspn(at + 1, " \t");
			at[strcspn(at, "\n")] = 0;
			snprintf(value, size, "%s", at);
		}
	}
	if (f)
		fclose(f);
	return found;
}

static void cpu_model(char *model, size_t size)
{
	char name[128] = "", family[32] = "?", number[32] = "?";

	if (cpuinfo("model name", name, sizeof(name))) {
		/* In a guest the name may tell nothing, as "AMD EPYC" does. */
		cpuinfo("cpu family", family, sizeof(family));
		cpuinfo("model", number, sizeof(number));
		snprintf(model, size, "%s (family %s, model %s)", name, family, number);
	} else if (cpuinfo("CPU implementer", family, sizeof(family))) {
		cpuinfo("CPU part", number, sizeof(number));
		snprintf(model, size, "Arm, implementer %s, part %s", family, number);
	} else {
		snprintf(model, size, "unknown");
	}
}

enum bench_vendor bench_cpu_vendor(unsigned *ret_family)
{
	char vendor[64] = "", family[32] = "0";

	cpuinfo("vendor_id", vendor, sizeof(vendor));
	cpuinfo("cpu family", family, sizeof(family));
	*ret_family = (unsigned)strtoul(family, NULL, 10);
	return !strcmp(vendor, "GenuineIntel")   ? BENCH_CPU_INTEL
	       : !strcmp(vendor, "AuthenticAMD") ? BENCH_CPU_AMD
						 : BENCH_CPU_OTHER;
}

static int visible(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

/* Prints each file of the directory, with its content. */
static void mitigations(FILE *f,
			void (*each)(FILE *f, const char *name, const char *says, bool first))
{
	struct dirent **list = NULL;
	char path[512], says[512];
	int i, n = scandir(VULNERABILITIES, &list, visible, alphasort);

	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), VULNERABILITIES "/%s", list[i]->d_name);
		first_line(path, says, sizeof(says));
		each(f, list[i]->d_name, says, i == 0);
		free(list[i]);
	}
	free(list);
}

static void each_text(FILE *f, const char *name, const char *says, bool first)
{
	(void)first;
	if (strcmp(says, "Not affected"))
		fprintf(f, "  %s: %s\n", name, says);
}

static void json_string(FILE *f, const char *s)
{
	fputc('"', f);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', f);
		if ((unsigned char)*s >= ' ')
			fputc(*s, f);
	}
	fputc('"', f);
}

static void each_json(FILE *f, const char *name, const char *says, bool first)
{
	fputs(first ? "" : ", ", f);
	json_string(f, name);
	fputs(": ", f);
	json_string(f, says);
}

void bench_machine_text(FILE *f)
{
	char model[256], load[128];
	struct utsname u;

	cpu_model(model, sizeof(model));
	first_line("/proc/loadavg", load, sizeof(load));
	uname(&u);
	fprintf(f,
		"CPU: %s, %ld of them online\nkernel: %s %s; BPF programs: %s\n"
		"load before: %s\nmitigations (others: not affected):\n",
		model, sysconf(_SC_NPROCESSORS_ONLN), u.release, u.machine, BENCH_CLANG, load);
	mitigations(f, each_text);
	fputc('\n', f);
}

void bench_machine_json(FILE *f)
{
	char model[256], load[128];
	struct utsname u;

	cpu_model(model, sizeof(model));
	first_line("/proc/loadavg", load, sizeof(load));
	load[strcspn(load, " ")] = 0;
	uname(&u);
	fputs("\"machine\": {\"cpu\": ", f);
	json_string(f, model);
	fprintf(f, ", \"cpus\": %ld, \"load\": %.2f, \"kernel\": ", sysconf(_SC_NPROCESSORS_ONLN),
		strtod(load, NULL));
	json_string(f, u.release);
	fputs(", \"arch\": ", f);
	json_string(f, u.machine);
	fputs(", \"clang\": ", f);
	json_string(f, BENCH_CLANG);
	fputs(",\n  \"mitigations\": {", f);
	mitigations(f, each_json);
	fputs("}}", f);
}
