#include "commands/migrate/salt_reaction.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/base/mem.h"
#include "core/data/value.h"
#include "core/data/yaml.h"
#include "core/data/yaml_print.h"
#include "commands/migrate/salt_template.h"

/* One block, while it is converted. */
struct block {
    struct salt_template *tmpl;
    const struct value *at;     /* its action */
    const char *function;       /* "cmd.run" of local.cmd.run */
    struct value args;          /* a map */
    const struct value *single; /* its positional argument; or NULL */
    struct value_map *keywords, *out;
    const char *action; /* of ours */
};

static int leave_out(const struct block *block, const struct value *at, const char *why)
{
    (void)value_diag(block->tmpl->remarks, at, "%s", why);
    diag_hint(block->tmpl->remarks, "this block was left out");
    return -1;
}

static void set_reaction_field(struct block *block, const char *key, const struct value *v)
{
    value_map_set(block->tmpl->arena, block->out, value_text(key),
                  salt_template_seal(block->tmpl, v));
}

/* --- arguments -------------------------------------------------------------------- */

/* A list of maps with one key each is one map. */
static int read_reaction_args(struct block *block, const struct value *given)
{
    struct value_map *map = value_map_new(block->tmpl->arena, 4);

    block->args = value_map(map);
    if (given->kind == VALUE_MAP)
        block->args = *given;
    for (size_t i = 0; given->kind == VALUE_LIST && i < given->list->count; i++) {
        const struct value *item = &given->list->items[i];

        if (item->kind != VALUE_MAP || item->map->count != 1)
            return leave_out(block, item, "expected one key and its value");
        value_map_set(block->tmpl->arena, map, item->map->pairs[0].key, item->map->pairs[0].value);
    }
    return 0;
}

/* "cwd=/tmp", which Salt reads as a named argument wherever it stands. */
static bool add_assignment(struct block *block, const struct value *v)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_";
    struct str rest, key;

    if (v->kind != VALUE_STR)
        return false;
    rest = v->s;
    key = str_cut(&rest, '=');
    if (!rest.p || key.n == 0 || strspn(key.p, letters) < key.n)
        return false;
    value_map_set(block->tmpl->arena, block->keywords,
                  value_at(value_str(arena_str(block->tmpl->arena, key)), v),
                  value_at(value_str(rest), v));
    return true;
}

static int add_positional(struct block *block, const struct value *v)
{
    if (add_assignment(block, v))
        return 0;
    if (block->single)
        return leave_out(block, v, "more than one positional argument; name them in 'kwarg'");
    block->single = v;
    return 0;
}

static void add_keywords(struct block *block, const struct value_map *map)
{
    for (size_t i = 0; i < map->count; i++)
        value_map_set(block->tmpl->arena, block->keywords, map->pairs[i].key, map->pairs[i].value);
}

/* `arg`, `args` and `kwarg`: maps are named arguments, the rest positional ones. */
static int add_reaction_arguments(struct block *block, const struct value *given)
{
    if (!given || given->kind == VALUE_NULL)
        return 0;
    if (given->kind == VALUE_MAP) {
        add_keywords(block, given->map);
        return 0;
    }
    if (given->kind != VALUE_LIST)
        return add_positional(block, given);
    for (size_t i = 0; i < given->list->count; i++) {
        const struct value *item = &given->list->items[i];

        if (item->kind == VALUE_MAP)
            add_keywords(block, item->map);
        else if (add_positional(block, item) < 0)
            return -1;
    }
    return 0;
}

static int read_function_arguments(struct block *block)
{
    static const char *const keys[] = { "arg", "args", "kwarg" };

    block->keywords = value_map_new(block->tmpl->arena, 4);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (add_reaction_arguments(block, value_get(&block->args, keys[i])) < 0)
            return -1;
    return 0;
}

/* A named argument, wherever it was written. */
static const struct value *find_argument(const struct block *block, const char *key)
{
    const struct value keywords = value_map(block->keywords);
    const struct value *v = value_get(&keywords, key);

    return v ? v : value_get(&block->args, key);
}

static void note_unknown(const struct block *block, const char *const *known)
{
    for (size_t i = 0; i < block->args.map->count; i++) {
        const struct value *key = &block->args.map->pairs[i].key;
        const char *const *name = known;

        while (key->kind == VALUE_STR && *name && strcmp(*name, key->s.p) != 0)
            name++;
        if (key->kind != VALUE_STR || !*name)
            (void)value_diag(block->tmpl->remarks, key, "'%s' has no counterpart and was left out",
                             key->kind == VALUE_STR ? key->s.p : value_describe(key));
    }
}

/* --- actions ---------------------------------------------------------------------- */

