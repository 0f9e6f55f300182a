/*
 * dotenv - files of NAME=value lines.
 *
 *     # a comment
 *     export NAME=value         the word export may stand before the name
 *     NAME = value # comment    blanks around '=' and a comment after a blank
 *     A='as it is $HOME'        no meaning inside, may go over several lines
 *     B="a \"b\" $A\n"          \n \r \t \\ \" \' \$ and $NAME, ${NAME}
 *     C=$A/${B}                 the same without quotes, where \ keeps the next character
 *     D=${A:-x} ${A-x}          x when A is not set (with ':' also when it is empty)
 *
 * Quoted and other parts may be joined: A="x"'y'z. A name refers to an earlier line of the file,
 * else to the scope; an unknown name is empty. Names are letters, digits, '_' and '.', not
 * beginning with a digit.
 *
 * Memory: the environment's. Threads: any.
 */
#ifndef KEPLER_CONFIG_DOTENV_H
#define KEPLER_CONFIG_DOTENV_H

#include "core/base/str.h"

struct diags;
struct environment;

/* Adds the variables in `text` to `env`. `file` is for messages. Returns -1 when it added to
 * `diags`, which gets all mistakes of the file. */
int dotenv_parse(const char *file, struct str text, const struct environment *scope,
                 struct environment *env, struct diags *diags);

#endif
