/* file.managed - manages a file: content, mode and owner. */
#include <string.h>

#include "core/base/err.h"
#include "core/base/utf8.h"
#include "states/modules/file/attrs.h"
#include "states/modules/file/backup.h"
#include "states/modules/file/content.h"
#include "states/modules/file/likeness.h"
#include "states/modules/file/scratch.h"
#include "states/modules/file/desired_file.h"
#include "states/state/accumulators.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"
#include "core/sys/process.h"

#define ARGS struct managed_args

struct managed_args {
    const char *name;
    struct content_args content;
    const struct value *mode, *dir_mode;
    const char *user, *group;
    bool makedirs, replace, create, allow_empty, newline, show_changes, follow_symlinks;
    const struct value *backup;
    const char *check_cmd, *tmp_dir, *tmp_ext;
    const char *encoding;
    const struct value *more;
    struct likeness likeness;
};

/* clang-format off */
static const struct param managed_params[] = {
    PARAM("name", PATH, ARGS, name, "the file", .flags = PARAM_REQUIRED | PARAM_PRIMARY, .aliases = "path"),
    PARAM("content", TEXT, ARGS, content.content, "the content, byte for byte", PARAM_GIVEN(ARGS, content.has_content)),
    PARAM("contents", ANY, ARGS, content.contents, "the content: text, or a list of lines; ends with a newline"),
    PARAM("contents_pillar", STRS, ARGS, content.peel_settings, "path of the contents in the settings, or several", .aliases = "contents_settings"),
    PARAM("contents_grains", STRS, ARGS, content.grains, "path of the contents in the facts, or several", .aliases = "contents_facts"),
    PARAM("contents_delimiter", STR, ARGS, content.delimiter, "the separator in these paths (default: ':' or '.')", .flags = PARAM_FILLED),
    PARAM("contents_newline", BOOL, ARGS, newline, "end contents with a newline", .default_text = "true"),
    PARAM("allow_empty", BOOL, ARGS, allow_empty, "accept empty contents", .default_text = "true"),
    PARAM("source", ANY, ARGS, content.source, "source of the content: a path in the state tree or on this machine, or a URL; or a list, of which the first that exists is used"),
    PARAM("source_hash", STR, ARGS, content.trust.hash, "hash of the source: sha256=... (or sha512, sha1, md5), or a file of checksums"),
    PARAM("source_hash_name", STR, ARGS, content.trust.name, "name in the file of checksums (default: that of the source)"),
    PARAM("skip_verify", BOOL, ARGS, content.trust.skip_verify, "accept a download without a hash"),
    PARAM("template", ANY, ARGS, content.template, "render the content: true or 'jinja'"),
    PARAM("context", MAP, ARGS, content.context, "variables for the template"),
    PARAM("defaults", MAP, ARGS, content.defaults, "variables that 'context' does not set"),
    PARAM("mode", ANY, ARGS, mode, "permissions, or 'keep' for those of the source; new files: 0644", .aliases = "file_mode"),
    PARAM("user", STR, ARGS, user, "owner: a name or number", .aliases = "owner"),
    PARAM("group", STR, ARGS, group, "group: a name or number"),
    PARAM("makedirs", BOOL, ARGS, makedirs, "create missing parent folders, with the owner of the file"),
    PARAM("dir_mode", ANY, ARGS, dir_mode, "permissions of new parent folders (default: mode, and execution for those who can read)"),
    PARAM("replace", BOOL, ARGS, replace, "replace the content of an existing file", .default_text = "true"),
    PARAM("create", BOOL, ARGS, create, "create the file if it does not exist", .default_text = "true"),
    PARAM("follow_symlinks", BOOL, ARGS, follow_symlinks, "follow a link and manage its target; otherwise replace the link", .default_text = "true"),
    PARAM("backup", ANY, ARGS, backup, BACKUP_DOC),
    PARAM("check_cmd", STR, ARGS, check_cmd, "a command that gets the path of the new content and may reject it"),
    PARAM("tmp_dir", PATH, ARGS, tmp_dir, "folder for the new content while check_cmd runs"),
    PARAM("tmp_ext", STR, ARGS, tmp_ext, "suffix of its name"),
    PARAM("show_changes", BOOL, ARGS, show_changes, "show what changes in the content", .default_text = "true", .aliases = "show_diff"),
    PARAM("*", MAP, ARGS, more, "in a Salt file with 'template': any other key is a variable of the template", .flags = PARAM_REST, .when = "template"),
    PARAM("ignore_ordering", BOOL, ARGS, likeness.ordering, "do not rewrite a file whose lines differ only in order"),
    PARAM("ignore_whitespace", BOOL, ARGS, likeness.whitespace, "do not rewrite a file that differs only in blanks"),
    PARAM("ignore_comment_characters", STR, ARGS, likeness.comment, "ignore the part of a line after this text", .flags = PARAM_FILLED),
    PARAM_IDLE("new_file_diff", "the content of a new file is shown"),
    PARAM_REFUSED("encoding_errors", "content that is not of the encoding is an error", .default_text = "strict"),
    PARAM("encoding", STR, ARGS, encoding, "'utf-8': reject other content"),
    PARAM_IDLE("keep_source", "sources are not kept in a cache"),
    PARAM_IDLE("use_etag", "downloads are checked by hash"),
    PARAM_REFUSED("attrs", "attributes of chattr(1) are not managed"),
    PARAM_REFUSED("selinux", "SELinux contexts are not managed"),
    PARAM_REFUSED("verify_ssl", "certificates are always checked; give a source_hash and http://", .default_text = "true"),
    PARAM_REFUSED("signature", "signatures are not checked; give a source_hash"),
    CONTENT_SIGNATURES,
    ATTRS_WINDOWS,
    { 0 },
};
/* clang-format on */

