/*
 * yaml_tag - the core tags of YAML (!!str, !!int, !!binary...) on a scalar.
 */
#ifndef CORE_DATA_YAML_TAG_H
#define CORE_DATA_YAML_TAG_H

#include "core/base/str.h"
#include "core/data/yaml.h"

struct arena;
struct err;
struct value;

/* The long form of "!!". */
#define YAML_TAG_CORE "tag:yaml.org,2002:"

/* `text` as the core tag `name` ("int") reads it; a VALUE_STR borrows it. Fails with ERR_INVALID
 * when it is not of that kind, ERR_UNSUPPORTED when there is no such tag for scalars. */
int yaml_tag_apply(struct arena *arena, struct str name, struct str text, enum yaml_dialect dialect,
                   struct value *ret, struct err *err);

#endif
