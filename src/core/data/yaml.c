/*
 * Events come from yaml_block, or from libyaml for a text that yaml_block refuses; the
 * tree grows here, by recursion that the depth limit bounds. A function that reads a node starts
 * with its first event in `r->event` and leaves with its last.
 *
 * Two kinds of mistake: one that leaves the rest readable is reported and null
 * replaces the value; any other returns -1 all the way up.
 */
#include "core/data/yaml.h"

#include <assert.h>
#include <string.h>
#include <yaml.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/base/suggest.h"
#include "core/data/scalar.h"
#include "core/data/value.h"
#include "core/data/yaml_block.h"
#include "core/data/yaml_error.h"
#include "core/data/yaml_map.h"
#include "core/data/yaml_tag.h"
#include "core/data/yaml_text.h"

/* Keys and anchors in messages are cut here. */
#define SHOWN_MAX 60
/* Maximum number of known anchors listed for an unknown one. */
#define ANCHORS_SHOWN 5

#define BYTE_ORDER_MARK STR("\xef\xbb\xbf")

struct anchor {
    struct value value;
    size_t nodes;
    uint32_t height;
    bool open; /* not closed yet */
};

struct yaml_node {
    struct value value;
    uint32_t height; /* height of a list or map; 0: a scalar */
};

struct reader {
    struct arena *arena;
    struct yaml_options options; /* limits, none of them 0 */
    struct str text;
    struct value_source *source;
    struct map sources;      /* tag -> struct value_source; the same but for the tag */
    struct map anchors;      /* name -> struct anchor */
    VEC(struct value) items; /* items of the open lists, the innermost last */
    struct diags *diags;
    size_t diags_before;
    size_t nodes; /* so far, including those of aliases */
    uint32_t depth;
    bool odd_breaks;
    bool braces; /* an expression without quotes was found */
    struct yaml_cursor cursor;
    struct yaml_block *block; /* gives the events; NULL: the parser does */
    bool kept;                /* the text of the event is in the arena */
    yaml_parser_t parser;
    yaml_char_t *own_buffer; /* the parser's buffer, while it works in the text */
    yaml_event_t event;
    struct yaml_last last;
};

enum yaml_dialect yaml_dialect_of(const char *path)
{
    return str_ends(str_from(path), STR(".sls")) ? YAML_DIALECT_SALT : YAML_DIALECT_1_1;
}

/* --- events and places -------------------------------------------------------- */

static struct place find_mark_place(struct reader *r, yaml_mark_t mark)
{
    if (!r->odd_breaks)
        return (struct place){ r->source->file, (uint32_t)mark.line + 1,
                               (uint32_t)mark.column + 1 };
    yaml_cursor_move(&r->cursor, r->text, mark.index);
    return (struct place){ r->source->file, r->cursor.line, r->cursor.column };
}

/* `v` with the place of `mark`. */
static struct value place_value(struct reader *r, struct value v, yaml_mark_t mark,
                                const struct value_source *source)
{
    struct place place = find_mark_place(r, mark);

    v.source = source;
    v.line = place.line;
    v.column = place.column < UINT16_MAX ? (uint16_t)place.column : UINT16_MAX;
    return v;
}

/* A mistake at the current event. */
#define COMPLAIN(r, ...)                                                                           \
    do {                                                                                           \
        diag_add((r)->diags, find_mark_place(r, (r)->event.start_mark), __VA_ARGS__);              \
        diag_source((r)->diags, (r)->text);                                                        \
    } while (0)

/* Mistakes that leave the rest readable are reported, up to a limit. */
static bool is_enough(const struct reader *r)
{
    return diags_count(r->diags) - r->diags_before >= DIAGS_MAX;
}

static void keep_last(struct reader *r)
{
    const yaml_event_t *event = &r->event;

    if (event->type != YAML_SCALAR_EVENT)
        return;
    r->last = (struct yaml_last){
        .quoted = event->data.scalar.style == YAML_SINGLE_QUOTED_SCALAR_STYLE ||
                  event->data.scalar.style == YAML_DOUBLE_QUOTED_SCALAR_STYLE,
        .start = event->start_mark.index,
        .end = event->end_mark.index,
    };
}

