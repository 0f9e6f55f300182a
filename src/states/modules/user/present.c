/* user.present - manages a user account. */
#include <string.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "states/modules/user/accounts.h"
#include "states/modules/cmd/run_tool.h"
#include "states/modules/user/user_wish.h"
#include "states/undo/change.h"
#include "states/state/module.h"
#include "core/sys/account.h"
#include "core/sys/fs.h"
#include "core/sys/passhash.h"

#define ARGS struct user_wish

/* clang-format off */
static const struct param present_params[] = {
    PARAM("name", STR, ARGS, name, "the account", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("uid", INT, ARGS, uid, "its ID (default: the next free one)", PARAM_GIVEN(ARGS, has_uid), PARAM_RANGE(0, UINT32_MAX - 1)),
    PARAM("gid", STR, ARGS, gid, "login group: an ID or a name", .flags = PARAM_FILLED),
    PARAM("primary_group", STR, ARGS, primary_group, "login group by name", .flags = PARAM_FILLED),
    PARAM("usergroup", TRISTATE, ARGS, usergroup, "create a group with the name of a new account, or do not (default: as the system is configured)"),
    PARAM("gid_from_name", BOOL, ARGS, gid_from_name, "use the group with the name of the account as login group"),
    PARAM("groups", STRS, ARGS, groups, "supplementary groups", PARAM_GIVEN(ARGS, has_groups)),
    PARAM("optional_groups", STRS, ARGS, optional_groups, "the same, but groups that do not exist are skipped"),
    PARAM("remove_groups", TRISTATE, ARGS, remove_groups, "remove it from all other groups, except the login group (default: false, and true in a Salt file)"),
    PARAM("home", PATH, ARGS, home, "home folder"),
    PARAM("createhome", BOOL, ARGS, createhome, "create a missing home folder, and move it when it changes (in a Salt file it is not moved)", .default_text = "true"),
    PARAM("shell", STR, ARGS, shell, "login shell", .flags = PARAM_FILLED),
    PARAM("fullname", STR, ARGS, gecos[0], "full name", PARAM_GIVEN(ARGS, has_gecos[0])),
    PARAM("roomnumber", STR, ARGS, gecos[1], "room", PARAM_GIVEN(ARGS, has_gecos[1])),
    PARAM("workphone", STR, ARGS, gecos[2], "work phone", PARAM_GIVEN(ARGS, has_gecos[2])),
    PARAM("homephone", STR, ARGS, gecos[3], "home phone", PARAM_GIVEN(ARGS, has_gecos[3])),
    PARAM("other", STR, ARGS, gecos[4], "other GECOS information", PARAM_GIVEN(ARGS, has_gecos[4])),
    PARAM("password", STR, ARGS, password, "crypt hash of the password", .flags = PARAM_SECRET | PARAM_FILLED),
    PARAM("hash_password", BOOL, ARGS, hash_password, "'password' is plain text, to be hashed here"),
    PARAM("empty_password", BOOL, ARGS, empty_password, "allow login without a password"),
    PARAM("enforce_password", BOOL, ARGS, enforce_password, "change the password of an existing account", .default_text = "true"),
    PARAM("password_lock", TRISTATE, ARGS, password_lock, "lock the password, or unlock it (default: leave it as it is)"),
    PARAM("system", BOOL, ARGS, system, "create it as a system account"),
    PARAM("nologinit", BOOL, ARGS, nologinit, "keep a new account out of lastlog and faillog"),
    PARAM("unique", BOOL, ARGS, unique, "no other account may have the uid", .default_text = "true"),
    PARAM("allow_uid_change", TRISTATE, ARGS, allow_uid_change, "change a uid that differs; false: that is an error (default: true, and false in a Salt file)"),
    PARAM("allow_gid_change", TRISTATE, ARGS, allow_gid_change, "change a login group that differs; false: that is an error (default: true, and false in a Salt file)"),
    PARAM("date", STR, ARGS, age[USER_WISH_CHANGED], "last change of the password: YYYY-MM-DD, or days since 1970"),
    PARAM("mindays", STR, ARGS, age[USER_WISH_MIN], "minimum days between password changes"),
    PARAM("maxdays", STR, ARGS, age[USER_WISH_MAX], "maximum days that a password is valid"),
    PARAM("warndays", STR, ARGS, age[USER_WISH_WARN], "days of warning before the password expires"),
    PARAM("inactdays", STR, ARGS, age[USER_WISH_INACTIVE], "days after expiry until the account is disabled; -1: never", .aliases = "inactive"),
    PARAM("expire", STR, ARGS, age[USER_WISH_EXPIRE], "expiry of the account: YYYY-MM-DD, days since 1970, or -1: never"),
    PARAM_IDLE("win_homedrive", "Windows only"),
    PARAM_IDLE("win_profile", "Windows only"),
    PARAM_IDLE("win_logonscript", "Windows only"),
    PARAM_IDLE("win_description", "Windows only"),
    PARAM_IDLE("loginclass", "OpenBSD and FreeBSD only"),
    PARAM_IDLE("local", "accounts are always those of this machine"),
    { 0 },
};
/* clang-format on */

static int present_validate(const void *args, const struct value *where, struct diags *diags)
{
    return user_wish_validate(args, where, diags);
}

static int present_check(struct state_run *run, const void *args, struct err *err)
{
    const struct user_wish *wish = args;
    struct accounts_user now;
    struct user_diff diff;

    if (accounts_find_user(run, wish->name, &now, err) < 0)
        return -1;
    if (!now.account) {
        state_differs(run, "user %s does not exist", wish->name);
        if (run->test && user_wish_foresee(run, wish, true, err) < 0)
            return -1;
        return wish->has_uid && wish->unique ? accounts_foresee_uid(run, wish->uid, wish->name, err)
                                             : 0;
    }
    if (user_wish_compare(run, wish, &now, &diff, err) < 0 ||
        (diff.uid && wish->unique && accounts_foresee_uid(run, wish->uid, wish->name, err) < 0))
        return -1;
    if (diff.refused)
        return err_set(err, ERR_INVALID, "user %s: %s", wish->name, diff.refused);
    if (diff.any && run->test)
        return user_wish_foresee(run, wish, false, err);
    if (!diff.any)
        state_say(run, "user %s is up to date", wish->name);
    return 0;
}

static int set_password(struct state_run *run, const struct user_wish *wish, struct err *err)
{
    const struct tool tool = run_tool(run);
    const char *hash = wish->empty_password ? "" : wish->password;
    struct tool_options options = { 0 };

    if (wish->hash_password && passhash_make(run->arena, wish->password, &hash, err) < 0)
        return -1;
    if (wish->password_lock == PARAM_IS_TRUE)
        hash = arena_printf(run->arena, "!%s", hash);
    state_secret(run, str_from(hash));
    options.input = str_from(arena_printf(run->arena, "%s:%s\n", wish->name, hash));

    /* Through a pipe: command-line arguments are public. */
    return tool_run(&tool, TOOL("chpasswd", "-e"), &options, NULL, err);
}

static int set_ages(struct state_run *run, const struct user_wish *wish,
                    const struct user_diff *diff, struct err *err)
{
    static const char *const options[USER_WISH_AGES] = { "-d", "-m", "-M", "-W", "-I", "-E" };
    const struct tool tool = run_tool(run);
    struct tool_words words = { 0 };

    tool_add(&tool, &words, "chage");
    for (size_t i = 0; i < USER_WISH_AGES; i++)
        if (diff->age[i]) {
            tool_add(&tool, &words, options[i]);
            tool_add(&tool, &words, arena_printf(run->arena, "%lld", (long long)diff->age_want[i]));
        }
    tool_add(&tool, &words, wish->name);
    return words.list.n == 2 ? 0 : tool_run(&tool, tool_argv(&tool, &words), NULL, NULL, err);
}

static int run_useradd(struct state_run *run, const struct user_wish *wish, struct err *err)
{
    const struct tool tool = run_tool(run);
    struct tool_words words = { 0 };

    tool_add(&tool, &words, "useradd");
    if (user_wish_words_new(run, wish, &words, err) < 0)
        return -1;
    tool_add(&tool, &words, wish->name);
    return tool_run(&tool, tool_argv(&tool, &words), NULL, NULL, err);
}

/* Pass only what differs. */
static int run_usermod(struct state_run *run, const struct user_wish *wish,
                       const struct accounts_user *now, const struct user_diff *diff,
                       struct err *err)
{
    const struct tool tool = run_tool(run);
    struct tool_words words = { 0 };

    if (diff->refused)
        return err_set(err, ERR_INVALID, "user %s: %s", wish->name, diff->refused);
    tool_add(&tool, &words, "usermod");
    if (user_wish_words_change(run, wish, now, diff, &words, err) < 0)
        return -1;
    tool_add(&tool, &words, wish->name);
    return words.list.n == 2 ? 0 : tool_run(&tool, tool_argv(&tool, &words), NULL, NULL, err);
}

/* A home that useradd or usermod did not create, since the account already existed. */
static int make_home(struct state_run *run, const struct account *account, struct err *err)
{
    const struct change_attr attr = { run->salt ? 0755 : 0700, account->uid, account->gid };
    struct fs_info info;

    if (fs_stat(account->home, &info, err) < 0)
        return -1;
    if (info.kind != FS_NONE)
        return 0;
    if (change_make_parents(run, account->home, err) < 0)
        return -1;
    return change_mkdir(run, account->home, &attr, err);
}

static int finish_account(struct state_run *run, const struct user_wish *wish,
                          struct accounts_user *now, struct err *err)
{
    struct user_diff diff;

    if (accounts_find_user(run, wish->name, now, err) < 0)
        return -1;
    if (!now->account)
        return err_set(err, ERR_NOT_FOUND, "user %s was created, but does not exist", wish->name);
    buf_clear(&run->text);
    if (user_wish_compare(run, wish, now, &diff, err) < 0)
        return -1;
    if (diff.password && set_password(run, wish, err) < 0)
        return -1;
    return set_ages(run, wish, &diff, err);
}

/* `ret_why` is what differed; NULL: nothing. */
static int change_user(struct state_run *run, const struct user_wish *wish,
                       struct accounts_user *now, const char **ret_why, struct err *err)
{
    struct user_diff diff;

    buf_clear(&run->text);
    if (user_wish_compare(run, wish, now, &diff, err) < 0)
        return -1;
    *ret_why = diff.any ? buf_copy(&run->text, run->arena).p : NULL;
    if (!diff.any)
        return 0;
    if (accounts_keep_user(run, wish->name, err) < 0 ||
        state_note(run, "home", value_text(now->account->home), err) < 0 ||
        run_usermod(run, wish, now, &diff, err) < 0 || finish_account(run, wish, now, err) < 0)
        return -1;
    return wish->createhome && (diff.home || diff.homeless) ? make_home(run, now->account, err) : 0;
}

/* Where useradd creates a home by default. */
static int find_default_home(struct state_run *run, const char *name, const char **ret,
                             struct err *err)
{
    const struct tool tool = run_tool(run);
    struct str output, base = STR("/home");

    if (tool_run(&tool, TOOL("useradd", "-D"), NULL, &output, err) < 0)
        return -1;
    while (output.p) {
        const struct str line = str_cut(&output, '\n');

        if (str_starts(line, STR("HOME=")))
            base = str_from_offset(line, sizeof("HOME=") - 1);
    }
    *ret = arena_printf(run->arena, "%.*s/%s", STR_ARG(base), name);
    return 0;
}

/* Note what useradd will create: what existed before must survive a revert. */
static int note_files(struct state_run *run, const struct user_wish *wish, struct err *err)
{
    const char *paths[] = { wish->home, accounts_mailbox(run, wish->name) };
    struct value_list *made = value_list_new(run->arena, ARRAY_LEN(paths));

    if (!wish->createhome)
        return 0;
    if (!wish->home && find_default_home(run, wish->name, &paths[0], err) < 0)
        return -1;
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct fs_info info;

        if (fs_lstat(paths[i], &info, err) < 0)
            return -1;
        if (info.kind == FS_NONE)
            value_list_push(run->arena, made, value_text(paths[i]));
    }
    return state_note(run, "made", value_list(made), err) < 0
               ? -1
               : change_make_parents(run, paths[0], err);
}

