/*
 * salt_template - the template of a Salt file, taken apart so that its YAML can be read.
 *
 * Expressions ({{ ... }}) become words that YAML reads as text, and come back as what they mean for
 * us. Lines that are statements ({% ... %}) must stand between blocks, not inside of one; pieces
 * of YAML lie between them. Comments ({# ... #}) go.
 *
 *     salt_template_read -> { each piece: yaml_parse, convert, yaml_print } -> salt_template_print
 *
 * Expressions are rewritten: data['data']['x'] is data['x'], data['id'] is the peel of the event.
 * Names that reactions do not have (salt, pillar, grains, opts) are reported.
 *
 * Pure. Memory: the arena. Threads: one.
 */
#ifndef COMMANDS_MIGRATE_SALT_TEMPLATE_H
#define COMMANDS_MIGRATE_SALT_TEMPLATE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/str.h"
#include "core/base/vec.h"

struct arena;
struct buf;
struct diags;
struct value;

struct salt_expression {
    const char *text;
    bool is_broken; /* uses what does not exist here */
};

struct salt_piece {
    bool is_statement; /* goes out as it is */
    struct str text;   /* a piece of YAML has its expressions masked */
    uint32_t line;     /* where it begins, from 1 */
};

struct salt_template {
    struct arena *arena;
    const char *file;
    const char *id; /* what data['id'] means: "event.peel" */
    bool enrolls;   /* it reacts to machines that ask to be let in */
    struct diags *remarks;
    VEC(struct salt_expression) expressions;
    VEC(struct salt_piece) pieces;
    bool is_broken; /* what was rewritten, or sealed, uses what does not exist here */
};

/* False when it cannot be taken apart; the remarks say why. */
bool salt_template_read(struct salt_template *tmpl, struct str text);

/* Has it masked expressions? */
bool salt_template_is_masked(struct str text);
/* A text with masked expressions becomes one expression that prints it whole, quoted. Anything
 * else stays. Works through lists and maps. */
struct value salt_template_seal(struct salt_template *tmpl, const struct value *v);
/* A text that is printed as this expression, as it is. */
struct value salt_template_expression(struct salt_template *tmpl, const char *expression);
/* Text with masks, with the expressions in their place. */
void salt_template_print(const struct salt_template *tmpl, struct str text, struct buf *out);

#endif