static int next_event(struct reader *r)
{
    if (r->block)
        return yaml_block_next(r->block, &r->event, &r->kept) ? 0 : -1;
    keep_last(r);
    yaml_event_delete(&r->event);
    if (is_enough(r))
        return -1;
    if (yaml_parser_parse(&r->parser, &r->event))
        return 0;
    if (!r->braces) /* else it is probably a consequence */
        yaml_error_explain(&r->parser, r->source->file, r->text, &r->last, r->diags);
    return -1;
}

static int count_nodes(struct reader *r, size_t more)
{
    if (more <= r->options.nodes_max - r->nodes) {
        r->nodes += more;
        return 0;
    }
    COMPLAIN(r, "too many values (limit %zu, with what aliases stand for)", r->options.nodes_max);
    return -1;
}

static int check_yaml_depth(struct reader *r, uint32_t height)
{
    if (r->depth + height <= r->options.depth_max)
        return 0;
    COMPLAIN(r, "lists and maps are nested too deeply (limit %u)", r->options.depth_max);
    return -1;
}

/* --- anchors and tags ----------------------------------------------------------- */

static struct anchor *open_anchor(struct reader *r, const yaml_char_t *name)
{
    struct anchor *anchor;

    if (!name)
        return NULL;
    anchor = ARENA_NEW(r->arena, struct anchor);
    anchor->open = true;
    map_set(&r->anchors, arena_str(r->arena, str_from((const char *)name)), anchor);
    return anchor;
}

static void close_anchor(struct anchor *anchor, const struct yaml_node *node, size_t nodes)
{
    if (!anchor)
        return;
    anchor->value = node->value;
    anchor->height = node->height;
    anchor->nodes = nodes;
    anchor->open = false;
}

static void hint_anchors(struct reader *r, struct str name)
{
    AUTO_BUF struct buf known = BUF_INIT(BUF_NO_LIMIT);
    struct suggest suggest;
    size_t shown = 0;

    suggest_init(&suggest, name);
    MAP_EACH (&r->anchors, entry) {
        suggest_offer(&suggest, entry->key);
        if (shown++ < ANCHORS_SHOWN)
            buf_printf(&known, "%s'&%.*s'", shown > 1 ? ", " : "",
                       STR_ARG(str_slice(entry->key, 0, SHOWN_MAX)));
    }
    if (suggest_best(&suggest).p)
        diag_hint(r->diags, "did you mean '*%.*s'?", STR_ARG(suggest_best(&suggest)));
    else if (shown > 0)
        diag_hint(r->diags, "anchors before it: %s%s", buf_text(&known),
                  shown > ANCHORS_SHOWN ? ", ..." : "");
    else
        diag_hint(r->diags, "no anchor before it; a text that begins with '*' needs quotes");
}

static int read_alias(struct reader *r, struct yaml_node *ret)
{
    struct str name = str_from((const char *)r->event.data.alias.anchor);
    const struct anchor *anchor = map_find(&r->anchors, name);

    *ret = (struct yaml_node){ place_value(r, value_null(), r->event.start_mark, r->source), 0 };
    if (!anchor) {
        COMPLAIN(r, "no anchor '&%.*s' for this alias", STR_ARG(str_slice(name, 0, SHOWN_MAX)));
        hint_anchors(r, name);
        return 0;
    }
    if (anchor->open) {
        COMPLAIN(r, "alias '*%.*s' is inside of what it stands for",
                 STR_ARG(str_slice(name, 0, SHOWN_MAX)));
        return 0;
    }
    if (check_yaml_depth(r, anchor->height) < 0 || count_nodes(r, anchor->nodes) < 0)
        return -1;
    ret->value = place_value(r, anchor->value, r->event.start_mark, anchor->value.source);
    ret->height = anchor->height;
    return 0;
}

static const struct value_source *tagged_source(struct reader *r, const char *tag)
{
    struct value_source *source = map_find(&r->sources, str_from(tag));

    if (source)
        return source;
    source = ARENA_NEW(r->arena, struct value_source);
    *source = *r->source;
    source->tag = arena_strdup(r->arena, tag);
    map_set(&r->sources, str_from(source->tag), source);
    return source;
}

static bool is_core_tag(const char *tag)
{
    return tag && str_starts(str_from(tag), STR(YAML_TAG_CORE));
}

const char *const yaml_all_tags[] = { NULL };

static bool is_known_tag(const struct reader *r, const char *tag)
{
    for (const char *const *known = r->options.tags; known && *known; known++)
        if (strcmp(tag, *known) == 0)
            return true;
    return r->options.tags == yaml_all_tags;
}

