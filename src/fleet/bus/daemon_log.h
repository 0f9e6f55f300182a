/*
 * daemon_log - the log of a fleet daemon on standard error, as text or JSON lines.
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

/* In the order of the words in the configuration. */
enum daemon_log_format { DAEMON_LOG_JSON, DAEMON_LOG_TEXT };
#define DAEMON_LOG_FORMATS "json|text"

enum daemon_log_level { DAEMON_LOG_DEBUG, DAEMON_LOG_INFO, DAEMON_LOG_WARN, DAEMON_LOG_ERROR };
#define DAEMON_LOG_LEVELS "debug|info|warn|error"

/* Call once. Texts are borrowed for the life of the process; `id` is the daemon's id,
 * "<component>_id" in its lines. */
void daemon_log_start(const char *component, const char *id);
/* May be called at any time. */
void daemon_log_set(enum daemon_log_format format, enum daemon_log_level level);

#endif
