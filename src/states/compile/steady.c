#include "states/compile/steady.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

/* clang-format off */
static const char *const names[] = { /* in byte order */
    "config.backup_mode", "config.dot_vals", "config.get", "config.items", "config.manage_mode",
    "config.merge", "config.option", "config.valid_fileproto", "defaults.deepcopy",
    "defaults.merge", "facts.get", "facts.items", "facts_get", "file.basename", "file.dirname",
    "file_dirname", "grains.equals", "grains.fetch", "grains.filter_by", "grains.get",
    "grains.has_value", "grains.item", "grains.items", "grains.ls", "grains_filter_by", "ifelse",
    "jinja.import_json", "jinja.import_yaml", "jinja.load_map", "match.filter_by", "match.ifelse",
    "match.search_by", "outputs", "pillar.fetch", "pillar.filter_by", "pillar.get", "pillar.item",
    "pillar.items", "pillar.keys", "pillar.ls", "pillar.obfuscate", "pillar.raw", "pillar_get",
    "raise", "salt_call", "settings.get", "settings.items", "slsutil.merge", "slsutil.merge_all",
    "slsutil.update",
};
/* clang-format on */

static int compare_steady_name(const void *key, const void *item)
{
    return strcmp(key, *(const char *const *)item);
}

bool steady_has(const char *name)
{
    return bsearch(name, names, ARRAY_LEN(names), sizeof(*names), compare_steady_name);
}