static int create_user(struct state_run *run, const struct user_wish *wish,
                       struct accounts_user *now, struct err *err)
{
    struct user_wish fresh = *wish;

    fresh.enforce_password = true;
    if (accounts_keep_user(run, wish->name, err) < 0 || note_files(run, wish, err) < 0 ||
        run_useradd(run, wish, err) < 0)
        return -1;
    return finish_account(run, &fresh, now, err);
}

static int present_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct user_wish *wish = args;
    struct accounts_user now;
    const char *why = "";
    bool fresh;

    if (wish->password)
        state_secret(run, str_from(wish->password));
    if (accounts_find_user(run, wish->name, &now, err) < 0)
        return -1;
    fresh = !now.account;
    if ((fresh ? create_user(run, wish, &now, err) : change_user(run, wish, &now, &why, err)) < 0)
        return -1;
    buf_clear(&run->text);
    if (!why) {
        state_say(run, "user %s is up to date", wish->name);
        state_unchanged(run);
        return 0;
    }
    if (why[0] != '\0')
        state_say(run, "%s", why);
    state_say(run, "%s user %s", fresh ? "created" : "modified", wish->name);
    state_detail(run, "user", "%s", wish->name);
    state_detail(run, "action", "%s", fresh ? "created" : "modified");
    state_detail_value(run, "uid", value_int(now.account->uid));
    state_detail_value(run, "gid", value_int(now.account->gid));
    state_detail(run, "home", "%s", now.account->home);
    return 0;
}

