/*
 * login - the CONNECT line: credentials, capabilities, and the signed nonce.
 */
#ifndef FLEET_NATS_LOGIN_H
#define FLEET_NATS_LOGIN_H

#include "core/base/str.h"

struct buf;
struct err;
struct nats_options;

/* Appends CONNECT and PING. Fails if the credentials cannot be read, or the server requires more.
 * */
int nats_login_print(const struct nats_options *options, struct str nonce, struct buf *out,
                     struct err *err);

#endif