/* An unquoted text that begins with '!' is a tag, a rule that few authors know. */
static void hint_tags(struct reader *r, const char *tag)
{
    AUTO_BUF struct buf names = BUF_INIT(BUF_NO_LIMIT);
    struct suggest near;

    suggest_init(&near, str_from(tag));
    for (const char *const *known = r->options.tags; known && *known; known++) {
        suggest_offer(&near, str_from(*known));
        buf_printf(&names, "%s'%s'", names.n > 0 ? ", " : "", *known);
    }
    if (r->options.tags == yaml_all_tags)
        diag_hint(r->diags, "use a local tag ('!name') or one of the core ('!!str')");
    else if (suggest_best(&near).p)
        diag_hint(r->diags, "did you mean '%.*s'?", STR_ARG(suggest_best(&near)));
    else if (names.n > 0)
        diag_hint(r->diags,
                  "the tags that mean something here: %s; quote a text that begins with '!'",
                  buf_text(&names));
    else
        diag_hint(r->diags, "no tag means anything here; quote a text that begins with '!'");
}

/* The source of a node with `tag`. */
static const struct value_source *make_tagged_source(struct reader *r, const char *tag)
{
    if (!tag || is_core_tag(tag) || tag[1] == '\0')
        return r->source; /* "!" alone means no type */
    if (tag[0] == '!' && is_known_tag(r, tag))
        return tagged_source(r, tag);
    COMPLAIN(r, "unknown tag '%.*s'", STR_ARG(str_slice(str_from(tag), 0, SHOWN_MAX)));
    hint_tags(r, tag);
    return r->source;
}

/* --- scalars -------------------------------------------------------------------- */

static int read_core(struct reader *r, const char *tag, struct str text, struct value *ret)
{
    struct str name = str_from(tag + sizeof(YAML_TAG_CORE) - 1);
    struct err err;

    if (yaml_tag_apply(r->arena, name, text, r->options.dialect, ret, &err) == 0)
        return 0;
    if (err.code == ERR_UNSUPPORTED)
        COMPLAIN(r, "%s", err.text);
    else
        COMPLAIN(r, "tag '!!%.*s': %s", STR_ARG(str_slice(name, 0, SHOWN_MAX)), err.text);
    return -1;
}

static int read_plain_yaml_scalar(struct reader *r, struct str text, struct value *ret)
{
    struct err err;

    if (scalar_parse(text, r->options.dialect, ret, &err) == 0)
        return 0;
    COMPLAIN(r, "%s", err.text);
    diag_hint(r->diags, "quote it to keep it as text");
    return -1;
}

/* The value of the text of the current event. */
static struct value type_scalar(struct reader *r)
{
    const char *tag = (const char *)r->event.data.scalar.tag;
    const bool is_plain = r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    struct str text = { (const char *)r->event.data.scalar.value, r->event.data.scalar.length };
    struct value v = value_null();

    if (is_core_tag(tag)) {
        if (read_core(r, tag, text, &v) < 0)
            return value_null();
    } else if (is_plain && !tag) {
        if (read_plain_yaml_scalar(r, text, &v) < 0)
            return value_null();
    } else {
        v = value_str(text);
    }
    if (v.kind == VALUE_STR) {
        v.s = r->kept ? text : arena_str(r->arena, text);
        v.flags = is_plain ? 0 : VALUE_QUOTED;
    }
    return v;
}

static int read_yaml_scalar(struct reader *r, struct yaml_node *ret)
{
    const size_t length = r->event.data.scalar.length;
    struct anchor *anchor = open_anchor(r, r->event.data.scalar.anchor);
    const struct value_source *source =
        make_tagged_source(r, (const char *)r->event.data.scalar.tag);

    if (length > r->options.scalar_max) {
        COMPLAIN(r, "a text of %zu bytes is too long (limit %zu)", length, r->options.scalar_max);
        return -1;
    }
    if (count_nodes(r, 1) < 0)
        return -1;
    *ret = (struct yaml_node){ place_value(r, type_scalar(r), r->event.start_mark, source), 0 };
    close_anchor(anchor, ret, 1);
    return 0;
}

/* --- lists and maps --------------------------------------------------------------- */

static int read_yaml_node(struct reader *r, struct yaml_node *ret);

/* The common beginning of a list and a map. */
struct opening {
    const struct value_source *source;
    struct anchor *anchor;
    yaml_mark_t mark;
    size_t nodes_before;
};

