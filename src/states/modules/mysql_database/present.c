/* mysql_database.present - creates a database. */
#include <string.h>
#include <strings.h>

#include "core/base/err.h"
#include "states/modules/mysql_database/schema.h"
#include "states/state/module.h"

#define ARGS struct schema_args

/* clang-format off */
static const struct param present_params[] = {
    PARAM("name", STR, ARGS, name, "the database", .flags = PARAM_REQUIRED | PARAM_PRIMARY),
    PARAM("character_set", STR, ARGS, character_set, "the default character set of its tables", .flags = PARAM_FILLED),
    PARAM("collate", STR, ARGS, collate, "their default collation", .flags = PARAM_FILLED),
    SERVER_PARAMS(ARGS, login),
    { 0 },
};
/* clang-format on */

/* Older servers call utf8mb3 utf8. */
static bool is_same_set(const char *have, const char *want)
{
    return strcasecmp(have, want) == 0 ||
           (strncasecmp(have, "utf8mb3", 7) == 0 && strncasecmp(want, "utf8", 4) == 0 &&
            strcasecmp(have + 7, want + 4) == 0);
}

static bool is_as_wanted(const struct schema_args *want, const struct schema *now)
{
    return now->exists &&
           (!want->character_set || is_same_set(now->character_set, want->character_set)) &&
           (!want->collate || is_same_set(now->collate, want->collate));
}

static int present_check(struct state_run *run, const void *args, struct err *err)
{
    const struct schema_args *want = args;
    struct schema now;

    if (server_is_missing(run, &want->login, "the database"))
        return 0;
    if (schema_find(run, want, &now, err) < 0)
        return -1;
    if (!now.exists) {
        state_differs(run, "database '%s' does not exist", want->name);
        state_made(run, "created database '%s'", want->name);
        return 0;
    }
    if (want->character_set && !is_same_set(now.character_set, want->character_set))
        state_diff(run, "character set", now.character_set, want->character_set);
    if (want->collate && !is_same_set(now.collate, want->collate))
        state_diff(run, "collation", now.collate, want->collate);
    if (!run->differs)
        state_say(run, "database '%s' already exists", want->name);
    return 0;
}

static int note_before(struct state_run *run, const struct schema *now, struct err *err)
{
    if (state_note(run, "existed", value_bool(now->exists), err) < 0)
        return -1;
    if (!now->exists)
        return 0;
    if (state_note(run, "character_set", value_text(now->character_set), err) < 0)
        return -1;
    return state_note(run, "collate", value_text(now->collate), err);
}

static int present_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct schema_args *want = args;
    struct schema now;

    if (schema_find(run, want, &now, err) < 0)
        return -1;
    if (is_as_wanted(want, &now)) {
        state_unchanged(run);
        return 0;
    }
    if (note_before(run, &now, err) < 0)
        return -1;
    state_detail(run, "database", "%s", want->name);
    return schema_define(run, want, now.exists ? "ALTER" : "CREATE", want->character_set,
                         want->collate, err);
}

/* What others have put into it since then is not ours to drop. */
static int drop_if_empty(struct state_run *run, const struct schema_args *want,
                         const struct schema *now, struct err *err)
{
    if (!now->exists) {
        state_unchanged(run);
        return 0;
    }
    if (now->objects > 0)
        return err_set(err, ERR_INVALID,
                       "database '%s' is not removed: it has %lld tables and routines by now",
                       want->name, (long long)now->objects);
    state_say(run, "removed database '%s'", want->name);
    return schema_drop(run, want, err);
}

static int present_revert(struct state_run *run, const void *args, struct err *err)
{
    const struct schema_args *want = args;
    const struct value *existed = state_noted(run, "existed");
    const struct value *set = state_noted(run, "character_set"), *collate;
    struct schema now;

    if (!existed) {
        state_unchanged(run);
        return 0;
    }
    if (schema_find(run, want, &now, err) < 0)
        return -1;
    if (!existed->b)
        return drop_if_empty(run, want, &now, err);
    collate = state_noted(run, "collate");
    state_say(run, "restored the defaults of database '%s'", want->name);
    return schema_define(run, want, "ALTER", set ? set->s.p : NULL, collate ? collate->s.p : NULL,
                         err);
}

const struct module module_mysql_database_present = {
    .name = "mysql_database.present",
    .summary = "create a database of a MySQL or MariaDB server",
    .details = "A revert removes a new database only if it is still empty.",
    .example = "name: app\ncharacter_set: utf8mb4\n",
    .params = present_params,
    .args_size = sizeof(struct schema_args),
    .lock = SERVER_LOCK,
    .validate = schema_validate,
    .check = present_check,
    .apply = present_apply,
    .revert = present_revert,
};
