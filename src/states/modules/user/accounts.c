#include "states/modules/user/accounts.h"

#include <errno.h>
#include <fcntl.h>
#include <shadow.h>
#include <string.h>
#include <unistd.h>

#include "core/base/err.h"
#include "core/base/number.h"
#include "core/edit/colons.h"
#include "core/edit/lines.h"
#include "states/modules/user/accountdb.h"
#include "states/modules/cmd/run_tool.h"
#include "states/undo/change.h"
#include "states/state/host.h"
#include "states/state/module.h"
#include "states/state/pause.h"
#include "core/sys/account.h"
#include "core/sys/clock.h"
#include "core/sys/fd.h"
#include "core/sys/fs.h"
#include "core/sys/process.h"

/* One line of shadow. */
#define SHADOW_TEXT_MAX ((size_t)64 << 10)
/* How long others may hold the lock of the account files. */
#define LOCK_WAIT (30 * CLOCK_SECOND)
#define LOCK_STEP (50 * CLOCK_MS)
#define LOCK_PATH "/etc/.pwd.lock"
/* The exit status of userdel when the user is logged in or has processes. */
#define USERDEL_IN_USE 8

/* The account files; those of groups list members in these fields, 0: none. */
enum account_file { IN_PASSWD, IN_SHADOW, IN_SUBUID, IN_SUBGID, IN_GROUP, IN_GSHADOW };
static const struct {
    const char *path;
    size_t fields[2];
} files[] = {
    [IN_PASSWD] = { "/etc/passwd", { 0 } }, [IN_SHADOW] = { "/etc/shadow", { 0 } },
    [IN_SUBUID] = { "/etc/subuid", { 0 } }, [IN_SUBGID] = { "/etc/subgid", { 0 } },
    [IN_GROUP] = { "/etc/group", { 3 } },   [IN_GSHADOW] = { "/etc/gshadow", { 2, 3 } },
};

/* --- checking ------------------------------------------------------------------------ */

static void read_shadow_entry(struct state_run *run, const char *name, struct accounts_user *user)
{
    struct spwd entry, *found = NULL;
    char *room;

    if (accountdb_find_shadow(run->arena, name, user))
        return;
    room = arena_alloc(run->arena, SHADOW_TEXT_MAX);
    user->changed = user->min = user->max = user->warn = user->inactive = user->expire =
        ACCOUNTS_UNSET;
    if (getspnam_r(name, &entry, room, SHADOW_TEXT_MAX, &found) != 0 || !found)
        return;
    user->hash = found->sp_pwdp ? found->sp_pwdp : "";
    user->changed = found->sp_lstchg;
    user->min = found->sp_min;
    user->max = found->sp_max;
    user->warn = found->sp_warn;
    user->inactive = found->sp_inact;
    user->expire = found->sp_expire;
}

int accounts_find_groups(struct state_run *run, const struct account *account,
                         struct param_strs *ret, struct err *err)
{
    struct account_gids gids = { .list = VEC_INIT };
    const char **names;
    size_t n = 0;

    if (account_groups(run->arena, account, &gids, err) < 0)
        return -1;
    names = ARENA_ARRAY(run->arena, const char *, gids.list.n + 1);
    VEC_EACH (&gids.list, gid) {
        const struct account_group *group;

        if (*gid == account->gid)
            continue;
        if (!accountdb_find_gid(run->arena, *gid, &group) &&
            account_find_gid(run->arena, *gid, &group, err) < 0)
            return -1;
        names[n++] = group ? group->name : arena_printf(run->arena, "%u", *gid);
    }
    *ret = (struct param_strs){ n, names };
    return 0;
}

int accounts_find_user(struct state_run *run, const char *name, struct accounts_user *ret,
                       struct err *err)
{
    *ret = (struct accounts_user){ 0 };
    if (!accountdb_find_user(run->arena, name, &ret->account) &&
        account_find(run->arena, name, &ret->account, err) < 0)
        return -1;
    if (ret->account)
        read_shadow_entry(run, name, ret);
    return 0;
}

int accounts_find_group(struct state_run *run, const char *name, const struct account_group **ret,
                        struct err *err)
{
    if (accountdb_find_group(run->arena, name, ret))
        return 0;
    return account_find_group(run->arena, name, ret, err);
}

int accounts_find_gid(struct state_run *run, const char *name, gid_t *ret_gid, bool *ret_found,
                      struct err *err)
{
    const struct account_group *group = NULL;

