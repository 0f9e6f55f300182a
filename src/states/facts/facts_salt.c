/* Facts about Salt and its runtime, for formulas that compare them. */
#include <stdlib.h>
#include <time.h>

#include "core/base/err.h"
#include "core/base/sha256.h"
#include "states/facts/scan.h"
#include "core/sys/fs.h"

/* The Salt release that state files are compatible with. */
#define SALT_MAJOR 3007
#define SALT_MINOR 1
/* Its Python version. */
#define PYTHON_MAJOR 3
#define PYTHON_MINOR 10
#define PYTHON_MICRO 14
/* Bytes of /etc/hosts. */
#define HOSTS_MAX ((size_t)1 << 20)

static void add_versions(struct scan *scan)
{
    struct value_list *salt = scan_add_list(scan, scan->facts, "saltversioninfo");
    struct value_list *python = scan_add_list(scan, scan->facts, "pythonversion");

    scan_add_text(scan, scan->facts, "saltversion",
                  str_from(arena_printf(scan->arena, "%d.%d", SALT_MAJOR, SALT_MINOR)));
    value_list_push(scan->arena, salt, value_int(SALT_MAJOR));
    value_list_push(scan->arena, salt, value_int(SALT_MINOR));
    value_list_push(scan->arena, python, value_int(PYTHON_MAJOR));
    value_list_push(scan->arena, python, value_int(PYTHON_MINOR));
    value_list_push(scan->arena, python, value_int(PYTHON_MICRO));
    scan_push_text(scan, python, STR("final"));
    value_list_push(scan->arena, python, value_int(0));
}

/* The version is in the name libsystemd-shared-252.so; systemd need not run. */
static struct str find_systemd_version(const struct scan *scan, const char *folder)
{
    static const char prefix[] = "libsystemd-shared-";
    struct fs_names names = { .list = VEC_INIT };
    struct err ignored;

    if (fs_list(scan->arena, arena_printf(scan->arena, "%s/%s", scan->root, folder), &names,
                &ignored) < 0)
        return (struct str){ NULL, 0 };
    VEC_EACH (&names.list, name) {
        struct str rest = str_from(*name);

        if (!str_starts(rest, str_from(prefix)))
            continue;
        rest = str_from_offset(rest, sizeof(prefix) - 1);
        return str_cut(&rest, '.');
    }
    return (struct str){ NULL, 0 };
}

static void add_systemd(struct scan *scan)
{
    /* Shorter names come first. */
    static const char *const folders[] = { "usr/lib/x86_64-linux-gnu/systemd",
                                           "usr/lib/aarch64-linux-gnu/systemd", "usr/lib/systemd",
                                           "lib/systemd" };
    struct value_map *map;

    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        const struct str version = find_systemd_version(scan, folders[i]);

        if (version.n == 0)
            continue;
        map = scan_add_map(scan, scan->facts, "systemd");
        scan_add_text(scan, map, "version", version);
        scan_add_text(scan, map, "features", STR(""));
        return;
    }
}

static void add_locale(struct scan *scan)
{
    const char *lang = getenv("LANG");
    struct str rest = str_from(lang && lang[0] ? lang : "C");
    const struct str language = str_cut(&rest, '.');
    struct value_map *map = scan_add_map(scan, scan->facts, "locale_info");
    const time_t now = time(NULL);
    struct tm parts;

    scan_add_text(scan, map, "defaultlanguage", language);
    scan_add_text(scan, map, "defaultencoding", rest.p ? rest : STR("unknown"));
    scan_add_text(scan, map, "detectedencoding", rest.p ? rest : STR("ascii"));
    if (localtime_r(&now, &parts) && parts.tm_zone)
        scan_add_text(scan, map, "timezone", str_from(parts.tm_zone));
}

/* A number that stays with the id. */
static void add_server_id(struct scan *scan)
{
    const struct value key = value_text("id");
    const struct value *id = value_map_find(scan->facts, &key);
    unsigned char digest[SHA256_SIZE];

    if (!id || id->kind != VALUE_STR)
        return;
    sha256(id->s.p, id->s.n, digest);
    scan_add_int(scan, scan->facts, "server_id",
                 (int64_t)(digest[28] & 0x7f) << 24 | (int64_t)digest[29] << 16 |
                     (int64_t)digest[30] << 8 | digest[31]);
}

/* The addresses of the machine's full name. */
static void add_grain_addresses(struct scan *scan, const char *from, const char *to,
                                const char *own)
{
    const struct value key = value_text(from);
    const struct value *all = value_map_find(scan->facts, &key);
    struct value_list *list = scan_add_list(scan, scan->facts, to);

    for (size_t i = 0; all && all->kind == VALUE_LIST && i < all->list->count; i++)
        if (all->list->items[i].kind == VALUE_STR &&
            !str_starts(all->list->items[i].s, str_from(own)))
            value_list_push(scan->arena, list, all->list->items[i]);
}

static bool list_has_text(const struct value_list *list, struct str text)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].kind == VALUE_STR && str_eq(list->items[i].s, text))
            return true;
    return false;
}

