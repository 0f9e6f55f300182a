/* How the machine is doing, as the kernel says it, under the names of Salt's status module. */
#include <stdlib.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>
#include <utmpx.h>

#include "core/base/err.h"
#include "core/base/glob.h"
#include "core/base/number.h"
#include "states/state/module.h"
#include "core/sys/clock.h"
#include "core/sys/fs.h"
#include "core/sys/process.h"

#define ARGS            struct status_args
#define FILE_MAX        ((size_t)16 << 20)
#define COMMAND_TIMEOUT (30 * CLOCK_SECOND)
#define TIME_SIZE       256

struct status_args {
    const char *text;
};

/* clang-format off */
static const struct param pid_params[] = {
    PARAM("sig", STR, ARGS, text, "a text in the command line", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    { 0 },
};
static const struct param path_params[] = {
    PARAM("path", STR, ARGS, text, "a mount point, or a glob of them (default: all)", .flags = PARAM_PRIMARY),
    { 0 },
};
static const struct param time_params[] = {
    PARAM("format", STR, ARGS, text, "as strftime has it", .default_text = "%A, %d. %B %Y %I:%M%p", .flags = PARAM_PRIMARY),
    { 0 },
};
/* clang-format on */

static int read_kernel(struct state_run *run, const char *path, struct str *ret, struct err *err)
{
    if (fs_read(run->arena, path, FILE_MAX, ret, err) < 0)
        return -1;
    return ret->p ? 0 : err_set(err, ERR_NOT_FOUND, "%s does not exist", path);
}

static void put_status_value(struct state_run *run, struct value_map *map, const char *key,
                             struct value v)
{
    value_map_set(run->arena, map, value_text(key), v);
}

/* A number when it is one. */
static struct value read_status_word(struct state_run *run, struct str word)
{
    struct err ignored;
    int64_t number;

    return number_parse_int(word, &number, &ignored) == 0 ? value_int(number)
                                                          : value_str(arena_str(run->arena, word));
}

static struct str next_status_word(struct str *line)
{
    *line = str_trim(*line);
    return str_cut(line, ' ');
}

/* --- load, time, memory -------------------------------------------------------------------- */

static int call_loadavg(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    static const char *const keys[] = { "1-min", "5-min", "15-min" };
    struct value_map *map = value_map_new(run->arena, ARRAY_LEN(keys));
    double loads[ARRAY_LEN(keys)];

    (void)args;
    if (getloadavg(loads, ARRAY_LEN(keys)) != ARRAY_LEN(keys))
        return err_set(err, ERR_SYSTEM, "the load is not known");
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        put_status_value(run, map, keys[i], value_double(loads[i]));
    *ret = value_map(map);
    return 0;
}

/* Sessions of users, as who lists them. */
static int64_t count_sessions(void)
{
    const struct utmpx *entry;
    int64_t count = 0;

    setutxent();
    while ((entry = getutxent()))
        count += entry->ut_type == USER_PROCESS;
    endutxent();
    return count;
}

static struct value print_utc(struct state_run *run, time_t when)
{
    char text[TIME_SIZE];
    struct tm parts;

    gmtime_r(&when, &parts);
    (void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
    return value_text(arena_strdup(run->arena, text));
}

static int call_uptime(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    struct value_map *map = value_map_new(run->arena, 6);
    struct sysinfo info;
    const int64_t now = clock_wall() / CLOCK_SECOND;

    (void)args;
    (void)err;
    (void)sysinfo(&info); /* fails only for a bad address */
    put_status_value(run, map, "seconds", value_int(info.uptime));
    put_status_value(run, map, "since_iso", print_utc(run, (time_t)(now - info.uptime)));
    put_status_value(run, map, "since_t", value_int(now - info.uptime));
    put_status_value(run, map, "days", value_int(info.uptime / 86400));
    put_status_value(run, map, "time",
                     value_text(arena_printf(run->arena, "%ld:%02ld", info.uptime % 86400 / 3600,
                                             info.uptime % 3600 / 60)));
    put_status_value(run, map, "users", value_int(count_sessions()));
    *ret = value_map(map);
    return 0;
}

static int call_nproc(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    (void)run;
    (void)args;
    (void)err;
    *ret = value_int(sysconf(_SC_NPROCESSORS_ONLN));
    return 0;
}

static int call_version(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    struct str text;

    (void)args;
    if (read_kernel(run, "/proc/version", &text, err) < 0)
        return -1;
    *ret = value_str(str_trim(text));
    return 0;
}

/* "MemTotal:  16 kB": { MemTotal: { value: "16", unit: kB } }, all as text, as in Salt. */
static int call_meminfo(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    struct str text;

    (void)args;
    if (read_kernel(run, "/proc/meminfo", &text, err) < 0)
        return -1;
    *ret = value_map(value_map_new(run->arena, 32));
    while (text.n > 0) {
        struct str line = str_cut(&text, '\n');
        const struct str key = str_cut(&line, ':');
        struct value_map *one = value_map_new(run->arena, 2);
        struct str unit;

        if (!line.p)
            continue;
        put_status_value(run, one, "value",
                         value_str(arena_str(run->arena, next_status_word(&line))));
        unit = str_trim(line.p ? line : STR(""));
        if (unit.n > 0)
            put_status_value(run, one, "unit", value_str(arena_str(run->arena, unit)));
        value_map_set(run->arena, ret->map, value_str(arena_str(run->arena, str_trim(key))),
                      value_map(one));
    }
    return 0;
}

/* The first processor speaks for all; flags are a list. */
static int call_cpuinfo(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    struct str text;

    (void)args;
    if (read_kernel(run, "/proc/cpuinfo", &text, err) < 0)
        return -1;
    *ret = value_map(value_map_new(run->arena, 32));
    while (text.n > 0) {
        struct str line = str_cut(&text, '\n');
        const struct value key = value_str(arena_str(run->arena, str_trim(str_cut(&line, ':'))));
        struct value_list *flags = value_list_new(run->arena, 64);

        if (!line.p || value_map_find(ret->map, &key))
            continue;
        if (!str_is(key.s, "flags") && !str_is(key.s, "Features")) {
            value_map_set(run->arena, ret->map, key, read_status_word(run, str_trim(line)));
            continue;
        }
        while (line.n > 0)
            value_list_push(run->arena, flags,
                            value_str(arena_str(run->arena, next_status_word(&line))));
        value_map_set(run->arena, ret->map, key, value_list(flags));
    }
    return 0;
}

/* --- tables of the kernel: a name and numbers in each line ------------------------------- */

static const char *const cpu_keys[] = { "user",    "nice",  "system", "idle",       "iowait", "irq",
                                        "softirq", "steal", "guest",  "guest_nice", NULL };
static const char *const disk_keys[] = { "reads_issued",
                                         "reads_merged",
                                         "sectors_read",
                                         "ms_spent_reading",
                                         "writes_completed",
                                         "writes_merged",
                                         "sectors_written",
                                         "ms_spent_writing",
                                         "io_in_progress",
                                         "ms_spent_in_io",
                                         "weighted_ms_spent_in_io",
                                         NULL };
static const char *const net_keys[] = { "rx_bytes", "rx_packets", "rx_errs",       "rx_drop",
                                        "rx_fifo",  "rx_frame",   "rx_compressed", "rx_multicast",
                                        "tx_bytes", "tx_packets", "tx_errs",       "tx_drop",
                                        "tx_fifo",  "tx_colls",   "tx_carrier",    "tx_compressed",
                                        NULL };

static struct value read_columns(struct state_run *run, struct str line, const char *const *keys)
{
    struct value_map *map = value_map_new(run->arena, 16);

    for (; *keys && line.n > 0; keys++)
        put_status_value(run, map, *keys, read_status_word(run, next_status_word(&line)));
    return value_map(map);
}

static int call_cpustats(struct state_run *run, const void *args, struct value *ret,
                         struct err *err)
{
    struct str text;

    (void)args;
    if (read_kernel(run, "/proc/stat", &text, err) < 0)
        return -1;
    *ret = value_map(value_map_new(run->arena, 16));
    while (text.n > 0) {
        struct str line = str_cut(&text, '\n');
        const struct value key = value_str(arena_str(run->arena, next_status_word(&line)));

        if (key.s.n > 0 && line.p && !str_is(key.s, "intr") && !str_is(key.s, "softirq"))
            value_map_set(run->arena, ret->map, key,
                          str_starts(key.s, STR("cpu")) ? read_columns(run, line, cpu_keys)
                                                        : read_status_word(run, str_trim(line)));
    }
    return 0;
}

static int call_vmstats(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    struct str text;

    (void)args;
    if (read_kernel(run, "/proc/vmstat", &text, err) < 0)
        return -1;
    *ret = value_map(value_map_new(run->arena, 128));
    while (text.n > 0) {
        struct str line = str_cut(&text, '\n');
        const struct str key = next_status_word(&line);

        if (key.n > 0 && line.p)
            value_map_set(run->arena, ret->map, value_str(arena_str(run->arena, key)),
                          read_status_word(run, str_trim(line)));
    }
    return 0;
}

/* major minor name, and numbers */
static int call_diskstats(struct state_run *run, const void *args, struct value *ret,
                          struct err *err)
{
    struct str text;

    (void)args;
    if (read_kernel(run, "/proc/diskstats", &text, err) < 0)
        return -1;
    *ret = value_map(value_map_new(run->arena, 16));
    while (text.n > 0) {
        struct str line = str_cut(&text, '\n'), name;

        (void)next_status_word(&line);
        (void)next_status_word(&line);
        name = line.p ? next_status_word(&line) : line;
        if (name.n > 0 && line.p)
            value_map_set(run->arena, ret->map, value_str(arena_str(run->arena, name)),
                          read_columns(run, line, disk_keys));
    }
    return 0;
}

static int call_netdev(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    struct str text;

    (void)args;
    if (read_kernel(run, "/proc/net/dev", &text, err) < 0)
        return -1;
    *ret = value_map(value_map_new(run->arena, 8));
    while (text.n > 0) {
        struct str line = str_cut(&text, '\n');
        const struct str name = str_trim(str_cut(&line, ':'));

        if (line.p)
            value_map_set(run->arena, ret->map, value_str(arena_str(run->arena, name)),
                          read_columns(run, line, net_keys));
    }
    return 0;
}

/* Two lines for each protocol: "TcpExt: name name", "TcpExt: 1 2". */
static int call_netstats(struct state_run *run, const void *args, struct value *ret,
                         struct err *err)
{
    struct str text;

    (void)args;
    if (read_kernel(run, "/proc/net/netstat", &text, err) < 0)
        return -1;
    *ret = value_map(value_map_new(run->arena, 4));
    while (text.n > 0) {
        struct str names = str_cut(&text, '\n');
        struct str numbers = text.n > 0 ? str_cut(&text, '\n') : text;
        const struct str protocol = str_cut(&names, ':');
        struct value_map *map = value_map_new(run->arena, 64);

        (void)str_cut(&numbers, ':');
        while (names.n > 0 && numbers.n > 0) {
            const struct str name = next_status_word(&names);

            value_map_set(run->arena, map, value_str(arena_str(run->arena, name)),
                          read_status_word(run, next_status_word(&numbers)));
        }
        value_map_set(run->arena, ret->map, value_str(arena_str(run->arena, protocol)),
                      value_map(map));
    }
    return 0;
}

/* --- disks and processes ----------------------------------------------------------------- */

static void add_status_usage(struct state_run *run, struct value_map *all, const char *path)
{
    struct value_map *map = value_map_new(run->arena, 2);
    struct statvfs fs;

    if (statvfs(path, &fs) < 0)
        return;
    put_status_value(run, map, "available", value_int((int64_t)(fs.f_bavail * fs.f_frsize)));
    put_status_value(run, map, "total", value_int((int64_t)(fs.f_blocks * fs.f_frsize)));
    put_status_value(run, all, path, value_map(map));
}

static int call_diskusage(struct state_run *run, const void *args, struct value *ret,
                          struct err *err)
{
    const struct status_args *want = args;
    struct str text;

    if (read_kernel(run, "/proc/mounts", &text, err) < 0)
        return -1;
    *ret = value_map(value_map_new(run->arena, 8));
    while (text.n > 0) {
        struct str line = str_cut(&text, '\n');
        const char *path;

        (void)next_status_word(&line);
        path = line.p ? arena_str(run->arena, next_status_word(&line)).p : NULL;
        if (path && (!want->text || glob_match(str_from(want->text), str_from(path))))
            add_status_usage(run, ret->map, path);
    }
    return 0;
}

/* The command line of a process, with blanks between its words; a NULL view: none. */
static struct str read_status_command(struct state_run *run, const char *pid)
{
    struct str text;
    struct err ignored;
    char *words;

    if (fs_read(run->arena, arena_printf(run->arena, "/proc/%s/cmdline", pid), FILE_MAX, &text,
                &ignored) < 0 ||
        text.n == 0)
        return (struct str){ NULL, 0 };
    words = arena_alloc(run->arena, text.n + 1);
    for (size_t i = 0; i < text.n; i++)
        words[i] = (char)(text.p[i] ? text.p[i] : ' ');
    words[text.n] = '\0';
    return str_trim((struct str){ words, text.n });
}

static int list_processes(struct state_run *run, const char *only, struct value_map *map,
                          struct err *err)
{
    struct fs_names names = { .list = VEC_INIT };

    if (fs_list(run->arena, "/proc", &names, err) < 0)
        return -1;
    VEC_EACH (&names.list, name) {
        struct str command;

        if (**name < '0' || **name > '9')
            continue;
        command = read_status_command(run, *name);
        if (command.p && (!only || str_find(command, str_from(only), 0) != STR_NONE))
            put_status_value(run, map, *name, value_str(command));
    }
    return 0;
}

static int call_procs(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    (void)args;
    *ret = value_map(value_map_new(run->arena, 64));
    return list_processes(run, NULL, ret->map, err);
}

/* Those whose command line has the text, without this one: a line for each. */
static int call_pid(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    struct value_map *map = value_map_new(run->arena, 8);
    AUTO_BUF struct buf out = BUF_INIT(FILE_MAX);
    const char *own = arena_printf(run->arena, "%d", (int)getpid());

    if (list_processes(run, ((const struct status_args *)args)->text, map, err) < 0)
        return -1;
    for (size_t i = 0; i < map->count; i++)
        if (!str_is(map->pairs[i].key.s, own))
            buf_printf(&out, "%s%s", out.n > 0 ? "\n" : "", map->pairs[i].key.s.p);
    *ret = value_str(buf_copy(&out, run->arena));
    return 0;
}

/* --- users and time, and all of it ------------------------------------------------------- */

/* USER TTY LOGIN@ IDLE JCPU PCPU WHAT */
static struct value read_login(struct state_run *run, struct str line)
{
    static const char *const keys[] = { "user", "tty", "login", "idle", "jcpu", "pcpu" };
    struct value_map *map = value_map_new(run->arena, ARRAY_LEN(keys) + 1);

    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        put_status_value(
            run, map, keys[i],
            value_str(arena_str(run->arena, line.n > 0 ? next_status_word(&line) : STR(""))));
    put_status_value(run, map, "what",
                     value_str(arena_str(run->arena, line.n > 0 ? str_trim(line) : STR(""))));
    return value_map(map);
}

static int call_w(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    static const char *const argv[] = { "w", "-fh", NULL };
    const struct process_spec spec = { .argv = argv };
    struct process_result result;

    (void)args;
    if (state_command(run, &spec, COMMAND_TIMEOUT, &result, err) < 0)
        return -1;
    if (!process_status_ok(result.status))
        return err_set(err, ERR_INVALID, "w: %.*s", STR_ARG(str_trim(result.err)));
    *ret = value_list(value_list_new(run->arena, 4));
    while (result.out.n > 0) {
        const struct str line = str_trim(str_cut(&result.out, '\n'));

        if (line.n > 0)
            value_list_push(run->arena, ret->list, read_login(run, line));
    }
    return 0;
}

/* The time of the machine, in the form of strftime. */
static int call_time(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const char *format = ((const struct status_args *)args)->text;
    const time_t now = (time_t)(clock_wall() / CLOCK_SECOND);
    /* by a pointer, since the format is not known to the compiler */
    size_t (*const print)(char *, size_t, const char *, const struct tm *) = strftime;
    char text[TIME_SIZE] = "";
    struct tm parts;

    localtime_r(&now, &parts);
    if (format[0] && print(text, sizeof(text), format, &parts) == 0)
        return err_set(err, ERR_LIMIT, "format '%s' gives more than %d bytes, or nothing", format,
                       TIME_SIZE - 1);
    *ret = value_text(arena_strdup(run->arena, text));
    return 0;
}

static const struct status_part {
    const char *name;
    int (*call)(struct state_run *run, const void *args, struct value *ret, struct err *err);
} parts_of_all[] = {
    { "cpuinfo", call_cpuinfo },
    { "cpustats", call_cpustats },
    { "diskstats", call_diskstats },
    { "diskusage", call_diskusage },
    { "loadavg", call_loadavg },
    { "meminfo", call_meminfo },
    { "netdev", call_netdev },
    { "netstats", call_netstats },
    { "uptime", call_uptime },
    { "vmstats", call_vmstats },
    { "w", call_w },
};

static int call_all_status(struct state_run *run, const void *args, struct value *ret,
                           struct err *err)
{
    const struct status_args none = { .text = NULL };

    (void)args;
    *ret = value_map(value_map_new(run->arena, ARRAY_LEN(parts_of_all)));
    for (size_t i = 0; i < ARRAY_LEN(parts_of_all); i++) {
        struct value part;

        if (parts_of_all[i].call(run, &none, &part, err) < 0)
            return err_wrap(err, "status.%s", parts_of_all[i].name);
        put_status_value(run, ret->map, parts_of_all[i].name, part);
    }
    return 0;
}

/* The part that a key of the settings names, "status.cpustats.custom"; NULL: it is another key. */
static const struct status_part *find_status_part(struct str key)
{
    for (size_t i = 0; i < ARRAY_LEN(parts_of_all); i++) {
        struct str rest = key;

        if (str_is(str_cut(&rest, '.'), "status") && rest.p &&
            str_is(str_cut(&rest, '.'), parts_of_all[i].name) && rest.p && str_is(rest, "custom"))
            return &parts_of_all[i];
    }
    return NULL;
}

static int add_status_custom(struct state_run *run, const struct status_part *part,
                             const struct value *keys, struct value_map *all, struct err *err)
{
    const struct status_args none = { .text = NULL };
    struct value status;

    if (keys->kind != VALUE_LIST)
        return err_set(err, ERR_INVALID, "setting 'status.%s.custom' must be a list", part->name);
    if (part->call(run, &none, &status, err) < 0)
        return err_wrap(err, "status.%s", part->name);
    for (size_t i = 0; i < keys->list->count; i++) {
        const struct value *key = &keys->list->items[i];
        const struct value *found =
            status.kind == VALUE_MAP ? value_map_find(status.map, key) : NULL;

        if (!found)
            return err_set(err, ERR_NOT_FOUND, "setting 'status.%s.custom': no such key '%.*s'",
                           part->name, key->kind == VALUE_STR ? str_int(key->s.n) : 0,
                           key->kind == VALUE_STR ? key->s.p : "");
        value_map_set(run->arena, all, *key, *found);
    }
    return 0;
}

static int call_custom(struct state_run *run, const void *args, struct value *ret, struct err *err)
{
    const struct value *settings = state_settings(run);

    (void)args;
    *ret = value_map(value_map_new(run->arena, 8));
    if (!settings || settings->kind != VALUE_MAP)
        return 0;
    for (size_t i = 0; i < settings->map->count; i++) {
        const struct value_pair *pair = &settings->map->pairs[i];
        const struct status_part *part =
            pair->key.kind == VALUE_STR ? find_status_part(pair->key.s) : NULL;

        if (part && add_status_custom(run, part, &pair->value, ret->map, err) < 0)
            return -1;
    }
    return 0;
}

/* clang-format off */
#define ROW(table, function) .params = table, .args_size = sizeof(ARGS), .call = function

const struct module functions_status[] = {
    { .name = "status.all_status", .summary = "all that the other functions say, by their names", ROW(params_none, call_all_status) },
    { .name = "status.cpuinfo", .summary = "the processor", ROW(params_none, call_cpuinfo) },
    { .name = "status.cpustats", .summary = "how the processors spent their time", ROW(params_none, call_cpustats) },
    { .name = "status.custom", .summary = "fields named by settings such as 'status.cpustats.custom'", ROW(params_none, call_custom) },
    { .name = "status.diskstats", .summary = "disk statistics: reads and writes", ROW(params_none, call_diskstats) },
    { .name = "status.diskusage", .summary = "the bytes of mounted file systems", ROW(path_params, call_diskusage) },
    { .name = "status.loadavg", .summary = "the load of the last 1, 5 and 15 minutes", ROW(params_none, call_loadavg) },
    { .name = "status.meminfo", .summary = "the memory", ROW(params_none, call_meminfo) },
    { .name = "status.netdev", .summary = "interface statistics: bytes and packets", ROW(params_none, call_netdev) },
    { .name = "status.netstats", .summary = "counters of the network protocols", ROW(params_none, call_netstats) },
    { .name = "status.nproc", .summary = "the number of processors", ROW(params_none, call_nproc) },
    { .name = "status.pid", .summary = "processes with a text in their command line", ROW(pid_params, call_pid) },
    { .name = "status.procs", .summary = "all processes and their command lines", ROW(params_none, call_procs) },
    { .name = "status.time", .summary = "the time of the machine", ROW(time_params, call_time) },
    { .name = "status.uptime", .summary = "how long the machine has been running", ROW(params_none, call_uptime) },
    { .name = "status.version", .summary = "the version of the kernel", ROW(params_none, call_version) },
    { .name = "status.vmstats", .summary = "the virtual memory", ROW(params_none, call_vmstats) },
    { .name = "status.w", .summary = "logged-in users, as w shows them", ROW(params_none, call_w) },
    { 0 },
};
/* clang-format on */
