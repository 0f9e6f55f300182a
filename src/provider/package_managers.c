/* The table of package managers: their programs, databases, words. */
#include "provider/package_manager.h"

#include <string.h>

#include "base/arena.h"
#include "base/err.h"
#include "provider/offers.h"
#include "provider/package_db.h"
#include "provider/package_holds.h"
#include "sys/fs.h"

/* Databases of real machines have a few megabytes. */
#define DATABASE_MAX ((size_t)256 << 20)

static const struct package_manager apt, dnf, yum, zypper, apk, pacman;

/* --- what is installed -------------------------------------------------------------------------
 */

static int read_file(const struct package_host *host, const char *path, struct arena *arena,
                     struct str *ret, struct err *err)
{
    return fs_read(arena, arena_printf(arena, "%s%s", host->root, path), DATABASE_MAX, ret, err);
}

static int load_dpkg(const struct package_host *host, struct package_db *db, struct err *err)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct str text;

    if (read_file(host, "/var/lib/dpkg/status", &scratch, &text, err) < 0)
        return -1;
    if (!text.p)
        return err_set(err, ERR_NOT_FOUND, "there is no '%s/var/lib/dpkg/status'", host->root);
    return package_db_parse_dpkg(db, text, err);
}

static int load_apk(const struct package_host *host, struct package_db *db, struct err *err)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct str text;

    if (read_file(host, "/lib/apk/db/installed", &scratch, &text, err) < 0)
        return -1;
    if (!text.p && read_file(host, "/usr/lib/apk/db/installed", &scratch, &text, err) < 0)
        return -1;
    if (!text.p)
        return err_set(err, ERR_NOT_FOUND, "there is no '%s/lib/apk/db/installed'", host->root);
    return package_db_parse_apk(db, text, err);
}

static int load_pacman(const struct package_host *host, struct package_db *db, struct err *err)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct fs_names names;

    if (fs_list(&scratch, arena_printf(&scratch, "%s/var/lib/pacman/local", host->root), &names,
                err) < 0)
        return -1;
    VEC_EACH (&names.list, name)
        if (package_db_parse_pacman(db, str_from(*name), err) < 0)
            return -1;
    return 0;
}

/* One process for all packages. */
static int list_rpm(const struct package_manager *manager, const struct package_host *host,
                    struct package_db *db, struct err *err)
{
    static const char format[] =
        "%{NAME}\\t%|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\\t%{ARCH}\\n";
    const char *const argv[] = { "rpm", "-qa", "--qf", format, NULL };
    struct str text;

    if (package_manager_ask(manager, host, argv, NULL, &text, err) < 0)
        return -1;
    return package_db_parse_rpm(db, text, err);
}

typedef void (*parse_holds_fn)(struct package_db *db, struct str text);

static int read_holds(const struct package_host *host, struct package_db *db, const char *path,
                      parse_holds_fn parse, struct err *err)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    struct str text;

    if (read_file(host, path, &scratch, &text, err) < 0)
        return -1;
    if (text.p)
        parse(db, text);
    return 0;
}

static int load_dnf(const struct package_host *host, struct package_db *db, struct err *err)
{
    if (list_rpm(&dnf, host, db, err) < 0 ||
        read_holds(host, db, "/etc/dnf/plugins/versionlock.list", package_holds_parse_versionlock,
                   err) < 0)
        return -1;
    return read_holds(host, db, "/etc/dnf/versionlock.toml", package_holds_parse_toml, err);
}

static int load_yum(const struct package_host *host, struct package_db *db, struct err *err)
{
    if (list_rpm(&yum, host, db, err) < 0)
        return -1;
    return read_holds(host, db, "/etc/yum/pluginconf.d/versionlock.list",
                      package_holds_parse_versionlock, err);
}

static int load_zypper(const struct package_host *host, struct package_db *db, struct err *err)
{
    if (list_rpm(&zypper, host, db, err) < 0)
        return -1;
    return read_holds(host, db, "/etc/zypp/locks", package_holds_parse_zypper, err);
}

/* --- what can be had ------------------------------------------------------------------------- */

typedef void (*parse_offers_fn)(struct package_offers *offers, struct arena *arena,
                                struct str text);

/* `none`: the exit status when nothing of it is there. */
static int ask(const struct package_manager *manager, const struct package_host *host,
               const char *const *command, const char *const *names, int none,
               parse_offers_fn parse, struct package_offers *offers, struct err *err)
{
    const int fine[PACKAGE_FINE_MAX] = { none };
    struct tool_words argv = { 0 };
    struct str text;

    for (; *command; command++)
        tool_add(&host->tool, &argv, *command);
    for (; *names; names++)
        tool_add(&host->tool, &argv, *names);
    if (package_manager_ask(manager, host, tool_argv(&host->tool, &argv), fine, &text, err) < 0)
        return -1;
    parse(offers, host->tool.arena, text);
    return 0;
}

