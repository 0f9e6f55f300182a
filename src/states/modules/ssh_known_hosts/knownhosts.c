#include "states/modules/ssh_known_hosts/knownhosts.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/value.h"
#include "core/edit/lines.h"
#include "states/modules/file/editor.h"
#include "states/modules/cmd/run_tool.h"
#include "states/modules/ssh_auth/userfile.h"
#include "states/undo/change.h"
#include "states/state/module.h"
#include "states/state/validate.h"
#include "core/sys/process.h"

#define SSH_PORT   22
#define SYSTEM     "/etc/ssh/ssh_known_hosts"
#define USUAL_FILE ".ssh/known_hosts"

int knownhosts_validate(const char *user, const char *config, const struct value *where,
                        struct diags *diags)
{
    int result = validate_text("user", user, VALIDATE_USER, where, diags);

    if (config && config[0] != '/' && !user)
        result = value_diag(diags, value_point(where, "config"),
                            "'config' must be an absolute path, unless 'user' is given");
    return result;
}

int knownhosts_file(struct state_run *run, const char *user, const char *config,
                    const char **ret_path, struct change_attr *ret_attr, struct err *err)
{
    struct userfile file = { config ? config : SYSTEM, CHANGE_KEEP_ID, CHANGE_KEEP_ID };

    if (user && userfile_find(run, user, config ? config : USUAL_FILE, &file, err) < 0)
        return -1;
    *ret_attr = (struct change_attr){ user ? 0600 : 0644, file.uid, file.gid };
    *ret_path = file.path;
    return 0;
}

const char *knownhosts_host(struct state_run *run, const char *name, int64_t port)
{
    return port == SSH_PORT ? name : arena_printf(run->arena, "[%s]:%lld", name, (long long)port);
}

/* With ssh-keygen: only it can find hashed names. */
int knownhosts_find(struct state_run *run, const char *host, const struct editor_file *file,
                    struct str *ret_found, struct err *err)
{
    const struct tool tool = run_tool(run);
    struct process_result result;

    *ret_found = STR("");
    if (!file->exists)
        return 0;
    if (tool_try(&tool, TOOL("ssh-keygen", "-F", host, "-f", file->path), NULL, &result, err) < 0)
        return -1;
    if (process_status_ok(result.status))
        *ret_found = result.out;
    return 0;
}

bool knownhosts_is_of(struct str found, struct str line)
{
    return line.n > 0 && line.p[0] != '#' && line.p[0] != '@' && lines_have(found, line, false);
}

void knownhosts_add_others(const struct line *line, struct str host, struct buf *out)
{
    struct str rest = line->text, names = lines_word(&rest);
    const size_t start = out->n;
    bool had = false;

    if (names.n > 0 && names.p[0] == '|')
        return;
    while (names.p) {
        const struct str name = str_cut(&names, ',');

        if (str_eq(name, host)) {
            had = true;
            continue;
        }
        buf_add_text(out, out->n > start ? "," : "");
        buf_add_str(out, name);
    }
    if (!had) { /* matched by a pattern, which may cover other hosts */
        buf_cut(out, start);
        lines_add(out, line->text, line->end);
    } else if (out->n > start) {
        lines_add(out, rest, line->end);
    }
}
