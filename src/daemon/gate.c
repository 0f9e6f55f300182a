#include "daemon/gate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "access/acl.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/vec.h"
#include "config/authorizer.h"
#include "config/condition.h"
#include "config/config.h"
#include "daemon/acl_file.h"
#include "daemon/call.h"
#include "daemon/client.h"
#include "daemon/daemon.h"
#include "daemon/project.h"
#include "daemon/snapshot.h"
#include "daemon/state_file.h"
#include "sys/account.h"
#include "sys/chore.h"
#include "sys/clock.h"
#include "sys/fs.h"
#include "sys/path.h"

/* All authorizers of one call. */
#define TIME_MAX (5 * CLOCK_SECOND)
/* Configs of a list whose authorizers are asked. */
#define LIST_MAX 100

/* --- what is judged --------------------------------------------------------------------------- */

struct subject {
    const char *path;
    struct acl_subject acl;
    enum hardening hardening;
    uint64_t serial; /* another one: other rules */
};

/* Not loaded: what is on disk. What cannot be read is root's. */
static void find_stored(struct call *call, struct subject *subject)
{
    const char *folder = home_config(&call->arena, &call->daemon->home, subject->path);
    const struct state_file *record = NULL;
    struct fs_info info;
    struct err err;

    if (fs_lstat(folder, &info, &err) == 0 && info.kind == FS_NONE)
        return;
    subject->acl.owned = true;
    if (state_file_load(&call->arena, folder, &record, &err) < 0 || !record)
        return;
    subject->acl.owner = record->owner_uid;
    if (acl_file_load(&call->arena, folder, &subject->acl.acl, &subject->serial, &err) < 0)
        log_warning("rules cannot be read: none hold config=%s error=%s", subject->path, err.text);
}

static struct subject find_subject(struct call *call, const char *path)
{
    const struct project *project = daemon_find(call->daemon, path);
    struct subject subject = { .path = path, .hardening = call->daemon->hardening };

    if (!project) {
        find_stored(call, &subject);
        return subject;
    }
    subject.acl = (struct acl_subject){ project->config->acl, true, project->config->owner.uid };
    subject.hardening = project->config->hardening;
    subject.serial = project->serial;
    return subject;
}

/* Groups have names only where rules may ask for them: each is a lookup. */
static void name_groups(struct call *call, const struct subject *subject)
{
    const struct account_group *group;
    struct err ignored;

    if (call->groups_named || (!subject->acl.acl && !call->caller.authorize))
        return;
    call->groups_named = true;
    VEC_EACH (&call->caller.groups, one)
        if (account_find_gid(&call->arena, one->gid, &group, &ignored) == 0 && group)
            one->name = group->name;
}

static struct acl_verdict judge_subject(struct call *call, const struct subject *subject)
{
    name_groups(call, subject);
    return acl_judge(&call->arena, &subject->acl, &call->caller);
}

static bool is_master(const struct call *call)
{
    return call->caller.kind == ACL_ROOT;
}

static bool is_owner(const struct call *call, const struct subject *subject)
{
    return subject->acl.owned && subject->acl.owner == call->caller.uid;
}

/* Until somebody owns it, reading is the business of who loads it. */
static int check_readable(struct call *call, const struct subject *subject, struct err *err)
{
    if (is_master(call) || !subject->acl.owned ||
        client_can_read(call->client, subject->path, err) == 0)
        return 0;
    return is_owner(call, subject) && err->errnum == ENOENT ? 0 : -1;
}

static bool is_hard_enough(const struct call *call, const struct subject *subject)
{
    return call->caller.kind != ACL_TOKEN || !subject->acl.owned ||
           subject->hardening >= call->caller.floor;
}

/* --- what is asked for ------------------------------------------------------------------------ */

/* Who waits for an end needs another right than who waits for a start. */
static uint64_t needed_rights(const struct call *call)
{
    const struct request_wait *wait = call->args;
    enum condition condition;

    if (call->kind == REQUEST_WAIT && condition_parse(str_from(wait->condition), &condition) == 0 &&
        condition_is_end(condition))
        return RIGHT_BIT(RIGHT_QUIESCENCE);
    return request_rights(call->kind, call->args);
}

