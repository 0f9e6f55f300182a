#include "states/compile/load.h"

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/glob.h"
#include "core/base/suggest.h"
#include "core/data/secret_tag.h"
#include "core/data/shebang.h"
#include "core/data/yaml.h"
#include "language/jinja/jinja.h"
#include "language/jinja/trace.h"
#include "states/compile/compile.h"
#include "states/compile/dialect.h"
#include "states/state/host.h"
#include "states/state/secrets.h"
#include "language/jinja/relocate.h"
#include "states/compile/renderer.h"
#include "states/compile/tree.h"

void load_init(struct load *load, struct arena *arena, struct state_host *host,
               struct renderer *renderer, struct diags *late, struct diags *diags)
{
    *load = (struct load){
        .arena = arena,
        .host = host,
        .renderer = renderer,
        .diags = diags,
        .files = MAP_INIT_IN(arena),
        .refs = MAP_INIT_IN(arena),
    };
    decl_set_init(&load->decls, arena, late);
}

/* --- one file ------------------------------------------------------------------------ */

static int read_sls_text(struct load *load, const char *path, struct str *ret)
{
    const struct place at = { .file = path };
    struct err err;

    if (tree_read(load->host->tree, load->arena, path, ret, &err) < 0 ||
        (!ret->p && err_set(&err, ERR_NOT_FOUND, "no such file") < 0))
        return diag_add(load->diags, at, "compiler: read %s: %s", path, err.text);
    return 0;
}

/* Files without template syntax are parsed in place. */
static int parse_plain(struct load *load, const char *path, struct str text, struct value *ret)
{
    /* the contents of a file may be most of it */
    const struct yaml_options options = { .dialect = yaml_dialect_of(path),
                                          .scalar_max = YAML_SIZE_MAX,
                                          .tags = secret_tag_only,
                                          .lasting = true };

    return yaml_parse(load->arena, path, text, &options, ret, load->diags);
}

/* From here on the !secret values of the file are masked. */
static void hide_document_secrets(struct load *load, struct value *doc)
{
    if (!secret_tag_mark(load->arena, doc))
        return;
    secrets_add_marked(load->host->secrets, doc);
    VEC_PUSH_IN(load->arena, &load->marked.list, doc);
}

static int render_and_parse(struct load *load, const char *ref, const char *path, struct str text,
                            struct value *ret)
{
    AUTO_ARENA struct arena scratch = ARENA_INIT;
    AUTO_BUF struct buf out = BUF_INIT(LOAD_RENDERED_MAX);
    const struct yaml_options options = { .dialect = yaml_dialect_of(path),
                                          .scalar_max = YAML_SIZE_MAX,
                                          .tags = secret_tag_only };
    struct trace trace = TRACE_INIT(&scratch);
    size_t before = load->diags->list.n;
    bool is_template;
    int result;

    if (shebang_read(path, text, &is_template, load->diags) < 0)
        return -1;
    if (!is_template || (text.n <= LOAD_RENDERED_MAX && jinja_is_plain(text)))
        return parse_plain(load, path, text, ret);
    if (renderer_run_state(load->renderer, ref, path, text, &out, &trace, load->diags) < 0)
        return -1;
    if (out.full)
        return diag_add(load->diags, (struct place){ .file = path },
                        "compiler: render %s: the result is over %zu bytes", path,
                        LOAD_RENDERED_MAX);
    result = yaml_parse(load->arena, path, buf_view(&out), &options, ret, load->diags);
    if (!str_eq(text, buf_view(&out)))
        relocate(load->arena, buf_view(&out), &trace, result < 0 ? NULL : ret, load->diags, before);
    return result;
}

static int read_rendered(struct load *load, const char *ref, const char *path, struct str text,
                         struct value *ret)
{
    if (render_and_parse(load, ref, path, text, ret) < 0)
        return -1;
    hide_document_secrets(load, ret);
    return 0;
}

int load_document(struct load *load, const char *ref, const char *path, struct value *ret)
{
    struct str text;

    return read_sls_text(load, path, &text) < 0 ? -1 : read_rendered(load, ref, path, text, ret);
}

