/*
 * snapshot - a loaded config on disk, so that a later daemon can continue it.
 *
 * Only configs with autostart have one, in expanded_config.yaml (JSON is YAML): the file's
 * presence means "restore me". It holds the text of the file, the captured environment and flags,
 * the owner, the hardening level, and the rights withheld from tokens. Copies of env files are
 * beside it.
 *
 *     source_path.txt          the canonical path           every loaded config
 *     config.yaml              the text as it was read      every loaded config
 *     acl.json                 its rules (acl_file.h)       with rules
 *     expanded_config.yaml     the snapshot                 with autostart
 *     env_files/SVC_NAME       copies of env files          with autostart
 *
 * Memory: the arena. Threads: any.
 */
#ifndef KEPLER_DAEMON_SNAPSHOT_H
#define KEPLER_DAEMON_SNAPSHOT_H

#include <stdint.h>

#include "kepler/config/config.h"

struct arena;
struct environment;
struct err;
struct value;

#define SNAPSHOT_FILE "expanded_config.yaml"
#define SNAPSHOT_MAX  ((size_t)32 << 20)

struct config_snapshot {
    struct config_source source; /* for config_load */
    int64_t time;                /* seconds */
};

/* Writes source_path.txt and config.yaml. */
int snapshot_save_source(const char *folder, const struct config *config, struct err *err);
/* The canonical path of the folder's config; NULL: unknown. */
int snapshot_load_path(struct arena *arena, const char *folder, const char **ret_path,
                       struct err *err);

/* Saves with the current environment and flags. */
int snapshot_save(const char *folder, const struct config *config, const struct environment *env,
                  const struct value *flags, int64_t time, struct err *err);
/* NULL when there is none. */
int snapshot_load(struct arena *arena, const char *folder,
                  const struct config_snapshot **ret_snapshot, struct err *err);

/* Removes the files that a load writes, and the state; stored lines and outputs stay. */
int snapshot_remove(const char *folder, struct err *err);

#endif
