/* postgres_privileges.present - a role has these privileges. */
#include "core/base/err.h"
#include "states/modules/postgres_privileges/acl.h"
#include "states/state/module.h"

/* clang-format off */
static const struct param present_params[] = {
    ACL_PARAMS,
    PARAM("grant_option", BOOL, struct acl_args, grant_option, "with grant option: the role may grant them to others"),
    { 0 },
};
/* clang-format on */

static struct acl_entries find_missing_privileges(struct state_run *run,
                                                  const struct privilege_list *acl)
{
    struct acl_entries missing = { 0 };

    VEC_EACH (&acl->want.list, entry) {
        const struct acl_entry *have = acl_find(&acl->have, entry);

        if (!have || (entry->grantable && !have->grantable))
            VEC_PUSH_IN(run->arena, &missing.list, *entry);
    }
    return missing;
}

/* Something that the privilege is about is not there; NULL: all is. */
static const char *find_lack(struct state_run *run, const struct acl_args *want,
                             const struct privilege_list *acl)
{
    if (acl->objects.n == 0 && !acl->every)
        return arena_printf(run->arena, "%s '%s' does not exist", acl_type_word(want),
                            want->object_name);
    return acl->has_role ? NULL : arena_printf(run->arena, "role '%s' does not exist", want->name);
}

static int present_check(struct state_run *run, const void *args, struct err *err)
{
    const struct acl_args *want = args;
    struct acl_entries missing;
    const char *lack;
    struct privilege_list now;

    if (psql_is_missing(run, &want->login, "the privilege"))
        return 0;
    if (acl_read(run, want, &now, err) < 0)
        return -1;
    lack = find_lack(run, want, &now);
    if (lack && !run->test)
        return err_set(err, ERR_NOT_FOUND, "%s", lack);
    missing = find_missing_privileges(run, &now);
    VEC_EACH (&missing.list, entry) {
        state_differs(run, "'%s' does not have %.*s on %.*s", want->name, STR_ARG(entry->privilege),
                      STR_ARG(entry->object));
        state_made(run, "granted %.*s on %.*s to '%s'", STR_ARG(entry->privilege),
                   STR_ARG(entry->object), want->name);
    }
    if (lack)
        state_differs(run, "%s; an earlier state must create it (apply fails otherwise)", lack);
    if (!run->differs)
        state_say(run, "'%s' has the privileges", want->name);
    return 0;
}

static int present_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct acl_entries none = { 0 };
    const struct acl_args *want = args;
    struct acl_entries missing;
    const char *lack;
    struct privilege_list now;

    if (acl_read(run, want, &now, err) < 0)
        return -1;
    lack = find_lack(run, want, &now);
    if (lack)
        return err_set(err, ERR_NOT_FOUND, "%s", lack);
    missing = find_missing_privileges(run, &now);
    if (missing.list.n == 0) {
        state_unchanged(run);
        return 0;
    }
    state_detail(run, "name", "%s", want->name);
    state_detail(run, "object", "%s", want->object_name);
    return acl_note(run, &now, err) < 0 ? -1 : acl_change(run, want, &none, &missing, err);
}

const struct module module_postgres_privileges_present = {
    .name = "postgres_privileges.present",
    .summary = "a role of a PostgreSQL server has these privileges",
    .details = "The access list of the object counts, not what everybody or a group of the role "
               "may do. 'maintenance_db' is the database that tables, sequences, schemas and "
               "functions are in.",
    .example =
        "name: frank\nobject_name: orders\nobject_type: table\nprivileges: [SELECT, INSERT]\n"
        "maintenance_db: app\n",
    .params = present_params,
    .args_size = sizeof(struct acl_args),
    .lock = PSQL_LOCK,
    .validate = acl_validate,
    .check = present_check,
    .apply = present_apply,
    .revert = acl_revert,
};