/* --- includes ------------------------------------------------------------------------- */

/* ".x" is relative to the file's folder, "..x" to its parent; an init file counts as its folder. */
static int resolve_sls_ref(struct load *load, const struct load_file *from, struct str ref,
                           const struct value *where, struct str *ret)
{
    struct str base = str_from(from->ref);
    size_t dots = 0;

    while (dots < ref.n && ref.p[dots] == '.')
        dots++;
    *ret = ref;
    if (dots == 0)
        return 0;
    for (size_t up = from->is_init ? 1 : 0; up < dots; up++) {
        size_t last = base.n;

        if (base.n == 0)
            return value_diag(load->diags, where,
                              "compiler: include '%.*s' leads outside the state tree",
                              STR_ARG(ref));
        while (last > 0 && base.p[last - 1] != '.')
            last--;
        base.n = last > 0 ? last - 1 : 0;
    }
    if (base.n == 0)
        *ret = str_from_offset(ref, dots);
    else if (dots == ref.n)
        *ret = base; /* "." alone is the folder itself */
    else
        *ret = str_from(arena_printf(load->arena, "%.*s.%.*s", STR_ARG(base),
                                     STR_ARG(str_from_offset(ref, dots))));
    return 0;
}

static bool is_on_stack(const struct load *load, const struct load_file *file)
{
    VEC_EACH (&load->stack, item)
        if (*item == file)
            return true;
    return false;
}

/* All files that match a pattern, except those being read: a file may include its own folder. */
static int include_matching(struct load *load, struct str pattern, const struct value *where)
{
    struct tree_names refs;
    int result = 0;

    if (load_match(load, pattern, where, &refs) < 0)
        return -1;
    VEC_EACH (&refs.list, ref) {
        const struct load_file *file = map_find(&load->refs, str_from(*ref));

        if (!file || !is_on_stack(load, file))
            result |= load_ref(load, str_from(*ref), where);
    }
    return result;
}

/* An item: a reference, or Salt's {environment: reference}. */
static int read_sls_include(struct load *load, const struct load_file *from,
                            const struct value *item)
{
    const struct value *text = item;
    struct str ref;

    if (item->kind == VALUE_MAP && item->map->count == 1)
        text = &item->map->pairs[0].value;
    if (text->kind != VALUE_STR || text->s.n == 0)
        return value_diag(load->diags, item,
                          "compiler: include must be a list of references, not %s",
                          value_describe(item));
    if (resolve_sls_ref(load, from, text->s, text, &ref) < 0)
        return -1;
    return glob_is_plain(ref) ? load_ref(load, ref, text) : include_matching(load, ref, text);
}

static int read_sls_includes(struct load *load, const struct load_file *from, const struct value *v)
{
    int result = 0;

    if (v->kind == VALUE_NULL)
        return 0;
    if (v->kind != VALUE_LIST)
        return read_sls_include(load, from, v);
    for (size_t i = 0; i < v->list->count; i++)
        result |= read_sls_include(load, from, &v->list->items[i]);
    return result;
}

/* --- the keys of a file ---------------------------------------------------------------- */

static int keep_extends(struct load *load, const struct load_file *file, const struct value *v)
{
    if (v->kind == VALUE_NULL)
        return 0;
    if (v->kind != VALUE_MAP)
        return value_diag(load->diags, v, "compiler: extend must be a map of states, not %s",
                          value_describe(v));
    for (size_t i = 0; i < v->map->count; i++)
        VEC_PUSH_IN(load->arena, &load->extends,
                    (struct load_extend){ file, &v->map->pairs[i].key, &v->map->pairs[i].value });
    return 0;
}

static int keep_excludes(struct load *load, const struct load_file *file, const struct value *v)
{
    if (v->kind == VALUE_NULL)
        return 0;
    if (v->kind != VALUE_LIST) {
        VEC_PUSH_IN(load->arena, &load->excludes, (struct load_exclude){ file, v });
        return 0;
    }
    for (size_t i = 0; i < v->list->count; i++)
        VEC_PUSH_IN(load->arena, &load->excludes,
                    (struct load_exclude){ file, &v->list->items[i] });
    return 0;
}

