#include "fleet/master/audit.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/log.h"
#include "core/data/json.h"
#include "core/data/value.h"
#include "fleet/wire/exec.h"
#include "fleet/wire/job.h"

#define LINE_MAX LOG_TEXT_MAX

void audit_add_pair(struct buf *line, const char *key, const char *text)
{
    if (!text || !text[0])
        return;
    buf_printf(line, " %s=", key);
    json_print_text(line, str_from(text), JSON_STYLE_COMPACT);
}

void audit_log(const struct audit *audit)
{
    AUTO_BUF struct buf line = BUF_INIT(LINE_MAX);

    audit_add_pair(&line, "by", audit->by);
    audit_add_pair(&line, "id", audit->id);
    audit_add_pair(&line, "peel", audit->peel);
    audit_add_pair(&line, "function", audit->function);
    audit_add_pair(&line, "target", audit->target);
    if (audit->peels > 0)
        buf_printf(&line, " peels=%u", audit->peels);
    audit_add_pair(&line, "reason", audit->reason);
    audit_add_pair(&line, "error", audit->error);
    log_info("audit action=%s result=%s%s", audit->action,
             audit->error && audit->error[0] ? "refused" : "ok", buf_text(&line));
}

struct audit audit_of_job(struct arena *arena, const struct job *job)
{
    const char *window = value_get_text(&job->metadata, JOB_WINDOW);
    const bool is_forced = window && strcmp(window, EXEC_WINDOW_FORCE) == 0;

    return (struct audit){
        .action = AUDIT_JOB,
        .by = arena_strdup(arena, job->user),
        .id = arena_strdup(arena, job->jid),
        .function = arena_strdup(arena, job->function),
        .target = arena_strdup(arena, job->target_expr),
        .peels = (uint32_t)job->targets.n,
        .reason = is_forced ? "maintenance windows are overridden" : NULL,
    };
}
