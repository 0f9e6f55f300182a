/* Relations between services: cycles, order, health, conditions that never hold. */
#include "core/base/buf.h"
#include "core/base/diag.h"
#include "core/graph/cycle.h"
#include "core/graph/dag.h"
#include "core/graph/levels.h"
#include "kepler/config/config_read.h"

/* Cycles that are reported at once. */
#define CYCLES_MAX 16

static void add_warning(struct config_reader *r, struct place at, const struct buf *text)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);

    place_print(at, &out);
    buf_printf(&out, ": %s", buf_text(text));
    VEC_PUSH_IN(r->arena, &r->config->warnings, arena_strdup(r->arena, buf_text(&out)));
}

/* --- edges ------------------------------------------------------------------------------- */

static void warn_unreachable(struct config_reader *r, const struct config_service *service,
                             const struct config_edge *edge)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    const struct config_service *dependency = &r->config->services[edge->service];

    if (!condition_is_unreachable(edge->condition, &dependency->restart.policy,
                                  config_is_limited(dependency)))
        return;
    buf_printf(&text, "service '%s' will be skipped once '%s' runs: ", service->name,
               dependency->name);
    condition_print_unreachable(edge->condition, &dependency->restart.policy, dependency->name,
                                &text);
    add_warning(r, edge->at, &text);
}

/* A file that waits for the health of a service without a check runs as far as possible: an edge
 * with a timeout runs into it, others skip their service when the dependency runs. */
static void warn_unchecked(struct config_reader *r, const struct config_service *service,
                           const struct config_edge *edge)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    const struct config_service *dependency = &r->config->services[edge->service];

    if (!condition_needs_health(edge->condition) || dependency->health.given)
        return;
    if (edge->timeout > 0)
        buf_printf(&text, "service '%s' will fail after its timeout: ", service->name);
    else
        buf_printf(&text, "service '%s' will be skipped once '%s' runs: ", service->name,
                   dependency->name);
    condition_print_unchecked(edge->condition, dependency->name, &text);
    buf_printf(&text, "; give '%s' a 'healthcheck', or wait for '%s'", dependency->name,
               condition_name(CONDITION_STARTED));
    add_warning(r, edge->at, &text);
}

/* A failure has any code but 0, or none. */
static void warn_impossible_codes(struct config_reader *r, const struct config_service *service,
                                  const struct config_edge *edge)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);

    if (edge->condition != CONDITION_FAILED)
        return;
    for (int code = CONDITION_NO_CODE; code <= CONDITION_CODE_MAX; code++)
        if (code != 0 && condition_codes_match(&edge->codes, code))
            return;
    buf_printf(&text,
               "service '%s' will be skipped once '%s' ends: `%s` is never met with exit code 0, "
               "and 'exit_code' lists no other",
               service->name, r->config->services[edge->service].name,
               condition_name(edge->condition));
    add_warning(r, edge->at, &text);
}

static void warn_service(struct config_reader *r, const struct config_service *service)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    unsigned flags = service->restart.policy.flags;

    if (!(flags & POLICY_ON_UNHEALTHY) || flags == POLICY_ALWAYS || service->health.given)
        return;
    buf_printf(&text, "service '%s' restarts on-unhealthy but has no healthcheck", service->name);
    add_warning(r, service->at, &text);
}

static void warn_edges(struct config_reader *r)
{
    for (uint32_t i = 0; i < r->config->service_count; i++) {
        const struct config_service *service = &r->config->services[i];

        warn_service(r, service);
        for (size_t k = 0; k < service->edge_count; k++) {
            if (service->edges[k].optional)
                continue; /* it is not kept down by any of these */
            warn_unchecked(r, service, &service->edges[k]);
            warn_unreachable(r, service, &service->edges[k]);
            warn_impossible_codes(r, service, &service->edges[k]);
        }
    }
}

/* --- cycles ------------------------------------------------------------------------------ */

static const struct config_edge *find_edge(const struct config *config, uint32_t from, uint32_t to)
{
    const struct config_service *service = &config->services[from];

    for (size_t i = 0; i < service->edge_count; i++)
        if (service->edges[i].service == to)
            return &service->edges[i];
    return NULL;
}

/* In the words of the file: "a -> b" when a depends on b, which is against the graph's way. */
static void report_service_cycle(struct config_reader *r, const struct cycle *cycle)
{
    AUTO_BUF struct buf text = BUF_INIT(BUF_NO_LIMIT);
    const struct config *config = r->config;
    struct place first = { 0 };

    for (uint32_t i = 0; i <= cycle->n; i++)
        buf_printf(&text, "%s%s", i > 0 ? " -> " : "",
                   config->services[cycle->nodes[(cycle->n - i) % cycle->n]].name);
    for (uint32_t i = 0; i < cycle->n; i++) {
        uint32_t from = cycle->nodes[(cycle->n - i) % cycle->n];
        uint32_t to = cycle->nodes[cycle->n - i - 1];
        const struct config_edge *edge = find_edge(config, from, to);

        if (i == 0) {
            first = edge->at;
            (void)diag_add(r->diags, first, "dependency cycle: %s", buf_text(&text));
            diag_source(r->diags, config->text);
        } else {
            diag_note(r->diags, edge->at, "'%s' depends on '%s'", config->services[from].name,
                      config->services[to].name);
        }
    }
}

int config_check_graph(struct config_reader *r)
{
    struct config *config = r->config;
    struct dag *dag = dag_new(r->arena, config->service_count);
    struct cycle cycles[CYCLES_MAX];
    struct levels levels;
    size_t count;

    for (uint32_t i = 0; i < config->service_count; i++)
        for (size_t k = 0; k < config->services[i].edge_count; k++)
            dag_edge(dag, config->services[i].edges[k].service, i, 0);
    dag_seal(dag);
    if (levels_build(r->arena, dag, &levels)) {
        config->graph = dag;
        config->order = levels.order;
        config->levels = levels.of;
        warn_edges(r);
        return 0;
    }
    count = cycle_find(r->arena, dag, CYCLES_MAX, cycles);
    for (size_t i = 0; i < count; i++)
        report_service_cycle(r, &cycles[i]);
    return -1;
}
