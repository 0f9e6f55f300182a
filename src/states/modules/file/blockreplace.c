/* file.blockreplace - manages the lines between two markers of a file. */
#include "core/base/err.h"
#include "core/base/matcher.h"
#include "core/edit/edit.h"
#include "states/modules/file/backup.h"
#include "states/modules/file/content.h"
#include "states/modules/file/editor.h"
#include "states/state/accumulators.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "core/sys/path.h"

#define ARGS struct block_args

struct block_args {
    const char *name;
    struct content_args content;
    struct str start, end, before, after;
    bool append, prepend, append_newline, show_changes;
    const struct value *backup;
    struct param_strs sources, source_hashes;
};

/* clang-format off */
static const struct param blockreplace_params[] = {
    PARAM("name", PATH, ARGS, name, "the file", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "path"),
    PARAM("content", TEXT, ARGS, content.content, "the lines of the block", PARAM_GIVEN(ARGS, content.has_content)),
    PARAM("source", ANY, ARGS, content.source, "source of the lines, instead of content"),
    PARAM("sources", STRS, ARGS, sources, "several sources, one after another"),
    PARAM("source_hashes", STRS, ARGS, source_hashes, "a source_hash for each of them, in their order"),
    PARAM("source_hash", STR, ARGS, content.trust.hash, "hash of the source: sha256=... (or sha512, sha1, md5), or a file of checksums"),
    PARAM("source_hash_name", STR, ARGS, content.trust.name, "name in the file of checksums (default: that of the source)"),
    PARAM("skip_verify", BOOL, ARGS, content.trust.skip_verify, "accept a download without a hash"),
    PARAM("template", ANY, ARGS, content.template, "render the lines: true or 'jinja'"),
    PARAM("context", MAP, ARGS, content.context, "variables for the template"),
    PARAM("defaults", MAP, ARGS, content.defaults, "variables that 'context' does not set"),
    PARAM("marker_start", TEXT, ARGS, start, "the line before the block (default: '# START managed zone'; in a Salt file '#-- start managed zone --')", .flags = PARAM_FILLED),
    PARAM("marker_end", TEXT, ARGS, end, "the line after it (default: '# END managed zone'; in a Salt file '#-- end managed zone --')", .flags = PARAM_FILLED),
    PARAM("append_if_not_found", BOOL, ARGS, append, "append a missing block to the file"),
    PARAM("prepend_if_not_found", BOOL, ARGS, prepend, "prepend a missing block to the file"),
    PARAM("insert_before_match", TEXT, ARGS, before, "insert a missing block before the first line that matches this pattern"),
    PARAM("insert_after_match", TEXT, ARGS, after, "insert a missing block after the first line that matches this pattern"),
    PARAM("append_newline", BOOL, ARGS, append_newline, "add an empty line after an appended block"),
    PARAM("backup", ANY, ARGS, backup, BACKUP_DOC),
    PARAM("show_changes", BOOL, ARGS, show_changes, "show what changes", .default_text = "true"),
    { 0 },
};
/* clang-format on */

static int compile_block_patterns(struct arena *arena, struct str pattern,
                                  const struct matcher **ret, struct err *err)
{
    *ret = NULL;
    return pattern.n > 0 ? matcher_new(arena, pattern, 0, ret, NULL, err) : 0;
}

static int blockreplace_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct block_args *want = args;
    int result = content_validate(&want->content, where, diags);
    const struct matcher *matcher;
    struct err err;

    if (backup_validate(want->backup, diags) < 0)
        result = -1;
    if (compile_block_patterns(diags->arena, want->before, &matcher, &err) < 0 ||
        compile_block_patterns(diags->arena, want->after, &matcher, &err) < 0)
        result = value_diag(diags, where, "invalid %s", err.text);
    if (want->start.n > 0 && str_eq(str_trim_right(want->start), str_trim_right(want->end)))
        result = value_diag(diags, value_point(where, "marker_start"),
                            "'marker_start' and 'marker_end' are the same");
    return result;
}

static bool is_block_added(const struct block_args *want)
{
    return want->append || want->prepend || want->before.n > 0 || want->after.n > 0;
}

static void describe_block_change(struct state_run *run, const struct block_args *want,
                                  const struct editor_file *file, enum edit_block_found found,
                                  struct editor_plan *plan)
{
    const char *name = want->name;

    plan->detail = "action";
    if (!file->exists && found == EDIT_BLOCK_MISSING) {
        plan->remark = arena_printf(
            run->arena, "file %s does not exist and append_if_not_found is false", name);
    } else if (!file->exists) {
        plan->pending = arena_printf(run->arena, "file %s does not exist", name);
        plan->done = arena_printf(run->arena, "created %s with managed block", name);
        plan->word = "created";
    } else if (found == EDIT_BLOCK_MISSING) {
        plan->remark =
            arena_printf(run->arena, "managed block not found in %s%s", name,
                         is_block_added(want) ? "" : " and append_if_not_found is false");
    } else if (found == EDIT_BLOCK_ADDED) {
        plan->pending = arena_printf(run->arena, "managed block not found in %s", name);
        plan->done = arena_printf(run->arena, "appended managed block to %s", name);
        plan->word = "appended";
    } else {
        plan->pending = arena_printf(run->arena, "managed block content differs in %s", name);
        plan->done = arena_printf(run->arena, "replaced managed block content in %s", name);
        plan->word = "replaced";
    }
}

