#include "fleet/peel/local_event.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/runs/agent.h"

/* The agent answers earlier: it waits for the stream, and writes to a disk. */
#define ANSWER_NS (3 * LOCAL_EVENT_STORE_NS)

static const char *const status_names[] = { "stored", "buffered", "refused" };

/* clang-format off */
static const struct record_field event_fields[] = {
    RECORD("tag",     TEXT, struct local_event, tag, RECORD_REQUIRED),
    RECORD("data",    MAP,  struct local_event, data, RECORD_OMIT),
    { 0 },
};
static const struct record_field answer_fields[] = {
    RECORD("status",  WORD, struct local_event_answer, status, RECORD_REQUIRED, RECORD_WORDS(status_names)),
    RECORD("id",      TEXT, struct local_event_answer, id, RECORD_OMIT, .fallback_text = ""),
    RECORD("tag",     TEXT, struct local_event_answer, tag, RECORD_OMIT, .fallback_text = ""),
    RECORD("key",     TEXT, struct local_event_answer, key, RECORD_OMIT, .fallback_text = ""),
    RECORD("subject", TEXT, struct local_event_answer, subject, RECORD_OMIT, .fallback_text = ""),
    RECORD("error",   TEXT, struct local_event_answer, error, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};
/* clang-format on */

const struct record_type local_event_type =
    RECORD_TYPE("local event", struct local_event, event_fields, RECORD_REFUSE_UNKNOWN);
const struct record_type local_event_answer_type =
    RECORD_TYPE("local event answer", struct local_event_answer, answer_fields, 0);

const char *local_event_status_name(enum local_event_status status)
{
    return status_names[status];
}

int local_event_raise(struct arena *arena, const struct unixsock *socket,
                      const struct local_event *event, struct local_event_answer *ret_answer,
                      struct err *err)
{
    AUTO_BUF struct buf packet = BUF_INIT(AGENT_PACKET_MAX),
                        answer = BUF_INIT(2 * AGENT_PACKET_MAX);

    if (record_encode(&packet, &local_event_type, event, err) < 0)
        return err_wrap(err, "the event");
    if (agent_exchange(socket, buf_view(&packet), ANSWER_NS, &answer, err) < 0 ||
        record_decode(arena, &local_event_answer_type, 0, buf_copy(&answer, arena), ret_answer,
                      err) < 0)
        return -1;
    if (ret_answer->status == LOCAL_EVENT_REFUSED)
        return err_set(err, ERR_INVALID, "%s", ret_answer->error);
    return 0;
}
