#include "states/modules/user/user_wish.h"

#include <string.h>
#include <time.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "states/modules/user/accountdb.h"
#include "states/modules/user/accounts.h"
#include "states/modules/cmd/run_tool.h"
#include "states/state/module.h"
#include "states/state/validate.h"
#include "core/sys/passhash.h"
#include "core/sys/account.h"
#include "core/sys/fs.h"

#define SECONDS_PER_DAY 86400
/* Written by useradd for an account without a password. */
#define NO_PASSWORD "!"
/* The prefix of a locked hash. */
#define LOCK '!'
/* The home of accounts without one. */
#define NO_HOME "/nonexistent"

static const char *const gecos_names[USER_WISH_GECOS] = { "fullname", "roomnumber", "workphone",
                                                          "homephone", "other" };
static const char *const age_names[USER_WISH_AGES] = {
    [USER_WISH_CHANGED] = "date",       [USER_WISH_MIN] = "mindays",
    [USER_WISH_MAX] = "maxdays",        [USER_WISH_WARN] = "warndays",
    [USER_WISH_INACTIVE] = "inactdays", [USER_WISH_EXPIRE] = "expire",
};

/* --- texts ----------------------------------------------------------------------------- */

static bool is_date(enum user_wish_age age)
{
    return age == USER_WISH_CHANGED || age == USER_WISH_EXPIRE;
}

/* Days: a number, or days since 1970 where a date is meant. */
static bool read_wished_days(enum user_wish_age age, const char *text, int64_t *ret_days)
{
    struct tm day = { 0 };
    struct err ignored;
    const char *end;
    time_t seconds;
    int month_day;

    if (number_parse_int(str_from(text), ret_days, &ignored) == 0)
        return *ret_days >= -1 && *ret_days <= INT32_MAX;
    end = is_date(age) ? strptime(text, "%Y-%m-%d", &day) : NULL;
    if (!end || (*end != '\0' && *end != 'T' && *end != ' '))
        return false; /* a time may follow, since YAML parses dates as timestamps */
    month_day = day.tm_mday;
    seconds = timegm(&day);
    *ret_days = seconds / SECONDS_PER_DAY;
    return seconds >= 0 && day.tm_mday == month_day; /* there is no 31st of February */
}

static bool is_days_number(const char *text)
{
    return text[0] != '\0' && text[strspn(text, "0123456789")] == '\0';
}

static int validate_ages(const struct user_wish *wish, const struct value *where,
                         struct diags *diags)
{
    int result = 0;
    int64_t days;

    for (enum user_wish_age i = 0; i < USER_WISH_AGES; i++)
        if (wish->age[i] && !read_wished_days(i, wish->age[i], &days))
            result =
                value_diag(diags, value_point(where, age_names[i]), "'%s' must be days%s, got '%s'",
                           age_names[i], is_date(i) ? " or a date YYYY-MM-DD" : "", wish->age[i]);
    return result;
}

static int validate_gecos(const struct user_wish *wish, const struct value *where,
                          struct diags *diags)
{
    int result = 0;

    for (size_t i = 0; i < USER_WISH_GECOS; i++) {
        const char *text = wish->has_gecos[i] ? wish->gecos[i] : NULL;

        if (!text || text[0] == '\0')
            continue;
        if (validate_text(gecos_names[i], text, VALIDATE_FIELD, where, diags) < 0)
            result = -1;
        else if (i + 1 < USER_WISH_GECOS && strchr(text, ','))
            result = value_diag(diags, value_point(where, gecos_names[i]),
                                "'%s' must not contain commas", gecos_names[i]);
    }
    return result;
}

