/* postgres_privileges.absent - a role does not have these privileges. */
#include "core/base/err.h"
#include "states/modules/postgres_privileges/acl.h"
#include "states/state/module.h"

static const struct param absent_params[] = {
    ACL_PARAMS,
    { 0 },
};

static struct acl_entries find_extra_privileges(struct state_run *run,
                                                const struct privilege_list *acl)
{
    struct acl_entries extra = { 0 };

    VEC_EACH (&acl->want.list, entry) {
        const struct acl_entry *have = acl_find(&acl->have, entry);

        if (have)
            VEC_PUSH_IN(run->arena, &extra.list, *have);
    }
    return extra;
}

static int absent_check(struct state_run *run, const void *args, struct err *err)
{
    const struct acl_args *want = args;
    struct acl_entries extra;
    struct privilege_list now;

    if (psql_is_missing(run, &want->login, "the privilege"))
        return 0;
    if (acl_read(run, want, &now, err) < 0)
        return -1;
    extra = find_extra_privileges(run, &now);
    VEC_EACH (&extra.list, entry) {
        state_differs(run, "'%s' has %.*s on %.*s", want->name, STR_ARG(entry->privilege),
                      STR_ARG(entry->object));
        state_made(run, "revoked %.*s on %.*s from '%s'", STR_ARG(entry->privilege),
                   STR_ARG(entry->object), want->name);
    }
    if (!run->differs)
        state_say(run, "'%s' has none of the privileges", want->name);
    return 0;
}

static int absent_apply(struct state_run *run, const void *args, struct err *err)
{
    const struct acl_entries none = { 0 };
    const struct acl_args *want = args;
    struct acl_entries extra;
    struct privilege_list now;

    if (acl_read(run, want, &now, err) < 0)
        return -1;
    extra = find_extra_privileges(run, &now);
    if (extra.list.n == 0) {
        state_unchanged(run);
        return 0;
    }
    state_detail(run, "name", "%s", want->name);
    state_detail(run, "object", "%s", want->object_name);
    return acl_note(run, &now, err) < 0 ? -1 : acl_change(run, want, &extra, &none, err);
}

const struct module module_postgres_privileges_absent = {
    .name = "postgres_privileges.absent",
    .summary = "a role of a PostgreSQL server does not have these privileges",
    .example = "name: frank\nobject_name: orders\nobject_type: table\nprivileges: [INSERT]\n",
    .params = absent_params,
    .args_size = sizeof(struct acl_args),
    .lock = PSQL_LOCK,
    .validate = acl_validate,
    .check = absent_check,
    .apply = absent_apply,
    .revert = acl_revert,
};
