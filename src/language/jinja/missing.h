/*
 * missing - hints for undefined variables.
 *
 * Called only after a rendering has failed. In this order: a template of the same folder that
 * defines the name, but was not imported; a variable that was set in a loop and ended with it; a
 * variable of the main template, which an import without context does not see; else the nearest
 * name in scope.
 */
#ifndef LANGUAGE_JINJA_MISSING_H
#define LANGUAGE_JINJA_MISSING_H

#include "core/base/str.h"

struct render;

/* Adds a hint to the error of the rendering, when there is one to give. */
void missing_explain(struct render *render, struct str name);

#endif
