#include "states/modules/pkg/packages_verify.h"

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "core/edit/lines.h"
#include "states/modules/pkg/packages.h"
#include "states/provider/package/manager.h"
#include "states/state/module.h"

/* Where the files of each type that can be ignored are. Those of the first one are always. */
static const struct {
    const char *type;
    const char *folders[3];
} types[] = {
    { "config", { 0 } },
    { "doc", { "/usr/share/doc/", "/usr/share/man/", "/usr/share/info/" } },
};

static bool is_file_type(struct str word)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_is(word, types[i].type))
            return true;
    return false;
}

static int validate_types(const struct value *list, struct diags *diags)
{
    if (list->kind != VALUE_LIST)
        return value_diag(diags, list, "'ignore_types' must be a list, got %s",
                          value_describe(list));
    for (size_t i = 0; i < list->list->count; i++) {
        const struct value *word = &list->list->items[i];

        if (word->kind != VALUE_STR || !is_file_type(word->s))
            return value_diag(diags, word, "'ignore_types' has config and doc");
    }
    return 0;
}

int packages_verify_validate(const struct value *verify, struct diags *diags)
{
    int result = 0;

    if (!verify || verify->kind == VALUE_NULL || verify->kind == VALUE_BOOL)
        return 0;
    if (verify->kind != VALUE_LIST)
        return value_diag(diags, verify, "'pkg_verify' must be true or a list of maps, got %s",
                          value_describe(verify));
    for (size_t i = 0; i < verify->list->count; i++) {
        const struct value *item = &verify->list->items[i];
        const struct value *ignored = value_get(item, "ignore_types");

        if (!ignored)
            result = value_diag(diags, item, "'pkg_verify' takes 'ignore_types' only");
        else
            result |= validate_types(ignored, diags);
    }
    return result;
}

bool packages_verify_wanted(const struct value *verify)
{
    return verify && (verify->kind == VALUE_LIST || (verify->kind == VALUE_BOOL && verify->b));
}

static bool has_type(const struct value *verify, const char *type)
{
    for (size_t i = 0; verify->kind == VALUE_LIST && i < verify->list->count; i++) {
        const struct value *list = value_get(&verify->list->items[i], "ignore_types");

        for (size_t j = 0; list && list->kind == VALUE_LIST && j < list->list->count; j++)
            if (str_is(list->list->items[j].s, type))
                return true;
    }
    return false;
}

static bool is_difference_ignored(const struct value *verify, struct str path)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        for (size_t j = 0; j < ARRAY_LEN(types[i].folders); j++)
            if (types[i].folders[j] && str_starts(path, str_from(types[i].folders[j])) &&
                has_type(verify, types[i].type))
                return true;
    return false;
}

/* "??5??????   /usr/bin/x", "missing     /usr/bin/x"; a letter between them is the type. */
static struct str parse_verify_line(struct str line, bool *ret_config)
{
    struct str rest = line;
    const struct str type = (lines_word(&rest), lines_word(&rest));

    *ret_config = type.n == 1;
    rest = str_trim_left(rest);
    return type.n == 1 ? rest : str_from_offset(line, line.n - rest.n - type.n);
}

int packages_verify(struct packages *packages, const struct value *verify, const char *name,
                    const char **ret_path, struct err *err)
{
    static const int differs[PACKAGE_FINE_MAX] = { 1 };
    const struct package_manager *manager = packages->manager;
    const struct tool *tool = &packages->host.tool;
    struct tool_words words = { 0 };
    struct line line;
    struct str text;
    bool config;

    *ret_path = NULL;
    if (!manager->verify)
        return err_set(err, ERR_UNSUPPORTED, "%s cannot compare installed files", manager->name);
    for (const char *const *word = manager->verify; *word; word++)
        tool_add(tool, &words, *word);
    tool_add(tool, &words, name);
    if (package_manager_ask(manager, &packages->host, tool_argv(tool, &words), differs, &text,
                            err) < 0)
        return -1;
    while (lines_next(&text, &line)) {
        const struct str path = parse_verify_line(line.text, &config);

        if (config || path.n == 0 || is_difference_ignored(verify, path))
            continue;
        *ret_path = arena_str(tool->arena, path).p;
        return 0;
    }
    return 0;
}