static int delete_again(struct state_run *run, const struct user_wish *wish,
                        const struct account *now, struct err *err)
{
    const struct value *made = state_noted(run, "made");
    const struct account *first;

    if (account_find_uid(run->arena, now->uid, &first, err) < 0)
        return -1;
    /* processes of a shared uid do not block the removal */
    if (accounts_delete_user(run, wish->name, first && strcmp(first->name, wish->name) != 0,
                             "end its processes, then revert again", err) < 0)
        return -1;
    for (size_t i = 0; made && made->kind == VALUE_LIST && i < made->list->count; i++)
        if (accounts_remove_own(run, made->list->items[i].s.p, now->uid, err) < 0)
            return -1;
    state_say(run, "deleted user %s (revert create)", wish->name);
    return 0;
}

/* usermod changes the owner of files in the home to the new IDs; this changes it back. */
static int restore_ids(struct state_run *run, const struct user_wish *wish,
                       const struct account *now, bool *ret_changed, struct err *err)
{
    const struct tool tool = run_tool(run);
    const struct account_group *group;
    struct tool_words words = { 0 };
    int64_t uid, gid;

    if (!accounts_kept_ids(run, &uid, &gid))
        return 0;
    if (account_find_gid(run->arena, (gid_t)gid, &group, err) < 0)
        return -1;
    tool_add(&tool, &words, "usermod");
    if (now->uid != (uid_t)uid) {
        tool_add(&tool, &words, "-o");
        tool_add(&tool, &words, "-u");
        tool_add(&tool, &words, arena_printf(run->arena, "%lld", (long long)uid));
    }
    if (now->gid != (gid_t)gid && group) {
        tool_add(&tool, &words, "-g");
        tool_add(&tool, &words, arena_printf(run->arena, "%lld", (long long)gid));
    }
    if (words.list.n == 1)
        return 0;
    *ret_changed = true;
    tool_add(&tool, &words, wish->name);
    return tool_run(&tool, tool_argv(&tool, &words), NULL, NULL, err);
}