int user_wish_validate(const struct user_wish *wish, const struct value *where, struct diags *diags)
{
    int result = validate_text("name", wish->name, VALIDATE_USER, where, diags);

    if (validate_text("gid", wish->gid, VALIDATE_USER, where, diags) < 0 ||
        validate_text("primary_group", wish->primary_group, VALIDATE_USER, where, diags) < 0)
        result = -1;
    if (validate_texts("groups", wish->groups, VALIDATE_USER, where, diags) < 0 ||
        validate_texts("optional_groups", wish->optional_groups, VALIDATE_USER, where, diags) < 0)
        result = -1;
    if (validate_text("home", wish->home, VALIDATE_FIELD, where, diags) < 0 ||
        validate_text("shell", wish->shell, VALIDATE_FIELD, where, diags) < 0)
        result = -1;
    if (wish->hash_password && (!wish->password || wish->password[0] == '\0'))
        result = value_diag(diags, value_point(where, "hash_password"),
                            "'hash_password' requires 'password'");
    if (wish->password && !wish->hash_password && strpbrk(wish->password, ":\n\r"))
        result = value_diag(diags, value_point(where, "password"),
                            "'password' is not a crypt hash: it contains a colon or a newline");
    if (wish->password && wish->empty_password)
        result = value_diag(diags, value_point(where, "password"),
                            "'password' and 'empty_password' are mutually exclusive");
    if (validate_gecos(wish, where, diags) < 0)
        result = -1;
    return validate_ages(wish, where, diags) < 0 ? -1 : result;
}

/* "Full name,room,work,home,other": fields that are not given stay. */
static const char *make_gecos(struct state_run *run, const struct user_wish *wish, const char *now)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct str rest = str_from(now);

    for (size_t i = 0; i < USER_WISH_GECOS; i++) {
        struct str old = STR("");

        if (i + 1 == USER_WISH_GECOS && rest.p)
            old = rest;
        else if (rest.p)
            old = str_cut(&rest, ',');
        buf_add_text(&out, i > 0 ? "," : "");
        buf_add_str(&out, wish->has_gecos[i] && wish->gecos[i] ? str_from(wish->gecos[i]) : old);
    }
    while (out.n > 0 && out.p[out.n - 1] == ',')
        buf_cut(&out, out.n - 1);
    return buf_copy(&out, run->arena).p;
}

/* --- groups ------------------------------------------------------------------------------ */

/* The wanted login group, by name or ID; NULL: not given. An ID wins over the other parameters,
 * a name in `gid` over `primary_group`. */
static const char *choose_login_group(const struct user_wish *wish)
{
    if (wish->gid)
        return wish->gid;
    if (wish->primary_group)
        return wish->primary_group;
    return wish->gid_from_name ? wish->name : NULL;
}

static int find_login_group(struct state_run *run, const char *group, gid_t *ret, bool *ret_found,
                            struct err *err)
{
    int64_t number;

    *ret_found = true;
    if (is_days_number(group)) {
        if (number_parse_int(str_from(group), &number, err) < 0)
            return -1;
        *ret = (gid_t)number;
        return 0;
    }
    return accounts_find_gid(run, group, ret, ret_found, err);
}

static void foresee_group(struct state_run *run, const char *kind, const char *name)
{
    state_say(run,
              "%s \"%s\" does not exist; an earlier state must create it (apply fails otherwise)",
              kind, name);
}

int user_wish_foresee(struct state_run *run, const struct user_wish *wish, bool fresh,
                      struct err *err)
{
    const char *login = fresh ? choose_login_group(wish) : NULL;
    bool found = true;
    gid_t gid;

    if (login && find_login_group(run, login, &gid, &found, err) < 0)
        return -1;
    if (!found)
        foresee_group(run, "primary group", login);
    for (size_t i = 0; i < wish->groups.n; i++) {
        if (accounts_find_gid(run, wish->groups.p[i], &gid, &found, err) < 0)
            return -1;
        if (!found)
            foresee_group(run, "group", wish->groups.p[i]);
    }
    return 0;
}

struct group_names {
    VEC(const char *) list;
};

static void add_group_name(struct state_run *run, struct group_names *names, const char *name)
{
    if (!accounts_has((struct param_strs){ names->list.n, names->list.p }, name))
        VEC_PUSH_IN(run->arena, &names->list, name);
}

/* As in Salt, an account of a Salt file leaves groups that it does not name, but its IDs stay. */
static bool is_removing_groups(const struct state_run *run, const struct user_wish *wish)
{
    return param_choose(wish->remove_groups, run->salt);
}

