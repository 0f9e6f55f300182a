#include "kepler/daemon/call_access.h"

#include <errno.h>
#include <string.h>

#include "kepler/access/acl.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/base/vec.h"
#include "kepler/config/condition.h"
#include "kepler/config/config.h"
#include "kepler/daemon/acl_file.h"
#include "kepler/daemon/call.h"
#include "kepler/daemon/caller.h"
#include "kepler/daemon/client.h"
#include "kepler/daemon/daemon.h"
#include "kepler/daemon/authorizer_run.h"
#include "kepler/daemon/project.h"
#include "kepler/daemon/snapshot.h"
#include "kepler/daemon/state_file.h"
#include "core/sys/account.h"
#include "core/sys/fs.h"
#include "core/sys/path.h"

/* Maximum configs of a list whose authorizers run. */
#define LIST_MAX 100

/* --- the subject ------------------------------------------------------------------------------ */

struct subject {
    struct authorizer_run_config config;
    struct acl_subject acl;
    enum hardening hardening;
};

/* Not loaded: use the data on disk. Unreadable data belongs to root. */
static void find_stored_config(struct call *call, struct subject *subject)
{
    const char *folder = home_config(&call->arena, &call->daemon->home, subject->config.path);
    const struct state_file *record = NULL;
    struct fs_info info;
    struct err err;

    if (fs_lstat(folder, &info, &err) == 0 && info.kind == FS_NONE)
        return;
    subject->acl.owned = true;
    if (state_file_load(&call->arena, folder, &record, &err) < 0 || !record)
        return;
    subject->acl.owner = record->owner_uid;
    if (acl_file_load(&call->arena, folder, &subject->acl.acl, &subject->config.serial, &err) < 0)
        log_warning("rules cannot be read: none hold config=%s error=%s", subject->config.path,
                    err.text);
}

static struct subject find_access_subject(struct call *call, const char *path)
{
    const struct project *project = daemon_find(call->daemon, path);
    struct subject subject = { .config.path = path, .hardening = call->daemon->hardening };

    if (!project) {
        find_stored_config(call, &subject);
        return subject;
    }
    subject.acl = (struct acl_subject){ project->config->acl, true, project->config->owner.uid };
    subject.hardening = project->config->hardening;
    subject.config.serial = project->serial;
    return subject;
}

/* Look up group names only for rules that may need them. */
static struct acl_verdict judge_caller(struct call *call, const struct subject *subject,
                                       struct acl_caller *caller)
{
    if (subject->acl.acl || caller->authorize)
        caller_name_groups(&call->arena, caller);
    return acl_judge(&call->arena, &subject->acl, caller);
}

static struct acl_verdict judge_subject(struct call *call, const struct subject *subject)
{
    return judge_caller(call, subject, &call->caller);
}

static bool is_master(const struct acl_caller *caller)
{
    return caller->kind == ACL_ROOT;
}

static bool is_owner(const struct acl_caller *caller, const struct subject *subject)
{
    return subject->acl.owned && subject->acl.owner == caller->uid;
}

/* A config without an owner may only be read by a user who could load it. */
static int check_can_read(const struct acl_caller *caller, const struct subject *subject,
                          struct err *err)
{
    if (is_master(caller) || !subject->acl.owned ||
        caller_can_read(caller, subject->config.path, err) == 0)
        return 0;
    return is_owner(caller, subject) && err->errnum == ENOENT ? 0 : -1;
}

static int check_hardening(const struct acl_caller *caller, const struct subject *subject,
                           struct err *err)
{
    if (caller->kind != ACL_TOKEN || !subject->acl.owned || subject->hardening >= caller->floor)
        return 0;
    return err_set(
        err, ERR_INVALID, "the token is for configs with hardening level %s: '%s' has %s",
        hardening_name(caller->floor), subject->config.path, hardening_name(subject->hardening));
}

/* Reasons to deny all rights. */
static int check_caller_level(const struct acl_caller *caller, const struct subject *subject,
                              struct err *err)
{
    return check_hardening(caller, subject, err) < 0 || check_can_read(caller, subject, err) < 0
               ? -1
               : 0;
}

/* --- the requested rights --------------------------------------------------------------------- */

/* Waiting for an end needs another right than waiting for a start. */
static uint64_t needed_rights(const struct call *call)
{
    const struct request_wait *wait = call->args;
    enum condition condition;

    if (call->kind == REQUEST_WAIT && condition_parse(str_from(wait->condition), &condition) == 0 &&
        condition_is_end(condition))
        return RIGHT_BIT(RIGHT_QUIESCENCE);
    return request_rights(call->kind, call->args);
}

/* Text passed instead of the file runs as the owner: the caller must be the owner. */
static bool brings_text(const struct call *call)
{
    const struct request_start *start = call->args;

    return (call->kind == REQUEST_START || call->kind == REQUEST_RUN) &&
           (start->text || start->lasting);
}

static void decide_call(struct call *call);

/* The token may have ended meanwhile, or the membership. */
static void decide_again(struct call *call)
{
    const char *refusal = client_refusal(call->client, call->token, &call->arena, &call->caller);

    if (refusal)
        call_refuse(call, MESSAGE_DENIED, "%s", refusal);
    else
        decide_call(call);
}

/* --- one config ------------------------------------------------------------------------------- */

