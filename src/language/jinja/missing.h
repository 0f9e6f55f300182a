/*
 * missing - what to try when a variable is undefined.
 *
 * Called only once a rendering has failed because of it. In this order: a template
 * of the same folder that defines the name and from which it was not imported; a variable that was
 * set in a loop and ended with it; one of the main template, which an import without context does
 * not see; else the nearest name that is in scope.
 */
#ifndef LANGUAGE_JINJA_MISSING_H
#define LANGUAGE_JINJA_MISSING_H

#include "core/base/str.h"

struct render;

/* Adds a hint to the error of the rendering, when there is one to give. */
void missing_explain(struct render *render, struct str name);

#endif
