/* JSON, or else YAML, into a struct with a field of every kind, by both policies: it decodes or
 * tells why. */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "core/data/params.h"
#include "core/data/value.h"
#include "core/data/yaml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct args {
    bool flag;
    enum param_tristate maybe;
    int64_t count, wait, size;
    double ratio;
    const char *name, *path;
    struct str text;
    mode_t mode;
    int format;
    struct param_strs words;
    struct param_strmap env;
    const struct value *list, *map, *any;
};

static const struct param table[] = {
    PARAM("flag", BOOL, struct args, flag, "bool"),
    PARAM("maybe", TRISTATE, struct args, maybe, "tristate"),
    PARAM("count", INT, struct args, count, "int", PARAM_RANGE(-10, 10)),
    PARAM("ratio", DOUBLE, struct args, ratio, "double"),
    PARAM("name", STR, struct args, name, "str", .flags = PARAM_PRIMARY, .aliases = "n"),
    PARAM("text", TEXT, struct args, text, "text", .flags = PARAM_FILLED),
    PARAM("path", PATH, struct args, path, "path"),
    PARAM("mode", MODE, struct args, mode, "mode"),
    PARAM("wait", DURATION, struct args, wait, "duration"),
    PARAM("size", SIZE, struct args, size, "size"),
    PARAM("format", CHOICE, struct args, format, "choice", .choices = "a|b|no"),
    PARAM("words", STRS, struct args, words, "strs"),
    PARAM("env", STRMAP, struct args, env, "strmap"),
    PARAM("list", LIST, struct args, list, "list"),
    PARAM("map", MAP, struct args, map, "map"),
    PARAM("any", ANY, struct args, any, "any"),
    { 0 },
};

static void check_args(const struct args *args)
{
    size_t total = 0;

    assert(args->count >= -10 && args->count <= 10);
    assert(args->mode <= 07777 && args->wait >= 0 && args->size >= 0);
    assert(args->format >= 0 && args->format <= 2);
    assert(!args->path || args->path[0] == '/');
    for (size_t i = 0; i < args->words.n; i++)
        total += strlen(args->words.p[i]);
    for (size_t i = 0; i < args->env.n; i++)
        total += strlen(args->env.p[i].key) + strlen(args->env.p[i].value);
    assert(total < SIZE_MAX);
}

static void check_policy(struct arena *arena, const struct value *map, bool strict)
{
    const struct params_policy policy = { .strict = strict };
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(arena);
    struct args args = { 0 };
    int result = params_decode(arena, table, &policy, map, &args, &diags);

    assert((result < 0) == (diags_count(&diags) > 0));
    check_args(&args);
    diags_print(&diags, &out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    const struct str text = { (const char *)data, size };
    struct diags diags = DIAGS_INIT(&arena);
    struct value map;
    struct err err;

    if (json_decode(&arena, text, &map, &err) < 0 &&
        yaml_parse(&arena, "fuzz", text, NULL, &map, &diags) < 0)
        return 0;
    check_policy(&arena, &map, false);
    check_policy(&arena, &map, true);
    return 0;
}
