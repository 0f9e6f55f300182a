/* yum 3, the predecessor of dnf. */
#include "states/provider/package/manager.h"

#include "states/provider/package/repo_rpm.h"
#include "states/provider/package/rpm.h"

static const struct package_holds holds[] = {
    { "/etc/yum/pluginconf.d/versionlock.list", rpm_parse_versionlock },
    { 0 },
};

/* clang-format off */
static const struct package_programs programs[] = {
    { "chkconfig", "update-alternatives" },
    RPM_PROGRAMS,
    { 0 },
};

const struct package_manager package_manager_yum = {
    .name = "yum",
    .rank = 30, /* after dnf: newer machines have both */
    .families = "redhat rhel fedora",
    .programs = TOOL("yum", "rpm"),
    RPM_MANAGER("/etc/yum.repos.d"),
    .offers_command = TOOL("yum", "-q", "-C", "--showduplicates", "list", "available"),
    .offers_none = 1,
    .parse_offers = rpm_parse_offers,
    .index = TOOL("/var/cache/yum"),
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
};
/* clang-format on */