void load_exclude(struct load *load, const struct value *v)
{
    static const struct load_file nobody = { .ref = "", .path = "", .dialect = &dialect_zy };

    (void)keep_excludes(load, &nobody, v);
}

typedef int section_fn(struct load *load, const struct load_file *file, const struct value *v);

/* Top-level keys that are not IDs. */
static const struct {
    const char *key;
    section_fn *read;
} sections[] = {
    { "include", read_sls_includes },
    { "extend", keep_extends },
    { "exclude", keep_excludes },
};

static section_fn *find_sls_section(const struct value *key)
{
    for (size_t i = 0; key->kind == VALUE_STR && i < ARRAY_LEN(sections); i++)
        if (str_is(key->s, sections[i].key))
            return sections[i].read;
    return NULL;
}

/* In written order; included files are already numbered. */
static void number_decls(struct load *load, size_t first, size_t last)
{
    for (size_t i = first; i < last; i++)
        load->decls.list.p[i]->sequence = load->numbered++;
}

static int read_sls_document(struct load *load, const struct load_file *file,
                             const struct value *doc)
{
    const struct decl_file by = {
        .file = file, .ref = file->ref, .files = &file->files, .dialect = file->dialect
    };
    const size_t first = load->decls.list.n;
    size_t last;
    int result = 0;

    if (doc->kind == VALUE_NULL)
        return 0;
    if (doc->kind != VALUE_MAP)
        return value_diag(load->diags, doc, "compiler: parse %s: expected a map of states, got %s",
                          file->path, value_describe(doc));
    decl_set_expect(&load->decls, doc->map->count);
    /* The file first, then its includes, so that mistakes are in reading order. */
    for (size_t i = 0; i < doc->map->count; i++) {
        const struct value_pair *pair = &doc->map->pairs[i];

        if (!find_sls_section(&pair->key))
            result |= decl_read(&load->decls, &by, &pair->key, &pair->value, load->diags);
    }
    last = load->decls.list.n;
    if (last > COMPILE_STATES_MAX)
        return value_diag(load->diags, doc, "more than %d states in one run", COMPILE_STATES_MAX);
    for (size_t i = 0; i < doc->map->count; i++) {
        const struct value_pair *pair = &doc->map->pairs[i];
        section_fn *read = find_sls_section(&pair->key);

        if (read)
            result |= read(load, file, &pair->value);
    }
    number_decls(load, first, last);
    return result;
}

/* --- references ------------------------------------------------------------------------- */

/* At the reference, or without a place if it came from the command line. */
static int refuse_sls_ref(struct load *load, const struct value *where, const char *text)
{
    load->broken = true;
    if (where)
        return value_diag(load->diags, where, "%s", text);
    return diag_add(load->diags, (struct place){ 0 }, "%s", text);
}

/* Where the file would be. */
static void hint_paths(struct load *load, struct str ref)
{
    const char *root = tree_root(load->host->tree);
    char *path = arena_strndup(load->arena, ref.p, ref.n);

    for (char *p = path; *p; p++)
        if (*p == '.')
            *p = '/';
    diag_hint(load->diags, "expected %s.zy, %s/init.zy, %s.sls or %s/init.sls%s%s", path, path,
              path, path, root ? " in " : "", root ? root : "");
}

static int refuse_missing_sls(struct load *load, struct str ref, const struct value *where)
{
    const char *near = tree_suggest(load->host->tree, load->arena, ref);

    (void)refuse_sls_ref(
        load, where, arena_printf(load->arena, "compiler: no state file for '%.*s'", STR_ARG(ref)));
    if (near)
        diag_hint(load->diags, "did you mean '%s'?", near);
    else if (glob_is_plain(ref))
        hint_paths(load, ref);
    return -1;
}