static int managed_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct managed_args *want = args;
    int result = content_validate(&want->content, where, diags);

    if (attrs_validate(want->mode, true, diags) < 0 ||
        attrs_validate(want->dir_mode, false, diags) < 0 ||
        backup_validate(want->backup, diags) < 0)
        result = -1;
    if (want->encoding && strcmp(want->encoding, "utf-8") != 0 &&
        strcmp(want->encoding, "utf8") != 0)
        result = value_diag(diags, value_point(where, "encoding"),
                            "'encoding' supports 'utf-8' only, got '%s'", want->encoding);
    if (want->tmp_ext && strchr(want->tmp_ext, '/'))
        result =
            value_diag(diags, value_point(where, "tmp_ext"), "'tmp_ext' must not contain a slash");
    return result;
}

static int check_content(const struct managed_args *want, const struct content *content,
                         struct err *err)
{
    if (!want->allow_empty && content->given && content->text.n == 0 && !content->large.file)
        return err_set(err, ERR_INVALID, "the content of %s is empty and allow_empty is false",
                       want->name);
    if (want->encoding && !utf8_is_valid(content->text))
        return err_set(err, ERR_INVALID, "the content of %s is not valid UTF-8", want->name);
    return 0;
}

static int read_attrs(struct state_run *run, const struct managed_args *want,
                      const struct content *content, struct attrs *ret, struct err *err)
{
    if (attrs_read(run, want->mode, want->user, want->group, ret, err) < 0)
        return -1;
    if (!ret->keep_mode)
        return 0;
    if (!content->source)
        return err_set(err, ERR_INVALID, "mode 'keep' requires a source");
    return content_source_mode(run, content->source, &ret->want.mode, err);
}

static void add_managed_variable(struct state_run *run, struct value_map *to, const char *name,
                                 const struct value *v)
{
    value_map_set(run->arena, to, value_text(name), v ? *v : value_null());
}

/* The texts that file.accumulated has collected for the file. */
static void add_managed_accumulated(struct state_run *run, struct value_map *to, const char *path)
{
    struct value_map *found =
        accumulators_get(run->host->accumulators, run->arena, path_normalise(run->arena, path));

    if (found)
        value_map_set(run->arena, to, value_text("accumulator"), value_map(found));
}

static struct value make_text_or_null(const char *text)
{
    return text ? value_text(text) : value_null();
}

/* The arguments of the state are variables of its template, as Salt has it. */
static struct value collect_variables(struct state_run *run, const struct managed_args *want)
{
    const struct value name = value_text(want->name), user = make_text_or_null(want->user),
                       group = make_text_or_null(want->group);
    struct value_map *all = value_map_new(run->arena, 8);

    add_managed_variable(run, all, "name", &name);
    add_managed_variable(run, all, "source", NULL);
    add_managed_variable(run, all, "user", &user);
    add_managed_variable(run, all, "group", &group);
    add_managed_variable(run, all, "mode", want->mode);
    add_managed_variable(run, all, "context", want->content.context);
    add_managed_variable(run, all, "defaults", want->content.defaults);
    add_managed_accumulated(run, all, want->name);
    for (size_t i = 0; want->more && i < want->more->map->count; i++)
        value_map_set(run->arena, all, want->more->map->pairs[i].key,
                      want->more->map->pairs[i].value);
    return value_map(all);
}

/* Is the current content the same, apart from what is ignored? */
static int is_alike(struct state_run *run, const struct managed_args *want, struct str content,
                    bool *ret, struct err *err)
{
    const struct likeness *rules = &want->likeness;
    struct str now;

    *ret = false;
    if (!rules->ordering && !rules->whitespace && !rules->comment)
        return 0;
    if (fs_read(run->arena, want->name, DESIRED_FILE_SHOWN_MAX, &now, err) < 0)
        return -1;
    *ret = now.p && likeness_holds(run->arena, rules, now, content);
    return 0;
}

/* Only what is not looked into can be copied piece by piece. */
static bool can_stream_content(const struct managed_args *want)
{
    const struct likeness *rules = &want->likeness;

    return !want->encoding && !rules->ordering && !rules->whitespace && !rules->comment;
}

