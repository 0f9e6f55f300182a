/*
 * A parsed target is a row of terms, each with the next term for true and for false. Matching walks
 * the row: no tree, no recursion, and never more terms than the answer needs.
 */
#include "language/target/target.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/err.h"
#include "language/target/grammar.h"
#include "language/target/program.h"

/* The next terms of a node, and whether it is under an odd number of `not`. */
struct way {
    uint32_t yes, no;
    bool negated;
};

/* Append the terms of `node`; returns the first one to evaluate. Depth: that of the tree, which
 * TARGET_TERMS_MAX and TARGET_DEPTH_MAX limit. */
static uint32_t emit_terms(struct target *target, const struct grammar_node *node, struct way way)
{
    struct way left = way;
    struct term *term;

    switch (node->kind) {
    case GRAMMAR_NOT:
        return emit_terms(target, node->left, (struct way){ way.no, way.yes, !way.negated });
    case GRAMMAR_AND: left.yes = emit_terms(target, node->right, way); break;
    case GRAMMAR_OR: left.no = emit_terms(target, node->right, way); break;
    case GRAMMAR_TERM: break;
    }
    if (node->kind != GRAMMAR_TERM)
        return emit_terms(target, node->left, left);
    term = &target->terms[target->count];
    *term = *node->term;
    term->negated = way.negated;
    term->next[false] = way.no;
    term->next[true] = way.yes;
    return target->count++;
}

int target_parse(struct arena *arena, struct str text, enum target_type type,
                 const struct target_options *options, const struct target **ret_target,
                 struct diags *diags)
{
    static const struct target_options none = { 0 };
    struct grammar_tree tree;
    struct target *target;

    if (grammar_parse(arena, text, type, options ? options : &none, &tree, diags) < 0)
        return -1;
    target = arena_zalloc(arena, sizeof(*target) + mem_product(tree.terms, sizeof(struct term)));
    target->start = emit_terms(target, tree.root, (struct way){ TERM_ACCEPT, TERM_REJECT, false });
    *ret_target = target;
    return 0;
}

int target_read(struct arena *arena, struct str text, enum target_type type,
                const struct target_options *options, const struct target **ret_target,
                struct err *err)
{
    struct diags diags = DIAGS_INIT(arena);
    const struct diag *first;

    if (target_parse(arena, text, type, options, ret_target, &diags) == 0)
        return 0;
    first = &diags.list.p[0];
    (void)err_set(err, ERR_INVALID, "%s%s%s%s", first->text, first->hint ? " (" : "",
                  first->hint ? first->hint : "", first->hint ? ")" : "");
    return first->at.column > 0 ? err_wrap(err, "column %u", first->at.column) : -1;
}

bool target_uses_settings(const struct target *target)
{
    for (uint32_t i = 0; i < target->count; i++)
        if (term_is_about_settings(&target->terms[i]))
            return true;
    return false;
}

struct str program_other_id(struct str id, char room[static TARGET_ID_MAX])
{
    char from = id.n && memchr(id.p, '.', id.n) ? '.' : '_';
    char to = from == '.' ? '_' : '.';

    if (!id.n || !memchr(id.p, from, id.n))
        return (struct str){ NULL, 0 };
    for (size_t i = 0; i < id.n; i++)
        room[i] = id.p[i] == from ? to : id.p[i];
    return (struct str){ room, id.n };
}

int target_match(const struct target *target, const struct target_subject *subject,
                 bool *ret_matches, struct err *err)
{
    struct term_subject full = { subject->id, { NULL, 0 }, subject->facts, subject->settings };
    char room[TARGET_ID_MAX];
    uint32_t at = target->start;

    if (subject->id.n > TARGET_ID_MAX)
        return err_set(err, ERR_LIMIT, "an id has at most %d bytes", TARGET_ID_MAX);
    full.other = program_other_id(subject->id, room);
    while (at < TERM_REJECT) {
        const struct term *term = &target->terms[at];
        bool matches = false;

        if (term_match(term, &full, &matches, err) < 0)
            return -1;
        at = term->next[matches];
    }
    *ret_matches = at == TERM_ACCEPT;
    return 0;
}