    *ret_found = accountdb_gid_of(name, ret_gid);
    if (*ret_found)
        return 0;
    if (account_find_group(run->arena, name, &group, err) < 0)
        return -1;
    *ret_found = group != NULL;
    if (group)
        *ret_gid = group->gid;
    return 0;
}

static void check_free(struct state_run *run, const char *what, int64_t id, const char *owner,
                       const char *name)
{
    if (owner && strcmp(owner, name) != 0)
        state_differs(run,
                      "%s %lld belongs to '%s'; an earlier state must free it, or set unique: "
                      "false (apply fails otherwise)",
                      what, (long long)id, owner);
}

int accounts_foresee_uid(struct state_run *run, int64_t uid, const char *name, struct err *err)
{
    const struct account *owner;

    if (account_find_uid(run->arena, (uid_t)uid, &owner, err) < 0)
        return -1;
    check_free(run, "uid", uid, owner ? owner->name : NULL, name);
    return 0;
}

int accounts_foresee_gid(struct state_run *run, int64_t gid, const char *name, struct err *err)
{
    const struct account_group *owner;

    if (account_find_gid(run->arena, (gid_t)gid, &owner, err) < 0)
        return -1;
    check_free(run, "gid", gid, owner ? owner->name : NULL, name);
    return 0;
}

bool accounts_has(struct param_strs names, const char *name)
{
    for (size_t i = 0; i < names.n; i++)
        if (strcmp(names.p[i], name) == 0)
            return true;
    return false;
}

bool accounts_same(struct param_strs a, struct param_strs b)
{
    for (size_t i = 0; i < a.n; i++)
        if (!accounts_has(b, a.p[i]))
            return false;
    return a.n == b.n;
}

const char *accounts_join(struct state_run *run, struct param_strs names)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    for (size_t i = 0; i < names.n; i++)
        buf_printf(&out, "%s%s", i > 0 ? "," : "", names.p[i]);
    return buf_copy(&out, run->arena).p;
}

/* --- noting -------------------------------------------------------------------------- */

static int read_account_file(struct state_run *run, enum account_file file, struct str *ret,
                             struct err *err)
{
    if (fs_read(run->arena, files[file].path, ACCOUNTS_FILE_MAX, ret, err) < 0)
        return -1;
    if (!ret->p)
        *ret = STR("");
    return 0;
}

int accounts_foresee_login_group(struct state_run *run, const struct account_group *group,
                                 struct err *err)
{
    const char *gid = arena_printf(run->arena, "%u", group->gid);
    struct line line;
    struct str text;

    if (read_account_file(run, IN_PASSWD, &text, err) < 0)
        return -1;
    while (lines_next(&text, &line))
        if (str_is(colons_field(line.text, 3), gid)) {
            state_differs(run,
                          "%s is the login group of user '%.*s'; an earlier state must change "
                          "that, or remove the user (apply fails otherwise)",
                          group->name, STR_ARG(colons_field(line.text, 0)));
            break;
        }
    return 0;
}

/* The keys of the lines that have `name` in a field, each as text. */
static struct value find_lines_with(struct state_run *run, struct str text, size_t field,
                                    struct str name)
{
    struct value_list *keys = value_list_new(run->arena, 4);
    struct line line;

    while (lines_next(&text, &line))
        if (colons_has(colons_field(line.text, field), name))
            value_list_push(run->arena, keys,
                            value_str(arena_str(run->arena, colons_field(line.text, 0))));
    return value_list(keys);
}

/* "group.3": where `name` is a member. */
static const char *make_member_key(struct state_run *run, enum account_file file, size_t field)
{
    return arena_printf(run->arena, "%s.%zu", files[file].path, field);
}

static int keep_account_lines(struct state_run *run, const char *name, enum account_file first,
                              enum account_file last, bool members, struct err *err)
{
    struct value_map *kept = value_map_new(run->arena, 8);
    const struct str key = str_from(name);

