#include "fleet/jobs/rollout.h"

#include <string.h>

#include "core/base/err.h"
#include "core/base/number.h"
#include "fleet/wire/job.h"

static const char *const words[] = {
    [ROLLOUT_KEEP] = "",
    [ROLLOUT_WAVE] = "wave",
    [ROLLOUT_ALL] = "all",
};

static const char *const remarks[] = { ROLLOUT_STOPPED, ROLLOUT_JOB };

bool rollout_revert_find(const char *word, enum rollout_revert *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcmp(word ? word : "", words[i]) == 0) {
            *ret = (enum rollout_revert)i;
            return true;
        }
    return false;
}

bool rollout_is_remark(const char *key)
{
    for (size_t i = 0; i < ARRAY_LEN(remarks); i++)
        if (strcmp(key, remarks[i]) == 0)
            return true;
    return false;
}

static const char *find_note(const struct job *job, const char *key)
{
    const char *text = value_get_text(&job->metadata, key);

    return text ? text : "";
}

static uint64_t read_rollout_number(const struct job *job, const char *key, uint64_t fallback)
{
    uint64_t number;
    struct err err;

    return number_parse_uint(str_from(find_note(job, key)), &number, &err) == 0 ? number : fallback;
}

void rollout_read(const struct job *job, struct rollout *ret)
{
    const uint64_t pause = read_rollout_number(job, JOB_PAUSE, 0);
    struct str gate = str_from(find_note(job, JOB_GATE));

    *ret = (struct rollout){ .batch = (size_t)read_rollout_number(job, JOB_BATCH, 0),
                             .failures_max =
                                 (size_t)read_rollout_number(job, JOB_BATCH_FAILURES, SIZE_MAX),
                             .gate_function = STR(""),
                             .gate_argument = STR("") };
    if (ret->batch == 0)
        return;
    (void)rollout_revert_find(find_note(job, JOB_REVERT), &ret->revert);
    ret->pause = pause <= ROLLOUT_PAUSE_MAX ? (int64_t)pause * NUMBER_NS_PER_S : 0;
    ret->gate_function = str_cut(&gate, ' ');
    if (gate.p)
        ret->gate_argument = str_trim(gate);
    ret->has_waves = ret->pause > 0 || ret->gate_function.n > 0 || ret->revert != ROLLOUT_KEEP;
}

bool rollout_runs_states(const char *function)
{
    static const char *const functions[] = { "state.apply", "state.highstate", "state.sls",
                                             "state.sls_id" };

    for (size_t i = 0; i < ARRAY_LEN(functions); i++)
        if (strcmp(function, functions[i]) == 0)
            return true;
    return false;
}

static bool orders_waves(const struct job *job)
{
    return find_note(job, JOB_PAUSE)[0] || find_note(job, JOB_GATE)[0] ||
           find_note(job, JOB_REVERT)[0];
}

int rollout_check(const struct job *job, struct err *err)
{
    enum rollout_revert revert;

    if (!orders_waves(job))
        return 0;
    if (read_rollout_number(job, JOB_BATCH, 0) == 0)
        return err_set(err, ERR_INVALID, "a pause, a gate and a revert of waves require a batch");
    if (job_queue_seconds(job) != 0)
        return err_set(
            err, ERR_INVALID,
            "waves do not wait for absent peels: a queue cannot be given with a pause, a "
            "gate or a revert of waves");
    if (read_rollout_number(job, JOB_PAUSE, find_note(job, JOB_PAUSE)[0] ? UINT64_MAX : 0) >
        (uint64_t)ROLLOUT_PAUSE_MAX)
        return err_set(err, ERR_LIMIT, "the pause between waves is a day at most");
    if (strlen(find_note(job, JOB_GATE)) > ROLLOUT_GATE_MAX)
        return err_set(err, ERR_LIMIT, "a gate has %d bytes at most", ROLLOUT_GATE_MAX);
    if (!rollout_revert_find(find_note(job, JOB_REVERT), &revert))
        return err_set(err, ERR_INVALID, "'%.32s' cannot be reverted: expected 'wave' or 'all'",
                       find_note(job, JOB_REVERT));
    if (revert != ROLLOUT_KEEP && !rollout_runs_states(job->function))
        return err_set(err, ERR_INVALID, "only runs of states can be reverted, not '%.64s'",
                       job->function);
    return 0;
}

int64_t rollout_time(const struct job *job, int64_t timeout)
{
    struct rollout rollout;
    int64_t waves = 1;

    rollout_read(job, &rollout);
    if (rollout.batch)
        waves = (int64_t)((job->targets.n + rollout.batch - 1) / rollout.batch);
    if (rollout.gate_function.n > 0)
        timeout += ROLLOUT_GATE_NS;
    return waves * (timeout + rollout.pause) + job_queue_seconds(job) * NUMBER_NS_PER_S;
}

void rollout_gate_id(const char *jid, size_t wave, char id[static EVENT_JID_SIZE])
{
    event_step_id(jid, JOB_GATE, wave, id);
}

void rollout_revert_id(const char *jid, char id[static EVENT_JID_SIZE])
{
    event_step_id(jid, JOB_REVERT, 1, id);
}
