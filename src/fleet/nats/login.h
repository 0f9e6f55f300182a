/*
 * login - the CONNECT line: who we are, what we can, and the signed nonce.
 */
#ifndef FLEET_NATS_LOGIN_H
#define FLEET_NATS_LOGIN_H

#include "core/base/str.h"

struct buf;
struct err;
struct nats_options;

/* Append CONNECT and PING. Fails when the credentials cannot be had or the server asks for more
 * than there are. */
int nats_login_print(const struct nats_options *options, struct str nonce, struct buf *out,
                     struct err *err);

#endif