/* The wanted file, with its content loaded unless it is large. */
struct resolved {
    struct content content;
    struct attrs folders;
    struct desired_file wanted;
};

static int resolve_managed_file(struct state_run *run, const struct managed_args *want,
                                struct resolved *ret, struct err *err)
{
    struct content_args args = want->content;
    const struct content *content = &ret->content;
    struct desired_file *wanted = &ret->wanted;
    struct value variables;
    bool alike;

    args.path = want->name;
    if (content_is_template(args.template)) {
        variables = collect_variables(run, want);
        args.extra = &variables;
    }
    args.no_newline = !want->newline;
    args.streams = can_stream_content(want);
    if (content_get(run, &args, &ret->content, err) < 0 || check_content(want, content, err) < 0)
        return -1;
    *wanted = (struct desired_file){
        .path = want->name,
        .has_content = content->given,
        .content = content->text,
        .large = content->large.file ? &content->large : NULL,
        .makedirs = want->makedirs,
        .keep_content = !want->replace,
        .keep_absence = !want->create,
        .replace_link = !want->follow_symlinks,
        .hide = !want->show_changes,
        .backup = want->backup,
    };
    if (read_attrs(run, want, content, &wanted->attrs, err) < 0 ||
        is_alike(run, want, content->text, &alike, err) < 0)
        return -1;
    wanted->keep_content |= alike;
    if (!want->dir_mode)
        return 0;
    wanted->folders = &ret->folders.want;
    return attrs_read(run, want->dir_mode, want->user, want->group, &ret->folders, err);
}

static int managed_check(struct state_run *run, const void *args, struct err *err)
{
    struct resolved resolved;

    if (resolve_managed_file(run, args, &resolved, err) < 0)
        return -1;
    return desired_file_check(run, &resolved.wanted, err);
}

static int run_check_command(struct state_run *run, const struct managed_args *want,
                             const struct scratch *scratch, struct err *err)
{
    const struct process_spec spec = {
        .command = arena_printf(run->arena, "%s %s", want->check_cmd, scratch->path),
    };
    AUTO_BUF struct buf status = BUF_INIT(BUF_NO_LIMIT);
    struct process_result result;
    struct str said;

    if (state_command(run, &spec, 0, &result, err) < 0)
        return -1;
    if (process_status_ok(result.status))
        return 0;
    state_detail_value(run, "stdout", value_str(result.out));
    state_detail_value(run, "stderr", value_str(result.err));
    process_status_print(result.status, &status);
    said = str_trim(result.err.n > 0 ? result.err : result.out);
    return err_set(err, ERR_INVALID, "check_cmd '%s' rejected the new content of %s: %s%s%.*s",
                   want->check_cmd, want->name, buf_text(&status), said.n > 0 ? ": " : "",
                   STR_ARG(said));
}

/* Let the command check the new content before it is installed. */
static int run_check_cmd(struct state_run *run, const struct managed_args *want,
                         const struct desired_file *wanted, struct err *err)
{
    const struct scratch_options options = {
        .folder = want->tmp_dir,
        .suffix = want->tmp_ext,
        .mode = 0600,
        .uid = (uid_t)-1,
        .gid = (gid_t)-1,
    };
    const struct source_content held = { .text = wanted->content, .size = wanted->content.n };
    struct scratch scratch;
    bool writes;
    int result;

    if (!want->check_cmd || !wanted->has_content)
        return 0;
    if (desired_file_writes(wanted, &writes, err) < 0)
        return -1;
    if (!writes)
        return 0;
    if (scratch_copy(run, &options, wanted->large ? wanted->large : &held, &scratch, err) < 0)
        return -1;
    result = run_check_command(run, want, &scratch, err);
    scratch_done(&scratch);
    return result;
}

static int managed_apply(struct state_run *run, const void *args, struct err *err)
{
    struct resolved resolved;
    const struct desired_file *wanted = &resolved.wanted;
    enum desired_file_done done;

    if (resolve_managed_file(run, args, &resolved, err) < 0 ||
        run_check_cmd(run, args, wanted, err) < 0 ||
        desired_file_apply(run, wanted, &done, err) < 0)
        return -1;
    return desired_file_report(run, wanted, done, err);
}

const struct module module_file_managed = {
    .name = "file.managed",
    .summary = "manage a file: content, mode and owner",
    .details = "Without content and source, only mode and owner are managed, and a missing file is "
               "created empty; the content of an existing file stays. Files are replaced "
               "atomically: readers see the old or the new content. `content` is written as it is; "
               "`contents` ends with a newline, as in Salt. A source may have any size, and one "
               "of more than 1 MiB is copied without a diff; a template, and what is compared by "
               "`encoding` or `ignore_...`, may have 64 MiB.",
    .example = "name: ROOT/motd\ncontents: |\n  welcome\nmode: \"0640\"\n",
    .params = managed_params,
    .flags = MODULE_WHOLE | MODULE_LOCAL,
    .args_size = sizeof(struct managed_args),
    .validate = managed_validate,
    .check = managed_check,
    .apply = managed_apply,
};