static void refuse_rights(struct call *call, const struct subject *subject, uint64_t missing,
                          uint64_t had)
{
    AUTO_BUF struct buf names = BUF_INIT(BUF_NO_LIMIT);

    right_print(missing, &names);
    if (call->caller.kind == ACL_TOKEN)
        call_refuse(call, MESSAGE_DENIED, "the token does not grant %s for '%s'", buf_text(&names),
                    subject->config.path);
    else if (had == 0)
        call_refuse_foreign(call, subject->config.path, subject->acl.owner);
    else
        call_refuse(call, MESSAGE_DENIED,
                    "you have not been granted %s for '%s', which belongs to %s", buf_text(&names),
                    subject->config.path, account_describe(&call->arena, subject->acl.owner));
}

/* All but the authorizers. False: the call is over. */
static bool check_call(struct call *call, const struct subject *subject,
                       const struct acl_verdict *verdict)
{
    uint64_t missing = needed_rights(call) & ~verdict->rights;
    struct err err;

    if (check_caller_level(&call->caller, subject, &err) < 0)
        call_refuse(call, MESSAGE_DENIED, "%s", err.text);
    else if (missing)
        refuse_rights(call, subject, missing, verdict->rights);
    else if (brings_text(call) && !is_master(&call->caller) && subject->acl.owned &&
             !is_owner(&call->caller, subject))
        call_refuse(call, MESSAGE_DENIED,
                    "only the owner and root may load text other than that of '%s'",
                    subject->config.path);
    else
        return true;
    return false;
}

static void decide_config_access(struct call *call, const char *path)
{
    struct subject subject = find_access_subject(call, path);
    struct acl_verdict verdict = judge_subject(call, &subject);
    const enum authorizer_run_answer answer = authorizer_run_answer(call, &subject.config);
    void (*enter)(struct call * call) = call->enter;

    if (!check_call(call, &subject, &verdict))
        return;
    if (verdict.authorizers.n > 0 && answer == AUTHORIZER_RUN_NONE) {
        authorizer_run_free(
            call->authorizer_run); /* the rules have changed: run the new authorizers */
        call->authorizer_run = NULL;
        authorizer_run_add(call, &subject.config, &verdict);
        authorizer_run_begin(call, decide_again);
        return;
    }
    if (verdict.authorizers.n > 0 && answer == AUTHORIZER_RUN_REFUSES) {
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

    return (verdict->rights & RIGHT_BIT(RIGHT_STATUS)) &&
           check_caller_level(&call->caller, subject, &ignored) == 0;
}

/* Runs the authorizers of a list of configs. */
static void add_listed(struct call *call, const char *path)
{
    struct subject subject = find_access_subject(call, path);
    struct acl_verdict verdict = judge_subject(call, &subject);

    if (verdict.authorizers.n > 0 && is_open_to(call, &subject, &verdict) &&
        authorizer_run_count(call) < LIST_MAX)
        authorizer_run_add(call, &subject.config, &verdict);
}

static void decide_list(struct call *call)
{
    const struct home *home = &call->daemon->home;
    struct fs_names names = { 0 };
    const char *path;
    struct err ignored; /* without the folder there are none */

    if (!is_master(&call->caller) && !call->authorizer_run) {
        (void)fs_list(&call->arena, home->configs, &names, &ignored);
        VEC_EACH (&names.list, name)
            if (snapshot_load_path(&call->arena, path_join(&call->arena, home->configs, *name),
                                   &path, &ignored) == 0 &&
                path)
                add_listed(call, path);
        if (call->authorizer_run) {
            authorizer_run_begin(call, decide_again);
            return;
        }
    }
    call->enter(call);
}

bool call_access_sees(struct call *call, const char *path)
{
    struct subject subject = find_access_subject(call, path);
    struct acl_verdict verdict = judge_subject(call, &subject);

    if (!is_open_to(call, &subject, &verdict))
        return false;
    return verdict.authorizers.n == 0 ||
           authorizer_run_answer(call, &subject.config) == AUTHORIZER_RUN_AGREES;
}

/* --- public ----------------------------------------------------------------------------------- */

static void decide_call(struct call *call)
{
    const char *path = request_config(call->kind, call->args);

    if (path)
        decide_config_access(call, path);
    else
        decide_list(call);
}

void call_access_begin(struct call *call, void (*enter)(struct call *call))
{
    call->enter = enter;
    if (request_get(call->kind)->scope == REQUEST_CONFIG)
        decide_call(call);
    else
        enter(call);
}

void call_access_report(struct call *call, const char *path, struct acl_caller *caller,
                        struct call_access_report *ret)
{
    struct subject subject = find_access_subject(call, path);
    struct err err;

    *ret = (struct call_access_report){ .verdict = judge_caller(call, &subject, caller),
                                        .owned = subject.acl.owned,
                                        .owner = subject.acl.owner };
    if (check_caller_level(caller, &subject, &err) < 0)
        ret->obstacle = arena_strdup(&call->arena, err.text);
}

bool call_access_may(const struct call *call, enum right right)
{
    return (call->grant.rights & RIGHT_BIT(right)) != 0;
}

bool call_access_allows(struct call *call, const char *path)
{
    struct subject subject;
    struct acl_verdict verdict;
    struct err ignored;

    if (call->grant.path && strcmp(call->grant.path, path) == 0)
        return true;
    subject = find_access_subject(call, path);
    verdict = judge_subject(call, &subject);
    return verdict.authorizers.n == 0 && (needed_rights(call) & ~verdict.rights) == 0 &&
           check_caller_level(&call->caller, &subject, &ignored) == 0 &&
           (!brings_text(call) || is_master(&call->caller) || !subject.acl.owned ||
            is_owner(&call->caller, &subject));
}

bool call_access_knows_owner(const struct call *call, uid_t owner)
{
    return is_master(&call->caller) || owner == call->caller.uid ||
           (call->grant.owned && call->grant.owner == owner);
}
