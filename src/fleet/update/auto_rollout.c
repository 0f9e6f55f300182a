#include "fleet/update/auto_rollout.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/arena.h"
#include "core/base/err.h"
#include "core/base/map.h"
#include "core/base/number.h"
#include "fleet/update/rollout.h"

/* Promoted manifests of a component, the newest version first. */
struct promoted {
    VEC(const struct update_manifest *) list;
};

static int compare_promoted(const void *a, const void *b)
{
    const struct update_manifest *const *left = a, *const *right = b;
    const int order = update_version_compare((*right)->version, (*left)->version);

    return order ? order : strcmp((*left)->version, (*right)->version);
}

static struct promoted find_promoted(struct arena *arena, const struct auto_rollout_world *world,
                                     enum update_component component)
{
    struct promoted found = { 0 };

    VEC_EACH (&world->manifests.list, manifest)
        if (manifest->component == component && manifest->promoted)
            VEC_PUSH_IN(arena, &found.list, manifest);
    if (found.list.n > 0)
        qsort(found.list.p, found.list.n, sizeof(found.list.p[0]), compare_promoted);
    return found;
}

static bool is_rollout_under_way(const struct auto_rollout_world *world,
                                 enum update_component component)
{
    VEC_EACH (&world->rollouts.list, rollout)
        if (rollout->config.component == component && !update_rollout_is_over(rollout->state))
            return true;
    return false;
}

/* --- earlier rollouts ------------------------------------------------------------------- */

static bool skip_word(struct str *rest, const char *word)
{
    if (!str_starts(*rest, str_from(word)))
        return false;
    *rest = str_from_offset(*rest, strlen(word));
    return true;
}

/* The number of a rollout of this version; 0: it is another one. */
static int64_t read_rollout_name(const struct update_rollout *rollout, const char *version)
{
    struct str rest = str_from(rollout->id);
    int64_t number;
    struct err err;

    if (strcmp(rollout->config.version, version) == 0 && skip_word(&rest, AUTO_ROLLOUT_PREFIX) &&
        skip_word(&rest, update_component_name(rollout->config.component)) &&
        skip_word(&rest, "-") && skip_word(&rest, version) && skip_word(&rest, "-r") &&
        number_parse_int(rest, &number, &err) == 0 && number > 0 && number < INT32_MAX)
        return number;
    return 0;
}

const struct update_rollout *auto_rollout_last(const struct auto_rollout_world *world,
                                               enum update_component component, const char *version)
{
    const struct update_rollout *last = NULL;
    int64_t highest = 0;

    VEC_EACH (&world->rollouts.list, rollout) {
        const int64_t number =
            rollout->config.component == component ? read_rollout_name(rollout, version) : 0;

        if (number > highest) {
            highest = number;
            last = rollout;
        }
    }
    return last;
}

/* Nodes that had the version in this round. False: a rollout of the round was aborted. */
static bool find_served(const struct auto_rollout_world *world,
                        const struct update_manifest *version, int32_t promotion,
                        struct map *served)
{
    VEC_EACH (&world->rollouts.list, rollout) {
        if (rollout->config.component != version->component ||
            rollout->config.promotion != promotion || !read_rollout_name(rollout, version->version))
            continue;
        if (rollout->state == UPDATE_ROLLOUT_ABORTED)
            return false;
        VEC_EACH (&rollout->node_results.list, result)
            (void)map_set(served, str_from(result->node), rollout);
    }
    return true;
}

/* --- nodes ------------------------------------------------------------------------------ */

/* The newest that is promoted for the node's system. */
static const struct update_manifest *find_wanted_version(const struct promoted *promoted,
                                                         const struct update_node *node)
{
    VEC_EACH (&promoted->list, manifest)
        if (strcmp((*manifest)->goos, node->goos) == 0 &&
            strcmp((*manifest)->goarch, node->goarch) == 0)
            return *manifest;
    return NULL;
}

static bool is_update_due(const struct promoted *promoted, const struct update_manifest *version,
                          const struct update_node *node)
{
    const struct update_manifest *wanted;

    if (node->component != version->component || node->degraded || node->veto[0] ||
        (node->state != UPDATE_IDLE && node->state != UPDATE_CONFIRMED))
        return false;
    wanted = find_wanted_version(promoted, node);
    return wanted && strcmp(wanted->version, version->version) == 0 &&
           node->protocol >= wanted->min_protocol &&
           update_version_compare(node->version, version->version) < 0;
}

static int compare_version_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static struct param_strs find_due(struct arena *arena, const struct auto_rollout_world *world,
                                  const struct promoted *promoted,
                                  const struct update_manifest *version, const struct map *served)
{
    struct {
        VEC(const char *) list;
    } due = { 0 };

    VEC_EACH (&world->nodes.list, node)
        if (is_update_due(promoted, version, node) && !map_has(served, str_from(node->id)))
            VEC_PUSH_IN(arena, &due.list, node->id);
    if (due.list.n > 0)
        qsort(due.list.p, due.list.n, sizeof(due.list.p[0]), compare_version_names);
    return (struct param_strs){ due.list.n < ROLLOUT_NODES_MAX ? due.list.n : ROLLOUT_NODES_MAX,
                                due.list.p };
}

/* --- the decision ----------------------------------------------------------------------- */

/* The latest round that was asked for, for whichever system. */
static int32_t find_promotion(const struct promoted *promoted, const char *version)
{
    int32_t highest = 0;

    VEC_EACH (&promoted->list, manifest)
        if (strcmp((*manifest)->version, version) == 0 && (*manifest)->promotions > highest)
            highest = (*manifest)->promotions;
    return highest;
}

static bool plan_version(struct arena *arena, const struct auto_rollout_world *world,
                         const struct promoted *promoted, const struct update_manifest *version,
                         struct auto_rollout *ret)
{
    const int32_t promotion = find_promotion(promoted, version->version);
    struct map served = MAP_INIT_IN(arena);
    const struct update_rollout *last;
    struct param_strs nodes;

    if (!find_served(world, version, promotion, &served))
        return false;
    nodes = find_due(arena, world, promoted, version, &served);
    if (nodes.n == 0)
        return false;
    last = auto_rollout_last(world, version->component, version->version);
    *ret = (struct auto_rollout){
        .id = arena_printf(arena, AUTO_ROLLOUT_PREFIX "%s-%s-r%lld",
                           update_component_name(version->component), version->version,
                           last ? (long long)read_rollout_name(last, version->version) + 1 : 1LL),
        .version = version->version,
        .nodes = nodes,
        .promotion = promotion,
    };
    return true;
}

bool auto_rollout_next(struct arena *arena, const struct auto_rollout_world *world,
                       enum update_component component, struct auto_rollout *ret)
{
    const struct promoted promoted = find_promoted(arena, world, component);
    const char *tried = "";

    if (is_rollout_under_way(world, component))
        return false;
    VEC_EACH (&promoted.list, manifest) {
        if (strcmp((*manifest)->version, tried) != 0 &&
            plan_version(arena, world, &promoted, *manifest, ret))
            return true;
        tried = (*manifest)->version;
    }
    return false;
}
