#include "jinja/object.h"

struct value object_value(struct object *object)
{
    return (struct value){ .kind = VALUE_OBJECT, .object = object };
}

void *object_as(const struct value *v, const struct object_type *type)
{
    return v->kind == VALUE_OBJECT && v->object->type == type ? v->object : NULL;
}
