#include "fleet/gitfs/git.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/vec.h"
#include "fleet/gitfs/remote.h"
#include "core/sys/process.h"
#include "core/sys/program.h"

#define OUTPUT_MAX ((size_t)8 << 20)
/* Bytes of git's output in an error. */
#define WORDS_MAX 600

/* Values that override all configuration files of git. */
static const char *const settings[][2] = {
    { "core.hooksPath", "/dev/null" },
    { "core.fsmonitor", "false" },
    { "core.pager", "cat" },
    { "core.fileMode", "true" },
    { "core.symlinks", "true" },
    { "advice.detachedHead", "false" },
    { "submodule.recurse", "false" },
    { "fetch.recurseSubmodules", "false" },
    { "gc.autoDetach", "false" }, /* nothing is left running */
    { "gc.worktreePruneExpire", "never" },
    { "maintenance.autoDetach", "false" },
    { "http.lowSpeedLimit", "100" },
    { "http.lowSpeedTime", "60" },
    { "user.name", "zester" },
    { "user.email", "zester@localhost" },
    /* masters share folders, and may be started by different users */
    { "safe.directory", "*" },
};

static const char *const fixed_env[] = {
    "GIT_TERMINAL_PROMPT=0",  "GIT_ASKPASS=",
    "SSH_ASKPASS=",           "GIT_EDITOR=false",
    "GIT_OPTIONAL_LOCKS=0",   "GIT_ALLOW_PROTOCOL=https:ssh:file",
    "GIT_PROTOCOL=version=2", "LC_ALL=C",
};

struct words {
    VEC(const char *) list;
};

static void add_git_word(const struct git *git, struct words *words, const char *word)
{
    VEC_PUSH_IN(git->arena, &words->list, word);
}

/* --- environment --------------------------------------------------------------------- */

static bool is_variable_inherited(const char *entry)
{
    static const char *const left_out[] = { "GIT_", "SSH_ASKPASS", "LC_", "LANG", "SUDO_" };

    for (size_t i = 0; i < ARRAY_LEN(left_out); i++)
        if (strncmp(entry, left_out[i], strlen(left_out[i])) == 0)
            return false;
    return true;
}

static void add_setting(const struct git *git, struct words *env, size_t *count, const char *key,
                        const char *value)
{
    add_git_word(git, env, arena_printf(git->arena, "GIT_CONFIG_KEY_%zu=%s", *count, key));
    add_git_word(git, env, arena_printf(git->arena, "GIT_CONFIG_VALUE_%zu=%s", *count, value));
    ++*count;
}

static const char *ssh_command(const struct git *git)
{
    const char *key = git->remote ? git->remote->ssh_key : NULL;
    const char *base = "GIT_SSH_COMMAND=ssh -o BatchMode=yes -o ConnectTimeout=30 "
                       "-o ServerAliveInterval=15";

    return key ? arena_printf(git->arena, "%s -o IdentitiesOnly=yes -i '%s'", base, key) : base;
}

static const char *const *make_git_env(const struct git *git)
{
    struct words env = { 0 };
    size_t count = 0;

    for (char **entry = environ; *entry; entry++)
        if (is_variable_inherited(*entry))
            add_git_word(git, &env, *entry);
    for (size_t i = 0; i < ARRAY_LEN(fixed_env); i++)
        add_git_word(git, &env, fixed_env[i]);
    add_git_word(git, &env, ssh_command(git));
    for (size_t i = 0; i < ARRAY_LEN(settings); i++)
        add_setting(git, &env, &count, settings[i][0], settings[i][1]);
    if (git->remote)
        add_setting(git, &env, &count, "remote.origin.url", git->remote->url);
    add_git_word(git, &env, arena_printf(git->arena, "GIT_CONFIG_COUNT=%zu", count));
    if (git->dir)
        add_git_word(git, &env, arena_printf(git->arena, "GIT_DIR=%s", git->dir));
    add_git_word(git, &env, NULL);
    return env.list.p;
}

/* --- running ------------------------------------------------------------------------- */

static const char *const *make_git_argv(const struct git *git, const char *program,
                                        const char *const *words)
{
    struct words argv = { 0 };

    add_git_word(git, &argv, program);
    for (; *words; words++)
        add_git_word(git, &argv, *words);
    add_git_word(git, &argv, NULL);
    return argv.list.p;
}

