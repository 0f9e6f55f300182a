#include "commands/migrate/salt_reactor.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "core/data/yaml_print.h"
#include "commands/migrate/salt_reaction.h"
#include "commands/migrate/salt_tag.h"
#include "commands/migrate/salt_template.h"

#define TEXT_MAX ((size_t)4 << 20)
#define SUFFIX   ".zy"
#define ENROLL   "_master/enroll/"

/* The name of a file as part of a reference: its last part without a suffix. */
static const char *make_stem(struct arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *stem = arena_strdup(arena, slash ? slash + 1 : path);
    char *dot = strrchr(stem, '.');

    if (dot && dot > stem)
        *dot = '\0';
    for (char *c = stem; *c; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
              *c == '-' || *c == '_'))
            *c = '_';
    return stem;
}

static bool is_file_name_taken(const struct salt_reactor *reactor, const char *path)
{
    VEC_EACH (&reactor->files, file)
        if (strcmp(file->path, path) == 0)
            return true;
    return strcmp(path, "top" SUFFIX) == 0;
}

static const char *choose_stem(const struct salt_reactor *reactor, const char *name)
{
    const char *stem = make_stem(reactor->arena, name), *free_stem = stem;

    for (unsigned i = 2;
         is_file_name_taken(reactor, arena_printf(reactor->arena, "%s" SUFFIX, free_stem)); i++)
        free_stem = arena_printf(reactor->arena, "%s_%u", stem, i);
    return free_stem;
}

static const char *find_done(const struct salt_reactor *reactor, const char *name, const char *id)
{
    VEC_EACH (&reactor->done, done)
        if (strcmp(done->name, name) == 0 && strcmp(done->id, id) == 0)
            return done->ref;
    return NULL;
}

static void print_reaction(struct salt_reactor *reactor, const struct salt_tag *tag,
                           const struct salt_reactor_source *source, struct buf *out)
{
    struct salt_template tmpl = { .arena = reactor->arena,
                                  .file = source->name,
                                  .id = tag->id,
                                  .enrolls = strncmp(tag->key, ENROLL, strlen(ENROLL)) == 0,
                                  .remarks = reactor->remarks };
    size_t head;

    buf_printf(out, "# From %s\n", source->name);
    head = out->n;
    salt_reaction_convert(&tmpl, source->text, out);
    if (out->n == head)
        buf_add_text(out, "# Nothing could be converted.\n");
}

/* One file; the reference to it. */
static const char *convert_reactor_file(struct salt_reactor *reactor, const struct salt_tag *tag,
                                        const struct salt_reactor_source *source)
{
    const char *done = find_done(reactor, source->name, tag->id), *stem, *ref;
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);

    if (done)
        return done;
    stem = choose_stem(reactor, source->name);
    ref = arena_printf(reactor->arena, "reactor.%s", stem);
    print_reaction(reactor, tag, source, &out);
    VEC_PUSH_IN(reactor->arena, &reactor->files,
                (struct salt_reactor_file){ arena_printf(reactor->arena, "%s" SUFFIX, stem),
                                            buf_copy(&out, reactor->arena) });
    VEC_PUSH_IN(reactor->arena, &reactor->done,
                (struct salt_reactor_done){ source->name, tag->id, ref });
    return ref;
}

static void convert_refs(struct salt_reactor *reactor, const struct salt_tag *tag,
                         const struct value *refs, struct value_list *ret)
{
    for (size_t i = 0; i < refs->list->count; i++) {
        const struct value *ref = &refs->list->items[i];
        struct salt_reactor_sources sources = { 0 };

        if (ref->kind != VALUE_STR) {
            (void)value_diag(reactor->remarks, ref, "expected a file, got %s", value_describe(ref));
            continue;
        }
        reactor->fetch(reactor->self, ref, ref->s.p, &sources);
        VEC_EACH (&sources.list, source)
            value_list_push(reactor->arena, ret,
                            value_text(convert_reactor_file(reactor, tag, source)));
    }
}

static void convert_entry(struct salt_reactor *reactor, const struct value_pair *pair,
                          struct value_list *top)
{
    struct value_list *refs = value_list_new(reactor->arena, 4);
    struct value_map *entry = value_map_new(reactor->arena, 1);
    struct value given = pair->value;
    struct salt_tag tag;

    if (pair->key.kind != VALUE_STR) {
        (void)value_diag(reactor->remarks, &pair->key, "expected a tag");
        return;
    }
    if (given.kind == VALUE_STR) {
        given = value_list(value_list_new(reactor->arena, 1));
        value_list_push(reactor->arena, given.list, pair->value);
    }
    if (given.kind != VALUE_LIST) {
        (void)value_diag(reactor->remarks, &pair->value, "expected a list of files, got %s",
                         value_describe(&pair->value));
        return;
    }
    tag = salt_tag_read(reactor->arena, pair->key.s);
    if (tag.remark)
        (void)value_diag(reactor->remarks, &pair->key, "'%s': %s", pair->key.s.p, tag.remark);
    if (!tag.key)
        return;
    convert_refs(reactor, &tag, &given, refs);
    if (refs->count == 0)
        return;
    value_map_set(reactor->arena, entry, value_text(tag.key), value_list(refs));
    value_list_push(reactor->arena, top, value_map(entry));
}

void salt_reactor_convert(struct salt_reactor *reactor, const struct value *list)
{
    struct value_list *top = value_list_new(reactor->arena, 8);
    struct value_map *whole = value_map_new(reactor->arena, 1);
    const struct value result = value_map(whole);
    AUTO_BUF struct buf out = BUF_INIT(TEXT_MAX);
    struct err err;

    for (size_t i = 0; i < list->list->count; i++) {
        const struct value *entry = &list->list->items[i];

        if (entry->kind != VALUE_MAP) {
            (void)value_diag(reactor->remarks, entry, "expected a tag and a list of files");
            continue;
        }
        for (size_t n = 0; n < entry->map->count; n++)
            convert_entry(reactor, &entry->map->pairs[n], top);
    }
    value_map_set(reactor->arena, whole, value_text("reactor"), value_list(top));
    if (yaml_print(&out, &result, &err) < 0)
        (void)diag_err(reactor->remarks, (struct place){ 0 }, &err);
    VEC_PUSH_IN(reactor->arena, &reactor->files,
                (struct salt_reactor_file){ "top" SUFFIX, buf_copy(&out, reactor->arena) });
}
