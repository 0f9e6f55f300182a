#include "fleet/peel/canary.h"

#include "core/base/err.h"
#include "core/base/log.h"
#include "language/target/target.h"
#include "fleet/wire/canary.h"

/* Peels can read every target that masters accept, except from newer masters. */
static bool match_target(struct arena *arena, const struct canary *canary,
                         const struct target_subject *subject)
{
    const struct target_options options = {
        .groups = canary->groups.kind == VALUE_MAP ? &canary->groups : NULL, .no_settings = true
    };
    const struct target *target;
    bool matches = false;
    struct err err;

    if (target_read(arena, str_from(canary->target), TARGET_COMPOUND, &options, &target, &err) <
        0) {
        log_warning("the target of a canary cannot be read: this machine has the states of all "
                    "target=%s error=%s",
                    canary->target, err.text);
        return false;
    }
    if (target_match(target, subject, &matches, &err) < 0)
        log_warning("a canary target cannot be matched target=%s error=%s", canary->target,
                    err.text);
    return matches;
}

bool canary_means(struct str record, const struct target_subject *subject)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    struct canary canary;
    struct err err;

    if (!record.p)
        return false;
    if (record.n > CANARY_RECORD_MAX ||
        record_decode(&arena, &canary_type, 1, record, &canary, &err) < 0) {
        log_warning("the record of a canary cannot be read: this machine has the states of all");
        return false;
    }
    return canary_is_followed(&canary) && match_target(&arena, &canary, subject);
}

bool canary_note(struct peel_canary *canary, struct str record,
                 const struct target_subject *subject)
{
    arena_clear(&canary->arena);
    canary->record = record.p ? arena_str(&canary->arena, record) : (struct str){ NULL, 0 };
    canary->is_meant = canary_means(record, subject);
    return canary->is_meant;
}

bool canary_has_changed(const struct peel_canary *canary, const struct target_subject *subject)
{
    return canary_means(canary->record, subject) != canary->is_meant;
}

void canary_done(struct peel_canary *canary)
{
    arena_done(&canary->arena);
}
