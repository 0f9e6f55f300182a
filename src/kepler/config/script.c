#include "kepler/config/script.h"

#include <time.h>
#include <unistd.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/number.h"
#include "kepler/config/config.h"
#include "core/data/value.h"
#include "language/lua/expr.h"
#include "language/lua/sandbox.h"
#include "core/sys/account.h"
#include "core/sys/clock.h"

/* --- the world a script may see ----------------------------------------------------------- */

static bool is_canceled(const struct script *script)
{
    return script->canceled && atomic_load(script->canceled);
}

/* A canceled evaluation has run out of time. */
static int64_t read_script_clock(void *user)
{
    return is_canceled(user) ? INT64_MAX / 2 : clock_real();
}

static int64_t read_script_time(void *user)
{
    (void)user;
    return clock_wall() / CLOCK_SECOND;
}

static int32_t find_utc_offset(void *user, int64_t seconds)
{
    time_t when = (time_t)seconds;
    struct tm tm;

    (void)user;
    return localtime_r(&when, &tm) ? (int32_t)tm.tm_gmtoff : 0;
}

static int find_script_account(struct arena *arena, const struct value *who,
                               const struct account **ret_account, struct err *err)
{
    uint64_t uid;

    if (who->kind == VALUE_INT && who->i >= 0 && who->i < (uid_t)-1)
        return account_find_uid(arena, (uid_t)who->i, ret_account, err);
    if (who->kind != VALUE_STR)
        return err_set(err, ERR_INVALID, "'os.getgroups' expects the name or number of a user");
    if (number_parse_uint(who->s, &uid, err) == 0 && uid < (uid_t)-1)
        return account_find_uid(arena, (uid_t)uid, ret_account, err);
    return account_find(arena, who->s.p, ret_account, err);
}

/* Scripts of a non-root owner may query the accounts that its services may run as. */
static int check_asked(const struct config *config, uid_t uid, struct err *err)
{
    if (geteuid() != 0 || config->owner.uid == 0 || uid == config->owner.uid)
        return 0;
    if (config->hardening == HARDENING_STRICT ||
        (config->hardening == HARDENING_NO_ROOT && uid == 0))
        return err_set(err, ERR_INVALID, "'os.getgroups': not for user %u at hardening level %s",
                       (unsigned)uid, hardening_name(config->hardening));
    return 0;
}

/* os.getgroups(user): the names of all groups that a user is in. */
static int get_groups(void *user, const struct value *args, size_t count, struct arena *arena,
                      struct value *ret, struct err *err)
{
    struct value_list *names = value_list_new(arena, 8);
    struct account_gids gids = { VEC_INIT };
    const struct account_group *group;
    const struct account *account;
    const struct script *script = user;

    if (count != 1)
        return err_set(err, ERR_INVALID, "'os.getgroups' expects the name or number of a user");
    if (find_script_account(arena, &args[0], &account, err) < 0)
        return -1;
    if (!account)
        return err_set(err, ERR_NOT_FOUND, "'os.getgroups': no such user");
    if (check_asked(script->config, account->uid, err) < 0)
        return -1;
    if (account_groups(arena, account, &gids, err) < 0)
        return -1;
    VEC_EACH (&gids.list, gid) {
        if (account_find_gid(arena, *gid, &group, err) < 0)
            return -1;
        value_list_push(
            arena, names,
            value_text(group ? group->name : arena_printf(arena, "%u", (unsigned)*gid)));
    }
    *ret = value_list(names);
    return 0;
}

/* --- the state ------------------------------------------------------------------------------- */

void script_init(struct script *script, const struct config *config, script_provide_fn *provide,
                 void *user)
{
    *script =
        (struct script){ .config = config, .chunk = config->lua, .provide = provide, .user = user };
}

void script_done(struct script *script)
{
    sandbox_free(script->sandbox);
    script->sandbox = NULL;
}

void script_touch(struct script *script)
{
    script->current = false;
}

static int open_sandbox(struct script *script, struct err *err)
{
    const struct sandbox_options options = {
        .nanoseconds_max = SANDBOX_TIME_DEFAULT,
        .clock = read_script_clock,
        .now = read_script_time,
        .utc_offset = find_utc_offset,
        .user = script,
    };

    script->sandbox = sandbox_new(&options);
    if (sandbox_add_function(script->sandbox, "os.getgroups", get_groups, script, err) < 0)
        return -1;
    return script->open ? script->open(script->user, script->sandbox, err) : 0;
}

static int provide_script_globals(struct script *script, struct err *err)
{
    if (script->current)
        return 0;
    if (script->provide(script->user, script->sandbox, err) < 0)
        return -1;
    script->current = true;
    return 0;
}

int script_start(struct script *script, const struct value *where, struct diags *diags)
{
    bool fresh = !script->sandbox;
    struct err err;

    if ((fresh && open_sandbox(script, &err) < 0) || provide_script_globals(script, &err) < 0)
        return value_diag(diags, where, "%s", err.text);
    if (script->broken)
        return value_diag(diags, where, "the file's 'lua' chunk has failed already");
    if (!fresh || !script->chunk)
        return 0;
    script->broken = expr_run_script(script->sandbox, script->chunk, diags) < 0;
    return script->broken ? -1 : 0;
}

int script_eval(struct script *script, const struct value *v, struct arena *arena,
                struct value *ret, struct diags *diags)
{
    if (!expr_is_dynamic(v)) {
        *ret = *v;
        return 0;
    }
    if (is_canceled(script))
        return value_diag(diags, v, "canceled");
    if (script_start(script, v, diags) < 0)
        return -1;
    return expr_eval_value(script->sandbox, v, arena, ret, diags);
}

void script_forget(struct script *script, const char *const *names)
{
    struct err err;

    script->current = false;
    for (; script->sandbox && *names; names++)
        (void)sandbox_set(script->sandbox, *names, NULL, &err); /* removing needs no memory */
}
