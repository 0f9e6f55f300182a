#include "kepler/daemon/tokens.h"

#include <stdlib.h>

#include "core/base/mem.h"
#include "kepler/config/config.h"
#include "kepler/daemon/project.h"
#include "core/sys/chance.h"

static struct service_token **find_token_slot(struct tokens *tokens, const struct project *project,
                                              uint32_t service)
{
    struct service_token **place = &tokens->first;

    while (*place && ((*place)->project != project || (*place)->service != service))
        place = &(*place)->next;
    return place;
}

static void drop_token(struct service_token **place)
{
    struct service_token *token = *place;

    *place = token->next;
    explicit_bzero(token, sizeof(*token));
    free(token);
}

const char *tokens_lend(struct tokens *tokens, const struct project *project, uint32_t service)
{
    const struct config *config = project->config;
    const struct config_permissions *permissions = &config->services[service].permissions;
    struct service_token **place = find_token_slot(tokens, project, service), *token = *place;

    if (!permissions->given)
        return NULL;
    if (token)
        return token->text;
    token = *place = mem_zalloc(sizeof(*token));
    chance_bytes(token->secret, sizeof(token->secret));
    token_write(token->secret, token->text);
    token->project = project;
    token->service = service;
    token->name = config->services[service].name;
    token->rights = permissions->allow & ~config->ceiling.withheld;
    token->floor = hardening_max(permissions->hardening, config->ceiling.hardening);
    token->authorize = permissions->authorize;
    token->lua = config->acl ? config->acl->lua : NULL;
    return token->text;
}

void tokens_revoke(struct tokens *tokens, const struct project *project, uint32_t service)
{
    struct service_token **place = find_token_slot(tokens, project, service);

    if (*place)
        drop_token(place);
}

void tokens_renumber(struct tokens *tokens, const struct project *project, const uint32_t *numbers)
{
    for (struct service_token *token = tokens->first; token; token = token->next)
        if (token->project == project)
            token->service = numbers[token->service];
}

void tokens_forget(struct tokens *tokens, const struct project *project)
{
    struct service_token **place = &tokens->first;

    while (*place)
        if ((*place)->project == project)
            drop_token(place);
        else
            place = &(*place)->next;
}

const struct service_token *tokens_find(const struct tokens *tokens, const char *text)
{
    const struct service_token *found = NULL;
    uint8_t secret[TOKEN_BYTES];

    if (!token_read(text, secret))
        return NULL;
    for (const struct service_token *token = tokens->first; token; token = token->next)
        if (token_equal(token->secret, secret))
            found = token;
    explicit_bzero(secret, sizeof(secret));
    return found;
}
