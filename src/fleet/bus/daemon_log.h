/*
 * daemon_log - what a daemon of the fleet logs, as lines of text or of JSON on standard error.
 *
 *     daemon_log_start("master", id);
 *     daemon_log_set(DAEMON_LOG_JSON, DAEMON_LOG_INFO);
 *
 *     {"ts":"2026-01-31T12:00:00.25Z","level":"info","component":"master","version":"0.1.0",
 *      "master_id":"master-...","msg":"bus connected server=a"}
 *
 * Threads: log from any; the rest from one.
 */
#ifndef FLEET_BUS_DAEMON_LOG_H
#define FLEET_BUS_DAEMON_LOG_H

/* In the order of the words of configuration keys. */
enum daemon_log_format { DAEMON_LOG_JSON, DAEMON_LOG_TEXT };
#define DAEMON_LOG_FORMATS "json|text"

enum daemon_log_level { DAEMON_LOG_DEBUG, DAEMON_LOG_INFO, DAEMON_LOG_WARN, DAEMON_LOG_ERROR };
#define DAEMON_LOG_LEVELS "debug|info|warn|error"

/* Once. Texts are borrowed for the life of the process; `id` is that of the daemon,
 * "<component>_id" in its lines. */
void daemon_log_start(const char *component, const char *id);
/* At any time. */
void daemon_log_set(enum daemon_log_format format, enum daemon_log_level level);

#endif
