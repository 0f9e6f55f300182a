/* Any bytes as a file of variables; what is read is fit for a process. */
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/diag.h"
#include "kepler/config/dotenv.h"
#include "kepler/config/environment.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    AUTO_ARENA struct arena arena = ARENA_INIT;
    AUTO_BUF struct buf shown = BUF_INIT(BUF_NO_LIMIT);
    struct diags diags = DIAGS_INIT(&arena);
    struct environment *env = environment_copy(&arena, NULL);
    struct environment *scope = environment_copy(&arena, NULL);
    int failed;

    environment_set(scope, STR("HOME"), STR("/root"));
    failed = dotenv_parse("fuzz.env", (struct str){ (const char *)data, size }, scope, env, &diags);
    if ((failed != 0) != (diags_count(&diags) > 0))
        abort();
    diags_print(&diags, &shown);
    for (const char *const *pair = environment_array(env, &arena); *pair; pair++)
        if (strlen(*pair) >= ENVIRONMENT_TEXT_MAX || (*pair)[0] == '=')
            abort();
    return 0;
}
