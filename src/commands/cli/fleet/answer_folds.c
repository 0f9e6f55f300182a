#include "commands/cli/fleet/answer_folds.h"

#include <stdlib.h>
#include <string.h>

#include "commands/cli/shared/color.h"
#include "commands/cli/shared/report/fold.h"
#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/map.h"
#include "fleet/wire/peel_id.h"

enum fold_rank { RANK_GOOD, RANK_FAILED, RANK_SILENT };

/* Peels with equal answers, in the order of their ids. */
struct answer_fold {
    enum fold_rank rank;
    const char *body;
    bool is_masked; /* '*' is the name of each peel */
    VEC(const char *) peels;
};

struct answer_folds {
    struct arena *arena;
    struct map by_body;
    VEC(struct answer_fold *) list;
};

static enum fold_rank find_fold_rank(const struct fleet_answer *answer)
{
    if (fleet_answer_is_silent(answer))
        return RANK_SILENT;
    return answer->success ? RANK_GOOD : RANK_FAILED;
}

static int compare_folds(const void *a, const void *b)
{
    const struct answer_fold *left = *(struct answer_fold *const *)a,
                             *right = *(struct answer_fold *const *)b;

    if (left->rank != right->rank)
        return left->rank < right->rank ? -1 : 1;
    if (left->peels.n != right->peels.n)
        return left->peels.n < right->peels.n ? 1 : -1;
    return strcmp(left->peels.p[0], right->peels.p[0]);
}

static struct answer_fold *find_fold(struct answer_folds *folds, enum fold_rank rank,
                                     const char *body)
{
    const struct str key = str_from(arena_printf(folds->arena, "%d%s", (int)rank, body));
    struct answer_fold *fold = map_find(&folds->by_body, key);

    if (fold)
        return fold;
    fold = ARENA_NEW(folds->arena, struct answer_fold);
    *fold = (struct answer_fold){ .rank = rank, .body = body };
    (void)map_set(&folds->by_body, key, fold);
    VEC_PUSH_IN(folds->arena, &folds->list, fold);
    return fold;
}

static void fold_answers(struct answer_folds *folds, const struct fleet_answers *answers,
                         const struct fleet_answers_style *style)
{
    for (size_t i = 0; i < answers->count; i++) {
        AUTO_BUF struct buf body = BUF_INIT(BUF_NO_LIMIT);
        const struct fleet_answer *answer = &answers->list[i];
        struct answer_fold *fold;

        answer_text_print(&body, answer, style, true);
        fold = find_fold(folds, find_fold_rank(answer), buf_copy(&body, folds->arena).p);
        VEC_PUSH_IN(folds->arena, &fold->peels, answer->peel);
    }
}

/* Answers of one peel each that are equal but for its name. */
static void fold_names(struct arena *arena, const struct answer_folds *folds,
                       struct answer_folds *ret)
{
    VEC_EACH (&folds->list, at) {
        struct answer_fold *one = *at, *fold;
        const char *masked;

        if (one->peels.n > 1) {
            VEC_PUSH_IN(arena, &ret->list, one);
            continue;
        }
        masked = report_fold_text(arena, one->body, peel_id_name(arena, one->peels.p[0]));
        fold = find_fold(ret, one->rank, masked);
        fold->is_masked = fold->peels.n > 0;
        fold->body = fold->is_masked ? masked : one->body;
        VEC_PUSH_IN(arena, &fold->peels, one->peels.p[0]);
    }
}

const char *answer_folds_names(struct arena *arena, const char *const *peels, size_t count,
                               const char *gap, size_t max)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    const size_t shown =
        count > max + 1 ? max : count; /* "and 1 more" would take as much room as the name */

    for (size_t i = 0; i < shown; i++)
        buf_printf(&out, "%s%s", i > 0 ? gap : "", peel_id_name(arena, peels[i]));
    if (shown < count)
        buf_printf(&out, " and %zu more", count - shown);
    return buf_copy(&out, arena).p;
}

void answer_folds_head(struct buf *out, const char *text, bool good, bool color)
{
    const enum color shade = good ? COLOR_GREEN : COLOR_RED;

    color_begin(out, shade, color);
    buf_printf(out, "%s:", text);
    color_end(out, shade, color);
    buf_add_char(out, '\n');
}

static const char *describe_fold(struct arena *arena, const struct answer_fold *fold, bool verbose)
{
    const char *names = answer_folds_names(arena, fold->peels.p, fold->peels.n, ", ",
                                           verbose ? fold->peels.n : ANSWER_FOLDS_NAMES);

    if (fold->peels.n == 1)
        return names;
    return arena_printf(arena, "%zu peels (%s%s)", fold->peels.n, names,
                        fold->is_masked ? "; * is the name of each" : "");
}

void answer_folds_print(struct arena *arena, const struct fleet_answers *answers,
                        const struct fleet_answers_style *style, struct buf *out)
{
    struct answer_folds folds = { .arena = arena, .by_body = MAP_INIT_IN(arena) },
                        named = { .arena = arena, .by_body = MAP_INIT_IN(arena) };

    fold_answers(&folds, answers, style);
    if (!answer_text_is_plain(style->function)) {
        fold_names(arena, &folds, &named);
        folds = named;
    }
    if (folds.list.n > 1)
        qsort(folds.list.p, folds.list.n, sizeof(folds.list.p[0]), compare_folds);
    VEC_EACH (&folds.list, at) {
        answer_folds_head(out, describe_fold(arena, *at, style->verbose), (*at)->rank == RANK_GOOD,
                          style->color);
        buf_add_text(out, (*at)->body);
    }
}