static bool is_function_name(const char *text)
{
    const char *dot = strchr(text, '.');
    static const char word[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    const size_t family = strspn(text, word);

    return dot && dot > text && family == (size_t)(dot - text) && dot[1] &&
           strspn(dot + 1, word) == strlen(dot + 1);
}

static int convert_reaction_target(struct block *block)
{
    static const char *const kinds[] = { "glob",   "pcre",       "list",   "grain",
                                         "grains", "grain_pcre", "pillar", "pillar_pcre",
                                         "ipcidr", "compound",   NULL };
    const struct value *target = find_argument(block, "tgt");
    const struct value *kind = value_get(&block->args, "tgt_type");
    const char *const *known = kinds;

    kind = kind ? kind : value_get(&block->args, "expr_form");
    if (!target)
        return leave_out(block, block->at, "missing 'tgt'");
    while (kind && *known && !(kind->kind == VALUE_STR && strcmp(*known, kind->s.p) == 0))
        known++;
    if (kind && !*known)
        return leave_out(block, kind, "this kind of target does not exist here");
    if (target->kind == VALUE_LIST) {
        AUTO_BUF struct buf names = BUF_INIT(BUF_NO_LIMIT);
        struct value joined;

        for (size_t i = 0; i < target->list->count; i++)
            if (target->list->items[i].kind == VALUE_STR)
                buf_printf(&names, "%s%s", names.n > 0 ? "," : "", target->list->items[i].s.p);
        joined = value_str(buf_copy(&names, block->tmpl->arena));
        set_reaction_field(block, "tgt", &joined);
    } else {
        set_reaction_field(block, "tgt", target);
    }
    if (kind)
        set_reaction_field(block, "tgt_type", kind);
    return 0;
}

/* All but the target. */
static int convert_call(struct block *block)
{
    static const char *const known[] = { "tgt",  "tgt_type", "expr_form", "arg",
                                         "args", "kwarg",    "timeout",   NULL };
    const struct value keywords = value_map(block->keywords);
    const char *function =
        strcmp(block->function, "state.sls") == 0 ? "state.apply" : block->function;

    if (!is_function_name(function))
        return leave_out(block, block->at, "a function is a module and a name in lower case");
    if (block->single)
        set_reaction_field(block, "arg", block->single);
    if (block->keywords->count > 0)
        set_reaction_field(block, "kwarg", &keywords);
    if (value_get(&block->args, "timeout"))
        set_reaction_field(block, "timeout", value_get(&block->args, "timeout"));
    note_unknown(block, known);
    block->action = arena_printf(block->tmpl->arena, "local.%s", function);
    return 0;
}

static int convert_local(struct block *block)
{
    return convert_reaction_target(block) < 0 ? -1 : convert_call(block);
}

/* The functions differ only in what the tree may do. */
static int convert_orchestration(struct block *block)
{
    static const char *const known[] = { "mods", "pillar", "test",    "arg",
                                         "args", "kwarg",  "timeout", NULL };
    static const char *const fields[] = { "pillar", "timeout", "test" };
    const struct value *mods = find_argument(block, "mods");
    const struct value *ref = mods ? mods : block->single;

    if (!ref)
        return leave_out(block, block->at, "missing 'mods'");
    set_reaction_field(block, "sls", ref);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (find_argument(block, fields[i]))
            set_reaction_field(block, fields[i], find_argument(block, fields[i]));
    note_unknown(block, known);
    block->action = "orchestrate";
    (void)value_diag(block->tmpl->remarks, block->at,
                     "the states may be salt.state and salt.function, and nothing else");
    return 0;
}

static int convert_runner(struct block *block)
{
    const struct value *tag = find_argument(block, "tag");
    const struct value *data = find_argument(block, "data");

    if (strncmp(block->function, "state.orch", strlen("state.orch")) == 0)
        return convert_orchestration(block);
    if (strcmp(block->function, "event.send") != 0)
        return leave_out(block, block->at,
                         "runners other than event.send and state.orchestrate are not converted");
    tag = tag ? tag : block->single;
    if (!tag)
        return leave_out(block, block->at, "missing 'tag'");
    set_reaction_field(block, "tag", tag);
    if (data)
        set_reaction_field(block, "data", data);
    block->action = "event.send";
    (void)value_diag(block->tmpl->remarks, block->at,
                     "the key of this event is _master/reaction/TAG");
    return 0;
}

static int convert_wheel(struct block *block)
{
    static const struct {
        const char *salt, *ours;
    } rows[] = { { "key.accept", "enroll.approve" },
                 { "key.reject", "enroll.reject" },
                 { "key.delete", "enroll.revoke" } };
    const struct value *match = find_argument(block, "match");

    match = match ? match : block->single;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        if (strcmp(block->function, rows[i].salt) == 0)
            block->action = rows[i].ours;
    if (!block->action)
        return leave_out(block, block->at, "this function of wheel does not exist here");
    if (!block->tmpl->enrolls)
        return leave_out(block, block->at,
                         "enrollments are decided for events of masters only (salt/auth)");
    if (!match)
        return leave_out(block, block->at, "missing 'match'");
    value_map_set(block->tmpl->arena, block->out, value_text("id"),
                  salt_template_expression(block->tmpl, "data['id'] | tojson"));
    set_reaction_field(block, "require_peel", match);
    if (match->kind == VALUE_STR && salt_template_is_masked(match->s))
        (void)value_diag(block->tmpl->remarks, match,
                         "every machine is accepted: use a pattern of names");
    return 0;
}

static int convert_caller(struct block *block)
{
    value_map_set(block->tmpl->arena, block->out, value_text("tgt"),
                  salt_template_expression(block->tmpl, "event.peel | tojson"));
    (void)value_diag(block->tmpl->remarks, block->at,
                     "it runs on the machine that raised the event, as a job");
    return convert_call(block);
}

static int convert_action(struct block *block, const char *name, const struct value *given)
{
    static const struct {
        const char *begin;
        int (*convert)(struct block *block);
    } rows[] = { { "local.", convert_local },
                 { "cmd.", convert_local },
                 { "runner.", convert_runner },
                 { "wheel.", convert_wheel },
                 { "caller.", convert_caller } };

    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (strncmp(name, rows[i].begin, strlen(rows[i].begin)) != 0)
            continue;
        block->function = name + strlen(rows[i].begin);
        if (read_reaction_args(block, given) < 0 || read_function_arguments(block) < 0)
            return -1;
        return rows[i].convert(block);
    }
    return leave_out(block, block->at, "expected local, runner, wheel or caller");
}