/* What is handed in instead of the file runs as the owner: it must be theirs. */
static bool brings_text(const struct call *call)
{
    const struct request_start *start = call->args;

    return (call->kind == REQUEST_START || call->kind == REQUEST_RUN) &&
           (start->text || start->lasting);
}

static void put_strs(struct call *call, struct value_map *map, const char *key,
                     struct param_strs strs)
{
    struct value_list *list = value_list_new(&call->arena, strs.n);

    for (size_t i = 0; i < strs.n; i++)
        value_list_push(&call->arena, list, value_text(strs.p[i]));
    value_map_set(&call->arena, map, value_text(key), value_list(list));
}

static void put_value(struct call *call, struct value_map *map, const char *key, struct value v)
{
    value_map_set(&call->arena, map, value_text(key), v);
}

static void put_text(struct call *call, struct value_map *map, const char *key, const char *text)
{
    if (text)
        put_value(call, map, key, value_text(text));
}

static void put_start(struct call *call, struct value_map *map)
{
    const struct request_start *start = call->args;

    put_strs(call, map, "services", start->services);
    put_value(call, map, "no_deps", value_bool(start->no_deps));
    put_value(call, map, "start_clean", value_bool(start->start_clean));
    put_value(call, map, "override_envs",
              value_bool(start->refresh_env || start->overrides.n > 0 || start->flags.n > 0));
    put_text(call, map, "hardening", start->hardening);
}

static void put_ask(struct call *call, struct value_map *map)
{
    const struct request_ask *ask = call->args;

    put_strs(call, map, "services", ask->services);
    put_text(call, map, "service", ask->services.n > 0 ? ask->services.p[0] : NULL);
    put_value(call, map, "include_services", value_bool(ask->with_services));
    put_value(call, map, "include_environment", value_bool(ask->with_environment));
    put_value(call, map, "include_flags", value_bool(ask->with_flags));
}

static void put_stop(struct call *call, struct value_map *map)
{
    const struct request_stop *stop = call->args;

    put_strs(call, map, "services", stop->services);
    put_value(call, map, "clean", value_bool(stop->clean));
    put_text(call, map, "signal", stop->signal);
}

static void put_logs(struct call *call, struct value_map *map)
{
    const struct request_logs *logs = call->args;

    put_strs(call, map, "services", logs->services);
    put_text(call, map, "service", logs->services.n > 0 ? logs->services.p[0] : NULL);
    put_text(call, map, "filter", logs->query);
}

static void put_metrics(struct call *call, struct value_map *map)
{
    const struct request_metrics *metrics = call->args;

    put_strs(call, map, "services", metrics->services);
    put_text(call, map, "service", metrics->services.n > 0 ? metrics->services.p[0] : NULL);
    put_text(call, map, "filter", metrics->query);
}

static void put_wait(struct call *call, struct value_map *map)
{
    const struct request_wait *wait = call->args;

    put_strs(call, map, "services", wait->services);
}

/* `request` of authorizers. */
static struct value request_value(struct call *call)
{
    static void (*const put[REQUEST_KINDS])(struct call * call, struct value_map * map) = {
        [REQUEST_LIST] = put_ask,        [REQUEST_STATUS] = put_ask, [REQUEST_START] = put_start,
        [REQUEST_RUN] = put_start,       [REQUEST_STOP] = put_stop,  [REQUEST_RESTART] = put_start,
        [REQUEST_RECREATE] = put_start,  [REQUEST_LOGS] = put_logs,  [REQUEST_INSPECT] = put_ask,
        [REQUEST_METRICS] = put_metrics, [REQUEST_WHY] = put_ask,    [REQUEST_WAIT] = put_wait,
    };
    struct value_map *map = value_map_new(&call->arena, 2);
    struct value_map *params = value_map_new(&call->arena, 8);

    if (put[call->kind])
        put[call->kind](call, params);
    put_text(call, map, "action", request_get(call->kind)->record.name);
    put_value(call, map, "params", value_map(params));
    return value_map(map);
}

