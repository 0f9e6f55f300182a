/* pkgrepo.managed - manages a package repository. */
#include "states/modules/pkg/packages.h"
#include "states/modules/pkgrepo/repos.h"
#include "states/state/module.h"

#define ARGS struct repos_wish

/* clang-format off */
static const struct param managed_params[] = {
    PARAM("name", STR, ARGS, repo.name, "its name, for files and sections; for apt also a whole 'deb' line", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED),
    PARAM("humanname", STR, ARGS, repo.humanname, "its description"),
    PARAM("baseurl", STR, ARGS, repo.baseurl, "its URL; for apt also a whole 'deb' line", .flags = PARAM_FILLED, .aliases = "url,uri"),
    PARAM("mirrorlist", STR, ARGS, repo.mirrorlist, "URL of a mirror list; not for apt and apk", .flags = PARAM_FILLED),
    PARAM("ppa", STR, ARGS, repo.ppa, "apt: 'ppa:user/name', with its key", .flags = PARAM_FILLED),
    PARAM("dist", STR, ARGS, repo.dist, "apt: the suite (default: the code name of the system)", .flags = PARAM_FILLED),
    PARAM("comps", STRS, ARGS, repo.comps, "apt: components, as a list or 'main,contrib' (default: main)", .aliases = "components"),
    PARAM("architectures", STRS, ARGS, repo.architectures, "apt: only for these architectures"),
    PARAM("file", PATH, ARGS, repo.file, "its file (default: one named after it); for apt, a name in '.sources' gets a stanza, others a line"),
    PARAM("key_url", STR, ARGS, repo.key_url, "its signing key: a URL, or a path in the state tree; rpm: gpgkey", .flags = PARAM_FILLED, .aliases = "gpgkey"),
    PARAM("key_hash", STR, ARGS, repo.key_hash, "sha256=... or sha512=... of the key", .flags = PARAM_FILLED),
    PARAM("key_text", TEXT, ARGS, repo.key_text, "the signing key itself; written as binary to a '.gpg' file, as text to others"),
    PARAM("signedby", STR, ARGS, repo.signedby, "apt: the key file, which is written if a key is given", .flags = PARAM_FILLED),
    PARAM("aptkey", TRISTATE, ARGS, repo.aptkey, "apt: only false, for compatibility with Salt: keys are files"),
    PARAM("options", STRMAP, ARGS, repo.options, "extra options of the line, or keys of the section"),
    PARAM("enabled", BOOL, ARGS, repo.enabled, "enable the repository", .default_text = "true"),
    PARAM("disabled", BOOL, ARGS, repo.disabled, "keep the repository, but disable it"),
    PARAM("gpgcheck", BOOL, ARGS, repo.gpgcheck, "verify signatures", .default_text = "true"),
    PARAM("clean_file", BOOL, ARGS, repo.clean_file, "remove everything else from the file"),
    PARAM("refresh", BOOL, ARGS, refresh, "refresh the index after a change", .default_text = "true", .aliases = "refresh_db"),
    PARAM_REFUSED("keyid", "key servers are not asked; give key_url or key_text"),
    PARAM_REFUSED("keyserver", "key servers are not asked; give key_url or key_text"),
    PARAM_IDLE("gpgautoimport", "keys are imported when key_url is given"),
    PARAM_IDLE("consolidate", "a repository stands in one file; see clean_file"),
    PARAM_REFUSED("copr", "give baseurl and gpgkey"),
    PARAM_REFUSED("ppa_auth", "write the name and password into a file of /etc/apt/auth.conf.d"),
    PARAM_REFUSED("comments", "write comments with file.managed"),
    PARAM_REFUSED("priority", "write it into options"),
    PARAM_REFUSED("trusted", "write options: {trusted: 'yes'}"),
    { 0 },
};
/* clang-format on */

static const struct repos_goal managed = { .managed = true, .verb = "managed" };

static int managed_check(struct state_run *run, const void *args, struct err *err)
{
    return repos_check(run, args, &managed, err);
}

static int managed_apply(struct state_run *run, const void *args, struct err *err)
{
    return repos_apply(run, args, &managed, err);
}

const struct module module_pkgrepo_managed = {
    .name = "pkgrepo.managed",
    .summary = "manage a package repository",
    .details = "Written in the native form of the package manager, such as a line in "
               "/etc/apt/sources.list.d with its key referenced by signed-by, or a section of a "
               ".repo file. Parameters that the manager does not support are an error. Keys are "
               "compared in full, so a new one is noticed. If the index cannot be refreshed, the "
               "files are restored and the next run tries again.",
    .example = "name: docker\nbaseurl: https://download.docker.com/linux/debian\ndist: bookworm\n"
               "comps: [stable]\nkey_url: https://download.docker.com/linux/debian/gpg\n",
    .params = managed_params,
    .args_size = sizeof(struct repos_wish),
    .lock = PACKAGES_LOCK,
    .validate = repos_validate,
    .check = managed_check,
    .apply = managed_apply,
};
