#include "states/compile/decl.h"
#include "states/compile/dialect.h"

#include <string.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/suggest.h"
#include "core/data/scalar.h"
#include "core/data/words.h"
#include "states/state/module.h"
#include "states/compile/extend.h"
#include "states/compile/output.h"
#include "states/compile/requisite.h"
#include "states/compile/unsupported.h"

/* Numbers and times as text are shorter. */
#define SCALAR_TEXT_MAX 1000
/* For a module whose arguments are not a list. */
#define EXPECTED_ARGUMENTS 4

/* One body being read. */
struct reader {
    struct decl_set *set;
    const struct decl_file *file;
    const struct value *id;
    const char *id_text;
    struct diags *diags;
};

void decl_set_init(struct decl_set *set, struct arena *arena, struct diags *late)
{
    *set = (struct decl_set){
        .arena = arena,
        .names = MAP_INIT_IN(arena),
        .ids = MAP_INIT_IN(arena),
        .late = late,
    };
}

void decl_set_expect(struct decl_set *set, size_t more)
{
    map_reserve(&set->names, set->names.live + more);
    map_reserve(&set->ids, set->ids.live + more);
}

/* A number as written in its document, even as a key: 1.10 is not 1.1. */
static struct str print_written_number(const struct value *v)
{
    struct words_cursor cursor = { 0 };
    struct str words = words_own(v, &cursor);
    struct value again;
    struct err ignored; /* it would not be the same number */

    if (words.p || (v->kind != VALUE_INT && v->kind != VALUE_DOUBLE))
        return words;
    words = words_written(v, &cursor);
    if (words.n > 1 && words.p[words.n - 1] == ':')
        words.n--;
    if (words.n > 0 && scalar_parse(words, YAML_DIALECT_1_1, &again, &ignored) == 0 &&
        again.kind == v->kind && value_equal(&again, v))
        return words;
    return (struct str){ NULL, 0 };
}

struct str decl_text(struct arena *arena, const struct value *v)
{
    AUTO_BUF struct buf out = BUF_INIT(SCALAR_TEXT_MAX);

    if (v->kind == VALUE_STR)
        return v->s;

    const struct str written = print_written_number(v);
    if (written.p)
        return arena_str(arena, written);
    if (!words_print(&out, v))
        return (struct str){ NULL, 0 };
    return buf_copy(&out, arena);
}

struct value decl_join(struct arena *arena, const struct value *list, const struct value *more)
{
    const struct value *const parts[] = { list, more };
    struct value_list *joined = value_list_new(arena, 4);

    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        if (parts[i]->kind == VALUE_LIST)
            for (size_t k = 0; k < parts[i]->list->count; k++)
                value_list_push(arena, joined, parts[i]->list->items[k]);
        else if (parts[i]->kind != VALUE_NULL)
            value_list_push(arena, joined, *parts[i]);
    }
    return value_at(value_list(joined), list->kind == VALUE_NULL ? more : list);
}

/* --- arguments -------------------------------------------------------------------- */

/* In one list the later of two equal names wins, but requisites add up. */
static int add_decl_argument(const struct reader *reader, struct value_map *args,
                             const struct value_pair *pair)
{
    struct arena *arena = reader->set->arena;
    const struct value *old;

    if (pair->key.kind != VALUE_STR || pair->key.s.n == 0)
        return value_diag(reader->diags, &pair->key, "state '%s': argument names must be text",
                          reader->id_text);
    if (pair->key.s.p[0] == '-') {
        (void)value_diag(reader->diags, &pair->key, "state '%s': '%s' is not an argument",
                         reader->id_text, pair->key.s.p);
        diag_hint(reader->diags, "missing space after the dash: '- %s'", pair->key.s.p + 1);
        return -1;
    }
    old = value_map_find(args, &pair->key);
    if (old && requisite_form_find(pair->key.s))
        value_map_set(arena, args, pair->key, decl_join(arena, old, &pair->value));
    else
        value_map_set(arena, args, pair->key, pair->value);
    return 0;
}

static int add_decl_arguments(const struct reader *reader, struct value_map *args,
                              const struct value *map)
{
    int result = 0;

    for (size_t i = 0; i < map->map->count; i++)
        if (add_decl_argument(reader, args, &map->map->pairs[i]) < 0)
            result = -1;
    return result;
}