static int offers_apt(const struct package_host *host, const char *const *names,
                      struct package_offers *offers, struct err *err)
{
    return ask(&apt, host, TOOL("apt-cache", "-q", "policy", "--"), names, 0, offers_parse_apt,
               offers, err);
}

/* Exit status 1: nothing of it is there. */
static int offers_dnf(const struct package_host *host, const char *const *names,
                      struct package_offers *offers, struct err *err)
{
    return ask(&dnf, host, TOOL("dnf", "-q", "-C", "list", "--showduplicates", "--available"),
               names, 1, offers_parse_dnf, offers, err);
}

static int offers_yum(const struct package_host *host, const char *const *names,
                      struct package_offers *offers, struct err *err)
{
    return ask(&yum, host, TOOL("yum", "-q", "-C", "--showduplicates", "list", "available"), names,
               1, offers_parse_dnf, offers, err);
}

/* Exit status 104: nothing of it is there. */
static int offers_zypper(const struct package_host *host, const char *const *names,
                         struct package_offers *offers, struct err *err)
{
    return ask(&zypper, host,
               TOOL("zypper", "--non-interactive", "--no-refresh", "--quiet", "search", "-s",
                    "--match-exact", "--type", "package"),
               names, 104, offers_parse_zypper, offers, err);
}

static int offers_apk(const struct package_host *host, const char *const *names,
                      struct package_offers *offers, struct err *err)
{
    return ask(&apk, host, TOOL("apk", "policy"), names, 0, offers_parse_apk, offers, err);
}

/* Exit status 1: one of them is not there. */
static int offers_pacman(const struct package_host *host, const char *const *names,
                         struct package_offers *offers, struct err *err)
{
    return ask(&pacman, host, TOOL("pacman", "-Si"), names, 1, offers_parse_pacman, offers, err);
}

/* --- why it failed --------------------------------------------------------------------------- */

static bool opens(struct str line, const char *const *words)
{
    for (; *words; words++)
        if (str_starts(line, str_from(*words)))
            return true;
    return false;
}

/* Errors of dpkg and what stands in the way of a package are part of what apt prints; so are the
 * words of a script that failed, behind the step that it was part of. */
static struct str reasons_apt(struct str output)
{
    static const char *const steps[] = { "Setting up ", "Preparing to unpack ",
                                         "Unpacking ",  "Removing ",
                                         "Purging ",    NULL };
    static const char *const reasons[] = { "The following packages have unmet dependencies:",
                                           "Package ", NULL };
    struct str rest = output, step = { NULL, 0 };

    while (rest.p) {
        const struct str from = rest, line = str_cut(&rest, '\n');

        if (opens(line, steps))
            step = from;
        if (str_starts(line, STR("dpkg: error ")))
            return step.p ? step : from;
        if (opens(line, reasons))
            return from;
    }
    return STR("");
}

static struct str reasons_pacman(struct str output)
{
    return output;
}

/* --- the table ---------------------------------------------------------------------------------
 */

/* Nobody is there to answer: keep changed configuration files, and wait for another apt. */
#define APT                                                                                        \
    "apt-get", "-q", "-y", "-o", "Dpkg::Options::=--force-confdef", "-o",                          \
        "Dpkg::Options::=--force-confold", "-o", "DPkg::Lock::Timeout=120"

#define RPM_DATABASES                                                                              \
    "/var/lib/rpm/rpmdb.sqlite", "/var/lib/rpm/rpmdb.sqlite-wal", "/var/lib/rpm/Packages",         \
        "/var/lib/rpm/Packages.db", "/usr/lib/sysimage/rpm/rpmdb.sqlite",                          \
        "/usr/lib/sysimage/rpm/rpmdb.sqlite-wal", "/usr/lib/sysimage/rpm/Packages.db"