/* `caller` of authorizers. */
static struct value caller_value(struct call *call)
{
    const struct acl_caller *caller = &call->caller;
    struct value_map *map = value_map_new(&call->arena, 5);
    struct value_list *groups = value_list_new(&call->arena, caller->groups.n);

    VEC_EACH (&caller->groups, group)
        value_list_push(
            &call->arena, groups,
            value_text(group->name ? group->name : arena_printf(&call->arena, "%u", group->gid)));
    put_value(call, map, "uid", value_int(caller->uid));
    put_value(call, map, "gid", value_int(caller->gid));
    put_text(call, map, "username", caller->name);
    put_value(call, map, "groups", value_list(groups));
    put_value(call, map, "token", value_bool(caller->kind == ACL_TOKEN));
    return value_map(map);
}

/* --- authorizers ------------------------------------------------------------------------------ */

struct question {
    struct value code, lua;
    bool has_lua;
};

/* What the authorizers of one config say. */
struct hearing {
    const char *path;
    uint64_t serial;
    VEC(struct question) questions;
    bool agrees;
    bool failed, slow;
    struct err err;
};

/* Between chore_begin and `done` all but `call` is the worker's. */
struct gate {
    struct chore chore;
    struct call *call; /* NULL: it is gone */
    void (*enter)(struct call *call);
    struct arena arena;
    struct value request, caller;
    VEC(struct hearing) hearings;
    uid_t uid;
    bool done;
};

static void drop_gate(struct gate *gate)
{
    arena_done(&gate->arena);
    free(gate);
}

void gate_free(struct gate *gate)
{
    if (!gate)
        return;
    if (gate->done)
        drop_gate(gate);
    else
        gate->call = NULL;
}

static struct gate *need_gate(struct call *call)
{
    if (!call->gate) {
        call->gate = mem_zalloc(sizeof(*call->gate));
        call->gate->call = call;
        call->gate->uid = call->caller.uid;
    }
    return call->gate;
}

/* All that the worker looks at is copied: config and call may go meanwhile. */
static void add_hearing(struct call *call, const struct subject *subject,
                        const struct acl_verdict *verdict)
{
    struct gate *gate = need_gate(call);
    struct arena *arena = &gate->arena;
    struct hearing hearing = { .path = arena_strdup(arena, subject->path),
                               .serial = subject->serial };

    VEC_EACH (&verdict->authorizers, one) {
        struct question question = { .code = value_copy(arena, one->code),
                                     .has_lua = one->lua != NULL };

        if (one->lua)
            question.lua = value_copy(arena, one->lua);
        VEC_PUSH_IN(arena, &hearing.questions, question);
    }
    VEC_PUSH_IN(arena, &gate->hearings, hearing);
}

static const struct hearing *find_hearing(const struct call *call, const struct subject *subject)
{
    if (call->gate && call->gate->done)
        VEC_EACH (&call->gate->hearings, hearing)
            if (hearing->serial == subject->serial && strcmp(hearing->path, subject->path) == 0)
                return hearing;
    return NULL;
}

static void hear(struct gate *gate, struct hearing *hearing)
{
    hearing->agrees = true;
    VEC_EACH (&hearing->questions, one) {
        const struct authorizer_question question = { .code = &one->code,
                                                      .lua = one->has_lua ? &one->lua : NULL,
                                                      .request = &gate->request,
                                                      .caller = &gate->caller };
        int64_t begun = clock_real();
        bool agrees = false;

        hearing->failed = authorizer_ask(&question, &agrees, &hearing->err) < 0;
        hearing->slow = hearing->slow || clock_real() - begun > AUTHORIZER_TIME_SLOW;
        hearing->agrees = agrees && !hearing->failed;
        if (!hearing->agrees)
            return;
    }
}

/* What there is no time for is refused. */
static void hear_all(struct chore *chore)
{
    struct gate *gate = container_of(chore, struct gate, chore);
    int64_t end = clock_after(clock_real(), TIME_MAX);

    VEC_EACH (&gate->hearings, hearing)
        if (clock_real() < end)
            hear(gate, hearing);
}

