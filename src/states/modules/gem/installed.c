/* gem.installed - Ruby packages are installed. */
#include "core/base/err.h"
#include "states/modules/gem/gems.h"
#include "states/state/module.h"

#define ARGS struct gems_args

/* clang-format off */
static const struct param installed_params[] = {
    PARAM("name", STR, ARGS, name, "the gem, or the path of a file", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("version", STR, ARGS, version, "exactly this version, or a condition: '~> 2.0'", .flags = PARAM_FILLED),
    PARAM("rdoc", BOOL, ARGS, rdoc, "make its RDoc pages"),
    PARAM("ri", BOOL, ARGS, ri, "make its pages for ri"),
    PARAM("pre_releases", BOOL, ARGS, pre_releases, "also versions that are not final"),
    PARAM("proxy", STR, ARGS, proxy, "through this proxy: http://host:port", .flags = PARAM_FILLED),
    PARAM("source", STR, ARGS, source, "where it comes from", .flags = PARAM_FILLED),
    GEMS_PARAMS,
    { 0 },
};
/* clang-format on */

/* The name and version in "/tmp/zt-1.0.gem". */
struct wanted_gem {
    struct str name, version;
};

static struct wanted_gem find_wanted_gem(const struct gems_args *want)
{
    struct wanted_gem wish = { str_from(want->name),
                               want->version ? str_from(want->version) : STR("") };
    size_t slash = STR_NONE, dash = STR_NONE;

    if (!str_ends(wish.name, STR(".gem")))
        return wish;
    for (size_t i = 0; i < wish.name.n; i++) {
        slash = wish.name.p[i] == '/' ? i : slash;
        dash = wish.name.p[i] == '-' ? i : dash;
    }
    if (slash != STR_NONE && dash != STR_NONE && dash > slash) {
        wish.version = str_slice(wish.name, dash + 1, wish.name.n - dash - 5);
        wish.name = str_slice(wish.name, slash + 1, dash - slash - 1);
    }
    return wish;
}

static bool is_exact_gem_version(struct str version)
{
    for (size_t i = 0; i < version.n; i++)
        if (str_find_char(STR("<>=~!, "), version.p[i], 0) != STR_NONE)
            return false;
    return version.n > 0;
}

/* gem itself knows what satisfies a condition. */
static int check_gem_condition(struct state_run *run, const struct gems_args *want,
                               const struct wanted_gem *wish, bool *ret, struct err *err)
{
    const struct tool tool = run_tool(run);
    struct tool_words words = { 0 };
    struct str text;

    tool_add(&tool, &words, "list");
    tool_add(&tool, &words, "--local");
    tool_add(&tool, &words, "--exact");
    tool_add(&tool, &words, arena_str(run->arena, wish->name).p);
    tool_add(&tool, &words, "--version");
    tool_add(&tool, &words, arena_str(run->arena, wish->version).p);
    if (gems_run(run, want, &words, &text, err) < 0)
        return -1;
    *ret = str_find(text, STR("("), 0) != STR_NONE;
    return 0;
}

static int is_gem_installed(struct state_run *run, const struct gems_args *want,
                            const struct gems *gems, bool *ret, struct err *err)
{
    const struct wanted_gem wish = find_wanted_gem(want);
    const struct gem *gem = gems_find(gems, wish.name);

    *ret = gem && (wish.version.n == 0 || gems_has_version(gem, wish.version));
    if (gem && wish.version.n > 0 && !is_exact_gem_version(wish.version))
        return check_gem_condition(run, want, &wish, ret, err);
    return 0;
}

static int installed_check(struct state_run *run, const void *args, struct err *err)
{
    const struct gems_args *want = args;
    struct gems gems = { 0 };
    bool installed = false;

    if (run->test && gems_is_missing(run, want))
        state_say(run, "gem is not installed; an earlier state must install it (apply fails "
                       "otherwise)");
    else if (gems_list(run, want, &gems, err) < 0 ||
             is_gem_installed(run, want, &gems, &installed, err) < 0)
        return -1;
    if (installed) {
        state_say(run, "gem '%s' is already installed", want->name);
        return 0;
    }
    state_differs(run, "gem '%s'%s%s is not installed", want->name, want->version ? " " : "",
                  want->version ? want->version : "");
    state_made(run, "installed gem '%s'%s%s", want->name, want->version ? " " : "",
               want->version ? want->version : "");
    return 0;
}

static int install_gem(struct state_run *run, const struct gems_args *want, struct err *err)
{
    const struct tool tool = run_tool(run);
    const struct {
        const char *option, *value;
    } options[] = {
        { "--version", want->version },
        { "--source", want->source },
        { "--http-proxy", want->proxy },
    };
    struct tool_words words = { 0 };

    tool_add(&tool, &words, "install");
    tool_add(&tool, &words, want->name);
    for (size_t i = 0; i < ARRAY_LEN(options); i++)
        if (options[i].value) {
            tool_add(&tool, &words, options[i].option);
            tool_add(&tool, &words, options[i].value);
        }
    if (want->pre_releases)
        tool_add(&tool, &words, "--prerelease");
    tool_add(&tool, &words,
             want->rdoc && want->ri ? "--document=rdoc,ri"
             : want->rdoc           ? "--document=rdoc"
             : want->ri             ? "--document=ri"
                                    : "--no-document");
    return gems_run(run, want, &words, NULL, err);
}

static int installed_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct gems_args *want = args;
    struct gems before;
    bool installed;
    int rc;

    if (gems_list(run, want, &before, err) < 0 ||
        is_gem_installed(run, want, &before, &installed, err) < 0)
        return -1;
    if (installed) {
        state_unchanged(run);
        return 0;
    }
    if (state_note(run, "before", gems_note(run, &before), err) < 0 ||
        state_note(run, "after", gems_note_install(run, &before, want->name), err) < 0)
        return -1;
    state_detail(run, "gem", "%s", want->name);
    rc = install_gem(run, want, err);
    return run_tool_note_after(run, want, gems_look, rc, err);
}

const struct module module_gem_installed = {
    .name = "gem.installed",
    .summary = "Ruby packages are installed",
    .details = "A revert removes only what was not there before, dependencies included.",
    .example = "name: rake\nversion: 13.0.6\n",
    .params = installed_params,
    .args_size = sizeof(struct gems_args),
    .lock = GEMS_LOCK,
    .validate = gems_validate,
    .check = installed_check,
    .apply = installed_apply,
    .revert = gems_revert,
};
