/*
 * token - a secret that stands for rights: its text form, and where a client finds it.
 *
 * A service with permissions has one in its environment, with the path of the socket. A client
 * with a token sends it with every request and has the token's rights instead of its user's.
 *
 * Threads: any that do not change the environment.
 */
#ifndef KEPLER_CONTROL_TOKEN_H
#define KEPLER_CONTROL_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOKEN_VARIABLE  "KEPLER_TOKEN"
#define TOKEN_SOCKET    "KEPLER_SOCKET_PATH"
#define TOKEN_BYTES     ((size_t)32)
#define TOKEN_TEXT_SIZE (2 * TOKEN_BYTES + 1)

/* The token in the environment; NULL: none. */
const char *token_given(void);

/* False when the text is malformed. */
bool token_read(const char *text, uint8_t ret_bytes[static TOKEN_BYTES]);
void token_write(const uint8_t bytes[static TOKEN_BYTES], char ret_text[static TOKEN_TEXT_SIZE]);
/* Takes the same time wherever they differ. */
bool token_equal(const uint8_t a[static TOKEN_BYTES], const uint8_t b[static TOKEN_BYTES]);

#endif
