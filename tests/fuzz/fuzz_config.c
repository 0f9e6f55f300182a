/* Any bytes as an orchestrator file; what loads must dump, and what does not must say why. */
#include <stdlib.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/data/json.h"
#include "kepler/config/config.h"
#include "kepler/config/config_dump.h"
#include "kepler/config/environment.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void dump(struct arena *arena, const struct config *config)
{
    AUTO_BUF struct buf out = BUF_INIT(BUF_NO_LIMIT);
    struct value v = config_dump_kepler(arena, config);
    struct err err;

    (void)json_print(&out, &v, JSON_STYLE_SORTED, &err);
    for (uint32_t i = 0; i < config->service_count; i++) {
        const struct config_service *service = &config->services[i];

        if (config_find(config, service->name) != i)
            abort();
        v = config_dump_service(arena, config, service);
        (void)json_print(&out, &v, JSON_STYLE_SORTED | JSON_STYLE_NAN, &err);
        for (size_t k = 0; k < service->edge_count; k++)
            if (config->levels[service->edges[k].service] >= config->levels[i])
                abort();
    }
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf shown = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(&arena);
    struct environment *cli = environment_copy(&arena, NULL);
    const struct config_source source = { .path = "/fuzz/kepler.yaml",
                                          .text = { (const char *)data, size },
                                          .cli_env = cli };
    const struct config *config;

    environment_set(cli, STR("HOME"), STR("/root"));
    if (config_load(&arena, &source, &config, &diags) == 0)
        dump(&arena, config);
    else if (diags_count(&diags) == 0)
        abort();
    diags_print(&diags, &shown);
    return 0;
}