/* All wanted supplementary groups; `missing` is one that does not exist. */
static int find_wanted_groups(struct state_run *run, const struct user_wish *wish, gid_t login,
                              const struct param_strs *now, struct group_names *names,
                              const char **missing, struct err *err)
{
    bool found;
    gid_t gid;

    for (size_t i = 0; now && !is_removing_groups(run, wish) && i < now->n; i++)
        add_group_name(run, names, now->p[i]);
    for (size_t i = 0; i < wish->groups.n; i++) {
        if (accounts_find_gid(run, wish->groups.p[i], &gid, &found, err) < 0)
            return -1;
        if (!found)
            *missing = wish->groups.p[i];
        if (!found || gid != login)
            add_group_name(run, names, wish->groups.p[i]);
    }
    for (size_t i = 0; i < wish->optional_groups.n; i++) {
        if (accounts_find_gid(run, wish->optional_groups.p[i], &gid, &found, err) < 0)
            return -1;
        if (found && gid != login)
            add_group_name(run, names, wish->optional_groups.p[i]);
    }
    return 0;
}

/* Is it already in all of them? Then its other groups need not be looked up. */
static bool is_in_all(const char *user, const struct group_names *names)
{
    VEC_EACH (&names->list, name)
        if (!accountdb_is_member(*name, user))
            return false;
    return true;
}

/* As in Salt, a group with the name of the account does not count. */
static struct param_strs drop_own_group(struct state_run *run, const char *user,
                                        struct param_strs groups)
{
    struct group_names names = { 0 };

    for (size_t i = 0; i < groups.n; i++)
        if (strcmp(groups.p[i], user) != 0)
            VEC_PUSH_IN(run->arena, &names.list, groups.p[i]);
    return (struct param_strs){ names.list.n, names.list.p };
}

static int compare_groups(struct state_run *run, const struct user_wish *wish,
                          const struct accounts_user *now, gid_t login, struct user_diff *diff,
                          struct err *err)
{
    const char *missing = NULL;
    struct group_names names = { 0 };
    struct param_strs groups;

    if (!wish->has_groups && wish->optional_groups.n == 0)
        return 0;
    if (!is_removing_groups(run, wish)) {
        if (find_wanted_groups(run, wish, login, NULL, &names, &missing, err) < 0)
            return -1;
        if (is_in_all(wish->name, &names))
            return 0;
        vec_clear(&names.list);
    }
    if (accounts_find_groups(run, now->account, &groups, err) < 0 ||
        find_wanted_groups(run, wish, login, &groups, &names, &missing, err) < 0)
        return -1;
    diff->group_list = (struct param_strs){ names.list.n, names.list.p };
    if (run->salt && !accounts_has(diff->group_list, wish->name))
        groups = drop_own_group(run, wish->name, groups);
    if (accounts_same(groups, diff->group_list))
        return 0;
    diff->any = diff->groups = true;
    state_differs(run, "groups [%s] != [%s]", accounts_join(run, groups),
                  accounts_join(run, diff->group_list));
    return 0;
}

/* --- comparing ---------------------------------------------------------------------------- */

static int compare_login(struct state_run *run, const struct user_wish *wish,
                         const struct accounts_user *now, struct user_diff *diff, gid_t *ret_login,
                         struct err *err)
{
    bool found;

    *ret_login = now->account->gid;
    diff->group = choose_login_group(wish);
    if (!diff->group)
        return 0;
    if (find_login_group(run, diff->group, ret_login, &found, err) < 0)
        return -1;
    if (found && *ret_login == now->account->gid)
        return 0;
    diff->any = diff->gid = true;
    if (!param_choose(wish->allow_gid_change, !run->salt))
        diff->refused = "its login group differs and allow_gid_change is not true";
    if (!found)
        state_differs(run, "primary group \"%s\" does not exist", diff->group);
    else if (is_days_number(diff->group))
        state_differs(run, "gid %u != %s", now->account->gid, diff->group);
    else
        state_differs(run, "primary group is not \"%s\"", diff->group);
    return 0;
}

static void compare_text(struct state_run *run, const char *what, const char *now, const char *want,
                         bool *differs, struct user_diff *diff)
{
    if (!want || strcmp(now, want) == 0)
        return;
    *differs = diff->any = true;
    state_differs(run, "%s \"%s\" != \"%s\"", what, now, want);
}

/* The hash without its lock, if that counts on its own. */
static const char *trim_lock_mark(const struct user_wish *wish, const char *hash)
{
    return wish->password_lock != PARAM_IS_UNSET && hash && hash[0] == LOCK ? &hash[1] : hash;
}