/* The text of an error is the owner's, and may tell what the caller must not know. */
static void log_hearing(const struct gate *gate, const struct hearing *hearing)
{
    if (hearing->failed)
        log_warning("authorizer failed: refused config=%s uid=%u error=%s", hearing->path,
                    gate->uid, hearing->err.text);
    else if (!hearing->agrees)
        log_info("authorizer refused config=%s uid=%u", hearing->path, gate->uid);
    if (hearing->slow)
        log_warning("authorizer took more than %lld ms config=%s",
                    (long long)(AUTHORIZER_TIME_SLOW / CLOCK_MS), hearing->path);
}

static void decide_call(struct call *call);

/* Its token may have ended meanwhile, or its membership. */
static void decide_again(struct call *call)
{
    const char *refusal = client_refusal(call->client, call->token, &call->arena, &call->caller);

    call->groups_named = false;
    if (refusal)
        call_refuse(call, MESSAGE_DENIED, "%s", refusal);
    else
        decide_call(call);
}

static void on_heard(struct chore *chore)
{
    struct gate *gate = container_of(chore, struct gate, chore);

    gate->done = true;
    VEC_EACH (&gate->hearings, hearing)
        log_hearing(gate, hearing);
    if (gate->call)
        decide_again(gate->call);
    else
        drop_gate(gate);
}

static size_t count_gates(const struct call *call)
{
    size_t count = 0;

    for (const struct call *other = call->daemon->calls; other; other = other->next)
        count += other->gate && !other->gate->done && other->caller.uid == call->caller.uid;
    return count;
}

static void begin_hearing(struct call *call)
{
    struct gate *gate = call->gate;

    if (count_gates(call) > GATE_MAX) {
        gate->done = true;
        call_refuse(call, MESSAGE_ERROR, "%d of your requests are being judged: try again",
                    GATE_MAX);
        return;
    }
    gate->request = request_value(call);
    gate->request = value_copy(&gate->arena, &gate->request);
    gate->caller = caller_value(call);
    gate->caller = value_copy(&gate->arena, &gate->caller);
    chore_begin(&call->daemon->judges, &gate->chore, hear_all, on_heard);
}

/* --- one config ------------------------------------------------------------------------------- */

static void refuse_rights(struct call *call, const struct subject *subject, uint64_t missing,
                          uint64_t had)
{
    AUTO_BUF struct buf names = BUF_INIT(BUF_NO_LIMIT);

    right_print(missing, &names);
    if (call->caller.kind == ACL_TOKEN)
        call_refuse(call, MESSAGE_DENIED, "the token does not grant %s for '%s'", buf_text(&names),
                    subject->path);
    else if (had == 0)
        call_refuse_foreign(call, subject->path, subject->acl.owner);
    else
        call_refuse(call, MESSAGE_DENIED,
                    "you have not been granted %s for '%s', which belongs to %s", buf_text(&names),
                    subject->path, account_describe(&call->arena, subject->acl.owner));
}

/* All but the authorizers. False: the call is over. */
static bool check_call(struct call *call, const struct subject *subject,
                       const struct acl_verdict *verdict)
{
    uint64_t missing = needed_rights(call) & ~verdict->rights;
    struct err err;

    if (!is_hard_enough(call, subject))
        call_refuse(
            call, MESSAGE_DENIED, "the token is for configs with hardening level %s: '%s' has %s",
            hardening_name(call->caller.floor), subject->path, hardening_name(subject->hardening));
    else if (check_readable(call, subject, &err) < 0)
        call_refuse(call, MESSAGE_DENIED, "%s", err.text);
    else if (missing)
        refuse_rights(call, subject, missing, verdict->rights);
    else if (brings_text(call) && !is_master(call) && subject->acl.owned &&
             !is_owner(call, subject))
        call_refuse(call, MESSAGE_DENIED,
                    "only the owner and root may load another text than that of '%s'",
                    subject->path);
    else
        return true;
    return false;
}