static bool has_address(const struct scan *scan, const char *fact, struct str address)
{
    const struct value key = value_text(fact);
    const struct value *all = value_map_find(scan->facts, &key);

    return all && all->kind == VALUE_LIST && list_has_text(all->list, address);
}

/* A word without its quotes, in which blanks do not end it. */
static struct str cut_command_word(const struct scan *scan, struct str *rest)
{
    char *word = arena_strndup(scan->arena, rest->p, rest->n);
    size_t i, n = 0;
    bool quoted = false;

    for (i = 0; i < rest->n && (quoted || rest->p[i] != ' '); i++)
        if (rest->p[i] == '"')
            quoted = !quoted;
        else
            word[n++] = rest->p[i];
    *rest = str_from_offset(*rest, i < rest->n ? i + 1 : i);
    return (struct str){ word, n };
}

/* Each word of the kernel command line: [name, value]; the value may be null. */
static void add_kernel_parameters(struct scan *scan)
{
    struct str rest = scan_line(scan, "proc/cmdline");
    struct value_list *list = scan_add_list(scan, scan->facts, "kernelparams");

    while (rest.n > 0) {
        struct str value = cut_command_word(scan, &rest);
        const struct str name = str_cut(&value, '=');
        struct value_list *pair;

        if (name.n == 0)
            continue;
        pair = value_list_new(scan->arena, 2);
        scan_push_text(scan, pair, name);
        value_list_push(scan->arena, pair, value.p ? value_str(value) : value_null());
        value_list_push(scan->arena, list, value_list(pair));
    }
}

/* The full names of the machine's addresses in /etc/hosts, without a DNS query. */
static void add_full_names(struct scan *scan)
{
    struct str text = scan_read(scan, "etc/hosts", HOSTS_MAX);
    struct value_list *list = scan_add_list(scan, scan->facts, "fqdns");

    while (text.n > 0) {
        struct str line = str_cut(&text, '\n'), rest = str_cut(&line, '#');
        const struct str address = scan_word(&rest);
        struct str name;

        if (!has_address(scan, "fqdn_ip4", address) && !has_address(scan, "fqdn_ip6", address))
            continue;
        while ((name = scan_word(&rest)).n > 0)
            if (str_find_char(name, '.', 0) != STR_NONE && !list_has_text(list, name))
                scan_push_text(scan, list, name);
    }
}

/* The vendor of "0x10de" from the list of graphics vendors; others by number. */
static struct str find_vendor_name(struct str id)
{
    static const struct {
        const char *id, *name;
    } vendors[] = {
        { "0x1002", "amd" },    { "0x1013", "cirrus" }, { "0x102b", "matrox" },
        { "0x10de", "nvidia" }, { "0x1234", "bochs" },  { "0x15ad", "vmware" },
        { "0x1a03", "aspeed" }, { "0x1af4", "virtio" }, { "0x8086", "intel" },
    };

    for (size_t i = 0; i < ARRAY_LEN(vendors); i++)
        if (str_is(id, vendors[i].id))
            return str_from(vendors[i].name);
    return id;
}

static void add_display(struct scan *scan, struct value_list *list, const char *device)
{
    const char *folder = arena_printf(scan->arena, "sys/bus/pci/devices/%s", device);
    const struct str class = scan_line(scan, arena_printf(scan->arena, "%s/class", folder));
    struct value_map *map;

    if (!class.p || !str_starts(class, STR("0x03")))
        return;
    map = value_map_new(scan->arena, 2);
    scan_add_text(
        scan, map, "vendor",
        find_vendor_name(scan_line(scan, arena_printf(scan->arena, "%s/vendor", folder))));
    scan_add_text(scan, map, "model",
                  scan_line(scan, arena_printf(scan->arena, "%s/device", folder)));
    value_list_push(scan->arena, list, value_map(map));
}

/* Devices of the class "display" on the PCI bus; the model is its number. */
static void add_displays(struct scan *scan)
{
    struct value_list *list = scan_add_list(scan, scan->facts, "gpus");
    struct fs_names names = { .list = VEC_INIT };
    struct err ignored;

    if (fs_list(scan->arena, arena_printf(scan->arena, "%s/sys/bus/pci/devices", scan->root),
                &names, &ignored) == 0)
        VEC_EACH (&names.list, name)
            add_display(scan, list, *name);
    scan_add_int(scan, scan->facts, "num_gpus", (int64_t)list->count);
}

void facts_salt(struct scan *scan)
{
    add_versions(scan);
    add_systemd(scan);
    add_locale(scan);
    add_kernel_parameters(scan);
    scan_add(scan, scan->facts, "transactional",
             value_bool(scan_exists(scan, "usr/sbin/transactional-update")));
    add_server_id(scan);
    add_grain_addresses(scan, "ipv4", "fqdn_ip4", "127.");
    add_grain_addresses(scan, "ipv6", "fqdn_ip6", "::1");
    add_full_names(scan);
    add_displays(scan);
}