/* --- blocks ----------------------------------------------------------------------- */

static void convert_block(struct salt_template *tmpl, const struct value_pair *pair,
                          struct value_map *blocks)
{
    const struct value_map *actions = pair->value.kind == VALUE_MAP ? pair->value.map : NULL;

    if (pair->key.kind != VALUE_STR || !actions) {
        (void)value_diag(tmpl->remarks, &pair->key, "expected a block with an action");
        return;
    }
    for (size_t i = 0; i < actions->count; i++) {
        struct value_map *whole = value_map_new(tmpl->arena, 1);
        struct block block = { .tmpl = tmpl,
                               .at = &actions->pairs[i].key,
                               .out = value_map_new(tmpl->arena, 4) };
        const char *id =
            i == 0 ? pair->key.s.p : arena_printf(tmpl->arena, "%s_%zu", pair->key.s.p, i + 1);

        tmpl->is_broken = false;
        if (block.at->kind != VALUE_STR ||
            convert_action(&block, block.at->s.p, &actions->pairs[i].value) < 0)
            continue;
        if (tmpl->is_broken) {
            (void)leave_out(&block, block.at, "it uses what does not exist in reactions");
            continue;
        }
        value_map_set(tmpl->arena, whole, value_text(block.action), value_map(block.out));
        value_map_set(tmpl->arena, blocks, value_text(id), value_map(whole));
    }
}

/* Lines keep their numbers. */
static struct str pad_piece(struct arena *arena, const struct salt_piece *piece)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    for (uint32_t i = 1; i < piece->line; i++)
        buf_add_char(&out, '\n');
    buf_add(&out, piece->text.p, piece->text.n);
    return buf_copy(&out, arena);
}

static void convert_piece(struct salt_template *tmpl, const struct salt_piece *piece,
                          struct buf *out)
{
    const struct yaml_options options = { .dialect = YAML_DIALECT_SALT };
    struct value_map *blocks = value_map_new(tmpl->arena, 4);
    const struct value result = value_map(blocks);
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    struct value map;
    struct err err;

    if (yaml_parse(tmpl->arena, tmpl->file, pad_piece(tmpl->arena, piece), &options, &map,
                   tmpl->remarks) < 0 ||
        map.kind == VALUE_NULL)
        return;
    if (map.kind != VALUE_MAP) {
        (void)value_diag(tmpl->remarks, &map, "expected blocks, got %s", value_describe(&map));
        return;
    }
    for (size_t i = 0; i < map.map->count; i++)
        convert_block(tmpl, &map.map->pairs[i], blocks);
    if (blocks->count > 0 && yaml_print(&text, &result, &err) < 0)
        (void)diag_err(tmpl->remarks, (struct place){ tmpl->file, piece->line, 0 }, &err);
    else
        salt_template_print(tmpl, buf_view(&text), out);
}

void salt_reaction_convert(struct salt_template *tmpl, struct str text, struct buf *out)
{
    if (!salt_template_read(tmpl, text))
        return;
    VEC_EACH (&tmpl->pieces, piece) {
        if (piece->is_statement)
            buf_add(out, piece->text.p, piece->text.n);
        else
            convert_piece(tmpl, piece, out);
    }
}
