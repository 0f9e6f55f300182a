/* The distribution and the kernel: os.*, and Salt's os_family, osrelease, osfinger... */
#include <string.h>
#include <sys/utsname.h>

#include "core/base/err.h"
#include "core/base/number.h"
#include "states/facts/facts.h"
#include "states/facts/scan.h"

#define OS_RELEASE_MAX ((size_t)16 << 10)

/* `family` is ours, in lower case; `salt_os` and `salt_family` are as Salt spells them. */
struct distribution {
    const char *id, *descendants, *salt_os, *salt_family;
};

/* clang-format off */
static const struct distribution distributions[] = {
    { "debian",              "debian",    "Debian",        "Debian" },
    { "ubuntu",              "debian",    "Ubuntu",        "Debian" },
    { "raspbian",            "debian",    "Raspbian",      "Debian" },
    { "linuxmint",           "debian",    "Mint",          "Debian" },
    { "kali",                "debian",    "Kali",          "Debian" },
    { "devuan",              "debian",    "Devuan",        "Debian" },
    { "pop",                 "debian",    "Pop",           "Debian" },
    { "rhel",                "rhel",      "RedHat",        "RedHat" },
    { "centos",              "rhel",      "CentOS",        "RedHat" },
    { "rocky",               "rhel",      "Rocky",         "RedHat" },
    { "almalinux",           "rhel",      "AlmaLinux",     "RedHat" },
    { "ol",                  "rhel",      "OEL",           "RedHat" },
    { "amzn",                "rhel",      "Amazon",        "RedHat" },
    { "scientific",          "rhel",      "ScientificLinux", "RedHat" },
    { "virtuozzo",           "rhel",      "Virtuozzo",     "RedHat" },
    { "fedora",              "fedora",    "Fedora",        "RedHat" },
    { "opensuse-leap",       "suse",      "Leap",          "Suse" },
    { "opensuse-tumbleweed", "suse",      "Tumbleweed",    "Suse" },
    { "opensuse",            "suse",      "openSUSE",      "Suse" },
    { "sles",                "suse",      "SLES",          "Suse" },
    { "sled",                "suse",      "SLED",          "Suse" },
    { "suse",                "suse",      "SUSE",          "Suse" },
    { "alpine",              "alpine",    "Alpine",        "Alpine" },
    { "arch",                "arch",      "Arch",          "Arch" },
    { "archarm",             "arch",      "Arch ARM",      "Arch" },
    { "manjaro",             "arch",      "Manjaro",       "Arch" },
    { "gentoo",              "gentoo",    "Gentoo",        "Gentoo" },
    { "void",                "void",      "Void",          "Void" },
    { "slackware",           "slackware", "Slackware",     "Slackware" },
    { "nixos",               "nixos",     "NixOS",         "NixOS" },
};

/* Package and Go names of an architecture, by the kernel's name. */
static const struct {
    const char *machine, *go, *debian;
} architectures[] = {
    { "x86_64",  "amd64",   "amd64" },
    { "aarch64", "arm64",   "arm64" },
    { "i386",    "386",     "i386" },
    { "i586",    "386",     "i386" },
    { "i686",    "386",     "i386" },
    { "armv6l",  "arm",     "armel" },
    { "armv7l",  "arm",     "armhf" },
    { "ppc64le", "ppc64le", "ppc64el" },
    { "riscv64", "riscv64", "riscv64" },
    { "s390x",   "s390x",   "s390x" },
    { "loongarch64", "loong64", "loong64" },
};
/* clang-format on */

const char *facts_go_arch(void)
{
    struct utsname names;

    (void)uname(&names); /* fails for a bad pointer only */
    for (size_t i = 0; i < ARRAY_LEN(architectures); i++)
        if (strcmp(names.machine, architectures[i].machine) == 0)
            return architectures[i].go;
    return "unknown";
}

static const struct distribution *find_distribution(struct str id)
{
    for (size_t i = 0; i < ARRAY_LEN(distributions); i++)
        if (str_is(id, distributions[i].id))
            return &distributions[i];
    return NULL;
}

/* A distribution that is not in the table takes the row of the first ID_LIKE that is, under its own
 * name. */
