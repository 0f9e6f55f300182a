#include "states/state/host.h"

static struct host_facts find_host_facts(const struct state_host *host)
{
    if (!host->facts)
        return *host->learn_facts(host->facts_user);
    return (struct host_facts){ host->facts, host->grains };
}

const struct value *host_facts(const struct state_host *host)
{
    return find_host_facts(host).facts;
}

const struct value *host_grains(const struct state_host *host)
{
    const struct host_facts known = find_host_facts(host);

    return known.grains ? known.grains : known.facts;
}
