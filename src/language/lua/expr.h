/*
 * expr - dynamic values: `${{ expression }}$` in any text, and `!lua` blocks.
 *
 * A text that is one expression and nothing else but blanks becomes the result
 * of the expression, of any kind. In any other text each expression becomes text:
 * nil nothing, numbers and booleans as written (5.0 is 5), a table "[table]". An
 * opening mark without a closing one is ordinary text. The first "}}$" ends an
 * expression, also inside a Lua string: write "}}" .. "$" there.
 *
 * A value tagged `!lua` is a block that returns the value. Undefined names are
 * nil.
 *
 * Mistakes are diagnostics at the expression's own line and column, all of a tree
 * at once. An evaluation, of however large a tree, has one budget: after a limit
 * is reached nothing more is evaluated.
 *
 * Memory: results live in the arena and may share static parts with the original tree. Threads:
 * those of the sandbox.
 */
#ifndef LANGUAGE_LUA_EXPR_H
#define LANGUAGE_LUA_EXPR_H

#include <stdbool.h>

struct arena;
struct diags;
struct sandbox;
struct value;

#define EXPR_OPEN  "${{"
#define EXPR_CLOSE "}}$"

/* Deeper trees are refused. */
#define EXPR_DEPTH_MAX 200
/* Maximum bytes of one text after its expressions are filled in. */
#define EXPR_TEXT_MAX ((size_t)16 << 20)

/* Is there an expression or a block anywhere in it? */
bool expr_is_dynamic(const struct value *v);
/* Is it a block, or a text that is one expression? Then its result keeps its kind. */
bool expr_is_whole(const struct value *v);

/* Run the top-level chunk: its definitions are visible to all later expressions. */
int expr_run_script(struct sandbox *sandbox, const struct value *script, struct diags *diags);

/* Run a text as a block that returns a value, whatever its tag; check only its syntax. */
int expr_run_block(struct sandbox *sandbox, const struct value *block, struct arena *arena,
                   struct value *ret, struct diags *diags);
int expr_check_block(struct sandbox *sandbox, const struct value *block, struct diags *diags);

/* Is every dynamic part of `v` valid Lua? Nothing is evaluated: names and kinds may still be wrong.
 */
int expr_check(struct sandbox *sandbox, const struct value *v, struct diags *diags);

/* `v` with all its dynamic parts evaluated. Reading a secret makes the result secret. */
int expr_eval_value(struct sandbox *sandbox, const struct value *v, struct arena *arena,
                    struct value *ret, struct diags *diags);

#endif