/* An account without a password has none that could be unlocked. */
static void compare_lock(struct state_run *run, const struct user_wish *wish,
                         const struct accounts_user *now, struct user_diff *diff)
{
    const bool locked = now->hash && now->hash[0] == LOCK;

    if (wish->password_lock == PARAM_IS_UNSET || !now->hash ||
        locked == (wish->password_lock == PARAM_IS_TRUE) || strcmp(now->hash, NO_PASSWORD) == 0)
        return;
    diff->any = diff->lock = true;
    state_differs(run, "the password is %s", locked ? "locked" : "not locked");
}

static int compare_password(struct state_run *run, const struct user_wish *wish,
                            const struct accounts_user *now, struct user_diff *diff,
                            struct err *err)
{
    const char *want = wish->empty_password ? "" : wish->password;
    const char *have = trim_lock_mark(wish, now->hash);
    bool same;

    compare_lock(run, wish, now, diff);
    if (!want)
        return 0;
    if (!wish->enforce_password && !(now->hash && strcmp(now->hash, NO_PASSWORD) == 0))
        return 0;
    same = have && strcmp(have, want) == 0 && !wish->hash_password;
    if (wish->hash_password && have && passhash_matches(want, have, &same, err) < 0)
        return -1;
    if (same)
        return 0;
    diff->any = diff->password = true;
    state_differs(run, "password hash differs from declared");
    return 0;
}

static void compare_ages(struct state_run *run, const struct user_wish *wish,
                         const struct accounts_user *now, struct user_diff *diff)
{
    const int64_t have[USER_WISH_AGES] = {
        [USER_WISH_CHANGED] = now->changed,   [USER_WISH_MIN] = now->min,
        [USER_WISH_MAX] = now->max,           [USER_WISH_WARN] = now->warn,
        [USER_WISH_INACTIVE] = now->inactive, [USER_WISH_EXPIRE] = now->expire,
    };

    for (enum user_wish_age i = 0; i < USER_WISH_AGES; i++) {
        if (!wish->age[i] || !read_wished_days(i, wish->age[i], &diff->age_want[i]) ||
            have[i] == diff->age_want[i])
            continue;
        diff->any = diff->age[i] = true;
        state_differs(run, "%s %lld != %lld", age_names[i], (long long)have[i],
                      (long long)diff->age_want[i]);
    }
}

/* As in Salt, a missing home of an existing account is created too. */
static int compare_folder(struct state_run *run, const struct user_wish *wish, const char *home,
                          struct user_diff *diff, struct err *err)
{
    struct fs_info info;

    if (!wish->createhome || diff->home || home[0] != '/' || strcmp(home, NO_HOME) == 0)
        return 0;
    if (fs_stat(home, &info, err) < 0)
        return -1;
    if (info.kind != FS_NONE)
        return 0;
    diff->any = diff->homeless = true;
    state_differs(run, "home folder %s does not exist", home);
    return 0;
}

int user_wish_compare(struct state_run *run, const struct user_wish *wish,
                      const struct accounts_user *now, struct user_diff *ret_diff, struct err *err)
{
    const struct account *account = now->account;
    gid_t login;

    *ret_diff = (struct user_diff){ 0 };
    if (wish->has_uid && wish->uid != (int64_t)account->uid) {
        ret_diff->any = ret_diff->uid = true;
        if (!param_choose(wish->allow_uid_change, !run->salt))
            ret_diff->refused = "its uid differs and allow_uid_change is not true";
        state_differs(run, "uid %u != %lld", account->uid, (long long)wish->uid);
    }
    if (compare_login(run, wish, now, ret_diff, &login, err) < 0)
        return -1;
    compare_text(run, "home", account->home, wish->home, &ret_diff->home, ret_diff);
    compare_text(run, "shell", account->shell, wish->shell, &ret_diff->shell, ret_diff);
    compare_text(run, "fullname", account->full_name, make_gecos(run, wish, account->full_name),
                 &ret_diff->gecos, ret_diff);
    if (compare_folder(run, wish, account->home, ret_diff, err) < 0 ||
        compare_password(run, wish, now, ret_diff, err) < 0)
        return -1;
    if (compare_groups(run, wish, now, login, ret_diff, err) < 0)
        return -1;
    compare_ages(run, wish, now, ret_diff);
    return 0;
}

/* --- arguments ----------------------------------------------------------------------------- */

static void add_user_option(struct state_run *run, struct tool_words *words, const char *option,
                            const char *value)
{
    const struct tool tool = run_tool(run);

    tool_add(&tool, words, option);
    if (value)
        tool_add(&tool, words, value);
}

