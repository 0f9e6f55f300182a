#include "core/runs/question.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/runs/agent.h"
#include "core/sys/clock.h"

/* The agent reads one file. */
#define ANSWER_NS (5 * CLOCK_SECOND)

static int check_question(const void *record, struct err *err)
{
    const struct standing_question *question = record;

    if (question->names.n > STANDING_NAMES_MAX)
        return err_set(err, ERR_LIMIT, "a question about more than %d states", STANDING_NAMES_MAX);
    for (size_t i = 0; i < question->names.n; i++)
        if (strlen(question->names.p[i]) > STANDING_NAME_MAX)
            return err_set(err, ERR_LIMIT, "the name of a state exceeds the limit of %d bytes",
                           STANDING_NAME_MAX);
    return 0;
}

/* clang-format off */
static const struct record_field question_fields[] = {
    RECORD("names", TEXTS, struct standing_question, names, RECORD_REQUIRED),
    { 0 },
};
const struct record_type standing_question_type =
    RECORD_TYPE("states", struct standing_question, question_fields, RECORD_TAGGED | RECORD_REFUSE_UNKNOWN, .check = check_question);

#define ARGS struct standing_answer
static const struct record_field answer_fields[] = {
    RECORD("name",    TEXT, ARGS, name, RECORD_REQUIRED),
    RECORD("known",   BOOL, ARGS, known, 0),
    RECORD("success", BOOL, ARGS, success, 0),
    RECORD("changed", TIME, ARGS, changed, RECORD_OMIT),
    RECORD("error",   TEXT, ARGS, error, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};
#undef ARGS
static const struct record_type answer_type = RECORD_TYPE("answer", struct standing_answer, answer_fields, 0);

static const struct record_field reply_fields[] = {
    RECORD("error",   TEXT, struct standing_reply, error, RECORD_OMIT, .fallback_text = ""),
    RECORD("answers", LIST, struct standing_reply, list, RECORD_OMIT, .inner = &answer_type),
    { 0 },
};
const struct record_type standing_reply_type = RECORD_TYPE("answers", struct standing_reply, reply_fields, 0);
/* clang-format on */

bool standing_is_question(const struct value *packet)
{
    static const struct record_type *const types[] = { &standing_question_type };
    size_t which;

    return record_find_type(packet, types, ARRAY_LEN(types), &which);
}

void standing_reply(struct arena *arena, const char *data_dir, const struct param_strs *names,
                    struct standing_reply *ret)
{
    struct standing standing;
    struct err err;

    *ret = (struct standing_reply){ .error = "" };
    if (standing_read(arena, data_dir, &standing, &err) < 0) {
        ret->error = arena_strdup(arena, err.text);
        return;
    }
    for (size_t i = 0; i < names->n; i++)
        VEC_PUSH_IN(arena, &ret->list, standing_find(&standing, names->p[i]));
}

/* An agent of another version, or an impostor, may answer anything. */
static int check_reply(const struct standing_reply *reply, const struct param_strs *names,
                       struct err *err)
{
    if (reply->error[0])
        return err_set(err, ERR_INVALID, "the agent has no answer: %s", reply->error);
    if (reply->list.n != names->n)
        return err_set(err, ERR_INVALID, "the agent did not answer for all states");
    for (size_t i = 0; i < names->n; i++)
        if (strcmp(reply->list.p[i].name, names->p[i]) != 0)
            return err_set(err, ERR_INVALID, "the agent answered for another state");
    return 0;
}

int standing_ask(struct arena *arena, const char *data_dir, struct param_strs names,
                 struct standing_reply *ret, struct err *err)
{
    const struct unixsock socket = agent_socket(arena, data_dir);
    const struct standing_question question = { names };
    AUTO_BUF struct buf packet = BUF_INIT(AGENT_PACKET_MAX),
                        answer = BUF_INIT(2 * AGENT_PACKET_MAX);

    if (record_encode(&packet, &standing_question_type, &question, err) < 0)
        return -1;
    if (agent_exchange(&socket, buf_view(&packet), ANSWER_NS, &answer, err) == 0) {
        if (record_decode(arena, &standing_reply_type, 0, buf_copy(&answer, arena), ret, err) < 0)
            return err_wrap(err, "the agent");
        return check_reply(ret, &names, err);
    }
    if (err->code != ERR_NOT_FOUND)
        return -1;
    standing_reply(arena, data_dir, &names, ret);
    return ret->error[0] ? err_set(err, ERR_INVALID, "%s", ret->error) : 0;
}
