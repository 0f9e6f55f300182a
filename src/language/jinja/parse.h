/*
 * parse - the tree of a template, and all mistakes in its text.
 *
 * A recursive descent with Jinja2's grammar, in several files: parse.c (tokens,
 * mistakes, bodies), parse_expr.c and parse_postfix.c, parse_stmt.c with parse_load.c (tags that
 * name other templates or read data). A function that finds a mistake reports it
 * and returns NULL; parse_body then skips the tag and continues after it, so
 * that one pass finds the mistakes of all tags.
 *
 * Memory: nodes in the arena of the template. Threads: one.
 */
#ifndef LANGUAGE_JINJA_PARSE_H
#define LANGUAGE_JINJA_PARSE_H

#include "core/base/vec.h"
#include "language/jinja/lex.h"
#include "language/jinja/name.h"
#include "language/jinja/node.h"

struct diags;
struct template;

/* Blocks of a template; parameters of a macro, arguments by name of a call. */
#define PARSE_BLOCKS_MAX 2000
#define PARSE_ARGS_MAX   1000

/* An open block: its tag, its place, and its possible ends. */
struct parse_block {
    struct parse_block *outer;
    struct str tag;
    uint32_t at;
    const char *const *ends; /* NULL at the end; NULL itself: none yet */
};

struct parse {
    struct jinja *jinja;
    struct template *template;
    struct arena *arena;
    struct diags *diags;
    struct lex_token current, ahead;
    bool has_ahead;
    bool failing;   /* a mistake was reported and its tag not yet skipped */
    bool stopped;   /* parsing cannot continue */
    uint32_t depth; /* depth of expressions and blocks */
    uint32_t depth_max;
    uint32_t fors;        /* inside a `for`, at any distance */
    uint32_t loops;       /* loops that `break` can leave */
    uint8_t uses, hidden; /* name_special: read since the body began; assigned before */
    bool extends;         /* a template is extended somewhere */
    bool scoped;          /* a scoped block was seen */
    uint32_t closed;      /* 1 + place of the newest tag with a known end */
    size_t mistakes;
    struct parse_block *open;
    VEC(struct node_block *) blocks;
    struct lex lex;
};

/* A growing list of nodes; parse_list_end makes it compact. */
struct parse_list {
    VEC(struct node *) list;
};

/* Parse the whole text of `template` into its body. */
int parse_template(struct parse *parse, struct template *template, struct diags *diags);

/* --- tokens ------------------------------------------------------------------------ */

/* Returns the current token and advances. */
struct lex_token parse_next(struct parse *parse);
const struct lex_token *parse_look(struct parse *parse);
bool parse_at(const struct parse *parse, enum token_kind kind);
bool parse_at_word(const struct parse *parse, const char *word);
bool parse_skip(struct parse *parse, enum token_kind kind);
bool parse_skip_word(struct parse *parse, const char *word);
/* Take a token of that kind, or fail with "expected token 'x', got 'y'". */
bool parse_expect(struct parse *parse, enum token_kind kind);
bool parse_expect_word(struct parse *parse, const char *word);
/* Jinja2's name of the current token. */
struct str parse_describe(const struct parse *parse);

/* --- mistakes ------------------------------------------------------------------------ */

/* Reports unless this tag has been reported already. Returns NULL. */
void *parse_fail(struct parse *parse, uint32_t at, const char *fmt, ...) PRINTF_LIKE(3, 4);
void parse_hint(struct parse *parse, const char *fmt, ...) PRINTF_LIKE(2, 3);
bool parse_enter(struct parse *parse);
void parse_leave(struct parse *parse);

/* --- nodes ----------------------------------------------------------------------------- */

void *parse_node(struct parse *parse, enum node_kind kind, size_t size, uint32_t at);
#define PARSE_NODE(parse, kind, type, at)                                                          \
    ((struct type *)parse_node((parse), (kind), sizeof(struct type), (at)))
/* Make `child`, which may be NULL, part of `parent`. False: the tree is too deep. */
bool parse_holds(struct parse *parse, struct node *parent, const struct node *child);
bool parse_holds_all(struct parse *parse, struct node *parent, struct nodes children);
struct nodes parse_list_end(struct parse *parse, const struct parse_list *list);
struct name *parse_name(struct parse *parse, struct str text);
/* Take a name. NULL: there is none; that has been reported. */
struct name *parse_take_name(struct parse *parse);

/* NULL when a part is NULL or the tree is too deep, which has been reported. */
struct node *parse_unary_node(struct parse *parse, enum node_kind kind, uint8_t op, uint32_t at,
                              struct node *operand);
struct node *parse_binary_node(struct parse *parse, enum node_kind kind, uint8_t op, uint32_t at,
                               struct node *left, struct node *right);
struct node *parse_list_node(struct parse *parse, enum node_kind kind, uint32_t at,
                             const struct parse_list *items);

/* --- expressions --------------------------------------------------------------------------- */

struct node *parse_expression(struct parse *parse);
struct node *parse_expression_without_if(struct parse *parse);
struct node *parse_primary(struct parse *parse);
/* `node`, which may be NULL, with its suffixes: . [] (), then | and `is`. */
struct node *parse_postfix(struct parse *parse, struct node *node);
struct node *parse_filter_expr(struct parse *parse, struct node *node);

enum {
    TUPLE_SIMPLE = 1,     /* names and literals only: a target */
    TUPLE_WITHOUT_IF = 2, /* `if` ends it: the list of a loop */
    TUPLE_PARENS = 4,     /* in parentheses, so it may be empty */
};
/* Expressions with commas between them. `end` is a word that ends the list, or NULL. */
struct node *parse_tuple(struct parse *parse, int flags, const char *end);

/* A target of an assignment: a name or names in tuples. `end` as above. */
struct node *parse_target(struct parse *parse, enum node_use use, const char *end);
struct node_name *parse_target_name(struct parse *parse, enum node_use use);
/* `|name(args)...` on `value`, which may be NULL for the text of a block. `inline`: begins with the
 * name. Returns `value` without a filter; fails with parse->failing set. */
struct node *parse_filters(struct parse *parse, struct node *value, bool is_inline);

/* --- statements ------------------------------------------------------------------------------ */

/* Text and tags up to one of the `ends` tags, which is then the current token. `tag` opened it. */
bool parse_body(struct parse *parse, struct lex_token tag, const char *const *ends,
                struct nodes *ret);
/* The same, and takes the end tag. */
bool parse_whole_body(struct parse *parse, struct lex_token tag, const char *end,
                      struct nodes *ret);

typedef struct node *parse_fn(struct parse *parse, struct lex_token tag);

struct parse_tag {
    const char *name;
    parse_fn *parse;
    const char *end; /* NULL: the tag has no body */
};

const struct parse_tag *parse_find_tag(struct str name);
/* The nearest known tag, for a hint; a NULL view when none is near. */
struct str parse_suggest_tag(struct str name);

parse_fn parse_include, parse_import, parse_from, parse_extends, parse_load;

#endif