static int refuse_item(const struct reader *reader, const struct value *item, size_t number,
                       const char *module)
{
    (void)value_diag(reader->diags, item, "state '%s': %s: argument %zu: expected map, got %s",
                     reader->id_text, module, number, value_describe(item));
    if (item->kind == VALUE_STR && str_find_char(item->s, ':', 0) != STR_NONE)
        diag_hint(reader->diags, "missing space after the colon");
    else
        diag_hint(reader->diags, "write '- name: value'");
    return -1;
}

/* The arguments of a module: nothing, a list of maps, or a map. Texts in the list, such as the
 * function of the split form, are skipped if `texts` is set. */
static int read_decl_arguments(const struct reader *reader, const char *module,
                               const struct value *body, bool texts, struct value_map **ret)
{
    struct value_map *args = value_map_new(
        reader->set->arena, body->kind == VALUE_LIST ? body->list->count : EXPECTED_ARGUMENTS);
    int result = 0;

    *ret = args;
    if (body->kind == VALUE_NULL)
        return 0;
    if (body->kind == VALUE_MAP)
        return add_decl_arguments(reader, args, body);
    if (body->kind != VALUE_LIST)
        return value_diag(reader->diags, body, "state '%s': %s: expected list, got %s",
                          reader->id_text, module, value_describe(body));
    for (size_t i = 0; i < body->list->count; i++) {
        const struct value *item = &body->list->items[i];

        if (item->kind == VALUE_MAP)
            result |= add_decl_arguments(reader, args, item);
        else if (item->kind != VALUE_STR || !texts)
            result |= refuse_item(reader, item, i + 1, module);
    }
    return result;
}

/* --- merging ------------------------------------------------------------------------ */

static int merge_argument(const struct reader *reader, struct decl *decl,
                          const struct value_pair *pair)
{
    struct arena *arena = reader->set->arena;
    const struct value *old = value_map_find(decl->args, &pair->key);

    if (old && requisite_form_find(pair->key.s)) {
        value_map_set(arena, decl->args, pair->key, decl_join(arena, old, &pair->value));
        return 0;
    }
    if (old && !reader->file->extend && !value_equal(old, &pair->value)) {
        (void)value_diag(reader->diags, &pair->key,
                         "state \"%s\" is declared twice with different values of '%s'", decl->name,
                         pair->key.s.p);
        diag_hint(reader->diags,
                  "use another ID for one of them, or change the value with 'extend'");
        diag_note(reader->diags, value_place(old), "the other value");
        return -1;
    }
    value_map_set(arena, decl->args, pair->key, pair->value);
    return 0;
}

/* In an extend, a name takes the place of names. */
static void drop_names(const struct reader *reader, struct decl *decl, const struct value_map *args)
{
    const struct value name = value_text("name"), names = value_text("names");

    if (reader->file->extend && reader->file->dialect->extends_families &&
        value_map_find(args, &name))
        (void)value_map_remove(decl->args, &names);
}

/* A list is shared by all that only one file declares. */
static void note_decl_file(const struct reader *reader, struct decl *decl)
{
    struct param_strs *all;
    const char **list;

    if (reader->file->extend || !reader->file->files)
        return;
    all = ARENA_NEW(reader->set->arena, struct param_strs);
    list = ARENA_ARRAY(reader->set->arena, const char *, decl->files->n + 1);
    for (size_t i = 0; i < decl->files->n; i++)
        list[i] = decl->files->p[i];
    list[decl->files->n] = reader->file->files->p[0];
    *all = (struct param_strs){ decl->files->n + 1, list };
    decl->files = all;
}

static int merge_decl(const struct reader *reader, struct decl *decl, const struct value_map *args)
{
    int result = 0;

    if (!reader->file->extend && decl->file == reader->file->file) {
        (void)value_diag(reader->diags, reader->id, "dag: duplicate state \"%s\"", decl->name);
        diag_note(reader->diags, value_place(&decl->where), "first here");
        return -1;
    }
    drop_names(reader, decl, args);
    for (size_t i = 0; i < args->count; i++)
        result |= merge_argument(reader, decl, &args->pairs[i]);
    note_decl_file(reader, decl);
    decl->file = reader->file->file;
    return result;
}

static struct decl *new_decl(const struct reader *reader, const struct module *module,
                             const char *name, struct value_map *args)
{
    struct decl_set *set = reader->set;
    struct decl *decl = ARENA_NEW(set->arena, struct decl);
    static const struct param_strs nowhere = { 0 };
    struct decl_ids *ids;
    void **place;

    *decl = (struct decl){
        .name = name,
        .id = reader->id_text,
        .module = module,
        .ref = reader->file->ref,
        .files = reader->file->files ? reader->file->files : &nowhere,
        .dialect = reader->file->dialect,
        .where = *reader->id,
        .args = args,
        .file = reader->file->file,
    };
    VEC_PUSH_IN(set->arena, &set->list, decl);
    place = map_place(&set->ids, str_from(decl->id));
    if (!*place)
        *place = ARENA_NEW(set->arena, struct decl_ids);
    ids = *place;
    VEC_PUSH_IN(set->arena, &ids->list, decl);
    return decl;
}