static int refuse_cycle(struct load *load, const struct load_file *file, const struct value *where)
{
    AUTO_BUF struct buf members = BUF_INIT(BUF_NO_LIMIT);
    bool inside = false;

    VEC_EACH (&load->stack, item) {
        inside = inside || *item == file;
        if (inside)
            buf_printf(&members, "%s ", (*item)->ref);
    }
    return refuse_sls_ref(load, where,
                          arena_printf(load->arena, "compiler: include cycle detected: [%s%s]",
                                       buf_text(&members), file->ref));
}

static struct load_file *new_file(struct load *load, struct str ref, const char *path)
{
    struct load_file *file = ARENA_NEW(load->arena, struct load_file);
    const char **files = ARENA_ARRAY(load->arena, const char *, 1);
    const struct str whole = str_from(path);

    file->ref = arena_strndup(load->arena, ref.p, ref.n);
    file->path = path;
    files[0] = tree_ref(load->arena, path);
    file->files = (struct param_strs){ 1, files };
    file->dialect = dialect_of(path);
    file->includer = load->stack.n > 0 ? load->stack.p[load->stack.n - 1] : NULL;
    file->is_init = (str_ends(whole, STR("/init.zy")) || str_ends(whole, STR("/init.sls"))) &&
                    !str_ends(ref, STR(".init"));
    (void)map_set(&load->files, whole, file);
    (void)map_set(&load->refs, str_from(file->ref), file);
    return file;
}

/* `is_whole`: `doc` could be read. */
static int read_loaded(struct load *load, struct load_file *file, struct value *doc, bool is_whole)
{
    int result;

    if (!is_whole) {
        load->broken = true;
        return -1;
    }
    VEC_PUSH_IN(load->arena, &load->stack, file);
    result = read_sls_document(load, file, doc);
    load->stack.n--;
    return result;
}

static int read_sls_file(struct load *load, struct load_file *file, const struct value *where)
{
    struct value *doc = ARENA_NEW(load->arena, struct value);

    if (load->stack.n >= LOAD_DEPTH_MAX)
        return refuse_sls_ref(load, where,
                              arena_printf(load->arena,
                                           "compiler: includes exceed the limit of %d levels",
                                           LOAD_DEPTH_MAX));
    if (map_count(&load->files) > COMPILE_FILES_MAX)
        return refuse_sls_ref(
            load, where,
            arena_printf(load->arena, "compiler: more than %d files", COMPILE_FILES_MAX));
    return read_loaded(load, file, doc, load_document(load, file->ref, file->path, doc) == 0);
}

int load_text(struct load *load, const char *name, struct str text)
{
    const char *path = arena_printf(load->arena, "%s.sls", name);
    struct load_file *file = new_file(load, str_from(name), path);
    struct value *doc = ARENA_NEW(load->arena, struct value);

    return read_loaded(load, file, doc, read_rendered(load, file->ref, path, text, doc) == 0);
}

int load_match(struct load *load, struct str ref, const struct value *where,
               struct tree_names *ret_refs)
{
    struct tree_names found = { VEC_INIT };
    struct err err;

    if (glob_is_plain(ref))
        VEC_PUSH_IN(load->arena, &found.list, arena_str(load->arena, ref).p);
    else if (tree_match(load->host->tree, load->arena, ref, &found, &err) < 0)
        return refuse_sls_ref(load, where, err.text);
    if (found.list.n == 0)
        return refuse_missing_sls(load, ref, where);
    *ret_refs = found;
    return 0;
}

/* The file that closes the cycle is on top of the stack. */
static bool is_cycle_fine(const struct load *load)
{
    return load->stack.n > 0 && load->stack.p[load->stack.n - 1]->dialect->ignores_cycles;
}