/* clang-format off */
static const struct package_manager apt = {
    .name = "apt",
    .families = "debian",
    .programs = TOOL("apt-get", "apt-cache", "dpkg"),
    .databases = TOOL("/var/lib/dpkg/status"),
    .index = TOOL("/var/lib/apt/lists", "/var/lib/apt/periodic/update-success-stamp"),
    .compare = version_compare_deb,
    .load = load_dpkg,
    .offers = offers_apt,
    .actions = {
        [PACKAGE_INSTALL]   = TOOL(APT, "install"),
        [PACKAGE_REMOVE]    = TOOL(APT, "remove"),
        [PACKAGE_PURGE]     = TOOL(APT, "purge"),
        [PACKAGE_MAY_ERASE] = TOOL("dpkg", "--no-act", "--remove"),
        [PACKAGE_HOLD]      = TOOL("apt-mark", "hold"),
        [PACKAGE_UNHOLD]    = TOOL("apt-mark", "unhold"),
        [PACKAGE_REFRESH]   = TOOL("apt-get", "-q", "-o", "APT::Update::Error-Mode=any", "update"),
    },
    .reasons = reasons_apt,
    .show_file = TOOL("dpkg-deb", "--show", "--showformat=${Package} ${Version}"),
    .names = TOOL("apt-cache", "-q", "pkgnames"),
    .refresh_list = TOOL("-o", "APT::Get::List-Cleanup=0", "-o", "Dir::Etc::sourceparts=-", "-o"),
    .refresh_list_mark = "Dir::Etc::sourcelist=",
    .arch_mark = ':',
    .env = TOOL("DEBIAN_FRONTEND=noninteractive", "DEBCONF_NONINTERACTIVE_SEEN=true", "APT_LISTCHANGES_FRONTEND=none", "NEEDRESTART_MODE=l"),
    .pin = '=',
    .fromrepo = "--target-release=",
    .with_recommends = "--install-recommends",
    .without_recommends = "--no-install-recommends",
    .skip_verify = "--allow-unauthenticated",
    .change_held = "--allow-change-held-packages",
    .allow_downgrade = "--allow-downgrades",
    .repo_kind = PACKAGE_REPO_APT,
    .repo_place = "/etc/apt/sources.list.d",
};

#define RPM_SHOW_FILE                                                                              \
    "rpm", "-qp", "--qf", "%{NAME} %|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}"

static const struct package_manager dnf = {
    .name = "dnf",
    .families = "redhat rhel fedora",
    .programs = TOOL("dnf", "rpm"),
    .databases = TOOL(RPM_DATABASES, "/etc/dnf/plugins/versionlock.list", "/etc/dnf/versionlock.toml"),
    .index = TOOL("/var/cache/dnf", "/var/cache/libdnf5"),
    .show_file = TOOL(RPM_SHOW_FILE),
    .names = TOOL("dnf", "-q", "-C", "repoquery", "--qf", "%{name}\n"),
    .arch_mark = '.',
    .compare = version_compare_rpm,
    .load = load_dnf,
    .offers = offers_dnf,
    .actions = {
        [PACKAGE_INSTALL]   = TOOL("dnf", "-q", "-y", "install"),
        [PACKAGE_REMOVE]    = TOOL("dnf", "-q", "-y", "remove"),
        [PACKAGE_PURGE]     = TOOL("dnf", "-q", "-y", "remove"),
        [PACKAGE_MAY_ERASE] = TOOL("rpm", "-e", "--test"),
        [PACKAGE_HOLD]      = TOOL("dnf", "-q", "-y", "versionlock", "add"),
        [PACKAGE_UNHOLD]    = TOOL("dnf", "-q", "-y", "versionlock", "delete"),
        [PACKAGE_REFRESH]   = TOOL("dnf", "-q", "-y", "makecache", "--refresh"),
    },
    .pin = '-',
    .pin_to_upgrade = true,
    .fromrepo_only = "--disablerepo=*",
    .fromrepo = "--enablerepo=",
    .with_recommends = "--setopt=install_weak_deps=True",
    .without_recommends = "--setopt=install_weak_deps=False",
    .skip_verify = "--nogpgcheck",
    .repo_kind = PACKAGE_REPO_INI,
    .repo_place = "/etc/yum.repos.d",
};

static const struct package_manager yum = {
    .name = "yum",
    .families = "redhat rhel fedora",
    .programs = TOOL("yum", "rpm"),
    .databases = TOOL(RPM_DATABASES, "/etc/yum/pluginconf.d/versionlock.list"),
    .index = TOOL("/var/cache/yum"),
    .show_file = TOOL(RPM_SHOW_FILE),
    .arch_mark = '.',
    .compare = version_compare_rpm,
    .load = load_yum,
    .offers = offers_yum,
    .actions = {
        [PACKAGE_INSTALL]   = TOOL("yum", "-q", "-y", "install"),
        [PACKAGE_REMOVE]    = TOOL("yum", "-q", "-y", "remove"),
        [PACKAGE_PURGE]     = TOOL("yum", "-q", "-y", "remove"),
        [PACKAGE_MAY_ERASE] = TOOL("rpm", "-e", "--test"),
        [PACKAGE_HOLD]      = TOOL("yum", "-q", "-y", "versionlock", "add"),
        [PACKAGE_UNHOLD]    = TOOL("yum", "-q", "-y", "versionlock", "delete"),
        [PACKAGE_REFRESH]   = TOOL("yum", "-q", "-y", "makecache"),
    },
    .downgrade = TOOL("yum", "-q", "-y", "downgrade"),
    .pin = '-',
    .pin_to_upgrade = true,
    .fromrepo_only = "--disablerepo=*",
    .fromrepo = "--enablerepo=",
    .skip_verify = "--nogpgcheck",
    .repo_kind = PACKAGE_REPO_INI,
    .repo_place = "/etc/yum.repos.d",
};

