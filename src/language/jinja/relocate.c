#include "language/jinja/relocate.h"

#include <string.h>

#include "core/base/diag.h"
#include "core/base/utf8.h"
#include "core/data/value.h"
#include "language/jinja/trace.h"

#define COLUMN_MAX 65535
/* As deep as a document may be; an alias cannot lead deeper. */
#define DEPTH_MAX 1000

struct line_map {
    struct arena *arena;
    struct str rendered;
    const struct trace *trace;
    VEC(size_t) lines; /* the start of each line of the rendered text */
    VEC(struct value_source *) sources;
};

static void find_rendered_lines(struct line_map *map)
{
    VEC_PUSH_IN(map->arena, &map->lines, 0);
    for (size_t at = 0; (at = str_find_char(map->rendered, '\n', at)) != STR_NONE; at++)
        VEC_PUSH_IN(map->arena, &map->lines, at + 1);
}

static bool find_template_origin(const struct line_map *map, uint32_t line, uint32_t column,
                                 struct place *place, struct str *text)
{
    struct str rest;
    size_t start;

    if (line == 0 || line > map->lines.n)
        return false;
    start = map->lines.p[line - 1];
    rest = str_line_at(map->rendered, start);
    return trace_find(map->trace, start + utf8_offset(rest, column > 0 ? column - 1 : 0), place,
                      text);
}

/* One source for each file and tag, shared by its values. `was` is the source in the rendered text;
 * NULL: none. */
static const struct value_source *get_relocated_source(struct line_map *map, const char *file,
                                                       struct str text,
                                                       const struct value_source *was)
{
    const char *tag = was ? was->tag : NULL;
    struct value_source *made;

    VEC_EACH (&map->sources, known)
        if (strcmp((*known)->file, file) == 0 &&
            (tag ? (*known)->tag && strcmp((*known)->tag, tag) == 0 : !(*known)->tag))
            return *known;
    made = ARENA_NEW(map->arena, struct value_source);
    made->file = arena_strdup(map->arena, file);
    made->text = arena_str(map->arena, text);
    made->tag = tag;
    made->salt = was && was->salt;
    VEC_PUSH_IN(map->arena, &map->sources, made);
    return made;
}

static void move_value(struct line_map *map, struct value *v)
{
    struct place place;
    struct str text;

    if (!find_template_origin(map, v->line, v->column, &place, &text))
        return;
    v->source = get_relocated_source(map, place.file, text, v->source);
    v->line = place.line;
    v->column = (uint16_t)(place.column < COLUMN_MAX ? place.column : COLUMN_MAX);
}

/* An alias shares its tree with the anchor: do not move it twice. */
static bool has_moved(const struct line_map *map, const struct value *v)
{
    VEC_EACH (&map->sources, known)
        if (v->source == *known)
            return true;
    return false;
}

static void move_tree(struct line_map *map, struct value *v, unsigned depth)
{
    if (depth > DEPTH_MAX || has_moved(map, v))
        return;
    move_value(map, v);
    if (v->kind == VALUE_LIST)
        for (size_t i = 0; i < v->list->count; i++)
            move_tree(map, &v->list->items[i], depth + 1);
    if (v->kind == VALUE_MAP)
        for (size_t i = 0; i < v->map->count; i++) {
            move_tree(map, &v->map->pairs[i].key, depth + 1);
            move_tree(map, &v->map->pairs[i].value, depth + 1);
        }
}

static bool is_same_place(struct place a, struct place b)
{
    return a.line == b.line && a.column == b.column && a.file && b.file &&
           strcmp(a.file, b.file) == 0;
}

/* Output of a loop has one place: a note that points to it again is useless. */
static void explain_loop(struct diag *diag)
{
    if (diag->notes.n != 1 || diag->hint || !is_same_place(diag->at, diag->notes.p[0].at))
        return;
    diag->notes.n = 0;
    diag->hint =
        "the template writes this more than once: in a loop, something in it has to differ";
}

/* A loop repeats a mistake at one place. */
static bool is_relocated_twice(const struct diags *diags, size_t first, const struct diag *diag)
{
    for (size_t i = first; &diags->list.p[i] != diag; i++)
        if (is_same_place(diags->list.p[i].at, diag->at) &&
            strcmp(diags->list.p[i].text, diag->text) == 0)
            return true;
    return false;
}

/* Only drop mistakes that became equal by moving: each place keeps the first. */
static void drop_repeated_diags(struct diags *diags, size_t first)
{
    size_t kept = first;

    for (size_t i = first; i < diags->list.n; i++) {
        diags->list.p[kept] = diags->list.p[i];
        if (is_relocated_twice(diags, first, &diags->list.p[kept]))
            diags->repeated++;
        else
            kept++;
    }
    diags->list.n = kept;
}

static void move_diag(struct line_map *map, struct diag *diag)
{
    struct place place;
    struct str text;

    VEC_EACH (&diag->notes, note)
        if (find_template_origin(map, note->at.line, note->at.column, &place, &text))
            note->at =
                (struct place){ arena_strdup(map->arena, place.file), place.line, place.column };
    if (!find_template_origin(map, diag->at.line, diag->at.column, &place, &text))
        return;
    place.file = arena_strdup(map->arena, place.file);
    diag->at = place;
    if (place.line > 0)
        diag->source = diag_line(map->arena, text, place.line);
    explain_loop(diag);
}

void relocate(struct arena *arena, struct str rendered, const struct trace *trace,
              struct value *tree, struct diags *diags, size_t first)
{
    struct line_map map = { .arena = arena, .rendered = rendered, .trace = trace };

    find_rendered_lines(&map);
    if (tree)
        move_tree(&map, tree, 0);
    for (size_t i = first; i < diags->list.n; i++)
        move_diag(&map, &diags->list.p[i]);
    drop_repeated_diags(diags, first);
}
