/*
 * operator proxy - answers operators with a name: checks what they ask for and passes it on.
 */
#ifndef FLEET_MASTER_OPERATORS_OPERATOR_PROXY_H
#define FLEET_MASTER_OPERATORS_OPERATOR_PROXY_H

#include "fleet/master/master.h"

extern const struct master_service operator_proxy_service;

#endif
