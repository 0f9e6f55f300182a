#include "fleet/master/operators/operator_removal.h"

#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "fleet/bus/bus_time.h"
#include "fleet/bus/store.h"
#include "fleet/master/announce.h"
#include "fleet/master/audit.h"
#include "fleet/master/enroll/revocation.h"
#include "fleet/nats/kv.h"
#include "fleet/wire/operator.h"
#include "fleet/wire/subject.h"

#define RECORD_MAX ((size_t)1 << 20)

struct remover {
    struct master *master;
    struct nats_sub *requests;
};

/* A request in progress. */
struct removal {
    struct arena arena;
    struct remover *remover;
    struct str reply;
    struct operator_removal request;
    struct operator_policy policy;
};

static struct nats_kv get_operator_bucket(const struct remover *remover)
{
    return (struct nats_kv){ .js = remover->master->js,
                             .bucket = store_bucket_name(STORE_OPERATORS),
                             .indirect = true };
}

static void finish_removal(struct removal *removal, const char *error, const char *warning)
{
    struct arena arena = removal->arena;

    audit_log(&(struct audit){ .action = "operator.remove",
                               .by = removal->request.operator,
                               .id = removal->request.name,
                               .error = error });
    if (removal->reply.n > 0)
        master_answer(removal->remover->master, removal->reply, &operator_removed_type,
                      &(struct operator_removed){ .err = error ? error : "",
                                                  .warning = warning ? warning : "" });
    arena_done(&arena); /* the removal is in it */
}

static void on_refused_by_servers(void *self, const char *warning)
{
    finish_removal(self, NULL, warning);
}

/* From here on the proxy refuses them; servers close their connections. */
static void on_removal_recorded(void *self, const struct nats_error *error, uint64_t revision)
{
    struct removal *removal = self;

    (void)revision;
    if (error)
        finish_removal(removal, error->text, NULL);
    else
        revocation_push_operator(master_find(removal->remover->master, &revocation_service),
                                 &removal->policy, on_refused_by_servers, removal);
}

static void revoke_keys(struct operator_policy *policy, int64_t now)
{
    policy->removed = true;
    policy->updated.seconds = now;
    VEC_EACH (&policy->keys.list, key)
        if (key->revoked.seconds == 0 && key->expires.seconds + REVOCATION_SLACK_SECONDS > now)
            key->revoked.seconds = now;
}

static void on_removed_operator_found(void *self, const struct nats_error *error,
                                      const struct nats_kv_entry *entry)
{
    struct removal *removal = self;
    AUTO_BUF struct buf bytes = BUF_INIT(RECORD_MAX);
    const struct nats_kv kv = get_operator_bucket(removal->remover);
    struct err err;

    if (error) {
        finish_removal(
            removal, error->fault == NATS_FAULT_NOT_FOUND ? "no such operator" : error->text, NULL);
        return;
    }
    if (record_decode(&removal->arena, &operator_policy_type, 1,
                      arena_str(&removal->arena, entry->value), &removal->policy, &err) == 0) {
        revoke_keys(&removal->policy, bus_time_seconds());
        if (record_encode(&bytes, &operator_policy_type, &removal->policy, &err) == 0 &&
            nats_kv_update(&kv, removal->request.name, buf_view(&bytes), entry->revision,
                           on_removal_recorded, removal, &err) == 0)
            return;
    }
    finish_removal(removal, err.text, NULL);
}

static void on_removal_request(void *self, const struct nats_msg *msg)
{
    struct remover *remover = self;
    const struct nats_kv kv = get_operator_bucket(remover);
    struct arena arena = ARENA_INIT;
    struct removal *removal = ARENA_NEW(&arena, struct removal);
    struct err err;

    *removal = (struct removal){ .remover = remover, .request = { "", "" } };
    removal->reply = arena_str(&arena, msg->reply);
    removal->arena = arena;
    if (record_decode(&removal->arena, &operator_removal_type, 1,
                      arena_str(&removal->arena, msg->payload), &removal->request, &err) == 0 &&
        nats_kv_get(&kv, removal->request.name, on_removed_operator_found, removal, &err) == 0)
        return;
    finish_removal(removal, err.text, NULL);
}

/* --- the service -------------------------------------------------------------------- */

static void *open_remover(struct master *master, struct err *err)
{
    struct remover *remover = mem_zalloc(sizeof(*remover));

    (void)err;
    remover->master = master;
    return remover;
}

static int start_remover(void *self, struct err *err)
{
    struct remover *remover = self;

    remover->requests = nats_sub_new(
        remover->master->js.conn,
        &(struct nats_sub_options){ .subject = subject_template(SUBJECT_OPERATOR_REMOVE),
                                    .queue = subject_queue(SUBJECT_OPERATOR_REMOVE),
                                    .message = on_removal_request,
                                    .self = remover },
        err);
    return remover->requests ? 0 : -1;
}

static void stop_remover(void *self)
{
    struct remover *remover = self;

    nats_sub_free(remover->requests);
    remover->requests = NULL;
}

const struct master_service operator_removal_service = {
    .name = "operator-removal",
    .open = open_remover,
    .start = start_remover,
    .stop = stop_remover,
    .free = free,
};