    for (enum account_file file = first; file <= last; file++) {
        AUTO_BUF struct buf lines = BUF_INIT(BUF_NO_LIMIT);
        struct str text;

        if (read_account_file(run, file, &text, err) < 0)
            return -1;
        colons_find_all(text, key, &lines);
        value_map_set(run->arena, kept, value_text(files[file].path),
                      value_str(buf_copy(&lines, run->arena)));
        for (size_t i = 0; members && i < ARRAY_LEN(files[file].fields); i++)
            if (files[file].fields[i] > 0)
                value_map_set(run->arena, kept,
                              value_text(make_member_key(run, file, files[file].fields[i])),
                              find_lines_with(run, text, files[file].fields[i], key));
    }
    return state_note(run, "account", value_map(kept), err);
}

int accounts_keep_user(struct state_run *run, const char *name, struct err *err)
{
    return keep_account_lines(run, name, IN_PASSWD, IN_GSHADOW, true, err);
}

int accounts_keep_group(struct state_run *run, const char *name, struct err *err)
{
    return keep_account_lines(run, name, IN_GROUP, IN_GSHADOW, false, err);
}

static struct str find_kept_lines(const struct state_run *run, enum account_file file)
{
    const struct value *kept = state_noted(run, "account");
    const struct value *lines = kept ? value_get(kept, files[file].path) : NULL;

    return lines && lines->kind == VALUE_STR ? lines->s : STR("");
}

bool accounts_was_there(const struct state_run *run)
{
    const struct value *kept = state_noted(run, "account");
    const bool user = kept && value_get(kept, files[IN_PASSWD].path);

    return find_kept_lines(run, user ? IN_PASSWD : IN_GROUP).n > 0;
}

bool accounts_kept_ids(const struct state_run *run, int64_t *ret_uid, int64_t *ret_gid)
{
    const struct str line = find_kept_lines(run, IN_PASSWD);
    struct err ignored;

    return number_parse_int(colons_field(line, 2), ret_uid, &ignored) == 0 &&
           number_parse_int(colons_field(line, 3), ret_gid, &ignored) == 0;
}

bool accounts_kept_gid(const struct state_run *run, int64_t *ret_gid)
{
    struct err ignored;

    return number_parse_int(colons_field(find_kept_lines(run, IN_GROUP), 2), ret_gid, &ignored) ==
           0;
}

/* --- restoring ----------------------------------------------------------------------- */