static int open_collection(struct reader *r, const char *tag, const yaml_char_t *anchor,
                           const char *core_name, struct opening *ret)
{
    *ret = (struct opening){
        .source = make_tagged_source(r, tag),
        .anchor = open_anchor(r, anchor),
        .mark = r->event.start_mark,
        .nodes_before = r->nodes,
    };
    if (is_core_tag(tag) && !str_is(str_from(tag + sizeof(YAML_TAG_CORE) - 1), core_name))
        COMPLAIN(r, "tag '!!%.*s' is not supported for a %s",
                 STR_ARG(str_slice(str_from(tag + sizeof(YAML_TAG_CORE) - 1), 0, SHOWN_MAX)),
                 str_is(str_from(core_name), "seq") ? "list" : "map");
    r->depth++;
    if (check_yaml_depth(r, 0) < 0 || count_nodes(r, 1) < 0)
        return -1;
    return next_event(r);
}

static void close_collection(struct reader *r, const struct opening *opening, struct value v,
                             uint32_t height, struct yaml_node *ret)
{
    *ret = (struct yaml_node){ place_value(r, v, opening->mark, opening->source), height };
    close_anchor(opening->anchor, ret, r->nodes - opening->nodes_before);
    r->depth--;
}

static uint32_t get_greater_height(uint32_t height, const struct yaml_node *child)
{
    return child->height + 1 > height ? child->height + 1 : height;
}

/* The items from `first` on, in a list that is as long as they are. */
static struct value_list *take_items(struct reader *r, size_t first)
{
    struct value_list *list = value_list_new(r->arena, r->items.n - first);

    for (size_t i = first; i < r->items.n; i++)
        value_list_push(r->arena, list, r->items.p[i]);
    r->items.n = first;
    return list;
}

static int read_yaml_list(struct reader *r, struct yaml_node *ret)
{
    const size_t first = r->items.n;
    uint32_t height = 1;
    struct opening opening;
    struct yaml_node item;

    if (open_collection(r, (const char *)r->event.data.sequence_start.tag,
                        r->event.data.sequence_start.anchor, "seq", &opening) < 0)
        return -1;
    while (r->event.type != YAML_SEQUENCE_END_EVENT) {
        if (read_yaml_node(r, &item) < 0 || next_event(r) < 0)
            return -1;
        VEC_PUSH(&r->items, item.value);
        height = get_greater_height(height, &item);
    }
    close_collection(r, &opening, value_list(take_items(r, first)), height, ret);
    return 0;
}

/* A plain `<<`. */
static bool is_merge_key(const yaml_event_t *event)
{
    const char *tag = (const char *)event->data.scalar.tag;

    if (event->type != YAML_SCALAR_EVENT || event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE ||
        event->data.scalar.length != 2)
        return false;
    if (tag && !str_is(str_from(tag), YAML_TAG_CORE "merge"))
        return false;
    return memcmp(event->data.scalar.value, "<<", 2) == 0;
}

/* A list or a map as a key, or an unquoted expression, which looks like one. */
static void complain_key(struct reader *r, yaml_mark_t mark, const struct value *key)
{
    struct yaml_cursor at = YAML_CURSOR_INIT;

    yaml_cursor_move(&at, r->text, mark.index);
    if (yaml_error_explain_braces(r->source->file, r->text, at.offset, r->diags)) {
        r->braces = true;
        return;
    }
    value_diag(r->diags, key, "%s cannot be a key", value_describe(key));
    diag_hint(r->diags, "a key is a text, a number, a boolean, null or a time");
}

static int read_yaml_key(struct reader *r, bool is_merge, struct value *ret)
{
    const size_t before = diags_count(r->diags);
    const yaml_mark_t mark = r->event.start_mark;
    struct yaml_node key;

    if (is_merge) {
        *ret = place_value(r, value_text("<<"), mark, r->source);
        return count_nodes(r, 1);
    }
    if (read_yaml_node(r, &key) < 0)
        return -1;
    if ((key.value.kind == VALUE_LIST || key.value.kind == VALUE_MAP) &&
        diags_count(r->diags) == before)
        complain_key(r, mark, &key.value);
    *ret = key.value;
    return 0;
}

