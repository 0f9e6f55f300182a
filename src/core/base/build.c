#include "core/base/build.h"

#include <stdio.h>

void build_print(const char *program, char ret_text[static BUILD_TEXT_MAX])
{
    (void)snprintf(ret_text, BUILD_TEXT_MAX, "%s %s\ncommit %s\nbuilt %s\n", program,
                   build_info.version, build_info.commit, build_info.built);
}
