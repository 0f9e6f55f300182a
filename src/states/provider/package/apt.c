/* apt, of Debian and its derivatives. */
#include "states/provider/package/manager.h"

#include "core/base/arena.h"
#include "core/base/str.h"
#include "states/provider/package/dpkg.h"
#include "states/provider/package/offers.h"
#include "states/provider/package/repo_deb.h"

/*
 *     nginx:
 *       Installed: 1.0
 *       Candidate: 2.0
 *       Version table:
 *          2.0 500
 *             500 file:/repo ./ Packages
 *      *** 1.0 100
 *             100 /var/lib/dpkg/status
 */
static void read_policy_line(struct package_offer *offer, struct arena *arena, struct str line)
{
    struct str rest = str_trim(line), word;

    if (str_starts(rest, STR("Candidate:"))) {
        word = str_trim(str_from_offset(rest, sizeof("Candidate:") - 1));
        if (!str_is(word, "(none)"))
            offer->candidate = arena_str(arena, word).p;
    } else if (str_starts(line, STR(" *** ")) || package_offers_indent(line) == 5) {
        word = package_offers_word(&rest);
        package_offer_add(offer, arena, str_is(word, "***") ? package_offers_word(&rest) : word);
    }
}

static void parse_apt_offers(struct package_offers *offers, struct arena *arena, struct str text)
{
    struct package_offer *offer = NULL;

    while (text.p) {
        struct str line = str_trim_right(str_cut(&text, '\n'));

        if (line.n == 0)
            continue;
        if (package_offers_indent(line) == 0)
            offer = str_ends(line, STR(":"))
                        ? package_offers_find(offers, str_slice(line, 0, line.n - 1))
                        : NULL;
        else if (offer)
            read_policy_line(offer, arena, line);
    }
}

static bool opens_step(struct str line, const char *const *words)
{
    for (; *words; words++)
        if (str_starts(line, str_from(*words)))
            return true;
    return false;
}

/* apt prints errors of dpkg and unmet dependencies among its output; and the output of a failed
 * maintainer script, after the step it belongs to. */
static struct str find_apt_reasons(struct str output)
{
    static const char *const steps[] = { "Setting up ", "Preparing to unpack ",
                                         "Unpacking ",  "Removing ",
                                         "Purging ",    NULL };
    static const char *const reasons[] = { "The following packages have unmet dependencies:",
                                           "Package ", NULL };
    struct str rest = output, step = { NULL, 0 };

    while (rest.p) {
        const struct str from = rest, line = str_cut(&rest, '\n');

        if (opens_step(line, steps))
            step = from;
        if (str_starts(line, STR("dpkg: error ")))
            return step.p ? step : from;
        if (opens_step(line, reasons))
            return from;
    }
    return STR("");
}

/* Non-interactive: keep changed configuration files, and wait for another apt. */
#define APT                                                                                        \
    "apt-get", "-q", "-y", "-o", "Dpkg::Options::=--force-confdef", "-o",                          \
        "Dpkg::Options::=--force-confold", "-o", "DPkg::Lock::Timeout=120"

/* clang-format off */
static const struct package_programs programs[] = {
    { "cron", "crontab" },
    { "dpkg", "update-alternatives" },
    { "git", "git" },
    { "locales", "localedef" },
    { "mount", "mount swapoff swapon umount" },
    { "openssh-client", "ssh-keyscan" },
    { "passwd", "chage chpasswd gpasswd groupadd useradd usermod" },
    { "python3-pip", "pip3" },
    { 0 },
};

const struct package_manager package_manager_apt = {
    .name = "apt",
    .rank = 10,
    .families = "debian",
    .programs = TOOL("apt-get", "apt-cache", "dpkg"),
    .program_packages = programs,
    .compare = dpkg_compare,
    .installed_files = TOOL("/var/lib/dpkg/status"),
    .parse_installed = dpkg_parse_status,
    .journal = "/var/lib/dpkg/updates",
    .repair = TOOL("dpkg", "--force-confdef", "--force-confold", "--configure", "-a"),
    .offers_command = TOOL("apt-cache", "-q", "policy", "--"),
    .parse_offers = parse_apt_offers,
    .index = TOOL("/var/lib/apt/lists", "/var/lib/apt/periodic/update-success-stamp"),
    .actions = {
        [PACKAGE_INSTALL]   = TOOL(APT, "install"),
        [PACKAGE_REMOVE]    = TOOL(APT, "remove"),
        [PACKAGE_PURGE]     = TOOL(APT, "purge"),
        [PACKAGE_MAY_ERASE] = TOOL("dpkg", "--no-act", "--remove"),
        [PACKAGE_HOLD]      = TOOL("apt-mark", "hold"),
        [PACKAGE_UNHOLD]    = TOOL("apt-mark", "unhold"),
        [PACKAGE_REFRESH]   = TOOL("apt-get", "-q", "-o", "APT::Update::Error-Mode=any", "update"),
    },
    .download = TOOL(APT, "--download-only", "install"),
    .pending = TOOL("apt-get", "-qq", "-y", "--print-uris", "install"),
    .archives = "/var/cache/apt/archives",
    .reasons = find_apt_reasons,
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
    .reinstall = "--reinstall",
    .verify = TOOL("dpkg", "--verify"),
    .repos = { "/etc/apt/sources.list.d", REPO_DEB_PARTS, repo_deb_managed, repo_deb_absent },
};
/* clang-format on */
