/* pkg.downloaded - package files are downloaded, with those that they need. */
#include "core/base/err.h"
#include "core/edit/lines.h"
#include "states/modules/pkg/packages.h"
#include "states/modules/pkg/packages_index.h"
#include "states/state/module.h"
#include "states/undo/change.h"

#define ARGS struct downloaded_args

struct downloaded_args {
    struct packages_args what;
    enum param_tristate refresh;
};

/* clang-format off */
static const struct param downloaded_params[] = {
    PACKAGES_PARAMS(ARGS, what),
    PACKAGES_VERSION(ARGS, what),
    PARAM("refresh", TRISTATE, ARGS, refresh, "refresh the package index first (default: only if it lacks a package)"),
    PARAM_REFUSED("fromrepo", "pin the repository in the configuration of the manager"),
    { 0 },
};
/* clang-format on */

static int downloaded_validate(const void *args, const struct value *where, struct diags *diags)
{
    return packages_validate(&((const struct downloaded_args *)args)->what, where, diags);
}

/* --- what is missing -------------------------------------------------------------------------- */

struct download {
    struct packages packages;
    struct packages_wants wants;
    struct tool_words targets; /* name, or name=version */
    VEC(const char *) files;   /* that are not there yet */
};

/* Each wanted package, in the version that satisfies what is wanted. */
static int name_download_targets(struct download *download, struct err *err)
{
    struct packages *packages = &download->packages;
    struct arena *arena = packages->run->arena;
    struct package_offers offers;

    if (packages_offers(packages, &download->wants, &offers, err) < 0)
        return -1;
    VEC_EACH (&download->wants.list, want) {
        const char *version;

        if (packages_choose(packages, want, &offers, &version, err) < 0)
            return -1;
        tool_add(&packages->host.tool, &download->targets,
                 version
                     ? arena_printf(arena, "%s%c%s", want->name, packages->manager->pin, version)
                     : want->name);
    }
    return 0;
}

static const char *const *make_download_argv(struct download *download, const char *const *command)
{
    const struct tool *tool = &download->packages.host.tool;
    struct tool_words words = { 0 };

    for (; *command; command++)
        tool_add(tool, &words, *command);
    VEC_EACH (&download->targets.list, target)
        tool_add(tool, &words, *target);
    return tool_argv(tool, &words);
}

/* Lines of the manager: 'http://host/path/app_1.0_all.deb' app_1.0_all.deb 1234 SHA256:... */
static void read_downloaded_files(struct download *download, struct str text)
{
    struct arena *arena = download->packages.run->arena;
    struct line line;

    while (lines_next(&text, &line)) {
        struct str rest = line.text;

        if (!str_starts(rest, STR("'")))
            continue;
        (void)str_cut(&rest, ' ');
        VEC_PUSH_IN(arena, &download->files, arena_str(arena, str_cut(&rest, ' ')).p);
    }
}

static int find_missing_files(struct state_run *run, const struct downloaded_args *want,
                              struct download *ret, struct err *err)
{
    static const int none[PACKAGE_FINE_MAX] = { 0 };
    const struct package_manager *manager;
    struct str text;

    *ret = (struct download){ 0 };
    if (packages_open(run, &ret->packages, err) < 0)
        return -1;
    manager = ret->packages.manager;
    if (!manager->download || !manager->pending)
        return err_set(err, ERR_UNSUPPORTED, "%s cannot download packages without installing them",
                       manager->name);
    if (packages_wants(&ret->packages, &want->what, &ret->wants, err) < 0 ||
        packages_look(&ret->packages, &ret->wants, err) < 0 ||
        name_download_targets(ret, err) < 0 ||
        package_manager_ask(manager, &ret->packages.host, make_download_argv(ret, manager->pending),
                            none, &text, err) < 0)
        return -1;
    read_downloaded_files(ret, text);
    return 0;
}

/* --- the state --------------------------------------------------------------------------- */

static int refresh_download_index(struct state_run *run, const struct downloaded_args *want,
                                  struct err *err)
{
    struct packages packages;

    if (run->test || want->refresh != PARAM_IS_TRUE)
        return 0;
    if (packages_open(run, &packages, err) < 0)
        return -1;
    return packages_index_refresh(&packages, &(struct packages_index){ true, 0, NULL }, err);
}

/* An index that lacks a package is refreshed. In a dry run, an earlier state may bring the
 * package. */
static int find_available(struct state_run *run, const struct downloaded_args *want,
                          struct download *ret, struct err *err)
{
    const struct packages_index how = { false, 0, NULL };

    if (find_missing_files(run, want, ret, err) == 0)
        return 0;
    if (ret->wants.list.n == 0 || err->code == ERR_CANCELED)
        return -1;
    if (run->test) {
        state_differs(run, "%s needs to be downloaded",
                      packages_names(&ret->packages, &ret->wants));
        state_say(run, "%s", err->text);
        return 0;
    }
    if (want->refresh != PARAM_IS_UNSET || packages_index_refresh(&ret->packages, &how, err) < 0)
        return -1;
    return find_missing_files(run, want, ret, err);
}

static int downloaded_check(struct state_run *run, const void *args, struct err *err)
{
    struct download download;

    if (refresh_download_index(run, args, err) < 0 || find_available(run, args, &download, err) < 0)
        return -1;
    VEC_EACH (&download.files, file) {
        state_differs(run, "%s needs to be downloaded", *file);
        state_made(run, "downloaded %s", *file);
    }
    if (!run->differs)
        state_say(run, "all packages are downloaded or installed");
    return 0;
}

static int downloaded_apply(struct state_run *run, const void *args, struct err *err)
{
    static const int none[PACKAGE_FINE_MAX] = { 0 };
    struct download download;

    if (find_available(run, args, &download, err) < 0)
        return -1;
    if (download.files.n == 0) {
        state_unchanged(run);
        return 0;
    }
    VEC_EACH (&download.files, file)
        if (change_save(
                run, arena_printf(run->arena, "%s/%s", download.packages.manager->archives, *file),
                err) < 0)
            return -1;
    state_detail(run, "packages", "%s", packages_names(&download.packages, &download.wants));
    return package_manager_ask(download.packages.manager, &download.packages.host,
                               make_download_argv(&download, download.packages.manager->download),
                               none, NULL, err);
}

const struct module module_pkg_downloaded = {
    .name = "pkg.downloaded",
    .summary = "package files are downloaded, with those that they need",
    .details =
        "They are in the cache of the package manager, so that a later installation needs no "
        "network. What is installed already is not downloaded. A revert removes the files.",
    .example = "pkgs:\n  - nginx\n",
    .params = downloaded_params,
    .args_size = sizeof(struct downloaded_args),
    .lock = PACKAGES_LOCK,
    .validate = downloaded_validate,
    .check = downloaded_check,
    .apply = downloaded_apply,
};
