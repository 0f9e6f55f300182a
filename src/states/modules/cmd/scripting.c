#include "states/modules/cmd/scripting.h"

#include "core/base/err.h"
#include "states/modules/file/attrs.h"
#include "states/modules/cmd/command.h"
#include "states/modules/file/content.h"
#include "states/modules/file/scratch.h"
#include "states/modules/cmd/stateful.h"
#include "states/state/module.h"
#include "core/sys/path.h"
#include "core/sys/process.h"

#define ARGS        struct scripting_args
#define SCRIPT_MODE 0700

/* clang-format off */
const struct param scripting_params[] = {
    PARAM("name", STR, ARGS, name, "the source of the script, with its arguments", .flags = PARAM_REQUIRED | PARAM_PRIMARY | PARAM_FILLED),
    PARAM("source", ANY, ARGS, content.source, "the source, if it is not the name"),
    PARAM("source_hash", STR, ARGS, content.trust.hash, "hash of the source: sha256=... (or sha512, sha1, md5), or a file of checksums"),
    PARAM("source_hash_name", STR, ARGS, content.trust.name, "name in the file of checksums (default: that of the source)"),
    PARAM("skip_verify", BOOL, ARGS, content.trust.skip_verify, "accept a download without a hash"),
    PARAM("args", ANY, ARGS, args, "arguments: a string for the shell, or a list"),
    PARAM("template", ANY, ARGS, content.template, "render the script: true or 'jinja'"),
    PARAM("context", MAP, ARGS, content.context, "variables for the template"),
    PARAM("defaults", MAP, ARGS, content.defaults, "variables that 'context' does not set"),
    PARAM("tmp_dir", PATH, ARGS, tmp_dir, "folder for the script while it runs"),
    COMMAND_PARAMS(ARGS, how),
    PARAM("stateful", ANY, ARGS, stateful, STATEFUL_DOC, .kind_text = "bool"),
    { 0 },
};
/* clang-format on */

int scripting_validate(const void *args, const struct value *where, struct diags *diags)
{
    const struct scripting_args *want = args;
    int result = content_validate(&want->content, where, diags);

    if (command_validate(&want->how, diags) < 0 || stateful_validate(want->stateful, diags) < 0)
        result = -1;
    if (want->args && want->args->kind != VALUE_STR && want->args->kind != VALUE_NULL &&
        !command_is_words(want->args))
        result = value_diag(diags, want->args, "'args' must be text or a list, got %s",
                            value_describe(want->args));
    return result;
}

/* Without a source, the name is the source followed by arguments. */
static const char *split_script_name(struct state_run *run, const struct scripting_args *want,
                                     struct value *source)
{
    const struct str name = str_trim(str_from(want->name));
    const size_t blank = str_find_char(name, ' ', 0);

    if (want->content.source)
        return "";
    *source = value_str(arena_str(run->arena, str_slice(name, 0, blank)));
    return blank == STR_NONE ? "" : arena_str(run->arena, str_from_offset(name, blank)).p;
}

static const char *find_suffix(struct state_run *run, const char *source)
{
    const struct str last = source ? path_basename(source) : STR("");

    for (size_t i = last.n; i-- > 1;)
        if (last.p[i] == '.')
            return arena_str(run->arena, str_from_offset(last, i)).p;
    return NULL;
}

static int make_script(struct state_run *run, const struct scripting_args *want,
                       const struct content *content, struct scratch *ret, struct err *err)
{
    struct attrs attrs;

    if (attrs_read(run, NULL, want->how.runas, NULL, &attrs, err) < 0)
        return -1;

    const struct scratch_options options = {
        .folder = want->tmp_dir,
        .suffix = find_suffix(run, content->source),
        .mode = SCRIPT_MODE,
        .uid = attrs.want.uid,
        .gid = (gid_t)-1,
    };
    return scratch_make(run, &options, content->text, ret, err);
}

/* Through the shell when the arguments are a string; a custom shell runs the script itself. */
static struct shell_command make_script_command(struct state_run *run,
                                                const struct scripting_args *want, const char *path,
                                                const char *more)
{
    const char *shell = want->how.shell ? want->how.shell : "";
    const char *text = want->args && want->args->kind == VALUE_STR ? want->args->s.p : "";

    if (want->args && want->args->kind == VALUE_LIST && !want->how.shell)
        return (struct shell_command){ path, command_words(run, path, want->args) };
    return (struct shell_command){
        .text = arena_printf(run->arena, "%s%s%s%s%s%s", shell, *shell ? " " : "", path, more,
                             *text ? " " : "", text),
    };
}

static int run_script(struct state_run *run, const struct scripting_args *want,
                      const struct scratch *scratch, const char *more, struct err *err)
{
    struct shell_command command = make_script_command(run, want, scratch->path, more);
    struct command_args how = want->how;
    struct process_result result;

    buf_clear(&run->text); /* it runs now: drop 'will run' */
    how.shell = NULL;      /* it runs the script, not the command */
    if (command_run(run, &how, &command, &result, err) < 0)
        return -1;
    command.text = want->name;
    if (command_judge(run, &how, &command, &result, err) < 0)
        return -1;
    state_say(run, "executed script \"%s\" (exit %d)", want->name, result.status.code);
    return stateful_is_on(want->stateful) ? stateful_read(run, result.out, err) : 0;
}

static int get_script(struct state_run *run, const struct scripting_args *want, struct content *ret,
                      const char **ret_more, struct err *err)
{
    struct content_args content_args = want->content;
    struct value source = value_null();

    *ret_more = split_script_name(run, want, &source);
    content_args.path = want->name;
    if (!content_args.source)
        content_args.source = &source;
    return content_get(run, &content_args, ret, err);
}

int scripting_bind(struct state_run *run, const void *args, struct err *err)
{
    struct content content;
    const char *more;

    if (!run->plan_binding)
        return 0;
    if (get_script(run, args, &content, &more, err) < 0)
        return err->code == ERR_CANCELED ? -1 : 0; /* a state before this one may make it */
    state_bind(run, content.text);
    return 0;
}

int scripting_run(struct state_run *run, const void *args, struct err *err)
{
    const struct scripting_args *want = args;
    struct scratch scratch;
    struct content content;
    const char *more;
    int result;

    if (get_script(run, want, &content, &more, err) < 0 ||
        make_script(run, want, &content, &scratch, err) < 0)
        return -1;
    result = run_script(run, want, &scratch, more, err);
    scratch_done(&scratch);
    return result;
}