int git_try(const struct git *git, const char *const *words, struct process_result *ret,
            struct err *err)
{
    const char *program = program_find(git->arena, "git");
    const struct process_spec spec = {
        .argv = program ? make_git_argv(git, program, words) : NULL,
        .env = make_git_env(git),
        .cwd = git->work ? git->work : "/",
        .has_umask = true,
        .umask = 022,
        .parent_death = SIGKILL,
    };
    const struct process_bounds bounds = { .timeout = git->timeout ? git->timeout : GIT_LOCAL_NS,
                                           .output_max = OUTPUT_MAX };

    if (!program)
        return err_set(err, ERR_NOT_FOUND,
                       "git is not installed: 'gitfs.remotes' needs it (apt install git)");
    if (process_run(&spec, &bounds, git->cancel, git->arena, ret, err) < 0)
        return err_wrap(err, "git %s", words[0]);
    if (ret->canceled)
        return err_set(err, ERR_CANCELED, "git %s: canceled", words[0]);
    if (ret->timed_out)
        return err_set(err, ERR_TIMEOUT, "git %s: not finished after %lld seconds", words[0],
                       (long long)(bounds.timeout / 1000000000));
    return 0;
}

/* Hints by error messages of git and ssh. */
static const struct {
    const char *words, *advice;
} hints[] = {
    { "Host key verification failed",
      "compare the key of the host, and add it to /etc/ssh/ssh_known_hosts" },
    { "Permission denied (", "the server does not let the key of 'ssh_key' in" },
    { "could not read Username", "set a credential helper of git for this user of the machine" },
    { "could not read Password", "set a credential helper of git for this user of the machine" },
    { "Authentication failed", "the server refuses the password" },
};

static const char *find_git_hint(const char *text)
{
    for (size_t i = 0; i < ARRAY_LEN(hints); i++)
        if (strstr(text, hints[i].words))
            return hints[i].advice;
    return NULL;
}

/* The end of what git said is why it gave up. In one line, and without a password. */
static int fail_git(const struct git *git, const char *word, const struct process_result *result,
                    struct err *err)
{
    struct str said = str_trim(result->err.n ? result->err : result->out);
    AUTO_BUF struct buf status = BUF_INIT(64), text = BUF_INIT(ERR_TEXT_SIZE);
    const char *hint;

    if (said.n > WORDS_MAX)
        said = str_from_offset(said, said.n - WORDS_MAX);
    while (said.p && said.n) {
        const struct str line = str_trim(str_cut(&said, '\n'));

        if (line.n)
            buf_printf(&text, "%s%.*s", text.n ? "; " : "", STR_ARG(line));
    }
    for (size_t i = 0; i < text.n; i++) /* what a remote says may move the cursor */
        if ((unsigned char)text.p[i] < ' ' || text.p[i] == '\x7f')
            text.p[i] = '?';
    process_status_print(result->status, &status);
    hint = find_git_hint(buf_text(&text));
    return err_set(err, ERR_SYSTEM, "git %s: %s%s%s%s", word, hint ? hint : "", hint ? " (" : "",
                   !text.n       ? buf_text(&status)
                   : git->remote ? remote_mask(git->arena, git->remote->url, buf_view(&text))
                                 : buf_text(&text),
                   hint ? ")" : "");
}

int git_run(const struct git *git, const char *const *words, struct str *ret_text, struct err *err)
{
    struct process_result result;

    if (git_try(git, words, &result, err) < 0)
        return -1;
    if (!process_status_ok(result.status))
        return fail_git(git, words[0], &result, err);
    if (result.out_dropped)
        return err_set(err, ERR_LIMIT, "git %s: more than %zu bytes of output", words[0],
                       OUTPUT_MAX);
    if (ret_text)
        *ret_text = str_trim(result.out);
    return 0;
}

int git_ask(const struct git *git, const char *const *words, const char **ret_text, struct err *err)
{
    struct str text;

    if (git_run(git, words, &text, err) < 0)
        return -1;
    if (text.n == 0 || str_find_char(text, '\n', 0) != STR_NONE)
        return err_set(err, ERR_INVALID, "git %s: unexpected output", words[0]);
    *ret_text = arena_str(git->arena, text).p;
    return 0;
}
