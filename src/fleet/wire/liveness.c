#include "fleet/wire/liveness.h"

#include <string.h>

#include "core/base/err.h"
#include "core/base/sha256.h"
#include "core/base/utf8.h"
#include "core/data/value.h"

void liveness_name_tree(struct str manifest, char ret_name[static LIVENESS_TREE_SIZE])
{
    char sum[SHA256_HEX_SIZE];

    sha256_hex(manifest.p, manifest.n, sum);
    memcpy(ret_name, sum, LIVENESS_TREE_SIZE - 1);
    ret_name[LIVENESS_TREE_SIZE - 1] = '\0';
}

struct str liveness_problem(struct str text)
{
    struct str line = str_slice(str_line_at(text, 0), 0, LIVENESS_PROBLEM_MAX);

    line.n = utf8_valid_length(line);
    return line;
}

struct value liveness_show_trees(struct arena *arena, const struct liveness_trees *trees)
{
    const struct value map = record_value(arena, &liveness_trees_type, trees);

    return map.map->count > 0 ? map : value_null();
}

void liveness_read_trees(struct arena *arena, const struct value *map, struct liveness_trees *ret)
{
    struct err ignored;

    if (map->kind != VALUE_MAP ||
        record_read(arena, &liveness_trees_type, 1, map, ret, &ignored) < 0)
        *ret = (struct liveness_trees){ "", "", "", "", "", "" };
}

/* clang-format off */

#define ARGS struct liveness_trees

static const struct record_field trees_fields[] = {
    RECORD("states",   TEXT, ARGS, states, RECORD_OMIT, .fallback_text = ""),
    RECORD("settings", TEXT, ARGS, settings, RECORD_OMIT, .fallback_text = ""),
    RECORD("reactor",  TEXT, ARGS, reactor, RECORD_OMIT, .fallback_text = ""),
    RECORD("canary",   TEXT, ARGS, canary, RECORD_OMIT, .fallback_text = ""),
    RECORD("problem",  TEXT, ARGS, problem, RECORD_OMIT, .fallback_text = ""),
    RECORD("refused",  TEXT, ARGS, refused, RECORD_OMIT, .fallback_text = ""),
    { 0 },
};

const struct record_type liveness_trees_type = RECORD_TYPE("trees", ARGS, trees_fields, RECORD_LENIENT);

static const struct record_field master_fields[] = {
    RECORD("master_id",   TEXT,  struct liveness_master, master_id, 0, .fallback_text = ""),
    RECORD("active_jobs", TEXTS, struct liveness_master, active_jobs, RECORD_NIL),
    RECORD("timestamp",   TIME,  struct liveness_master, timestamp, 0),
    RECORD("version",     TEXT,  struct liveness_master, version, RECORD_OMIT, .fallback_text = ""),
    RECORD("since",       TIME,  struct liveness_master, since, RECORD_OMIT),
    RECORD("trees",       MAP,   struct liveness_master, trees, RECORD_OMIT),
    RECORD("published",   MAP,   struct liveness_master, published, RECORD_OMIT),
    { 0 },
};

static const struct record_field peel_fields[] = {
    RECORD("ts",       TIME, struct liveness_peel, ts, 0),
    RECORD("version",  TEXT, struct liveness_peel, version, RECORD_OMIT, .fallback_text = ""),
    RECORD("protocol", INT,  struct liveness_peel, protocol, RECORD_OMIT),
    RECORD("run",      MAP,  struct liveness_peel, run, RECORD_OMIT),
    RECORD("trees",    MAP,  struct liveness_peel, trees, RECORD_OMIT),
    { 0 },
};

const struct record_type liveness_master_type = RECORD_TYPE("master heartbeat", struct liveness_master, master_fields, RECORD_LENIENT);
const struct record_type liveness_peel_type = RECORD_TYPE("heartbeat", struct liveness_peel, peel_fields, RECORD_LENIENT);

/* clang-format on */
