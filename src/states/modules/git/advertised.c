#include "states/modules/git/advertised.h"

#include <string.h>

#include "core/base/arena.h"
#include "core/base/str.h"
#include "states/modules/cmd/run_tool.h"
#include "states/modules/git/repo.h"
#include "states/state/module.h"

#define COMMIT_DIGITS 40

enum { BRANCH, TAG_PEELED, TAG, OTHER_PEELED, OTHER, ROWS };

bool advertised_is_commit(const char *rev)
{
    return strlen(rev) == COMMIT_DIGITS && rev[strspn(rev, "0123456789abcdef")] == '\0';
}

/* From git's list, the rows with the full name: "main" is not "experimental/main". A branch
 * wins over a tag of the same name, and a tag is peeled. */
static struct advertised pick_row(struct arena *arena, struct str text, const char *name)
{
    const char *const order[ROWS] = {
        [BRANCH] = arena_printf(arena, "refs/heads/%s", name),
        [TAG_PEELED] = arena_printf(arena, "refs/tags/%s^{}", name),
        [TAG] = arena_printf(arena, "refs/tags/%s", name),
        [OTHER_PEELED] = arena_printf(arena, "%s^{}", name),
        [OTHER] = name,
    };
    struct advertised found = { 0 };
    size_t best = ROWS;

    while (text.p) {
        struct str line = str_cut(&text, '\n');
        const struct str commit = str_cut(&line, '\t');

        for (size_t i = 0; line.p && i < best; i++)
            if (str_is(str_trim(line), order[i])) {
                found.commit = arena_str(arena, commit).p;
                best = i;
            }
    }
    found.is_branch = best == BRANCH;
    found.is_tag = best == TAG_PEELED || best == TAG;
    return found;
}

int advertised_find(struct state_run *run, const struct repo_args *args, const char *name,
                    struct advertised *ret, struct err *err)
{
    struct str text;

    *ret = (struct advertised){ .commit = name };
    if (advertised_is_commit(name))
        return 0;
    if (repo_git(run, args, NULL,
                 TOOL("ls-remote", "--", args->url, name, arena_printf(run->arena, "%s^{}", name)),
                 &text, err) < 0)
        return -1;
    *ret = pick_row(run->arena, text, name);
    return 0;
}