/* "module:id"; printf would take a tenth of the time of a declaration. */
static const char *join_state_name(struct arena *arena, const char *module, const char *id)
{
    const size_t length = strlen(module), rest = strlen(id);
    char *name = arena_alloc(arena, length + rest + 2);

    memcpy(name, module, length);
    name[length] = ':';
    memcpy(name + length + 1, id, rest);
    name[length + 1 + rest] = '\0';
    return name;
}

static const char *explain_unknown(struct arena *arena, const char *name)
{
    const char *reason = unsupported_reason(str_from(name));

    return reason ? arena_printf(arena, "\"%s\" is not supported: %s", name, reason)
                  : arena_printf(arena, "unknown module \"%s\"", name);
}

/* The state of this ID and family; NULL. */
static struct decl *find_relative(const struct reader *reader, struct str descendants)
{
    const struct decl_ids *ids = map_find(&reader->set->ids, str_from(reader->id_text));

    for (size_t i = 0; ids && i < ids->list.n; i++)
        if (extend_is_of(ids->list.p[i], descendants))
            return ids->list.p[i];
    return NULL;
}

/* The outcome of declaring it with this module. */
static int set_module(const struct reader *reader, struct decl *decl, const struct module *module)
{
    decl->module = module;
    decl->broken = decl_is_broken(module);
    if (decl->broken && decl->dialect->fails_late)
        decl->mistake = explain_unknown(reader->set->arena, module->name);
    return decl->broken ? -1 : 0;
}

/* In an extend of Salt, another function of a family replaces the one that the ID has. */
static struct decl *replace_function(const struct reader *reader, const struct module *module,
                                     const char *name)
{
    const struct str function = str_from(module->name);
    const struct str descendants = str_slice(function, 0, str_find_char(function, '.', 0));
    struct decl *decl = reader->file->extend && reader->file->dialect->extends_families
                            ? find_relative(reader, descendants)
                            : NULL;

    if (!decl)
        return NULL;
    (void)map_remove(&reader->set->names, str_from(decl->name));
    decl->name = name;
    return decl;
}

static int add_decl(const struct reader *reader, const struct module *module,
                    struct value_map *args)
{
    const char *name = join_state_name(reader->set->arena, module->name, reader->id_text);
    struct decl *decl = map_find(&reader->set->names, str_from(name));
    int result;

    if (decl)
        return merge_decl(reader, decl, args);
    decl = replace_function(reader, module, name);
    result = decl ? merge_decl(reader, decl, args) : 0;
    if (!decl)
        decl = new_decl(reader, module, name, args);
    (void)map_set(&reader->set->names, str_from(name), decl);
    return result | set_module(reader, decl, module);
}

/* --- modules ------------------------------------------------------------------------- */

const struct module *decl_module(struct str name, const struct value *where, struct diags *diags)
{
    const struct module *module = module_find(name);
    const struct str descendants = str_slice(name, 0, str_find_char(name, '.', 0));

    if (module && module->apply)
        return module;
    if (module) {
        (void)value_diag(diags, where, "state: \"%s\" is a function, not a state", module->name);
        return NULL;
    }
    if (unsupported_reason(name)) {
        (void)value_diag(diags, where, "state: \"%.*s\" is not supported: %s", STR_ARG(name),
                         unsupported_reason(name));
        return NULL;
    }
    (void)value_diag(diags, where, "state: unknown module \"%.*s\"", STR_ARG(name));
    if (unsupported_twin(name))
        diag_hint(diags, "did you mean '%s'?", unsupported_twin(name)->name);
    else if (module_suggest(name))
        diag_hint(diags, "did you mean '%s'?", module_suggest(name));
    else if (module_has_family(descendants))
        diag_hint(diags, "see 'zester doc %.*s'", STR_ARG(descendants));
    return NULL;
}

static const struct param no_params[] = {
    { 0 },
};

bool decl_is_broken(const struct module *module)
{
    return module->params == no_params;
}

