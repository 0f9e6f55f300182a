#include "kepler/daemon/tokens.h"

#include <string.h>

#include "kepler/access/right.h"
#include "core/base/mem.h"
#include "kepler/config/config.h"
#include "kepler/daemon/project.h"
#include "test.h"

static struct config_service services[] = {
    { .name = "web",
      .permissions = { .given = true,
                       .allow = RIGHT_BIT(RIGHT_START) | RIGHT_BIT(RIGHT_STATUS),
                       .hardening = HARDENING_NO_ROOT } },
    { .name = "db" },
};
static const struct config plain = { .services = services, .service_count = 2 };
static const struct config limited = { .services = services,
                                       .service_count = 2,
                                       .ceiling = { RIGHT_ALL & ~RIGHT_BIT(RIGHT_STATUS),
                                                    HARDENING_STRICT } };

TEST(a_token_is_lent_once_for_a_run_and_only_with_permissions)
{
    struct tokens tokens = { NULL };
    struct project project = { .config = &plain }, other = { .config = &plain };
    char first[TOKEN_TEXT_SIZE];
    const struct service_token *found;

    CHECK(!tokens_lend(&tokens, &project, 1));
    memcpy(first, tokens_lend(&tokens, &project, 0), sizeof(first));
    CHECK_STR(tokens_lend(&tokens, &project, 0), first);
    CHECK(strcmp(tokens_lend(&tokens, &other, 0), first) != 0);
    found = tokens_find(&tokens, first);
    CHECK(found && found->project == &project && found->service == 0);
    CHECK_STR(found->name, "web");
    CHECK_INT(found->floor, HARDENING_NO_ROOT);
    CHECK_INT(found->rights, RIGHT_BIT(RIGHT_START) | RIGHT_BIT(RIGHT_STATUS));
    tokens_revoke(&tokens, &project, 0);
    CHECK(!tokens_find(&tokens, first));
    CHECK(strcmp(tokens_lend(&tokens, &project, 0), first) != 0);
    tokens_forget(&tokens, &project);
    CHECK(tokens.first && tokens.first->project == &other && !tokens.first->next);
    tokens_forget(&tokens, &other);
    tokens_revoke(&tokens, &other, 0);
    CHECK(!tokens.first);
}

TEST(a_token_ceiling_limits_rights_and_raises_the_level)
{
    struct tokens tokens = { NULL };
    struct project project = { .config = &limited };
    const struct service_token *found = tokens_find(&tokens, tokens_lend(&tokens, &project, 0));

    CHECK_INT(found->rights, RIGHT_BIT(RIGHT_STATUS));
    CHECK_INT(found->floor, HARDENING_STRICT);
    tokens_forget(&tokens, &project);
}