int load_ref(struct load *load, struct str ref, const struct value *where)
{
    struct load_file *file = map_find(&load->refs, ref);
    const char *path;
    struct err err;

    if (!file) {
        if (tree_find(load->host->tree, load->arena, ref, &path, &err) < 0)
            return refuse_sls_ref(load, where, err.text);
        if (!path)
            return refuse_missing_sls(load, ref, where);
        file = map_find(&load->files, str_from(path));
        if (!file)
            return read_sls_file(load, new_file(load, ref, path), where);
        (void)map_set(&load->refs, arena_str(load->arena, ref), file);
    }
    return is_on_stack(load, file) && !is_cycle_fine(load) ? refuse_cycle(load, file, where) : 0;
}

/* --- at the end --------------------------------------------------------------------------- */

static int refuse_exclude(struct load *load, const struct value *item, const char *what,
                          struct str name, const struct map *known)
{
    struct suggest best;

    (void)value_diag(load->diags, item, "compiler: exclude: no %s '%.*s' in this run", what,
                     STR_ARG(name));
    suggest_init(&best, name);
    MAP_EACH (known, entry)
        suggest_offer(&best, entry->key);
    if (suggest_best(&best).p)
        diag_hint(load->diags, "did you mean '%.*s'?", STR_ARG(suggest_best(&best)));
    return -1;
}

static int exclude_file(struct load *load, const struct load_exclude *exclude,
                        const struct value *item, struct str ref)
{
    const struct load_file *file;
    const char *path = NULL;
    struct err ignored;
    size_t found = 0;

    if (resolve_sls_ref(load, exclude->file, ref, item, &ref) < 0)
        return -1;
    file = map_find(&load->refs, ref);
    VEC_EACH (&load->decls.list, decl)
        if (file ? str_is(str_from(file->ref), (*decl)->ref)
                 : glob_match(ref, str_from((*decl)->ref))) {
            (*decl)->excluded = true;
            found++;
        }
    /* A file of the tree that this run does not load is already excluded. */
    if (found > 0 || file || !glob_is_plain(ref) || exclude->file->dialect->ignores_excludes ||
        (tree_find(load->host->tree, load->arena, ref, &path, &ignored) == 0 && path))
        return 0;
    return refuse_exclude(load, item, "file", ref, &load->refs);
}

static int exclude_id(struct load *load, const struct load_exclude *exclude,
                      const struct value *item, struct str id)
{
    const struct decl_ids *ids = map_find(&load->decls.ids, id);
    struct decl *decl = map_find(&load->decls.names, id);

    if (!ids && !decl)
        return exclude->file->dialect->ignores_excludes
                   ? 0
                   : refuse_exclude(load, item, "state", id, &load->decls.ids);
    if (decl)
        decl->excluded = true;
    for (size_t i = 0; ids && i < ids->list.n; i++)
        ids->list.p[i]->excluded = true;
    return 0;
}

/* A plain text is a file, as in Salt. */
static int apply_exclude(struct load *load, const struct load_exclude *exclude)
{
    const struct value *item = exclude->item, *name = item;
    bool is_id = false;

    if (item->kind == VALUE_MAP && item->map->count == 1 &&
        item->map->pairs[0].key.kind == VALUE_STR) {
        const struct str key = item->map->pairs[0].key.s;

        name = &item->map->pairs[0].value;
        is_id = str_is(key, "id");
        if (!is_id && !str_is(key, "sls"))
            name = item;
    }
    const struct str text = decl_text(load->arena, name);
    if (!text.p || text.n == 0)
        return value_diag(load->diags, item,
                          "compiler: exclude must be a reference, 'sls: REF' or 'id: ID'");
    return is_id ? exclude_id(load, exclude, name, text) : exclude_file(load, exclude, name, text);
}

int load_finish(struct load *load)
{
    int result = 0;

    VEC_EACH (&load->extends, extend) {
        const struct decl_file by = { .file = extend->file,
                                      .ref = extend->file->ref,
                                      .dialect = extend->file->dialect,
                                      .extend = true };
        const size_t first = load->decls.list.n;

        result |= decl_read(&load->decls, &by, extend->id, extend->body, load->diags);
        number_decls(load, first, load->decls.list.n);
    }
    VEC_EACH (&load->excludes, exclude)
        result |= apply_exclude(load, exclude);
    return result;
}