#define ZYPPER "zypper", "--non-interactive", "--quiet"

static const struct package_manager zypper = {
    .name = "zypper",
    .families = "suse",
    .programs = TOOL("zypper", "rpm"),
    .databases = TOOL(RPM_DATABASES, "/etc/zypp/locks"),
    .index = TOOL("/var/cache/zypp/raw"),
    .show_file = TOOL(RPM_SHOW_FILE),
    .arch_mark = '.',
    .compare = version_compare_rpm,
    .load = load_zypper,
    .offers = offers_zypper,
    .actions = {
        [PACKAGE_INSTALL]   = TOOL(ZYPPER, "install", "--auto-agree-with-licenses"),
        [PACKAGE_REMOVE]    = TOOL(ZYPPER, "remove"),
        [PACKAGE_PURGE]     = TOOL(ZYPPER, "remove"),
        [PACKAGE_MAY_ERASE] = TOOL("rpm", "-e", "--test"),
        [PACKAGE_HOLD]      = TOOL(ZYPPER, "addlock"),
        [PACKAGE_UNHOLD]    = TOOL(ZYPPER, "removelock"),
        [PACKAGE_REFRESH]   = TOOL(ZYPPER, "refresh"),
    },
    /* 102: the machine should be started again, 103: zypper, 106: a repository was left out; 6: there is none */
    .fine = { [PACKAGE_INSTALL] = { 102, 103, 106 }, [PACKAGE_REMOVE] = { 102, 103, 106 },
              [PACKAGE_PURGE] = { 102, 103, 106 }, [PACKAGE_REFRESH] = { 6 } },
    .pin = '=',
    .fromrepo = "--from=",
    .with_recommends = "--recommends",
    .without_recommends = "--no-recommends",
    .skip_verify = "--allow-unsigned-rpm",
    .allow_downgrade = "--oldpackage",
    .repo_kind = PACKAGE_REPO_INI,
    .repo_place = "/etc/zypp/repos.d",
};

static const struct package_manager apk = {
    .name = "apk",
    .families = "alpine",
    .programs = TOOL("apk"),
    .databases = TOOL("/lib/apk/db/installed", "/usr/lib/apk/db/installed"),
    .index = TOOL("/var/cache/apk", "/etc/apk/cache"),
    .compare = version_compare_apk,
    .load = load_apk,
    .offers = offers_apk,
    .actions = {
        [PACKAGE_INSTALL]   = TOOL("apk", "add", "--upgrade"),
        [PACKAGE_REMOVE]    = TOOL("apk", "del"),
        [PACKAGE_PURGE]     = TOOL("apk", "del", "--purge"),
        [PACKAGE_REFRESH]   = TOOL("apk", "update"),
    },
    .pin = '=',
    .fromrepo = "--repository=",
    .skip_verify = "--allow-untrusted",
    .repo_kind = PACKAGE_REPO_APK,
    .repo_place = "/etc/apk/repositories",
};

static const struct package_manager pacman = {
    .name = "pacman",
    .families = "arch",
    .programs = TOOL("pacman"),
    .databases = TOOL("/var/lib/pacman/local"),
    .index = TOOL("/var/lib/pacman/sync"),
    .compare = version_compare_pacman,
    .load = load_pacman,
    .offers = offers_pacman,
    .actions = {
        [PACKAGE_INSTALL]   = TOOL("pacman", "--noconfirm", "-S"),
        [PACKAGE_REMOVE]    = TOOL("pacman", "--noconfirm", "-R"),
        [PACKAGE_PURGE]     = TOOL("pacman", "--noconfirm", "-Rn"),
        [PACKAGE_MAY_ERASE] = TOOL("pacman", "--noconfirm", "-Rp"),
        [PACKAGE_REFRESH]   = TOOL("pacman", "--noconfirm", "-Sy"),
    },
    .install_file = TOOL("pacman", "--noconfirm", "-U"),
    .repo_in_name = true,
    .reasons = reasons_pacman,
    .names = TOOL("pacman", "-Slq"),
    .show_file = TOOL("pacman", "-Qp"),
    .repo_kind = PACKAGE_REPO_PACMAN,
    .repo_place = "/etc/pacman.conf",
};
/* clang-format on */

/* dnf before yum: newer machines have both. */
const struct package_manager *const package_managers[] = {
    &apt, &dnf, &yum, &zypper, &apk, &pacman, NULL,
};