static int fail_without_group(const char *group, struct err *err)
{
    return err_set(err, ERR_NOT_FOUND, "primary group \"%s\" does not exist", group);
}

static void add_uid(struct state_run *run, const struct user_wish *wish, struct tool_words *words)
{
    if (!wish->unique)
        add_user_option(run, words, "-o", NULL);
    add_user_option(run, words, "-u", arena_printf(run->arena, "%lld", (long long)wish->uid));
}

static void add_user_texts(struct state_run *run, const struct user_wish *wish, const char *gecos,
                           struct tool_words *words)
{
    if (wish->home)
        add_user_option(run, words, "-d", wish->home);
    if (wish->shell)
        add_user_option(run, words, "-s", wish->shell);
    if (gecos[0] != '\0')
        add_user_option(run, words, "-c", gecos);
}

static int add_login_group(struct state_run *run, const struct user_wish *wish, gid_t *ret_login,
                           struct tool_words *words, struct err *err)
{
    const char *group = choose_login_group(wish);
    bool found;

    *ret_login = (gid_t)-1;
    if (!group) {
        if (wish->usergroup != PARAM_IS_UNSET)
            add_user_option(run, words, wish->usergroup == PARAM_IS_TRUE ? "-U" : "-N", NULL);
        return 0;
    }
    if (find_login_group(run, group, ret_login, &found, err) < 0)
        return -1;
    if (!found)
        return fail_without_group(group, err);
    add_user_option(run, words, "-g", group);
    return 0;
}

int user_wish_words_new(struct state_run *run, const struct user_wish *wish,
                        struct tool_words *words, struct err *err)
{
    const char *missing = NULL;
    struct group_names names = { 0 };
    gid_t login;

    if (wish->has_uid)
        add_uid(run, wish, words);
    if (add_login_group(run, wish, &login, words, err) < 0 ||
        find_wanted_groups(run, wish, login, NULL, &names, &missing, err) < 0)
        return -1;
    if (missing)
        return err_set(err, ERR_NOT_FOUND, "group \"%s\" does not exist", missing);
    if (names.list.n > 0)
        add_user_option(run, words, "-G",
                        accounts_join(run, (struct param_strs){ names.list.n, names.list.p }));
    add_user_texts(run, wish, make_gecos(run, wish, ""), words);
    if (wish->system)
        add_user_option(run, words, "-r", NULL);
    if (wish->nologinit)
        add_user_option(run, words, "-l", NULL);
    add_user_option(run, words, wish->createhome ? "-m" : "-M", NULL);
    return 0;
}

/* The contents move with the home, if the new path is free; not in a Salt file, as in Salt. */
static int add_home(struct state_run *run, const struct user_wish *wish,
                    const struct accounts_user *now, struct tool_words *words, struct err *err)
{
    struct fs_info old, new;

    add_user_option(run, words, "-d", wish->home);
    if (fs_lstat(now->account->home, &old, err) < 0 || fs_lstat(wish->home, &new, err) < 0)
        return -1;
    if (run->salt || !wish->createhome || new.kind != FS_NONE || old.kind != FS_FOLDER)
        return 0;
    if (old.uid != now->account->uid)
        return 0; /* a system folder, such as / */
    add_user_option(run, words, "-m", NULL);
    return state_note(run, "moved", value_bool(true), err);
}

int user_wish_words_change(struct state_run *run, const struct user_wish *wish,
                           const struct accounts_user *now, const struct user_diff *diff,
                           struct tool_words *words, struct err *err)
{
    gid_t login;
    bool found = true;

    if (diff->uid)
        add_uid(run, wish, words);
    if (diff->gid && find_login_group(run, diff->group, &login, &found, err) < 0)
        return -1;
    if (!found)
        return fail_without_group(diff->group, err);
    if (diff->gid)
        add_user_option(run, words, "-g", diff->group);
    if (diff->home && add_home(run, wish, now, words, err) < 0)
        return -1;
    if (diff->shell)
        add_user_option(run, words, "-s", wish->shell);
    if (diff->gecos)
        add_user_option(run, words, "-c", make_gecos(run, wish, now->account->full_name));
    if (diff->groups)
        add_user_option(run, words, "-G", accounts_join(run, diff->group_list));
    if (diff->lock)
        add_user_option(run, words, wish->password_lock == PARAM_IS_TRUE ? "-L" : "-U", NULL);
    return 0;
}