static int read_yaml_pair(struct reader *r, struct yaml_map *map, uint32_t *height)
{
    const bool is_merge = is_merge_key(&r->event);
    size_t mistakes = diags_count(r->diags);
    struct value key;
    struct yaml_node value;

    if (read_yaml_key(r, is_merge, &key) < 0 || next_event(r) < 0)
        return -1;
    if (diags_count(r->diags) > mistakes)
        mistakes = SIZE_MAX; /* a key with a mistake is left out */
    if (read_yaml_node(r, &value) < 0)
        return -1;
    *height = get_greater_height(*height, &value);
    if (is_merge && diags_count(r->diags) == mistakes)
        yaml_map_merge(map, &key, &value.value);
    else if (!is_merge && mistakes != SIZE_MAX)
        yaml_map_add(map, &key, &value.value);
    return next_event(r);
}

static int read_yaml_map(struct reader *r, struct yaml_node *ret)
{
    struct yaml_map map;
    uint32_t height = 1;
    struct opening opening;

    if (open_collection(r, (const char *)r->event.data.mapping_start.tag,
                        r->event.data.mapping_start.anchor, "map", &opening) < 0)
        return -1;
    yaml_map_init(&map, r->arena, r->diags);
    map.own->ordered = !r->options.unordered;
    while (r->event.type != YAML_MAPPING_END_EVENT)
        if (read_yaml_pair(r, &map, &height) < 0)
            return -1;
    close_collection(r, &opening, value_map(yaml_map_finish(&map)), height, ret);
    return 0;
}

static int read_yaml_node(struct reader *r, struct yaml_node *ret)
{
    switch (r->event.type) {
    case YAML_ALIAS_EVENT: return read_alias(r, ret);
    case YAML_SCALAR_EVENT: return read_yaml_scalar(r, ret);
    case YAML_SEQUENCE_START_EVENT: return read_yaml_list(r, ret);
    default: assert(r->event.type == YAML_MAPPING_START_EVENT); return read_yaml_map(r, ret);
    }
}

/* --- documents -------------------------------------------------------------------- */

static size_t limit_or(size_t wanted, size_t standard)
{
    return wanted > 0 ? wanted : standard;
}

static struct yaml_options fill_options(const struct yaml_options *options)
{
    struct yaml_options all = options ? *options : (struct yaml_options){ 0 };

    all.size_max = limit_or(all.size_max, YAML_SIZE_MAX);
    all.nodes_max = limit_or(all.nodes_max, YAML_NODES_MAX);
    all.scalar_max = limit_or(all.scalar_max, YAML_SCALAR_MAX);
    all.depth_max = (uint32_t)limit_or(all.depth_max, YAML_DEPTH_MAX);
    if (all.depth_max > YAML_DEPTH_CEILING)
        all.depth_max = YAML_DEPTH_CEILING;
    return all;
}

static void init_source(struct reader *r, const char *file)
{
    r->source = ARENA_NEW(r->arena, struct value_source);
    r->source->file = file ? arena_strdup(r->arena, file) : NULL;
    r->source->text = r->text;
    r->source->salt = r->options.dialect == YAML_DIALECT_SALT;
}

/* The parser's reader decodes its input byte by byte into a buffer, where the scanner works. This
 * text is checked UTF-8 (yaml_text_check) that ends in NUL, so it can be that buffer, with the
 * reader at its end. Nothing but the reader writes to it. */
static void lend_text(struct reader *r)
{
    yaml_char_t *text = (yaml_char_t *)(uintptr_t)r->text.p;

    yaml_parser_set_encoding(&r->parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&r->parser, text, 0);
    r->parser.eof = 1;
    r->own_buffer = r->parser.buffer.start;
    r->parser.buffer.start = r->parser.buffer.pointer = text;
    r->parser.buffer.last = text + r->text.n + 1;
    r->parser.unread = r->text.n + 1; /* characters, at most */
}

static void end_parser(struct reader *r)
{
    if (r->own_buffer)
        r->parser.buffer.start = r->own_buffer;
    yaml_parser_delete(&r->parser);
}

static int check_yaml_text(struct reader *r, const char *file, struct str text)
{
    if (text.n > r->options.size_max)
        return diag_add(r->diags, (struct place){ .file = file },
                        "a YAML text of %zu bytes is too long (limit %zu)", text.n,
                        r->options.size_max);
    if (str_starts(text, BYTE_ORDER_MARK))
        text = str_from_offset(text, BYTE_ORDER_MARK.n);
    if (yaml_text_check(file, text, &r->odd_breaks, r->diags) < 0)
        return -1;
    r->text = r->options.lasting ? text : arena_str(r->arena, text);
    init_source(r, file);
    return 0;
}

