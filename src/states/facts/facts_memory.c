/* Memory in bytes: memory.*; and Salt's mem_total and swap_total in MiB. */
#include "states/facts/scan.h"

#define MEMINFO_MAX ((size_t)8 << 10)
#define KIB         1024
#define MIB         ((int64_t)1024 * 1024)

static int64_t read_meminfo_bytes(struct scan *scan, struct str info, const char *key)
{
    int64_t kib = scan_number(scan_field(scan, info, key, ':'));

    return kib < INT64_MAX / KIB ? kib * KIB : 0;
}

void facts_memory(struct scan *scan)
{
    struct str info = scan_read(scan, "proc/meminfo", MEMINFO_MAX);
    int64_t total = read_meminfo_bytes(scan, info, "MemTotal");
    int64_t available = read_meminfo_bytes(scan, info, "MemAvailable");
    int64_t swap = read_meminfo_bytes(scan, info, "SwapTotal");
    int64_t swap_free = read_meminfo_bytes(scan, info, "SwapFree");
    struct value_map *memory;

    if (total == 0)
        return;
    memory = scan_add_map(scan, scan->facts, "memory");
    scan_add_int(scan, memory, "total", total);
    scan_add_int(scan, memory, "available", available);
    scan_add_int(scan, memory, "used", total - available);
    scan_add(scan, memory, "used_percent",
             value_double((double)(total - available) * 100.0 / (double)total));
    scan_add_int(scan, memory, "free", read_meminfo_bytes(scan, info, "MemFree"));
    scan_add_int(scan, memory, "swap_total", swap);
    scan_add_int(scan, memory, "swap_used", swap - swap_free);
    scan_add_int(scan, memory, "swap_free", swap_free);
    scan_add_int(scan, scan->facts, "mem_total", total / MIB);
    scan_add_int(scan, scan->facts, "swap_total", swap / MIB);
}