static void decide_one(struct call *call, const char *path)
{
    struct subject subject = find_subject(call, path);
    struct acl_verdict verdict = judge_subject(call, &subject);
    const struct hearing *hearing = find_hearing(call, &subject);
    void (*enter)(struct call * call) = call->enter;

    if (!check_call(call, &subject, &verdict))
        return;
    if (verdict.authorizers.n > 0 && !hearing) {
        gate_free(call->gate); /* other rules by now: ask them */
        call->gate = NULL;
        add_hearing(call, &subject, &verdict);
        begin_hearing(call);
        return;
    }
    if (verdict.authorizers.n > 0 && !hearing->agrees) {
        call_refuse(call, MESSAGE_DENIED, "an authorizer of '%s' refused '%s'", path,
                    request_get(call->kind)->record.name);
        return;
    }
    call->grant = (struct call_grant){ .path = path,
                                       .rights = verdict.rights,
                                       .owned = subject.acl.owned,
                                       .owner = subject.acl.owner };
    enter(call);
}

/* --- all configs ------------------------------------------------------------------------------ */

static bool is_open_to(struct call *call, const struct subject *subject,
                       const struct acl_verdict *verdict)
{
    struct err ignored;

    return (verdict->rights & RIGHT_BIT(RIGHT_STATUS)) && is_hard_enough(call, subject) &&
           check_readable(call, subject, &ignored) == 0;
}

/* Ask about those whose authorizers have to be asked. */
static void add_listed(struct call *call, const char *path)
{
    struct subject subject = find_subject(call, path);
    struct acl_verdict verdict = judge_subject(call, &subject);

    if (verdict.authorizers.n > 0 && is_open_to(call, &subject, &verdict) &&
        (!call->gate || call->gate->hearings.n < LIST_MAX))
        add_hearing(call, &subject, &verdict);
}

static void decide_list(struct call *call)
{
    const struct home *home = &call->daemon->home;
    struct fs_names names = { 0 };
    const char *path;
    struct err ignored; /* without the folder there are none */

    if (!is_master(call) && !call->gate) {
        (void)fs_list(&call->arena, home->configs, &names, &ignored);
        VEC_EACH (&names.list, name)
            if (snapshot_load_path(&call->arena, path_join(&call->arena, home->configs, *name),
                                   &path, &ignored) == 0 &&
                path)
                add_listed(call, path);
        if (call->gate) {
            begin_hearing(call);
            return;
        }
    }
    call->enter(call);
}

bool gate_sees(struct call *call, const char *path)
{
    struct subject subject = find_subject(call, path);
    struct acl_verdict verdict = judge_subject(call, &subject);
    const struct hearing *hearing = find_hearing(call, &subject);

    if (!is_open_to(call, &subject, &verdict))
        return false;
    return verdict.authorizers.n == 0 || (hearing && hearing->agrees);
}

/* --- public ----------------------------------------------------------------------------------- */

static void decide_call(struct call *call)
{
    const char *path = request_config(call->kind, call->args);

    if (path)
        decide_one(call, path);
    else
        decide_list(call);
}

void gate_begin(struct call *call, void (*enter)(struct call *call))
{
    call->enter = enter;
    if (request_get(call->kind)->scope == REQUEST_CONFIG)
        decide_call(call);
    else
        enter(call);
}

bool gate_may(const struct call *call, enum right right)
{
    return (call->grant.rights & RIGHT_BIT(right)) != 0;
}

bool gate_allows(struct call *call, const char *path)
{
    struct subject subject;
    struct acl_verdict verdict;
    struct err ignored;

    if (call->grant.path && strcmp(call->grant.path, path) == 0)
        return true;
    subject = find_subject(call, path);
    verdict = judge_subject(call, &subject);
    return verdict.authorizers.n == 0 && (needed_rights(call) & ~verdict.rights) == 0 &&
           is_hard_enough(call, &subject) && check_readable(call, &subject, &ignored) == 0 &&
           (!brings_text(call) || is_master(call) || !subject.acl.owned ||
            is_owner(call, &subject));
}

bool gate_knows_owner(const struct call *call, uid_t owner)
{
    return is_master(call) || owner == call->caller.uid ||
           (call->grant.owned && call->grant.owner == owner);
}
