/* pacman, of Arch. Versions are those of rpm, but letters after a number are older than nothing.
 */
#include "states/provider/package/manager.h"

#include <ctype.h>
#include <stddef.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "states/provider/package/db.h"
#include "states/provider/package/offers.h"
#include "states/provider/package/repo_section.h"

/* --- versions --------------------------------------------------------------------------------- */

static size_t skip_dots(struct str *s)
{
    size_t n = 0;

    while (n < s->n && !isalnum((unsigned char)s->p[n]))
        n++;
    *s = str_from_offset(*s, n);
    return n;
}

/* The rest of one side when the other has ended: letters are older than nothing, unless they
 * follow a separator, as in "1.0.a". */
static int compare_rest(struct str rest, size_t separators)
{
    if (rest.n == 0)
        return 0;
    return isalpha((unsigned char)rest.p[0]) && separators == 0 ? -1 : 1;
}

static int compare_pacman_part(struct str a, struct str b)
{
    size_t x = 0, y = 0;

    while (a.n > 0 && b.n > 0) {
        int order;

        x = skip_dots(&a);
        y = skip_dots(&b);
        if (a.n == 0 || b.n == 0)
            break;
        if (x != y)
            return x < y ? -1 : 1;
        order = version_compare_segment(&a, &b);
        if (order != 0)
            return order;
        x = y = 0;
    }
    if (a.n > 0 && x == 0)
        x = skip_dots(&a);
    if (b.n > 0 && y == 0)
        y = skip_dots(&b);
    return a.n > 0 ? compare_rest(a, x) : -compare_rest(b, y);
}

static int compare_pacman_versions(struct str a, struct str b)
{
    return version_compare_parts(a, b, compare_pacman_part, VERSION_MISSING_IS_ANY);
}

/* --- installed and available packages --------------------------------------------------------- */

static size_t find_last_dash(struct str text)
{
    for (size_t i = text.n; i > 0; i--)
        if (text.p[i - 1] == '-')
            return i - 1;
    return STR_NONE;
}

/* The name of a folder: name-version-release. */
static int read_package_folder(struct package_db *db, struct str folder, struct err *err)
{
    size_t release = find_last_dash(folder);
    size_t version = release == STR_NONE ? STR_NONE : find_last_dash(str_slice(folder, 0, release));
    struct package *package;

    if (version == STR_NONE || version == 0) /* ALPM_DB_VERSION and the like */
        return 0;
    return package_db_add(db, str_slice(folder, 0, version), str_from_offset(folder, version + 1),
                          STR(""), PACKAGE_INSTALLED, &package, err);
}

static int parse_pacman_database(struct package_db *db, struct str text, struct err *err)
{
    while (text.p)
        if (read_package_folder(db, str_cut(&text, '\n'), err) < 0)
            return -1;
    return 0;
}

static void parse_pacman_offers(struct package_offers *offers, struct arena *arena, struct str text)
{
    struct package_offer *offer = NULL;

    while (text.p) {
        struct str rest = str_cut(&text, '\n'), key = str_trim(str_cut(&rest, ':'));

        if (!rest.p)
            continue;
        if (str_is(key, "Name"))
            offer = package_offers_find(offers, str_trim(rest));
        else if (str_is(key, "Version") && offer)
            package_offer_add(offer, arena, str_trim(rest));
    }
}

/* The reason of a failure is among its output. */
static struct str keep_whole_output(struct str output)
{
    return output;
}

/* --- repositories: sections of one file ------------------------------------------------------- */

static int write_pacman_repo(const struct package_repo_host *host, const struct package_repo *repo,
                             struct package_repo_files *files, struct err *err)
{
    AUTO_BUF struct buf text = BUF_INIT(PACKAGE_REPO_TEXT_MAX);
    const struct repo_key keys[] = {
        { "Server", repo->baseurl },
        { "Include", repo->mirrorlist },
        { "SigLevel", repo->gpgcheck ? NULL : "Never" },
    };
    struct package_repo_file *file;
    bool was_there;

    if (package_repo_add_file(host, files, repo->file ? repo->file : host->place, &file, err) < 0)
        return -1;
    if (!package_repo_is_used(repo)) /* it has no disabled repositories */
        repo_section_remove(file->old, str_from(repo->name), &text, &was_there);
    else if (repo_section_set(file->old.p ? file->old : STR(""), str_from(repo->name), keys,
                              ARRAY_LEN(keys), " = ", &text, err) < 0)
        return -1;
    file->now = buf_copy(&text, host->arena);
    return 0;
}

static int remove_pacman_repo(const struct package_repo_host *host, const struct package_repo *repo,
                              struct package_repo_files *files, struct err *err)
{
    return package_repo_drop(host, repo, repo->file ? repo->file : host->place, repo_section_drop,
                             files, err);
}

/* --- the manager ------------------------------------------------------------------------------ */

/* clang-format off */
static const struct package_programs programs[] = {
    { "cronie", "crontab" },
    { "git", "git" },
    { "glibc", "localedef" },
    { "openssh", "ssh-keyscan" },
    { "python-pip", "pip3" },
    { "shadow", "chage chpasswd gpasswd groupadd useradd usermod" },
    { "util-linux", "mount swapoff swapon umount" },
    { 0 },
};

const struct package_manager package_manager_pacman = {
    .name = "pacman",
    .rank = 60,
    .families = "arch",
    .programs = TOOL("pacman"),
    .program_packages = programs,
    .compare = compare_pacman_versions,
    .installed_folder = "/var/lib/pacman/local",
    .parse_installed = parse_pacman_database,
    .offers_command = TOOL("pacman", "-Si"),
    .offers_none = 1,
    .parse_offers = parse_pacman_offers,
    .index = TOOL("/var/lib/pacman/sync"),
    .actions = {
        [PACKAGE_INSTALL]   = TOOL("pacman", "--noconfirm", "-S"),
        [PACKAGE_REMOVE]    = TOOL("pacman", "--noconfirm", "-R"),
        [PACKAGE_PURGE]     = TOOL("pacman", "--noconfirm", "-Rn"),
        [PACKAGE_MAY_ERASE] = TOOL("pacman", "--noconfirm", "-Rp"),
        [PACKAGE_REFRESH]   = TOOL("pacman", "--noconfirm", "-Sy"),
    },
    .install_file = TOOL("pacman", "--noconfirm", "-U"),
    .repo_in_name = true,
    .reasons = keep_whole_output,
    .names = TOOL("pacman", "-Slq"),
    .show_file = TOOL("pacman", "-Qp"),
    .repos = { "/etc/pacman.conf", PACKAGE_REPO_MIRRORLIST | PACKAGE_REPO_UNSIGNED, write_pacman_repo, remove_pacman_repo },
};
/* clang-format on */