/* The next document, or false when there is none; -1 when reading cannot continue. */
static int read_yaml_document(struct reader *r, bool *ret_found, struct place *ret_place,
                              struct value *ret)
{
    struct yaml_node root;

    if (next_event(r) < 0)
        return -1;
    *ret_found = r->event.type == YAML_DOCUMENT_START_EVENT;
    *ret_place = find_mark_place(r, r->event.start_mark);
    if (!*ret_found)
        return 0;
    r->anchors = (struct map)MAP_INIT_IN(r->arena);
    if (next_event(r) < 0 || read_yaml_node(r, &root) < 0 || next_event(r) < 0)
        return -1;
    *ret = root.value;
    return 0;
}

static int read_single_document(struct reader *r, struct value *ret)
{
    struct value more, v = value_null();
    struct place first, second;
    bool found;

    if (read_yaml_document(r, &found, &first, &v) < 0)
        return -1;
    if (!found) {
        *ret = place_value(r, value_null(), (yaml_mark_t){ 0 }, r->source);
        return 0;
    }
    if (read_yaml_document(r, &found, &second, &more) < 0)
        return -1;
    if (found) {
        diag_add(r->diags, second, "a second document begins here");
        diag_source(r->diags, r->text);
        diag_hint(r->diags, "only one document is expected");
        return -1;
    }
    *ret = v;
    return 0;
}

static int read_all_documents(struct reader *r, struct value *ret)
{
    struct value_list *list = value_list_new(r->arena, 1);
    struct value v = value_null();
    struct place place;
    bool found;

    for (;;) {
        if (read_yaml_document(r, &found, &place, &v) < 0)
            return -1;
        if (!found)
            break;
        value_list_push(r->arena, list, v);
    }
    *ret = place_value(r, value_list(list), (yaml_mark_t){ 0 }, r->source);
    return 0;
}

typedef int read_fn(struct reader *r, struct value *ret);

/* Read it without libyaml, if it is written plainly and has no mistakes. */
static bool read_plain_blocks(const struct reader *r, read_fn *read, struct value *ret)
{
    struct diags unheard = DIAGS_INIT(r->arena);
    struct yaml_block block;
    struct reader quick = *r;
    bool done;

    if (r->odd_breaks || memchr(r->text.p, '\r', r->text.n))
        return false;
    yaml_block_init(&block, r->arena, r->text);
    quick.block = &block;
    quick.diags = &unheard;
    quick.diags_before = 0;
    done = next_event(&quick) == 0 && read(&quick, ret) == 0 && diags_count(&unheard) == 0;
    vec_done(&quick.items);
    return done;
}

static int read_libyaml_events(struct reader *r, read_fn *read, struct value *ret)
{
    struct value v;

    if (!yaml_parser_initialize(&r->parser))
        return diag_add(r->diags, (struct place){ .file = r->source->file }, "out of memory");
    lend_text(r);
    if (next_event(r) == 0 && read(r, &v) == 0 && diags_count(r->diags) == r->diags_before)
        *ret = v;
    vec_done(&r->items);
    yaml_event_delete(&r->event);
    end_parser(r);
    return diags_count(r->diags) == r->diags_before ? 0 : -1;
}

static int parse_yaml_text(struct arena *arena, const char *file, struct str text,
                           const struct yaml_options *options, read_fn *read, struct value *ret,
                           struct diags *diags)
{
    struct reader r = {
        .arena = arena,
        .options = fill_options(options),
        .sources = MAP_INIT_IN(arena),
        .anchors = MAP_INIT_IN(arena),
        .diags = diags,
        .diags_before = diags_count(diags),
        .cursor = YAML_CURSOR_INIT,
    };
    struct value v;

    if (check_yaml_text(&r, file, text) < 0)
        return -1;
    if (!read_plain_blocks(&r, read, &v))
        return read_libyaml_events(&r, read, ret);
    *ret = v;
    return 0;
}

int yaml_parse(struct arena *arena, const char *file, struct str text,
               const struct yaml_options *options, struct value *ret, struct diags *diags)
{
    return parse_yaml_text(arena, file, text, options, read_single_document, ret, diags);
}

int yaml_parse_all(struct arena *arena, const char *file, struct str text,
                   const struct yaml_options *options, struct value *ret_list, struct diags *diags)
{
    return parse_yaml_text(arena, file, text, options, read_all_documents, ret_list, diags);
}