/* The home moved with the account; move it back unless something exists there again. */
static int restore_home(struct state_run *run, const struct account *now, bool *ret_changed,
                        struct err *err)
{
    const struct value *home = state_noted(run, "home");
    struct fs_info old, moved;

    if (!home || home->kind != VALUE_STR || str_is(home->s, now->home))
        return 0;
    if (fs_lstat(home->s.p, &old, err) < 0 || fs_lstat(now->home, &moved, err) < 0)
        return -1;
    if (!state_noted(run, "moved") || old.kind != FS_NONE || moved.kind != FS_FOLDER)
        return 0;
    *ret_changed = true;
    return change_rename(run, now->home, home->s.p, err);
}

static int restore_user(struct state_run *run, const struct user_wish *wish,
                        const struct account *now, struct err *err)
{
    bool changed = false;

    if (now && (restore_ids(run, wish, now, &changed, err) < 0 ||
                restore_home(run, now, &changed, err) < 0))
        return -1;
    if (accounts_restore_user(run, wish->name, &changed, err) < 0)
        return -1;
    if (changed)
        state_say(run, "reverted user %s to original state", wish->name);
    else
        state_unchanged(run);
    return 0;
}

static int foresee_revert(struct state_run *run, const struct user_wish *wish, bool was_there)
{
    const struct value *made = state_noted(run, "made");

    run->destroys |= !was_there;
    state_say(run, was_there ? "would restore the attributes of user %s" : "would delete user %s",
              wish->name);
    for (size_t i = 0; !was_there && value_is(made, VALUE_LIST) && i < made->list->count; i++)
        state_say(run, "would remove %s", made->list->items[i].s.p);
    return 0;
}

static int present_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct user_wish *wish = args;
    const bool was_there = accounts_was_there(run);
    struct accounts_user now;

    if (accounts_find_user(run, wish->name, &now, err) < 0)
        return -1;
    if (!state_noted(run, "account") || (!now.account && !was_there)) {
        state_unchanged(run);
        return 0;
    }
    if (run->test)
        return foresee_revert(run, wish, was_there);
    return was_there ? restore_user(run, wish, now.account, err)
                     : delete_again(run, wish, now.account, err);
}

const struct module module_user_present = {
    .name = "user.present",
    .summary = "manage a user account",
    .details = "Properties that are not given are not compared. Groups are added to existing "
               "memberships, unless remove_groups is set (which it is in a Salt file). A revert "
               "deletes a new account with its "
               "home, and restores an existing one exactly.",
    .example = "name: deploy\nuid: 1500\nshell: /bin/sh\nfullname: Deploy user\n",
    .params = present_params,
    .args_size = sizeof(struct user_wish),
    .lock = ACCOUNTS_LOCK,
    .flags = MODULE_DRY_REVERT,
    .validate = present_validate,
    .check = present_check,
    .apply = present_apply,
    .revert = present_revert,
};