static struct distribution identify_distribution(struct scan *scan, struct str release)
{
    struct str id = scan_field(scan, release, "ID", '=');
    struct str like = scan_field(scan, release, "ID_LIKE", '=');
    struct str name = scan_field(scan, release, "NAME", '=');
    const struct distribution *known = find_distribution(id.p ? id : STR("linux"));
    struct distribution result = { "linux", "linux", "Linux", "Unknown" };

    if (known)
        return *known;
    for (struct str word = scan_word(&like); word.p && !known; word = scan_word(&like))
        known = find_distribution(word);
    if (known)
        result = *known;
    else if (id.p)
        result.descendants = arena_strndup(scan->arena, id.p, id.n);
    if (id.p)
        result.id = arena_strndup(scan->arena, id.p, id.n);
    if (name.p)
        result.salt_os = arena_strndup(scan->arena, name.p, name.n);
    if (!known && name.p)
        result.salt_family = result.salt_os;
    return result;
}

/* --- versions ------------------------------------------------------------------------ */

/* "12" says less than /etc/debian_version, "12.5"; Salt uses the first, and so do we. */
static struct str find_os_version(struct scan *scan, struct str release)
{
    struct str version = scan_field(scan, release, "VERSION_ID", '=');
    struct str build = scan_field(scan, release, "BUILD_ID", '=');

    if (version.p || !build.p)
        return version;
    return str_is(build, "rolling") ? build : (struct str){ NULL, 0 };
}

/* "bookworm", from VERSION_CODENAME, or from the parentheses in VERSION. */
static struct str find_os_codename(struct scan *scan, struct str release)
{
    struct str name = scan_field(scan, release, "VERSION_CODENAME", '=');
    struct str version = scan_field(scan, release, "VERSION", '=');
    size_t open, close;

    if (name.n > 0 || !version.p)
        return name;
    open = str_find_char(version, '(', 0);
    close = open == STR_NONE ? STR_NONE : str_find_char(version, ')', open);
    return close == STR_NONE ? (struct str){ NULL, 0 }
                             : str_slice(version, open + 1, close - open - 1);
}

static struct value parse_version_part(struct str part)
{
    struct err ignored;
    int64_t number;

    return number_parse_int(part, &number, &ignored) == 0 ? value_int(number) : value_str(part);
}

static void add_version_info(struct scan *scan, struct str version)
{
    struct value_list *info = scan_add_list(scan, scan->facts, "osrelease_info");
    struct str rest = version;

    while (rest.p) {
        struct str part = arena_str(scan->arena, str_cut(&rest, '.'));

        value_list_push(scan->arena, info, parse_version_part(part));
    }
    if (info->items[0].kind == VALUE_INT)
        scan_add(scan, scan->facts, "osmajorrelease", info->items[0]);
}

/* Salt's format: the short name for some distributions, the full one for others; Ubuntu with its
 * month. */
static void add_finger(struct scan *scan, const char *os, struct str full, struct str version)
{
    static const char *const short_names[] = { "Debian", "Raspbian" };
    struct str name = full.p ? full : str_from(os), rest = version;
    bool whole = strcmp(os, "Ubuntu") == 0 || strcmp(os, "Pop") == 0;

    for (size_t i = 0; i < ARRAY_LEN(short_names); i++)
        if (strcmp(os, short_names[i]) == 0)
            name = str_from(os);
    rest = whole ? rest : str_cut(&rest, '.');
    scan_add_text(scan, scan->facts, "osfinger",
                  str_from(arena_printf(scan->arena, "%.*s-%.*s", STR_ARG(name), STR_ARG(rest))));
}

/* --- the family ---------------------------------------------------------------------- */

static void add_architecture(struct scan *scan, struct value_map *os, struct str machine)
{
    struct str go = machine, debian = machine;

    for (size_t i = 0; i < ARRAY_LEN(architectures); i++)
        if (str_is(machine, architectures[i].machine)) {
            go = str_from(architectures[i].go);
            debian = str_from(architectures[i].debian);
        }
    scan_add_text(scan, os, "arch", go);
    scan_add_text(scan, os, "kernel_arch", machine);
    scan_add_text(scan, scan->facts, "cpuarch", machine);
    scan_add_text(scan, scan->facts, "osarch",
                  scan_exists(scan, "var/lib/dpkg") ? debian : machine);
}

