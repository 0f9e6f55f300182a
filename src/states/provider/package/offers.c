#include "states/provider/package/offers.h"

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/suggest.h"
#include "states/provider/package/manager.h"

struct str package_offers_suggest(const struct package_manager *manager,
                                  const struct package_host *host, const char *name)
{
    struct suggest best;
    struct err ignored; /* unknown */
    struct str names;

    suggest_init(&best, str_from(name));
    if (manager->names &&
        package_manager_ask(manager, host, manager->names, NULL, &names, &ignored) == 0)
        while (names.p) {
            const struct str one = str_trim(str_cut(&names, '\n'));

            if (one.n > 0)
                suggest_offer(&best, one);
        }
    return suggest_best(&best);
}

struct package_offer *package_offers_find(const struct package_offers *offers, struct str name)
{
    return map_find(&offers->by_name, name);
}

void package_offer_add(struct package_offer *offer, struct arena *arena, struct str version)
{
    VEC_EACH (&offer->versions, known)
        if (str_is(version, *known))
            return;
    VEC_PUSH_IN(arena, &offer->versions, arena_str(arena, version).p);
}

static const char *find_newest_offer(const struct package_manager *manager,
                                     const struct package_offer *offer)
{
    const char *best = NULL;

    VEC_EACH (&offer->versions, version)
        if (!best || manager->compare(str_from(*version), str_from(best)) > 0)
            best = *version;
    return best;
}

/* Run the command with the names appended. */
static int ask_names(const struct package_manager *manager, const struct package_host *host,
                     const char *const *names, struct str *ret, struct err *err)
{
    const int fine[PACKAGE_FINE_MAX] = { manager->offers_none };
    struct tool_words argv = { 0 };

    for (const char *const *word = manager->offers_command; *word; word++)
        tool_add(&host->tool, &argv, *word);
    for (; *names; names++)
        tool_add(&host->tool, &argv, *names);
    return package_manager_ask(manager, host, tool_argv(&host->tool, &argv), fine, ret, err);
}

int package_offers_ask(const struct package_manager *manager, const struct package_host *host,
                       const char *const *names, struct package_offers *ret_offers, struct err *err)
{
    struct arena *arena = host->tool.arena;
    struct package_offers offers = { .by_name = MAP_INIT_IN(arena) };
    struct str text;

    *ret_offers = (struct package_offers){ .by_name = MAP_INIT_IN(arena) };
    for (size_t i = 0; names[i]; i++) {
        struct package_offer *offer = ARENA_NEW(arena, struct package_offer);

        offer->name = names[i];
        map_set(&offers.by_name, str_from(names[i]), offer);
    }
    if (map_count(&offers.by_name) == 0)
        return 0;
    if (ask_names(manager, host, names, &text, err) < 0)
        return err_wrap(err, "list available versions of %s", manager->name);
    manager->parse_offers(&offers, arena, text);
    MAP_EACH (&offers.by_name, entry) {
        struct package_offer *offer = entry->value;

        if (!offer->candidate)
            offer->candidate = find_newest_offer(manager, offer);
        if (offer->candidate)
            map_set(&ret_offers->by_name, entry->key, offer);
    }
    return 0;
}

/* --- reading ---------------------------------------------------------------------------------- */

size_t package_offers_indent(struct str line)
{
    return line.n - str_trim_left(line).n;
}

struct str package_offers_word(struct str *rest)
{
    struct str word;

    *rest = str_trim_left(*rest);
    word = (struct str){ rest->p, 0 };
    while (word.n < rest->n && rest->p[word.n] != ' ' && rest->p[word.n] != '\t' &&
           rest->p[word.n] != '\n' && rest->p[word.n] != '\r')
        word.n++;
    *rest = str_from_offset(*rest, word.n);
    return word;
}
