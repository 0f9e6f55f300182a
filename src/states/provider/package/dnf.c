/* dnf, of Fedora and its derivatives. */
#include "states/provider/package/manager.h"

#include "core/base/str.h"
#include "states/provider/package/db.h"
#include "states/provider/package/repo_rpm.h"
#include "states/provider/package/rpm.h"

/* versionlock.toml of dnf 5: name = "nginx" */
static void parse_toml(struct package_db *db, struct str text)
{
    while (text.p) {
        struct str rest = str_cut(&text, '\n'), key = str_trim(str_cut(&rest, '='));
        struct str name = rest.p ? str_trim(rest) : (struct str){ "", 0 };

        if (str_is(key, "name") && name.n > 2 && (name.p[0] == '"' || name.p[0] == '\''))
            package_db_hold(db, str_slice(name, 1, name.n - 2));
    }
}

static const struct package_holds holds[] = {
    { "/etc/dnf/plugins/versionlock.list", rpm_parse_versionlock },
    { "/etc/dnf/versionlock.toml", parse_toml },
    { 0 },
};

/* clang-format off */
static const struct package_programs programs[] = {
    { "alternatives", "update-alternatives" },
    RPM_PROGRAMS,
    { 0 },
};

const struct package_manager package_manager_dnf = {
    .name = "dnf",
    .rank = 20,
    .families = "redhat rhel fedora",
    .programs = TOOL("dnf", "rpm"),
    RPM_MANAGER("/etc/yum.repos.d"),
    .offers_command = TOOL("dnf", "-q", "-C", "list", "--showduplicates", "--available"),
    .offers_none = 1,
    .parse_offers = rpm_parse_offers,
    .index = TOOL("/var/cache/dnf", "/var/cache/libdnf5"),
    .names = TOOL("dnf", "-q", "-C", "repoquery", "--qf", "%{name}\n"),
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
};
/* clang-format on */