static void add_kernel(struct scan *scan, struct value_map *os)
{
    struct str release = scan_line(scan, "proc/sys/kernel/osrelease");
    struct str version = scan_line(scan, "proc/sys/kernel/version");
    struct str machine = scan_line(scan, "proc/sys/kernel/arch");
    struct utsname names;

    (void)uname(&names); /* fails for a bad pointer only */
    scan_add_text(scan, os, "kernel", release.p ? release : str_from(names.release));
    scan_add_text(scan, scan->facts, "kernel", str_from(names.sysname));
    scan_add_text(scan, scan->facts, "kernelrelease",
                  release.p ? release : str_from(names.release));
    scan_add_text(scan, scan->facts, "kernelversion",
                  version.p ? version : str_from(names.version));
    add_architecture(scan, os, machine.p ? machine : str_from(names.machine));
}

static void add_os_times(struct scan *scan, struct value_map *os)
{
    struct str uptime = scan_line(scan, "proc/uptime");
    struct str boot = scan_read(scan, "proc/stat", (size_t)1 << 20);
    size_t at = boot.p ? str_find(boot, STR("\nbtime "), 0) : STR_NONE;

    if (uptime.p)
        scan_add_int(scan, os, "uptime", scan_number(uptime));
    if (at != STR_NONE)
        scan_add_int(scan, os, "boot_time",
                     scan_number(str_from_offset(boot, at + strlen("\nbtime "))));
}

static void add_lsb(struct scan *scan, const struct distribution *dist, struct str release)
{
    struct str lsb = scan_read(scan, "etc/lsb-release", OS_RELEASE_MAX);
    struct str id = scan_field(scan, lsb, "DISTRIB_ID", '=');
    struct str codename = scan_field(scan, lsb, "DISTRIB_CODENAME", '=');

    scan_add_text(scan, scan->facts, "lsb_distrib_id", id.p ? id : str_from(dist->salt_os));
    scan_add_text(scan, scan->facts, "lsb_distrib_codename",
                  codename.p ? codename : find_os_codename(scan, release));
    scan_add_text(scan, scan->facts, "lsb_distrib_release", find_os_version(scan, release));
    scan_add_text(scan, scan->facts, "lsb_distrib_description",
                  scan_field(scan, release, "PRETTY_NAME", '='));
}

static struct str read_release(struct scan *scan)
{
    struct str text = scan_read(scan, "etc/os-release", OS_RELEASE_MAX);

    return text.p ? text : scan_read(scan, "usr/lib/os-release", OS_RELEASE_MAX);
}

void facts_os(struct scan *scan)
{
    struct value_map *os = scan_add_map(scan, scan->facts, "os");
    struct str release = read_release(scan);
    struct distribution dist = identify_distribution(scan, release);
    struct str full = scan_field(scan, release, "NAME", '=');
    struct str version = find_os_version(scan, release), codename = find_os_codename(scan, release);

    /* CentOS Stream has the id of CentOS. */
    if (str_is(full, "CentOS Stream"))
        dist.salt_os = "CentOS Stream";
    scan_add_text(scan, os, "name", str_from(dist.id));
    scan_add_text(scan, os, "family", str_from(dist.descendants));
    scan_add_text(scan, os, "platform", str_from(dist.id));
    scan_add_text(scan, os, "platform_version", version);
    scan_add_text(scan, os, "codename", codename);
    scan_add_text(scan, os, "pretty_name", scan_field(scan, release, "PRETTY_NAME", '='));
    scan_add_text(scan, os, "title", str_from(dist.salt_os));
    scan_add_text(scan, scan->facts, "os_family", str_from(dist.salt_family));
    scan_add_text(scan, scan->facts, "osfullname", full);
    scan_add_text(scan, scan->facts, "osrelease", version);
    scan_add_text(scan, scan->facts, "oscodename", codename);
    if (version.p) {
        add_version_info(scan, version);
        add_finger(scan, dist.salt_os, full, version);
    }
    add_lsb(scan, &dist, release);
    add_kernel(scan, os);
    add_os_times(scan, os);
}
