/*
 * The service "late-returns": what a peel returns after its job has ended corrects the record.
 *
 * All masters share a consumer of returns. One that belongs to a job under way is the business of
 * its owner; one of a job that has ended is stored in place of the answer that a master made up,
 * and the counts and the status of the job are brought up to date.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "bus/store.h"
#include "master/dispatcher.h"
#include "master/services.h"
#include "nats/ack.h"
#include "nats/kv.h"
#include "nats/puller.h"
#include "sys/clock.h"
#include "wire/exec.h"
#include "wire/job.h"
#include "wire/subject.h"

#define BATCH        64
#define TRY_AGAIN_NS (5 * CLOCK_SECOND)

struct post {
    struct master *master;
    struct nats_puller *puller;
};

/* One return that came late. */
struct letter {
    struct post *post;
    struct arena arena;
    struct str reply, payload;
    const char *jid, *peel, *key; /* of the stored return */
    struct exec_return late;
    struct job job;
    uint64_t revision; /* of the job */
    bool is_first;     /* there was no answer of this peel */
};

static void *open_post(struct master *master, struct err *err)
{
    struct post *post = mem_zalloc(sizeof(*post));

    (void)err;
    post->master = master;
    return post;
}

/* --- the end of a letter ------------------------------------------------------------ */

static void end_letter(struct letter *letter, bool try_again)
{
    struct post *post = letter->post;
    struct err err;

    if (post->puller) {
        if (try_again)
            (void)nats_nak(post->master->js.conn, letter->reply, TRY_AGAIN_NS, &err);
        else
            (void)nats_ack(post->master->js.conn, letter->reply, &err);
        nats_puller_done(post->puller, 1);
    }
    arena_done(&letter->arena);
    free(letter);
}

static struct nats_kv bucket_of(const struct letter *letter, enum store_bucket bucket)
{
    return (struct nats_kv){ .js = letter->post->master->js,
                             .bucket = store_bucket_name(bucket),
                             .indirect = true };
}

/* --- correcting --------------------------------------------------------------------- */

static void on_corrected(void *self, const struct nats_error *error, uint64_t revision)
{
    struct letter *letter = self;

    (void)revision;
    if (!error)
        log_info("job %s: '%s' returned late, the record is corrected", letter->jid, letter->peel);
    end_letter(letter, error != NULL);
}

static bool is_success(const struct exec_return *ret)
{
    return ret->success && ret->error[0] == '\0';
}

static void correct_job(struct letter *letter)
{
    const struct nats_kv kv = bucket_of(letter, STORE_JOBS);
    AUTO_BUF struct buf bytes = BUF_INIT(BUF_NO_LIMIT);
    struct job *job = &letter->job;
    int64_t wall = clock_wall();
    struct err err;

    job->return_count += letter->is_first;
    job->success_count += is_success(&letter->late);
    job->updated = (struct value_time){ wall / CLOCK_SECOND, (uint32_t)(wall % CLOCK_SECOND) };
    if (job->status != JOB_CANCELED && (size_t)job->return_count == job->targets.n)
        job->status = (size_t)job->success_count == job->targets.n ? JOB_COMPLETE : JOB_FAILED;
    if (record_encode(&bytes, &job_type, job, &err) < 0 ||
        nats_kv_update(&kv, letter->jid, buf_view(&bytes), letter->revision, on_corrected, letter,
                       &err) < 0)
        end_letter(letter, true);
}

static void on_stored(void *self, const struct nats_error *error, uint64_t revision)
{
    (void)revision;
    if (error)
        end_letter(self, true);
    else
        correct_job(self);
}

/* The first real answer counts. */
static void on_known(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct letter *letter = self;
    const struct nats_kv kv = bucket_of(letter, STORE_JOB_RETURNS);
    struct exec_return known;
    struct err err;
    int result;

    if (error && error->fault != NATS_FAULT_NOT_FOUND) {
        end_letter(letter, true);
        return;
    }
    letter->is_first = error != NULL;
    if (entry &&
        record_decode(&letter->arena, &exec_return_type, 1, arena_str(&letter->arena, entry->value),
                      &known, &err) == 0 &&
        !known.unreachable) {
        end_letter(letter, false);
        return;
    }
    result = letter->is_first
                 ? nats_kv_create(&kv, letter->key, letter->payload, on_stored, letter, &err)
                 : nats_kv_update(&kv, letter->key, letter->payload, entry->revision, on_stored,
                                  letter, &err);
    if (result < 0)
        end_letter(letter, true);
}

