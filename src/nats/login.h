/*
 * login - the CONNECT line: who we are, what we can, and the signed nonce.
 */
#ifndef NATS_LOGIN_H
#define NATS_LOGIN_H

#include "base/str.h"

struct buf;
struct err;
struct nats_options;

/* Append CONNECT and PING. Fails when the credentials cannot be had or the server asks for more
 * than there are. */
int nats_login_print(const struct nats_options *options, struct str nonce, struct buf *out,
                     struct err *err);

#endif