/* The lock that useradd and related programs use. */
static int take_lock(struct state_run *run, int *ret_fd, struct err *err)
{
    AUTO_FD int fd = open(LOCK_PATH, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    const int64_t deadline = clock_after(clock_real(), LOCK_WAIT);

    if (fd < 0)
        return err_sys(err, errno, "open '%s'", LOCK_PATH);
    for (;;) {
        struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

        if (fcntl(fd, F_OFD_SETLK, &lock) == 0)
            break;
        if (errno != EAGAIN && errno != EACCES)
            return err_sys(err, errno, "lock '%s'", LOCK_PATH);
        if (clock_real() > deadline)
            return err_set(err, ERR_BUSY, "another process holds the lock of the account files");
        if (!pause_for(run->host->cancel, LOCK_STEP))
            return err_set(err, ERR_CANCELED, "canceled while waiting for the account files");
    }
    *ret_fd = fd_take(&fd);
    return 0;
}

static bool is_kept_member(const struct value *kept, const char *key, struct str line_key)
{
    const struct value *keys = kept ? value_get(kept, key) : NULL;

    for (size_t i = 0; keys && keys->kind == VALUE_LIST && i < keys->list->count; i++)
        if (keys->list->items[i].kind == VALUE_STR && str_eq(keys->list->items[i].s, line_key))
            return true;
    return false;
}

/* `Make `name` a member of exactly the groups it was in. */
static struct str restore_members(struct state_run *run, struct str text, enum account_file file,
                                  size_t field, struct str name)
{
    const struct value *kept = state_noted(run, "account");
    const char *key = make_member_key(run, file, field);
    struct str rest = text;
    struct line line;

    while (lines_next(&rest, &line)) {
        const struct str group = colons_field(line.text, 0);
        const bool was = is_kept_member(kept, key, group);

        if (colons_has(colons_field(line.text, field), name) != was) {
            AUTO_BUF struct buf out = BUF_INIT(ACCOUNTS_FILE_MAX);

            colons_set_member(text, group, field, name, was, &out);
            text = buf_copy(&out, run->arena);
        }
    }
    return text;
}

static int restore_file(struct state_run *run, enum account_file file, const char *name,
                        bool members, bool *ret_changed, struct err *err)
{
    AUTO_BUF struct buf out = BUF_INIT(ACCOUNTS_FILE_MAX);
    const struct str key = str_from(name), lines = find_kept_lines(run, file);
    struct str text, now;

    if (read_account_file(run, file, &text, err) < 0)
        return -1;
    /* Reverting a user restores its group only if the group was removed with the user. */
    if (!members || files[file].fields[0] == 0 || (lines.n > 0 && !colons_find(text, key).p))
        colons_set(text, key, lines, &out);
    else
        buf_add_str(&out, text);
    now = buf_copy(&out, run->arena);
    for (size_t i = 0; members && i < ARRAY_LEN(files[file].fields); i++)
        if (files[file].fields[i] > 0)
            now = restore_members(run, now, file, files[file].fields[i], key);
    if (str_eq(now, text))
        return 0;
    *ret_changed = true;
    return change_write(run, files[file].path, now, NULL, err);
}

static int restore_account_lines(struct state_run *run, const char *name, enum account_file first,
                                 enum account_file last, bool *ret_changed, struct err *err)
{
    const bool members = first == IN_PASSWD;
    AUTO_FD int lock = -1;

    if (take_lock(run, &lock, err) < 0)
        return -1;
    for (enum account_file file = first; file <= last; file++)
        if (restore_file(run, file, name, members, ret_changed, err) < 0)
            return -1;
    return 0;
}

int accounts_restore_user(struct state_run *run, const char *name, bool *ret_changed,
                          struct err *err)
{
    return restore_account_lines(run, name, IN_PASSWD, IN_GSHADOW, ret_changed, err);
}

int accounts_restore_group(struct state_run *run, const char *name, bool *ret_changed,
                           struct err *err)
{
    return restore_account_lines(run, name, IN_GROUP, IN_GSHADOW, ret_changed, err);
}

/* --- deleting ------------------------------------------------------------------------ */

const char *accounts_mailbox(struct state_run *run, const char *name)
{
    return arena_printf(run->arena, "/var/mail/%s", name);
}

int accounts_delete_user(struct state_run *run, const char *name, bool force, const char *hint,
                         struct err *err)
{
    const struct tool tool = run_tool(run);
    const char *const *argv = force ? TOOL("userdel", "-f", name) : TOOL("userdel", name);
    struct process_result result;

    if (tool_try(&tool, argv, NULL, &result, err) < 0)
        return -1;
    if (process_status_ok(result.status))
        return 0;
    if (result.status.code == USERDEL_IN_USE)
        return err_set(err, ERR_BUSY, "%.*s: %s", STR_ARG(str_trim(result.err)), hint);
    return tool_fail(argv, &result, err);
}

int accounts_remove_own(struct state_run *run, const char *path, uid_t uid, struct err *err)
{
    struct fs_info info;

    if (strcmp(path, "/") == 0 || uid == 0)
        return 0;
    if (fs_lstat(path, &info, err) < 0)
        return -1;
    return info.kind == FS_NONE || info.uid != uid ? 0 : change_remove(run, path, err);
}

int accounts_list(struct state_run *run, const char *path, struct value *ret, struct err *err)
{
    struct line line;
    struct str text;

    if (fs_read(run->arena, path, ACCOUNTS_FILE_MAX, &text, err) < 0)
        return -1;
    *ret = value_list(value_list_new(run->arena, 32));
    while (text.p && lines_next(&text, &line)) {
        const struct str name = colons_field(line.text, 0);

        if (colons_is_name(name))
            value_list_push(run->arena, ret->list, value_str(arena_str(run->arena, name)));
    }
    return 0;
}

void accounts_check_absent(struct state_run *run, const char *noun, const char *name, bool exists)
{
    if (!exists) {
        state_say(run, "%s %s does not exist", noun, name);
        return;
    }
    state_differs(run, "%s %s exists and should be absent", noun, name);
    state_made(run, "removed %s %s", noun, name);
}

int accounts_bring_back(struct state_run *run, const char *noun, const char *name,
                        accounts_restore_fn *restore, struct err *err)
{
    bool changed = false;

    if (run->test) {
        if (state_noted(run, "account"))
            state_say(run, "would restore %s %s", noun, name);
        else
            state_unchanged(run);
        return 0;
    }
    if (state_noted(run, "account") && restore(run, name, &changed, err) < 0)
        return -1;
    if (changed)
        state_say(run, "restored %s %s", noun, name);
    else
        state_unchanged(run);
    return 0;
}
