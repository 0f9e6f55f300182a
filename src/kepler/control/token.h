/*
 * token - a secret that stands for rights: how it is written, and where a client finds its own.
 *
 * A service with permissions has one in its environment, together with the path of the socket. A
 * client that has one sends it with every request and has its rights, instead of those of its user.
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

/* That of the environment; NULL: none. */
const char *token_given(void);

/* False when the text is not a token, whatever its value. */
bool token_read(const char *text, uint8_t ret_bytes[static TOKEN_BYTES]);
void token_write(const uint8_t bytes[static TOKEN_BYTES], char ret_text[static TOKEN_TEXT_SIZE]);
/* In a time that does not depend on where they differ. */
bool token_equal(const uint8_t a[static TOKEN_BYTES], const uint8_t b[static TOKEN_BYTES]);

#endif