/* The module, or a stand-in for an unknown one, which has been reported. */
static const struct module *find_module_or_stand_in(const struct reader *reader, struct str name,
                                                    const struct value *where)
{
    struct diags *diags = reader->file->dialect->fails_late ? reader->set->late : reader->diags;
    const struct module *module = decl_module(name, where, diags);
    struct module *stand_in;

    if (module)
        return module;
    stand_in = ARENA_NEW(reader->set->arena, struct module);
    stand_in->name = arena_strndup(reader->set->arena, name.p, name.n);
    stand_in->params = no_params;
    return stand_in;
}

/* `file: [managed, ...]`: the one text of the list is the function. */
static int split_function(const struct reader *reader, const struct value *key,
                          const struct value *body, struct str *ret_function)
{
    struct str function = { NULL, 0 };

    if (body->kind == VALUE_STR)
        function = body->s;
    for (size_t i = 0; body->kind == VALUE_LIST && i < body->list->count; i++) {
        const struct value *item = &body->list->items[i];

        if (item->kind != VALUE_STR)
            continue;
        if (function.p)
            return value_diag(reader->diags, item, "state '%s': %s: two functions: '%s' and '%s'",
                              reader->id_text, key->s.p, function.p, item->s.p);
        function = item->s;
    }
    *ret_function = function;
    return 0;
}

/* In an extend, `service: [...]` without a function refers to the ID's state of that family. */
static int extend_family(const struct reader *reader, const struct value *key,
                         struct value_map *args)
{
    const struct decl_ids *ids = map_find(&reader->set->ids, str_from(reader->id_text));
    int result = 0;
    bool found = false;

    for (size_t i = 0; ids && i < ids->list.n; i++) {
        if (!extend_is_of(ids->list.p[i], key->s))
            continue;
        found = true;
        result |= merge_decl(reader, ids->list.p[i], args);
    }
    if (!found)
        return value_diag(reader->diags, key, "compiler: extend: state \"%s\" has no '%s'",
                          reader->id_text, key->s.p);
    return result;
}

static int read_split(const struct reader *reader, const struct value *key,
                      const struct value *body)
{
    const struct module *module;
    struct value_map *args;
    struct str function = { NULL, 0 };
    const char *name;

    if (split_function(reader, key, body, &function) < 0)
        return -1;
    if (!function.p && reader->file->extend && body->kind != VALUE_NULL) {
        if (read_decl_arguments(reader, key->s.p, body, true, &args) < 0)
            return -1;
        return extend_family(reader, key, args);
    }
    if (!function.p) {
        (void)value_diag(reader->diags, key, "state '%s': '%s' is not a module", reader->id_text,
                         key->s.p);
        diag_hint(reader->diags, "write 'module.function:', such as 'file.managed:'");
        return -1;
    }
    name = arena_printf(reader->set->arena, "%s.%.*s", key->s.p, STR_ARG(function));
    module = find_module_or_stand_in(reader, str_from(name), key);
    if (body->kind == VALUE_STR)
        args = value_map_new(reader->set->arena, 0);
    else if (read_decl_arguments(reader, name, body, true, &args) < 0)
        return -1;
    return add_decl(reader, module, args);
}

static int read_module(const struct reader *reader, const struct value *key,
                       const struct value *body)
{
    const struct module *module;
    struct value_map *args;

    if (key->kind != VALUE_STR)
        return value_diag(reader->diags, key, "state '%s': module names must be text",
                          reader->id_text);
    if (str_find_char(key->s, '.', 0) == STR_NONE)
        return read_split(reader, key, body);
    module = find_module_or_stand_in(reader, key->s, key);
    if (read_decl_arguments(reader, module->name, body, false, &args) < 0)
        return -1;
    return add_decl(reader, module, args);
}

/* --- bodies ---------------------------------------------------------------------------- */

/* Is it `file.managed`, not `file` with the function in its list? */
static bool is_dotted_key(const struct value *key)
{
    return key->kind == VALUE_STR && str_find_char(key->s, '.', 0) != STR_NONE;
}

/* In written order Salt has those in the split form first. */
static int read_modules(const struct reader *reader, const struct value *map)
{
    const bool split_first = reader->file->dialect->written_order;
    int result = 0;

    for (size_t i = 0; split_first && i < map->map->count; i++)
        if (!is_dotted_key(&map->map->pairs[i].key))
            result |= read_module(reader, &map->map->pairs[i].key, &map->map->pairs[i].value);
    for (size_t i = 0; i < map->map->count; i++)
        if (!split_first || is_dotted_key(&map->map->pairs[i].key))
            result |= read_module(reader, &map->map->pairs[i].key, &map->map->pairs[i].value);
    return result;
}

