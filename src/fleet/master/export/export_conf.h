/*
 * export_conf - the receivers of events and job results: the key `export`.
 *
 *     export:
 *       - name: siem
 *         url: https://siem.example/zester
 *         match: ['*']              keys of events, as in rules; none: no events
 *         jobs: true                returns and records of jobs that have ended, too
 *         token_file: /etc/zester/siem.token
 *
 * Memory: texts are borrowed from the value, or in the arena. Threads: any.
 */
#ifndef FLEET_MASTER_EXPORT_EXPORT_CONF_H
#define FLEET_MASTER_EXPORT_EXPORT_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/vec.h"
#include "core/data/params.h"

struct arena;
struct diags;
struct value;

#define EXPORTERS_MAX    16
#define EXPORT_NAME_MAX  32
#define EXPORT_BATCH_MAX 100

struct export_conf {
    const char *name, *url;
    struct param_strs match; /* globs */
    bool jobs, insecure;
    const char *token_file, *ca; /* NULL: none */
    int64_t timeout;             /* nanoseconds */
    int64_t batch;               /* maximum records per request */
};

struct export_confs {
    VEC(struct export_conf) list;
};

/* NULL: none. Returns -1 when it added to `diags`. */
int export_conf_read(struct arena *arena, const struct value *given, struct export_confs *ret,
                     struct diags *diags);
const struct export_conf *export_conf_find(const struct export_confs *confs, const char *name);

/* Does it export events with this key? */
bool export_conf_matches(const struct export_conf *conf, const char *key);

#endif
