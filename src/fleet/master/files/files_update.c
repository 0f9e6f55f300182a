/* An operator publishes the trees now. */
#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/log.h"
#include "core/data/record.h"
#include "fleet/master/announce.h"
#include "fleet/master/audit.h"
#include "fleet/master/master.h"
#include "fleet/master/files/files_check.h"
#include "fleet/master/files/files_service.h"
#include "fleet/nats/conn.h"
#include "fleet/wire/fileset.h"

/* An update with a waiting operator. */
struct update {
    struct files_service *files_service;
    struct arena arena;
    struct fileset_update_reply reply;
    size_t waiting, reply_size;
    const char *operator;
    const char *error; /* of the first set that failed; "": none */
    char subject[];
};

struct files_service_one_update {
    struct update *update;
    struct files_service_branch *branch;
    const struct publisher_kind *kind;
};

/* Describes the publication for the history. */
static const char *format_update_note(const struct files_service_one_update *one)
{
    const struct files_service_canary *canary = &one->update->files_service->canary;
    struct arena *arena = &one->update->arena;
    const char *commits = files_service_describe_git(arena, one->branch);

    if (one->kind != &files_service_kinds[FILES_SERVICE_STATES] || !canary->is_there)
        return commits;
    return arena_printf(arena, "canary: only for %s%s%s", canary->record.target,
                        commits[0] ? ": " : "", commits);
}

static void add_outcome(struct files_service_one_update *one,
                        const struct publisher_outcome *outcome)
{
    struct update *update = one->update;
    const bool comes_from_git = files_service_is_from_git(one->branch);

    VEC_PUSH_IN(&update->arena, &update->reply.sets.list,
                (struct fileset_outcome){
                    .name = one->kind->name,
                    .files = (int32_t)outcome->files,
                    .changed = outcome->changed,
                    .err = arena_strdup(&update->arena, outcome->error),
                    .skipped = comes_from_git && !outcome->changed ? FILESET_GITFS : "",
                    .note = format_update_note(one) });
}

static int compare_outcomes(const void *a, const void *b)
{
    return strcmp(((const struct fileset_outcome *)a)->name,
                  ((const struct fileset_outcome *)b)->name);
}

/* Restore the order, since any may finish first. */
static void sort_outcomes(struct update *update)
{
    if (update->reply.sets.list.n > 1)
        qsort(update->reply.sets.list.p, update->reply.sets.list.n,
              sizeof(update->reply.sets.list.p[0]), compare_outcomes);
}

static void on_updated(void *self, const struct publisher_outcome *outcome)
{
    struct files_service_one_update *one = self; /* in the arena of the update */
    struct update *update = one->update;
    struct fileset_check check;

    files_service_note_round(one->branch, outcome);
    if (one->kind != &files_service_kinds[FILES_SERVICE_SEALED])
        add_outcome(one, outcome);
    if (outcome->error[0] && !update->error[0])
        update->error = arena_printf(&update->arena, "%s: %s", one->kind->name, outcome->error);
    if (--update->waiting > 0)
        return;
    sort_outcomes(update);
    files_check_show(update->files_service->check, &update->arena, &check);
    if (check.machines || check.total)
        update->reply.check = record_value(&update->arena, &fileset_check_type, &check);
    update->reply.trees = files_service_show_trees(update->files_service, &update->arena);
    audit_log(&(struct audit){ .action = "fileserver.update",
                               .by = update->operator,
                               .error = update->error });
    master_answer(update->files_service->master,
                  (struct str){ update->subject, update->reply_size }, &fileset_update_reply_type,
                  &update->reply);
    arena_done(&update->arena);
    free(update);
}

static void begin_update_round(struct files_service_one_update *one, bool force)
{
    files_service_begin_round(one->branch,
                              &(struct files_service_round){ .pulls = true,
                                                             .wish = { .force = force,
                                                                       .mode = PUBLISHER_CHECK_ALL,
                                                                       .fn = on_updated,
                                                                       .self = one } });
}

void files_service_on_update(void *self, const struct nats_msg *msg)
{
    struct files_service *service = self;
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct fileset_update question = { 0 };
    struct update *update;
    struct err err;

    if (!lease_is_held(&service->lease) || msg->reply.n == 0)
        return;
    if (record_decode(&arena, &fileset_update_type, 1, msg->payload, &question, &err) < 0)
        log_warning("invalid publish request: %s", err.text);
    update = mem_zalloc(sizeof(*update) + msg->reply.n);
    update->files_service = service;
    update->reply.master = service->master->id;
    update->reply_size = msg->reply.n;
    memcpy(update->subject, msg->reply.p, msg->reply.n);
    update->waiting = FILES_SERVICE_KINDS;
    update->operator = arena_strdup(&update->arena, question.operator ? question.operator : "");
    update->error = "";
    files_check_renew(service->check);
    for (size_t i = 0; i < FILES_SERVICE_KINDS; i++)
        service->branches[i].leads |= question.force; /* this folder wins */
    for (size_t i = 0; i < FILES_SERVICE_KINDS; i++) {
        struct files_service_one_update *one =
            ARENA_NEW(&update->arena, struct files_service_one_update);

        *one = (struct files_service_one_update){ update, &service->branches[i],
                                                  &files_service_kinds[i] };
        if (files_service_may_publish(one->branch))
            begin_update_round(one, question.force);
        else
            VEC_PUSH(&one->branch->waiting, one);
    }
    files_service_advance(service);
}

void files_service_run_updates(struct files_service_branch *branch)
{
    while (branch->waiting.n)
        begin_update_round(branch->waiting.p[--branch->waiting.n], false);
}

void files_service_refuse_updates(struct files_service_branch *branch, const char *why)
{
    while (branch->waiting.n)
        on_updated(branch->waiting.p[--branch->waiting.n],
                   &(struct publisher_outcome){ .error = why });
}
