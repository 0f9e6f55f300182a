#include "fleet/reactor/rule_loop.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/data/value.h"
#include "fleet/reactor/reaction_run.h"
#include "fleet/reactor/rule_set.h"
#include "fleet/wire/event.h"

#define DERIVED EVENT_ORIGIN_MASTER "/" REACTION_RUN_TAG_PREFIX

/* A search for the shortest way back, file by file. */
struct step {
    const struct rule_send *send;
    const struct rule *rule;   /* the one that its event fires */
    const struct step *before; /* NULL: the first */
};

struct search {
    struct arena *arena;
    const struct rule_set *set;
    const struct rule_sends *sends;
    struct map seen;          /* paths of files whose events are followed */
    VEC(struct step *) steps; /* in the order in which they were found */
};

static bool is_sent_by(const struct rule_send *send, const char *path)
{
    return strcmp(send->path, path) == 0;
}

static void follow_send(struct search *search, const struct rule_send *send,
                        const struct step *before)
{
    const char *key = arena_printf(search->arena, DERIVED "%s", send->tag);
    struct rule_matches matches;

    rule_set_match(search->set, search->arena, str_from(key), &matches);
    VEC_EACH (&matches.list, rule) {
        struct step *step = ARENA_NEW(search->arena, struct step);

        *step = (struct step){ send, *rule, before };
        VEC_PUSH_IN(search->arena, &search->steps, step);
    }
}

static void follow_file(struct search *search, const struct step *step)
{
    const char *path = step->rule->file->path;

    if (map_has(&search->seen, str_from(path)))
        return;
    map_set(&search->seen, str_from(path), search);
    VEC_EACH (&search->sends->list, send)
        if (is_sent_by(send, path))
            follow_send(search, send, step);
}

static void print_way(const struct step *step, struct buf *out)
{
    if (step->before)
        print_way(step->before, out);
    buf_printf(out, "%s" DERIVED "%s fires %s", step->before ? ", " : "", step->send->tag,
               step->rule->ref);
}

static void report_loop(const struct rule_send *send, const struct step *last, struct diags *lints)
{
    AUTO_BUF struct buf way = BUF_INIT(BUF_NO_LIMIT);

    print_way(last, &way);
    (void)value_diag(lints, send->key, "a loop: %s", buf_text(&way));
    diag_hint(lints, "only the limit of the chain ends it; narrow the pattern, or send only while "
                     "'event.depth' is 0");
}

static void find_loop(const struct rule_set *set, const struct rule_sends *sends,
                      const struct rule_send *send, struct diags *lints)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct search search = {
        .arena = &arena, .set = set, .sends = sends, .seen = MAP_INIT_IN(&arena)
    };

    follow_send(&search, send, NULL);
    for (size_t i = 0; i < search.steps.n; i++) {
        const struct step *step = search.steps.p[i];

        if (is_sent_by(send, step->rule->file->path)) {
            report_loop(send, step, lints);
            return;
        }
        follow_file(&search, step);
    }
}

void rule_loop_lint(const struct rule_set *set, const struct rule_sends *sends, struct diags *lints)
{
    VEC_EACH (&sends->list, send)
        find_loop(set, sends, send, lints);
}