static int read_short_decl(const struct reader *reader, const struct value *module_name)
{
    const struct value nothing = value_null();

    if (str_find_char(module_name->s, '.', 0) == STR_NONE) {
        (void)value_diag(reader->diags, module_name, "state '%s': '%s' is not a module",
                         reader->id_text, module_name->s.p);
        diag_hint(reader->diags, "write 'module.function', such as 'pkg.installed'");
        return -1;
    }
    return read_module(reader, module_name, &nothing);
}

static int read_decl_body(const struct reader *reader, const struct value *body)
{
    int result = 0;

    if (body->kind == VALUE_MAP)
        return read_modules(reader, body);
    if (body->kind == VALUE_STR)
        return read_short_decl(reader, body);
    if (body->kind != VALUE_LIST) {
        (void)value_diag(reader->diags, body->kind == VALUE_NULL ? reader->id : body,
                         "state '%s': expected map, got %s", reader->id_text, value_describe(body));
        return -1;
    }
    for (size_t i = 0; i < body->list->count; i++) {
        const struct value *item = &body->list->items[i];

        if (item->kind == VALUE_STR)
            result |= read_short_decl(reader, item);
        else if (item->kind == VALUE_MAP)
            result |= read_modules(reader, item);
        else
            result |= value_diag(reader->diags, item, "state '%s': expected a module, got %s",
                                 reader->id_text, value_describe(item));
    }
    return result;
}

static int open_decl_reader(struct reader *reader)
{
    const struct str text = decl_text(reader->set->arena, reader->id);

    if (!text.p || text.n == 0)
        return value_diag(reader->diags, reader->id, "a state ID must be text, not %s",
                          text.p ? "an empty one" : value_describe(reader->id));
    if (memchr(text.p, '\0', text.n) || output_has_mark(reader->id))
        return value_diag(reader->diags, reader->id,
                          "a state ID must be known before anything runs");
    reader->id_text = text.p;
    return 0;
}

static int report_missing_module(const struct reader *reader)
{
    struct suggest best;

    (void)value_diag(reader->diags, reader->id,
                     "compiler: extend: state \"%s\" not found in included files", reader->id_text);
    suggest_init(&best, str_from(reader->id_text));
    MAP_EACH (&reader->set->ids, entry)
        suggest_offer(&best, entry->key);
    if (suggest_best(&best).p)
        diag_hint(reader->diags, "did you mean '%.*s'?", STR_ARG(suggest_best(&best)));
    else
        diag_hint(reader->diags, "include the file that declares it");
    return -1;
}

/* In Salt, an ID is of one file, whatever its modules are. */
static int check_unique(const struct reader *reader)
{
    const struct decl_ids *ids = map_find(&reader->set->ids, str_from(reader->id_text));

    if (reader->file->extend || !reader->file->dialect->unique_ids)
        return 0;
    for (size_t i = 0; ids && i < ids->list.n; i++) {
        const struct decl *other = ids->list.p[i];

        if (other->file == reader->file->file || !other->dialect->unique_ids)
            continue;
        (void)value_diag(reader->diags, reader->id,
                         "conflicting IDs: '%s' is declared in '%s' and in '%s'", reader->id_text,
                         other->ref, reader->file->ref);
        diag_hint(reader->diags,
                  "use another ID in one of them, or change the state with 'extend'");
        diag_note(reader->diags, value_place(&other->where), "the other one");
        return -1;
    }
    return 0;
}

int decl_read(struct decl_set *set, const struct decl_file *file, const struct value *id,
              const struct value *body, struct diags *diags)
{
    struct reader reader = { .set = set, .file = file, .id = id, .diags = diags };
    const char *named;

    if (open_decl_reader(&reader) < 0 || check_unique(&reader) < 0)
        return -1;
    if (!file->extend || map_has(&set->ids, str_from(reader.id_text)))
        return read_decl_body(&reader, body);
    named =
        file->dialect->extends_families ? extend_find(set, str_from(reader.id_text), body) : NULL;
    if (!named)
        return report_missing_module(&reader);
    reader.id_text = named;
    return read_decl_body(&reader, body);
}

int decl_add(struct decl_set *set, const struct decl_file *file, const struct value *id,
             const struct module *module, const struct value *args, struct diags *diags)
{
    struct reader reader = { .set = set, .file = file, .id = id, .diags = diags };
    struct value_map *map;

    if (open_decl_reader(&reader) < 0 ||
        read_decl_arguments(&reader, module->name, args, false, &map) < 0)
        return -1;
    return add_decl(&reader, module, map);
}
