/* The request for a user's rights on a config. */
#include "kepler/access/acl.h"
#include "kepler/access/right.h"
#include "core/base/err.h"
#include "kepler/daemon/call.h"
#include "kepler/daemon/caller.h"
#include "kepler/daemon/call_access.h"
#include "core/sys/account.h"

static void put_rights_value(struct call *call, struct value_map *map, const char *key,
                             struct value v)
{
    value_map_set(&call->arena, map, value_text(key), v);
}

static const char *describe_source(struct call *call, const struct acl_caller *caller,
                                   const struct acl_source *source)
{
    switch (source->origin) {
    case ACL_FROM_ROOT: return caller->uid == 0 ? "root" : "runs the daemon";
    case ACL_FROM_OWNER: return "owner";
    case ACL_FROM_LOADER: return "not loaded yet";
    case ACL_FROM_USER: return arena_printf(&call->arena, "user %s", source->who);
    case ACL_FROM_GROUP: return arena_printf(&call->arena, "group %s", source->who);
    case ACL_FROM_TOKEN: return arena_printf(&call->arena, "token of service '%s'", source->who);
    }
    return "";
}

static struct value describe_sources(struct call *call, const struct acl_caller *caller,
                                     const struct acl_verdict *verdict)
{
    struct value_list *list = value_list_new(&call->arena, verdict->sources.n);

    VEC_EACH (&verdict->sources, source) {
        struct value_map *map = value_map_new(&call->arena, 3);

        put_rights_value(call, map, "from", value_text(describe_source(call, caller, source)));
        put_rights_value(call, map, "rights", right_values(&call->arena, source->rights));
        put_rights_value(call, map, "authorizer", value_bool(source->authorizes));
        value_list_push(&call->arena, list, value_map(map));
    }
    return value_list(list);
}

static struct value describe_user(struct call *call, uid_t uid)
{
    const struct account *account = NULL;
    struct value_map *map = value_map_new(&call->arena, 2);
    struct err ignored; /* then it has no name */

    if (account_find_uid(&call->arena, uid, &account, &ignored) < 0)
        account = NULL;
    put_rights_value(call, map, "uid", value_int(uid));
    put_rights_value(call, map, "name", account ? value_text(account->name) : value_null());
    return value_map(map);
}

static void answer_rights(struct call *call, const struct acl_caller *caller,
                          const struct call_access_report *report)
{
    const struct request_rights *args = call->args;
    struct value_map *body = value_map_new(&call->arena, 6);

    put_rights_value(call, body, "config", value_text(args->config));
    put_rights_value(call, body, "owner", describe_user(call, report->owner));
    put_rights_value(call, body, "user", describe_user(call, caller->uid));
    put_rights_value(call, body, "rights",
                     right_values(&call->arena, report->obstacle ? 0 : report->verdict.rights));
    put_rights_value(call, body, "sources", describe_sources(call, caller, &report->verdict));
    put_rights_value(call, body, "obstacle",
                     report->obstacle ? value_text(report->obstacle) : value_null());
    call_finish(call, value_map(body));
}

/* Rules name users: only root and the owner may see them. */
static bool may_query_others(const struct call *call, const struct call_access_report *own)
{
    return call->caller.kind == ACL_ROOT || (call->caller.kind == ACL_MEMBER && own->owned &&
                                             own->owner == call->caller.uid && !own->obstacle);
}

static void answer_about(struct call *call, const char *user)
{
    const struct request_rights *args = call->args;
    const struct account *account;
    struct call_access_report report;
    struct acl_caller other;
    enum caller_standing standing;
    struct err err;
    uid_t uid;

    if (account_parse_user(user, &uid, &err) < 0 ||
        account_find_uid(&call->arena, uid, &account, &err) < 0) {
        call_fail(call, &err);
        return;
    }
    other = caller_find(&call->arena, uid, account ? account->gid : (gid_t)uid);
    standing = caller_standing(&call->arena, &other);
    call_access_report(call, args->config, &other, &report);
    if (standing != CALLER_MEMBER)
        report.obstacle = caller_obstacle(standing);
    answer_rights(call, &other, &report);
}

void handle_rights(struct call *call)
{
    const struct request_rights *args = call->args;
    struct call_access_report own;

    call_access_report(call, args->config, &call->caller, &own);
    if (!own.owned)
        call_refuse(call, MESSAGE_ERROR,
                    "'%s' is not loaded: its first start sets the owner and the rules",
                    args->config);
    else if (args->user && may_query_others(call, &own))
        answer_about(call, args->user);
    else if (own.obstacle)
        call_refuse(call, MESSAGE_DENIED, "%s", own.obstacle);
    else if (own.verdict.rights == 0)
        call_refuse_foreign(call, args->config, own.owner);
    else if (args->user)
        call_refuse(
            call, MESSAGE_DENIED,
            "only root and the owner may query other users; 'kepler acl' shows your rights");
    else
        answer_rights(call, &call->caller, &own);
}
