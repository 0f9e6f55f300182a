/* Processors: cpu.*, and Salt's num_cpus, cpu_model, cpu_flags. */
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/number.h"
#include "states/facts/scan.h"

/* The first processor is enough: all of /proc/cpuinfo is slow on a machine that has many. */
#define CPUINFO_MAX ((size_t)4 << 10)

/* Count the numbers in "0-3,8,10-11". */
static int64_t count_ranges(struct str ranges)
{
    int64_t count = 0;

    while (ranges.p) {
        struct str range = str_cut(&ranges, ',');
        struct str last = range;
        int64_t from = scan_number(str_cut(&last, '-'));

        count += last.p ? scan_number(last) - from + 1 : 1;
    }
    return count;
}

static int64_t count_logical(struct scan *scan)
{
    struct str online = scan_line(scan, "sys/devices/system/cpu/online");
    long count = online.p ? 0 : sysconf(_SC_NPROCESSORS_ONLN);

    return online.p ? count_ranges(online) : count > 0 ? count : 1;
}

/* Each core counts once, however many threads it runs. */
static int64_t count_cores(struct scan *scan, struct str info, int64_t logical)
{
    int64_t siblings = scan_number(scan_field(scan, info, "siblings", ':'));
    int64_t cores = scan_number(scan_field(scan, info, "cpu cores", ':'));

    return siblings > 0 && cores > 0 && cores <= siblings ? logical * cores / siblings : logical;
}

static void add_mhz(struct scan *scan, struct value_map *cpu, struct str text)
{
    struct err ignored;
    double mhz;

    if (text.p && number_parse_double(text, &mhz, &ignored) == 0)
        scan_add(scan, cpu, "mhz", value_double(mhz));
}

static void add_flags(struct scan *scan, struct str words)
{
    struct value_list *flags = scan_add_list(scan, scan->facts, "cpu_flags");

    for (struct str word = scan_word(&words); word.p; word = scan_word(&words))
        scan_push_text(scan, flags, word);
}

void facts_cpu(struct scan *scan)
{
    struct value_map *cpu = scan_add_map(scan, scan->facts, "cpu");
    struct str info = scan_read(scan, "proc/cpuinfo", CPUINFO_MAX);
    struct str model = scan_field(scan, info, "model name", ':');
    struct str flags = scan_field(scan, info, "flags", ':');
    struct str cache = scan_field(scan, info, "cache size", ':');
    int64_t logical = count_logical(scan);

    if (!model.p)
        model = scan_field(scan, info, "Processor", ':'); /* ARM */
    scan_add_int(scan, cpu, "count", logical);
    scan_add_int(scan, cpu, "logical_count", logical);
    scan_add_int(scan, cpu, "physical_count", count_cores(scan, info, logical));
    scan_add_text(scan, cpu, "model", model);
    scan_add_text(scan, cpu, "vendor", scan_field(scan, info, "vendor_id", ':'));
    add_mhz(scan, cpu, scan_field(scan, info, "cpu MHz", ':'));
    if (cache.p)
        scan_add_int(scan, cpu, "cache_size", scan_number(cache));
    scan_add_int(scan, scan->facts, "num_cpus", logical);
    scan_add_text(scan, scan->facts, "cpu_model", model);
    add_flags(scan, flags.p ? flags : scan_field(scan, info, "Features", ':'));
}
