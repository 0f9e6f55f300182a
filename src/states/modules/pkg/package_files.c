#include "states/modules/pkg/package_files.h"

#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "states/modules/pkg/packages.h"
#include "states/modules/file/scratch.h"
#include "states/state/module.h"

/* The single pair of an item: name and source. */
static const struct value_pair *make_pair(const struct value *item)
{
    if (item->kind != VALUE_MAP || item->map->count != 1)
        return NULL;
    if (item->map->pairs[0].key.kind != VALUE_STR || item->map->pairs[0].value.kind != VALUE_STR)
        return NULL;
    return &item->map->pairs[0];
}

int package_files_validate(const struct value *sources, struct diags *diags)
{
    int result = 0;

    for (size_t i = 0; i < sources->list->count; i++) {
        const struct value *item = &sources->list->items[i];
        const struct value_pair *pair = make_pair(item);

        if (!pair || pair->key.s.n == 0 || pair->value.s.n == 0 || pair->key.s.p[0] == '-')
            result =
                value_diag(diags, item, "a source must be 'name: path or URL of a package file'");
    }
    return result;
}

int package_files_wants(struct packages *packages, const struct value *sources,
                        struct packages_wants *ret_wants, struct err *err)
{
    for (size_t i = 0; i < sources->list->count; i++) {
        const struct value_pair *pair = make_pair(&sources->list->items[i]);
        struct packages_want want = { 0 };

        if (!pair)
            return err_set(err, ERR_INVALID,
                           "a source must be 'name: path or URL of a package file'");
        want.name = pair->key.s.p;
        want.source = pair->value.s.p;
        VEC_PUSH_IN(packages->run->arena, &ret_wants->list, want);
    }
    return 0;
}

/* The version of a package file; NULL: unknown. */
static int read_package_file_version(struct packages *packages, const struct packages_want *want,
                                     const char *path, const char **ret, struct err *err)
{
    const struct tool *tool = &packages->host.tool;
    struct tool_words words = { 0 };
    struct str text, name;

    *ret = NULL;
    if (!packages->manager->show_file)
        return 0;
    for (const char *const *word = packages->manager->show_file; *word; word++)
        tool_add(tool, &words, *word);
    tool_add(tool, &words, path);
    if (package_manager_ask(packages->manager, &packages->host, tool_argv(tool, &words), NULL,
                            &text, err) < 0)
        return err_wrap(err, "package file of '%s'", want->name);
    name = str_cut(&text, ' ');
    if (!str_is(name, want->name))
        return err_set(err, ERR_INVALID, "package file of '%s': '%s' contains '%.*s'", want->name,
                       want->source, STR_ARG(name));
    *ret = text.p ? arena_str(packages->run->arena, str_trim(text)).p : NULL;
    return 0;
}

int package_files_aim(struct packages *packages, struct packages_want *want, struct err *err)
{
    const char *path, *version;

    if (want->found.state != PACKAGE_INSTALLED)
        return 0;
    if (state_source_path(packages->run, want->source, &path, err) < 0)
        return -1;
    if (!path || access(path, R_OK) < 0)
        return 0;
    if (read_package_file_version(packages, want, path, &version, err) < 0)
        return -1;
    want->version = version;
    return version ? wish_parse(str_from(version), &want->wish, err) : 0;
}

/* ".deb": managers recognise files by it. */
static const char *find_ending(const char *source)
{
    const char *slash = strrchr(source, '/'), *name = slash ? slash + 1 : source;
    const char *dot = strrchr(name, '.');

    return dot ? dot : "";
}

int package_files_fetch(struct packages *packages, const struct packages_want *want,
                        struct package_target *ret_target, struct err *err)
{
    const struct scratch_options options = {
        .suffix = find_ending(want->source),
        .mode = 0644,
        .uid = (uid_t)-1,
        .gid = (gid_t)-1,
    };
    const struct source_trust trust = { 0 };
    struct source_content content;
    struct scratch scratch;
    const char *version;

    if (state_source_content(packages->run, want->source, &trust, &content, err) < 0 ||
        scratch_copy(packages->run, &options, &content, &scratch, err) < 0)
        return err_wrap(err, "package file of '%s'", want->name);
    *ret_target = (struct package_target){ .name = want->name, .file = scratch.path };
    if (read_package_file_version(packages, want, scratch.path, &version, err) < 0) {
        scratch_remove(scratch.path);
        return -1;
    }
    ret_target->older =
        version && want->found.state == PACKAGE_INSTALLED &&
        packages->manager->compare(str_from(version), str_from(want->found.version)) < 0;
    return 0;
}

void package_files_done(const struct package_request *request)
{
    VEC_EACH (&request->targets, target)
        if (target->file)
            scratch_remove(target->file);
}