static bool is_target(const struct job *job, const char *peel)
{
    for (size_t i = 0; i < job->targets.n; i++)
        if (strcmp(job->targets.p[i], peel) == 0)
            return true;
    return false;
}

static void on_job(void *self, const struct nats_error *error, const struct nats_kv_entry *entry)
{
    struct letter *letter = self;
    const struct nats_kv kv = bucket_of(letter, STORE_JOB_RETURNS);
    struct err err;

    if (error) {
        end_letter(letter, error->fault != NATS_FAULT_NOT_FOUND);
        return;
    }
    letter->revision = entry->revision;
    if (record_decode(&letter->arena, &job_type, 1, arena_str(&letter->arena, entry->value),
                      &letter->job, &err) < 0 ||
        !job_status_is_final(letter->job.status) || !is_target(&letter->job, letter->peel))
        end_letter(letter, false);
    else if (nats_kv_get(&kv, letter->key, on_known, letter, &err) < 0)
        end_letter(letter, true);
}

/* --- returns ------------------------------------------------------------------------ */

/* Identity is in the subject; only masters make up answers. */
static bool read_letter(struct letter *letter, const struct nats_msg *msg)
{
    enum subject_kind kind;
    struct subject_names names;
    struct err err;

    if (!subject_parse(msg->subject, &kind, &names) || kind != SUBJECT_JOB_RETURN)
        return false;
    letter->jid = arena_str(&letter->arena, names.jid).p;
    letter->peel = arena_str(&letter->arena, names.peel).p;
    letter->key = arena_printf(&letter->arena, "%s.%s", letter->jid, letter->peel);
    letter->payload = arena_str(&letter->arena, msg->payload);
    return record_decode(&letter->arena, &exec_return_type, 1, letter->payload, &letter->late,
                         &err) == 0 &&
           strcmp(letter->late.peel_id, letter->peel) == 0 && !letter->late.unreachable &&
           !dispatcher_has(master_dispatcher(letter->post->master), names.jid);
}

static void on_message(void *self, const struct nats_msg *msg)
{
    struct post *post = self;
    struct letter *letter = mem_zalloc(sizeof(*letter));
    const struct nats_kv kv = { .js = post->master->js,
                                .bucket = store_bucket_name(STORE_JOBS),
                                .indirect = true };
    struct err err;

    letter->post = post;
    letter->reply = arena_str(&letter->arena, msg->reply);
    if (!read_letter(letter, msg))
        end_letter(letter, false);
    else if (nats_kv_get(&kv, letter->jid, on_job, letter, &err) < 0)
        end_letter(letter, true);
}

/* --- life --------------------------------------------------------------------------- */

static void on_trouble(void *self, const struct nats_error *error)
{
    (void)self;
    if (error->fault != NATS_FAULT_CANCELED && error->fault != NATS_FAULT_DISCONNECTED)
        log_warning("late returns: %s", error->text);
}

static int start_post(void *self, struct err *err)
{
    struct post *post = self;

    post->puller = nats_puller_new(&post->master->js,
                                   &(struct nats_puller_options){ .stream = STORE_JOB_EVENTS,
                                                                  .consumer = STORE_RETURNS,
                                                                  .batch = BATCH,
                                                                  .message = on_message,
                                                                  .trouble = on_trouble,
                                                                  .failed = on_trouble,
                                                                  .self = post },
                                   err);
    return post->puller ? 0 : -1;
}

static void stop_post(void *self)
{
    struct post *post = self;

    nats_puller_free(post->puller);
    post->puller = NULL;
}

const struct master_service master_late_service = {
    .name = "late-returns",
    .open = open_post,
    .start = start_post,
    .stop = stop_post,
    .free = free,
};
