/* zypper, of SUSE. */
#include "states/provider/package/manager.h"

#include "core/base/str.h"
#include "states/provider/package/db.h"
#include "states/provider/package/offers.h"
#include "states/provider/package/repo_rpm.h"
#include "states/provider/package/rpm.h"

/* /etc/zypp/locks: "solvable_name: nginx" */
static void parse_locks(struct package_db *db, struct str text)
{
    while (text.p) {
        struct str rest = str_cut(&text, '\n'), key = str_trim(str_cut(&rest, ':'));

        if (rest.p && str_is(key, "solvable_name"))
            package_db_hold(db, str_trim(rest));
    }
}

enum zypper_column { ZYPPER_STATUS, ZYPPER_NAME, ZYPPER_TYPE, ZYPPER_VERSION, ZYPPER_COLUMNS };

static void parse_zypper_offers(struct package_offers *offers, struct arena *arena, struct str text)
{
    while (text.p) {
        struct str line = str_cut(&text, '\n');
        struct str columns[ZYPPER_COLUMNS] = { 0 };
        struct package_offer *offer;

        for (size_t i = 0; i < ZYPPER_COLUMNS && line.p; i++)
            columns[i] = str_trim(str_cut(&line, '|'));
        if (!columns[ZYPPER_VERSION].p || !str_is(columns[ZYPPER_TYPE], "package"))
            continue;
        offer = package_offers_find(offers, columns[ZYPPER_NAME]);
        if (offer)
            package_offer_add(offer, arena, columns[ZYPPER_VERSION]);
    }
}

static const struct package_holds holds[] = {
    { "/etc/zypp/locks", parse_locks },
    { 0 },
};

#define ZYPPER "zypper", "--non-interactive", "--quiet"

/* clang-format off */
static const struct package_programs programs[] = {
    { "cronie", "crontab" },
    { "git-core", "git" },
    { "glibc", "localedef" },
    { "openssh-clients", "ssh-keyscan" },
    { "python3-pip", "pip3" },
    { "shadow", "chage chpasswd gpasswd groupadd useradd usermod" },
    { "update-alternatives", "update-alternatives" },
    { "util-linux", "mount swapoff swapon umount" },
    { 0 },
};

const struct package_manager package_manager_zypper = {
    .name = "zypper",
    .rank = 40,
    .families = "suse",
    .programs = TOOL("zypper", "rpm"),
    RPM_MANAGER("/etc/zypp/repos.d"),
    .offers_command = TOOL("zypper", "--non-interactive", "--no-refresh", "--quiet", "search", "-s", "--match-exact", "--type", "package"),
    .offers_none = 104,
    .parse_offers = parse_zypper_offers,
    .index = TOOL("/var/cache/zypp/raw"),
    .actions = {
        [PACKAGE_INSTALL]   = TOOL(ZYPPER, "install", "--auto-agree-with-licenses"),
        [PACKAGE_REMOVE]    = TOOL(ZYPPER, "remove"),
        [PACKAGE_PURGE]     = TOOL(ZYPPER, "remove"),
        [PACKAGE_MAY_ERASE] = TOOL("rpm", "-e", "--test"),
        [PACKAGE_HOLD]      = TOOL(ZYPPER, "addlock"),
        [PACKAGE_UNHOLD]    = TOOL(ZYPPER, "removelock"),
        [PACKAGE_REFRESH]   = TOOL(ZYPPER, "refresh"),
    },
    /* 102: reboot needed, 103: restart of zypper needed, 106: a repository was skipped; 6: no
     * repositories */
    .fine = { [PACKAGE_INSTALL] = { 102, 103, 106 }, [PACKAGE_REMOVE] = { 102, 103, 106 },
              [PACKAGE_PURGE] = { 102, 103, 106 }, [PACKAGE_REFRESH] = { 6 } },
    .pin = '=',
    .fromrepo = "--from=",
    .with_recommends = "--recommends",
    .without_recommends = "--no-recommends",
    .skip_verify = "--allow-unsigned-rpm",
    .allow_downgrade = "--oldpackage",
};
/* clang-format on */