static struct str choose_marker(const struct state_run *run, struct str given, struct str ours,
                                struct str salts)
{
    return given.n > 0 ? given : run->salt ? salts : ours;
}

/* The contents of several sources, one after another. */
static int join_block_sources(struct state_run *run, const struct block_args *want, struct str *ret,
                              struct err *err)
{
    AUTO_BUF struct buf all = BUF_INIT(EDIT_SIZE_MAX);
    struct str text;

    for (size_t i = 0; i < want->sources.n; i++) {
        const char *source = want->sources.p[i];
        const char *hash = i < want->source_hashes.n ? want->source_hashes.p[i] : NULL;

        if (state_source(run, source, hash, &text, err) < 0 ||
            (content_is_template(content_choose_template(run, want->content.template)) &&
             content_render(run, &want->content, source, text, &text, err) < 0))
            return -1;
        buf_add_str(&all, text);
        if (all.n > 0 && all.p[all.n - 1] != '\n')
            buf_add_char(&all, '\n');
    }
    if (all.full)
        return err_set(err, ERR_LIMIT, "the sources have more than %zu bytes", EDIT_SIZE_MAX);
    *ret = buf_copy(&all, run->arena);
    return 0;
}

/* With what file.accumulated has collected for the file, each text on lines of its own. */
static int add_block_texts(struct state_run *run, const struct block_args *want, struct str *text,
                           struct err *err)
{
    const struct value_map *found = accumulators_get(run->host->accumulators, run->arena,
                                                     path_normalise(run->arena, want->name));
    AUTO_BUF struct buf all = BUF_INIT(EDIT_SIZE_MAX);

    if (!found)
        return 0;
    buf_add_str(&all, *text);
    for (size_t i = 0; i < found->count; i++)
        for (size_t k = 0; k < found->pairs[i].value.list->count; k++) {
            if (all.n > 0 && all.p[all.n - 1] != '\n')
                buf_add_char(&all, '\n');
            buf_add_str(&all, found->pairs[i].value.list->items[k].s);
        }
    if (all.full)
        return err_set(err, ERR_LIMIT, "the block has more than %zu bytes", EDIT_SIZE_MAX);
    *text = buf_copy(&all, run->arena);
    return 0;
}

static int plan_block(struct state_run *run, const void *args, const struct editor_file *file,
                      struct editor_plan *plan, struct err *err)
{
    const struct block_args *want = args;
    struct content_args content_args = want->content;
    struct edit_block edit = {
        .start = choose_marker(run, want->start, STR("# START managed zone"),
                               STR("#-- start managed zone --")),
        .end = choose_marker(run, want->end, STR("# END managed zone"),
                             STR("#-- end managed zone --")),
        .append = want->append,
        .prepend = want->prepend,
        .append_newline = want->append_newline,
    };
    enum edit_block_found found;
    struct content content;

    content_args.path = want->name;
    if (content_args.source)
        content_args.template = content_choose_template(run, content_args.template);
    if (content_get(run, &content_args, &content, err) < 0 ||
        compile_block_patterns(run->arena, want->before, &edit.before, err) < 0 ||
        compile_block_patterns(run->arena, want->after, &edit.after, err) < 0)
        return -1;
    edit.content = content.text;
    if ((want->sources.n > 0 && join_block_sources(run, want, &edit.content, err) < 0) ||
        add_block_texts(run, want, &edit.content, err) < 0)
        return -1;
    if (edit_block(file->text, &edit, &plan->text, &found, err) < 0)
        return err_wrap(err, "%s", want->name);
    describe_block_change(run, want, file, found, plan);
    return 0;
}

static struct editor make_block_editor(const struct block_args *want)
{
    return (struct editor){
        .path = want->name,
        .plan = plan_block,
        .hide = !want->show_changes,
        .backup = want->backup,
    };
}

EDITOR_STATE(make_block_editor)

const struct module module_file_blockreplace = {
    .name = "file.blockreplace",
    .summary = "manage the lines between two markers of a file",
    .example = "name: ROOT/hosts\ncontent: |\n  10.0.0.1 db\nappend_if_not_found: true\n",
    .params = blockreplace_params,
    .args_size = sizeof(struct block_args),
    .flags = MODULE_LOCAL | MODULE_EDITS,
    .validate = blockreplace_validate,
    EDITOR_STATE_FIELDS,
};
